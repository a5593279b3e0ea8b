// Begin and end events (B and E) until both are there.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "event.hpp"

namespace ergon::trace::kineto {

/// Fields whose numbers a half keeps: ids and places.
inline constexpr auto kFirstKept = static_cast<std::size_t>(Field::kExternalId);
inline constexpr auto kLastKept = static_cast<std::size_t>(Field::kCollectiveSeq);

struct Half {
  std::int64_t process = -1;  ///< as the file says, also for GPU work
  std::int64_t thread = -1;
  Nanos time = 0;
  std::uint64_t offset = 0;
  std::array<std::int64_t, kLastKept - kFirstKept + 1> number{};
  std::uint32_t has = 0;  ///< of what the event had (RawEvent::has, ::bad)
  std::uint32_t bad = 0;
  StringId name = 0;
  StringId detail = 0;  ///< Family::kAny
  CategoryId category = kNoCategory;
  bool end = false;
  bool paired = false;  ///< by pair_halves
};

/// One event of both, but for its name and detail: what the end says counts where both say it.
void merge(const Half& begin, const Half& end, RawEvent& event);

/// Pairs halves of one process and thread of the file, as Chrome's format says: an end belongs to
/// the innermost open begin, of its name where it has one; where there is none, to a begin of the
/// same moment that the file has behind it. paired(begin, end), lone(half).
template <class Paired, class Lone>
void pair_halves(std::vector<Half>& halves, Paired&& paired, Lone&& lone) {
  constexpr std::size_t kFarthest = 64;
  // The file's order among equal times is the nesting that was recorded.
  std::ranges::sort(halves, [](const Half& a, const Half& b) {
    return std::tie(a.process, a.thread, a.time, a.offset) <
           std::tie(b.process, b.thread, b.time, b.offset);
  });
  const auto of_one_thread = [](const Half& a, const Half& b) {
    return a.process == b.process && a.thread == b.thread;
  };
  const auto alike = [](const Half& end, const Half& begin) {
    return end.name == 0 || end.name == begin.name;
  };
  std::vector<const Half*> open;
  for (std::size_t i = 0; i < halves.size(); ++i) {
    Half& half = halves[i];
    if (i > 0 && !of_one_thread(halves[i - 1], half)) {
      for (const Half* left : open) lone(*left);
      open.clear();
    }
    if (half.paired) continue;
    if (!half.end) {
      open.push_back(&half);
      continue;
    }
    std::size_t depth = 0;  // from the innermost
    const std::size_t deepest = std::min(open.size(), kFarthest);
    while (depth < deepest && !alike(half, *open[open.size() - 1 - depth])) ++depth;
    Half* begin = nullptr;
    if (depth == deepest) {
      for (std::size_t k = i + 1; k < std::min(halves.size(), i + kFarthest); ++k) {
        Half& next = halves[k];
        if (!of_one_thread(next, half) || next.time != half.time || begin != nullptr) break;
        if (!next.end && !next.paired && alike(half, next)) begin = &next;
      }
      depth = 0;
    }
    if (begin != nullptr) {
      begin->paired = true;
      paired(*begin, half);
    } else if (open.empty()) {
      lone(half);
    } else {
      const auto at = open.end() - 1 - static_cast<std::ptrdiff_t>(depth);
      paired(**at, half);
      open.erase(at);
    }
  }
  for (const Half* left : open) lone(*left);
}

}  // namespace ergon::trace::kineto
