// Which programs on a GPU are not ours.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ergon/run/measure.hpp"

namespace ergon::run {

/// Where a process stands.
struct Lineage {
  std::int64_t parent = 0;
  std::int64_t group = 0;
  /// It has waited for children that ended, or lets them go unseen: a process that is gone may have
  /// been one of them.
  bool had_children = false;
};
/// From /proc/PID; nullopt: it has ended, or is of another PID namespace.
std::optional<Lineage> lineage_of(std::int64_t pid);

/// Collects the processes on the GPUs that are neither a program of ours nor descend from it: those
/// that are there at a look, and those that the driver remembers to have worked since the last one.
class Strangers {
 public:
  using Lookup = std::function<std::optional<Lineage>(std::int64_t)>;
  /// The longest of the driver's own looks at what worked (its documentation: 1/6 s to 1 s): who
  /// ended before our start may be in one that ends after it.
  static constexpr std::int64_t kDriversLookUs = 1'000'000;
  /// `root`: our program; `group`: its process group is its own, so that all in it is ours.
  Strangers(std::span<gpu::Gpu* const> gpus, std::int64_t root, bool group,
            Lookup lookup = lineage_of, std::int64_t drivers_look_us = kDriversLookUs);
  /// These are ours as well: of an earlier run.
  void know(const std::set<std::int64_t>& ours) { ours_.insert(ours.begin(), ours.end()); }
  void look();
  /// After the program has ended. `had_children` as in Lineage; nullopt: not known.
  void last_look(std::optional<bool> had_children);
  /// Each process once a GPU, in the order in which they were found.
  [[nodiscard]] const std::vector<Stranger>& found() const { return found_; }
  [[nodiscard]] const std::set<std::int64_t>& ours() const { return ours_; }

 private:
  struct Hidden {
    int looks = 0;
    bool translated = false;  ///< beside a process of ours that the driver tells by its pid
  };
  [[nodiscard]] std::optional<bool> is_ours(std::int64_t pid) const;
  void look_at(gpu::Gpu& gpu, std::int64_t now_us);
  void add(const std::string& gpu, std::int64_t pid, bool certain);

  std::vector<gpu::Gpu*> gpus_;
  std::int64_t root_;
  bool group_;
  Lookup lookup_;
  std::int64_t since_us_;        ///< UTC; the driver is asked for what worked after it
  std::set<std::int64_t> ours_;  ///< found once: they stay ours when their parents are gone
  bool had_children_ = false;
  std::map<std::pair<std::string, std::int64_t>, Hidden> hidden_;
  std::vector<Stranger> gone_;  ///< ended before they could be looked up
  std::vector<Stranger> found_;
};

}  // namespace ergon::run
