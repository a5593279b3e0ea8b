// Remembering, and learning what is not worth remembering.
#include "runs.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ergon::trace::kineto {

namespace {

constexpr std::size_t kLongestRun = 4096;
constexpr std::size_t kArenaBlock = std::size_t{1} << 18U;
constexpr std::size_t kArenaBlocks = 16;
// A node is given up when, after this many tries, fewer than one in kWorth is a hit.
constexpr std::uint32_t kTrial = 512;
constexpr std::uint32_t kWorth = 8;
// A value ends runs when it broke more of them than were hits, and more than this.
constexpr std::uint32_t kBlamed = 16;

}  // namespace

Runs::Runs(Shapes& shapes) : shapes_(shapes), sets_(kSets) {}

Runs::Set& Runs::set_of(const ShapeNode* node, std::uint64_t name) {
  std::uint64_t h = name ^ reinterpret_cast<std::uintptr_t>(node) * 0x9e3779b97f4a7c15U;
  h ^= h >> 32U;
  return sets_[(h * 0xc2b2ae3d27d4eb4fU >> 40U) % kSets];
}

Run* Runs::find(ShapeNode* node, std::uint64_t name, const char* p) {
  Set& set = set_of(node, name);
  Run* same_name = nullptr;
  for (std::size_t way = 0; way < kWays && set[way] != 0; ++way) {
    Run* const run = runs_[set[way] - 1U].get();
    if (run->from != node || run->name != name) continue;
    if (same_bytes(p, run->text, run->length) && may_start(run->last.type, p[run->length])) {
      if (way != 0) {
        const std::uint16_t index = set[way];
        std::copy_backward(set.begin(), set.begin() + static_cast<std::ptrdiff_t>(way),
                           set.begin() + static_cast<std::ptrdiff_t>(way) + 1);
        set[0] = index;
      }
      ++node->hits;
      return run;
    }
    if (same_name == nullptr) same_name = run;
  }
  if (++node->misses >= kTrial && node->hits < node->misses / kWorth) node->runs = false;
  if (same_name != nullptr && node->misses < 8 * kTrial) blame(*node, *same_name, p);
  return nullptr;
}

// Finds the value that makes the text at `p` differ from the run.
void Runs::blame(ShapeNode& node, const Run& run, const char* p) {
  // The text at `p` differs within the window or at its zero padding at the latest.
  std::size_t at = 0;
  while (at < run.length && p[at] == run.text[at]) ++at;
  for (std::size_t i = run.values; i-- > 0;) {
    if (run.value[i].offset > at) continue;
    ShapeEdge& edge = shapes_.edge(run.value[i].edge);
    // Kept arguments belong to the name; runs are there for them.
    if (edge.step.field >= Field::kDetail) return;
    if (++edge.blame > kBlamed && edge.blame > node.hits) {
      edge.varies = true;
      node.hits = node.misses = 0;
      stale_ = true;
    }
    return;
  }
}

bool Runs::ends(const ShapeEdge& edge) {
  switch (edge.step.field) {
    case Field::kIgnored:
    case Field::kProcess:
    case Field::kThread:
    case Field::kDevice:
    case Field::kContext:
    case Field::kStream:
    case Field::kForwardThread:
      break;
    case Field::kName:
    case Field::kPhase:
    case Field::kCategory:
    case Field::kStart:
    case Field::kDuration:
    case Field::kExternalId:
    case Field::kCorrelation:
    case Field::kSequence:
    case Field::kCollectiveSeq:
    case Field::kMetaName:
      return true;
    default:
      break;
  }
  return edge.varies || edge.step.type == ValueType::kNone;
}

void Runs::begin(const ShapeNode* node, std::uint64_t name, const char* p) {
  start_ = p;
  draft_.from = node;
  draft_.name = name;
  draft_.numbers = draft_.arguments = draft_.values = 0;
}

void Runs::add_value(const ShapeEdge& edge, const char* p) {
  const auto offset = static_cast<std::size_t>(p - start_);
  if (offset > kLongestRun || draft_.values == Run::kValues || edge.step.phase != 0 ||
      edge.step.category != kNoCategory) {
    return cancel();
  }
  draft_.value[draft_.values++] = {static_cast<std::uint16_t>(offset), shapes_.index(edge)};
}

void Runs::add_number(Field field, std::int64_t value) {
  if (draft_.numbers == Run::kNumbers) return cancel();
  draft_.number[draft_.numbers++] = {field, value};
}

void Runs::add_argument(std::uint8_t index, const char* p, std::size_t size) {
  const auto offset = static_cast<std::size_t>(p - start_);
  if (offset + size > kLongestRun || draft_.arguments == Run::kValues) return cancel();
  draft_.argument[draft_.arguments++] = {static_cast<std::uint16_t>(offset),
                                         static_cast<std::uint16_t>(size), index};
}

void Runs::end(const ShapeEdge& edge, const char* p) {
  const char* const start = std::exchange(start_, nullptr);
  const auto length = static_cast<std::size_t>(p - start);
  if (draft_.values == 0 || length > kLongestRun || edge.step.phase != 0 ||
      edge.step.category != kNoCategory || std::memchr(start, '\0', length) != nullptr) {
    return;
  }
  const std::size_t room = (length + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  if (arena_left_ < room) {
    if (arena_used_ == kArenaBlocks) {
      stale_ = true;
      return;
    }
    if (arena_used_ == arena_.size()) {
      arena_.push_back(std::make_unique_for_overwrite<char[]>(kArenaBlock));
    }
    arena_at_ = arena_[arena_used_++].get();
    arena_left_ = kArenaBlock;
  }
  std::memcpy(arena_at_, start, length);
  std::memset(arena_at_ + length, 0, room - length);
  draft_.text = arena_at_;
  draft_.length = static_cast<std::uint16_t>(length);
  arena_at_ += room;
  arena_left_ -= room;
  draft_.last = edge.step;
  draft_.to = edge.child;
  draft_.memo = {};

  Set& set = set_of(draft_.from, draft_.name);
  std::uint16_t index = set.back();
  if (index == 0) {
    if (used_ == runs_.size()) runs_.push_back(std::make_unique<Run>());
    index = static_cast<std::uint16_t>(++used_);
  }
  *runs_[index - 1U] = draft_;
  std::copy_backward(set.begin(), set.end() - 1, set.end());
  set.front() = index;
}

void Runs::clear() {
  std::ranges::fill(sets_, Set{});
  used_ = 0;
  arena_used_ = 0;
  arena_left_ = 0;
  stale_ = false;
  cancel();
}

}  // namespace ergon::trace::kineto
