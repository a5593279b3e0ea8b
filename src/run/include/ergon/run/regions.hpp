// Named parts of a program's run, as the program (or its NVTX ranges) marked them.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::run {

/// One passage through a region, on CLOCK_MONOTONIC.
struct Span {
  Nanos start_ns = 0;
  Nanos end_ns = 0;
  bool cut = false;  ///< the program ended inside: the end is the program's
};

/// All passages of one name, by start.
struct Region {
  std::string name;
  std::vector<Span> spans;
};

/// What was marked during one run.
struct Marks {
  std::vector<Region> regions;  ///< in the order of their first start
  std::uint64_t lost = 0;       ///< marks that found no room
  std::uint64_t unmatched = 0;  ///< ends without a begin
};

/// The reading end of the ring that marked programs write to (bindings/c/include/ergon_ring.h). One
/// thread.
class RegionRing {
 public:
  /// Makes the ring as a file in `folder`, for this user alone. kIo.
  static Result<RegionRing> create(const std::string& folder);
  RegionRing(RegionRing&&) noexcept;
  RegionRing& operator=(RegionRing&&) noexcept;
  ~RegionRing();  ///< removes the file

  [[nodiscard]] const std::string& path() const;
  /// Takes in what was written; to be called more often than the ring fills (32768 marks).
  void drain();
  /// What was marked since the last take(); regions that are open are cut at `end_ns`.
  Marks take(Nanos end_ns);

 private:
  struct Impl;
  explicit RegionRing(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ergon::run
