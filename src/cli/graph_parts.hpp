// Pieces of the answer of `graph`: its lists, and the numbers by which they name things.
#pragma once
#include "graph_answer.hpp"

namespace ergon::cli {

// Divisions, not products: the nearest double, which prints without noise.
inline double seconds(Nanos ns) { return static_cast<double>(ns) / 1e9; }
inline double ms(Nanos ns) { return static_cast<double>(ns) / 1e6; }
inline double us(Nanos ns) { return static_cast<double>(ns) / 1e3; }
/// 100 * part / whole; null where there is no whole.
inline Value percent_of(Nanos part, Nanos whole) {
  if (whole <= 0) return {};
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

/// The number of a GPU in the answer: the trace's own device number where all GPUs are of one trace
/// file, else its place among the GPUs of all ranks. null for -1.
Value gpu_number(const graph::Graph& graph, std::int32_t gpu);

/// Says in `table` that of `all` rows only `shown` are there.
void say_left_out(Table& table, std::size_t all, std::size_t shown);

void add_slack(Answer& answer, const graph::Graph& graph, const graph::Timing& timed,
               const GraphRequest& request);
void add_idle(Answer& answer, const graph::Timing& timed, Nanos span);
/// Whether re-timing gives the trace back.
bool add_replay(Answer& answer, const graph::Graph& graph);
/// How many nodes the rules match.
std::uint64_t add_what_if(Answer& answer, const graph::Graph& graph, const GraphRequest& request,
                          const graph::CriticalPath& recorded);

}  // namespace ergon::cli
