// The commands, one function a file. A command whose Command::run is empty is described but not
// offered.
#pragma once
#include "command.hpp"

namespace ergon::cli {

const Command& import_command();
const Command& graph_command();
const Command& pack_command();
const Command& plan_command();
const Command& device_command();
const Command& explain_command();
const Command& completion_command();
const Command& man_command();
const Command& schema_command();
const Command& measure_command();
const Command& restore_command();
const Command& doctor_command();
const Command& study_command();
const Command& sweep_command();

/// All of them, those without `run` too; for the lint test.
std::span<const Command* const> described_commands();

}  // namespace ergon::cli
