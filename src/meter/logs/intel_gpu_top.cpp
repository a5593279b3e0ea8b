// intel_gpu_top: -l as text, and the samples of -J.
#include "logs/intel_gpu_top.hpp"

#include <algorithm>
#include <cmath>

#include "logs/reader.hpp"

namespace ergon::meter::logs {
namespace {

constexpr const char* kBusiest = "utilization is that of the busiest engine";

// " Freq MHz  IRQ RC6  Power W  IMC MiB/s  RCS ..." over " req  act  /s  %  gpu  pkg  rd  wr  %  se
// wa".
class IntelGpuTop final : public Reader {
 public:
  bool begins(const Line& line) override {
    std::string_view t = line.text;
    leading_stamp(t);
    split_blanks(trim(t), words_);
    if (words_.size() < 4 || words_[0] != "Freq" || words_[1] != "MHz" || words_[2] != "IRQ")
      return false;
    sleeps_ = words_[3] == "RC6";
    above_ = true;
    return true;
  }

  bool take(const Line& line, Builder& out) override {
    if (!above_ && names_.empty()) return false;
    std::string_view t = line.text;
    const auto stamp = leading_stamp(t);
    split_blanks(trim(t), words_);
    if (above_) {
      above_ = false;
      if (words_.size() < 4 || words_[0] != "req" || words_[1] != "act") return false;
      names_.assign(words_.begin(), words_.end());
      return true;
    }
    const bool figures = !words_.empty() && std::ranges::all_of(words_, [](std::string_view w) {
      const auto n = number_of(w);
      return n && n->rest.empty() && std::isfinite(n->value);
    });
    if (!figures || (words_.size() != names_.size() && !line.unended)) return false;
    if (line.unended && (words_.size() != names_.size())) {
      out.defect(line.number, "truncated_line", "the last line is cut");
      out.skip("truncated last line");
      return true;
    }
    out.format("intel_gpu_top");
    out.note(kBusiest);
    out.begin_row(line.number);
    out.set_gpu("0");
    if (stamp) out.set_time(*stamp);
    double busiest = kMissing;
    bool asleep = sleeps_;
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const std::string& name = names_[i];
      if (name == "req") out.set_cell(canonical_field("requested_clock_hz"), words_[i]);
      if (name == "act") out.set_cell(canonical_field("clock_hz"), words_[i]);
      if (name == "gpu" || name == "W") out.set_cell(canonical_field("power_w"), words_[i]);
      if (name == "pkg") out.set_cell(canonical_field("package_power_w"), words_[i]);
      if (name != "%") continue;
      const double share = number_of(words_[i])->value / 100;
      if (asleep) {
        out.set(out.column("rc6_ratio", false), share);
        asleep = false;
      } else if (!(share < busiest)) {
        busiest = share;
      }
    }
    out.set(out.column("utilization", false), busiest);
    return true;
  }

 private:
  bool above_ = false;   ///< the line of the groups was seen, its names come next
  bool sleeps_ = false;  ///< the first share is that of sleep
  std::vector<std::string> names_;
  std::vector<std::string_view> words_;
};

std::optional<double> member(const Value* object, std::string_view name) {
  const Value* v = object == nullptr ? nullptr : object->find(name);
  if (v == nullptr) return std::nullopt;
  if (const auto* d = v->as_double()) return *d;
  if (const auto* i = v->as_int()) return static_cast<double>(*i);
  return std::nullopt;
}

// The factor of an object's "unit" into SI; of `usual` where it has none that is known.
double factor_of(const Value& object, std::string_view usual) {
  const Value* unit = object.find("unit");
  const auto* word = unit == nullptr ? nullptr : unit->as_string();
  auto known = word == nullptr ? std::nullopt : unit_of(*word);
  if (!known) known = unit_of(usual);
  return known ? known->multiply / known->divide : 1;
}

}  // namespace

bool intel_gpu_top_sample(const Value& v, std::uint64_t line, double& elapsed_s, Builder& out) {
  const Value* period = v.find("period");
  const Value* frequency = v.find("frequency");
  const Value* engines = v.find("engines");
  const auto duration = member(period, "duration");
  if (!duration || engines == nullptr || engines->as_object() == nullptr) return false;
  constexpr double kLongest = 1e9;  // s
  const double seconds = *duration * factor_of(*period, "ms");
  const bool sound = seconds >= 0 && elapsed_s + seconds < kLongest;
  out.format("intel_gpu_top");
  out.note(kBusiest);
  out.begin_row(line);
  out.set_gpu("0");
  if (sound) {
    elapsed_s += seconds;
    out.set_time({Stamp::Kind::kElapsed, static_cast<Nanos>(std::llround(elapsed_s * 1e9))});
  }
  const auto put = [&](const char* column, const Value* object, std::string_view name,
                       std::string_view unit) {
    const auto value = member(object, name);
    const double si = value ? *value * factor_of(*object, unit) : kMissing;
    if (std::isfinite(si)) out.set(out.column(column, false), si);
  };
  const Value* power = v.find("power");
  put("power_w", power, "GPU", "W");
  put("power_w", power, "value", "W");  // older versions know one power
  put("package_power_w", power, "Package", "W");
  put("clock_hz", frequency, "actual", "MHz");
  put("requested_clock_hz", frequency, "requested", "MHz");
  put("rc6_ratio", v.find("rc6"), "value", "%");
  double busiest = kMissing;
  for (const auto& [name, engine] : *engines->as_object()) {
    const auto busy = member(&engine, "busy");
    if (busy && std::isfinite(*busy) && !(*busy / 100 < busiest)) busiest = *busy / 100;
  }
  if (!is_missing(busiest)) out.set(out.column("utilization", false), busiest);
  return true;
}

std::unique_ptr<Reader> intel_gpu_top_reader() { return std::make_unique<IntelGpuTop>(); }

}  // namespace ergon::meter::logs
