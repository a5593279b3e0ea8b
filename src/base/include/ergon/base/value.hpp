// A JSON-like tree with ordered members: what an answer is made of before report/ renders it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ergon {

/// Null, bool, integer, double, string, array or object. Objects keep the order of insertion. NaN
/// and infinity are written as null: unknown is never 0.
class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;

  Value() = default;
  Value(std::nullptr_t) {}                       // NOLINT(google-explicit-constructor)
  Value(bool v) : data_(v) {}                    // NOLINT(google-explicit-constructor)
  Value(std::int64_t v) : data_(v) {}            // NOLINT(google-explicit-constructor)
  Value(int v) : data_(std::int64_t{v}) {}       // NOLINT(google-explicit-constructor)
  Value(unsigned v) : data_(std::int64_t{v}) {}  // NOLINT(google-explicit-constructor)
  Value(std::uint64_t v)
      : data_(static_cast<std::int64_t>(v)) {}          // NOLINT(google-explicit-constructor)
  Value(double v) : data_(v) {}                         // NOLINT(google-explicit-constructor)
  Value(std::string v) : data_(std::move(v)) {}         // NOLINT(google-explicit-constructor)
  Value(std::string_view v) : data_(std::string(v)) {}  // NOLINT(google-explicit-constructor)
  Value(const char* v) : data_(std::string(v)) {}       // NOLINT(google-explicit-constructor)
  Value(Array v) : data_(std::move(v)) {}               // NOLINT(google-explicit-constructor)
  Value(Object v) : data_(std::move(v)) {}              // NOLINT(google-explicit-constructor)

  static Value array() { return Value(Array{}); }
  static Value object() { return Value(Object{}); }

  [[nodiscard]] bool is_null() const { return std::holds_alternative<std::monostate>(data_); }
  [[nodiscard]] const bool* as_bool() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const std::int64_t* as_int() const { return std::get_if<std::int64_t>(&data_); }
  [[nodiscard]] const double* as_double() const { return std::get_if<double>(&data_); }
  [[nodiscard]] const std::string* as_string() const { return std::get_if<std::string>(&data_); }
  [[nodiscard]] const Array* as_array() const { return std::get_if<Array>(&data_); }
  [[nodiscard]] const Object* as_object() const { return std::get_if<Object>(&data_); }
  [[nodiscard]] Array* as_array() { return std::get_if<Array>(&data_); }
  [[nodiscard]] Object* as_object() { return std::get_if<Object>(&data_); }

  /// Sets a member of an object (replacing one of that name); a null value becomes an object first.
  Value& set(std::string_view key, Value value);
  /// Appends to an array; a null value becomes an array first.
  Value& push(Value value);
  /// The member of that name, or nullptr.
  [[nodiscard]] const Value* find(std::string_view key) const;

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> data_;
};

/// One column of a table shown to people; the unit stands in the header.
struct Column {
  std::string title;
  std::string unit = {};
  bool numeric = true;
  int significant = 4;  ///< significant digits shown for doubles
  bool whole = false;   ///< text that is never shortened, such as a citation
  bool wrap = false;  ///< text that goes on in further lines where it doesn't fit, such as evidence
};

/// A table of an answer: rows as long as `columns`; `note` says what was left out, `hint` which
/// flag shows it (not said on a page, which takes no flags).
struct Table {
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Value>> rows;
  std::string note = {};
  std::string hint = {};
  int width = 0;  ///< of its lines where there is no terminal; 0: as wide as they are
};

/// What a command found, ready for every renderer of report/.
struct Answer {
  std::string command;                  ///< "graph": the schema is "ergon.graph/1"
  std::string headline;                 ///< the answer in one sentence
  std::vector<std::string> lines = {};  ///< a few further sentences, one a line
  std::vector<Table> tables = {};
  Value data = Value::object();  ///< the JSON document, without schema, version and inputs
  /// The whole CSV of an answer whose tables are for reading; empty: the tables are the CSV.
  std::string csv = {};
  Value page = Value::object();  ///< what only the HTML page shows (timeline, frontier, ...)
};

}  // namespace ergon
