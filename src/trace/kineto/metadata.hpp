// The members of the file around `traceEvents` that a table keeps.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ergon/trace.hpp"

namespace ergon::trace::kineto {

/// True for members whose value add() wants.
bool is_metadata(std::string_view key);

class Metadata {
 public:
  explicit Metadata(EventTable& table) : table_(table) {}
  /// Takes the JSON text of a member; false where it is no JSON.
  bool add(std::string_view key, std::string_view json);
  /// Time 0 of the events' `ts` on the trace's clock (baseTimeNanoseconds).
  [[nodiscard]] Nanos clock_ns() const { return clock_ns_; }
  /// Writes the version words into the table.
  void finish();

 private:
  void add_devices(const Value& value);
  void add_distributed(const Value& value);

  EventTable& table_;
  Nanos clock_ns_ = 0;
  std::vector<std::pair<std::string, std::string>> versions_;
};

/// What a file that is no Kineto trace looks like, from its first bytes; and what to do. Never
/// empty.
struct Looks {
  std::string what;
  std::string hint;
};
Looks looks_of_bytes(std::string_view head);
/// The same from the members of its outermost object.
Looks looks_of_members(const std::vector<std::string>& members, std::string_view schema);

}  // namespace ergon::trace::kineto
