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
  Result<std::vector<gpu::Process>> processes() override { return running; }
};

TEST(Strangers, AreThoseThatDoNotDescendFromOurProgram) {
  SharedGpu gpu;
  gpu::Gpu* const gpus[] = {&gpu};
  // 100 is ours; 101 and 102 descend from it; 200 does not; of 300 nothing is known.
  std::map<std::int64_t, Lineage> table = {
      {100, {50, 7}}, {101, {100, 7}}, {102, {101, 7}}, {200, {50, 7}}, {50, {1, 7}}};
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
