// What a column is, told from its name and its cells.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "cells.hpp"

namespace ergon::study {

enum class Role : std::uint8_t {
  kNone,
  kClock,
  kAchieved,
  kAchievedLow,
  kAchievedHigh,
  kMemoryClock,
  kMemoryAchieved,
  kMemoryLow,
  kMemoryHigh,
  kPowerLimit,
  kTime,
  kPower,
  kEnergy,
  kEnergyLow,  ///< ends of the 95 % interval of the energy
  kEnergyHigh,
  kRate,
  kCheck,  ///< work per energy, as stated
  kTemperature,
  kUtilization,
  kGood,      ///< boolean: the row is to be believed
  kThrottle,  ///< masks or booleans
  kReason,    ///< why a row is not valid
  kRun,
  kBaseline,  ///< boolean: the data calls the row its baseline
  kStart,
  kWorkload,
  kArgument,  ///< belongs to the workload's name where it varies
  kFactor,
  kSetting,   ///< text with a power limit or a clock in it
  kUnitName,  ///< unit of the rate
};

/// The unit of a word: dimension and scale to SI.
enum class Dim : std::uint8_t { kNone, kTime, kPower, kEnergy, kClock, kShare, kTemperature };
struct Unit {
  Dim dim = Dim::kNone;
  double scale = 1;
};
/// kNone for words that are no unit. `word` keeps its case: "MJ" is no "mJ".
Unit unit_of(std::string_view word);

/// What the name of a column says.
struct Sense {
  Role role = Role::kNone;
  double score = 0;    ///< of several columns with one role the highest wins
  Unit unit = {};      ///< as the name says
  std::string factor;  ///< of kFactor
  std::string per;     ///< "token": figures are per this
  std::string counts;  ///< unit of work of a rate: "tokens"
  bool mega = false;   ///< the unit is written MW or MJ: milli, unless the figures say mega
  int index = -1;      ///< "gpu1_energy" has 1: such columns add up
};
Sense sense_of(std::string_view name);
/// The words of a figure's name that say what it is of ("gemm" of "gemm_time_ms"); the others go to
/// `measure` ("time_ms").
std::string label_of(std::string_view name, std::string& measure);
/// For the roles of `--map`; kNone for a word that is no role (a factor).
Role role_named(std::string_view word);

}  // namespace ergon::study
