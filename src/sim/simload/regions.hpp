// Tells a measuring library where phases begin and end: the library that ERGON_REGION_LIBRARY
// names, if any.
#pragma once

#include <cstdint>
#include <string>

namespace ergon::sim {

/// The phase that runs now, as regions of `uint64_t ergon_region_begin(const char*)`, `void
/// ergon_region_end(uint64_t)`.
class Regions {
 public:
  /// `library`: a path, or empty for none. One that cannot be opened marks nothing.
  explicit Regions(const std::string& library);
  /// Ends the present region and begins `name`; empty: only ends it.
  void change(const std::string& name);

 private:
  using Begin = std::uint64_t(const char*);
  using End = void(std::uint64_t);
  Begin* begin_ = nullptr;
  End* end_ = nullptr;
  std::uint64_t current_ = 0;
  bool open_ = false;
};

}  // namespace ergon::sim
