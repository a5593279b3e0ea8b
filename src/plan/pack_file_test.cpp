// Reading, writing and refusing pack files.
#include <gtest/gtest.h>

#include "ergon/plan.hpp"
#include "random_problem.hpp"

namespace ergon::plan {
namespace {

constexpr const char* kGood = R"({"schema": "ergon.packs/1",
 "gpus":  [{"id": "0", "idle_power_w": 60}],
 "switch": {"time_s": 0.002, "energy_j": 0.05, "min_run_s": 0},
 "repeats": false,
 "packs": [{"id": "b3", "gpu": "0", "options": [{"clock_hz": 1.41e9, "time_s": 0.010, "energy_j": 2.9}]},
           {"id": "f0", "gpu": "0", "after": [{"pack": "b3", "lag_s": 0}],
            "options": [{"clock_hz": 1.41e9, "time_s": 0.020, "energy_j": 2.9}]}]})";

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(PackFile, reads_the_contracts_example) {
  const auto p = read_packs(kGood);
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->gpus.size(), 1U);
  EXPECT_EQ(p->gpus[0].idle_power_w, 60);
  EXPECT_EQ(p->switching.energy_j, 0.05);
  EXPECT_EQ(p->packs[1].after[0].pack, 0U);
  EXPECT_EQ(p->packs[1].options[0].time_s, 0.020);
}

TEST(PackFile, writes_what_it_reads) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::string text = write_packs(testing::random_small(seed));
    const auto p = read_packs(text);
    ASSERT_TRUE(p) << p.error().message;
    EXPECT_EQ(write_packs(*p), text);
  }
}

struct Bad {
  std::string from, to, message;
};

TEST(PackFile, refuses_and_names_the_pack) {
  const std::vector<Bad> all = {
      {R"("pack": "b3")", R"("pack": "f0")", "pack \"f0\": is part of a cycle"},
      {R"("id": "b3", "gpu": "0",)",
       R"("id": "b3", "gpu": "0", "after": [{"pack": "f0", "lag_s": 0}],)",
       "pack \"b3\": is part of a cycle"},
      {R"("options": [{"clock_hz": 1.41e9, "time_s": 0.020, "energy_j": 2.9}])", R"("options": [])",
       "pack \"f0\": has no options"},
      {R"("options": [{"clock_hz": 1.41e9, "time_s": 0.020, "energy_j": 2.9}])", R"("x": 1)",
       "pack \"f0\": has no options"},
      {R"({"clock_hz": 1.41e9, "time_s": 0.020, "energy_j": 2.9})",
       R"({"clock_hz": 1.41e9, "time_s": 0.020, "energy_j": 2.9}, {"clock_hz": 1410000000, "time_s": 1, "energy_j": 1})",
       "pack \"f0\": lists the clock 1.41e+09 Hz twice"},
      {"0.020", "NaN", "pack \"f0\""},
      {"0.020", "1e999", "pack \"f0\""},
      {"0.020", "\"NaN\"", "pack \"f0\": time_s is not a number"},
      {"0.020", "null", "pack \"f0\": time_s is not a number"},
      {"0.020", "-0.020", "pack \"f0\": time_s is negative"},
      {"\"time_s\": 0.020, ", "", "pack \"f0\": has no time_s"},
      {"\"time_s\": 0.020, \"energy_j\": 2.9", "\"time_s\": 0.020, \"energy_j\": -1",
       "pack \"f0\": energy_j is negative"},
      {"1.41e9, \"time_s\": 0.020", "0, \"time_s\": 0.020",
       "pack \"f0\": clock_hz is not above zero"},
      {"\"lag_s\": 0", "\"lag_s\": -1e-9", "pack \"f0\", after: lag_s is negative"},
      {R"("pack": "b3")", R"("pack": "x")",
       "pack \"f0\": waits for pack \"x\", which is not listed"},
      {R"("id": "f0")", R"("id": "b3")", "pack \"b3\": is listed twice"},
      {R"("id": "f0", "gpu": "0")", R"("id": "f0", "gpu": "7")",
       "pack \"f0\": runs on gpu \"7\", which is not listed"},
      {R"("idle_power_w": 60)", R"("idle_power_w": -60)", "gpu \"0\": idle_power_w is negative"},
      {R"(, "idle_power_w": 60)", "", "gpu \"0\": has no idle_power_w"},
      {R"("time_s": 0.002)", R"("time_s": -0.002)", "switch: time_s is negative"},
      {R"("min_run_s": 0)", R"("min_run_s": "0")", "switch: min_run_s is not a number"},
      {"false", "0", "repeats is neither true nor false"},
      {"packs/1", "packs/2", "has schema \"ergon.packs/2\""},
  };
  for (const Bad& bad : all) {
    const auto p = read_packs(with(kGood, bad.from, bad.to));
    ASSERT_FALSE(p) << bad.message;
    EXPECT_EQ(p.error().code, Errc::kMalformedInput);
    EXPECT_NE(p.error().message.find(bad.message), std::string::npos)
        << p.error().message << "\nexpected " << bad.message;
    EXPECT_FALSE(p.error().hint.empty());
  }
}

TEST(PackFile, a_pack_listed_too_early_is_no_cycle) {
  const std::string text =
      R"({"schema": "ergon.packs/1", "gpus": [{"id": "0", "idle_power_w": 0}, {"id": "1", "idle_power_w": 0}],
    "packs": [{"id": "late", "gpu": "0", "after": [{"pack": "early"}], "options": [{"clock_hz": 1, "time_s": 1, "energy_j": 1}]},
              {"id": "early", "gpu": "1", "options": [{"clock_hz": 1, "time_s": 1, "energy_j": 1}]}]})";
  const auto p = read_packs(text);
  ASSERT_FALSE(p);
  EXPECT_NE(p.error().message.find("pack \"late\": is listed before a pack that it waits for"),
            std::string::npos)
      << p.error().message;
}

TEST(PackFile, refuses_what_is_no_pack_file) {
  for (const std::string text :
       {"", "[]", "{}", "7", R"({"schema": 1})", R"({"schema": "ergon.packs/1"})",
        R"({"schema": "ergon.packs/1", "gpus": [{"id": "0", "idle_power_w": 0}], "packs": []})"}) {
    const auto p = read_packs(text);
    ASSERT_FALSE(p) << text;
    EXPECT_EQ(p.error().code, Errc::kMalformedInput);
  }
}

}  // namespace
}  // namespace ergon::plan
