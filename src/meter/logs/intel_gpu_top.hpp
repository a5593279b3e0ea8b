// intel_gpu_top -J: its documents, for the reader of JSON.
#pragma once
#include "ergon/io.hpp"
#include "logs/builder.hpp"

namespace ergon::meter::logs {

/// Whether `v` is a sample of intel_gpu_top; it becomes a row. Samples have no time, but say how
/// long they are: `elapsed_s` is the end of the last one.
bool intel_gpu_top_sample(const Value& v, std::uint64_t line, double& elapsed_s, Builder& out);

}  // namespace ergon::meter::logs
