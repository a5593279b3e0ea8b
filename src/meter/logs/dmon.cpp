// nvidia-smi dmon and pmon: blank-separated columns under two header lines.
#include <algorithm>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

class Dmon final : public Reader {
 public:
  bool begins(const Line& line) override {
    std::string_view text = trim(line.text);
    if (text.find('#') == std::string_view::npos) return false;
    const bool prefixed = text.front() != '#' && leading_stamp(text).has_value();
    if (text.empty() || text.front() != '#') return false;
    text = trim(text.substr(1));
    words(text);
    if (words_.empty()) return false;
    const std::string first = lower(words_[0]);
    if (first == "idx" || first == "yyyymmdd" || first == "hh:mm:ss" || first == "id") {
      if (!running_) return false;
      units();
      return true;
    }
    const bool dated = first == "date" || first == "time";
    const bool has_gpu =
        std::ranges::any_of(words_, [](std::string_view w) { return same(w, "gpu"); });
    if (!has_gpu || (!dated && first != "gpu")) return false;
    names_.clear();
    units_.clear();
    fields_.clear();
    for (const std::string_view w : words_) names_.push_back(lower(w));
    processes_ = std::ranges::find(names_, "pid") != names_.end();
    prefixed_ = prefixed;
    running_ = true;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (!running_) return false;
    std::string_view text = trim(line.text);
    const auto before = prefixed_ ? leading_stamp(text) : std::nullopt;
    words(text);
    if (words_.empty()) return true;
    const char c = words_[0].front();
    if ((c < '0' || c > '9') && c != '-') {
      running_ = false;
      return false;
    }
    if (words_.size() != names_.size() && !(processes_ && words_.size() > names_.size())) {
      if (line.unended && words_.size() < names_.size()) {
        out.defect(line.number, "truncated_line", "the last line is cut");
        out.skip("truncated last line");
        return true;
      }
      // A line of another tool ends the table.
      if (words_.size() + 2 < names_.size()) {
        running_ = false;
        return false;
      }
      out.defect(line.number, "column_count");
      out.skip("lines with another number of cells");
      return true;
    }
    if (fields_.empty()) plan();
    // Processes are no samples of a GPU's sensors.
    if (processes_) {
      out.skip("lines of processes (pmon)");
      return true;
    }
    out.format("nvidia-smi dmon");
    out.begin_row(line.number);
    if (before) out.set_time(*before);
    std::string date;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i] == "date") {
        date = std::string(words_[i]);
      } else if (names_[i] == "time") {
        const auto stamp =
            wall_time(date.empty() ? std::string(words_[i]) : date + ' ' + std::string(words_[i]));
        if (stamp) {
          out.set_time(*stamp);
        } else {
          out.defect(line.number, "bad_time", std::string(words_[i]));
        }
      } else if (names_[i] == "gpu") {
        out.set_gpu(words_[i]);
      } else {
        out.set_cell(fields_[i], words_[i]);
      }
    }
    return true;
  }

 private:
  // Newer versions can separate by commas.
  void words(std::string_view text) {
    if (text.find(',') == std::string_view::npos) {
      split_blanks(text, words_);
      return;
    }
    split(text, ',', words_, scratch_);
  }

  void units() {
    for (const std::string_view w : words_) units_.emplace_back(w);
  }

  void plan() {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = names_[i];
      Field f;
      if (name == "sm") {
        f.name = "utilization";
      } else if (name == "mem") {
        f.name = "memory_utilization";
      } else if (name == "pwr") {
        f.name = "power_w";
      } else if (name == "gtemp" || name == "temp") {
        f.name = "temperature_c";
      } else if (name == "mtemp") {
        f.name = "memory_temperature_c";
      } else if (name == "mclk") {
        f.name = "memory_clock_hz";
      } else if (name == "pclk") {
        f.name = "clock_hz";
      } else {
        f.name = key_of(name);
      }
      f.fixed = f.name != key_of(name) || name == "power_w";
      f.unit = default_unit(f.name);
      if (i < units_.size()) {
        auto unit = unit_of(units_[i]);
        if (units_[i] == "MB") unit = Unit{"bytes", 1048576};
        if (unit) f.unit = unit;
      }
      if (!f.fixed && f.unit) {
        f.name = with_suffix(f.name, f.unit->suffix);
        f.fixed = true;
      }
      fields_.push_back(std::move(f));
    }
  }

  bool running_ = false;
  bool processes_ = false;
  bool prefixed_ = false;  ///< something put its own stamp before each line
  std::vector<std::string> names_;
  std::vector<std::string> units_;
  std::vector<Field> fields_;
  std::vector<std::string_view> words_;
  std::string scratch_;
};

}  // namespace

std::unique_ptr<Reader> dmon_reader() { return std::make_unique<Dmon>(); }

}  // namespace ergon::meter::logs
