// dcgmi dmon: rows of entities ("GPU 0") under a header of short names that is repeated now and
// then.
#include <algorithm>
#include <array>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

// The short names of DCGM's fields (dcgmi dmon -l) that are readings of a board's sensors.
struct Short {
  std::string_view name;  ///< lower case
  std::string_view column;
  std::optional<Unit> unit;  ///< nullopt: what such a column has
};
constexpr std::array kShorts = {
    Short{"power", "power_w", {}},
    Short{"totec", "energy_j", Unit{"j", 1, 1e3}},
    Short{"tmptr", "temperature_c", {}},
    Short{"mmtmp", "memory_temperature_c", {}},
    Short{"smclk", "clock_hz", {}},
    Short{"mmclk", "memory_clock_hz", {}},
    Short{"viclk", "video_clock_hz", {}},
    Short{"saclk", "application_clock_hz", {}},
    Short{"maclk", "application_memory_clock_hz", {}},
    Short{"gputl", "utilization", {}},
    Short{"mcutl", "memory_utilization", {}},
    Short{"pmlmt", "power_limit_w", {}},
    Short{"eplmt", "enforced_power_limit_w", {}},
    Short{"pmmin", "min_power_limit_w", {}},
    Short{"pmmax", "max_power_limit_w", {}},
    Short{"pmdef", "default_power_limit_w", {}},
    Short{"fbusd", "memory_used_bytes", Unit{"bytes", 1048576}},
};

Field field_of_short(const std::string& name) {
  const auto known = std::ranges::find(kShorts, name, &Short::name);
  if (known != kShorts.end()) return canonical_field(std::string(known->column), known->unit);
  Field f;
  f.name = key_of(name);
  f.fallback = f.name;
  return f;
}

class Dcgmi final : public Reader {
 public:
  bool begins(const Line& line) override {
    std::string_view text = trim(line.text);
    if (text.find("ntity") == std::string_view::npos) return false;
    if (text.front() != '#' && !leading_stamp(text)) return false;
    if (text.empty() || text.front() != '#') return false;
    const std::string_view names = trim(text.substr(1));
    split_blanks(names, words_);
    if (words_.size() < 2) return false;
    const std::string first = lower(words_[0]);
    if (first != "entity" && first != "entityid") return false;
    fields_.clear();
    starts_.clear();
    for (std::size_t i = 1; i < words_.size(); ++i) {
      fields_.push_back(field_of_short(lower(words_[i])));
      starts_.push_back(static_cast<std::size_t>(words_[i].data() - text.data()));
    }
    running_ = true;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (!running_) return false;
    std::string_view text = trim(line.text);
    std::optional<Stamp> stamp;
    if (text.front() >= '0' && text.front() <= '9') stamp = leading_stamp(text);
    split_blanks(text, words_);
    if (words_.empty()) return true;
    // The line of units: each field always has the same one.
    if (same(words_[0], "id") || (words_[0] == "#" && words_.size() > 1 && same(words_[1], "id")) ||
        same(words_[0], "#id")) {
      return true;
    }
    const std::string_view kind = words_[0];
    const bool entity = kind.starts_with("GPU") || kind == "vGPU" || kind == "Switch" ||
                        kind == "CPU" || kind == "Core" || kind == "Link";
    if (!entity || words_.size() < 2) {
      running_ = false;
      return false;
    }
    if (words_.size() != fields_.size() + 2 && !by_place(text)) {
      const bool cut = line.unended && words_.size() < fields_.size() + 2;
      out.defect(line.number, cut ? "truncated_line" : "column_count",
                 cut ? "the last line is cut" : "");
      out.skip(cut ? "truncated last line" : "lines with another number of cells");
      return true;
    }
    if (line.unended && words_.back().size() < last_width_ && number_of(words_.back())) {
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    if (kind != "GPU" && gpus_) {
      // What an instance of a GPU gives is the whole GPU's, or nothing.
      out.skip("lines of parts of a GPU that is read as a whole");
      return true;
    }
    if (kind == "Switch" || kind == "Link" || kind == "CPU" || kind == "Core") {
      out.skip("lines of parts that are no GPU");
      return true;
    }
    gpus_ = gpus_ || kind == "GPU";
    last_width_ = words_.back().size();
    out.format("dcgmi dmon");
    out.begin_row(line.number);
    if (stamp) out.set_time(*stamp);
    out.set_gpu(kind == "GPU" ? std::string(words_[1])
                              : std::string(kind) + ' ' + std::string(words_[1]));
    for (std::size_t i = 0; i < fields_.size(); ++i) out.set_cell(fields_[i], words_[i + 2]);
    return true;
  }

 private:
  // Cells with blanks in them ("NVIDIA A100"): columns begin where their names do.
  bool by_place(std::string_view text) {
    if (words_.size() < fields_.size() + 2) return false;
    std::vector<std::string_view> cells = {words_[0], words_[1]};
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::size_t from = starts_[i];
      const std::size_t to = i + 1 < starts_.size() ? starts_[i + 1] : text.size();
      if (from >= text.size() || to > text.size() || text[from - 1] != ' ' || text[from] == ' ')
        return false;
      cells.push_back(trim(text.substr(from, to - from)));
    }
    words_ = std::move(cells);
    return true;
  }

  bool running_ = false;
  bool gpus_ = false;  ///< a whole GPU was seen
  std::size_t last_width_ = 0;
  std::vector<Field> fields_;
  std::vector<std::size_t> starts_;
  std::vector<std::string_view> words_;
};

}  // namespace

std::unique_ptr<Reader> dcgmi_reader() { return std::make_unique<Dcgmi>(); }

}  // namespace ergon::meter::logs
