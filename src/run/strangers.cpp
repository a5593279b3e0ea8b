// Processes on a GPU, by their descent.
#include "strangers.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace ergon::run {

std::optional<Lineage> lineage_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // The second field is the name in brackets, which may hold anything.
  const auto close = text.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(close + 1));
  std::string state;
  Lineage lineage;
  fields >> state >> lineage.parent >> lineage.group;
  return fields ? std::optional(lineage) : std::nullopt;
}

Strangers::Strangers(std::span<gpu::Gpu* const> gpus, std::int64_t root, bool group, Lookup lookup)
    : gpus_(gpus.begin(), gpus.end()), root_(root), group_(group), lookup_(std::move(lookup)) {}

std::optional<bool> Strangers::is_ours(std::int64_t pid) const {
  constexpr int kMostGenerations = 100;
  bool known = false;
  for (int k = 0; k < kMostGenerations && pid > 1; ++k) {
    if (pid == root_ || ours_.contains(pid)) return true;
    const auto lineage = lookup_(pid);
    if (!lineage) return known ? std::optional(false) : std::nullopt;
    if (group_ && lineage->group == root_) return true;
    known = true;
    pid = lineage->parent;
  }
  return false;
}

void Strangers::look() {
  for (gpu::Gpu* gpu : gpus_) {
    const auto processes = gpu->processes();
    if (!processes) continue;
    for (const auto& process : *processes) {
      const auto ours = is_ours(process.pid);
      if (!ours) continue;
      if (*ours) {
        ours_.insert(process.pid);
        continue;
      }
      const Stranger stranger{gpu->identity().id, process.pid};
      if (std::ranges::find(found_, stranger) == found_.end()) found_.push_back(stranger);
    }
  }
}

}  // namespace ergon::run
