// Contracts the graph of a window.
#include "window_retimer.hpp"

#include <algorithm>
#include <limits>

namespace ergon::plan {

using graph::NodeId;

void WindowRetimer::add(const graph::Graph& graph, NodeId n, bool scales, bool longer) {
  const auto place_of = [&](const graph::Edge& edge) -> Place {
    if (edge.from < window_.first) {
      const Nanos from = graph.start(edge.from);
      return {kAbsolute, from + (edge.from_start ? 0 : graph.duration(edge.from)) + edge.lag};
    }
    Place place = places_[edge.from - window_.first];
    if (!edge.from_start) {
      if (place.base != kAbsolute && place.base % 2 == 0 && kept_[place.base / 2].scales &&
          kept_[place.base / 2].id == edge.from) {
        place = {place.base + 1, 0};
      } else {
        place.lag += graph.duration(edge.from);
      }
    }
    place.lag += edge.lag;
    return place;
  };
  const std::size_t edges = graph.edge_count(n);
  const auto first = static_cast<std::uint32_t>(waits_.size());
  Nanos floor = edges == 0 ? graph.start(n) : graph.span_begin();
  Nanos observed = std::numeric_limits<Nanos>::min();  // of the waits that are no absolute times
  for (std::size_t e = 0; e < edges; ++e) {
    const graph::Edge edge = graph.edge(n, e);
    const Place place = place_of(edge);
    if (place.base == kAbsolute) {
      floor = std::max(floor, place.lag);
      continue;
    }
    observed = std::max(observed, graph.start(edge.from) +
                                      (edge.from_start ? 0 : graph.duration(edge.from)) + edge.lag);
    bool known = false;
    for (std::size_t w = first; w < waits_.size(); ++w) {
      if (waits_[w].base != place.base) continue;
      waits_[w].lag = std::max(waits_[w].lag, place.lag);
      known = true;
    }
    if (!known) waits_.push_back(place);
  }
  const Nanos residual = edges == 0 ? 0 : graph.residual(n);
  const std::size_t waits = waits_.size() - first;
  Place place{kAbsolute, floor + residual};
  if (longer && !scales && waits == 1 && observed >= floor) {
    place = {waits_.back().base, waits_.back().lag + residual};
    waits_.pop_back();
  } else if (scales || waits > 0) {
    place = {static_cast<std::uint32_t>(2 * kept_.size()), 0};
    kept_.push_back({n, first, static_cast<std::uint32_t>(waits_.size()), scales, floor, residual});
  }
  places_.push_back(place);
  if (window_.next != graph::kNoNode) return;
  Place end = place;
  if (scales)
    ++end.base;
  else
    end.lag += graph.duration(n);
  if (std::ranges::binary_search(window_.tails, n))  // the idle tail after it moves along
    end.lag += window_.end_ns - (graph.start(n) + graph.duration(n));
  ends_.push_back(end);
}

void WindowRetimer::finish(bool open) {
  times_.resize(2 * kept_.size());
  if (open) {
    tail_.assign(2 * kept_.size(), std::numeric_limits<Nanos>::min());
    absolute_end_ = window_.end_ns;
    for (const Place& end : ends_) {
      if (end.base == kAbsolute)
        absolute_end_ = std::max(absolute_end_, end.lag);
      else
        tail_[end.base] = std::max(tail_[end.base], end.lag);
    }
  } else {
    ends_ = {places_.back()};
  }
  if (open) ends_ = {};
  places_ = {};
}

Lanes WindowRetimer::length() const {
  Lanes length;
  if (window_.next != graph::kNoNode) {
    const Place& next = ends_.front();
    for (std::size_t i = 0; i < kLanes; ++i) {
      const Nanos start = next.base == kAbsolute ? next.lag : times_[next.base][i] + next.lag;
      length[i] = window_.end_ns - window_.begin_ns + start - next_start_;
    }
    return length;
  }
  Lanes end;
  end.fill(absolute_end_);
  for (std::size_t b = 0; b < tail_.size(); ++b) {
    if (tail_[b] == std::numeric_limits<Nanos>::min()) continue;
    for (std::size_t i = 0; i < kLanes; ++i) end[i] = std::max(end[i], times_[b][i] + tail_[b]);
  }
  for (std::size_t i = 0; i < kLanes; ++i) length[i] = end[i] - window_.begin_ns;
  return length;
}

}  // namespace ergon::plan
