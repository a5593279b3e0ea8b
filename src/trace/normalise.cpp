// Sorting a table that is nearly sorted: by track, then by start in pieces, then gather.
#include "normalise.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "ergon/base/radix_sort.hpp"

namespace ergon::trace {

namespace {

using Order = std::vector<EventId>;

// Where a sparse column has an entry: rank of an event among those that have one.
class SparseIndex {
 public:
  SparseIndex(const SparseColumn& column, std::size_t events) : column_(column) {
    if (column.size() == 0) return;
    words_.resize(events / 64 + 1);
    before_.resize(words_.size());
    for (std::size_t i = 0; i < column.size(); ++i) {
      words_[column.event(i) / 64] |= bit_of(column.event(i));
    }
    std::uint32_t count = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      before_[i] = count;
      count += static_cast<std::uint32_t>(std::popcount(words_[i]));
    }
  }
  [[nodiscard]] std::optional<std::int64_t> find(EventId event) const {
    if (words_.empty()) return std::nullopt;
    const std::uint64_t word = words_[event / 64];
    if ((word & bit_of(event)) == 0) return std::nullopt;
    const std::uint64_t lower = word & (bit_of(event) - 1);
    return column_.value(before_[event / 64] + static_cast<std::size_t>(std::popcount(lower)));
  }
  [[nodiscard]] std::int64_t value(EventId event) const {
    return find(event).value_or(std::numeric_limits<std::int64_t>::min());
  }

 private:
  static std::uint64_t bit_of(EventId event) { return std::uint64_t{1} << (event % 64); }
  const SparseColumn& column_;
  std::vector<std::uint64_t> words_;
  std::vector<std::uint32_t> before_;
};

// Maps every track to its place among the tracks in canonical order; equal tracks share one.
std::vector<std::uint32_t> order_tracks(EventTable& table) {
  const auto key = [&table](const Track& t) {
    return std::tuple(t.gpu, t.process, t.thread, t.device, t.context, t.stream,
                      table.strings.view(t.name), table.strings.view(t.process_name));
  };
  std::vector<std::uint32_t> order(table.tracks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t a, std::uint32_t b) {
    return key(table.tracks[a]) < key(table.tracks[b]);
  });
  std::vector<std::uint32_t> place(order.size());
  std::vector<Track> tracks;
  for (const std::uint32_t old : order) {
    const Track& track = table.tracks[old];
    if (tracks.empty() || key(tracks.back()) != key(track)) tracks.push_back(track);
    place[old] = static_cast<std::uint32_t>(tracks.size() - 1);
  }
  table.tracks = std::move(tracks);
  return place;
}

class EventOrder {
 public:
  explicit EventOrder(const EventTable& table)
      : t_(table),
        sequence_(table.sequence, table.size()),
        forward_(table.forward_thread, table.size()),
        collective_(table.collective_seq, table.size()) {}
  EventOrder(const EventOrder&) = delete;
  EventOrder& operator=(const EventOrder&) = delete;

  // Events of one track.
  bool operator()(EventId a, EventId b) const {
    if (t_.start_ns[a] != t_.start_ns[b]) return t_.start_ns[a] < t_.start_ns[b];
    if (t_.duration_ns[a] != t_.duration_ns[b]) return t_.duration_ns[a] > t_.duration_ns[b];
    return content(a, b);
  }

 private:
  [[nodiscard]] bool content(EventId a, EventId b) const {
    if (t_.kind[a] != t_.kind[b]) return t_.kind[a] < t_.kind[b];
    if (t_.correlation[a] != t_.correlation[b]) return t_.correlation[a] < t_.correlation[b];
    if (t_.external_id[a] != t_.external_id[b]) return t_.external_id[a] < t_.external_id[b];
    if (t_.name[a] != t_.name[b]) return t_.name_of(a) < t_.name_of(b);
    if (t_.detail[a] != t_.detail[b]) return t_.detail_of(a) < t_.detail_of(b);
    const auto rest = [this](EventId e) {
      return std::tuple(sequence_.value(e), forward_.value(e), collective_.value(e));
    };
    return rest(a) < rest(b);
  }

  const EventTable& t_;
  SparseIndex sequence_;
  SparseIndex forward_;
  SparseIndex collective_;
};

// Events by start within pieces of bounded size, so that the keys take a bounded amount of memory;
// equal starts by the rest of the order.
class PieceSorter {
 public:
  PieceSorter(const EventTable& table, const EventOrder& before)
      : starts_(table.start_ns), before_(before) {}

  void sort(std::span<EventId> ids) {
    if (sorted(ids)) return;
    keyed_.clear();
    keyed_.reserve(ids.size());
    for (const EventId id : ids) keyed_.push_back({starts_[id], id});
    if (!merge_stretches()) radix_sort(keyed_, spare_, [](const Keyed& k) { return k.start; });
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = keyed_[i].id;
    for (std::size_t i = 0; i < ids.size();) {
      std::size_t end = i + 1;
      while (end < ids.size() && keyed_[end].start == keyed_[i].start) ++end;
      if (end - i > 1) std::ranges::sort(ids.subspan(i, end - i), std::cref(before_));
      i = end;
    }
  }

 private:
  struct Keyed {
    Nanos start = 0;
    EventId id = 0;
  };
  // Profilers mostly write the events of a track in order.
  [[nodiscard]] bool sorted(std::span<const EventId> ids) const {
    for (std::size_t i = 1; i < ids.size(); ++i) {
      const Nanos last = starts_[ids[i - 1]];
      const Nanos next = starts_[ids[i]];
      if (last > next || (last == next && before_(ids[i], ids[i - 1]))) return false;
    }
    return true;
  }
  // They also write the operators of a thread first and its calls later: a few ascending stretches,
  // which take less to merge than to sort. False where there are many.
  bool merge_stretches() {
    constexpr std::size_t kFew = 16;
    ends_.clear();
    for (std::size_t i = 1; i < keyed_.size(); ++i) {
      if (keyed_[i].start >= keyed_[i - 1].start) continue;
      ends_.push_back(i);
      if (ends_.size() == kFew) return false;
    }
    ends_.push_back(keyed_.size());
    while (ends_.size() > 1) {
      spare_.resize(keyed_.size());
      std::size_t kept = 0;
      std::size_t begin = 0;
      for (std::size_t i = 0; i < ends_.size(); i += 2) {
        const std::size_t middle = ends_[i];
        const std::size_t end = i + 1 < ends_.size() ? ends_[i + 1] : middle;
        merge_two(begin, middle, end);
        ends_[kept++] = end;
        begin = end;
      }
      ends_.resize(kept);
      keyed_.swap(spare_);
    }
    return true;
  }
  // Which of the two is next is as good as chance: without a branch.
  void merge_two(std::size_t begin, std::size_t middle, std::size_t end) {
    const Keyed* a = keyed_.data() + begin;
    const Keyed* b = keyed_.data() + middle;
    const Keyed* const a_end = b;
    const Keyed* const b_end = keyed_.data() + end;
    Keyed* out = spare_.data() + begin;
    while (a < a_end && b < b_end) {
      const bool second = b->start < a->start;
      *out++ = *(second ? b : a);
      b += second ? 1 : 0;
      a += second ? 0 : 1;
    }
    out = std::copy(a, a_end, out);
    std::copy(b, b_end, out);
  }
  const Column<Nanos>& starts_;
  const EventOrder& before_;
  std::vector<Keyed> keyed_;
  std::vector<Keyed> spare_;
  std::vector<std::size_t> ends_;
};

// Two sorted neighbours, of which mostly only a few events at the border overlap.
void merge(std::span<EventId> ids, std::size_t middle, const EventOrder& before) {
  const auto border = ids.begin() + static_cast<std::ptrdiff_t>(middle);
  if (!before(*border, *(border - 1))) return;
  const auto first = std::upper_bound(ids.begin(), border, *border, std::cref(before));
  const auto last = std::lower_bound(border, ids.end(), *(border - 1), std::cref(before));
  std::inplace_merge(first, border, last, std::cref(before));
}

void sort_range(std::span<EventId> ids, PieceSorter& sorter, const EventOrder& before) {
  constexpr std::size_t kPiece = std::size_t{1} << 16U;
  for (std::size_t i = 0; i < ids.size(); i += kPiece) {
    sorter.sort(ids.subspan(i, std::min(kPiece, ids.size() - i)));
  }
  for (std::size_t width = kPiece; width < ids.size(); width *= 2) {
    for (std::size_t i = 0; i + width < ids.size(); i += 2 * width) {
      merge(ids.subspan(i, std::min(2 * width, ids.size() - i)), width, before);
    }
  }
}

Order order_events(const EventTable& table, const std::vector<std::uint32_t>& place) {
  std::vector<std::size_t> first(table.tracks.size() + 1);
  for (EventId e = 0; e < table.size(); ++e) ++first[place[table.track[e]] + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  Order order(table.size());
  for (EventId e = 0; e < table.size(); ++e) order[next[place[table.track[e]]]++] = e;
  const EventOrder before(table);
  PieceSorter sorter(table, before);
  for (std::size_t t = 0; t < table.tracks.size(); ++t) {
    sort_range(std::span(order).subspan(first[t], first[t + 1] - first[t]), sorter, before);
  }
  return order;
}

// One column at a time: only one is held twice.
template <class T, class Map>
void gather(Column<T>& column, const Order& order, Map&& map) {
  Column<T> sorted;
  sorted.append(order.size(), [&, next = order.begin()]() mutable { return map(column[*next++]); });
  column = std::move(sorted);
}

void gather_sparse(SparseColumn& column, const Order& order) {
  if (column.size() == 0) return;
  const SparseIndex index(column, order.size());
  SparseColumn sorted;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (const auto value = index.find(order[i])) {
      sorted.push_back(static_cast<EventId>(i), *value);
    }
  }
  column = std::move(sorted);
}

// Ids in order of first use.
class Renumber {
 public:
  explicit Renumber(std::size_t strings) : to_(strings) {}
  StringId operator()(StringId old) {
    if (old == 0) return 0;
    if (to_[old] == 0) {
      kept_.push_back(old);
      to_[old] = static_cast<StringId>(kept_.size());
    }
    return to_[old];
  }
  [[nodiscard]] std::span<const StringId> kept() const { return kept_; }

 private:
  std::vector<StringId> to_;
  std::vector<StringId> kept_;
};

}  // namespace

void normalise(EventTable& table, Nanos clock_ns) {
  const std::vector<std::uint32_t> place = order_tracks(table);
  const Order order = order_events(table, place);
  const auto same = [](const auto& v) { return v; };
  Nanos first = std::numeric_limits<Nanos>::max();
  for (EventId e = 0; e < table.size(); ++e) first = std::min(first, table.start_ns[e]);
  if (table.size() == 0) first = 0;
  table.base_ns = clock_ns + first;
  gather_sparse(table.sequence, order);
  gather_sparse(table.forward_thread, order);
  gather_sparse(table.collective_seq, order);
  gather(table.start_ns, order, [first](Nanos t) { return t - first; });
  gather(table.duration_ns, order, same);
  gather(table.kind, order, same);
  gather(table.track, order, [&place](std::uint32_t t) { return place[t]; });
  gather(table.correlation, order, same);
  gather(table.external_id, order, same);
  Renumber renumber(table.strings.size());
  gather(table.name, order, [&renumber](StringId id) { return renumber(id); });
  gather(table.detail, order, [&renumber](StringId id) { return renumber(id); });
  for (Track& track : table.tracks) {
    track.name = renumber(track.name);
    track.process_name = renumber(track.process_name);
  }
  table.strings.renumber(renumber.kept());
}

}  // namespace ergon::trace
