// Reading powercap's files.
#include "ergon/run/rapl.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

namespace ergon::run {
namespace fs = std::filesystem;
namespace {

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::optional<double> microjoules(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  const auto value = parse_number<unsigned long long>(text);
  if (!value) return std::nullopt;
  return static_cast<double>(*value) * 1e-6;
}

std::optional<double> read_joules(int file) {
  std::array<char, 64> text{};
  const ssize_t count = ::pread(file, text.data(), text.size(), 0);
  if (count <= 0) return std::nullopt;
  return microjoules({text.data(), static_cast<std::size_t>(count)});
}

// A zone is "intel-rapl:0", its parts "intel-rapl:0:1"; "intel-rapl-mmio:0" shows a package again.
bool is_part(const std::string& zone) { return std::ranges::count(zone, ':') > 1; }

struct Zone {
  std::string folder;
  std::string name;
};

std::vector<Zone> zones_below(const fs::path& powercap) {
  std::vector<Zone> zones;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(powercap, ignored)) {
    const std::string folder = entry.path().filename();
    if (folder.find(':') == std::string::npos || folder.find("rapl") == std::string::npos) continue;
    const std::string name = first_line(entry.path() / "name");
    if (!name.empty()) zones.push_back({folder, name});
  }
  // The registers' own zones first: of two that show one package the first counts.
  std::ranges::sort(zones, {}, [](const Zone& zone) {
    return std::pair(zone.folder.find("mmio") != std::string::npos, zone.folder);
  });
  return zones;
}

}  // namespace

Result<CpuEnergy> CpuEnergy::open(const std::string& root) {
  const fs::path powercap = fs::path(root) / "sys/class/powercap";
  const auto zones = zones_below(powercap);
  if (zones.empty()) {
    return fail(Errc::kUnsupported, "this machine shows no energy counters of its CPU",
                "on bare metal: modprobe intel_rapl_msr (Intel, and AMD since Zen); virtual "
                "machines have none");
  }
  CpuEnergy cpu;
  std::set<std::string> counted;
  bool denied = false;
  bool moves = false;
  for (const Zone& zone : zones) {
    const fs::path energy = powercap / zone.folder / "energy_uj";
    const int file = ::open(energy.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
      denied = denied || errno == EACCES || errno == EPERM;
      continue;
    }
    const auto joules = read_joules(file);
    if (!joules) {
      denied = denied || errno == EACCES || errno == EPERM;
      ::close(file);
      continue;
    }
    CpuDomain domain;
    domain.path = energy;
    domain.name = zone.name;
    if (is_part(zone.folder)) {
      const std::string parent = zone.folder.substr(0, zone.folder.rfind(':'));
      const auto at = std::ranges::find(zones, parent, &Zone::folder);
      if (at != zones.end()) domain.name = at->name + " " + zone.name;
    }
    domain.range_j = microjoules(first_line(powercap / zone.folder / "max_energy_range_uj"));
    if (domain.range_j && *domain.range_j <= 0) domain.range_j = std::nullopt;
    const bool adds = zone.name.starts_with("package") || zone.name.starts_with("dram");
    domain.counts = adds && counted.insert(domain.name).second;
    moves = moves || *joules > 0;
    cpu.domains_.push_back(std::move(domain));
    cpu.files_.push_back(file);
  }
  const bool any = std::ranges::any_of(cpu.domains_, &CpuDomain::counts);
  if (!any && denied) {
    return fail(Errc::kPermission, "only root may read the energy counters of the CPU",
                "sudo chmod a+r /sys/class/powercap/*/energy_uj (until the next start), or run as "
                "root");
  }
  if (!any)
    return fail(Errc::kUnsupported, "no energy counter of a CPU package can be read here",
                "look at /sys/class/powercap");
  if (!moves) {
    return fail(Errc::kUnsupported, "the energy counters of the CPU stand at 0",
                "virtual machines show such counters; measure on the host");
  }
  return cpu;
}

CpuEnergy::CpuEnergy(CpuEnergy&& other) noexcept
    : domains_(std::move(other.domains_)), files_(std::exchange(other.files_, {})) {}
CpuEnergy& CpuEnergy::operator=(CpuEnergy&& other) noexcept {
  std::swap(domains_, other.domains_);
  std::swap(files_, other.files_);
  return *this;
}
CpuEnergy::~CpuEnergy() {
  for (const int file : files_) ::close(file);
}

Result<std::vector<double>> CpuEnergy::read_j() const {
  std::vector<double> joules;
  joules.reserve(files_.size());
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const auto value = read_joules(files_[i]);
    if (!value)
      return fail(Errc::kDevice,
                  "the energy counter " + domains_[i].name + " can no longer be read");
    joules.push_back(*value);
  }
  return joules;
}

std::optional<double> CpuEnergy::between_j(const CpuDomain& domain, double before, double after) {
  if (after >= before) return after - before;
  if (!domain.range_j || before > *domain.range_j) return std::nullopt;
  return *domain.range_j - before + after;
}

std::optional<double> CpuEnergy::total_between_j(const std::vector<double>& before,
                                                 const std::vector<double>& after) const {
  ERGON_CHECK(before.size() == domains_.size() && after.size() == domains_.size(),
              "readings of other counters");
  double total = 0;
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    if (!domains_[i].counts) continue;
    const auto joules = between_j(domains_[i], before[i], after[i]);
    if (!joules) return std::nullopt;
    total += *joules;
  }
  return total;
}

}  // namespace ergon::run
