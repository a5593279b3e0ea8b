// Stretches of an event that come again byte by byte: from behind one value over values that seldom
// change (device, grid, input shapes, ...) to the next value that does, or to the end of the event.
// Comparing them replaces parsing them. Only speed depends on what is remembered.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "shapes.hpp"

namespace ergon::trace::kineto {

struct Run {
  static constexpr std::size_t kNumbers = 8;
  static constexpr std::size_t kValues = 32;
  struct Number {
    Field field = Field::kIgnored;
    std::int64_t value = 0;
  };
  struct Argument {
    std::uint16_t offset = 0;
    std::uint16_t size = 0;
    std::uint8_t index = 0;
  };
  struct Value {
    std::uint16_t offset = 0;
    std::uint16_t edge = 0;
  };

  const ShapeNode* from = nullptr;
  std::uint64_t name = 0;  ///< hash of the event's name: runs of different names differ
  const char* text = nullptr;
  std::uint16_t length = 0;
  std::uint8_t numbers = 0;
  std::uint8_t arguments = 0;
  std::uint8_t values = 0;
  Step last;  ///< the step behind the last value of the run
  ShapeNode* to = nullptr;
  std::array<Number, kNumbers> number;
  std::array<Argument, kValues> argument;
  std::array<Value, kValues> value;
  DetailMemo memo;
};

class Runs {
 public:
  explicit Runs(Shapes& shapes);

  /// The run at `p`, behind `node`; nullptr where there is none.
  Run* find(ShapeNode* node, std::uint64_t name, const char* p);

  /// Recording: begin() behind a value of `node` where find() found nothing; then for every step
  /// before_value(), and take its value with one of the add functions; end() at the step whose
  /// value changes. Anything a run cannot hold cancels it.
  void begin(const ShapeNode* node, std::uint64_t name, const char* p);
  [[nodiscard]] bool recording() const { return start_ != nullptr; }
  /// True where `edge` ends the run.
  [[nodiscard]] static bool ends(const ShapeEdge& edge);
  void add_value(const ShapeEdge& edge, const char* p);
  void add_number(Field field, std::int64_t value);
  void add_argument(std::uint8_t index, const char* p, std::size_t size);
  void end(const ShapeEdge& edge, const char* p);
  void cancel() { start_ = nullptr; }

  /// To be called between events: drops what is outdated.
  void settle() {
    if (stale_) clear();
  }
  void clear();

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSets = 1024;
  using Set = std::array<std::uint16_t, kWays>;  // 1-based indices into runs_; most recent first

  Set& set_of(const ShapeNode* node, std::uint64_t name);
  void blame(ShapeNode& node, const Run& run, const char* p);

  Shapes& shapes_;
  std::vector<Set> sets_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::size_t used_ = 0;  // of runs_
  std::vector<std::unique_ptr<char[]>> arena_;
  std::size_t arena_used_ = 0;  // of arena_
  std::size_t arena_left_ = 0;  // of the block in use
  char* arena_at_ = nullptr;
  bool stale_ = false;

  const char* start_ = nullptr;
  Run draft_;
};

}  // namespace ergon::trace::kineto
