// A whole Kineto file: what stands around `traceEvents`, and the events.
#pragma once
#include "ergon/trace.hpp"

namespace ergon::trace::kineto {

/// Reads the source to its end. kMalformedInput when it holds no Kineto events, saying what it
/// looks like instead.
Result<EventTable> read(io::ByteSource& source, const ReadOptions& options, ReadTimings& timings,
                        bool remember_shapes = true);

}  // namespace ergon::trace::kineto
