// CPU energy counters on crafted folders: wrap, permission, double counting, zeros.
#include "ergon/run/rapl.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace ergon::run {
namespace {
namespace fs = std::filesystem;

class RaplTest : public testing::Test {
 public:
  ~RaplTest() override { fs::remove_all(root_); }

 protected:
  RaplTest() {
    std::string pattern = (fs::temp_directory_path() / "ergon-rapl-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  fs::path zone(const std::string& name) const {
    return fs::path(root_) / "sys/class/powercap" / name;
  }
  void add(const std::string& folder, const std::string& name, const std::string& energy,
           const std::string& range = "262143328850") const {
    fs::create_directories(zone(folder));
    std::ofstream(zone(folder) / "name") << name << '\n';
    std::ofstream(zone(folder) / "energy_uj") << energy << '\n';
    if (!range.empty()) std::ofstream(zone(folder) / "max_energy_range_uj") << range << '\n';
  }
  std::string root_;
};

// 50: DRAM is a domain of its own; 49: selected and added.
TEST_F(RaplTest, failure_50_memory_is_a_domain_of_its_own) {
  add("intel-rapl:0", "package-0", "1000000");
  add("intel-rapl:0:0", "core", "400000");
  add("intel-rapl:0:1", "dram", "50000");
  add("intel-rapl:1", "package-1", "2000000");
  add("intel-rapl:2", "psys", "9000000");
  add("intel-rapl-mmio:0", "package-0", "1000000");
  fs::create_directories(zone("dtpm"));
  const auto cpu = CpuEnergy::open(root_);
  ASSERT_TRUE(cpu) << cpu.error().message;
  std::vector<std::string> counted;
  for (const auto& domain : cpu->domains()) {
    if (domain.counts) counted.push_back(domain.name);
  }
  EXPECT_EQ(counted, (std::vector<std::string>{"package-0", "package-0 dram", "package-1"}));
  const auto before = cpu->read_j();
  ASSERT_TRUE(before);
  add("intel-rapl:0", "package-0", "3000000");
  add("intel-rapl:0:1", "dram", "60000");
  add("intel-rapl:2", "psys", "99000000");
  const auto after = cpu->read_j();
  ASSERT_TRUE(after);
  EXPECT_NEAR(*cpu->total_between_j(*before, *after), 2.01, 1e-9);
}

// 47, 48: the counter starts again.
TEST_F(RaplTest, failure_47_48_wraps_are_bridged) {
  const CpuDomain known{"package-0", "", 262143.32885, true};
  EXPECT_NEAR(*CpuEnergy::between_j(known, 262143, 10), 10.32885, 1e-6);
  EXPECT_EQ(*CpuEnergy::between_j(known, 10, 30), 20);
  const CpuDomain unknown{"package-0", "", std::nullopt, true};
  EXPECT_FALSE(CpuEnergy::between_j(unknown, 262143, 10));
  EXPECT_EQ(*CpuEnergy::between_j(unknown, 10, 30), 20);
  add("intel-rapl:0", "package-0", "1000000", "");
  const auto cpu = CpuEnergy::open(root_);
  ASSERT_TRUE(cpu);
  EXPECT_FALSE(cpu->domains().front().range_j);
  EXPECT_FALSE(cpu->total_between_j({5}, {4}));
}

// 49: only root may read.
TEST_F(RaplTest, failure_49_permission_denied) {
  add("intel-rapl:0", "package-0", "1000000");
  fs::permissions(zone("intel-rapl:0") / "energy_uj", fs::perms::none);
  fs::permissions(root_, fs::perms::all);
  const auto refused = [&] {
    const auto cpu = CpuEnergy::open(root_);
    return !cpu && cpu.error().code == Errc::kPermission &&
           cpu.error().hint.find("chmod") != std::string::npos;
  };
  if (::geteuid() != 0) {
    EXPECT_TRUE(refused());
    return;
  }
  // Root may read everything: look as nobody.
  const pid_t nobody = ::fork();
  if (nobody == 0) {
    constexpr uid_t kNobody = 65534;
    ::_exit(::setuid(kNobody) == 0 && refused() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(nobody, &status, 0), nobody);
  EXPECT_EQ(status, 0);
}

// 48, 51, 52: zeros in virtual machines.
TEST_F(RaplTest, failure_51_52_zeros_in_virtual_machines) {
  add("intel-rapl:0", "package-0", "0");
  add("intel-rapl:0:0", "core", "0");
  const auto cpu = CpuEnergy::open(root_);
  ASSERT_FALSE(cpu);
  EXPECT_EQ(cpu.error().code, Errc::kUnsupported);
  EXPECT_NE(cpu.error().message.find("stand at 0"), std::string::npos);
}

TEST_F(RaplTest, NothingThere) {
  EXPECT_EQ(CpuEnergy::open(root_).error().code, Errc::kUnsupported);
  add("intel-rapl:0", "package-0", "garbage");
  EXPECT_EQ(CpuEnergy::open(root_).error().code, Errc::kUnsupported);
  add("intel-rapl:0", "core", "100");  // AMD without a package: nothing that counts
  EXPECT_EQ(CpuEnergy::open(root_).error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace ergon::run
