// Exit statuses, streams, signals of a wrapped program.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ergon/gpu/machine.hpp"
#include "ergon/run.hpp"

namespace ergon::run {
namespace {

Program program_of(std::vector<std::string> words) {
  return {.words = std::move(words), .environment = {"PATH=/usr/bin:/bin", "GIVEN=yes"}};
}

sigset_t no_mask() {
  sigset_t mask;
  sigemptyset(&mask);
  return mask;
}

Ending run_to_end(const Program& program, Signals* signals = nullptr) {
  auto child = Child::start(program, signals == nullptr ? no_mask() : signals->before());
  EXPECT_TRUE(child.has_value()) << (child ? "" : child.error().message);
  if (!child) return {};
  return wait_for(*child, signals, 5'000'000, [] { return true; });
}

TEST(Child, PassesTheExitStatusOn) {
  EXPECT_EQ(run_to_end(program_of({"true"})).status, 0);
  EXPECT_EQ(run_to_end(program_of({"sh", "-c", "exit 7"})).status, 7);
  const auto killed = run_to_end(program_of({"sh", "-c", "kill -9 $$"}));
  EXPECT_EQ(killed.status, 137);
  EXPECT_EQ(killed.signal, 9);
  EXPECT_EQ(run_to_end(program_of({"sh", "-c", "test \"$GIVEN\" = yes"})).status, 0);
}

TEST(Child, WhatCannotBeStartedHasAShellsStatus) {
  const auto missing = Child::start(program_of({"no-such-program"}), no_mask());
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(status_of_failed_start(missing.error()), 127);
  const auto folder = Child::start(program_of({"/tmp"}), no_mask());
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(status_of_failed_start(folder.error()), 126);
}

TEST(Child, HasTheDefaultForSigpipe) {
  std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(run_to_end(program_of({"sh", "-c", "kill -PIPE $$; exit 0"})).signal, SIGPIPE);
  std::signal(SIGPIPE, SIG_DFL);
}

TEST(Child, SignalsToUsArePassedOnAndWeLive) {
  Signals signals;
  auto child =
      Child::start(program_of({"sh", "-c", "trap 'exit 5' TERM; while :; do sleep 0.01; done"}),
                   signals.before());
  ASSERT_TRUE(child.has_value());
  bool sent = false;
  const Nanos start = gpu::monotonic_now();
  const auto ending = wait_for(*child, &signals, 1'000'000, [&] {
    if (!sent && gpu::monotonic_now() - start > 60'000'000) {
      sent = true;
      ::kill(::getpid(), SIGTERM);
    }
    return true;
  });
  EXPECT_EQ(ending.status, 5);
}

TEST(Child, IsEndedOnRequestWithItsGroup) {
  Program program = program_of({"sh", "-c", "sleep 100 & wait"});
  program.own_group = true;
  auto child = Child::start(program, no_mask());
  ASSERT_TRUE(child.has_value());
  const Nanos start = gpu::monotonic_now();
  const auto ending = wait_for(*child, nullptr, 1'000'000, [] { return false; });
  EXPECT_EQ(ending.signal, SIGTERM);
  EXPECT_LT(gpu::monotonic_now() - start, 2'000'000'000);
}

TEST(Child, TellsWhetherItHadChildren) {
  const auto ending_of = [](const char* script) {
    auto child = Child::start(program_of({"sh", "-c", script}), no_mask());
    return wait_for(*child, nullptr, 1'000'000, [] { return true; });
  };
  EXPECT_EQ(ending_of("exit 0").had_children, std::optional(false));
  EXPECT_EQ(ending_of("/bin/true; exit 0").had_children, std::optional(true));
}

TEST(Watched, EndsWithTheProcess) {
  auto child = Child::start(program_of({"sleep", "0.05"}), no_mask());
  ASSERT_TRUE(child.has_value());
  const auto watched = Watched::open(child->pid());
  ASSERT_TRUE(watched.has_value());
  EXPECT_FALSE(watched->ended());
  const Nanos start = gpu::monotonic_now();
  wait_until(start + 5'000'000'000, &*watched, nullptr, 10'000'000, [] {});
  EXPECT_LT(gpu::monotonic_now() - start, 2'000'000'000);
  EXPECT_TRUE(watched->ended());
  while (!child->poll()) {
  }
  EXPECT_FALSE(Watched::open(child->pid()).has_value());
}

TEST(Signals, EndAWait) {
  Signals signals;
  ::kill(::getpid(), SIGINT);
  const auto caught =
      wait_until(gpu::monotonic_now() + 1'000'000'000, nullptr, &signals, 10'000'000, [] {});
  ASSERT_TRUE(caught.has_value());
  EXPECT_EQ(caught->number, SIGINT);
  EXPECT_FALSE(caught->by_terminal);
}

}  // namespace
}  // namespace ergon::run
