// A board with its store, for tests in virtual time.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/sim/board.hpp"

namespace ergon::sim {

inline Nanoseconds at(double s) { return static_cast<Nanoseconds>(std::llround(s * 1e9)); }
inline double seconds(Nanoseconds t) { return static_cast<double>(t) * 1e-9; }

class TestBoard {
 public:
  explicit TestBoard(const std::string& model, std::uint64_t seed, std::uint32_t faults = 0,
                     double gain = 0)
      : history_(kHistoryLength),
        clocks_(kClockHistoryLength),
        phases_(kMaxJobs * kMaxPhases),
        records_(kMaxJobs * kRecordLength),
        view_(known(model), board_, {history_, clocks_, phases_, records_}) {
    view_.create({seed, 0, faults, gain}, 0);
  }
  BoardView& view() { return view_; }
  [[nodiscard]] const Record& record(int slot, std::uint64_t k) const {
    return records_[static_cast<std::size_t>(slot) * kRecordLength + k];
  }

 private:
  static const Model& known(const std::string& name) {
    const Model* model = find_model(name);
    ERGON_CHECK(model != nullptr, "tests name known models");
    return *model;
  }
  std::vector<Mark> history_;
  std::vector<ClockMark> clocks_;
  std::vector<Phase> phases_;
  std::vector<Record> records_;
  Board board_;
  BoardView view_;
};

}  // namespace ergon::sim
