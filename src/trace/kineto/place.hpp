// Where an event starts, found only when somebody asks.
#pragma once
#include <cstdint>

#include "bytes.hpp"

namespace ergon::trace::kineto {

/// The scanner starts between two events: behind white space and commas stands the event.
struct Place {
  const char* text = nullptr;
  std::uint64_t offset = 0;         ///< of `text`
  operator std::uint64_t() const {  // NOLINT(google-explicit-constructor): it is an offset
    const char* p = text;
    while (is_space(*p) || *p == ',') ++p;
    return offset + static_cast<std::uint64_t>(p - text);
  }
};

}  // namespace ergon::trace::kineto
