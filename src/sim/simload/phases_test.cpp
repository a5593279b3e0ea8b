#include "phases.hpp"

#include <gtest/gtest.h>

namespace ergon::sim {
namespace {

TEST(Phases, ReadsThemWithDefaults) {
  const auto workload = parse_workload(
      R"({"repeat": 3, "phases": [{"name": "a", "duration_s": 2, "compute": 0.8, "memory": 0.3, "power_w": null},
                                  {"duration_s": 0.5, "power_w": 250.5}]})",
      "file");
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_EQ(workload->repeat, 3U);
  ASSERT_EQ(workload->phases.size(), 2U);
  EXPECT_EQ(workload->phases[0].duration_s, 2);
  EXPECT_EQ(workload->phases[0].power_w, -1);
  EXPECT_EQ(workload->phases[1].compute, 0);
  EXPECT_EQ(workload->phases[1].power_w, 250.5);
  EXPECT_EQ(workload->names[1], "phase 2");
}

TEST(Phases, RefusesWhatCannotBePlayed) {
  const char* const bad[] = {"",
                             "[]",
                             "{",
                             "{}",
                             R"({"phases": []})",
                             R"({"phases": [1]})",
                             R"({"phases": [{}]})",
                             R"({"phases": [{"duration_s": 0}]})",
                             R"({"phases": [{"duration_s": -1}]})",
                             R"({"phases": [{"duration_s": "2"}]})",
                             R"({"phases": [{"duration_s": 1, "compute": 1.5}]})",
                             R"({"phases": [{"duration_s": 1, "memory": -0.1}]})",
                             R"({"phases": [{"duration_s": 1, "power_w": -5}]})",
                             R"({"repeat": 0, "phases": [{"duration_s": 1}]})",
                             R"({"repeat": 1.5, "phases": [{"duration_s": 1}]})",
                             R"({"phases": [{"duration_s": 1, "name": 3}]})"};
  for (const char* text : bad) {
    const auto workload = parse_workload(text, "file");
    ASSERT_FALSE(workload) << text;
    EXPECT_EQ(workload.error().code, Errc::kMalformedInput);
    EXPECT_FALSE(workload.error().hint.empty());
  }
}

TEST(Phases, SaysWhichPhase) {
  const auto workload = parse_workload(
      R"({"phases": [{"duration_s": 1}, {"duration_s": 1, "compute": 2}]})", "w.json");
  EXPECT_NE(workload.error().message.find("phase 2"), std::string::npos)
      << workload.error().message;
  EXPECT_NE(workload.error().message.find("w.json"), std::string::npos);
}

}  // namespace
}  // namespace ergon::sim
