// Page data as JSON, small enough for a page that opens at once.
#include "ergon/report/page.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "text.hpp"

namespace ergon::report {
namespace {

constexpr std::size_t kNameBudget = 1'000'000;

Value optional(const std::optional<double>& value) { return value ? Value(*value) : Value(); }

// A slice as it is drawn: one operation, or a bundle of neighbours.
struct Drawn {
  Nanos start = 0;
  Nanos end = 0;
  std::uint32_t name = 0;
  std::uint64_t count = 1;
};

// Whether a slice joins the bundle [start, end): it is near, and both together are short.
bool joins(const Slice& slice, Nanos start, Nanos end, Nanos resolution) {
  return resolution > 0 && slice.start_ns - end < resolution &&
         std::max(slice.start_ns + slice.duration_ns, end) - start <= resolution;
}

// The slices of a lane, neighbours joined. The name of a bundle is the one that took most of its
// time.
std::vector<Drawn> bundled(const Lane& lane, Nanos resolution) {
  std::vector<Drawn> out;
  std::map<std::uint32_t, Nanos> time_of_name;
  const auto close = [&] {
    if (out.empty() || out.back().count == 1) return;
    const auto most =
        std::ranges::max_element(time_of_name, {}, [](const auto& entry) { return entry.second; });
    out.back().name = most->first;
  };
  for (const Slice& slice : lane.slices) {
    const Nanos end = slice.start_ns + slice.duration_ns;
    if (!out.empty() && joins(slice, out.back().start, out.back().end, resolution)) {
      out.back().end = std::max(out.back().end, end);
      ++out.back().count;
    } else {
      close();
      time_of_name.clear();
      out.push_back({slice.start_ns, end, slice.name, 1});
    }
    time_of_name[slice.name] += slice.duration_ns;
  }
  close();
  return out;
}

// How many slices bundled() gives; cheap, since it is asked for many resolutions.
std::size_t drawn_count(const Timeline& timeline, Nanos resolution) {
  std::size_t count = 0;
  for (const auto& gpu : timeline.gpus) {
    for (const auto& lane : gpu.lanes) {
      Nanos start = 0;
      Nanos end = 0;
      bool open = false;
      for (const Slice& slice : lane.slices) {
        const Nanos slice_end = slice.start_ns + slice.duration_ns;
        if (open && joins(slice, start, end, resolution)) {
          end = std::max(end, slice_end);
          continue;
        }
        ++count;
        open = true;
        start = slice.start_ns;
        end = slice_end;
      }
    }
  }
  return count;
}

// The finest power of two (0: none) at which the timeline is small enough.
Nanos resolution_for(const Timeline& timeline, std::size_t limit) {
  if (drawn_count(timeline, 0) <= limit) return 0;
  Nanos resolution = 1024;
  while (drawn_count(timeline, resolution) > limit && resolution < (Nanos{1} << 60))
    resolution *= 2;
  return resolution;
}

Value lane_value(const Lane& lane, Nanos resolution, Nanos origin) {
  // Four numbers a slice: start after the end of the one before, duration, name, count. Differences
  // are short.
  Value slices = Value::array();
  Nanos end = origin;
  for (const Drawn& drawn : bundled(lane, resolution)) {
    slices.push(drawn.start - end).push(drawn.end - drawn.start).push(drawn.name).push(drawn.count);
    end = drawn.end;
  }
  return Value::object().set("name", lane.name).set("slices", std::move(slices));
}

Value packs_value(const GpuTimeline& gpu, std::size_t limit, Nanos origin) {
  // Packs in a row at one clock are joined where there are too many to draw.
  std::vector<PackWindow> packs;
  for (const PackWindow& pack : gpu.packs) {
    const bool join =
        gpu.packs.size() > limit && !packs.empty() && packs.back().clock_hz == pack.clock_hz;
    if (join) {
      packs.back().end_ns = pack.end_ns;
    } else {
      packs.push_back(pack);
    }
  }
  if (packs.size() > limit) packs.resize(limit);
  Value out = Value::array();
  for (const PackWindow& pack : packs) {
    out.push(Value::object()
                 .set("id", pack.id)
                 .set("start_ns", pack.start_ns - origin)
                 .set("end_ns", pack.end_ns - origin)
                 .set("clock_hz", optional(pack.clock_hz)));
  }
  return out;
}

// Lanes in order of start; of slices that start together the longer first.
Timeline sorted(Timeline timeline) {
  const auto before = [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
  };
  for (auto& gpu : timeline.gpus) {
    for (auto& lane : gpu.lanes) {
      if (!std::ranges::is_sorted(lane.slices, before))
        std::ranges::stable_sort(lane.slices, before);
    }
  }
  return timeline;
}

Value timeline_value(const Timeline& given, const PageLimits& limits) {
  const Timeline timeline = sorted(given);
  Nanos begin = 0;
  Nanos end = 0;
  bool any = false;
  std::uint64_t total = 0;
  for (const auto& gpu : timeline.gpus) {
    const auto include = [&](Nanos from, Nanos to) {
      begin = any ? std::min(begin, from) : from;
      end = any ? std::max(end, to) : to;
      any = true;
    };
    for (const auto& lane : gpu.lanes) {
      if (!gpu.id.empty()) total += lane.slices.size();
      for (const auto& slice : lane.slices)
        include(slice.start_ns, slice.start_ns + slice.duration_ns);
    }
    for (const auto& pack : gpu.packs) include(pack.start_ns, pack.end_ns);
  }
  if (timeline.span) {
    begin = any ? std::min(begin, timeline.span->first) : timeline.span->first;
    end = any ? std::max(end, timeline.span->second) : timeline.span->second;
  }
  const Nanos resolution = resolution_for(timeline, limits.slices);
  Value gpus = Value::array();
  for (const auto& gpu : timeline.gpus) {
    Value lanes = Value::array();
    for (const auto& lane : gpu.lanes) lanes.push(lane_value(lane, resolution, begin));
    gpus.push(Value::object()
                  .set("id", gpu.id)
                  .set("name", gpu.name)
                  .set("default_clock_hz", optional(gpu.default_clock_hz))
                  .set("streams", std::move(lanes))
                  .set("packs", packs_value(gpu, limits.packs, begin)));
  }
  // All names together stay below a megabyte.
  const std::size_t room = kNameBudget / std::max<std::size_t>(1, timeline.names.size());
  const std::size_t name_bytes = std::clamp<std::size_t>(room, 40, limits.name_bytes);
  Value names = Value::array();
  for (const auto& name : timeline.names) {
    names.push(Value::array()
                   .push(shortened(visible(name.text), static_cast<int>(name_bytes), true))
                   .push(name.kind));
  }
  Value window;
  if (timeline.window) {
    window = Value::object()
                 .set("start_ns", timeline.window->first - begin)
                 .set("end_ns", timeline.window->second - begin);
  }
  return Value::object()
      .set("span_ns", end - begin)
      .set("start_ns", begin)
      .set("operations", total)
      .set("bundle_ns", resolution)
      .set("names", std::move(names))
      .set("window", std::move(window))
      .set("gpus", std::move(gpus));
}

Value point_value(const OperatingPoint& point) {
  return Value::object()
      .set("clock_hz", optional(point.clock_hz))
      .set("time_s", point.time_s)
      .set("energy_j", point.energy_j);
}

Value frontier_value(const Frontier& frontier) {
  Value points = Value::array();
  for (const auto& point : frontier.points) {
    points.push(Value::object()
                    .set("time_s", point.time_s)
                    .set("energy_j", point.energy_j)
                    .set("lower_bound_j", optional(point.lower_bound_j)));
  }
  Value uniform = Value::array();
  for (const auto& point : frontier.uniform) uniform.push(point_value(point));
  const auto single = [](const std::optional<OperatingPoint>& point) {
    return point ? point_value(*point) : Value();
  };
  return Value::object()
      .set("points", std::move(points))
      .set("uniform", std::move(uniform))
      .set("default", single(frontier.default_clocks))
      .set("best_uniform", single(frontier.best_uniform))
      .set("plan", single(frontier.plan))
      .set("deadline_s", optional(frontier.deadline_s))
      .set("lower_bound_j", optional(frontier.lower_bound_j));
}

Value parts_value(const std::vector<std::pair<std::string, double>>& parts) {
  Value out = Value::array();
  for (const auto& [name, amount] : parts) out.push(Value::array().push(name).push(amount));
  return out;
}

Value kernel_value(const KernelRow& row, std::size_t name_bytes) {
  return Value::object()
      .set("name", shortened(visible(row.name), static_cast<int>(name_bytes), true))
      .set("kind", row.kind)
      .set("count", row.count)
      .set("time_s", row.time_s)
      .set("energy_j", optional(row.energy_j))
      .set("slack_s", optional(row.slack_s))
      .set("sensitivity", optional(row.sensitivity))
      .set("origin", row.origin);
}

Value kernels_value(const std::vector<KernelRow>& kernels, const PageLimits& limits,
                    std::size_t& left_out) {
  std::vector<std::size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto weight = [&](std::size_t i) {
    return std::pair{kernels[i].energy_j.value_or(0), kernels[i].time_s};
  };
  std::ranges::stable_sort(order,
                           [&](std::size_t a, std::size_t b) { return weight(a) > weight(b); });
  Value out = Value::array();
  for (std::size_t i = 0; i < order.size() && i < limits.kernels; ++i) {
    out.push(kernel_value(kernels[order[i]], limits.name_bytes));
  }
  left_out = order.size() > limits.kernels ? order.size() - limits.kernels : 0;
  return out;
}

Value place(const std::optional<std::size_t>& index) {
  return index ? Value(std::uint64_t{*index}) : Value();
}

Value study_value(const StudyPage& study, const PageLimits& limits) {
  const auto name = [&](const std::string& text) {
    return Value(shortened(visible(text), static_cast<int>(limits.name_bytes), true));
  };
  Value workloads = Value::array();
  for (const StudyWorkload& w : study.workloads) {
    // Eight numbers a point, in the order of the struct.
    Value points = Value::array();
    for (const StudyPoint& p : w.points) {
      points.push(Value::array()
                      .push(optional(p.clock_hz))
                      .push(optional(p.memory_clock_hz))
                      .push(optional(p.power_limit_w))
                      .push(optional(p.parameter))
                      .push(optional(p.time_ratio))
                      .push(optional(p.energy_ratio))
                      .push(optional(p.power_w))
                      .push(p.valid ? 1 : 0));
    }
    workloads.push(Value::object()
                       .set("name", name(w.name))
                       .set("gpu", name(w.gpu))
                       .set("network", name(w.network))
                       .set("batch", name(w.batch))
                       .set("algorithm", name(w.algorithm))
                       .set("points", std::move(points))
                       .set("baseline", place(w.baseline))
                       .set("best", place(w.best))
                       .set("energy_saved", optional(w.energy_saved))
                       .set("energy_saved_low", optional(w.energy_saved_low))
                       .set("energy_saved_high", optional(w.energy_saved_high))
                       .set("slowdown", optional(w.slowdown))
                       .set("edge", w.edge));
  }
  return Value::object()
      .set("parameter", name(study.parameter))
      .set("clocks_are_offsets", study.clocks_are_offsets)
      .set("left_out", std::uint64_t{study.left_out})
      .set("workloads", std::move(workloads));
}

Value sweep_value(const SweepPage& sweep, const PageLimits& limits) {
  const auto name = [&](const std::string& text) {
    return Value(shortened(visible(text), static_cast<int>(limits.name_bytes), true));
  };
  Value groups = Value::array();
  for (const SweepGroup& group : sweep.groups) {
    Value points = Value::array();
    for (const SweepPoint& p : group.points) {
      points.push(Value::object()
                      .set("setting", name(p.setting))
                      .set("clock_hz", optional(p.clock_hz))
                      .set("time_s", p.time_s)
                      .set("energy_j", p.energy_j)
                      .set("energy_low_j", p.energy_low_j)
                      .set("energy_high_j", p.energy_high_j)
                      .set("baseline", p.baseline)
                      .set("best", p.best)
                      .set("valid", p.valid)
                      .set("reason", name(p.reason)));
    }
    groups.push(Value::object().set("label", name(group.label)).set("points", std::move(points)));
  }
  return Value::object().set("groups", std::move(groups));
}

}  // namespace

Value to_value(const Page& page, const PageLimits& limits) {
  Value out = Value::object();
  out.set("schema", "ergon.page/1");
  Value figures = Value::array();
  for (const auto& figure : page.figures) {
    figures.push(Value::object()
                     .set("label", figure.label)
                     .set("value", optional(figure.value))
                     .set("unit", figure.unit)
                     .set("note", figure.note)
                     .set("significant", figure.significant));
  }
  out.set("figures", std::move(figures));
  out.set("timeline", page.timeline ? timeline_value(*page.timeline, limits) : Value());
  out.set("frontier", page.frontier ? frontier_value(*page.frontier) : Value());
  Value energy = Value::array();
  for (const auto& bar : page.energy) {
    energy.push(Value::object().set("label", bar.label).set("parts", parts_value(bar.parts)));
  }
  out.set("energy_components", std::move(energy));
  std::size_t left_out = 0;
  out.set("kernels", kernels_value(page.kernels, limits, left_out));
  out.set("kernels_left_out", left_out).set("kernels_of", page.kernels_of);
  Value coverage = Value::array();
  for (const auto& bar : page.coverage) {
    coverage.push(Value::object()
                      .set("title", bar.title)
                      .set("base", bar.base)
                      .set("parts", parts_value(bar.parts))
                      .set("note", bar.note));
  }
  out.set("coverage", std::move(coverage));
  out.set("study", page.study ? study_value(*page.study, limits) : Value());
  out.set("sweep", page.sweep ? sweep_value(*page.sweep, limits) : Value());
  return out;
}

}  // namespace ergon::report
