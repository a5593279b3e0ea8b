// Device files ergon.device-file/1: JSON text -> Device, with the field named in every refusal.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ergon/io.hpp"
#include "ergon/model/device.hpp"
#include "json_fields.hpp"

namespace ergon::model {

std::string Fields::text_of(double x) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", x);
  return buffer;
}

namespace {

constexpr std::size_t kMostClocks =
    4096;  // no GPU offers a tenth of that; a range with a tiny step is a mistake

class Reader {
 public:
  Result<Device> read(const Value& root);

 private:
  Result<Origin> origin(Fields& f);
  Status cited(Fields& f, Origin origin, std::string& source, std::string& why);
  Result<Figure> figure(Fields& parent, std::string_view key, double least, double most);
  Result<MaybeFigure> maybe_figure(Fields& parent, std::string_view key, double least, double most);
  Result<Figure> figure_of(const Value& v, const Fields& parent, const std::string& where,
                           double least, double most);
  Status clocks(Fields& root);
  Status clock_ranges(Fields& f);
  Status peaks(Fields& root);
  Status coefficients(Fields& root);
  Result<Coefficient> coefficient(Fields f, std::string_view unit_key);
  Status behaviour(Fields& root);
  Status switching(Fields& root);

  Device d_;
};

Result<Origin> Reader::origin(Fields& f) {
  ERGON_TRY(const std::string word, f.text("origin"));
  const auto o = origin_from(word);
  if (!o) {
    return Fields::wrong(
        f.path("origin"),
        "expected measured, fitted, published, modelled, simulated or assumed, found \"" + word +
            "\"");
  }
  return *o;
}

// A published, fitted or measured figure needs its citation; an assumed one says why.
Status Reader::cited(Fields& f, Origin origin, std::string& source, std::string& why) {
  ERGON_TRY(source, f.text_or("source", ""));
  ERGON_TRY(why, f.text_or("why", ""));
  if (!source.empty()) {
    const bool known = std::any_of(d_.sources.begin(), d_.sources.end(),
                                   [&](const auto& s) { return s.first == source; });
    if (!known)
      return Fields::wrong(f.path("source"), "\"" + source + "\" is no key of \"sources\"");
  } else if (origin != Origin::kAssumed) {
    return Fields::wrong(f.path("source"), std::string("missing: a ") + to_string(origin) +
                                               " figure needs the key of its citation");
  } else if (why.empty()) {
    return Fields::wrong(f.path("why"), "missing: an assumed figure says why, or cites a source");
  }
  return {};
}

Result<Figure> Reader::figure_of(const Value& v, const Fields& parent, const std::string& where,
                                 double least, double most) {
  ERGON_TRY(Fields f, parent.as_object(v, where));
  Figure out;
  ERGON_TRY(out.estimate.value, f.number("value"));
  ERGON_TRY(out.estimate.origin, origin(f));
  const bool has_interval = f.find("low") != nullptr || f.find("high") != nullptr;
  if (has_interval) {
    ERGON_TRY(out.estimate.low, f.number("low"));
    ERGON_TRY(out.estimate.high, f.number("high"));
  } else {
    if (out.estimate.origin == Origin::kAssumed || out.estimate.origin == Origin::kFitted) {
      return Fields::wrong(where, std::string(to_string(out.estimate.origin)) +
                                      " figures need their interval, low and high");
    }
    out.estimate.low = out.estimate.high = out.estimate.value;
  }
  const Estimate& e = out.estimate;
  if (e.low > e.value || e.value > e.high) {
    return Fields::wrong(where, "expected low <= value <= high, found " + Fields::text_of(e.low) +
                                    ", " + Fields::text_of(e.value) + ", " +
                                    Fields::text_of(e.high));
  }
  if (e.low < least || e.high > most) {
    return Fields::wrong(where, "expected figures from " + Fields::text_of(least) + " to " +
                                    Fields::text_of(most) + ", found " + Fields::text_of(e.low) +
                                    " to " + Fields::text_of(e.high));
  }
  ERGON_TRY_STATUS(cited(f, e.origin, out.source, out.why));
  f.finish();
  return out;
}

Result<Figure> Reader::figure(Fields& parent, std::string_view key, double least, double most) {
  ERGON_TRY(const Value* v, parent.need(key));
  return figure_of(*v, parent, parent.path(key), least, most);
}

Result<MaybeFigure> Reader::maybe_figure(Fields& parent, std::string_view key, double least,
                                         double most) {
  const Value* v = parent.find(key);
  if (v == nullptr || v->is_null()) return MaybeFigure{};
  ERGON_TRY(Figure f, figure_of(*v, parent, parent.path(key), least, most));
  return MaybeFigure(std::move(f));
}

Status Reader::clock_ranges(Fields& f) {
  const Value* v = f.find("ranges");
  if (v == nullptr) return {};
  const auto* items = v->as_array();
  if (items == nullptr)
    return Fields::wrong(f.path("ranges"), std::string("expected a list, found ") + kind_of(*v));
  for (std::size_t i = 0; i < items->size(); ++i) {
    ERGON_TRY(Fields r, f.as_object((*items)[i], f.path("ranges") + "[" + std::to_string(i) + "]"));
    ERGON_TRY(const double from, r.positive("from_hz"));
    ERGON_TRY(const double to, r.positive("to_hz"));
    ERGON_TRY(const double step, r.positive("step_hz"));
    if (to < from) return Fields::wrong(r.path("to_hz"), "expected at least from_hz");
    if ((to - from) / step + static_cast<double>(d_.sm_clocks.size()) >
        static_cast<double>(kMostClocks)) {
      return Fields::wrong(r.path("step_hz"),
                           "makes more than " + std::to_string(kMostClocks) + " clocks");
    }
    for (int k = 0; from + k * step <= to + step * 1e-6; ++k)
      d_.sm_clocks.emplace_back(from + k * step);
    r.finish();
  }
  return {};
}

Result<std::vector<Hertz>> clock_list(Fields& f, std::string_view key) {
  std::vector<Hertz> out;
  const Value* v = f.find(key);
  if (v == nullptr) return out;
  const auto* items = v->as_array();
  if (items == nullptr)
    return Fields::wrong(f.path(key), std::string("expected a list, found ") + kind_of(*v));
  for (const Value& item : *items) {
    ERGON_TRY(const double hz, Fields::as_number(item, f.path(key)));
    if (hz <= 0) return Fields::wrong(f.path(key), "expected clocks above 0");
    out.emplace_back(hz);
  }
  return out;
}

Status Reader::clocks(Fields& root) {
  ERGON_TRY(Fields f, root.object("sm_clocks"));
  ERGON_TRY_STATUS(clock_ranges(f));
  ERGON_TRY(const auto listed, clock_list(f, "values_hz"));
  d_.sm_clocks.insert(d_.sm_clocks.end(), listed.begin(), listed.end());
  if (d_.sm_clocks.empty())
    return Fields::wrong(f.here(), "expected ranges or values_hz with at least one clock");
  if (d_.sm_clocks.size() > kMostClocks)
    return Fields::wrong(f.here(), "more than " + std::to_string(kMostClocks) + " clocks");
  for (std::size_t i = 1; i < d_.sm_clocks.size(); ++i) {
    if (d_.sm_clocks[i] <= d_.sm_clocks[i - 1]) {
      return Fields::wrong(f.here(),
                           "expected clocks in ascending order without repetition, found " +
                               Fields::text_of(d_.sm_clocks[i - 1].si()) + " before " +
                               Fields::text_of(d_.sm_clocks[i].si()));
    }
  }
  ERGON_TRY(d_.sm_clocks_origin, origin(f));
  ERGON_TRY_STATUS(cited(f, d_.sm_clocks_origin, d_.sm_clocks_source, d_.sm_clocks_why));
  f.finish();

  ERGON_TRY(Fields c, root.object("default_clock"));
  ERGON_TRY(const double hz, c.positive("clock_hz"));
  d_.default_clock = Hertz(hz);
  ERGON_TRY(d_.default_clock_origin, origin(c));
  ERGON_TRY_STATUS(
      cited(c, d_.default_clock_origin, d_.default_clock_source, d_.default_clock_why));
  c.finish();
  if (!d_.supports(d_.default_clock)) {
    return Fields::wrong(c.path("clock_hz"), Fields::text_of(hz) + " is not one of sm_clocks");
  }
  ERGON_TRY(d_.memory_clocks, clock_list(root, "memory_clocks_hz"));
  if (d_.memory_clocks.empty())
    return Fields::wrong(root.path("memory_clocks_hz"), "expected at least one clock");
  if (!std::is_sorted(d_.memory_clocks.begin(), d_.memory_clocks.end())) {
    return Fields::wrong(root.path("memory_clocks_hz"), "expected clocks in ascending order");
  }
  ERGON_TRY(const double memory_hz, root.positive("default_memory_clock_hz"));
  d_.default_memory_clock = Hertz(memory_hz);
  if (std::find(d_.memory_clocks.begin(), d_.memory_clocks.end(), d_.default_memory_clock) ==
      d_.memory_clocks.end()) {
    return Fields::wrong(root.path("default_memory_clock_hz"), "expected one of memory_clocks_hz");
  }
  return {};
}

Status Reader::peaks(Fields& root) {
  ERGON_TRY(Fields f, root.object("peaks"));
  ERGON_TRY(const double hz, f.positive("clock_hz"));
  d_.peak_clock = Hertz(hz);
  ERGON_TRY(Fields flops, f.object("flops_per_s"));
  ERGON_TRY(Fields bytes, f.object("bytes_per_s"));
  ERGON_TRY(Fields flops_share, f.object("reachable_flops_share"));
  ERGON_TRY(Fields bytes_share, f.object("reachable_bytes_share"));
  for (std::size_t i = 0; i < kUnits; ++i) {
    const char* word = to_string(static_cast<Unit>(i));
    ERGON_TRY(d_.peak_flops[i], maybe_figure(flops, word, 1e6, 1e20));
    ERGON_TRY(d_.reachable_flops_share[i], maybe_figure(flops_share, word, 1e-3, 1.0));
  }
  for (std::size_t i = 0; i < kLevels; ++i) {
    const char* word = to_string(static_cast<Level>(i));
    ERGON_TRY(d_.bandwidth[i], maybe_figure(bytes, word, 1e6, 1e18));
    ERGON_TRY(d_.reachable_bandwidth_share[i], maybe_figure(bytes_share, word, 1e-3, 1.0));
  }
  flops.finish();
  bytes.finish();
  flops_share.finish();
  bytes_share.finish();
  f.finish();
  return {};
}

Result<Coefficient> Reader::coefficient(Fields f, std::string_view unit_key) {
  Coefficient c;
  ERGON_TRY(c.total, figure(f, unit_key, 0, 1e-6));
  ERGON_TRY(c.control, maybe_figure(f, "control", 0, 1e-6));
  ERGON_TRY(c.datapath, maybe_figure(f, "datapath", 0, 1e-6));
  ERGON_TRY(c.core_share, figure(f, "core_share", 0, 1));
  if (c.control && c.datapath) {
    const double sum = c.control->value() + c.datapath->value();
    if (std::abs(sum - c.total.value()) > 0.02 * c.total.value()) {
      return Fields::wrong(f.here(), "control and datapath make " + Fields::text_of(sum) +
                                         ", not the total " + Fields::text_of(c.total.value()));
    }
  }
  f.finish();
  return c;
}

Status Reader::coefficients(Fields& root) {
  ERGON_TRY(Fields f, root.object("coefficients"));
  ERGON_TRY(const double hz, f.positive("clock_hz"));
  d_.coefficient_clock = Hertz(hz);
  ERGON_TRY(Fields units, f.object("units"));
  for (std::size_t i = 0; i < kUnits; ++i) {
    const char* word = to_string(static_cast<Unit>(i));
    const Value* v = units.find(word);
    if (v == nullptr || v->is_null()) continue;
    ERGON_TRY(Fields o, units.as_object(*v, units.path(word)));
    ERGON_TRY(d_.unit_j[i], coefficient(std::move(o), "j_per_flop"));
  }
  units.finish();
  ERGON_TRY(Fields levels, f.object("levels"));
  for (std::size_t i = 0; i < kLevels; ++i) {
    const char* word = to_string(static_cast<Level>(i));
    const Value* v = levels.find(word);
    if (v == nullptr || v->is_null()) continue;
    ERGON_TRY(Fields o, levels.as_object(*v, levels.path(word)));
    ERGON_TRY(d_.level_j[i], coefficient(std::move(o), "j_per_bit"));
  }
  levels.finish();
  ERGON_TRY(d_.idle_w, figure(f, "idle_w", 0, 1e4));
  ERGON_TRY(d_.idle_clock_share, figure(f, "idle_clock_share", 0, 1));
  ERGON_TRY(d_.active_w, figure(f, "active_w", 0, 1e4));
  f.finish();
  return {};
}

Status Reader::behaviour(Fields& root) {
  ERGON_TRY(Fields f, root.object("behaviour"));
  ClockBehaviour& b = d_.behaviour;
  ERGON_TRY(b.voltage_knee_hz, figure(f, "voltage_knee_hz", 1e6, 1e11));
  ERGON_TRY(b.voltage_floor, figure(f, "voltage_floor", 0.1, 1));
  ERGON_TRY(b.voltage_exponent, figure(f, "voltage_exponent", 0.3, 5));
  ERGON_TRY(b.memory_knee_hz, figure(f, "memory_knee_hz", 0, 1e11));
  ERGON_TRY(b.l2_core_share, figure(f, "l2_core_share", 0, 1));
  ERGON_TRY(b.regime_break_hz, maybe_figure(f, "regime_break_hz", 1e6, 1e11));
  ERGON_TRY(b.below_break_exponent, figure(f, "below_break_exponent", 1, 10));
  f.finish();
  if (b.voltage_knee_hz.estimate.high >= d_.coefficient_clock.si()) {
    return Fields::wrong(f.path("voltage_knee_hz"), "expected less than coefficients.clock_hz");
  }
  return {};
}

Status Reader::switching(Fields& root) {
  ERGON_TRY(Fields f, root.object("switching"));
  ERGON_TRY(d_.switch_energy_j, figure(f, "energy_j", 0, 1e4));
  ERGON_TRY(const Value* v, f.need("latency"));
  const auto* items = v->as_array();
  if (items == nullptr)
    return Fields::wrong(f.path("latency"), std::string("expected a list, found ") + kind_of(*v));
  bool general = false;
  for (std::size_t i = 0; i < items->size(); ++i) {
    ERGON_TRY(Fields l,
              f.as_object((*items)[i], f.path("latency") + "[" + std::to_string(i) + "]"));
    SwitchLatency s;
    const Value* target = l.find("target_hz");
    if (target != nullptr && !target->is_null()) {
      ERGON_TRY(const double hz, l.positive("target_hz"));
      s.target = Hertz(hz);
    } else {
      general = true;
    }
    ERGON_TRY(s.typical_s, figure(l, "typical_s", 0, 100));
    ERGON_TRY(s.worst_s, figure(l, "worst_s", 0, 100));
    if (s.worst_s.value() < s.typical_s.value())
      return Fields::wrong(l.path("worst_s"), "expected at least typical_s");
    l.finish();
    d_.switch_latency.push_back(std::move(s));
  }
  if (!general)
    return Fields::wrong(f.path("latency"),
                         "expected one entry with target_hz null: the latency of any other change");
  f.finish();
  return {};
}

Result<Device> Reader::read(const Value& root_value) {
  if (root_value.as_object() == nullptr) {
    return Fields::wrong("device file",
                         std::string("expected an object, found ") + kind_of(root_value));
  }
  Fields root(root_value, "", &d_.unknown_fields);
  ERGON_TRY(const std::string schema, root.text("schema"));
  if (schema != "ergon.device-file/1") {
    return Fields::wrong("schema", "expected \"ergon.device-file/1\", found \"" + schema + "\"");
  }
  ERGON_TRY(d_.id, root.text("id"));
  if (d_.id.empty()) return Fields::wrong("id", "expected a name, found empty text");
  ERGON_TRY(d_.name, root.text("name"));
  ERGON_TRY(d_.vendor, root.text("vendor"));
  if (d_.vendor != "nvidia" && d_.vendor != "amd") {
    return Fields::wrong("vendor", "expected nvidia or amd, found \"" + d_.vendor + "\"");
  }
  ERGON_TRY(d_.architecture, root.text("architecture"));
  ERGON_TRY(d_.aliases, root.texts("aliases"));
  ERGON_TRY(d_.seen_as, root.texts("seen_as"));
  ERGON_TRY(d_.note, root.text_or("note", ""));
  ERGON_TRY(Fields sources, root.object("sources"));
  ERGON_TRY(const Value* source_object, root.need("sources"));
  for (const auto& [key, member] : *source_object->as_object()) {
    ERGON_TRY(std::string words, sources.text(key));
    d_.sources.emplace_back(key, std::move(words));
  }
  ERGON_TRY_STATUS(clocks(root));
  ERGON_TRY(d_.power_limit_w, figure(root, "power_limit_w", 1, 1e4));
  ERGON_TRY(d_.power_limit_min_w, maybe_figure(root, "power_limit_min_w", 1, 1e4));
  ERGON_TRY(d_.power_limit_max_w, maybe_figure(root, "power_limit_max_w", 1, 1e4));
  ERGON_TRY(d_.sm_count, maybe_figure(root, "sm_count", 1, 1e5));
  ERGON_TRY(d_.memory_bytes, maybe_figure(root, "memory_bytes", 1e6, 1e15));
  ERGON_TRY_STATUS(peaks(root));
  ERGON_TRY_STATUS(coefficients(root));
  ERGON_TRY_STATUS(behaviour(root));
  ERGON_TRY_STATUS(switching(root));
  root.finish();
  return std::move(d_);
}

}  // namespace

Result<Device> read_device(std::string_view json_text) {
  ERGON_TRY(const Value root, io::parse_json(json_text, io::Twice::kRefuse));
  return Reader().read(root);
}

}  // namespace ergon::model
