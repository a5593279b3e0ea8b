// Figures that may be unknown, as JSON: null, never 0.
#pragma once
#include <optional>
#include <string>

#include "ergon/base.hpp"

namespace ergon::cli {

/// Columns of a table, and of the sentences above it, where there is no terminal.
inline constexpr int kTextWidth = 100;

inline Value or_null(const std::optional<double>& value) { return value ? Value(*value) : Value(); }
inline Value or_null(const std::optional<Estimate>& e) { return e ? Value(e->value) : Value(); }
inline Value interval_or_null(const std::optional<Estimate>& e) {
  if (!e) return {};
  return Value::array().push(e->low).push(e->high);
}
/// Sets `key` and `key`_ci95.
inline void set_estimate(Value& out, const std::string& key, const std::optional<Estimate>& e) {
  out.set(key, or_null(e)).set(key + "_ci95", interval_or_null(e));
}

}  // namespace ergon::cli
