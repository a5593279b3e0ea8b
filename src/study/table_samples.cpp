// Tables with a header: rows become samples.
#include <algorithm>
#include <cmath>

#include "judging.hpp"
#include "table_reader.hpp"

namespace ergon::study {
namespace {

// Bits of the clocks' event reasons that mean a lower clock than asked: power cap, slowdowns,
// thermal, power brake.
std::string throttle_words(std::string_view cell) {
  std::string out;
  std::set<unsigned long long> seen;
  std::string text(cell);
  for (std::size_t at = 0; (at = text.find("0x", at)) != std::string::npos; ++at) {
    unsigned long long mask = 0;
    for (std::size_t i = at + 2; i < text.size() && i < at + 18; ++i) {
      const char c = text[i];
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0) break;
      mask = mask * 16 + static_cast<unsigned long long>(digit);
    }
    seen.insert(mask);
  }
  unsigned long long all = 0;
  for (const auto mask : seen) all |= mask;
  const auto add = [&](unsigned long long bit, const char* what) {
    if ((all & bit) != 0) out += (out.empty() ? "" : ", ") + std::string(what);
  };
  add(0x4, "software power cap");
  add(0x8, "hardware slowdown");
  add(0x20, "software thermal slowdown");
  add(0x40, "hardware thermal slowdown");
  add(0x80, "power brake");
  return out;
}

// Offsets that begin at 0: the next value is no farther from it than the others are apart. One 0
// above which a sweep of clocks begins is a broken row. `values`: different ones, ascending.
bool steps_from_zero(const std::vector<double>& values, double scale) {
  constexpr double kNoClock = 300e6;  // where there are two values: a GPU's work runs above it
  if (values.size() < 2 || values.front() != 0) return false;
  if (values.size() == 2) return values[1] * scale <= kNoClock;
  double widest = 0;
  for (std::size_t i = 2; i < values.size(); ++i)
    widest = std::max(widest, values[i] - values[i - 1]);
  return values[1] <= 1.5 * widest;
}

}  // namespace

std::optional<bool> truth_of(std::string_view cell) {
  const std::string w = lower(trimmed(cell));
  if (w == "true" || w == "1" || w == "yes" || w == "active" || w == "valid" || w == "ok")
    return true;
  if (w == "false" || w == "0" || w == "no" || w == "not active" || w == "invalid") return false;
  return {};
}

Maybe TableReader::scaled(std::size_t row, const ColumnInfo* c, double unit, Dim dim) const {
  if (c == nullptr) return {};
  std::string own;
  const Maybe v = number_of(cell(row, c->index), &own);
  if (!v) return {};
  const Unit of_cell = own.empty() ? Unit{} : unit_of(own);
  if (of_cell.dim == dim && dim != Dim::kNone) unit = of_cell.scale;
  const double si = *v * unit;
  return std::isfinite(si) ? Maybe(si) : Maybe{};
}

double TableReader::scale_of(const ColumnInfo* c, Dim dim, bool& said) const {
  said = false;
  if (c == nullptr) return 1;
  const Unit of_cell = unit_of(c->cell_unit);
  said = c->sense.unit.dim == dim || of_cell.dim == dim || c->mixed_units;
  if (c->sense.unit.dim == dim) return c->sense.unit.scale;
  return of_cell.dim == dim ? of_cell.scale : 1;
}

void TableReader::settle_mega() {
  bool said = false;
  const double seconds = scale_of(time_, Dim::kTime, said);
  for (auto& c : columns_) {
    if (!c.sense.mega || (&c != power_ && &c != energy_)) continue;
    std::vector<double> milliwatts;
    for (std::size_t i = 0; i < t_.rows.size(); ++i) {
      const Maybe v = value(i, &c);
      const Maybe t = scaled(i, time_, seconds, Dim::kTime);
      if (v && *v > 0 && &c == power_) milliwatts.push_back(*v * 1e-3);
      if (v && *v > 0 && &c == energy_ && t && *t > 0) milliwatts.push_back(*v * 1e-3 / *t);
    }
    if (milliwatts.empty()) continue;
    // A thousandth of a watt is no GPU's; a billion times as much may be one's.
    const double middle = median_of(std::move(milliwatts));
    const bool mega = middle < 1e-3 && middle * 1e9 > 1;
    if (mega) c.sense.unit.scale = 1e6;
    const char* letter = &c == power_ ? "W" : "J";
    r_.note("unit_assumed", "'" + t_.header[c.index] + "' is read as " + (mega ? "mega" : "milli") +
                                " (" + (mega ? "M" : "m") + letter + "): the other gives " +
                                figure_text(middle * (mega ? 1 : 1e9)) + " W");
  }
}

Maybe TableReader::energy_error(std::size_t row) const {
  const ColumnInfo* low = best(Role::kEnergyLow);
  const ColumnInfo* high = best(Role::kEnergyHigh);
  if (energy_ == nullptr || low == nullptr || high == nullptr) return {};
  bool said = false;
  const Maybe e = scaled(row, energy_, scale_of(energy_, Dim::kEnergy, said), Dim::kEnergy);
  const Maybe a = scaled(row, low, scale_of(low, Dim::kEnergy, said), Dim::kEnergy);
  const Maybe b = scaled(row, high, scale_of(high, Dim::kEnergy, said), Dim::kEnergy);
  if (!e || !a || !b || !(*a <= *e && *e <= *b && *a < *b) || *e <= 0) return {};
  return (*b - *a) / 2 / *e;
}

void TableReader::clock_scale(const ColumnInfo* c, Maybe base, double& scale, bool& offset) const {
  scale = 1e6;
  offset = false;
  if (c == nullptr) return;
  std::vector<double> values;
  for (const auto& v : c->values) {
    if (const Maybe n = number_of(v)) values.push_back(*n);
  }
  if (values.empty()) return;
  std::ranges::sort(values);
  const Unit of_cell = unit_of(c->cell_unit);
  const bool said =
      c->sense.unit.dim == Dim::kClock || of_cell.dim == Dim::kClock || c->mixed_units;
  const double middle = std::abs(values[values.size() / 2]);
  if (c->sense.unit.dim == Dim::kClock) {
    scale = c->sense.unit.scale;
  } else if (of_cell.dim == Dim::kClock) {
    scale = of_cell.scale;
  } else if (c->mixed_units) {
    scale = 1e6;
  } else if (middle > 2e7) {
    scale = 1;
  } else if (middle > 5e4) {
    scale = 1e3;
  } else if (middle > 0 && middle < 6 && values.back() < 6) {
    scale = 1e9;
  }
  const bool only_default = values.front() == -1 && (values.size() == 1 || values[1] > 50);
  const double most = std::max(std::abs(values.front()), std::abs(values.back()));
  const bool negative = values.front() < 0 && !only_default;
  if (negative || base || (steps_from_zero(values, scale) && most * scale < 1.5e9)) {
    offset = !base;
    if (offset) {
      r_.finding("offsets_not_clocks", t_.header[c->index],
                 "values from " + figure_text(values.front()) + " to " +
                     figure_text(values.back()) +
                     " are offsets from a default clock that the data doesn't name");
    }
  } else if (!said) {
    r_.note("unit_assumed", "'" + t_.header[c->index] + "' has no unit: read as " +
                                (scale == 1e6   ? "MHz"
                                 : scale == 1e3 ? "kHz"
                                 : scale == 1   ? "Hz"
                                                : "GHz"));
  }
}

bool TableReader::kept(std::size_t row) const {
  for (const auto& f : r_.filters) {
    bool known = false;
    for (std::size_t c = 0; c < t_.header.size(); ++c) {
      if (lower(trimmed(t_.header[c])) != lower(f.column)) continue;
      known = true;
      const std::string& text = cell(row, c);
      if (f.part ? text.find(f.value) == std::string::npos : trimmed(text) != f.value) return false;
    }
    if (!known) continue;
  }
  return true;
}

void TableReader::fill_validity(std::size_t row, Sample& s) const {
  const auto bad = [&](std::string why) {
    s.good = false;
    s.why_bad += (s.why_bad.empty() ? "" : "; ") + std::move(why);
  };
  for (const auto& c : columns_) {
    const std::string& text = cell(row, c.index);
    if (c.sense.role == Role::kGood) {
      if (const auto ok = truth_of(text)) {
        if (*ok && !s.good) s.good = true;
        if (!*ok) bad("'" + t_.header[c.index] + "' says no");
      }
    } else if (c.sense.role == Role::kThrottle) {
      const std::string words = throttle_words(text);
      if (!words.empty()) {
        bad("throttled: " + words);
      } else if (truth_of(text) == true && text.find("0x") == std::string::npos &&
                 c.values.size() <= 2) {
        bad("throttled");
      }
    } else if (c.sense.role == Role::kReason && !is_missing(text) && s.good == false) {
      s.why_bad = text;
    }
  }
}

std::string TableReader::workload_name(std::size_t row) const {
  std::string out;
  std::string constant;
  for (const auto* k : keys_) {
    if (is_missing(cell(row, k->index))) continue;
    if (k->sense.role == Role::kFactor && k->sense.factor == "gpu") continue;
    const std::string text = k->sense.role == Role::kArgument ? short_argument(cell(row, k->index))
                                                              : cell(row, k->index);
    // A bare number says nothing: "num_gpus=4".
    const bool bare = k->sense.role == Role::kFactor && k->numeric() && k->sense.factor != "batch";
    std::string& into = k->values.size() > 1 || k->filled < t_.rows.size() ? out : constant;
    into += (into.empty() ? "" : " ") + (bare ? k->sense.factor + "=" + text : text);
  }
  if (!constant_workload_.empty()) return constant_workload_ + (out.empty() ? "" : " " + out);
  if (!out.empty()) return out;
  if (!constant.empty()) return constant;
  if (file_setting_.any()) return file_setting_.label;
  return stem_of(r_.source.path);
}

void TableReader::make_samples() {
  double clock_unit = 1e6;
  double memory_unit = 1e6;
  bool clock_offset = false;
  bool memory_offset = false;
  clock_scale(clock_, clock_base_, clock_unit, clock_offset);
  clock_scale(memory_, memory_base_, memory_unit, memory_offset);
  settle_mega();
  bool time_said = false;
  bool power_said = false;
  bool energy_said = false;
  bool share_said = false;
  const double time_unit = scale_of(time_, Dim::kTime, time_said);
  double power_unit = scale_of(power_, Dim::kPower, power_said);
  bool limit_said = false;
  const double limit_unit = scale_of(limit_, Dim::kPower, limit_said);
  const double energy_unit = scale_of(energy_, Dim::kEnergy, energy_said);
  if (power_ != nullptr && !power_said) {
    std::vector<double> watts;
    for (std::size_t i = 0; i < t_.rows.size(); ++i) {
      if (const Maybe p = value(i, power_)) watts.push_back(*p);
    }
    std::ranges::sort(watts);
    if (!watts.empty() && watts[watts.size() / 2] > 5000) {
      power_unit = 1e-3;
      r_.note("unit_assumed", "'" + t_.header[power_->index] +
                                  "' has no unit and no GPU draws that many watts: read as mW");
    }
  }
  const ColumnInfo* temperature = best(Role::kTemperature);
  const ColumnInfo* utilization = best(Role::kUtilization);
  const ColumnInfo* run = best(Role::kRun, false);
  const ColumnInfo* named_baseline = best(Role::kBaseline, false);
  const ColumnInfo* start = best(Role::kStart);
  const ColumnInfo* counted = best(Role::kUnitName, false);
  bool share_in_percent = false;
  if (utilization != nullptr) {
    share_in_percent = scale_of(utilization, Dim::kShare, share_said) < 1;
    if (!share_in_percent) {
      for (const auto& v : utilization->values) {
        if (number_of(v).value_or(0) > 1.5) share_in_percent = true;
      }
    }
  }
  const std::string gpu_of_name = gpu_in(r_.source.path);
  bool named_gpu = false;
  std::uint64_t left_out = 0;
  std::uint64_t empty = 0;
  const std::size_t first = r_.data.samples.size();
  std::vector<const ColumnInfo*> energies;
  for (const auto& c : columns_) {
    if (c.sense.role == Role::kEnergy && c.sense.index >= 0 && c.numeric()) energies.push_back(&c);
  }
  const auto positive = [](Maybe v) { return v && *v > 0 ? v : Maybe{}; };
  for (std::size_t i = 0; i < t_.rows.size(); ++i) {
    if (!kept(i)) {
      ++left_out;
      continue;
    }
    Sample s;
    s.file = r_.file;
    s.line = t_.lines[i];
    s.setting = file_setting_.setting;
    if (named_settings_) s.setting = setting_in_text(cell(i, setting_text_->index)).setting;
    const auto setting_clock = [&](const ColumnInfo* c, double unit, Maybe base, bool offset,
                                   Maybe& into) {
      if (c == nullptr) return;
      const Maybe v = value(i, c);
      if (!v) {
        if (lower(cell(i, c->index)) == "default") s.setting.default_clocks = true;
        return;
      }
      if (c == clock_ && !offset && !base && *v == 0) {
        into = 0.0;  // no clock, and not "left alone" either: the point is judged, and invalid
        return;
      }
      if (!offset && !base && *v <= 0) {
        s.setting.default_clocks = s.setting.default_clocks || c == clock_;
        return;
      }
      into = base ? Maybe((*v + *base) * unit) : scaled(i, c, unit, Dim::kClock);
    };
    setting_clock(clock_, clock_unit, clock_base_, clock_offset, s.setting.clock_hz);
    setting_clock(memory_, memory_unit, memory_base_, memory_offset, s.setting.memory_clock_hz);
    s.setting.clock_is_offset = clock_offset && s.setting.clock_hz;
    s.setting.memory_is_offset = memory_offset && s.setting.memory_clock_hz;
    if (limit_ != nullptr) {
      s.setting.power_limit_w = positive(scaled(i, limit_, limit_unit, Dim::kPower));
    }
    if (parameter_ != nullptr) s.setting.parameter = value(i, parameter_);
    s.achieved_hz = positive(scaled(i, achieved_, clock_unit, Dim::kClock));
    s.achieved_low_hz = positive(scaled(i, best(Role::kAchievedLow), clock_unit, Dim::kClock));
    const ColumnInfo* high = best(Role::kAchievedHigh);
    s.achieved_high_hz =
        positive(scaled(i, high == clock_ ? nullptr : high, clock_unit, Dim::kClock));
    s.memory_hz = positive(scaled(i, memory_achieved_, memory_unit, Dim::kClock));
    s.memory_low_hz = positive(scaled(i, best(Role::kMemoryLow), memory_unit, Dim::kClock));
    s.memory_high_hz = positive(scaled(i, best(Role::kMemoryHigh), memory_unit, Dim::kClock));
    s.time = positive(scaled(i, time_, time_unit, Dim::kTime));
    s.power_w = positive(scaled(i, power_, power_unit, Dim::kPower));
    if (energies.size() > 1) {
      Maybe sum = 0.0;
      for (const auto* e : energies) {
        const Maybe v = scaled(i, e, energy_unit, Dim::kEnergy);
        sum = sum && v ? Maybe(*sum + *v) : Maybe{};
      }
      s.energy = positive(sum);
      s.gpus = static_cast<int>(energies.size());
    } else {
      s.energy = positive(scaled(i, energy_, energy_unit, Dim::kEnergy));
      if (s.energy) s.energy_error = energy_error(i);
    }
    s.rate = positive(value(i, rate_));
    s.check = positive(value(i, check_));
    s.temperature_c = value(i, temperature);
    s.utilization = scaled(i, utilization, share_in_percent ? 0.01 : 1, Dim::kNone);
    s.start_s = value(i, start);
    if (run != nullptr) s.run = cell(i, run->index);
    if (named_baseline != nullptr) {
      s.baseline = truth_of(cell(i, named_baseline->index)) == true;
      const bool left_alone = !s.setting.clock_hz && !s.setting.memory_clock_hz &&
                              !s.setting.power_limit_w && !s.setting.parameter;
      s.setting.default_clocks = s.setting.default_clocks || (s.baseline && left_alone);
    }
    s.unit_of_work = unit_of_work_;
    if (s.unit_of_work.empty() && time_ == nullptr && rate_ != nullptr) {
      s.unit_of_work = counted != nullptr ? cell(i, counted->index) : rate_->sense.counts;
      if (s.unit_of_work.empty()) s.unit_of_work = "unit of " + t_.header[rate_->index];
    }
    fill_validity(i, s);
    s.workload = workload_name(i);
    for (const auto* k : keys_) {
      if (k->sense.role == Role::kFactor && !is_missing(cell(i, k->index)))
        s.factors[k->sense.factor] = cell(i, k->index);
    }
    if (const auto n = s.factors.find("num_gpus"); n != s.factors.end() && s.gpus <= 1) {
      if (const Maybe gpus = number_of(n->second); gpus && *gpus >= 1 && *gpus <= 1e5)
        s.gpus = static_cast<int>(*gpus);
    }
    for (const auto& [factor, text] : constants_) s.factors[factor] = text;
    if (const auto gpu = s.factors.find("gpu"); gpu != s.factors.end()) {
      s.gpu = gpu->second;
    } else if (!gpu_of_name.empty()) {
      s.gpu = gpu_of_name;
      named_gpu = true;
    }
    for (const auto* k : keys_) {
      if (k->sense.role != Role::kFactor) add_factors_in(cell(i, k->index), s.factors);
    }
    if (s.workload == stem_of(r_.source.path)) add_factors_in(s.workload, s.factors);
    if (!s.time && !s.power_w && !s.energy && !s.rate && !s.check) {
      ++empty;
      continue;
    }
    r_.data.samples.push_back(std::move(s));
  }
  if (named_gpu) r_.note("gpu_from_name", "the GPU is taken from the name of the file");
  if (file_setting_.any())
    r_.note("setting_from_name", "clocks and limits are taken from the names of the files");
  r_.skip("left_out_by_where", left_out);
  r_.skip("rows_without_figures", empty);
  settle_units(r_, first,
               time_said || (time_ == nullptr && rate_ != nullptr &&
                             (!unit_of_work_.empty() || rate_->sense.unit.dim == Dim::kTime)),
               energy_said);
}

}  // namespace ergon::study
