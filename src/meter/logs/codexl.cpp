// AMD CodeXL power profiles: a list of counters, then records of fixed columns.
#include <algorithm>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

class CodeXl final : public Reader {
 public:
  bool begins(const Line& line) override {
    if (trim(line.text) != "CODEXL POWER PROFILE REPORT") return false;
    running_ = true;
    fields_.clear();
    records_ = false;
    counters_ = false;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (!running_) return false;
    const std::string_view t = trim(line.text);
    if (t == "PROFILED COUNTERS") {
      counters_ = true;
      return true;
    }
    if (t == "PROFILE RECORDS") {
      records_ = true;
      counters_ = false;
      return true;
    }
    if (t.empty()) return true;
    if (counters_) {
      counter(t);
      return true;
    }
    if (!records_) return true;  // details of the profile
    if (t.starts_with("RecordId")) return true;
    split_blanks(t, words_);
    const bool record = !words_.empty() && words_[0].front() >= '0' && words_[0].front() <= '9';
    if (!record) return false;
    if (words_.size() != fields_.size() + 2) {
      const bool cut = line.unended && words_.size() < fields_.size() + 2;
      out.defect(line.number, cut ? "truncated_line" : "column_count");
      out.skip(cut ? "truncated last line" : "lines with another number of cells");
      return true;
    }
    if (line.unended && words_.back().size() < last_width_) {
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    const auto stamp = wall_time(words_[1]);
    if (!stamp) {
      out.defect(line.number, "bad_time", std::string(words_[1]));
      out.skip("rows without a readable time");
      return true;
    }
    last_width_ = words_.back().size();
    out.format("CodeXL power profile");
    out.begin_row(line.number);
    out.set_time(*stamp);
    for (std::size_t i = 0; i < fields_.size(); ++i) out.set_cell(fields_[i], words_[i + 2]);
    return true;
  }

 private:
  // "0.  ellesmere-dgpu-power  Power  Watt  Ellesmere-Average ..." : columns are two or more blanks
  // apart, the record's own header cuts the names.
  void counter(std::string_view t) {
    if (t.starts_with("COUNTER ID") || t.front() < '0' || t.front() > '9') return;
    std::vector<std::string_view> cells;
    std::size_t from = 0;
    while (from < t.size() && cells.size() < 4) {
      std::size_t to = t.find("  ", from);
      // A name of the full width touches the next column with a single blank.
      if (cells.size() == 1) to = std::min(to, t.find(' ', from));
      if (to == std::string_view::npos) to = t.size();
      if (to > from) cells.push_back(trim(t.substr(from, to - from)));
      from = to;
      while (from < t.size() && t[from] == ' ') ++from;
    }
    Field f;
    const std::string category = cells.size() > 2 ? lower(cells[2]) : std::string();
    const std::string name = cells.size() > 1 ? key_of(cells[1]) : std::string("column");
    const std::string_view unit = cells.size() > 3 ? cells[3] : std::string_view();
    const bool gpu = name.find("gpu") != std::string::npos;
    f.name = name;
    if (category == "power" && gpu) f.name = "power_w";
    if (category == "temperature" && gpu) f.name = "temperature_c";
    if (category == "frequency" && gpu) f.name = "clock_hz";
    f.unit = unit_of(unit);
    if (category == "voltage") f.name = "voltage_v";
    if (category == "current") f.name = "current_a";
    f.fixed = f.name != name;
    if (!f.unit) f.unit = default_unit(f.name);
    for (const Field& other : fields_) {
      if (other.name == f.name) {  // a second power of another part of the chip
        f.name = with_suffix(name, f.unit ? f.unit->suffix : std::string_view());
        break;
      }
    }
    fields_.push_back(std::move(f));
  }

  bool running_ = false;
  bool counters_ = false;
  bool records_ = false;
  std::size_t last_width_ = 0;
  std::vector<Field> fields_;
  std::vector<std::string_view> words_;
};

}  // namespace

std::unique_ptr<Reader> codexl_reader() { return std::make_unique<CodeXl>(); }

}  // namespace ergon::meter::logs
