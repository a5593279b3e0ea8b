// Stretches of an event that come again byte by byte: from behind one value over values that seldom
// change (device, grid, input shapes, ...) to the next value that does, or to the end of the event.
// Comparing them replaces parsing them. Only speed depends on what is remembered.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "shapes.hpp"

namespace ergon::trace::kineto {

/// One record of the arena: this, then the text, then its numbers, arguments and values.
struct alignas(32) Run {
  struct Number {
    std::int64_t value = 0;
    Field field = Field::kIgnored;
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
  std::uint64_t name = 0;  ///< hash of the event's name where that matters
  ShapeNode* to = nullptr;
  Run* next = nullptr;  ///< what followed it behind the same node, last time
  DetailMemo memo;
  Step last;  ///< the step behind the last value of the run
  std::uint16_t length = 0;
  std::uint8_t number_count = 0;
  std::uint8_t argument_count = 0;
  std::uint8_t value_count = 0;
  std::uint8_t units = 0;  ///< size of the record

  /// Bytes of the text, padded to whole blocks.
  [[nodiscard]] std::size_t room() const {
    return (length + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  }
  [[nodiscard]] char* text() { return reinterpret_cast<char*>(this + 1); }
  [[nodiscard]] Number* numbers() { return reinterpret_cast<Number*>(text() + room()); }
  [[nodiscard]] Argument* arguments() {
    return reinterpret_cast<Argument*>(numbers() + number_count);
  }
  [[nodiscard]] Value* values() { return reinterpret_cast<Value*>(arguments() + argument_count); }
  [[nodiscard]] std::size_t bytes() {
    return static_cast<std::size_t>(reinterpret_cast<char*>(values() + value_count) -
                                    reinterpret_cast<char*>(this));
  }
};

class Runs {
 public:
  explicit Runs(Shapes& shapes);

  /// The run at `p`, behind `node`; nullptr where there is none.
  Run* find(ShapeNode* node, std::uint64_t name, const char* p) {
    if (!node->named_runs) name = 0;
    // Programs repeat themselves. A record may be another's by now: it says what it is.
    if (Run* const last = node->recent; last != nullptr) {
      for (Run* const run : {last->next, last}) {
        if (run != nullptr && run->from == node && run->name == name && fits(*run, p)) {
          last->next = run;
          node->recent = run;
          ++node->hits;
          return run;
        }
      }
    }
    return search(*node, name, p);
  }

  /// Recording: begin() behind a value of `node` where find() found nothing; then for every step
  /// before_value(), and take its value with one of the add functions; end() at the step whose
  /// value changes. Anything a run cannot hold cancels it.
  void begin(ShapeNode* node, std::uint64_t name, const char* p);
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
    if (!retired_.empty()) reuse_retired();
  }
  void clear();

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::size_t kSets = 2048;
  static constexpr std::size_t kNumbers = 8;
  static constexpr std::size_t kValues = 32;
  static constexpr std::size_t kUnit = 64;
  static constexpr std::size_t kUnitsOfBlock = 4096;
  static constexpr std::size_t kBlocks = 16;
  static constexpr std::size_t kMostUnits = 128;
  /// Place of a record: its first unit in the arena. 0: none.
  using Ref = std::uint16_t;
  // Most recent first. Tags spare a look at records of other nodes and names.
  struct Set {
    std::array<Ref, kWays> ref{};
    std::array<std::uint16_t, kWays> tag{};
    void put_first(Ref r, std::uint16_t t, std::size_t way);
  };
  struct Home {
    Set& set;
    std::uint16_t tag;
  };
  struct alignas(kUnit) Block {
    std::array<char, kUnit * kUnitsOfBlock> bytes;
  };
  // What is being recorded.
  struct Draft {
    ShapeNode* from = nullptr;
    std::uint64_t name = 0;
    std::size_t numbers = 0;
    std::size_t arguments = 0;
    std::size_t values = 0;
    std::array<Run::Number, kNumbers> number;
    std::array<Run::Argument, kValues> argument;
    std::array<Run::Value, kValues> value;
  };

  Home home_of(const ShapeNode* node, std::uint64_t key);
  static bool fits(Run& run, const char* p) {
    return same_bytes(p, run.text(), run.length) && may_start(run.last.type, p[run.length]);
  }
  Run* find_at(const Home& home, const ShapeNode& node, std::uint64_t name, const char* p,
               Run*& like);
  Run* search(ShapeNode& node, std::uint64_t name, const char* p);
  void blame(ShapeNode& node, Run& run, const char* p);
  // The run recorded last behind a node for a name, or another one, or nullptr.
  Run*& recorded_at(const ShapeNode* node, std::uint64_t name) {
    return recorded_[(name ^ name >> 32U ^ reinterpret_cast<std::uintptr_t>(node) / 64) %
                     recorded_.size()];
  }
  [[nodiscard]] Run* run_at(Ref ref) {
    return reinterpret_cast<Run*>(blocks_[ref / kUnitsOfBlock]->bytes.data() +
                                  ref % kUnitsOfBlock * kUnit);
  }
  Ref allocate(std::size_t units);
  void reuse_retired();

  Shapes& shapes_;
  std::vector<Set> sets_;
  std::array<Run*, 256> recorded_{};
  std::vector<std::unique_ptr<Block>> blocks_;
  std::size_t next_unit_ = 1;                      // of the arena
  std::array<std::vector<Ref>, kMostUnits> free_;  // by units
  // Replaced records, kept until the event ends: its memo may lie in one.
  std::vector<Ref> retired_;
  bool stale_ = false;

  const char* start_ = nullptr;
  Draft draft_;
};

}  // namespace ergon::trace::kineto
