// truth_check RUNFILE TRUTH: our energy of every phase that the simulator played, beside the true
// one. One JSON object a line: name, time_s, truth_j, energy_j, low_j, high_j, why.
#include <cmath>
#include <cstdio>

#include "ergon/io.hpp"
#include "ergon/run.hpp"

namespace {

using ergon::Nanos;
using ergon::Value;

constexpr double kGain95 = 0.003;  // of the simulator's boards, as `ergon measure` takes it

double number(const Value& object, const char* key) {
  const Value* found = object.find(key);
  ERGON_CHECK(found != nullptr, "the truth lacks a figure");
  if (const auto* i = found->as_int()) return static_cast<double>(*i);
  const auto* d = found->as_double();
  return d == nullptr ? NAN : *d;
}

ergon::Status check(const char* run_file, const char* truth_file) {
  ERGON_TRY(auto source, ergon::io::open_source(truth_file));
  ERGON_TRY(const auto text, ergon::io::read_all(*source));
  ERGON_TRY(const Value truth, ergon::io::parse_json(text));
  ERGON_TRY(auto file, ergon::meter::RunFile::open(run_file));
  ERGON_TRY(const auto devices, file.devices());
  const double epoch = number(*truth.find("time_base"), "minus_monotonic_s");
  for (const Value& gpu : *truth.find("gpus")->as_array()) {
    const std::string& id = *gpu.find("id")->as_string();
    ERGON_TRY(const auto series, file.samples(id));
    ergon::gpu::Identity who;
    for (const auto& device : devices) {
      if (device.id != id) continue;
      who.name = device.name;
      who.architecture = device.name.find("V100") != std::string::npos   ? "volta"
                         : device.name.find("H100") != std::string::npos ? "hopper"
                         : device.name.find("H200") != std::string::npos ? "hopper"
                                                                         : "ampere";
    }
    const auto sensor = ergon::run::sensor_of(series, who, std::nullopt);
    for (const Value& phase : *gpu.find("phases")->as_array()) {
      const auto at = [&](const char* key) {
        return static_cast<Nanos>(std::llround((number(phase, key) - epoch) * 1e9));
      };
      const ergon::meter::Window window{at("start_s"), at("end_s")};
      const auto result = ergon::run::result_of(series, sensor, window, std::nullopt, kGain95);
      const auto& e = result.energy.energy_j;
      Value line = Value::object();
      line.set("name", *phase.find("name")->as_string())
          .set("time_s", window.length().si())
          .set("truth_j", number(phase, "energy_j"))
          .set("energy_j", e ? Value(e->value) : Value())
          .set("low_j", e ? Value(e->low) : Value())
          .set("high_j", e ? Value(e->high) : Value())
          .set("counter_j", result.energy.counter.energy_j
                                ? Value(result.energy.counter.energy_j->value)
                                : Value())
          .set("chosen", result.energy.chosen)
          .set("why", result.energy.why_unknown);
      std::printf("%s\n", ergon::io::to_json(line, 0).c_str());
    }
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto status = check(argv[1], argv[2]);
  if (!status) std::fprintf(stderr, "error: %s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
