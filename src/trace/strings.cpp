// The string pool: text in an arena, found through an open-addressing table of ids.
#include <algorithm>
#include <cstring>

#include "ergon/trace.hpp"

#define XXH_INLINE_ALL  // NOLINT(readability-identifier-naming): the name that xxhash.h reads
#include <xxhash.h>

namespace ergon::trace {

namespace {
constexpr std::size_t kArenaBlock = std::size_t{1} << 16;
constexpr std::size_t kFirstSlots = 1024;
}  // namespace

struct StringPool::Impl {
  // A slot keeps part of the hash, so that most probes never touch the text. Id 0 is never stored.
  struct Slot {
    std::uint32_t tag = 0;
    StringId id = 0;
  };
  std::vector<std::unique_ptr<char[]>> blocks;
  std::size_t used = kArenaBlock;
  std::vector<Slot> slots = std::vector<Slot>(kFirstSlots);
  std::size_t count = 0;

  static std::uint64_t hash(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

  std::string_view keep(std::string_view text) {
    if (text.size() > kArenaBlock / 4) {
      // A block of its own, put before the open one.
      auto own = std::make_unique_for_overwrite<char[]>(text.size());
      std::memcpy(own.get(), text.data(), text.size());
      const std::string_view view(own.get(), text.size());
      blocks.insert(blocks.empty() ? blocks.end() : blocks.end() - 1, std::move(own));
      if (blocks.size() == 1) used = kArenaBlock;
      return view;
    }
    if (used + text.size() > kArenaBlock) {
      blocks.push_back(std::make_unique_for_overwrite<char[]>(kArenaBlock));
      used = 0;
    }
    char* at = blocks.back().get() + used;
    std::memcpy(at, text.data(), text.size());
    used += text.size();
    return {at, text.size()};
  }

  void place(std::uint64_t h, StringId id) {
    const std::size_t mask = slots.size() - 1;
    std::size_t i = h & mask;
    while (slots[i].id != 0) i = (i + 1) & mask;
    slots[i] = {static_cast<std::uint32_t>(h >> 32U), id};
  }

  void grow(const std::vector<std::string_view>& views) {
    slots.assign(slots.size() * 2, Slot{});
    for (StringId id = 1; id < views.size(); ++id) place(hash(views[id]), id);
  }
};

StringPool::StringPool() : impl_(std::make_shared<Impl>()), views_{std::string_view{}} {}

StringId StringPool::intern(std::string_view text) {
  if (text.empty()) return 0;
  Impl& p = *impl_;
  const std::uint64_t h = Impl::hash(text);
  const auto tag = static_cast<std::uint32_t>(h >> 32U);
  const std::size_t mask = p.slots.size() - 1;
  for (std::size_t i = h & mask; p.slots[i].id != 0; i = (i + 1) & mask) {
    if (p.slots[i].tag == tag && views_[p.slots[i].id] == text) return p.slots[i].id;
  }
  const auto id = static_cast<StringId>(views_.size());
  ERGON_CHECK(id != 0xffffffffU, "more strings than ids");
  views_.push_back(p.keep(text));
  ++p.count;
  if (p.count * 2 > p.slots.size()) {
    p.grow(views_);
  } else {
    p.place(h, id);
  }
  return id;
}

void StringPool::renumber(std::span<const StringId> kept) {
  std::vector<std::string_view> views{std::string_view{}};
  views.reserve(kept.size() + 1);
  for (const StringId id : kept) views.push_back(views_[id]);
  views_ = std::move(views);
  impl_->count = kept.size();
  std::ranges::fill(impl_->slots, Impl::Slot{});
  for (StringId id = 1; id < views_.size(); ++id) impl_->place(Impl::hash(views_[id]), id);
}

std::optional<std::int64_t> SparseColumn::get(EventId event) const {
  std::size_t low = 0;
  std::size_t high = events_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (events_[middle] < event) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low == events_.size() || events_[low] != event) return std::nullopt;
  return values_[low];
}

}  // namespace ergon::trace
