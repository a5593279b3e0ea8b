// amd-smi metric as text: a block a GPU, sections by indentation.
#include <algorithm>
#include <array>
#include <map>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

struct AmdEntry {
  std::string_view path;  ///< sections and name, lower case
  std::string_view column;
};
constexpr std::array kAmdEntries = {
    AmdEntry{"usage/gfx_activity", "utilization"},
    AmdEntry{"usage/gfx_usage", "utilization"},
    AmdEntry{"usage/umc_activity", "memory_utilization"},
    AmdEntry{"usage/mem_usage", "memory_utilization"},
    AmdEntry{"power/socket_power", "power_w"},
    AmdEntry{"power/current_power", "power_w"},
    AmdEntry{"power/current_socket_power", "power_w"},
    AmdEntry{"power/average_power", "average_power_w"},
    AmdEntry{"power/average_socket_power", "average_power_w"},
    AmdEntry{"power/power_limit", "power_limit_w"},
    AmdEntry{"clock/gfx_0/clk", "clock_hz"},
    AmdEntry{"clock/gfx/cur_clk", "clock_hz"},
    AmdEntry{"clock/mem_0/clk", "memory_clock_hz"},
    AmdEntry{"clock/mem/cur_clk", "memory_clock_hz"},
    AmdEntry{"temperature/edge", "temperature_c"},
    AmdEntry{"temperature/hotspot", "hotspot_temperature_c"},
    AmdEntry{"temperature/mem", "memory_temperature_c"},
    AmdEntry{"energy/total_energy_consumption", "energy_j"},
};

class AmdReport final : public Reader {
 public:
  bool begins(const Line& line) override {
    if (!line.text.starts_with("GPU: ")) return false;
    const auto id = number_of(line.text.substr(5));
    if (!id || !id->rest.empty()) return false;
    next_ = std::string(trim(line.text.substr(5)));
    begun_ = line.number;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (next_.empty() && id_.empty()) return false;
    if (!next_.empty()) {
      close(out);
      id_ = std::move(next_);
      next_.clear();
      line_ = begun_;
      sections_.clear();
    }
    const std::string_view t = trim(line.text);
    const std::size_t indent = static_cast<std::size_t>(t.data() - line.text.data());
    const std::size_t colon = t.find(':');
    if (indent == 0) {
      close(out);
      if (t.starts_with("TIMESTAMP:")) {
        time_ = number_time(trim(t.substr(10)), std::nullopt);
        return true;
      }
      return false;
    }
    if (colon == std::string_view::npos) return true;  // a list that goes on
    while (!sections_.empty() && sections_.back().first >= indent) sections_.pop_back();
    const std::string name = lower(trim(t.substr(0, colon)));
    const std::string_view value = trim(t.substr(colon + 1));
    if (name == "timestamp") time_ = number_time(value, std::nullopt);
    if (value.empty()) {
      sections_.emplace_back(indent, name);
      return true;
    }
    std::string path;
    for (const auto& section : sections_) path += section.second + '/';
    path += name;
    const auto known = std::ranges::find(kAmdEntries, path, &AmdEntry::path);
    if (known != kAmdEntries.end()) values_.emplace(known->column, value);
    return true;
  }

  void end(Builder& out) override { close(out); }

 private:
  void close(Builder& out) {
    if (!values_.empty() && !id_.empty()) {
      out.format("amd-smi metric");
      out.begin_row(line_);
      if (time_) out.set_time(*time_);
      out.set_gpu(id_);
      for (const auto& [column, value] : values_) out.set_cell(canonical_field(column), value);
    }
    values_.clear();
    id_.clear();
  }

  std::string next_;
  std::uint64_t begun_ = 0;
  std::string id_;
  std::uint64_t line_ = 0;
  std::optional<Stamp> time_;
  std::vector<std::pair<std::size_t, std::string>> sections_;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::unique_ptr<Reader> amd_report_reader() { return std::make_unique<AmdReport>(); }

}  // namespace ergon::meter::logs
