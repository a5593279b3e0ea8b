// Remembering, and learning what is not worth remembering.
#include "runs.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

namespace ergon::trace::kineto {

namespace {

constexpr std::size_t kLongestRun = 4096;
// A node is given up when, after this many tries, fewer than one in kWorth is a hit.
constexpr std::uint32_t kTrial = 512;
constexpr std::uint32_t kWorth = 8;
// A value ends runs when it broke more of them than were hits, and more than this.
constexpr std::uint32_t kBlamed = 16;

}  // namespace

Runs::Runs(Shapes& shapes) : shapes_(shapes), sets_(kSets) {}

Runs::Home Runs::home_of(const ShapeNode* node, std::uint64_t key) {
  std::uint64_t h = key ^ reinterpret_cast<std::uintptr_t>(node) * 0x9e3779b97f4a7c15U;
  h ^= h >> 32U;
  h *= 0xc2b2ae3d27d4eb4fU;
  return {sets_[(h >> 40U) % kSets], static_cast<std::uint16_t>(h >> 16U)};
}

namespace {

// Operators and kernels of one name come with many shapes and grids: runs are found by what they
// begin with too, as much of it as the shortest run of their class has.
constexpr std::size_t kKeyPart = 64;
constexpr std::size_t kLengthClasses = 3;
std::size_t length_class(std::size_t length) {
  return std::min(length / kKeyPart, kLengthClasses - 1);
}
std::uint64_t key_part(const char* p) {
  std::array<std::uint64_t, 2> h{};
  for (std::size_t i = 0; i < kKeyPart; i += 8) {
    std::uint64_t& half = h[i / 8 % 2];
#if defined(__SSE4_2__)
    half = _mm_crc32_u64(half, load64(p + i));
#else
    half = (half ^ load64(p + i)) * 0x9e3779b185ebca87U;
    half ^= half >> 32U;
#endif
  }
  return h[0] ^ h[1] << 32U;
}

}  // namespace

// The ways before `way` move down by one.
void Runs::Set::put_first(Ref r, std::uint16_t t, std::size_t way) {
  static_assert(kWays == 4 && sizeof(Ref) == 2 && std::endian::native == std::endian::little);
  const auto shift = [way](auto& ways, std::uint16_t first) {
    const auto all = std::bit_cast<std::uint64_t>(ways);
    const std::uint64_t before = (std::uint64_t{1} << (16 * way)) - 1;
    const std::uint64_t behind = ~(before << 16U | 0xffffU);
    ways = std::bit_cast<std::array<std::uint16_t, kWays>>((all & behind) | (all & before) << 16U |
                                                           first);
  };
  shift(ref, r);
  shift(tag, t);
}

Run* Runs::find_at(const Home& home, const ShapeNode& node, std::uint64_t name, const char* p,
                   Run*& like) {
  const auto [set, tag] = home;
  for (std::size_t way = 0; way < kWays && set.ref[way] != 0; ++way) {
    if (set.tag[way] != tag) continue;
    Run* const run = run_at(set.ref[way]);
    if (run->from != &node || run->name != name) continue;
    if (fits(*run, p)) {
      if (way != 0) set.put_first(set.ref[way], tag, way);
      return run;
    }
    if (like == nullptr) like = run;
  }
  return nullptr;
}

// Where what followed last time does not.
Run* Runs::search(ShapeNode& node, std::uint64_t name, const char* p) {
  Run* like = nullptr;
  std::uint64_t key = name;
  for (unsigned i = 0; node.run_lengths >> i != 0; ++i) {
    if (i > 0) key = key * 3 + key_part(p + (i - 1) * kKeyPart);
    if ((node.run_lengths >> i & 1U) == 0) continue;
    Run* const run = find_at(home_of(&node, key), node, name, p, like);
    if (run == nullptr) continue;
    if (node.recent != nullptr) node.recent->next = run;
    node.recent = run;
    ++node.hits;
    return run;
  }
  if (++node.misses >= kTrial && node.hits < node.misses / kWorth) node.runs = false;
  if (like == nullptr) {
    Run* const last = recorded_at(&node, name);
    if (last != nullptr && last->from == &node && last->name == name) like = last;
  }
  if (like != nullptr && node.misses < 8 * kTrial) blame(node, *like, p);
  return nullptr;
}

// Finds the value that makes the text at `p` differ from the run.
void Runs::blame(ShapeNode& node, Run& run, const char* p) {
  // The text at `p` differs within the window or at its zero padding at the latest.
  std::size_t at = 0;
  const char* const text = run.text();
  while (at < run.length && p[at] == text[at]) ++at;
  const Run::Value* const values = run.values();
  for (std::size_t i = run.value_count; i-- > 0;) {
    if (values[i].offset > at) continue;
    ShapeEdge& edge = shapes_.edge(values[i].edge);
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

void Runs::begin(ShapeNode* node, std::uint64_t name, const char* p) {
  start_ = p;
  draft_.from = node;
  draft_.name = name;
  draft_.numbers = draft_.arguments = draft_.values = 0;
}

void Runs::add_value(const ShapeEdge& edge, const char* p) {
  const auto offset = static_cast<std::size_t>(p - start_);
  if (offset > kLongestRun || draft_.values == kValues || edge.step.phase != 0 ||
      edge.step.category != kNoCategory) {
    return cancel();
  }
  draft_.value[draft_.values++] = {static_cast<std::uint16_t>(offset), shapes_.index(edge)};
}

void Runs::add_number(Field field, std::int64_t value) {
  if (draft_.numbers == kNumbers) return cancel();
  draft_.number[draft_.numbers++] = {value, field};
}

void Runs::add_argument(std::uint8_t index, const char* p, std::size_t size) {
  const auto offset = static_cast<std::size_t>(p - start_);
  if (offset + size > kLongestRun || draft_.arguments == kValues) return cancel();
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
  Run head;
  head.from = draft_.from;
  draft_.from->named_runs = draft_.from->named_runs || draft_.arguments > 0;
  if (!draft_.from->named_runs) draft_.name = 0;
  head.name = draft_.name;
  head.to = edge.child;
  head.last = edge.step;
  head.length = static_cast<std::uint16_t>(length);
  head.number_count = static_cast<std::uint8_t>(draft_.numbers);
  head.argument_count = static_cast<std::uint8_t>(draft_.arguments);
  head.value_count = static_cast<std::uint8_t>(draft_.values);
  const std::size_t units = (head.bytes() + kUnit - 1) / kUnit;
  const Ref ref = allocate(units);
  if (ref == 0) return;
  head.units = static_cast<std::uint8_t>(units);
  Run& run = *::new (run_at(ref)) Run(head);
  std::memcpy(run.text(), start, length);
  std::memset(run.text() + length, 0, run.room() - length);
  std::copy_n(draft_.number.begin(), draft_.numbers, run.numbers());
  std::copy_n(draft_.argument.begin(), draft_.arguments, run.arguments());
  std::copy_n(draft_.value.begin(), draft_.values, run.values());

  if (draft_.from->recent != nullptr) draft_.from->recent->next = &run;
  draft_.from->recent = &run;
  recorded_at(draft_.from, draft_.name) = &run;
  const std::size_t kind = length_class(length);
  draft_.from->run_lengths |= static_cast<std::uint8_t>(1U << kind);
  std::uint64_t key = draft_.name;
  for (std::size_t i = 0; i < kind; ++i) key = key * 3 + key_part(start + i * kKeyPart);
  const auto [set, tag] = home_of(draft_.from, key);
  if (set.ref.back() != 0) retired_.push_back(set.ref.back());
  set.put_first(ref, tag, kWays - 1);
}

// Units for a record; 0 where the arena is full.
Runs::Ref Runs::allocate(std::size_t units) {
  if (!free_[units].empty()) {
    const Ref ref = free_[units].back();
    free_[units].pop_back();
    return ref;
  }
  // A record lies in one block.
  if (next_unit_ % kUnitsOfBlock + units > kUnitsOfBlock) {
    next_unit_ += kUnitsOfBlock - next_unit_ % kUnitsOfBlock;
  }
  if (next_unit_ + units > kBlocks * kUnitsOfBlock) {
    stale_ = true;
    return 0;
  }
  if (next_unit_ / kUnitsOfBlock == blocks_.size()) {
    blocks_.push_back(std::make_unique_for_overwrite<Block>());
  }
  return static_cast<Ref>(std::exchange(next_unit_, next_unit_ + units));
}

void Runs::reuse_retired() {
  for (const Ref ref : retired_) {
    Run* const run = run_at(ref);
    run->from = nullptr;
    free_[run->units].push_back(ref);
  }
  retired_.clear();
}

void Runs::clear() {
  std::ranges::fill(sets_, Set{});
  recorded_.fill(nullptr);
  for (auto& refs : free_) refs.clear();
  retired_.clear();
  next_unit_ = 1;
  shapes_.forget_runs();  // other records will begin elsewhere
  stale_ = false;
  cancel();
}

}  // namespace ergon::trace::kineto
