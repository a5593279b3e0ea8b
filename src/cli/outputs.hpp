// A check before the work is done: what a command writes must not destroy anything.
#pragma once
#include "context.hpp"

namespace ergon::cli {

/// kInvalidArgument where two outputs (-o, --export) go to one file or to stdout, or where an
/// output is a file that the command reads, by whatever name or link.
Status check_outputs(const Context& context, const Command& command);

}  // namespace ergon::cli
