// Flow arrows between calls and GPU work, for traces whose arguments hold no correlation ids.
#pragma once
#include <cstdint>
#include <vector>

#include "event.hpp"

namespace ergon::trace::kineto {

/// One end of an arrow. Kineto draws it from the call to the GPU work; its id is their correlation.
struct Flow {
  std::int64_t id = 0;
  std::int64_t process = -1;  ///< of GPU work the device, as Kineto files it
  std::int64_t thread = -1;   ///< likewise the stream
  Nanos time = 0;
  bool at_work = false;  ///< the end at the GPU work
};

/// An arrow that can stand for a correlation: from forward to backward operators none does.
inline bool may_join(const RawEvent& event) {
  return (event.phase == 's' || event.phase == 'f') && event.category != kForwardBackward &&
         event.usable(Field::kFlowId) && event.usable(Field::kStart);
}
/// Rows that arrows join.
constexpr bool can_be_joined(EventKind kind) {
  return kind == EventKind::kApi || kind == EventKind::kKernel || kind == EventKind::kCopy ||
         kind == EventKind::kMemset;
}

/// Gives the rows at both ends of the arrows their ids as correlation: the row that starts then,
/// else the innermost around it. How many ends found their row.
std::uint64_t join_by_flows(EventTable& table, std::vector<Flow> flows);

}  // namespace ergon::trace::kineto
