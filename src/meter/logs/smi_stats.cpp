// nvidia-smi stats: "0, pwrDraw , 1395544840748857, 65": GPU, what, microseconds, value.
#include <algorithm>
#include <array>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

struct Metric {
  std::string_view name;
  std::string_view column;
};
constexpr std::array kMetrics = {
    Metric{"pwrDraw", "power_w"},     Metric{"temp", "temperature_c"},
    Metric{"gpuUtil", "utilization"}, Metric{"memUtil", "memory_utilization"},
    Metric{"procClk", "clock_hz"},    Metric{"memClk", "memory_clock_hz"},
};

class SmiStats final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override {
    const std::size_t comma = line.text.find(',');
    if (comma == std::string_view::npos || comma > 4) return false;
    split(trim(line.text), ',', cells_, scratch_);
    if (cells_.size() != 4 || !number_of(cells_[0]) || cells_[1].empty()) return false;
    const auto stamp = number_time(cells_[2], 1e-6);
    if (!stamp || stamp->kind != Stamp::Kind::kUtc) return false;
    const auto metric = std::ranges::find(kMetrics, cells_[1], &Metric::name);
    const bool viol = cells_[1].starts_with("viol");
    if (metric == kMetrics.end() && !viol) return false;
    if (viol) {
      out.skip("lines of violations, which are no readings of a sensor");
      return true;
    }
    out.format("nvidia-smi stats");
    out.begin_row(line.number);
    out.set_time(*stamp);
    out.set_gpu(cells_[0]);
    out.set_cell(canonical_field(std::string(metric->column)), cells_[3]);
    return true;
  }

 private:
  std::vector<std::string_view> cells_;
  std::string scratch_;
};

}  // namespace

std::unique_ptr<Reader> smi_stats_reader() { return std::make_unique<SmiStats>(); }

}  // namespace ergon::meter::logs
