// Processes on a GPU, by their descent.
#include "strangers.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <sstream>

namespace ergon::run {
namespace {

constexpr std::int64_t kOverlapUs = 1'000'000;
constexpr std::size_t kMostGone = 1000;

std::int64_t utc_us() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1000;
}

// Whether children that end are let go without being waited for.
bool ignores_children(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  std::string line;
  while (std::getline(file, line)) {
    if (!line.starts_with("SigIgn:")) continue;
    // Hexadecimal, one bit a signal from 1 on.
    const std::size_t digit = (SIGCHLD - 1) / 4;
    if (line.size() <= digit) return false;
    const char c = line[line.size() - 1 - digit];
    const int value = c >= 'a' ? c - 'a' + 10 : c - '0';
    return (value >> ((SIGCHLD - 1) % 4) & 1) != 0;
  }
  return false;
}

// It lives, though /proc does not show it: of another user.
bool is_of_another_user(std::int64_t pid) {
  return pid > 0 && ::kill(static_cast<pid_t>(pid), 0) != 0 && errno == EPERM;
}

}  // namespace

std::optional<Lineage> lineage_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  // The second field is the name in brackets, which may hold anything.
  const auto close = text.rfind(')');
  if (close == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(close + 1));
  std::string skipped;
  Lineage lineage;
  std::uint64_t faults_of_children = 0;
  fields >> skipped >> lineage.parent >> lineage.group;
  for (int field = 6; field <= 10; ++field) fields >> skipped;
  fields >> faults_of_children;  // of those that were waited for
  if (!fields) return std::nullopt;
  lineage.had_children = faults_of_children > 0 || ignores_children(pid);
  return lineage;
}

std::string to_string(const Stranger& stranger) {
  const std::string pid = std::to_string(stranger.pid);
  if (stranger.certain) {
    return "another program was on GPU " + stranger.gpu + " during the run (process " + pid + ")";
  }
  return "a process that this namespace cannot see, PID " + pid + ", was on GPU " + stranger.gpu +
         " during the run; it may be the program itself";
}

bool is_visible(std::int64_t pid) { return lineage_of(pid) || is_of_another_user(pid); }

Strangers::Strangers(std::span<gpu::Gpu* const> gpus, std::int64_t root, bool group, Lookup lookup,
                     std::int64_t drivers_look_us)
    : gpus_(gpus.begin(), gpus.end()),
      root_(root),
      group_(group),
      lookup_(std::move(lookup)),
      since_us_(utc_us() + drivers_look_us) {
  ours_.insert(root);
}

std::optional<bool> Strangers::is_ours(std::int64_t pid) const {
  constexpr int kMostGenerations = 100;
  bool known = false;
  for (int k = 0; k < kMostGenerations && pid > 1; ++k) {
    if (ours_.contains(pid)) return true;
    const auto lineage = lookup_(pid);
    if (!lineage) return known ? std::optional(false) : std::nullopt;
    if (group_ && lineage->group == root_) return true;
    known = true;
    pid = lineage->parent;
  }
  return known ? std::optional(false) : std::nullopt;
}

void Strangers::add(const std::string& gpu, std::int64_t pid, bool certain) {
  for (Stranger& stranger : found_) {
    if (stranger.gpu != gpu || stranger.pid != pid) continue;
    stranger.certain = stranger.certain || certain;
    return;
  }
  found_.push_back({.gpu = gpu, .pid = pid, .certain = certain});
}

void Strangers::look_at(gpu::Gpu& gpu, std::int64_t now_us) {
  const std::string& id = gpu.identity().id;
  std::set<std::int64_t> present;
  std::vector<std::int64_t> unknown;
  bool translated = false;
  if (const auto processes = gpu.processes()) {
    for (const auto& process : *processes) {
      present.insert(process.pid);
      const auto ours = is_ours(process.pid);
      if (!ours) {
        unknown.push_back(process.pid);
      } else if (*ours) {
        ours_.insert(process.pid);
        translated = true;
      } else {
        add(id, process.pid, true);
      }
    }
  }
  for (const auto pid : unknown) {
    // One that just ended is not there at the next look.
    Hidden& hidden = hidden_[{id, pid}];
    hidden.translated = hidden.translated || translated;
    const bool others = is_of_another_user(pid);
    if (++hidden.looks >= 2 || others) add(id, pid, others || hidden.translated);
  }
  if (now_us <= since_us_) return;
  const auto recent = gpu.recent_processes(since_us_);
  if (!recent) return;
  for (const auto& process : *recent) {
    if (present.contains(process.pid) || ours_.contains(process.pid)) continue;
    if (const auto ours = is_ours(process.pid)) {
      if (*ours) {
        ours_.insert(process.pid);
      } else {
        add(id, process.pid, true);
      }
      continue;
    }
    const bool known = hidden_.contains({id, process.pid});
    const Stranger gone{.gpu = id, .pid = process.pid};
    if (!known && gone_.size() < kMostGone && std::ranges::find(gone_, gone) == gone_.end())
      gone_.push_back(gone);
  }
}

void Strangers::look() {
  const std::int64_t now_us = utc_us();
  for (gpu::Gpu* gpu : gpus_) look_at(*gpu, now_us);
  for (const auto pid : ours_) {
    const auto lineage = lookup_(pid);
    had_children_ = had_children_ || (lineage && lineage->had_children);
  }
  since_us_ = std::max(since_us_, now_us - kOverlapUs);
}

void Strangers::last_look(std::optional<bool> had_children) {
  if (!had_children) {
    // What was gone before had no time to be ours; of what is gone since nothing is known.
    auto gone = gone_;
    look();
    gone_ = std::move(gone);
  } else {
    look();
    had_children_ = had_children_ || *had_children;
  }
  if (had_children_) return;
  for (const Stranger& stranger : gone_) add(stranger.gpu, stranger.pid, true);
}

}  // namespace ergon::run
