// Joins the pack files of several ranks by the collectives they share.
#include "ergon/plan/merge.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>

#include "ergon/io.hpp"

namespace ergon::plan {
namespace {

std::vector<std::string> strings_of(const Value* list) {
  std::vector<std::string> out;
  if (list == nullptr || list->as_array() == nullptr) return out;
  for (const Value& v : *list->as_array()) {
    if (const auto* s = v.as_string()) out.push_back(*s);
  }
  return out;
}

std::optional<double> number_of(const Value* v) {
  if (v == nullptr) return std::nullopt;
  if (const auto* d = v->as_double()) return *d;
  if (const auto* i = v->as_int()) return static_cast<double>(*i);
  return std::nullopt;
}

PackLinks links_of(const Value& pack) {
  PackLinks links{.starts = strings_of(pack.find("collectives_started")),
                  .awaits = strings_of(pack.find("collectives_awaited")),
                  .own_time_s = {}};
  const Value* options = pack.find("options");
  if (options == nullptr || options->as_array() == nullptr) return links;
  for (const Value& option : *options->as_array()) {
    if (const auto own = number_of(option.find("own_time_s")); own && *own >= 0)
      links.own_time_s.push_back(*own);
  }
  if (links.own_time_s.size() != options->as_array()->size()) links.own_time_s.clear();
  return links;
}

std::optional<Option> option_of(const Value& v) {
  const auto clock = number_of(v.find("clock_hz"));
  const auto time = number_of(v.find("time_s"));
  const auto energy = number_of(v.find("energy_j"));
  if (!clock || !time || !energy || !(*time >= 0) || !(*energy >= 0)) return std::nullopt;
  return Option{*clock, *time, *energy};
}

void read_single_clocks(const Value& document, RankPacks& rank) {
  const Value* list = document.find("single_clocks");
  if (list == nullptr || list->as_array() == nullptr) return;
  for (const Value& v : *list->as_array()) {
    const auto o = option_of(v);
    if (!o) continue;
    rank.single_clocks.push_back({.clock_hz = o->clock_hz,
                                  .choice = {},
                                  .value = {.time_s = o->time_s, .energy_j = o->energy_j}});
  }
}

void read_source(const Value& document, RankPacks& rank) {
  const auto text = [](const Value* from, const char* key) {
    const Value* v = from == nullptr ? nullptr : from->find(key);
    const std::string* s = v == nullptr ? nullptr : v->as_string();
    return s == nullptr ? std::string() : *s;
  };
  const Value* source = document.find("source");
  rank.device = text(source, "device");
  rank.step = text(source, "step");
  if (source != nullptr) rank.trace_clock_hz = number_of(source->find("trace_clock_hz"));
  rank.trace_clock_assumed = text(source, "trace_clock_origin") == "assumed";
  const Value* generated = source == nullptr ? nullptr : source->find("generated");
  rank.generated = generated != nullptr && generated->as_bool() != nullptr && *generated->as_bool();
  const Value* packs = document.find("packs");
  if (packs == nullptr || packs->as_array() == nullptr) return;
  constexpr std::array<const char*, 4> kKeys = {"measured_s", "shapes_s", "class_s", "unknown_s"};
  for (const Value& pack : *packs->as_array()) {
    const Value* known = pack.find("response_known");
    if (known == nullptr) continue;
    for (std::size_t k = 0; k < kKeys.size(); ++k)
      rank.known_s[k] += number_of(known->find(kKeys[k])).value_or(0);
  }
}

// Where a rank's packs stand in the merged list before sorting, and where its collectives begin.
struct Placed {
  std::vector<std::uint32_t> index;  // of each pack
  std::vector<std::int64_t> before;  // the previous pack of the same GPU, -1: none
  std::map<std::string, std::vector<std::size_t>> starts;  // packs that begin with the collective
};

Placed place(const RankPacks& rank, std::uint32_t first) {
  Placed placed;
  std::vector<std::int64_t> last(rank.problem.gpus.size(), -1);
  for (std::size_t i = 0; i < rank.problem.packs.size(); ++i) {
    placed.index.push_back(first + static_cast<std::uint32_t>(i));
    auto& previous = last[rank.problem.packs[i].gpu];
    placed.before.push_back(previous);
    previous = static_cast<std::int64_t>(i);
    for (const auto& key : rank.links[i].starts) placed.starts[key].push_back(i);
  }
  return placed;
}

// Packs in an order in which each stands after all that it waits for and after its GPU's previous
// one.
std::vector<Pack> topological(std::vector<Pack> packs, std::size_t gpus) {
  const std::size_t n = packs.size();
  std::vector<std::vector<std::uint32_t>> successors(n);
  std::vector<std::uint32_t> waiting(n, 0);
  std::vector<std::int64_t> last(gpus, -1);
  for (std::uint32_t i = 0; i < n; ++i) {
    for (const After& a : packs[i].after) {
      successors[a.pack].push_back(i);
      ++waiting[i];
    }
    auto& previous = last[packs[i].gpu];
    if (previous >= 0) {
      successors[static_cast<std::size_t>(previous)].push_back(i);
      ++waiting[i];
    }
    previous = i;
  }
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (waiting[i] == 0) ready.push(i);
  }
  std::vector<std::uint32_t> rank(n, 0);
  std::vector<Pack> sorted;
  while (!ready.empty()) {
    const std::uint32_t i = ready.top();
    ready.pop();
    rank[i] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(packs[i]));
    for (const std::uint32_t next : successors[i]) {
      if (--waiting[next] == 0) ready.push(next);
    }
  }
  for (Pack& pack : sorted) {
    for (After& a : pack.after) a.pack = rank[a.pack];
  }
  return sorted;
}

}  // namespace

Result<RankPacks> read_rank_packs(std::string_view json_text, std::string name) {
  RankPacks rank{.name = std::move(name), .problem = {}, .links = {}, .collective_s = {}};
  ERGON_TRY(rank.problem, read_packs(json_text));
  rank.links.resize(rank.problem.packs.size());
  ERGON_TRY(const Value document, io::parse_json(json_text));
  if (const Value* packs = document.find("packs");
      packs != nullptr && packs->as_array() != nullptr) {
    const auto& list = *packs->as_array();
    for (std::size_t i = 0; i < std::min(list.size(), rank.links.size()); ++i)
      rank.links[i] = links_of(list[i]);
  }
  read_single_clocks(document, rank);
  read_source(document, rank);
  if (const Value* times = document.find("collective_s");
      times != nullptr && times->as_object() != nullptr) {
    for (const auto& [key, v] : *times->as_object()) {
      if (const auto t = number_of(&v); t && *t >= 0) rank.collective_s[key] = *t;
    }
  }
  return rank;
}

Result<Merged> merge_ranks(std::vector<RankPacks> ranks) {
  Merged merged;
  if (ranks.empty())
    return fail(Errc::kInvalidArgument, "no pack file to plan", "name one or more pack files");
  Problem& job = merged.problem;
  job.switching = ranks.front().problem.switching;
  job.repeats = ranks.front().problem.repeats;
  if (ranks.size() == 1) {
    job = std::move(ranks.front().problem);
    return merged;
  }

  for (const RankPacks& rank : ranks) {
    const double own = evaluate(rank.problem, default_choice(rank.problem)).time_s;
    merged.longest_rank_s = std::max(merged.longest_rank_s, own);
  }
  std::map<std::string, double> transfer_s;
  std::map<std::string, std::set<std::size_t>> members;
  std::vector<Placed> placed;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    RankPacks& rank = ranks[r];
    const SwitchCost& cost = rank.problem.switching;
    if (rank.problem.repeats != job.repeats) {
      return fail(Errc::kInvalidArgument,
                  rank.name + (job.repeats ? " does not repeat, " : " repeats, unlike ") +
                      (job.repeats ? "unlike " + ranks.front().name : ranks.front().name),
                  "make all pack files of the same steps: --steps all for every rank, or for none");
    }
    // The cost is derived from each rank's own power: the dearest is on the safe side.
    job.switching.time_s = std::max(job.switching.time_s, cost.time_s);
    job.switching.energy_j = std::max(job.switching.energy_j, cost.energy_j);
    job.switching.min_run_s = std::max(job.switching.min_run_s, cost.min_run_s);
    placed.push_back(place(rank, static_cast<std::uint32_t>(job.packs.size())));
    const auto first_gpu = static_cast<std::uint32_t>(job.gpus.size());
    for (Gpu gpu : rank.problem.gpus) {
      gpu.id = std::to_string(r) + "." + gpu.id;
      job.gpus.push_back(std::move(gpu));
    }
    const std::uint32_t first_pack = placed.back().index.empty() ? 0 : placed.back().index.front();
    for (Pack pack : rank.problem.packs) {
      pack.id = std::to_string(r) + "." + pack.id;
      pack.gpu += first_gpu;
      for (After& a : pack.after) a.pack += first_pack;
      job.packs.push_back(std::move(pack));
    }
    for (const auto& [key, where] : placed.back().starts) members[key].insert(r);
    for (const auto& [key, t] : rank.collective_s) {
      const auto at = transfer_s.emplace(key, t).first;
      at->second = std::min(at->second, t);
    }
  }
  for (const auto& [key, who] : members) ++(who.size() > 1 ? merged.coupled : merged.uncoupled);

  for (std::size_t r = 0; r < ranks.size(); ++r) {
    for (std::size_t i = 0; i < ranks[r].links.size(); ++i) {
      const PackLinks& links = ranks[r].links[i];
      bool waits = false;
      for (const auto& key : links.awaits) {
        const auto who = members.find(key);
        if (who == members.end() || who->second.size() < 2) continue;
        const auto known = transfer_s.find(key);
        const double lag = known == transfer_s.end() ? 0 : known->second;
        for (const std::size_t other : who->second) {
          for (const std::size_t start : placed[other].starts[key]) {
            const std::int64_t before = placed[other].before[start];
            if (before < 0) continue;
            job.packs[placed[r].index[i]].after.push_back(
                {placed[other].index[static_cast<std::size_t>(before)], lag});
            waits = true;
          }
        }
      }
      // The wait is now an edge: the pack before it lasts only as long as its own work.
      const std::int64_t before = placed[r].before[i];
      if (!waits || before < 0) continue;
      const PackLinks& own = ranks[r].links[static_cast<std::size_t>(before)];
      Pack& pack = job.packs[placed[r].index[static_cast<std::size_t>(before)]];
      for (std::size_t k = 0; k < own.own_time_s.size() && k < pack.options.size(); ++k) {
        // Waiting is idle time of the job, no longer part of the pack.
        Option& option = pack.options[k];
        const double waited = std::max(0.0, option.time_s - own.own_time_s[k]);
        option.energy_j = std::max(0.0, option.energy_j - job.gpus[pack.gpu].idle_power_w * waited);
        option.time_s -= waited;
      }
    }
  }
  const std::size_t count = job.packs.size();
  job.packs = topological(std::move(job.packs), job.gpus.size());
  if (job.packs.size() != count) {
    return fail(Errc::kMalformedInput, "the ranks wait for one another in a circle",
                "are all pack files of the same step of one job?");
  }
  return merged;
}

}  // namespace ergon::plan
