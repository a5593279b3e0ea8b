// Device files: every built-in one is whole and plausible, and every kind of damage is refused with
// its field named.
#include <gtest/gtest.h>

#include <string>

#include "ergon/io.hpp"
#include "ergon/model.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::model {
namespace {

std::string a100() { return write_device(find_device("a100")->device); }

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  if (at != std::string::npos) text.replace(at, from.size(), to);
  return text;
}

/// The A100's file with one value replaced: `path` of keys, the last one gets the JSON text `value`
/// ("" removes it).
std::string with_field(const std::vector<std::string>& path, const std::string& value) {
  Value root = *io::parse_json(a100());
  Value* at = &root;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    Value* next = nullptr;
    for (auto& [k, v] : *at->as_object()) {
      if (k == path[i]) next = &v;
    }
    EXPECT_NE(next, nullptr) << path[i];
    at = next;
  }
  if (value.empty()) {
    std::erase_if(*at->as_object(), [&](const auto& m) { return m.first == path.back(); });
  } else {
    at->set(path.back(), *io::parse_json(value));
  }
  return io::to_json(root);
}

TEST(DeviceFile, AllBuiltInOnesReadWriteAndReadAgain) {
  ASSERT_EQ(built_in_devices().size(), 11U);
  for (const Device& d : built_in_devices()) {
    const std::string once = write_device(d);
    const auto again = read_device(once);
    ASSERT_TRUE(again.has_value()) << d.id << ": " << again.error().message;
    EXPECT_EQ(write_device(*again), once) << d.id;
    EXPECT_TRUE(d.unknown_fields.empty()) << d.id << ": " << d.unknown_fields.front();
  }
}

TEST(DeviceFile, AllBuiltInOnesAreFreeOfErrorsAndWarnings) {
  for (const Device& d : built_in_devices()) {
    for (const Finding& f : check_device(d)) {
      EXPECT_EQ(f.severity, Finding::Severity::kNote)
          << d.id << " " << f.field << ": " << f.message;
    }
  }
}

TEST(DeviceFile, EveryFigureSaysWhereItComesFrom) {
  for (const Device& d : built_in_devices()) {
    for (const NamedFigure& f : figures(d)) {
      if (f.figure == nullptr) continue;
      EXPECT_FALSE(d.cite(*f.figure).empty()) << d.id << " " << f.field;
      if (f.figure->estimate.origin == Origin::kAssumed) {
        EXPECT_LT(f.figure->estimate.low, f.figure->estimate.high) << d.id << " " << f.field;
      }
    }
  }
}

TEST(DeviceFile, PublishedFiguresOfTheA100) {
  const Device d = find_device("a100-sxm4-40gb")->device;
  EXPECT_DOUBLE_EQ(d.level_j[index(Level::kHbm)]->total.value(), 13.11e-12);
  EXPECT_DOUBLE_EQ(d.level_j[index(Level::kHbm)]->control->value(), 8.47e-12);
  EXPECT_DOUBLE_EQ(d.unit_j[index(Unit::kMatrixFp16)]->total.value(), 0.70e-12);
  EXPECT_EQ(d.unit_j[index(Unit::kMatrixFp16)]->total.estimate.origin, Origin::kPublished);
  EXPECT_EQ(d.sm_clocks.size(), 81U);  // 210, 225, ..., 1410 MHz
  EXPECT_EQ(d.max_clock(), Hertz(1410e6));
  EXPECT_FALSE(
      d.peak_flops[index(Unit::kMatrixFp8)].has_value());  // unknown to the chip: null, not 0
}

TEST(DeviceFile, TheV100ListsWholeMegahertz) {
  const Device d = find_device("v100")->device;
  EXPECT_EQ(d.sm_clocks.size(), 187U);
  EXPECT_TRUE(d.supports(Hertz(952e6)));
  EXPECT_TRUE(d.supports(Hertz(1380e6)));
  EXPECT_FALSE(d.supports(Hertz(950e6)));
  EXPECT_EQ(d.nearest_clock(Hertz(950e6)), Hertz(952e6));
  EXPECT_DOUBLE_EQ(d.behaviour.regime_break_hz->value(), 945e6);
}

struct Damage {
  std::vector<std::string> path;
  std::string value;
  std::string says;
};

TEST(DeviceFile, DamageIsRefusedWithItsField) {
  const std::vector<Damage> all = {
      {{"schema"}, "\"ergon.device-file/2\"", "schema: expected \"ergon.device-file/1\""},
      {{"schema"}, "", "schema: missing"},
      {{"vendor"}, "\"intel\"", "vendor: expected nvidia or amd"},
      {{"aliases"}, "[1]", "aliases: expected only texts"},
      {{"power_limit_w"}, "400", "power_limit_w: expected an object, found a number"},
      {{"power_limit_w", "value"},
       "\"400\"",
       "power_limit_w.value: expected a finite number, found text"},
      {{"power_limit_w", "origin"}, "\"guessed\"", "power_limit_w.origin: expected measured"},
      {{"power_limit_w", "source"}, "", "power_limit_w.source: missing: a published figure needs"},
      {{"power_limit_w", "source"}, "\"nowhere\"", "power_limit_w.source: \"nowhere\" is no key"},
      {{"peaks", "flops_per_s", "vector_fp32", "value"},
       "-1",
       "peaks.flops_per_s.vector_fp32: expected figures from"},
      {{"coefficients", "levels", "hbm", "j_per_bit", "high"},
       "1e-12",
       "coefficients.levels.hbm.j_per_bit: expected low <= value <= high"},
      {{"coefficients", "levels", "hbm", "control", "value"},
       "1e-12",
       "coefficients.levels.hbm: control and datapath make"},
      {{"coefficients", "units", "matrix_int8", "j_per_flop", "low"},
       "",
       "coefficients.units.matrix_int8.j_per_flop.low: missing"},
      {{"coefficients", "idle_w"}, "null", "coefficients.idle_w: expected an object, found null"},
      {{"sm_clocks", "values_hz"}, "[2e9, 1e9]", "sm_clocks: expected clocks in ascending order"},
      {{"sm_clocks", "values_hz"}, "[]", "sm_clocks: expected ranges or values_hz"},
      {{"sm_clocks", "values_hz"}, "[0]", "sm_clocks.values_hz: expected clocks above 0"},
      {{"sm_clocks", "ranges"},
       R"([{"from_hz": 1, "to_hz": 1e9, "step_hz": 1}])",
       "makes more than 4096 clocks"},
      {{"default_clock", "clock_hz"},
       "1.0e9",
       "default_clock.clock_hz: 1e+09 is not one of sm_clocks"},
      {{"default_memory_clock_hz"},
       "1",
       "default_memory_clock_hz: expected one of memory_clocks_hz"},
      {{"behaviour", "below_break_exponent", "low"},
       "0.5",
       "behaviour.below_break_exponent: expected figures from 1"},
      {{"behaviour", "voltage_knee_hz", "high"},
       "2e9",
       "behaviour.voltage_knee_hz: expected less than coefficients.clock_hz"},
      {{"switching", "latency"}, "[]", "switching.latency: expected one entry with target_hz null"},
  };
  for (const Damage& d : all) {
    const auto r = read_device(with_field(d.path, d.value));
    ASSERT_FALSE(r.has_value()) << d.says;
    EXPECT_EQ(r.error().code, Errc::kMalformedInput);
    EXPECT_NE(r.error().message.find(d.says), std::string::npos)
        << r.error().message << "\n wanted: " << d.says;
    EXPECT_FALSE(r.error().hint.empty());
  }
}

TEST(DeviceFile, NotJsonAndNotAnObject) {
  EXPECT_EQ(read_device("{").error().code, Errc::kMalformedInput);
  EXPECT_EQ(read_device("[]").error().code, Errc::kMalformedInput);
  EXPECT_EQ(read_device("").error().code, Errc::kMalformedInput);
}

TEST(DeviceFile, UnknownFieldsAreReadPastAndWarnedOf) {
  const auto r =
      read_device(with(a100(), "\"power_limit_w\"", "\"power_limt_w\": 3, \"power_limit_w\""));
  ASSERT_TRUE(r.has_value()) << r.error().message;
  ASSERT_EQ(r->unknown_fields, std::vector<std::string>{"power_limt_w"});
  EXPECT_EQ(check_device(*r).back().field, "power_limt_w");
}

TEST(DeviceCheck, ImplausibleFiguresAreFound) {
  const auto finds = [](const std::vector<std::string>& path, const std::string& value,
                        const std::string& field) {
    const auto d = read_device(with_field(path, value));
    EXPECT_TRUE(d.has_value()) << d.error().message;
    bool found = false;
    for (const Finding& f : check_device(*d)) {
      found = found || (f.severity == Finding::Severity::kError && f.field == field);
    }
    return found;
  };
  EXPECT_TRUE(finds({"power_limit_max_w"},
                    R"({"value": 300, "origin": "published", "source": "ds"})",
                    "power_limit_max_w"));
  EXPECT_TRUE(finds({"peaks", "bytes_per_s", "l2"},
                    R"({"value": 1e12, "origin": "published", "source": "ds"})",
                    "peaks.bytes_per_s.l2"));
  EXPECT_TRUE(finds({"coefficients", "idle_w"},
                    R"({"value": 300, "origin": "published", "source": "ds"})",
                    "coefficients.idle_w"));
  // A factor of ten in one coefficient: streaming would draw far more than the board may.
  EXPECT_TRUE(finds({"coefficients", "levels", "hbm"},
                    R"({"j_per_bit": {"value": 13.11e-11, "origin": "published", "source": "ds"},
                        "core_share": {"value": 0.8, "low": 0.6, "high": 1, "origin": "assumed", "why": "test"}})",
                    "coefficients.levels"));
  EXPECT_TRUE(finds({"coefficients", "units", "matrix_fp16"},
                    R"({"j_per_flop": {"value": 7e-12, "origin": "published", "source": "ds"},
                        "core_share": {"value": 1, "low": 0.9, "high": 1, "origin": "assumed", "why": "test"}})",
                    "coefficients.units.matrix_fp16"));
  EXPECT_FALSE(finds({"name"}, "\"x\"", "coefficients.levels"));
}

TEST(SwitchTime, TheNearestTargetWinsOverTheGeneralEntry) {
  Device d = find_device("a100")->device;
  EXPECT_DOUBLE_EQ(switch_time(d, Hertz(1005e6)).typical_s.value, 0.025);
  SwitchLatency special = d.switch_latency.front();
  special.target = Hertz(1005e6);
  special.typical_s.estimate.value = 0.011;
  d.switch_latency.push_back(special);
  EXPECT_DOUBLE_EQ(switch_time(d, Hertz(1020e6)).typical_s.value, 0.011);
  EXPECT_DOUBLE_EQ(switch_time(d, Hertz(1410e6)).typical_s.value, 0.025);
}

TEST(DeviceSchema, IsJson) {
  const auto v = io::parse_json(device_schema());
  ASSERT_TRUE(v.has_value());
  EXPECT_EQ(*v->find("$id")->as_string(), "ergon.device-file/1");
}

}  // namespace
}  // namespace ergon::model
// NOLINTEND(bugprone-unchecked-optional-access)
