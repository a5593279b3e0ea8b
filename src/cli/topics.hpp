// The short pages of `ergon explain`.
#pragma once
#include <span>
#include <string_view>

namespace ergon::cli {

struct Topic {
  std::string_view name;
  std::string_view summary;    ///< one phrase
  std::string_view text;       ///< plain text, lines of at most 96 bytes
  std::string_view also = {};  ///< further words that lead here, with blanks between
};
std::span<const Topic> topics();
/// Those about measuring, sweeping and the GPUs that are none.
std::span<const Topic> measuring_topics();

}  // namespace ergon::cli
