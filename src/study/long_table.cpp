// Tables with a header: columns take roles.
#include <algorithm>
#include <cmath>

#include "table_reader.hpp"

namespace ergon::study {

Status TableReader::run() {
  look_at_columns();
  ERGON_TRY_STATUS(apply_mapping());
  ERGON_TRY_STATUS(choose());
  choose_keys();
  make_samples();
  return {};
}

void TableReader::look_at_columns() {
  for (std::size_t c = 0; c < t_.header.size(); ++c) {
    ColumnInfo info{.sense = sense_of(t_.header[c]), .index = c, .values = {}, .cell_unit = {}};
    for (const auto& row : t_.rows) {
      if (is_missing(row[c])) continue;
      ++info.filled;
      std::string unit;
      if (number_of(row[c], &unit)) ++info.numbers;
      if (!unit.empty() && unit_of(unit).dim != Dim::kNone) {
        info.mixed_units = info.mixed_units || (!info.cell_unit.empty() && info.cell_unit != unit);
        info.cell_unit = unit;
      }
      if (info.values.size() <= 4096) info.values.insert(row[c]);
    }
    if (info.mixed_units) info.cell_unit.clear();
    columns_.push_back(std::move(info));
  }
}

ColumnInfo* TableReader::named(std::string_view name) {
  for (auto& c : columns_) {
    if (lower(trimmed(t_.header[c.index])) == lower(trimmed(name))) return &c;
  }
  if (const Maybe n = number_of(name); n && *n >= 1 && *n <= static_cast<double>(columns_.size()))
    return &columns_[static_cast<std::size_t>(*n) - 1];
  return nullptr;
}

Status TableReader::apply_mapping() {
  for (const auto& [role, mapped] : r_.mapping.roles) {
    const Role known = role_named(role);
    if (mapped.column.empty()) {
      if (known == Role::kWorkload) {
        constant_workload_ = mapped.constant;
      } else if (known == Role::kNone) {
        constants_[role] = mapped.constant;
      } else {
        return fail(Errc::kInvalidArgument, "--map: '" + role + "' needs a column, not a constant",
                    "constants are for workload, gpu and factors");
      }
      continue;
    }
    ColumnInfo* c = named(mapped.column);
    if (c == nullptr) {
      return fail(Errc::kInvalidArgument,
                  r_.source.path + " has no column '" + mapped.column + "' (--map)",
                  "its columns are: " + header_text());
    }
    Sense s;
    s.role = known == Role::kNone ? Role::kFactor : known;
    s.factor = role;
    s.score = 100;
    s.unit = unit_of(mapped.unit);
    if (!mapped.unit.empty() && s.unit.dim == Dim::kNone) {
      return fail(Errc::kInvalidArgument, "--map: '" + mapped.unit + "' is no unit",
                  "units are s, ms, us, W, mW, J, mJ, kJ, Wh, kWh, Hz, MHz, GHz and so on");
    }
    c->sense = s;
    if (known == Role::kClock) clock_base_ = mapped.offset_from;
    if (known == Role::kMemoryClock) memory_base_ = mapped.offset_from;
  }
  return {};
}

std::string TableReader::header_text() const {
  std::string out;
  for (std::size_t i = 0; i < t_.header.size() && i < 30; ++i)
    out += (i > 0 ? ", " : "") + t_.header[i];
  return out;
}

const ColumnInfo* TableReader::best(Role role, bool needs_numbers) const {
  const ColumnInfo* found = nullptr;
  for (const auto& c : columns_) {
    if (c.sense.role != role || (needs_numbers ? !c.numeric() : c.filled == 0)) continue;
    if (found == nullptr || c.sense.score > found->sense.score) found = &c;
  }
  return found;
}

const ColumnInfo* TableReader::plain_beside(Role role, const ColumnInfo* asked) const {
  if (asked == nullptr || asked->sense.score < 2) return nullptr;
  const ColumnInfo* found = nullptr;
  for (const auto& c : columns_) {
    if (&c == asked || c.sense.role != role || !c.numeric() || c.sense.score >= 2) continue;
    if (found == nullptr || c.sense.score > found->sense.score) found = &c;
  }
  return found;
}

// Of several columns of time the one that agrees with the work done or with energy over power.
const ColumnInfo* TableReader::asked_and_empty(Role role) const {
  for (const auto& c : columns_) {
    if (c.sense.role == role && c.sense.score >= 2 && c.filled == 0) return &c;
  }
  return nullptr;
}

void TableReader::choose_time() {
  time_ = best(Role::kTime);
  if (time_ == nullptr || time_->sense.score >= 100) return;
  double least = 0;
  const ColumnInfo* steadiest = nullptr;
  for (const auto& c : columns_) {
    if (c.sense.role != Role::kTime || !c.numeric()) continue;
    double sum = 0;
    double squares = 0;
    std::size_t n = 0;
    for (std::size_t i = 0; i < t_.rows.size(); ++i) {
      const Maybe t = value(i, &c);
      const Maybe e = value(i, energy_);
      const Maybe p = value(i, power_);
      const Maybe r = value(i, rate_);
      double constant = 0;
      if (t && *t > 0 && e && p && *p > 0 && *e > 0) {
        constant = *e / (*p * *t);
      } else if (t && *t > 0 && r && *r > 0 && energy_ == nullptr) {
        constant = *r * *t;
      } else {
        continue;
      }
      sum += std::log(constant);
      squares += std::log(constant) * std::log(constant);
      ++n;
    }
    if (n < 3) continue;
    const double mean = sum / static_cast<double>(n);
    const double spread = std::sqrt(std::max(0.0, squares / static_cast<double>(n) - mean * mean));
    if (steadiest == nullptr || spread < least - 1e-6) {
      steadiest = &c;
      least = spread;
    }
  }
  if (steadiest != nullptr && steadiest != time_ && least < 0.02) {
    time_ = steadiest;
    r_.note("column_by_evidence",
            "time is taken from '" + t_.header[time_->index] +
                "': with it the work done (or energy over power) is the same in every row");
  }
}

Status TableReader::choose() {
  clock_ = best(Role::kClock);
  memory_ = best(Role::kMemoryClock);
  // Where the data says what it asked for and asked for nothing, what ran is no setting.
  const auto asked = [](const ColumnInfo* c) { return c != nullptr && c->sense.score >= 2; };
  if (const ColumnInfo* empty = asked_and_empty(Role::kMemoryClock); empty && !asked(memory_)) {
    memory_achieved_ = memory_;
    memory_ = nullptr;
  }
  if (const ColumnInfo* empty = asked_and_empty(Role::kClock); empty && !asked(clock_)) {
    achieved_ = clock_;
    clock_ = nullptr;
  }
  limit_ = best(Role::kPowerLimit);
  if (achieved_ == nullptr) achieved_ = best(Role::kAchieved);
  const bool left_alone = asked_and_empty(Role::kClock) != nullptr;
  if (clock_ == nullptr && achieved_ != nullptr && !left_alone) std::swap(clock_, achieved_);
  // Beside a clock that was asked for, a plain one is what ran.
  if (achieved_ == nullptr) achieved_ = plain_beside(Role::kClock, clock_);
  if (memory_achieved_ == nullptr) memory_achieved_ = best(Role::kMemoryAchieved);
  if (memory_achieved_ == nullptr) memory_achieved_ = plain_beside(Role::kMemoryClock, memory_);
  if (clock_ == nullptr) clock_ = best(Role::kAchievedHigh);
  power_ = best(Role::kPower);
  energy_ = best(Role::kEnergy);
  rate_ = best(Role::kRate);
  check_ = best(Role::kCheck);
  setting_text_ = best(Role::kSetting, false);
  // "energy per token" belongs to "tokens per second".
  if (energy_ != nullptr && !energy_->sense.per.empty()) {
    for (const auto& e : columns_) {
      for (const auto& r : columns_) {
        if (e.sense.role != Role::kEnergy || r.sense.role != Role::kRate || !r.numeric()) continue;
        if (!e.sense.per.empty() && r.sense.counts.starts_with(e.sense.per)) {
          energy_ = &e;
          rate_ = &r;
        }
      }
    }
    if (rate_ != nullptr && rate_->sense.counts.starts_with(energy_->sense.per))
      unit_of_work_ = energy_->sense.per;
  }
  choose_time();
  if (!unit_of_work_.empty()) time_ = nullptr;
  if (time_ != nullptr && !time_->sense.per.empty()) unit_of_work_ = time_->sense.per;
  const bool clocks = clock_ != nullptr || memory_ != nullptr || limit_ != nullptr || left_alone;
  if (!clocks && setting_text_ != nullptr) {
    for (const auto& row : t_.rows) {
      if (setting_in_text(row[setting_text_->index]).any()) named_settings_ = true;
    }
  }
  if (!clocks && !named_settings_) {
    file_setting_ = setting_in(stem_of(r_.source.path));
    if (!file_setting_.any()) {
      parameter_ = best_factor("batch");
      if (parameter_ == nullptr) return refuse("no column of clocks, power limits or batches");
      r_.data.parameter_name = "batch";
    }
  }
  if (time_ == nullptr && rate_ == nullptr && power_ == nullptr && energy_ == nullptr &&
      check_ == nullptr)
    return refuse("no column of time, power, energy or throughput");
  return {};
}

Status TableReader::refuse(const std::string& what) const {
  return fail(Errc::kMalformedInput,
              r_.source.path + " is no DVFS data that is recognised: " + what,
              "say which column is which: --map 'clock=COLUMN:MHz,time=COLUMN:s,power=COLUMN:W'; "
              "its columns are: " +
                  header_text());
}

const ColumnInfo* TableReader::best_factor(std::string_view name) const {
  const ColumnInfo* found = nullptr;
  for (const auto& c : columns_) {
    if (c.sense.role != Role::kFactor || c.sense.factor != name || c.filled == 0) continue;
    if (found == nullptr || c.sense.score > found->sense.score) found = &c;
  }
  return found;
}

bool TableReader::whole_numbers(const ColumnInfo& c) const {
  return std::ranges::all_of(c.values, [](const auto& v) {
    const Maybe n = number_of(v);
    return n && *n == std::floor(*n);
  });
}

// Which columns tell workloads apart.
void TableReader::choose_keys() {
  std::set<std::string> taken;
  for (const auto& c : columns_) {
    const Sense& s = c.sense;
    if (c.filled == 0 || &c == parameter_) continue;
    if (s.role == Role::kWorkload || s.role == Role::kArgument) {
      if (s.role == Role::kWorkload && c.numeric() && c.values.size() > 1 && !whole_numbers(c))
        continue;
      keys_.push_back(&c);
    } else if (s.role == Role::kFactor) {
      if (parameter_ != nullptr && s.factor == "batch") continue;
      if (c.numeric() && !whole_numbers(c)) continue;
      if (best_factor(s.factor) != &c || !taken.insert(s.factor).second) continue;
      keys_.push_back(&c);
    }
  }
  drop_needless();
  split_duplicates();
}

std::string TableReader::key_of(std::size_t row, const std::vector<const ColumnInfo*>& keys,
                                bool with_setting) const {
  std::string out;
  for (const auto* k : keys) out += cell(row, k->index) + '\x1f';
  if (with_setting) {
    for (const auto* k : {clock_, memory_, limit_, parameter_, setting_text_}) {
      if (k != nullptr) out += cell(row, k->index) + '\x1f';
    }
  }
  return out;
}

// Kernels and arguments that tell nothing apart stay out of names.
void TableReader::drop_needless() {
  for (std::size_t i = keys_.size(); i-- > 0;) {
    const Role role = keys_[i]->sense.role;
    const bool sized =
        role == Role::kFactor && keys_[i]->numeric() && keys_[i]->sense.factor != "batch";
    if ((role == Role::kFactor && !sized) || keys_.size() == 1) continue;
    if (role == Role::kWorkload && keys_[i]->sense.score >= 2.5) continue;
    auto fewer = keys_;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (distinct(fewer, false) == distinct(keys_, false) && keys_[i]->values.size() > 1)
      keys_ = std::move(fewer);
  }
}

// Several rows of one workload and setting may be repeats, or a column that nobody named tells
// them apart: then each of its values comes with the same settings.
void TableReader::split_duplicates() {
  if (best(Role::kRun, false) != nullptr) return;
  const std::size_t have = distinct(keys_, true);
  if (have == 0 || have == t_.rows.size()) return;
  for (const auto& c : columns_) {
    const bool text = c.sense.role == Role::kNone && !c.numeric() && c.values.size() > 1;
    if (!text || c.values.size() * 2 > t_.rows.size()) continue;
    if (std::ranges::all_of(c.values, [](const auto& v) { return truth_of(v).has_value(); }))
      continue;
    auto more = keys_;
    more.push_back(&c);
    if (distinct(more, true) == t_.rows.size()) {
      keys_ = std::move(more);
      r_.note("column_by_evidence", "'" + t_.header[c.index] +
                                        "' is taken as part of the workload: with it each "
                                        "setting stands once");
      return;
    }
  }
}

Status read_long_table(const Reading& reading, RawTable table) {
  if (!reading.mapping.header.empty() && table.header.empty())
    table.header = reading.mapping.header;
  if (table.rows.empty() || table.rows.front().size() != table.header.size()) {
    return fail(Errc::kMalformedInput,
                reading.source.path + ": the names and the cells differ in number",
                "give as many names as there are columns");
  }
  if (reading.mapping.empty()) unfold_parts(reading, table);
  return TableReader(reading, table).run();
}

}  // namespace ergon::study
