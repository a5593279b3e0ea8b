// Policies survive the way through a file; damage is refused with its field named.
#include "ergon/policy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "ergon/io.hpp"

// NOLINTBEGIN(bugprone-unchecked-optional-access): a test that finds nothing where something must
// be may stop there.
namespace ergon::policy {
namespace {

Policy example() {
  Policy p;
  p.device = "a100-sxm4-80gb";
  p.max_slowdown = 0.03;
  p.deadline = Seconds(0.0123);
  p.predicted_time = Seconds(0.0122);
  p.predicted_energy = Joules(3.25);
  p.default_time = Seconds(0.0119);
  p.default_energy = Joules(4.5);
  p.repeats = true;
  p.switch_time = Seconds(0.025);
  p.switch_energy = Joules(0.05);
  p.min_run = Seconds(0.1);
  p.packs = {{"p0", "0", Hertz(1410e6)}, {"p1", "0", Hertz(1005e6)}, {"p2", "1", Hertz(1410e6)}};
  p.markers = {{"p1", "ampere_sgemm<\"x\">", 2, "ProfilerStep#3"}, {"p2", "k", 0, std::nullopt}};
  p.inputs = {"trace.json.gz 0123456789abcdef"};
  return p;
}

TEST(Policy, RoundTrip) {
  const std::string text = write_policy(example());
  const auto p = read_policy(text);
  ASSERT_TRUE(p.has_value()) << p.error().message;
  EXPECT_EQ(write_policy(*p), text);
  EXPECT_EQ(p->packs[1].clock, Hertz(1005e6));
  EXPECT_EQ(p->markers[0].first_kernel, "ampere_sgemm<\"x\">");
  EXPECT_EQ(*p->markers[0].annotation, "ProfilerStep#3");
  EXPECT_FALSE(p->markers[1].annotation.has_value());
  EXPECT_DOUBLE_EQ(p->max_slowdown, 0.03);
}

TEST(Policy, ADeadlineInsteadOfASlowdownIsNull) {
  Policy p = example();
  p.max_slowdown = std::nan("");
  const std::string text = write_policy(p);
  EXPECT_NE(text.find("\"max_slowdown\": null"), std::string::npos);
  EXPECT_TRUE(std::isnan(read_policy(text)->max_slowdown));
}

TEST(Policy, PacksStandInTheContractsForm) {
  const auto v = io::parse_json(write_policy(example()));
  const auto* packs = v->find("packs")->as_array();
  ASSERT_EQ(packs->size(), 3U);
  const auto* first = (*packs)[0].as_object();
  ASSERT_EQ(first->size(), 3U);
  EXPECT_EQ((*first)[0].first, "pack");
  EXPECT_EQ((*first)[1].first, "gpu");
  EXPECT_EQ((*first)[2].first, "clock_hz");
}

TEST(Policy, FieldsOfANewerWriterAreLeftAlone) {
  Value v = *io::parse_json(write_policy(example()));
  v.set("temperature_c", 60);
  EXPECT_TRUE(read_policy(io::to_json(v)).has_value());
  v = *io::parse_json(write_policy(example()));
  std::erase_if(*v.as_object(),
                [](const auto& m) { return m.first == "markers" || m.first == "inputs"; });
  EXPECT_TRUE(read_policy(io::to_json(v)).has_value());
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = write_policy(example());
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Policy, DamageIsRefusedWithItsField) {
  const std::vector<std::pair<std::string, std::string>> all = {
      {with("ergon.policy/1", "ergon.policy/2"), "schema: expected"},
      {with("\"device\": \"a100-sxm4-80gb\"", "\"device\": 7"),
       "device: expected text, found a number"},
      {with("\"max_slowdown\": 0.03", "\"max_slowdown\": -1"),
       "max_slowdown: expected a number from 0"},
      {with("\"deadline_s\": 0.0123", "\"deadline_s\": \"12ms\""),
       "deadline_s: expected a finite number, found text"},
      {with("\"deadline_s\": 0.0123,", ""), "deadline_s: missing"},
      {with("\"origin\": \"modelled\"", "\"origin\": \"hoped\""),
       "predicted.origin: expected measured"},
      {with("\"repeats\": true", "\"repeats\": 1"), "repeats: expected true or false"},
      {with("\"min_run_s\": 0.1", "\"min_run_s\": null"),
       "switch.min_run_s: expected a finite number, found null"},
      {with("\"pack\": \"p1\"", "\"pack\": \"p0\""), "packs[1].pack: pack \"p0\" is listed twice"},
      {with("\"pack\": \"p0\"", "\"pack\": \"\""), "packs[0].pack: expected a name"},
      {with("\"gpu\": \"0\"", "\"gpu\": 0"), "packs[0].gpu: expected text"},
      {with("\"occurrence\": 2", "\"occurrence\": -2"),
       "markers[0].occurrence: expected a whole number"},
      {with("\"occurrence\": 2", "\"occurrence\": 0.5"),
       "markers[0].occurrence: expected a whole number"},
      {with("\"annotation\": \"ProfilerStep#3\"", "\"annotation\": 3"),
       "markers[0].annotation: expected text"},
      {with("\"inputs\": [", "\"inputs\": [1, "), "inputs: expected only texts"},
      {R"({"schema": "ergon.policy/1", "device": "x", "max_slowdown": null, "deadline_s": 1})",
       "predicted: missing"},
      {"[]", "document: expected an object"},
      {with("\"gpu\": \"0\"", "\"gpu\": \"\xe7\""), "is not UTF-8"},
  };
  for (const auto& [text, says] : all) {
    const auto r = read_policy(text);
    ASSERT_FALSE(r.has_value()) << says;
    EXPECT_EQ(r.error().code, Errc::kMalformedInput);
    EXPECT_NE(r.error().message.find(says), std::string::npos)
        << r.error().message << "\n wanted: " << says;
    EXPECT_FALSE(r.error().hint.empty());
  }
  for (const std::string clock : {"1410", "0", "1e300", "-1.41e9"}) {  // MHz is not hertz
    Value v = *io::parse_json(write_policy(example()));
    Value packs = *v.find("packs");
    (*packs.as_array())[0].set("clock_hz", *io::parse_json(clock));
    v.set("packs", packs);
    const auto r = read_policy(io::to_json(v));
    ASSERT_FALSE(r.has_value()) << clock;
    EXPECT_NE(r.error().message.find("packs[0].clock_hz"), std::string::npos) << r.error().message;
  }
  Value unlisted = *io::parse_json(write_policy(example()));
  Value markers = *unlisted.find("markers");
  (*markers.as_array())[0].set("pack", "p9");
  unlisted.set("markers", markers);
  EXPECT_NE(read_policy(io::to_json(unlisted)).error().message.find("\"p9\" is not listed"),
            std::string::npos);
  EXPECT_EQ(read_policy("{").error().code, Errc::kMalformedInput);
}

TEST(PolicySchema, IsJson) {
  const auto v = io::parse_json(policy_schema());
  ASSERT_TRUE(v.has_value());
  EXPECT_EQ(*v->find("$id")->as_string(), "ergon.policy/1");
}

}  // namespace
}  // namespace ergon::policy
// NOLINTEND(bugprone-unchecked-optional-access)
