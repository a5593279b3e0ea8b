#include "ergon/sim/config.hpp"

#include <gtest/gtest.h>

#include "ergon/sim/board.hpp"

namespace ergon::sim {
namespace {

TEST(Config, ReadsWhatIsAsked) {
  const auto config = parse_config(
      "h100,gpus=2,seed=7,gain=1.05,fault=counter-reset@3.5s+lock-not-held+slow-calls");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_STREQ(config->model->key, "h100");
  EXPECT_EQ(config->gpus, 2U);
  EXPECT_EQ(config->seed, 7U);
  EXPECT_EQ(config->gain, 1.05);
  EXPECT_EQ(config->physical_faults, kLockNotHeld);
  ASSERT_EQ(config->call_faults.size(), 2U);
  EXPECT_EQ(config->call_faults[0].fault, CallFault::kCounterReset);
  EXPECT_EQ(config->call_faults[0].since_s, 3.5);
}

TEST(Config, EveryModelAndFaultIsKnown) {
  for (const auto key : model_keys()) EXPECT_TRUE(parse_config(key)) << key;
  for (const auto name : fault_names())
    EXPECT_TRUE(parse_config("a100,fault=" + std::string(name))) << name;
}

TEST(Config, RefusesTheRestAndSaysWhatIsAccepted) {
  for (const char* text :
       {"", "k80", "a100,gpus=0", "a100,gpus=9", "a100,seed=-1", "a100,seed=x", "a100,fault=nope",
        "a100,fault=counter-reset@3", "a100,fault=counter-reset@-1s", "a100,colour=red",
        "a100,gain=nan", "a100,gain=9", "a100,fault=clock-drift@3s"}) {
    const auto config = parse_config(text);
    ASSERT_FALSE(config) << text;
    EXPECT_FALSE(config.error().hint.empty()) << text;
  }
}

}  // namespace
}  // namespace ergon::sim
