// Bugs stop the program, in release builds too.
#pragma once

namespace ergon {
/// Prints file, line and message on stderr and aborts.
[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* message);
}  // namespace ergon

/// ERGON_CHECK(condition, "what is broken"): for what only a bug in this program can cause.
#define ERGON_CHECK(condition, message)                \
  (static_cast<bool>(condition) ? static_cast<void>(0) \
                                : ::ergon::check_failed(__FILE__, __LINE__, #condition, message))
