// Units do not mix, unknown stays null, errors keep their exit codes.
#include "ergon/base.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "ergon/base/radix_sort.hpp"

namespace ergon {
namespace {

template <class A, class B>
concept Addable = requires(A a, B b) { a + b; };

static_assert(std::is_same_v<decltype(Joules(1) / Seconds(1)), Watts>);
static_assert(std::is_same_v<decltype(Watts(1) * Seconds(1)), Joules>);
static_assert(std::is_same_v<decltype(Joules(1) / Joules(2)), double>);
static_assert(!Addable<Joules, Watts>);
static_assert(to_seconds(1'500'000'000) == Seconds(1.5));

Result<int> half(int v) {
  if (v % 2 != 0) return fail(Errc::kMalformedInput, "odd");
  return v / 2;
}
Result<int> quarter(int v) {
  ERGON_TRY(const int h, half(v));
  return half(h);
}

TEST(Result, TryReturnsTheFirstError) {
  EXPECT_EQ(quarter(8).value(), 2);
  ASSERT_FALSE(quarter(6).has_value());
  EXPECT_EQ(exit_code(quarter(6).error().code), 3);
}

TEST(RadixSort, EqualsStableSort) {
  std::mt19937_64 random(5);
  for (const std::size_t size : {0U, 1U, 2U, 511U, 512U, 5000U}) {
    for (const std::int64_t spread : {std::int64_t{0}, std::int64_t{3}, std::int64_t{100000},
                                      std::numeric_limits<std::int64_t>::max()}) {
      std::vector<std::pair<std::int64_t, int>> items(size);
      for (std::size_t i = 0; i < size; ++i) {
        const auto magnitude =
            static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(spread) + 1));
        items[i] = {i % 2 == 0 ? magnitude : -magnitude, static_cast<int>(i)};
      }
      auto expected = items;
      std::ranges::stable_sort(expected, {}, [](const auto& item) { return item.first; });
      radix_sort(items, [](const auto& item) { return item.first; });
      EXPECT_EQ(items, expected) << size << " " << spread;
    }
  }
}

TEST(Value, ObjectsKeepOrderAndReplaceByName) {
  Value v;
  v.set("b", 1).set("a", 2.5).set("b", nullptr);
  ASSERT_EQ(v.as_object()->size(), 2U);
  EXPECT_EQ(v.as_object()->front().first, "b");
  EXPECT_TRUE(v.find("b")->is_null());
  EXPECT_EQ(*v.find("a")->as_double(), 2.5);
  EXPECT_EQ(v.find("c"), nullptr);
}

TEST(Origin, WordsRoundTrip) {
  EXPECT_EQ(origin_from("published"), Origin::kPublished);
  EXPECT_STREQ(to_string(Origin::kSimulated), "simulated");
  EXPECT_FALSE(origin_from("guessed").has_value());
}

TEST(CheckDeathTest, ABugStopsTheProgram) {
  EXPECT_DEATH(ERGON_CHECK(1 == 2, "sums differ"), "sums differ");
}

}  // namespace
}  // namespace ergon
