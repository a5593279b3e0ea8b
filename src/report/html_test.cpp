// The page: limits of its data, hostile names, and no way out.
#include <gtest/gtest.h>

#include "ergon/report.hpp"
#include "ergon/report/page.hpp"

namespace ergon::report {
namespace {

const Value& member(const Value& value, std::string_view key) {
  const Value* found = value.find(key);
  EXPECT_NE(found, nullptr) << key;
  return *found;
}

Page busy_page(std::size_t slices) {
  Timeline timeline{.gpus = {{.id = "0", .lanes = {{.name = "stream 7", .slices = {}}}}},
                    .names = {{"a", "kernel"}, {"b", "kernel"}}};
  for (std::size_t i = 0; i < slices; ++i) {
    timeline.gpus[0].lanes[0].slices.push_back({.start_ns = 1000 + static_cast<Nanos>(i) * 100,
                                                .duration_ns = i % 3 == 0 ? 80 : 40,
                                                .name = i % 3 == 0});
  }
  timeline.gpus[0].packs = {{.id = "p0", .start_ns = 1000, .end_ns = 5000, .clock_hz = 1.41e9}};
  Page page;
  page.timeline = std::move(timeline);
  return page;
}

// Sums the counts of a lane and checks that its slices lie in the span.
std::int64_t operations(const Value& timeline) {
  const auto& gpu = (*member(timeline, "gpus").as_array())[0];
  const auto& data = *member((*member(gpu, "streams").as_array())[0], "slices").as_array();
  std::int64_t count = 0;
  std::int64_t end = 0;
  for (std::size_t i = 0; i < data.size(); i += 4) {
    end += *data[i].as_int() + *data[i + 1].as_int();
    count += *data[i + 3].as_int();
  }
  EXPECT_LE(end, *member(timeline, "span_ns").as_int());
  return count;
}

TEST(Page, SlicesBelowTheLimitAreKeptAsTheyAre) {
  const auto page = to_value(busy_page(100));
  const auto& timeline = member(page, "timeline");
  EXPECT_EQ(*member(timeline, "bundle_ns").as_int(), 0);
  const auto& gpu = (*member(timeline, "gpus").as_array())[0];
  const auto& data = *member((*member(gpu, "streams").as_array())[0], "slices").as_array();
  ASSERT_EQ(data.size(), 400U);
  EXPECT_EQ(*data[0].as_int(), 0);  // the span starts with the first slice
  EXPECT_EQ(*data[1].as_int(), 80);
  EXPECT_EQ(*data[4].as_int(), 20);  // after the end of the one before
  EXPECT_EQ(operations(timeline), 100);
  EXPECT_EQ(*member((*member(gpu, "packs").as_array())[0], "start_ns").as_int(), 0);
}

TEST(Page, LargeTimelinesAreBundledAndLoseNoOperation) {
  const auto page = to_value(busy_page(50'000), {.slices = 1'000});
  const auto& timeline = member(page, "timeline");
  EXPECT_GT(*member(timeline, "bundle_ns").as_int(), 0);
  EXPECT_EQ(*member(timeline, "operations").as_int(), 50'000);
  EXPECT_EQ(operations(timeline), 50'000);
  const auto& gpu = (*member(timeline, "gpus").as_array())[0];
  const auto& data = *member((*member(gpu, "streams").as_array())[0], "slices").as_array();
  EXPECT_LE(data.size() / 4, 1'000U);
  EXPECT_GE(data.size() / 4, 250U);
  EXPECT_EQ(*data[2].as_int(), 1) << "the name with most of the time";
}

TEST(Page, TheAxisIsThatOfTheSpan) {
  Page page;
  page.timeline =
      Timeline{.gpus = {{.id = "0", .lanes = {{.name = "stream 7", .slices = {{5'000, 100, 0}}}}}},
               .names = {{"k", "kernel"}},
               .span = std::pair<Nanos, Nanos>(4'000, 9'000)};
  const auto value = to_value(page);
  const auto& timeline = member(value, "timeline");
  EXPECT_EQ(*member(timeline, "start_ns").as_int(), 4'000);
  EXPECT_EQ(*member(timeline, "span_ns").as_int(), 5'000);
  const auto& gpu = (*member(timeline, "gpus").as_array())[0];
  const auto& data = *member((*member(gpu, "streams").as_array())[0], "slices").as_array();
  EXPECT_EQ(*data[0].as_int(), 1'000);
}

TEST(Page, KernelsBeyondTheLimitAreCounted) {
  Page page;
  for (int i = 0; i < 10; ++i) {
    page.kernels.push_back(
        {.name = "k" + std::to_string(i), .kind = "kernel", .count = 1, .time_s = 1.0 + i});
  }
  const auto value = to_value(page, {.kernels = 4});
  EXPECT_EQ(member(value, "kernels").as_array()->size(), 4U);
  EXPECT_EQ(*member((*member(value, "kernels").as_array())[0], "name").as_string(), "k9");
  EXPECT_EQ(*member(value, "kernels_left_out").as_int(), 6);
  EXPECT_TRUE(member((*member(value, "kernels").as_array())[0], "energy_j").is_null());
}

TEST(Html, HostileNamesStayText) {
  const std::string hostile = "</script><img src=x onerror=alert(1)>\"'&\x1b[31m";
  Answer answer{.command = "plan", .headline = hostile, .lines = {hostile}};
  answer.tables.push_back({.title = hostile,
                           .columns = {{.title = hostile, .unit = hostile, .numeric = false}},
                           .rows = {{hostile}, {Value()}},
                           .note = hostile});
  answer.data.set("name", hostile);
  Page page;
  page.figures = {{.label = hostile, .value = 1.5, .unit = hostile, .note = hostile}};
  page.kernels = {{.name = hostile, .kind = hostile, .count = 1, .time_s = 1, .origin = hostile}};
  page.energy = {{.label = hostile, .parts = {{hostile, 1}}}};
  page.coverage = {{.title = hostile, .base = hostile, .parts = {{hostile, 1}}, .note = hostile}};
  page.timeline = Timeline{
      .gpus = {{.id = hostile, .name = hostile, .lanes = {{.name = hostile, .slices = {}}}}},
      .names = {{hostile, hostile}}};
  answer.page = to_value(page);
  const Envelope envelope{
      .version = "1",
      .inputs = {{.path = hostile, .bytes = 1, .format = hostile, .digest = hostile}},
      .warnings = {{.code = hostile, .message = hostile}},
      .skipped = {{hostile, 1}},
      .origin_shares = {{hostile, 1}},
      .command_line = hostile};
  const auto html = to_html(answer, envelope);
  if (!html) GTEST_SKIP() << html.error().message;
  EXPECT_EQ(html->find("<img"), std::string::npos);
  EXPECT_EQ(html->find('\x1b'), std::string::npos);
  std::size_t closings = 0;
  for (std::size_t at = html->find("</script"); at != std::string::npos;
       at = html->find("</script", at + 1))
    ++closings;
  EXPECT_EQ(closings, 3U) << "two documents and one script";
}

TEST(Html, StandsAloneWithoutScriptAndWithoutNetwork) {
  Answer answer{.command = "graph", .headline = "An answer.", .lines = {"A line."}};
  answer.tables.push_back(
      {.title = "T", .columns = {{.title = "time", .unit = "ms"}}, .rows = {{1.25}, {Value()}}});
  const auto html = to_html(answer, {.version = "1"});
  if (!html) GTEST_SKIP() << html.error().message;
  for (const auto* part :
       {"<h1>An answer.</h1>", "<p>A line.</p>", "data-v=\"1.25\" data-u=\"ms\">1.250</td>",
        "default-src 'none'", "<td class=\"num unknown\" data-v=\"\""}) {
    EXPECT_NE(html->find(part), std::string::npos) << part;
  }
  for (const auto* part : {"src=\"http", "href=\"http", "@import", "url("}) {
    EXPECT_EQ(html->find(part), std::string::npos) << part;
  }
  EXPECT_EQ(*html, *to_html(answer, {.version = "1"})) << "same input, same bytes";
}

}  // namespace
}  // namespace ergon::report
