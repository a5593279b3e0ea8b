// The shared machine: one state for many processes, whole after any of them is killed.
#include "ergon/sim/machine.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "ergon/sim/process.hpp"
#include "ergon/sim/sensor.hpp"
#include "sim_test.hpp"

namespace ergon::sim {
namespace {

class MachineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("ergon-machine-test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] MachineAddress address(const std::string& sim) const {
    return {sim, folder_.string()};
  }
  [[nodiscard]] std::unique_ptr<Machine> open(const std::string& sim) const {
    auto machine = Machine::open(address(sim));
    EXPECT_TRUE(machine) << machine.error().message;
    return std::move(*machine);
  }
  std::filesystem::path folder_;
};

// Starts a process that runs `work` and exits.
template <class Work>
pid_t spawn(Work work) {
  const pid_t pid = fork();
  if (pid == 0) {
    work();
    _exit(0);
  }
  return pid;
}

void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

TEST_F(MachineTest, StateOutlivesTheOneWhoSetIt) {
  open("a100,seed=3")->with_board(0, [](BoardView& view, Nanoseconds now) {
    view.lock_clocks(900, 900, now);
  });
  const auto again = open("");  // the folder alone is enough once the machine is there
  EXPECT_STREQ(again->config().model->key, "a100");
  again->with_board(
      0, [](BoardView& view, Nanoseconds) { EXPECT_EQ(view.board().lock_max_mhz, 900); });
}

TEST_F(MachineTest, AnotherMachineInTheFolderIsRefused) {
  const auto machine = open("a100,seed=3");
  EXPECT_TRUE(Machine::open(address("a100")));  // what is not said is taken as it is
  for (const char* other :
       {"v100,seed=3", "a100,seed=4", "a100,gpus=2", "a100,gain=1.1", "a100,fault=hot"}) {
    const auto second = Machine::open(address(other));
    ASSERT_FALSE(second);
    EXPECT_NE(second.error().message.find("is a100,gpus=1,seed=3"), std::string::npos)
        << second.error().message;
  }
  EXPECT_FALSE(Machine::open({"", (folder_ / "empty").string()}));
  EXPECT_FALSE(Machine::open({"", ""}));
}

TEST_F(MachineTest, TheTrueEnergyIsExactWhoeverPollsAndWhoeverDies) {
  const auto machine = open("h100,gpus=2,seed=9");
  Nanoseconds locked = 0;
  machine->with_board(0, [&](BoardView& view, Nanoseconds now) {
    locked = now;
    view.lock_clocks(1200, 1200, now);
  });
  for (int k = 0; k < 40; ++k) {
    const pid_t victim = spawn([&] {
      for (;;) machine->with_board(0, [](BoardView&, Nanoseconds) {});
    });
    const pid_t poller = spawn([&] {
      const auto own = Machine::open(address("h100,gpus=2,seed=9"));
      for (;;)
        (*own)->with_board(
            0, [](BoardView& view, Nanoseconds now) { (void)counter_reading(view, now); });
    });
    pause_ms(1 + k % 5);
    kill(victim, SIGKILL);
    kill(poller, SIGKILL);
    waitpid(victim, nullptr, 0);
    waitpid(poller, nullptr, 0);
  }
  // A board of its own in virtual time, given the same commands, must have come to the same joule.
  TestBoard quiet("h100", 9);
  quiet.view().create({9, 0, 0, 0}, machine->created());
  quiet.view().lock_clocks(1200, 1200, locked);
  machine->with_board(0, [&](BoardView& view, Nanoseconds now) {
    quiet.view().advance(now);
    EXPECT_EQ(view.mark_at(now).energy_j, quiet.view().mark_at(now).energy_j);
    EXPECT_EQ(view.mark_at(now - at(0.03)).energy_j, quiet.view().mark_at(now - at(0.03)).energy_j);
    EXPECT_EQ(view.board().sm_mhz, 1200);
  });
}

TEST_F(MachineTest, TheLoadOfAKilledProcessDisappears) {
  const auto machine = open("a100");
  const Phase phase{60, 0.9, 0.3, -1};
  const pid_t worker = spawn([&] {
    machine->with_board(0, [&](BoardView& view, Nanoseconds now) {
      view.start(view.attach(getpid(), process_stat(getpid()).start, now), std::span(&phase, 1), 1,
                 now);
    });
    for (;;) pause();
  });
  bool working = false;
  for (int k = 0; k < 400 && !working; ++k) {
    pause_ms(5);
    machine->with_board(0, [&](BoardView& view, Nanoseconds) { working = view.working(); });
  }
  EXPECT_TRUE(working);
  kill(worker, SIGKILL);
  pause_ms(20);  // a zombie until it is waited for: dead all the same
  machine->with_board(0, [&](BoardView& view, Nanoseconds) { EXPECT_FALSE(view.working()); });
  waitpid(worker, nullptr, 0);
}

TEST_F(MachineTest, ThreadsShareAMachine) {
  const auto machine = open("l4");
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&] {
      double last = 0;
      for (int n = 0; n < 200; ++n) {
        machine->with_board(0, [&](BoardView& view, Nanoseconds now) {
          const double energy = view.mark_at(now).energy_j;
          EXPECT_GE(energy, last);
          last = energy;
        });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Process, KnowsItself) {
  EXPECT_TRUE(process_stat(getpid()).alive);
  EXPECT_EQ(process_stat(getpid()).parent, getppid());
  EXPECT_FALSE(process_stat(999999999).alive);
  EXPECT_FALSE(boot_id().empty());
  EXPECT_EQ(root_of_tree("NO_SUCH_VARIABLE_HERE", "1"), getpid());
}

}  // namespace
}  // namespace ergon::sim
