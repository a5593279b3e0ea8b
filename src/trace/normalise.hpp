// The canonical order of a table: what was read in any order becomes the same table.
#pragma once
#include "ergon/trace.hpp"

namespace ergon::trace {

/// Orders tracks by content and joins equal ones; orders events by (track, start, longer first,
/// content); numbers strings by first use; moves time 0 to the first event. `clock_ns` is time 0 of
/// the recorded starts on the trace's clock.
void normalise(EventTable& table, Nanos clock_ns);

}  // namespace ergon::trace
