// The reduce step of many ranks: pack files become one problem, coupled by the collectives they
// share.
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/plan.hpp"
#include "ergon/plan/outcome.hpp"

namespace ergon::plan {

/// Which collectives begin where a pack begins, and whose result it waits for.
struct PackLinks {
  std::vector<std::string> starts;
  std::vector<std::string> awaits;
  /// Times of the options if the collective that ends the pack took no time; empty: not known.
  std::vector<double> own_time_s;
};

/// A pack file of one rank with the fields that couple it to other ranks (docs/formats/packs.md).
struct RankPacks {
  std::string name;  ///< for messages and GPU ids
  Problem problem;
  std::vector<PackLinks> links;                ///< as problem.packs
  std::map<std::string, double> collective_s;  ///< observed duration of each collective here
  /// One clock for all, re-timed on the trace's graph; choices are not filled. What packs say one
  /// after another may be more.
  std::vector<Uniform> single_clocks = {};
  /// Where the packs come from; empty: the file does not say.
  std::string device = {}, step = {};
  std::optional<double> trace_clock_hz = {};
  bool trace_clock_assumed = false;
  bool generated = false;              ///< the trace was written by a generator
  std::array<double, 4> known_s = {};  ///< GPU time by how the response is known (model::Known)
};
/// As read_packs(); a file without the further fields has no links and no source.
Result<RankPacks> read_rank_packs(std::string_view json_text, std::string name);

struct Merged {
  Problem problem;
  std::size_t coupled = 0;    ///< collectives that two or more ranks share
  std::size_t uncoupled = 0;  ///< collectives of which the other ranks are not there
  double longest_rank_s = 0;  ///< at default clocks, alone: with its recorded waiting for others
};
/// One problem of all ranks. A pack that waits for a collective starts no earlier than, on each
/// rank, the end of the pack before the collective's start plus its transfer time: the shortest
/// duration that any rank saw, that of the last to arrive. A change costs what it costs the dearest
/// rank. kInvalidArgument where some files repeat and others do not.
Result<Merged> merge_ranks(std::vector<RankPacks> ranks);

}  // namespace ergon::plan
