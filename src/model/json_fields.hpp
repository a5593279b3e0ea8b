// Reads fields of a JSON object with the path in every error: "peaks.flops.matrix_fp16.low:
// expected a number, found text".
#pragma once
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::model {

/// "null", "a number", ...
inline const char* kind_of(const Value& value) {
  if (value.is_null()) return "null";
  if (value.as_bool() != nullptr) return "true or false";
  if (value.as_int() != nullptr || value.as_double() != nullptr) return "a number";
  if (value.as_string() != nullptr) return "text";
  return value.as_array() != nullptr ? "a list" : "an object";
}

/// One object of the file and where it stands. Remembers which members were asked for, so that the
/// others can be told.
class Fields {
 public:
  Fields(const Value& object, std::string path, std::vector<std::string>* unknown)
      : object_(&object), path_(std::move(path)), unknown_(unknown) {}

  [[nodiscard]] std::string path(std::string_view key) const {
    return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  }
  [[nodiscard]] const std::string& here() const { return path_; }

  static tl::unexpected<Error> wrong(const std::string& where, const std::string& what) {
    return fail(Errc::kMalformedInput, where + ": " + what,
                "the fields of a device file are listed by: ergon schema device-file");
  }

  /// nullptr where the member is absent.
  const Value* find(std::string_view key) {
    seen_.emplace_back(key);
    return object_->find(key);
  }
  Result<const Value*> need(std::string_view key) {
    const Value* v = find(key);
    if (v == nullptr) return wrong(path(key), "missing");
    return v;
  }
  Result<double> number(std::string_view key) {
    ERGON_TRY(const Value* v, need(key));
    return as_number(*v, path(key));
  }
  static Result<double> as_number(const Value& v, const std::string& where) {
    double x = std::nan("");
    if (const auto* i = v.as_int()) x = static_cast<double>(*i);
    if (const auto* d = v.as_double()) x = *d;
    if (!std::isfinite(x)) {
      return wrong(where, std::string("expected a finite number, found ") + kind_of(v));
    }
    return x;
  }
  Result<double> positive(std::string_view key) {
    ERGON_TRY(const double x, number(key));
    if (x <= 0) return wrong(path(key), "expected a number above 0, found " + text_of(x));
    return x;
  }
  Result<std::string> text(std::string_view key) {
    ERGON_TRY(const Value* v, need(key));
    if (const auto* s = v->as_string()) return *s;
    return wrong(path(key), std::string("expected text, found ") + kind_of(*v));
  }
  Result<std::string> text_or(std::string_view key, std::string otherwise) {
    const Value* v = find(key);
    if (v == nullptr || v->is_null()) return otherwise;
    if (const auto* s = v->as_string()) return *s;
    return wrong(path(key), std::string("expected text, found ") + kind_of(*v));
  }
  Result<std::vector<std::string>> texts(std::string_view key) {
    std::vector<std::string> out;
    const Value* v = find(key);
    if (v == nullptr) return out;
    const auto* items = v->as_array();
    if (items == nullptr)
      return wrong(path(key), std::string("expected a list of texts, found ") + kind_of(*v));
    for (const Value& item : *items) {
      const auto* s = item.as_string();
      if (s == nullptr)
        return wrong(path(key),
                     std::string("expected only texts in the list, found ") + kind_of(item));
      out.push_back(*s);
    }
    return out;
  }
  Result<Fields> object(std::string_view key) {
    ERGON_TRY(const Value* v, need(key));
    return as_object(*v, path(key));
  }
  Result<Fields> as_object(const Value& v, std::string where) const {
    if (v.as_object() == nullptr)
      return wrong(where, std::string("expected an object, found ") + kind_of(v));
    return Fields(v, std::move(where), unknown_);
  }
  /// Names the members nobody asked for.
  void finish() {
    for (const auto& [name, member] : *object_->as_object()) {
      bool known = false;
      for (const auto& s : seen_) known = known || s == name;
      if (!known && unknown_ != nullptr) unknown_->push_back(path(name));
    }
  }
  static std::string text_of(double x);

 private:
  const Value* object_;
  std::string path_;
  std::vector<std::string>* unknown_;
  std::vector<std::string> seen_;
};

}  // namespace ergon::model
