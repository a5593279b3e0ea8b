// Words and exit codes of the base types, and the end of the program when it finds a bug in itself.
#include "ergon/base.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace ergon {

const char* to_string(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
      return "invalid_argument";
    case Errc::kNotFound:
      return "not_found";
    case Errc::kMalformedInput:
      return "malformed_input";
    case Errc::kIo:
      return "io";
    case Errc::kUnsupported:
      return "unsupported";
    case Errc::kPermission:
      return "permission";
    case Errc::kDevice:
      return "device";
    case Errc::kInfeasible:
      return "infeasible";
  }
  return "unknown";
}

int exit_code(Errc code) {
  switch (code) {
    case Errc::kInvalidArgument:
    case Errc::kNotFound:
      return 2;
    case Errc::kMalformedInput:
    case Errc::kIo:
      return 3;
    case Errc::kUnsupported:
    case Errc::kPermission:
    case Errc::kDevice:
      return 4;
    case Errc::kInfeasible:
      return 5;
  }
  return 70;
}

namespace {
constexpr std::array kOrigins = {
    std::pair{Origin::kMeasured, "measured"},   std::pair{Origin::kFitted, "fitted"},
    std::pair{Origin::kPublished, "published"}, std::pair{Origin::kModelled, "modelled"},
    std::pair{Origin::kSimulated, "simulated"}, std::pair{Origin::kAssumed, "assumed"},
    std::pair{Origin::kMixed, "mixed"}};
}  // namespace

const char* to_string(Origin origin) {
  for (const auto& [value, word] : kOrigins) {
    if (value == origin) return word;
  }
  return "unknown";
}

std::optional<Origin> origin_from(const std::string& word) {
  for (const auto& [value, name] : kOrigins) {
    if (word == name) return value;
  }
  return std::nullopt;
}

void check_failed(const char* file, int line, const char* condition, const char* message) {
  std::fprintf(stderr, "ergon: bug: %s (%s) at %s:%d\n", message, condition, file, line);
  std::abort();
}

Value& Value::set(std::string_view key, Value value) {
  if (is_null()) data_ = Object{};
  auto* members = as_object();
  ERGON_CHECK(members != nullptr, "set() on a value that is no object");
  for (auto& [name, member] : *members) {
    if (name == key) {
      member = std::move(value);
      return *this;
    }
  }
  members->emplace_back(std::string(key), std::move(value));
  return *this;
}

Value& Value::push(Value value) {
  if (is_null()) data_ = Array{};
  auto* items = as_array();
  ERGON_CHECK(items != nullptr, "push() on a value that is no array");
  items->push_back(std::move(value));
  return *this;
}

const Value* Value::find(std::string_view key) const {
  if (const auto* members = as_object()) {
    for (const auto& [name, member] : *members) {
      if (name == key) return &member;
    }
  }
  return nullptr;
}

}  // namespace ergon
