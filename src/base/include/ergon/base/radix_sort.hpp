// Sorting many items by an integer key in linear time, as stable as std::stable_sort.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ergon {

/// Sorts `items` by `key(item)`, an integer of at most 64 bits that fits std::int64_t; equal keys
/// keep their order. Items already in order cost one walk.
/// `spare` is scratch space of the same size, reusable between calls.
template <class T, class Key>
void radix_sort(std::vector<T>& items, std::vector<T>& spare, Key key) {
  constexpr unsigned kDigit = 11;
  constexpr std::size_t kFew = 512;
  const auto less = [&](const T& a, const T& b) { return key(a) < key(b); };
  if (std::is_sorted(items.begin(), items.end(), less)) return;
  if (items.size() < kFew) {
    std::stable_sort(items.begin(), items.end(), less);
    return;
  }
  const auto [least, most] = std::minmax_element(items.begin(), items.end(), less);
  const auto lowest = static_cast<std::uint64_t>(key(*least));
  const auto bits =
      static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(key(*most)) - lowest));
  spare.resize(items.size());
  for (unsigned shift = 0; shift < bits; shift += kDigit) {
    std::array<std::size_t, std::size_t{1} << kDigit> place{};
    const auto digit = [&](const T& item) {
      return ((static_cast<std::uint64_t>(key(item)) - lowest) >> shift) & (place.size() - 1);
    };
    for (const T& item : items) ++place[digit(item)];
    std::size_t before = 0;
    for (std::size_t& p : place) before += std::exchange(p, before);
    for (const T& item : items) spare[place[digit(item)]++] = item;
    items.swap(spare);
  }
}
template <class T, class Key>
void radix_sort(std::vector<T>& items, Key key) {
  std::vector<T> spare;
  radix_sort(items, spare, key);
}

}  // namespace ergon
