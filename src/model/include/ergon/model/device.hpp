// Device: what docs/formats/device.md says of one GPU type (file schema ergon.device-file/1), every
// figure with its origin.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/model/work.hpp"

namespace ergon::model {

/// One figure of a device file: an estimate in SI units, and where it comes from: the key of a
/// citation in Device::sources, and/or words (why it is assumed to lie in its interval). One of the
/// two is there.
struct Figure {
  Estimate estimate;
  std::string source;
  std::string why;
  [[nodiscard]] double value() const { return estimate.value; }
};
using MaybeFigure = std::optional<Figure>;  ///< nullopt: unknown (null in the file)

/// Joules per FLOP or per bit at Device::coefficient_clock, split into the zero-operand plane
/// (control) and the rest (datapath) where that is known. `core_share` is the part that follows the
/// core voltage; the rest stays as it is.
struct Coefficient {
  Figure total;
  MaybeFigure control;
  MaybeFigure datapath;
  Figure core_share;
};

/// How long a change of clock takes to hold, request to effect, at one target clock or (target
/// unset) any.
struct SwitchLatency {
  std::optional<Hertz> target;
  Figure typical_s;
  Figure worst_s;
};

/// How speed and energy answer to the SM clock. V(f)/V(reference) = floor + (1 - floor) x^exponent
/// with x = max(0, (f - knee) / (reference - knee)); the reference is Device::coefficient_clock. An
/// effective curve: it is fitted to power, no vendor publishes voltages.
struct ClockBehaviour {
  Figure voltage_knee_hz;
  Figure voltage_floor;
  Figure voltage_exponent;
  Figure memory_knee_hz;  ///< SM clock below which memory bandwidth falls in proportion to it
  Figure l2_core_share;   ///< share of L2 bandwidth that follows the SM clock
  MaybeFigure
      regime_break_hz;  ///< below it slowdown is worse than 1/f: nothing is extrapolated silently
  Figure below_break_exponent;  ///< below the break time grows as (break/f)^exponent at least; >= 1
};

struct Device {
  std::string id;                    ///< "a100-sxm4-80gb": the file's stem
  std::string name;                  ///< as people write it
  std::string vendor;                ///< "nvidia" or "amd"
  std::string architecture;          ///< "ampere"
  std::vector<std::string> aliases;  ///< further spellings that find this device
  std::vector<std::string> seen_as;  ///< names that drivers and traces give it
  /// Fields of the file that this version does not know (misspelt, or from a newer one): warnings
  /// of check_device().
  std::vector<std::string> unknown_fields;
  /// Citations by key: what was published, by whom, where.
  std::vector<std::pair<std::string, std::string>> sources;
  std::string note;  ///< what the reader should know, e.g. of a wide alias; may be empty

  std::vector<Hertz> sm_clocks;  ///< supported, ascending, at least one
  Origin sm_clocks_origin = Origin::kAssumed;
  std::string sm_clocks_source;  ///< key into sources; may be empty with sm_clocks_why
  std::string sm_clocks_why;
  std::vector<Hertz> memory_clocks;  ///< ascending, at least one
  Hertz default_clock;  ///< what it runs at when nothing is locked and nothing throttles
  Origin default_clock_origin = Origin::kAssumed;
  std::string default_clock_source;
  std::string default_clock_why;
  Hertz default_memory_clock;

  Figure power_limit_w;  ///< the default (TDP)
  MaybeFigure power_limit_min_w;
  MaybeFigure power_limit_max_w;
  MaybeFigure sm_count;
  MaybeFigure memory_bytes;

  Hertz peak_clock;                                 ///< the clock at which the peaks are stated
  std::array<MaybeFigure, kUnits> peak_flops = {};  ///< dense, FLOP/s (operations/s for integers)
  std::array<MaybeFigure, kLevels> bandwidth = {};  ///< bytes/s
  std::array<MaybeFigure, kUnits> reachable_flops_share = {};  ///< of the peak, by good kernels
  std::array<MaybeFigure, kLevels> reachable_bandwidth_share = {};

  Hertz coefficient_clock;  ///< the SM clock the coefficients were taken at
  std::array<std::optional<Coefficient>, kUnits> unit_j = {};    ///< J/FLOP
  std::array<std::optional<Coefficient>, kLevels> level_j = {};  ///< J/bit, incremental by level
  Figure idle_w;            ///< constant power at coefficient_clock: context alive, nothing runs
  Figure idle_clock_share;  ///< share of idle_w that follows V^2 f; the rest is there at any clock
  Figure active_w;  ///< further power while anything runs, at coefficient_clock; follows V^2 f

  ClockBehaviour behaviour;
  std::vector<SwitchLatency> switch_latency;  ///< at least one without target
  Figure switch_energy_j;  ///< of one change of clock, beyond the power of both clocks

  [[nodiscard]] Hertz min_clock() const { return sm_clocks.front(); }
  [[nodiscard]] Hertz max_clock() const { return sm_clocks.back(); }
  [[nodiscard]] bool supports(Hertz clock) const;
  [[nodiscard]] Hertz nearest_clock(Hertz clock) const;
  /// The citation of a figure, its `why`, or both.
  [[nodiscard]] std::string cite(const Figure& figure) const;
};

/// Reads and checks a device file. kMalformedInput names the field, what was found and what was
/// expected.
Result<Device> read_device(std::string_view json_text);
/// The same device as JSON text; read_device(write_device(d)) equals d.
std::string write_device(const Device& device);

/// Every figure of the file with its field ("coefficients.levels.hbm.j_per_bit") and SI unit, in
/// the order of the file; `figure` is nullptr where the file says unknown. Points into `device`.
struct NamedFigure {
  std::string field;
  std::string unit;
  const Figure* figure = nullptr;
};
std::vector<NamedFigure> figures(const Device& device);

/// What a plausible device file may still get wrong; `ergon device check`.
struct Finding {
  enum class Severity { kError, kWarning, kNote } severity = Severity::kWarning;
  std::string field;
  std::string message;
};
std::vector<Finding> check_device(const Device& device);

/// Typical and worst time of a change to `target`: the entry of the nearest target clock, else the
/// general one.
struct SwitchTime {
  Estimate typical_s;
  Estimate worst_s;
};
SwitchTime switch_time(const Device& device, Hertz target);

/// The text of data/schemas/device-file.schema.json (JSON Schema 2020-12).
std::string_view device_schema();

}  // namespace ergon::model
