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

/// The number of a GPU in the answer (graph::Gpu::number); null for -1.
Value gpu_number(const graph::Graph& graph, std::int32_t gpu);

/// "1 is device 0 of rank 5 (worker5.json)".
std::string gpu_words(const graph::Gpu& gpu);
/// `gpus` of an answer: which GPU has which number.
Value gpus_value(const graph::Graph& graph);
/// The same as a sentence, where the numbers are not the devices of the traces; else empty.
std::string numbers_text(const graph::Graph& graph);

/// Says in `table` that of `all` rows only `shown` are there.
void say_left_out(Table& table, std::size_t all, std::size_t shown);

void add_slack(Answer& answer, const graph::Graph& graph, const graph::Timing& timed,
               const GraphRequest& request);
void add_idle(Answer& answer, const graph::Timing& timed, Nanos span);
/// Whether re-timing gives the trace back.
bool add_replay(Answer& answer, const graph::Graph& graph);
/// How many nodes each of the rules matches. kInvalidArgument where the times do not fit 64 bits.
Result<std::vector<std::uint64_t>> add_what_if(Answer& answer, const graph::Graph& graph,
                                               const GraphRequest& request,
                                               const graph::CriticalPath& recorded);

}  // namespace ergon::cli
