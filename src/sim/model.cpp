// The boards. "pub": published; every other figure is assumed, chosen so that totals meet published
// ones.
//
// Sources. Clocks, limits, memory: the data sheets and nvidia-smi listings that data/devices/*.json
// cite. Sensors: Yang, Adamek, Armour, SC'24 (V100 20/10 ms, A100 100/25 ms, H100 instant 100/25 ms
// and average 1 s); NVML documentation (power usage is a 1 s average on Ampere, except GA100, and
// later). Energy counter: 98 to 100 ms on L4 (jmsargent), about 10 to 20 ms on older boards (pynvml
// pull request 18). Idle power: A100 54 W (SC'25), H100 69 W at 345 MHz and 41 °C
// (nvidia_gpu_exporter capture), V100 about 40 W. Memory path: A100 13.1 pJ/bit (SC'25, Table 3)
// at 1.36 TB/s is 143 W. Knees of the voltage: near the optima that public sweeps show (V100 952 of
// 1530 MHz: EuroSys'24 data set; A100 about 1005 MHz: UCL data set), not equal to what the
// planner's device files assume.
#include "ergon/sim/model.hpp"

#include <array>
#include <cmath>

namespace ergon::sim {
namespace {

constexpr double kGib = 1073741824.0;
constexpr std::uint32_t kNvidia = 0x10DE;
constexpr std::uint32_t pci(std::uint32_t device) { return (device << 16) | kNvidia; }
constexpr std::uint64_t gib(double count) { return static_cast<std::uint64_t>(count * kGib); }

Model v100() {
  Model m;
  m.key = "v100";
  m.identity = {"Tesla V100-SXM2-32GB", false, 5, 7, 0, pci(0x1DB5), 5120, gib(32), false};
  m.clocks = {135, 1530, 7.5, 1530, 1530, 135, {877}, 877, false, 0.015, 0.045};
  m.power = {.constant = 17,
             .dram = 9,
             .leakage = 28,
             .leakage_per_k = 0.011,
             .tree = 30,
             .tree_idle = 0.25,
             .compute = 170,
             .memory = 78,
             .knee_mhz = 915,
             .floor = 0.72,
             .exponent = 1.3,
             .bandwidth_knee_mhz = 815,
             .limit_default = 300,
             .limit_min = 150,
             .limit_max = 300};
  m.thermal = {26, 0.12, 22, 83};
  m.instant = {true, 0.02, 0.01};
  m.average = {false, 0, 0};
  m.counter_period_s = 0.02;
  return m;
}

Model a100() {
  Model m;
  m.key = "a100";
  m.identity = {"NVIDIA A100-SXM4-40GB", false, 7, 8, 0, pci(0x20B0), 6912, gib(40), false};
  m.clocks = {210, 1410, 15, 1410, 1410, 210, {1215}, 1215, true, 0.006, 0.028};
  m.power = {.constant = 24,
             .dram = 16,
             .leakage = 24,
             .leakage_per_k = 0.010,
             .tree = 26,
             .tree_idle = 0.3,
             .compute = 225,
             .memory = 128,
             .knee_mhz = 985,
             .floor = 0.71,
             .exponent = 1.5,
             .bandwidth_knee_mhz = 880,
             .limit_default = 400,
             .limit_min = 100,
             .limit_max = 400};
  m.thermal = {26, 0.105, 20, 88};
  m.instant = {true, 0.1, 0.025};
  m.average = {false, 0, 0};
  return m;
}

Model hopper(const char* key, const char* name, std::uint32_t device, double memory_gib,
             double memory_mhz) {
  Model m;
  m.key = key;
  m.identity = {name, false, 9, 9, 0, pci(device), 16896, gib(memory_gib), false};
  m.clocks = {345, 1980, 15, 1980, 1980, 345, {memory_mhz, 1593}, memory_mhz, true, 0.010, 0.090};
  m.power = {.constant = 28,
             .dram = 24,
             .leakage = 40,
             .leakage_per_k = 0.010,
             .tree = 48,
             .tree_idle = 0.3,
             .compute = 430,
             .memory = 205,
             .knee_mhz = 1240,
             .floor = 0.68,
             .exponent = 1.45,
             .bandwidth_knee_mhz = 1120,
             .limit_default = 700,
             .limit_min = 200,
             .limit_max = 700};
  m.thermal = {29, 0.065, 18, 87};
  m.instant = {true, 0.1, 0.025};
  m.average = {true, 0.1, 1.0};
  m.usage_is_average = true;
  m.memory_power = true;
  return m;
}

Model l4() {
  Model m;
  m.key = "l4";
  m.identity = {"NVIDIA L4", false, 8, 8, 9, pci(0x27B8), 7424, gib(22.5), false};
  m.clocks = {210, 2040, 15, 2040, 2040, 210, {6251, 405}, 405, true, 0.020, 0.060};
  m.power = {.constant = 7.5,
             .dram = 5,
             .leakage = 4.5,
             .leakage_per_k = 0.012,
             .tree = 8,
             .tree_idle = 0.2,
             .compute = 56,
             .memory = 19,
             .knee_mhz = 1130,
             .floor = 0.76,
             .exponent = 1.25,
             .bandwidth_knee_mhz = 720,
             .limit_default = 72,
             .limit_min = 40,
             .limit_max = 72};
  m.thermal = {30, 0.6, 30, 88};
  m.instant = {true, 0.1, 0.1};
  m.average = {true, 0.1, 1.0};
  m.usage_is_average = true;
  m.counter_period_s = 0.099;
  return m;
}

Model rtx4090() {
  Model m;
  m.key = "rtx4090";
  m.identity = {"NVIDIA GeForce RTX 4090", false, 8, 8, 9, pci(0x2684), 16384, gib(24), true};
  m.clocks = {210, 3105, 15,    2730, 2760, 210, {10501, 10251, 5001, 810, 405},
              405, true, 0.005, 0.020};
  m.power = {.constant = 16,
             .dram = 20,
             .leakage = 34,
             .leakage_per_k = 0.010,
             .tree = 42,
             .tree_idle = 0.1,
             .compute = 300,
             .memory = 85,
             .knee_mhz = 1710,
             .floor = 0.83,
             .exponent = 1.35,
             .bandwidth_knee_mhz = 1480,
             .limit_default = 450,
             .limit_min = 150,
             .limit_max = 600};
  m.thermal = {28, 0.11, 35, 84};
  m.instant = {true, 0.1, 0.1};
  m.average = {true, 0.1, 1.0};
  m.usage_is_average = true;
  return m;
}

Model mi300x() {
  Model m;
  m.key = "mi300x";
  m.identity = {"AMD Instinct MI300X", true, 0, 9, 4, 0x74A11002, 19456, gib(192), false};
  m.clocks = {500, 2100, 25, 2100, 2100, 500, {1300}, 1300, false, 0.002, 0.030};
  m.power = {.constant = 78,
             .dram = 38,
             .leakage = 58,
             .leakage_per_k = 0.009,
             .tree = 70,
             .tree_idle = 0.15,
             .compute = 430,
             .memory = 190,
             .knee_mhz = 1310,
             .floor = 0.71,
             .exponent = 1.4,
             .bandwidth_knee_mhz = 1190,
             .limit_default = 750,
             .limit_min = 200,
             .limit_max = 750};
  m.thermal = {30, 0.055, 18, 100};
  m.instant = {true, 0.001, 0.005};
  m.average = {true, 0.001, 0.1};
  m.counter_period_s = 0.001;
  m.calls = {0.004, 0.004};
  return m;
}

const std::array<Model, 7>& models() {
  static const std::array<Model, 7> all = {
      v100(),
      a100(),
      hopper("h100", "NVIDIA H100 80GB HBM3", 0x2330, 80, 2619),
      hopper("h200", "NVIDIA H200", 0x2335, 141, 3201),
      l4(),
      rtx4090(),
      mi300x()};
  return all;
}

}  // namespace

const Model* find_model(std::string_view key) {
  for (const Model& model : models()) {
    if (key == model.key) return &model;
  }
  return nullptr;
}

std::vector<std::string_view> model_keys() {
  std::vector<std::string_view> keys;
  keys.reserve(models().size());
  for (const Model& model : models()) keys.emplace_back(model.key);
  return keys;
}

std::vector<double> supported_clocks(const Model& model) {
  std::vector<double> clocks;
  const ClockSpec& spec = model.clocks;
  for (int k = 0;; ++k) {
    const double mhz = std::floor(spec.sm_min + k * spec.sm_step);
    if (mhz > spec.sm_max) return clocks;
    clocks.push_back(mhz);
  }
}

double supported_at_most(const Model& model, double mhz) {
  const ClockSpec& spec = model.clocks;
  const double limited = std::fmin(mhz, spec.sm_max);
  if (limited <= spec.sm_min) return spec.sm_min;
  double k = std::floor((limited - spec.sm_min) / spec.sm_step);
  // The grid is rounded down, so the next step may still lie at or below what is asked.
  if (std::floor(spec.sm_min + (k + 1) * spec.sm_step) <= limited) ++k;
  return std::floor(spec.sm_min + k * spec.sm_step);
}

}  // namespace ergon::sim
