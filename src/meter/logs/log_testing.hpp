// Logs as text in tests.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "ergon/meter/log.hpp"

namespace ergon::meter {

inline Result<PowerLog> read(std::string_view text) {
  const auto source = io::memory_source(text);
  return read_log(*source);
}

inline PowerLog good(std::string_view text) {
  auto log = read(text);
  EXPECT_TRUE(log) << log.error().message;
  return log ? std::move(*log) : PowerLog{};
}

inline double at(const PowerLog& log, std::string_view column, std::size_t row) {
  const LogColumn* c = log.find(column);
  EXPECT_NE(c, nullptr) << column << " in " << to_csv(log);
  return c == nullptr || c->text || row >= c->numbers.size() ? kMissing : c->numbers[row];
}

inline std::uint64_t missing(const PowerLog& log, std::string_view column) {
  std::uint64_t count = 0;
  for (const double v : log.find(column)->numbers) count += is_missing(v) ? 1 : 0;
  return count;
}

inline std::string refusal(std::string_view text) {
  const auto log = read(text);
  EXPECT_FALSE(log) << "read: " << (log ? to_csv(*log) : "");
  return log ? std::string() : log.error().message;
}

inline std::uint64_t defects(const PowerLog& log, const std::string& kind) {
  const auto found = log.defect_counts.find(kind);
  return found == log.defect_counts.end() ? 0 : found->second;
}

inline bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace ergon::meter
