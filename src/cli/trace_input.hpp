// Reading traces for a command: every input is recorded, what was skipped is said.
#pragma once
#include <string>
#include <vector>

#include "context.hpp"
#include "ergon/trace.hpp"
#include "input_file.hpp"

namespace ergon::cli {

/// All tables of the files, in order (an archive of ranks gives several).
Result<std::vector<trace::EventTable>> read_tables(Context& context, std::vector<InputFile>& files,
                                                   trace::ReadTimings* timings = nullptr);

}  // namespace ergon::cli
