// Whose calls launched the work of a stream, where a file holds several processes. Times decide: no
// operation starts before its call, and one that starts on an idle stream mostly does so a launch
// latency after it.
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "call_index.hpp"

namespace ergon::graph {
namespace {

constexpr std::int64_t kContradiction = 20;  // weighs as much as that many ids that fit
constexpr std::uint64_t kAlmost = 50;        // one part in that many is no difference
constexpr std::uint64_t kShared = 4;         // nor is one in that many chance
constexpr std::size_t kLowQuantile = 10;

// How well the calls of a process fit the operations of a stream.
struct Fit {
  std::uint64_t good = 0;      // a launching call of that id before the operation
  std::uint64_t bad = 0;       // such calls, all after it
  std::uint64_t alone = 0;     // of the good, those that no other process has a call for
  std::vector<Nanos> latency;  // from call to start, of operations that find their stream idle

  [[nodiscard]] std::int64_t score() const {
    return static_cast<std::int64_t>(good) - kContradiction * static_cast<std::int64_t>(bad);
  }
  [[nodiscard]] Nanos low() const {
    return latency.empty() ? std::numeric_limits<std::int32_t>::max()
                           : latency[latency.size() / kLowQuantile];
  }
};
using Fits = std::map<std::uint32_t, Fit>;  // by process

std::vector<std::uint32_t> fitting(const Fits& fits, std::uint64_t operations) {
  std::int64_t best = std::numeric_limits<std::int64_t>::min();
  for (const auto& [process, fit] : fits) best = std::max(best, fit.score());
  std::vector<std::uint32_t> found;
  for (const auto& [process, fit] : fits) {
    if (fit.good > 0 && fit.score() + static_cast<std::int64_t>(operations / kAlmost) >= best) {
      found.push_back(process);
    }
  }
  return found;
}

// The streams of one context of a GPU: mostly of one process.
struct Unit {
  std::uint64_t operations = 0;
  std::uint64_t contested = 0;  // operations that calls of several processes fit
  std::uint64_t repeated = 0;   // operations whose id the row holds more than once
  std::vector<std::int64_t> ids;
  Fits fits;
  std::vector<std::uint32_t> streams;
  std::vector<std::vector<std::uint32_t>> fit_stream;  // of each stream, the processes that fit
  std::vector<std::uint32_t> choice;
  std::int32_t gpu = -1;
  std::uint32_t process = kNone;
};

class Assignment {
 public:
  Assignment(Draft& d, CallIndex& index, std::uint32_t table)
      : d_(d), index_(index), table_(table) {}

  void run() {
    collect();
    if (units_.empty()) return;
    std::set<std::uint32_t> processes;
    std::set<std::int32_t> gpus;
    for (const Unit& u : units_) {
      gpus.insert(u.gpu);
      for (const auto& [process, fit] : u.fits) {
        if (fit.good > 0) processes.insert(process);
      }
    }
    one_each_ = processes.size() >= gpus.size();
    choose();
    exchange();
    for (Unit& u : units_) settle(u);
    for (const Unit& u : units_) judge(u);
  }

 private:
  void collect() {
    std::map<std::pair<std::int32_t, std::int64_t>, std::size_t> unit_of;
    for (std::uint32_t s = 0; s < d_.streams.size(); ++s) {
      const Stream& stream = d_.streams[s];
      if (stream.table != table_ || stream.process != kNone || stream.first == stream.last)
        continue;
      const auto [it, fresh] = unit_of.try_emplace({stream.gpu, stream.context}, units_.size());
      if (fresh) units_.emplace_back().gpu = stream.gpu;
      add(units_[it->second], s);
    }
    std::erase_if(units_, [](const Unit& u) { return u.fits.empty(); });
    for (Unit& u : units_) {
      u.repeated = repeated_of(std::move(u.ids));
      for (auto& [process, fit] : u.fits) std::sort(fit.latency.begin(), fit.latency.end());
      u.choice = fitting(u.fits, u.operations);
    }
  }

  static std::uint64_t repeated_of(std::vector<std::int64_t> ids) {
    std::ranges::sort(ids);
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool same =
          (i > 0 && ids[i] == ids[i - 1]) || (i + 1 < ids.size() && ids[i] == ids[i + 1]);
      count += same ? 1U : 0U;
    }
    return count;
  }

  void add(Unit& unit, std::uint32_t s) {
    const Stream& stream = d_.streams[s];
    Fits own;
    std::uint64_t operations = 0;
    Nanos busy_until = std::numeric_limits<Nanos>::min() / 2;
    std::map<std::uint32_t, Nanos> latest;  // call of each process before the operation
    for (Op k = stream.first; k < stream.last; ++k) {
      const Nanos start = d_.op_start(k);
      const bool idle = start >= busy_until + kRounding;
      busy_until = std::max(busy_until, d_.op_end(k));
      const Draft::Ref r = d_.ref(d_.op_event[k]);
      const std::int64_t id = r.table->correlation[r.event];
      if (id < 0) continue;
      ++operations;
      bool many = false;  // one launch of a whole graph
      latest.clear();
      for (const CallIndex::Entry& entry : index_.find(table_, id)) {
        if (!launches(d_.api(entry.call))) continue;
        many = many || d_.api(entry.call) == ApiClass::kGraphLaunch;
        const Nanos called = d_.start(entry.call);
        Nanos& last =
            latest.try_emplace(d_.threads[d_.place(entry.call)].process, kNever).first->second;
        if (called <= start)
          last = std::max(last, called);
        else if (called <= start + kRounding)
          last = std::max(last, start);
      }
      if (!many) unit.ids.push_back(id);
      const auto claims = std::ranges::count_if(
          latest, [](const auto& candidate) { return candidate.second != kNever; });
      unit.contested += claims > 1 ? 1U : 0U;
      for (const auto& [process, called] : latest) {
        Fit& fit = own[process];
        ++(called == kNever ? fit.bad : fit.good);
        fit.alone += called != kNever && latest.size() == 1 ? 1U : 0U;
        if (called != kNever && idle) fit.latency.push_back(start - called);
      }
    }
    unit.streams.push_back(s);
    unit.fit_stream.push_back(fitting(own, operations));
    unit.operations += operations;
    for (auto& [process, fit] : own) {
      Fit& all = unit.fits[process];
      all.good += fit.good;
      all.bad += fit.bad;
      all.alone += fit.alone;
      all.latency.insert(all.latency.end(), fit.latency.begin(), fit.latency.end());
    }
  }

  // Whether another GPU is known to be that process's, or given to it.
  [[nodiscard]] bool taken(const Unit& unit, std::uint32_t process) const {
    return one_each_ && std::ranges::any_of(units_, [&](const Unit& u) {
             return u.gpu != unit.gpu && u.process == process;
           });
  }

  static double cost(const Unit& u, std::uint32_t process) {
    const auto it = std::ranges::find(u.choice, process);
    if (it == u.choice.end()) return std::numeric_limits<double>::infinity();
    const auto low = static_cast<double>(u.fits.at(process).low());
    return low * low;  // two that are a little late are likelier than one that is not at all
  }

  void choose() {
    struct Pair {
      double cost;
      std::size_t unit;
      std::uint32_t process;
    };
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      Unit& u = units_[i];
      if (u.choice.size() == 1) u.process = u.choice.front();
      for (const std::uint32_t process : u.choice) pairs.push_back({cost(u, process), i, process});
    }
    std::ranges::sort(pairs, [](const Pair& a, const Pair& b) {
      return std::tie(a.cost, a.unit, a.process) < std::tie(b.cost, b.unit, b.process);
    });
    for (const bool free_only : {true, false}) {
      for (const Pair& p : pairs) {
        Unit& u = units_[p.unit];
        if (u.process == kNone && !(free_only && taken(u, p.process))) u.process = p.process;
      }
    }
  }

  // Two units exchange their processes where that fits better in all.
  void exchange() {
    bool better = one_each_;
    for (std::size_t round = 0; better && round < units_.size(); ++round) {
      better = false;
      for (Unit& a : units_) {
        for (Unit& b : units_) {
          if (a.gpu == b.gpu || a.process == b.process) continue;
          if (cost(a, b.process) + cost(b, a.process) >= cost(a, a.process) + cost(b, b.process)) {
            continue;
          }
          std::swap(a.process, b.process);
          better = true;
        }
      }
    }
  }

  void settle(Unit& u) {
    for (std::size_t i = 0; i < u.streams.size(); ++i) {
      Stream& stream = d_.streams[u.streams[i]];
      const std::vector<std::uint32_t>& own = u.fit_stream[i];
      if (own.empty()) continue;
      const bool fits = std::ranges::find(own, u.process) != own.end();
      stream.process = fits ? u.process : own.front();
    }
  }

  // What the times leave open, and work of two processes on one stream.
  void judge(const Unit& u) {
    const auto of_own = [&](std::uint32_t process) {
      return std::ranges::any_of(units_, [&](const Unit& o) { return o.process == process; });
    };
    bool open = false;
    if (u.process == kNone) return;
    for (const auto& [process, fit] : u.fits) {
      if (process == u.process) continue;
      // Its own GPU may be left out, by the user or by whoever cut the file: work of two processes
      // shows in ids that are another's alone, or come twice.
      const bool alone = !of_own(process) && fit.good * kShared >= u.operations;
      if (alone && (fit.alone + u.repeated) * kShared >= u.operations) {
        for (const std::uint32_t s : u.streams) d_.streams[s].shared = true;
      }
      const bool fits = std::ranges::find(u.choice, process) != u.choice.end();
      const bool known = std::ranges::any_of(units_, [&](const Unit& o) {
        return o.choice.size() == 1 && o.process == process && o.gpu != u.gpu;
      });
      const bool close = fit.low() < u.fits.at(u.process).low() + kTolerance;
      open = open || alone || (fits && close && !(one_each_ && known));
    }
    if (open) open_operations_ += u.contested;
  }

 public:
  [[nodiscard]] std::uint64_t open_operations() const { return open_operations_; }

 private:
  Draft& d_;
  CallIndex& index_;
  std::uint32_t table_;
  std::vector<Unit> units_;
  bool one_each_ = false;
  std::uint64_t open_operations_ = 0;
};

}  // namespace

void assign_processes(Draft& d, CallIndex& index) {
  std::set<std::uint32_t> tables;
  for (const Stream& s : d.streams) {
    if (s.process == kNone && s.first < s.last) tables.insert(s.table);
  }
  std::uint64_t open = 0;
  for (const std::uint32_t table : tables) {
    Assignment assignment(d, index, table);
    assignment.run();
    open += assignment.open_operations();
  }
  d.note("process_unclear",
         "a GPU operation whose process neither ids nor times tell: processes of one file use the "
         "same correlation ids (give each process's trace as a file of its own)",
         open);
}

}  // namespace ergon::graph
