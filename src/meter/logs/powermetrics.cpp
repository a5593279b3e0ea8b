// macOS powermetrics: blocks of "GPU Power: 4567 mW" under a line with the time.
#include <map>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

class PowerMetrics final : public Reader {
 public:
  bool begins(const Line& line) override {
    std::string_view t = trim(line.text);
    constexpr std::string_view kBlock = "*** Sampled system activity (";
    if (!t.starts_with(kBlock)) return false;
    t.remove_prefix(kBlock.size());
    next_ = wall_time(t.substr(0, t.find(')')));
    begun_ = line.number;
    fresh_ = true;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (begun_ == 0) return false;
    if (fresh_) {
      close(out);
      time_ = next_;
      line_ = begun_;
      fresh_ = false;
    }
    const std::string_view t = trim(line.text);
    const std::size_t colon = t.find(": ");
    if (colon == std::string_view::npos) return t.empty() || t.starts_with("****");
    const std::string_view name = t.substr(0, colon);
    const std::string_view value = trim(t.substr(colon + 1));
    if (name == "GPU Power") {
      values_.emplace("power_w", value);
    } else if (name == "GPU HW active frequency" || name == "GPU active frequency") {
      values_.emplace("clock_hz", value);
    } else if (name == "GPU HW active residency" || name == "GPU active residency") {
      values_.emplace("utilization", value.substr(0, value.find('%') + 1));
    } else if (name.ends_with(" Power")) {
      values_.emplace(key_of(name) + "_w", value);
    } else if (name.starts_with("Combined Power")) {
      values_.emplace("combined_power_w", value);
    }
    return true;
  }

  void end(Builder& out) override { close(out); }

 private:
  void close(Builder& out) {
    if (values_.empty()) return;
    out.format("powermetrics");
    out.begin_row(line_);
    if (time_) out.set_time(*time_);
    for (const auto& [column, value] : values_) out.set_cell(canonical_field(column), value);
    values_.clear();
  }

  std::optional<Stamp> next_;
  std::optional<Stamp> time_;
  std::uint64_t begun_ = 0;
  std::uint64_t line_ = 0;
  bool fresh_ = false;
  std::map<std::string, std::string> values_;
};

}  // namespace

std::unique_ptr<Reader> powermetrics_reader() { return std::make_unique<PowerMetrics>(); }

}  // namespace ergon::meter::logs
