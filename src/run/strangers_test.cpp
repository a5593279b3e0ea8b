// Other programs on the GPU are told from ours by their descent.
#include "strangers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "fake_gpu_test.hpp"

namespace ergon::run {
namespace {

class SharedGpu : public test::FakeGpu {
 public:
  std::vector<gpu::Process> running;
  std::vector<gpu::Process> worked;
  Result<std::vector<gpu::Process>> processes() override { return running; }
  Result<std::vector<gpu::Process>> recent_processes(std::int64_t utc_us) override {
    EXPECT_GT(utc_us, 1'600'000'000'000'000);
    return worked;
  }
};

constexpr std::int64_t kAtOnce = -1000;  // no wait for the driver's look

TEST(Strangers, AreThoseThatDoNotDescendFromOurProgram) {
  SharedGpu gpu;
  gpu::Gpu* const gpus[] = {&gpu};
  // 100 is ours; 101 and 102 descend from it; 200 does not; of 300 nothing is known.
  std::map<std::int64_t, Lineage> table = {{100, {.parent = 50, .group = 7}},
                                           {101, {.parent = 100, .group = 7}},
                                           {102, {.parent = 101, .group = 7}},
                                           {200, {.parent = 50, .group = 7}},
                                           {50, {.parent = 1, .group = 7}}};
  const auto lookup = [&](std::int64_t pid) {
    const auto at = table.find(pid);
    return at == table.end() ? std::nullopt : std::optional(at->second);
  };
  Strangers strangers(gpus, 100, false, lookup);
  gpu.running = {{100, {}}, {102, {}}, {300, {}}};
  strangers.look();
  EXPECT_TRUE(strangers.found().empty());
  // Orphaned, it is still ours; the other one counts once.
  table[102] = {1, 7};
  gpu.running = {{102, {}}, {200, {}}};
  strangers.look();
  strangers.look();
  ASSERT_EQ(strangers.found().size(), 1U);
  EXPECT_EQ(strangers.found().front().pid, 200);
  EXPECT_EQ(strangers.found().front().gpu, "0");
}

// 100 is ours, 400 cannot be looked up.
std::optional<Lineage> only_ours(std::int64_t pid) {
  return pid == 100 ? std::optional(Lineage{1, 7}) : std::nullopt;
}

TEST(Strangers, OneThatThisNamespaceCannotSeeIsNamedAndMayBeOurs) {
  SharedGpu gpu;
  gpu::Gpu* const gpus[] = {&gpu};
  gpu.running = {{400, {}}};
  Strangers strangers(gpus, 100, false, only_ours);
  strangers.look();
  EXPECT_TRUE(strangers.found().empty());  // it may just have ended
  strangers.look();
  ASSERT_EQ(strangers.found().size(), 1U);
  EXPECT_FALSE(strangers.found().front().certain);
  EXPECT_NE(to_string(strangers.found().front()).find("cannot see, PID 400,"), std::string::npos);
  // Beside a process of ours that the driver calls by its own pid it is another's.
  gpu.running = {{100, {}}, {400, {}}};
  strangers.look();
  ASSERT_EQ(strangers.found().size(), 1U);
  EXPECT_TRUE(strangers.found().front().certain);
}

TEST(Strangers, OneThatHasEndedIsRememberedByTheDriver) {
  for (const bool had_children : {false, true}) {
    SharedGpu gpu;
    gpu::Gpu* const gpus[] = {&gpu};
    gpu.running = {{100, {}}};
    Strangers strangers(gpus, 100, false, only_ours, kAtOnce);
    strangers.look();
    gpu.worked = {{100, {}}, {400, {}}};
    strangers.look();
    EXPECT_TRUE(strangers.found().empty());
    strangers.last_look(had_children);
    // It may have been a child of ours.
    ASSERT_EQ(strangers.found().size(), had_children ? 0U : 1U);
    if (had_children) continue;
    EXPECT_EQ(strangers.found().front(), (Stranger{"0", 400, true}));
  }
}

TEST(Strangers, AProgramOfAnEarlierRunIsOurs) {
  SharedGpu gpu;
  gpu::Gpu* const gpus[] = {&gpu};
  gpu.worked = {{99, {}}};
  Strangers strangers(gpus, 100, false, only_ours, kAtOnce);
  strangers.know({99});
  strangers.last_look(false);
  EXPECT_TRUE(strangers.found().empty());
}

TEST(Strangers, AGroupOfItsOwnIsOursEvenWithoutItsParents) {
  SharedGpu gpu;
  gpu::Gpu* const gpus[] = {&gpu};
  gpu.running = {{101, {}}, {102, {}}};
  Strangers strangers(gpus, 100, true, [](std::int64_t pid) {
    return std::optional(Lineage{1, pid == 101 ? 100 : 102});
  });
  strangers.look();
  ASSERT_EQ(strangers.found().size(), 1U);
  EXPECT_EQ(strangers.found().front().pid, 102);
}

TEST(Strangers, LineageIsTheKernels) {
  const auto mine = lineage_of(::getpid());
  ASSERT_TRUE(mine.has_value());
  EXPECT_EQ(mine->parent, ::getppid());
  EXPECT_EQ(mine->group, ::getpgrp());
  EXPECT_FALSE(lineage_of(999'999'999).has_value());
}

}  // namespace
}  // namespace ergon::run
