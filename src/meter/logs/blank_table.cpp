// Tables whose columns are parted by blanks: turbostat, amd-smi monitor, rocm-smi's overview,
// powerstat.
#include <algorithm>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

class BlankTable final : public Reader {
 public:
  bool begins(const Line& line) override {
    std::string_view t = trim(line.text);
    if (t.find(',') != std::string_view::npos && !t.starts_with("Device")) return false;
    split_blanks(t, words_);
    if (words_.size() < 3) return false;
    Kind kind = Kind::kNone;
    const auto has = [&](std::string_view name) {
      return std::ranges::find(words_, name) != words_.end();
    };
    if (has("PkgWatt")) {
      kind = Kind::kTurbostat;
    } else if (words_[0] == "Time" && words_[1] == "User" && has("Watts")) {
      kind = Kind::kPowerstat;
    } else if ((words_[0] == "GPU" && has("POWER")) ||
               (words_[0] == "TIMESTAMP" && words_[1] == "GPU")) {
      kind = Kind::kAmd;
    } else if ((words_[0] == "GPU" || words_[0] == "Device") && has("SCLK") && has("MCLK")) {
      kind = Kind::kRocm;
    }
    if (kind == Kind::kNone) return false;
    kind_ = kind;
    names_.assign(words_.begin(), words_.end());
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (kind_ == Kind::kNone) return false;
    const std::string_view t = trim(line.text);
    split_blanks(t, words_);
    if (words_.empty()) return true;
    switch (kind_) {
      case Kind::kAmd:
        return amd_row(line, out);
      case Kind::kRocm:
        return rocm_row(line, out);
      case Kind::kPowerstat:
        return powerstat_row(line, out);
      default:
        return turbostat_row(line, out);
    }
  }

 private:
  enum class Kind { kNone, kTurbostat, kPowerstat, kAmd, kRocm };

  bool turbostat_row(const Line& line, Builder& out) {
    const auto first = number_of(words_[0]);
    if (!first && words_[0] != "-") return false;
    const auto at = [&](std::string_view name) -> std::string_view {
      for (std::size_t i = 0; i < names_.size() && i < words_.size(); ++i) {
        if (names_[i] == name) return words_[i];
      }
      return {};
    };
    // The first line after a header sums up all packages; the others are cores.
    const bool summary = std::ranges::all_of(names_, [&](const std::string& n) {
      return (n != "Core" && n != "CPU" && n != "Package") || at(n) == "-";
    });
    if (!summary || words_.size() != names_.size()) {
      out.skip("turbostat lines of single cores");
      return true;
    }
    out.format("turbostat");
    out.no_gpu();
    out.begin_row(line.number);
    const std::string_view stamp = at("Time_Of_Day_Seconds");
    if (const auto s = stamp.empty() ? std::nullopt : number_time(stamp, 1.0)) out.set_time(*s);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string key = key_of(names_[i]);
      Field f = field_of(names_[i]);
      if (key == "gfxwatt") f.name = "integrated_gpu_power_w";
      if (key == "pkgtmp") {
        f.name = "package_temperature_c";
        f.fixed = true;
      }
      if (f.fixed && (f.name.ends_with("_power_w") || key == "pkgtmp")) out.set_cell(f, words_[i]);
    }
    return true;
  }

  bool powerstat_row(const Line& line, Builder& out) {
    if (words_[0].starts_with("----")) return true;
    const auto stamp = wall_time(words_[0]);
    if (!stamp) {
      // The statistics below the table, which may begin again after a pause.
      if (words_[0] == "Average" || words_[0] == "GeoMean" || words_[0] == "StdDev" ||
          words_[0] == "Minimum" || words_[0] == "Maximum") {
        return true;
      }
      kind_ = Kind::kNone;
      return false;
    }
    const auto watts = std::ranges::find(names_, "Watts");
    if (words_.size() < names_.size() || watts == names_.end()) {
      out.defect(line.number, line.unended ? "truncated_line" : "column_count");
      out.skip(line.unended ? "truncated last line" : "lines with another number of cells");
      return true;
    }
    out.format("powerstat");
    out.no_gpu();
    out.begin_row(line.number);
    out.set_time(*stamp);
    const auto at = static_cast<std::size_t>(watts - names_.begin());
    out.set_cell(canonical_field("system_power_w"), words_[at]);
    // Domains of RAPL stand behind it.
    for (std::size_t i = at + 1; i < names_.size(); ++i) {
      const std::string key = key_of(names_[i]);
      if (key == "cpu" || key == "freq") break;
      out.set_cell(canonical_field(key + "_power_w"), words_[i]);
    }
    return true;
  }

  // Values and units as words of their own, or joined: "203 W", "203W".
  std::vector<std::string> joined_cells() const {
    std::vector<std::string> cells;
    for (const std::string_view w : words_) {
      const bool unit = !cells.empty() && number_of(cells.back()) &&
                        number_of(cells.back())->rest.empty() &&
                        (unit_of(w) || (w.ends_with("b/s") && !number_of(w)));
      if (unit) {
        cells.back() += ' ' + std::string(w);
      } else if (!cells.empty() && w.starts_with("b/s")) {
        cells.back() += std::string(w);
      } else if (!cells.empty() && cells.back() == "N/A" && w.ends_with("b/s")) {
        continue;  // "N/A Mb/s"
      } else {
        cells.emplace_back(w);
      }
    }
    return cells;
  }

  // "  0   203 W   47 C   49 C   2100 MHz ..."
  bool amd_row(const Line& line, Builder& out) {
    const std::vector<std::string> cells = joined_cells();
    if (!number_of(cells[0])) {
      kind_ = Kind::kNone;
      return false;
    }
    if (cells.size() != names_.size()) {
      out.defect(line.number, line.unended ? "truncated_line" : "column_count");
      out.skip(line.unended ? "truncated last line" : "lines with another number of cells");
      return true;
    }
    out.format("amd-smi monitor");
    out.begin_row(line.number);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      Field f = field_of(names_[i]);
      if (f.role == Field::Role::kTime) {
        if (const auto s = number_time(cells[i], std::nullopt)) out.set_time(*s);
      } else if (f.role == Field::Role::kGpu) {
        out.set_gpu(cells[i]);
      } else if (names_[i].ends_with('%')) {
        f.name = names_[i] == "GFX%"   ? "utilization"
                 : names_[i] == "MEM%" ? "memory_utilization"
                                       : key_of(names_[i]) + "_ratio";
        f.fixed = true;
        f.unit = Unit{"ratio", 1, 100};
        out.set_cell(f, cells[i]);
      } else {
        out.set_cell(f, cells[i]);
      }
    }
    return true;
  }

  // "0  47.0c  91.0W  800Mhz  1600Mhz  0%  auto  560.0W  0%  0%": what a cell is shows in its unit,
  // as newer versions have cells of several words before it.
  bool rocm_row(const Line& line, Builder& out) {
    if (words_[0].front() == '(' || words_[0].front() == '=') return true;  // below the header
    if (!number_of(words_[0]) || !number_of(words_[0])->rest.empty()) {
      kind_ = Kind::kNone;
      return false;
    }
    const auto perf = std::ranges::find_if(words_, [](std::string_view w) {
      return w == "auto" || w == "manual" || w == "high" || w == "low" || w == "perf_determinism" ||
             w == "unknown" || w.starts_with("profile");
    });
    const auto from = static_cast<std::size_t>(perf - words_.begin());
    if (perf == words_.end() || from < 5 || words_.size() != from + 4) {
      out.defect(line.number, line.unended ? "truncated_line" : "column_count");
      out.skip(line.unended ? "truncated last line" : "lines with another number of cells");
      return true;
    }
    // Before the fan's speed: the two clocks; before them the temperature and the draw.
    std::vector<std::string_view> front;
    for (std::size_t i = 1; i < from - 3; ++i) {
      const std::string_view w = words_[i];
      const auto n = number_of(w);
      const auto unit = n ? unit_of(n->rest) : std::nullopt;
      if (w == "N/A" || (unit && (unit->suffix == "w" || unit->suffix == "c"))) front.push_back(w);
    }
    out.format("rocm-smi");
    out.begin_row(line.number);
    out.set_gpu(words_[0]);
    const bool junction = names_.front() == "Device";
    if (front.size() >= 2) {
      out.set_cell(canonical_field(junction ? "junction_temperature_c" : "temperature_c"),
                   front[0]);
      out.set_cell(canonical_field("power_w"), front[1]);
    }
    out.set_cell(canonical_field("clock_hz"), *(perf - 3));
    out.set_cell(canonical_field("memory_clock_hz"), *(perf - 2));
    out.set_cell(canonical_field("fan_speed_ratio"), *(perf - 1));
    out.set_cell(canonical_field("power_limit_w"), *(perf + 1));
    out.set_cell(canonical_field("utilization"), *(perf + 3));
    return true;
  }

  Kind kind_ = Kind::kNone;
  std::vector<std::string> names_;
  std::vector<std::string_view> words_;
};

}  // namespace

std::unique_ptr<Reader> blank_table_reader() { return std::make_unique<BlankTable>(); }

}  // namespace ergon::meter::logs
