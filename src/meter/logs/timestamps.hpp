// Timestamps as loggers write them.
#pragma once
#include <optional>
#include <string_view>

#include "ergon/base.hpp"

namespace ergon::meter::logs {

/// What a timestamp says: an instant in UTC, a wall-clock time of an unknown zone, a time of the
/// day without a date, or a time from some start.
struct Stamp {
  enum class Kind { kUtc, kLocal, kDay, kHour, kElapsed };
  Kind kind = Kind::kLocal;
  Nanos ns = 0;  ///< since 1970 (kUtc, kLocal), since midnight, since the hour, or since the start
};

/// "2023/07/30 17:28:02.589", ISO 8601 with or without a zone, "30.07.2023 17:28:02,589",
/// "07/30/2023 5:28:02 PM", "20230730 17:28:02", "Fri Jul  4 19:19:44 2025", "21:44:55:845",
/// "28:02.6" (what spreadsheets leave of a time). nullopt: none of these.
std::optional<Stamp> wall_time(std::string_view text);

/// A stamp before what another tool printed ("2024-05-01T12:00:00.1 GPU 0 ...", "[...] ...", what
/// `ts` puts there): taken off `text`, which stays as it is where there is none.
std::optional<Stamp> leading_stamp(std::string_view& text);

/// A bare number as a time: with a unit (`seconds_each`, e.g. 1e-6) that unit; without one, epoch
/// seconds, milliseconds, microseconds or nanoseconds by size, else elapsed seconds.
std::optional<Stamp> number_time(std::string_view text, std::optional<double> seconds_each,
                                 bool decimal_comma = false);

/// "2026-03-24T20:16:48.136253Z": as many decimals as the nanoseconds need.
std::string utc_text(Nanos ns);
/// "12.345": seconds without superfluous zeros.
std::string seconds_of(Nanos ns);
void put_seconds(std::string& out, Nanos ns);
void put_utc(std::string& out, Nanos ns);

}  // namespace ergon::meter::logs
