// The CSV of measured options.
#include <gtest/gtest.h>

#include "ergon/plan.hpp"

namespace ergon::plan {
namespace {

TEST(Measured, a_chain_in_order_of_first_appearance) {
  const auto packs = read_measured(
      "pack,clock_hz,time_s,energy_j\nb,1e9,0.2,5\na,1e9,0.1,3\r\n\"b\",2e9,0.15,6\n");
  ASSERT_TRUE(packs) << packs.error().message;
  ASSERT_EQ(packs->size(), 3U);
  EXPECT_EQ((*packs)[2].line, 4U);
  const auto chain = measured_chain(*packs);
  ASSERT_TRUE(chain);
  const Problem& p = *chain;
  ASSERT_EQ(p.packs.size(), 2U);
  EXPECT_EQ(p.packs[0].id, "b");
  EXPECT_EQ(p.packs[0].options.size(), 2U);
  EXPECT_EQ(p.packs[0].options[1].time_s, 0.15);
  EXPECT_EQ(p.gpus[0].idle_power_w, 0);
  EXPECT_EQ(p.switching.time_s, 0);
  EXPECT_FALSE(p.repeats);
  EXPECT_TRUE(read_packs(write_packs(p)));
}

TEST(Measured, columns_may_come_in_any_order_with_others_beside_them) {
  const auto packs = read_measured("time_s,note,energy_j,pack,clock_hz\n1,x,2,a,3e9\n");
  ASSERT_TRUE(packs);
  EXPECT_EQ((*packs)[0].option.clock_hz, 3e9);
  EXPECT_EQ((*packs)[0].option.energy_j, 2);
}

TEST(Measured, no_rows_make_no_chain) { EXPECT_FALSE(measured_chain({})); }

TEST(Measured, errors_name_the_line) {
  struct BadRow {
    std::string text;
    std::uint64_t line;
    std::string says;
  };
  const std::string head = "pack,clock_hz,time_s,energy_j\n";
  for (const BadRow& bad : {
           BadRow{"pack,clock,time_s,energy_j\na,1,1,1\n", 1, "no column clock_hz"},
           BadRow{"pack,clock_hz,time_s,energy_j,pack\na,1,1,1,a\n", 1, "pack is there twice"},
           BadRow{head, 1, "no row"},
           BadRow{head + "a,1e9,1,1\n,1e9,1,1\n", 3, "pack is empty"},
           BadRow{head + "a,1e9,1,1\n\na,2e9,x,1\n", 4, "time_s is \"x\""},
           BadRow{head + "a,1e9,nan,1\n", 2, "time_s is \"nan\""},
           BadRow{head + "a,1e9,inf,1\n", 2, "time_s is \"inf\""},
           BadRow{head + "a,0,1,1\n", 2, "clock_hz is 0"},
           BadRow{head + "a,1e9,-1,1\n", 2, "time_s is -1"},
           BadRow{head + "a,1e9,1,-2\n", 2, "energy_j is -2"},
           BadRow{head + "a,1e9,1,\n", 2, "energy_j is \"\""},
           BadRow{head + "a,1410,1,1\n", 2, "looks like MHz"},
           BadRow{"pack;clock_hz;time_s;energy_j\na;1e9;1;1\n", 1, "expected commas"},
           BadRow{head + "a,1410MHz,1,1\n", 2, "clock_hz is \"1410MHz\""},
           BadRow{head + "a,1e9,1,1\nb,1e9,1,1\na,1000000000,2,2\n", 4, "already, on line 2"},
           BadRow{head + "a,1e9,1\n", 2, "3 fields"},
       }) {
    const auto packs = read_measured(bad.text);
    ASSERT_FALSE(packs) << bad.text;
    EXPECT_EQ(packs.error().code, Errc::kMalformedInput);
    EXPECT_EQ(packs.error().line, bad.line) << packs.error().message;
    EXPECT_NE(packs.error().message.find(bad.says), std::string::npos) << packs.error().message;
  }
}

}  // namespace
}  // namespace ergon::plan
