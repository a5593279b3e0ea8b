// perf stat -I with RAPL's energy events, as text or with -x.
#include <algorithm>
#include <map>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

class PerfStat final : public Reader {
 public:
  bool begins(const Line& line) override {
    static_cast<void>(line);
    return false;
  }

  bool take(const Line& line, Builder& out) override { return perf(trim(line.text), line, out); }

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

  std::vector<std::string_view> words_;
  std::string scratch_;
  bool perf_ = false;
  std::optional<Stamp> perf_time_;
  std::optional<Stamp> perf_before_;
  std::map<std::string, double> perf_sum_;
};

}  // namespace

std::unique_ptr<Reader> perf_reader() { return std::make_unique<PerfStat>(); }

}  // namespace ergon::meter::logs
