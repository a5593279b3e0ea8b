// Physics in virtual time: energy is exact whoever looks, work slows down as the clock says, limits
// and locks act.
#include "ergon/sim/board.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "ergon/sim/sensor.hpp"
#include "sim_test.hpp"

namespace ergon::sim {
namespace {

constexpr Phase kCompute{2.0, 0.9, 0.2, -1};
constexpr Phase kMemory{2.0, 0.2, 0.9, -1};

TEST(Board, EnergyIsTheSameWhoeverPolls) {
  TestBoard quiet("a100", 7);
  TestBoard polled("a100", 7);
  for (TestBoard* board : {&quiet, &polled}) {
    const int slot = board->view().attach(1, 1, at(0.5));
    board->view().start(slot, std::span(&kCompute, 1), 2, at(0.5));
  }
  for (int k = 0; k < 6000; ++k) polled.view().advance(at(0.5 + 0.001037 * k));
  quiet.view().lock_clocks(1005, 1005, at(7.5));
  polled.view().lock_clocks(1005, 1005, at(7.5));
  for (double t : {0.7, 2.0, 4.4, 7.0, 9.0}) {
    quiet.view().advance(at(10));
    polled.view().advance(at(10));
    EXPECT_EQ(quiet.view().mark_at(at(t)).energy_j, polled.view().mark_at(at(t)).energy_j) << t;
  }
}

TEST(Board, EnergyIsTheIntegralOfPower) {
  TestBoard board("v100", 3);
  const int slot = board.view().attach(1, 1, at(0.1));
  board.view().start(slot, std::span(&kMemory, 1), 1, at(0.1));
  double sum = 0;
  constexpr double kStep = 0.0005;
  for (int k = 0; k < 6000; ++k) {
    board.view().advance(at(0.1 + k * kStep + kStep / 2));
    sum += board.view().board().power.total_w * kStep;
  }
  const double exact =
      board.view().mark_at(at(3.1)).energy_j - board.view().mark_at(at(0.1)).energy_j;
  EXPECT_NEAR(sum / exact, 1, 1e-4);
}

TEST(Board, PhasesTakeTheirDurationAtTheDefaultClock) {
  TestBoard board("a100", 1);
  const Phase phases[] = {{0.5, 0.8, 0.3, -1}, {0.25, 0, 0, -1}};
  const int slot = board.view().attach(1, 1, at(1));
  board.view().start(slot, phases, 3, at(1));
  board.view().advance(at(9));
  const Job& job = board.view().board().jobs[slot];
  ASSERT_EQ(job.state, JobState::kDone);
  ASSERT_EQ(job.records, 6U);
  EXPECT_NEAR(seconds(board.record(slot, 0).end - board.record(slot, 0).start), 0.5, 1e-6);
  EXPECT_NEAR(seconds(job.finished), 1 + 3 * 0.75, 1e-5);
  EXPECT_EQ(board.record(slot, 5).repetition, 2U);
  EXPECT_EQ(board.record(slot, 5).phase, 1U);
}

TEST(Board, ComputeBoundWorkFollowsTheClockAndMemoryBoundWorkDoesNot) {
  for (const auto& [phase, expected] : {std::pair{kCompute, 1410.0 / 1005}, {kMemory, 1.0}}) {
    TestBoard board("a100", 2);
    board.view().lock_clocks(1005, 1005, at(0));
    const int slot = board.view().attach(1, 1, at(1));
    board.view().start(slot, std::span(&phase, 1), 1, at(1));
    board.view().advance(at(9));
    const Record& record = board.record(slot, 0);
    EXPECT_NEAR(seconds(record.end - record.start) / 2.0, expected, 0.002);
  }
}

TEST(Board, AClockChangedMidwaySlowsTheRestOfThePhase) {
  TestBoard board("a100", 2);
  const int slot = board.view().attach(1, 1, at(0));
  board.view().start(slot, std::span(&kCompute, 1), 1, at(0));
  board.view().lock_clocks(705, 705, at(1));
  board.view().advance(at(9));
  const Record& record = board.record(slot, 0);
  // The change takes 6 to 28 ms; the remaining half takes twice as long.
  EXPECT_GT(seconds(record.end), 2.95);
  EXPECT_LT(seconds(record.end), 3.0);
}

TEST(Board, ALockTakesHoldAfterTheTargetsLatencyAndRoundsDown) {
  TestBoard board("h100", 5);
  const int slot = board.view().attach(1, 1, at(0));
  board.view().start(slot, std::span(&kMemory, 1), 9, at(0));
  double of_target[2] = {0, 0};
  for (int k = 0; k < 2; ++k) {
    const double target = k == 0 ? 1000 : 1500;
    const double start = 1 + k;
    board.view().lock_clocks(target, target, at(start));
    double t = start;
    while (board.view().board().sm_mhz > target || board.view().board().switch_at != 0) {
      t += 0.001;
      board.view().advance(at(t));
    }
    of_target[k] = t - start;
    EXPECT_GE(of_target[k], 0.009);
    EXPECT_LE(of_target[k], 0.101);
  }
  EXPECT_NE(std::lround(of_target[0] * 1000), std::lround(of_target[1] * 1000));
  EXPECT_EQ(board.view().board().sm_mhz, 1500);  // 345 + 15 k
  board.view().lock_clocks(1007, 1007, at(4));
  board.view().advance(at(4.5));
  EXPECT_EQ(board.view().board().sm_mhz, 1005);
  board.view().unlock_clocks(at(5));
  board.view().advance(at(5.5));
  EXPECT_EQ(board.view().board().sm_mhz, 1980);
}

TEST(Board, ThePowerLimitLowersTheClockAndSaysSo) {
  TestBoard board("a100", 4);
  const Phase heavy{60, 1.0, 0.7, -1};
  const int slot = board.view().attach(1, 1, at(0));
  board.view().start(slot, std::span(&heavy, 1), 1, at(0));
  board.view().set_limit(250, at(1));
  board.view().advance(at(20));
  EXPECT_LT(board.view().board().sm_mhz, 1410);
  EXPECT_LE(board.view().board().power.total_w, 251);
  EXPECT_GT(board.view().board().power.total_w, 230);
  EXPECT_NE(board.view().board().reasons & kReasonPowerCap, 0U);
  EXPECT_GT(board.view().capped_ns_at(at(20)), 18'000'000'000);
  board.view().set_limit(400, at(20));
  board.view().lock_clocks(900, 900, at(20));
  board.view().advance(at(22));
  EXPECT_EQ(board.view().board().reasons & kReasonPowerCap, 0U);
}

TEST(Board, IdleBoardSettlesAndHoursPassAtOnce) {
  TestBoard board("a100", 6);
  board.view().advance(at(400));
  EXPECT_TRUE(board.view().board().settled);
  const double before = board.view().mark_at(at(400)).energy_j;
  board.view().advance(at(400 + 86400));
  const double after = board.view().mark_at(at(400 + 86400)).energy_j;
  EXPECT_NEAR((after - before) / 86400, board.view().board().power.total_w, 1e-6);
  EXPECT_GT(board.view().board().power.total_w, 45);
  EXPECT_LT(board.view().board().power.total_w, 60);
}

TEST(Board, WarmBoardsDrawMore) {
  TestBoard board("v100", 6);
  const Phase steady{120, 0.8, 0.4, -1};
  const int slot = board.view().attach(1, 1, at(0));
  board.view().start(slot, std::span(&steady, 1), 1, at(0));
  board.view().advance(at(0.5));
  const double cold = board.view().board().power.total_w;
  board.view().advance(at(100));
  EXPECT_GT(board.view().board().temperature_c, 45);
  EXPECT_GT(board.view().board().power.total_w, cold * 1.01);
}

TEST(Board, AGivenPowerIsDrawnAtTheDefaultClockAndLessBelow) {
  TestBoard board("a100", 6);
  const Phase phase{10, 0.5, 0.5, 200};
  const int slot = board.view().attach(1, 1, at(0));
  board.view().start(slot, std::span(&phase, 1), 1, at(0));
  board.view().advance(at(1));
  EXPECT_DOUBLE_EQ(board.view().board().power.total_w, 200);
  board.view().lock_clocks(1005, 1005, at(1));
  board.view().advance(at(2));
  EXPECT_LT(board.view().board().power.total_w, 170);
}

TEST(Board, TwoProcessesShareAGpuAndADetachedOneStops) {
  TestBoard board("a100", 6);
  const int a = board.view().attach(1, 1, at(0));
  const int b = board.view().attach(2, 1, at(0));
  board.view().start(a, std::span(&kCompute, 1), 1, at(0));
  board.view().start(b, std::span(&kCompute, 1), 1, at(0));
  board.view().advance(at(3));
  EXPECT_EQ(board.view().board().jobs[a].state, JobState::kRunning);
  board.view().detach(b, at(3));
  board.view().advance(at(3.6));
  EXPECT_EQ(board.view().board().jobs[a].state, JobState::kDone);  // half done at 3 s, alone since
  EXPECT_NEAR(seconds(board.record(a, 0).end), 3.5, 1e-3);
}

TEST(Board, PhysicalFaultsActOnTheClock) {
  const auto clock_after_lock = [](std::uint32_t fault, double t) {
    TestBoard board("h100", 8, fault);
    const int slot = board.view().attach(1, 1, at(0));
    board.view().start(slot, std::span(&kMemory, 1), 99, at(0));
    board.view().lock_clocks(1200, 1200, at(0.5));
    board.view().advance(at(t));
    return board.view().board().sm_mhz;
  };
  EXPECT_EQ(clock_after_lock(0, 3), 1200);
  EXPECT_EQ(clock_after_lock(kLockNotHeld, 3), 1980);
  EXPECT_LT(clock_after_lock(kClockDrift, 3.5), 1140);
  TestBoard hot("a100", 8, kHot);
  const Phase warm{200, 0.9, 0.4, -1};
  hot.view().start(hot.view().attach(1, 1, at(0)), std::span(&warm, 1), 1, at(0));
  hot.view().advance(at(100));
  EXPECT_NE(hot.view().board().reasons & kReasonThermal, 0U);
  EXPECT_LT(hot.view().board().sm_mhz, 1410);
  EXPECT_GT(hot.view().thermal_ns_at(at(100)), 0);
  TestBoard capped("a100", 8, kPowerCapped);
  capped.view().start(capped.view().attach(1, 1, at(0)), std::span(&warm, 1), 1, at(0));
  capped.view().advance(at(5));
  EXPECT_NE(capped.view().board().reasons & kReasonPowerCap, 0U);
  EXPECT_LE(capped.view().board().power.total_w, 0.6 * 400);
  TestBoard drifting("h100", 8, kMemoryDrift);
  const int slot = drifting.view().attach(1, 1, at(0));
  drifting.view().start(slot, std::span(&kMemory, 1), 99, at(0));
  drifting.view().advance(at(3.5));
  EXPECT_EQ(drifting.view().board().memory_mhz, 1593);
}

}  // namespace
}  // namespace ergon::sim
