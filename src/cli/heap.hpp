// How the process gets its memory from the system.
#pragma once

namespace ergon::cli {

/// Asks for large pages for the first part of the heap, and keeps what is freed: a command that
/// runs for a tenth of a second would else spend much of it on page faults. To be called first in
/// main(). Does nothing where the system has no such thing.
void prepare_heap();

}  // namespace ergon::cli
