// What small pollers print: "[000] Power: 290.6, Util: 100 Temp: 55", perf stat -I, turbostat,
// amd-smi monitor, rocm-smi.
#include <algorithm>
#include <cmath>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

// Pairs of "Name: value" on one line.
class KeyValue final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override {
    const std::string_view t = trim(line.text);
    if (t.size() > 400 || t.find(':') == std::string_view::npos) return false;
    return rocm(t, line, out) || pairs(t, line, out);
  }

 private:
  // "GPU[0]		: Average Graphics Package Power (W): 35.0"
  bool rocm(std::string_view t, const Line& line, Builder& out) {
    if (!t.starts_with("GPU[")) return false;
    const std::size_t close = t.find(']');
    const std::size_t colon = t.find(':', close);
    const std::size_t last = t.rfind(':');
    if (close == std::string_view::npos || colon == std::string_view::npos || last == colon)
      return false;
    const std::string id(t.substr(4, close - 4));
    const std::string_view name = trim(t.substr(colon + 1, last - colon - 1));
    const std::string_view value = trim(t.substr(last + 1));
    const Field field = field_of(name);
    if (!field.fixed) return true;  // other facts of the card
    // The same reading of the same GPU again is the next sample.
    const std::string key = id + '\n' + field.name;
    const bool again = std::ranges::find(seen_, key) != seen_.end();
    if (again || seen_.empty() || id != rocm_gpu_) {
      if (again) seen_.clear();
      out.format("rocm-smi");
      out.begin_row(line.number);
      out.set_gpu(id);
      rocm_gpu_ = id;
    }
    seen_.push_back(key);
    out.set_cell(field, value);
    return true;
  }

  bool pairs(std::string_view t, const Line& line, Builder& out) {
    struct Pair {
      Field field;
      std::string_view value;
    };
    std::vector<Pair> found;
    std::optional<Stamp> stamp;
    std::string_view rest = t;
    // A sample number, or a time, in brackets.
    if (rest.front() == '[') {
      const std::size_t close = rest.find(']');
      if (close == std::string_view::npos) return false;
      stamp = wall_time(rest.substr(1, close - 1));
      rest = trim(rest.substr(close + 1));
    } else {
      const std::size_t first = rest.find_first_of(" ,");
      if (first != std::string_view::npos) {
        stamp = wall_time(rest.substr(0, first));
        if (stamp) rest = trim(rest.substr(first + 1));
      }
      if (!stamp && rest.size() > 19) {
        std::size_t second =
            first == std::string_view::npos ? first : rest.find_first_of(" ,", first + 1);
        if (second != std::string_view::npos) {
          stamp = wall_time(rest.substr(0, second));
          if (stamp) rest = trim(rest.substr(second + 1));
        }
      }
    }
    std::string_view gpu;
    while (!rest.empty()) {
      const std::size_t colon = rest.find_first_of(":=");
      if (colon == std::string_view::npos || colon == 0) break;
      std::string_view name = trim(rest.substr(0, colon));
      rest = trim(rest.substr(colon + 1));
      const auto number = number_of(rest);
      std::size_t end = rest.find_first_of(",;|");
      if (number) {
        // The value ends after its unit, if that is one.
        const std::size_t digits = rest.size() - number->rest.size();
        const std::size_t word = std::min(number->rest.find_first_of(" ,;|"), number->rest.size());
        if (unit_of(number->rest.substr(0, word))) {
          end = std::min(end, digits + word);
        } else {
          end = std::min(end, static_cast<std::size_t>(rest.find_first_of(" ,;|")));
        }
      } else {
        end = std::min(end, rest.find(' '));
      }
      if (end == std::string_view::npos) end = rest.size();
      const std::string_view value = trim(rest.substr(0, end));
      rest = rest.substr(std::min(end, rest.size()));
      while (!rest.empty() && (rest.front() == ',' || rest.front() == ' ' || rest.front() == ';' ||
                               rest.front() == '|'))
        rest.remove_prefix(1);
      while (!name.empty() && (name.front() == '-' || name.front() == '*' || name.front() == ' '))
        name.remove_prefix(1);
      // Names of one to three words: sentences have other sense.
      if (std::ranges::count(name, ' ') > 2 || name.size() > 40) return false;
      Field field = field_of(name);
      if (field.role == Field::Role::kGpu) {
        gpu = value;
        continue;
      }
      if (field.role == Field::Role::kTime) {
        if (!stamp) stamp = wall_time(value);
        if (!stamp) stamp = number_time(value, std::nullopt);
        continue;
      }
      if (field.lane >= 0 || !field.fixed || (!number && !missing_marker(value))) continue;
      found.push_back({std::move(field), value});
    }
    const bool reading = std::ranges::any_of(found, [](const Pair& p) {
      return p.field.name.ends_with("power_w") || p.field.name == "energy_j";
    });
    if (!reading) return false;
    if (line.unended && last_pairs_ > found.size()) {
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    last_pairs_ = found.size();
    out.format("poller text");
    out.begin_row(line.number);
    if (stamp) out.set_time(*stamp);
    if (!gpu.empty()) out.set_gpu(gpu);
    for (const Pair& p : found) out.set_cell(p.field, p.value);
    return true;
  }

  std::vector<std::string> seen_;
  std::string rocm_gpu_;
  std::size_t last_pairs_ = 0;
};

// Tables whose columns are parted by blanks, with a header that names watts.
class BlankTable final : public Reader {
 public:
  bool begins(const Line& line) override {
    const std::string_view t = trim(line.text);
    if (t.find(',') != std::string_view::npos) return false;
    split_blanks(t, words_);
    if (words_.size() < 3) return false;
    const bool turbostat =
        std::ranges::any_of(words_, [](std::string_view w) { return w == "PkgWatt"; });
    const bool amd = words_[0] == "GPU" &&
                     std::ranges::any_of(words_, [](std::string_view w) { return w == "POWER"; });
    const bool amd_timed = words_[0] == "TIMESTAMP" && words_[1] == "GPU";
    if (!turbostat && !amd && !amd_timed) return false;
    names_.assign(words_.begin(), words_.end());
    amd_ = !turbostat;
    running_ = true;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    const std::string_view t = trim(line.text);
    if (perf(t, line, out)) return true;
    if (!running_) return false;
    split_blanks(t, words_);
    if (words_.empty()) return true;
    return amd_ ? amd_row(line, out) : turbostat_row(line, out);
  }

 private:
  // "     1.001045281      45.30 Joules power/energy-pkg/": the energy of one interval.
  bool perf(std::string_view t, const Line& line, Builder& out) {
    const bool csv = t.find(",Joules,power/energy-") != std::string_view::npos ||
                     t.find(";Joules;power/energy-") != std::string_view::npos;
    if (t.find("power/energy-") == std::string_view::npos) return false;
    if (csv) {
      split(t, t.find(",Joules") != std::string_view::npos ? ',' : ';', words_, scratch_);
    } else {
      split_blanks(t, words_);
    }
    const auto event = std::ranges::find_if(
        words_, [](std::string_view w) { return w.starts_with("power/energy-"); });
    if (event == words_.end() || event - words_.begin() < 2) return false;
    const std::size_t at = static_cast<std::size_t>(event - words_.begin());
    std::string value(words_[at - 2]);
    std::erase(value, ',');
    const auto joules = number_of(value);
    const std::string_view domain = event->substr(13);
    std::string name = key_of(domain.substr(0, domain.find('/')));
    if (name == "pkg") name = "package";
    if (name == "cores") name = "core";
    if (name == "ram") name = "dram";
    if (name == "gpu") name = "integrated_gpu";
    std::optional<Stamp> stamp;
    if (at >= 3) stamp = number_time(words_[0], 1.0);
    const bool next = !perf_ || !stamp || !perf_time_ || stamp->ns != perf_time_->ns;
    if (next) {
      out.format("perf stat");
      out.no_gpu();
      out.begin_row(line.number);
      if (stamp) out.set_time(*stamp);
      perf_before_ = perf_time_;
      perf_time_ = stamp;
      perf_ = true;
    }
    // perf gives the energy of each interval: its mean power and the sum so far are what a log
    // holds.
    const double seconds =
        stamp ? static_cast<double>(stamp->ns - (perf_before_ ? perf_before_->ns : 0)) * 1e-9 : 0;
    auto& sum = perf_sum_[name];
    sum += joules ? joules->value : 0;
    out.set(out.column(name + "_power_w", false),
            joules && seconds > 0 ? joules->value / seconds : kMissing);
    out.set(out.column(name + "_energy_j", false), joules ? sum : kMissing);
    return true;
  }

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

  // "  0   203 W   47 C   49 C   2100 MHz ...": values and units are words of their own.
  bool amd_row(const Line& line, Builder& out) {
    std::vector<std::string> cells;
    for (const std::string_view w : words_) {
      const bool unit = !cells.empty() && unit_of(w) && number_of(cells.back()) &&
                        number_of(cells.back())->rest.empty();
      if (unit) {
        cells.back() += ' ' + std::string(w);
      } else {
        cells.emplace_back(w);
      }
    }
    if (!number_of(cells[0])) {
      running_ = false;
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

  bool running_ = false;
  bool amd_ = false;
  std::vector<std::string> names_;
  std::vector<std::string_view> words_;
  std::string scratch_;
  bool perf_ = false;
  std::optional<Stamp> perf_time_;
  std::optional<Stamp> perf_before_;
  std::map<std::string, double> perf_sum_;
};

}  // namespace

std::unique_ptr<Reader> key_value_reader() { return std::make_unique<KeyValue>(); }
std::unique_ptr<Reader> blank_table_reader() { return std::make_unique<BlankTable>(); }

}  // namespace ergon::meter::logs
