// The one way in which a recoverable failure travels.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace ergon {

enum class Errc {
  kInvalidArgument,  ///< the caller asked for something that does not exist or has no unit: exit 2
  kNotFound,        ///< a file or a name that is not there: exit 2 for names, 3 for files (see kIo)
  kMalformedInput,  ///< a file that cannot be used: exit 3
  kIo,              ///< a file that cannot be read or written: exit 3
  kUnsupported,     ///< this device or build cannot do it: exit 4
  kPermission,      ///< exit 4
  kDevice,          ///< exit 4
  kInfeasible,      ///< no plan meets the bound: exit 5
};

/// What failed, with the value that failed; why; and what to do next.
struct Error {
  Errc code = Errc::kInvalidArgument;
  std::string message;
  std::string hint;
  std::optional<std::uint64_t> offset =
      std::nullopt;                                  ///< byte offset into the (uncompressed) input
  std::optional<std::uint64_t> line = std::nullopt;  ///< 1-based line of the input
  /// Further figures of the answer, e.g. {"nearest.time_s", 0.012}.
  std::vector<std::pair<std::string, double>> figures = {};
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}
[[nodiscard]] inline tl::unexpected<Error> fail(Errc code, std::string message,
                                                std::string hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint)});
}

/// "malformed_input" and so on: the `code` of the error JSON.
const char* to_string(Errc code);
/// The process exit code that this kind of error asks for (2 to 5).
int exit_code(Errc code);

}  // namespace ergon

// NOLINTBEGIN(bugprone-macro-parentheses): `declaration` is a declaration, which parentheses would
// break.
#define ERGON_CONCAT_IMPL(a, b) a##b
#define ERGON_CONCAT(a, b) ERGON_CONCAT_IMPL(a, b)
#define ERGON_TRY_IMPL(tmp, declaration, expression)                         \
  auto tmp = (expression);                                                   \
  if (!tmp) return ::tl::unexpected<::ergon::Error>(std::move(tmp).error()); \
  declaration = *std::move(tmp)
/// ERGON_TRY(auto x, f()); binds the value of f(), or returns its error from the enclosing
/// function.
#define ERGON_TRY(declaration, expression) \
  ERGON_TRY_IMPL(ERGON_CONCAT(ergon_try_, __COUNTER__), declaration, expression)
/// ERGON_TRY_STATUS(f()); returns the error of f(), if any.
#define ERGON_TRY_STATUS(expression)                                                             \
  do {                                                                                           \
    auto ergon_status = (expression);                                                            \
    if (!ergon_status) return ::tl::unexpected<::ergon::Error>(std::move(ergon_status).error()); \
  } while (false)
// NOLINTEND(bugprone-macro-parentheses)
