// The lease: written before the change, given back by whoever is left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ergon/gpu/process.hpp"
#include "fake_gpu_test.hpp"
#include "lease_file.hpp"

namespace ergon::gpu {
namespace {
namespace fs = std::filesystem;

// Locks are the machine's: other runs of these tests lock GPUs of their own.
std::string unique(const std::string& uuid) { return uuid + "-" + std::to_string(::getpid()); }

class LeaseTest : public testing::Test {
 public:
  ~LeaseTest() override { fs::remove_all(folder_); }

 protected:
  LeaseTest() {
    std::string pattern = (fs::temp_directory_path() / "ergon-lease-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  LeaseOptions options() const {
    LeaseOptions made;
    made.folder = folder_ + "/ergon";
    made.tool = "sweep";
    made.selection = "all";
    return made;
  }
  std::string folder_;
};

TEST_F(LeaseTest, GivesBackWhatWasTouchedAndNothingElse) {
  FakeGpu gpu(unique("GPU-a"));
  Gpu* const gpus[] = {&gpu};
  {
    auto lease = Lease::take(gpus, options());
    ASSERT_TRUE(lease) << lease.error().message;
    EXPECT_EQ(find_leases(options().folder).size(), 1U);
    EXPECT_FALSE(lease->record().touched());
    ASSERT_TRUE(lease->lock_clocks(gpu, Domain::kCore, Hertz(1e9), Hertz(1e9)));
    ASSERT_TRUE(lease->set_power_limit(gpu, Watts(250)));
    EXPECT_EQ(gpu.limit_w, 250);
  }
  EXPECT_EQ(gpu.limit_w, 400);
  EXPECT_EQ(gpu.told,
            (std::vector<std::string>{"lock core 1000.000000", "limit", "reset core", "limit"}));
  EXPECT_TRUE(find_leases(options().folder).empty());
}

TEST_F(LeaseTest, IsOnDiskBeforeTheChange) {
  class Watching : public FakeGpu {
   public:
    using FakeGpu::FakeGpu;
    std::string folder;
    bool seen = false;
    Status lock_clocks(Domain /*domain*/, Hertz /*low*/, Hertz /*high*/) override {
      const auto leases = find_leases(folder);
      seen = leases.size() == 1 && leases.front().record.gpus.front().memory_touched;
      return {};
    }
  };
  Watching gpu(unique("GPU-a"));
  gpu.folder = options().folder;
  Gpu* const gpus[] = {&gpu};
  auto lease = Lease::take(gpus, options());
  ASSERT_TRUE(lease);
  ASSERT_TRUE(lease->lock_clocks(gpu, Domain::kMemory, Hertz(1e9), Hertz(1e9)));
  EXPECT_TRUE(gpu.seen);
}

TEST_F(LeaseTest, ASecondToolIsRefusedByName) {
  FakeGpu gpu(unique("GPU-a"));
  FakeGpu other(unique("GPU-b"));
  Gpu* const both[] = {&other, &gpu};
  Gpu* const one[] = {&gpu};
  Gpu* const another[] = {&other};
  auto lease = Lease::take(one, options());
  ASSERT_TRUE(lease);
  const auto second = Lease::take(both, options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kDevice);
  EXPECT_NE(second.error().message.find("ergon sweep (process " + std::to_string(::getpid())),
            std::string::npos)
      << second.error().message;
  // The attempt left no lock behind; the same GPU of another machine is another GPU.
  auto elsewhere = options();
  elsewhere.machine = "/tmp/sim";
  EXPECT_TRUE(Lease::take(one, elsewhere));
  lease->give_back();
  EXPECT_TRUE(Lease::take(another, options()));
}

TEST_F(LeaseTest, AnotherUsersToolIsRefusedByItsProcess) {
  FakeGpu gpu(unique("GPU-shared"));
  Gpu* const gpus[] = {&gpu};
  auto lease = Lease::take(gpus, options());
  ASSERT_TRUE(lease);
  // Another user's folder of leases: nothing in common but the machine.
  auto theirs = options();
  theirs.folder = folder_ + "/theirs";
  const auto second = Lease::take(gpus, theirs);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Errc::kDevice);
  EXPECT_NE(second.error().message.find("process " + std::to_string(::getpid())), std::string::npos)
      << second.error().message;
  // Neither may it give back what a dead tool of its own left, while ours is at work.
  FoundLease stale;
  stale.record.file = theirs.folder + "/lease-stale.json";
  stale.record.gpus.push_back({.uuid = unique("GPU-shared"), .name = "Fake", .power_limit_w = {}});
  EXPECT_FALSE(restore(stale, gpus));
  lease->give_back();
  EXPECT_TRUE(Lease::take(gpus, theirs));
}

TEST_F(LeaseTest, AFailureKeepsTheLeaseForRestore) {
  FakeGpu gpu(unique("GPU-a"));
  Gpu* const gpus[] = {&gpu};
  auto lease = Lease::take(gpus, options());
  ASSERT_TRUE(lease);
  ASSERT_TRUE(lease->lock_clocks(gpu, Domain::kCore, Hertz(1e9), Hertz(1e9)));
  gpu.fails = true;
  const auto done = lease->give_back();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_TRUE(done.front().failure);
  auto found = find_leases(options().folder);
  ASSERT_EQ(found.size(), 1U);
  gpu.fails = false;
  const auto restored = restore(found.front(), gpus);
  ASSERT_TRUE(restored);
  EXPECT_EQ(restored->size(), 1U);
  EXPECT_TRUE(find_leases(options().folder).empty());
}

// What a tool leaves that was killed in the middle, with its watchdog.
void write_stale(const LeaseOptions& options, const std::string& boot, bool touched) {
  LeaseRecord record;
  record.tool = "sweep";
  record.pid = 999'999'999;
  record.start_ticks = 1;
  record.boot_id = boot;
  record.machine = options.machine;
  record.gpus.push_back(
      {.uuid = unique("GPU-a"), .name = "Fake", .power_limit_w = 350, .limit_touched = touched});
  record.file = options.folder + "/lease-stale.json";
  ASSERT_TRUE(make_folder(options.folder));
  ASSERT_TRUE(write_lease(record));
}

TEST_F(LeaseTest, AStaleLeaseIsRestoredOnce) {
  write_stale(options(), boot_id(), true);
  FakeGpu gpu(unique("GPU-a"));
  gpu.limit_w = 200;
  Gpu* const gpus[] = {&gpu};
  const auto refused = Lease::take(gpus, options());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().hint.find("ergon restore"), std::string::npos);
  const auto found = find_leases(options().folder);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found.front().state, LeaseState::kStale);
  const auto done = restore(found.front(), gpus);
  ASSERT_TRUE(done);
  ASSERT_EQ(done->size(), 1U);
  EXPECT_EQ(done->front().action, "set to 350 W");
  EXPECT_EQ(gpu.limit_w, 350);
  const auto again = restore(found.front(), gpus);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
  EXPECT_TRUE(Lease::take(gpus, options()));
}

TEST_F(LeaseTest, ALeaseThatChangedNothingOrOutlivedTheMachineIsNoObstacle) {
  FakeGpu gpu(unique("GPU-a"));
  Gpu* const gpus[] = {&gpu};
  write_stale(options(), boot_id(), false);
  EXPECT_TRUE(Lease::take(gpus, options()));
  write_stale(options(), "another boot", true);
  EXPECT_EQ(find_leases(options().folder).front().state, LeaseState::kGone);
  EXPECT_TRUE(Lease::take(gpus, options()));
  EXPECT_TRUE(gpu.told.empty());
}

TEST_F(LeaseTest, WhatIsNoLeaseIsSkippedButTold) {
  ASSERT_TRUE(make_folder(options().folder));
  const std::string at = options().folder + "/lease-";
  std::ofstream(at + "1.json") << "{\"schema\": \"other\"}";
  std::ofstream(at + "2.json") << "not JSON";
  std::ofstream(at + "3.json.new") << "half";
  std::ofstream(at + "4.json") << "";
  fs::create_directory(at + "5.json");
  std::ofstream(at + "6.json") << "{\"schema\": \"ergon.lease/1\"}";
  EXPECT_TRUE(find_leases(options().folder).empty());
  EXPECT_TRUE(find_leases("/nowhere").empty());
  const auto damaged = damaged_leases(options().folder);
  ASSERT_EQ(damaged.size(), 5U);
  EXPECT_EQ(damaged.front().file, at + "1.json");
  for (const auto& one : damaged) {
    EXPECT_FALSE(one.error.message.empty());
    EXPECT_TRUE(drop(one)) << one.file;
  }
  EXPECT_TRUE(damaged_leases(options().folder).empty());
  EXPECT_TRUE(damaged_leases("/nowhere").empty());
}

TEST_F(LeaseTest, ALeaseIsDamagedWhereverItIsCut) {
  write_stale(options(), boot_id(), true);
  const std::string file = options().folder + "/lease-stale.json";
  EXPECT_TRUE(damaged_leases(options().folder).empty());
  std::string text;
  {
    std::ifstream in(file);
    text.assign(std::istreambuf_iterator<char>(in), {});
  }
  // All but the line's end matters.
  for (std::size_t size = 0; size <= text.rfind('}'); size += 7) {
    std::ofstream(file, std::ios::trunc) << text.substr(0, size);
    EXPECT_EQ(damaged_leases(options().folder).size(), 1U) << size;
    EXPECT_TRUE(find_leases(options().folder).empty()) << size;
  }
}

TEST_F(LeaseTest, AWatchdogThatDoesNotStartMeansNoLease) {
  FakeGpu gpu(unique("GPU-a"));
  Gpu* const gpus[] = {&gpu};
  auto with_watchdog = options();
  with_watchdog.watchdog = {"/nowhere/ergon"};
  const auto lease = Lease::take(gpus, with_watchdog);
  ASSERT_FALSE(lease);
  EXPECT_NE(lease.error().message.find("watchdog"), std::string::npos);
  EXPECT_TRUE(find_leases(options().folder).empty());
  EXPECT_TRUE(Lease::take(gpus, options()));
}

TEST_F(LeaseTest, AFolderThatCannotBeMadeIsAnError) {
  FakeGpu gpu(unique("GPU-a"));
  Gpu* const gpus[] = {&gpu};
  std::ofstream(folder_ + "/file") << "x";
  auto blocked = options();
  blocked.folder = folder_ + "/file/ergon";
  const auto lease = Lease::take(gpus, blocked);
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().code, Errc::kIo);
}

TEST(Process, IsKnownByPidAndStart) {
  const auto ticks = start_ticks(::getpid());
  EXPECT_GT(ticks, 0U);
  EXPECT_TRUE(is_alive(::getpid(), ticks));
  EXPECT_FALSE(is_alive(::getpid(), ticks + 1));
  EXPECT_FALSE(is_alive(0, 0));
}

}  // namespace
}  // namespace ergon::gpu
