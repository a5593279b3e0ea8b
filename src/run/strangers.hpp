// Which programs on a GPU are not ours.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ergon/run/measure.hpp"

namespace ergon::run {

/// Where a process stands.
struct Lineage {
  std::int64_t parent = 0;
  std::int64_t group = 0;
};
/// From /proc/PID/stat; nullopt: it has ended, or is of another PID namespace.
std::optional<Lineage> lineage_of(std::int64_t pid);

/// Collects the processes on the GPUs that are neither a program of ours nor descend from it. A
/// process that cannot be looked up is nobody's: it may have ended, or a container may hide it.
class Strangers {
 public:
  using Lookup = std::function<std::optional<Lineage>(std::int64_t)>;
  /// `root`: our program; `group`: its process group is its own, so that all in it is ours.
  Strangers(std::span<gpu::Gpu* const> gpus, std::int64_t root, bool group,
            Lookup lookup = lineage_of);
  void look();
  /// Each process once a GPU, in the order in which they were found.
  [[nodiscard]] const std::vector<Stranger>& found() const { return found_; }

 private:
  [[nodiscard]] std::optional<bool> is_ours(std::int64_t pid) const;

  std::vector<gpu::Gpu*> gpus_;
  std::int64_t root_;
  bool group_;
  Lookup lookup_;
  std::set<std::int64_t> ours_;  ///< found once: they stay ours when their parents are gone
  std::vector<Stranger> found_;
};

}  // namespace ergon::run
