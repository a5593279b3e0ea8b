// Better plans by many small changes: simulated annealing over runs of one clock.
#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "clock_chain.hpp"
#include "network.hpp"
#include "numbers.hpp"

namespace ergon::plan {

/// Seeded and counted: the same input gives the same plan on every machine.
class Anneal {
 public:
  /// Keeps references to both.
  Anneal(const Problem& problem, const Network& net);

  /// Prices (W, by arc) suggest clocks for a stretch of packs; they do not bind.
  void set_prices(std::span<const double> prices, double deadline_s);

  struct Cooling {
    double from_j = 0.5;
    double to_j = 0.01;
    std::uint64_t moves = 0;
    std::uint64_t seed = 1;
    /// Also pays for time before the deadline, at a price that is led so that plans end there: then
    /// time that is lost in one place and won in another need not come in one move. Also tries
    /// moves of several GPUs at once.
    bool priced = false;
  };
  /// Starts at `choice`; returns the best plan met within the deadline, or `choice` if there is
  /// none.
  Choice run(const Choice& choice, const Cooling& cooling);

  struct Counts {
    std::uint64_t tried = 0, timed = 0, taken = 0;
  };
  [[nodiscard]] const Counts& counts() const { return counts_; }

 private:
  struct Random {
    std::uint64_t state = 1;
    std::uint64_t next() {
      std::uint64_t z = (state += 0x9E3779B97F4A7C15ULL);
      z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
      z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
      return z ^ (z >> 31U);
    }
    double uniform() { return static_cast<double>(next() >> 11U) * 0x1p-53; }
    std::uint32_t below(std::uint32_t n) {
      return static_cast<std::uint32_t>((next() >> 32U) * n >> 32U);
    }
  };
  struct Part {
    std::uint32_t gpu = 0, from = 0, to = 0;  // indices into row
    std::uint32_t clock = 0;                  // of clocks_ of the gpu
  };
  using Move = std::vector<Part>;  // of different GPUs
  struct Wait {
    std::uint32_t pack = 0;  // index into row
    double lag_s = 0;
    friend auto operator<=>(const Wait&, const Wait&) = default;
  };
  // What several packs wait for, or lead to, alike (at a barrier, say): worked out once a pass.
  struct Meeting {
    std::vector<Wait> waits;
    std::uint64_t valued = 0;  // pass in which `value` was worked out
    std::uint64_t marked = 0;  // pass in which the packs were marked
    double value = 0;
  };
  // The waits of each pack on one side, and which of them are those of a meeting.
  struct Side {
    std::vector<std::uint32_t> begin;
    std::vector<Wait> waits;
    std::vector<std::uint32_t> meeting;  // by pack; kNone: its own
    std::vector<Meeting> meetings;
    [[nodiscard]] std::span<const Wait> of(std::uint32_t i) const {
      return std::span(waits).subspan(begin[i], begin[i + 1] - begin[i]);
    }
  };

  bool propose(Move& move);
  bool propose_together(Move& move);
  [[nodiscard]] std::uint32_t near(std::uint32_t gpu, std::uint32_t clock, std::uint32_t most);
  [[nodiscard]] std::uint32_t suggest(const Part& part, double lean) const;
  [[nodiscard]] double lean() { return 0.6 + 0.9 * random_.uniform(); }
  void whole_run(Part& part) const;
  [[nodiscard]] Part meanwhile(std::uint32_t gpu, double from_s, double to_s) const;
  [[nodiscard]] bool possible(const Part& part, bool& differs) const;
  bool consider(const Move& move, double bar);
  [[nodiscard]] double own_energy(const Part& part, int& changes) const;
  [[nodiscard]] double gain_of(const Part& part, int changes) const;
  [[nodiscard]] bool change_before(const Part& part, std::uint32_t r) const;
  [[nodiscard]] double won_at(const Part& part, std::uint32_t r) const;
  [[nodiscard]] double least_makespan(const Part& part) const;
  [[nodiscard]] double least_makespan(const Move& move);
  [[nodiscard]] double cost_of(double span) const {
    return penalty_w_ * std::max(span - deadline_s_, 0.0) + (net_.idle_w + price_w_) * span;
  }
  void lead_price(double step);
  void time_forward();
  void time_backward();
  void time_changed(const Move& move);
  void tail_changed(const Move& move);
  void take_makespan();
  [[nodiscard]] double tail_of(std::uint32_t i);
  void find_meetings(Side& side, bool next);
  /// The most that `value` says of what pack i waits for or leads to; at least `least`.
  template <class Value>
  double latest(Side& side, std::uint32_t i, double least, Value&& value) const {
    const auto most_of = [&](std::span<const Wait> waits, double most) {
      for (const Wait& w : waits) most = std::max(most, value(w));
      return most;
    };
    if (side.meeting[i] == kNoIndex) return most_of(side.of(i), least);
    Meeting& m = side.meetings[side.meeting[i]];
    if (m.valued != pass_) {
      m.valued = pass_;
      m.value = most_of(m.waits, -kInfinity);
    }
    return std::max(least, m.value);
  }
  template <class Mark>
  void mark_all(Side& side, std::uint32_t i, Mark&& mark) const {
    std::span<const Wait> waits = side.of(i);
    if (side.meeting[i] != kNoIndex) {
      Meeting& m = side.meetings[side.meeting[i]];
      if (m.marked == pass_) return;
      m.marked = pass_;
      waits = m.waits;
    }
    for (const Wait& w : waits) mark(w.pack);
  }
  [[nodiscard]] bool runs_long_enough(std::uint32_t gpu) const;
  [[nodiscard]] double slot_time(std::uint32_t i, std::uint32_t clock) const {
    return time_[table_[i] + clock];
  }
  [[nodiscard]] bool listed(std::uint32_t i, std::uint32_t clock) const {
    return time_[table_[i] + clock] >= 0;
  }

  const Problem& problem_;
  const Network& net_;
  std::vector<std::uint32_t> gpu_of_, order_;
  std::vector<std::vector<double>> clocks_;  // by gpu: all its clocks, ascending
  std::vector<std::size_t> table_;           // by index into row: into the next four
  std::vector<double> time_, own_;  // own_: energy less idle power x time; time_ < 0: not listed
  std::vector<double> sum_own_,
      sum_priced_;  // by clock, sums over the packs of the gpu up to and with i
  std::vector<std::uint32_t> option_;
  Side in_, out_;
  std::uint64_t pass_ = 0;
  double deadline_s_ = 0;
  double makespan_w_ = 0;  // the price of time at the deadline
  double penalty_w_ = 0;   // of time beyond the deadline
  double price_w_ = 0;     // of all time, beside idle power

  Random random_;
  Counts counts_;
  std::vector<std::uint32_t> at_;  // by index into row: clock
  std::vector<double> now_s_;      // the time of the pack at its clock
  std::vector<double> end_,
      tail_;                 // earliest end; longest way from the end of the pack to the end of all
  std::vector<double> way_;  // tail_ and the pack itself
  double makespan_s_ = 0;
  double energy_j_ = 0;  // without idle power x makespan
  std::vector<std::uint32_t> saved_;
  Move move_;
  // Of a move of several GPUs: its packs, which part each is of, and when each would end.
  std::vector<std::uint32_t> touched_, part_of_;
  std::vector<double> trial_;
  std::vector<std::uint64_t> dirty_;  // a bit a pack, in the order of the problem
  std::vector<std::pair<std::uint32_t, double>> undo_;
};

}  // namespace ergon::plan
