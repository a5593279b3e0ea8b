// The step that --steps N names.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/graph.hpp"

namespace ergon::cli {

/// Names of the steps of all ranks, each once, in order.
std::vector<std::string> names_of(const std::vector<graph::Step>& steps);

/// The step of that number: its own, at the end of its name (10 of "ProfilerStep#10"); its place
/// from 0 where the names have no number each. kInvalidArgument with the numbers that there are.
Result<std::string> step_of(const std::vector<std::string>& names, std::int64_t wanted);

/// Of all ranks: from the first start of the step to its last end, each on its own trace's clock.
graph::TimeRange range_of_step(const std::vector<graph::Step>& steps, const std::string& name);

}  // namespace ergon::cli
