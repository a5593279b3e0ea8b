// Which text counts as an event seen before.
#include "counted.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ergon::trace::kineto {
namespace {

// Length of the match at the start of `text`, which is padded as a window is.
std::size_t found(CountedEvents& events, std::string_view event) {
  const std::size_t size = event.size();
  std::string text(event);
  text.resize(size + kPadding);
  return events.find(text.data(), text.data() + size).length;
}

std::size_t learned(std::string_view event, std::string_view text) {
  CountedEvents events;
  events.learn(event.data(), event.data() + event.size(), 's');
  return found(events, text);
}

constexpr std::string_view kFlow =
    R"(,{"ph": "s", "id": 17, "pid": 0, "ts": 1234.567, "name": "ac2g"})";

TEST(CountedEventsTest, OtherDigitsAreTheSameEvent) {
  EXPECT_EQ(learned(kFlow, kFlow), kFlow.size());
  EXPECT_EQ(
      learned(kFlow, R"(,{"ph": "s", "id": 98, "pid": 3, "ts": 7654.321, "name": "ac2g"},{"ph")"),
      kFlow.size());
}

TEST(CountedEventsTest, AnythingElseIsAnother) {
  EXPECT_EQ(learned(kFlow, R"(,{"ph": "s", "id": 170, "pid": 0, "ts": 1234.567, "name": "ac2g"})"),
            0U);
  EXPECT_EQ(learned(kFlow, R"(,{"ph": "X", "id": 17, "pid": 0, "ts": 1234.567, "name": "ac2g"})"),
            0U);
  EXPECT_EQ(learned(kFlow, R"(,{"ph": "s", "id": 1x, "pid": 0, "ts": 1234.567, "name": "ac2g"})"),
            0U);
  EXPECT_EQ(learned(kFlow, kFlow.substr(0, kFlow.size() - 1)), 0U) << "cut short";
}

TEST(CountedEventsTest, WhatOtherDigitsCouldTurnIntoSomethingElseIsNotLearned) {
  for (const std::string& odd : {
           std::string(R"(,{"ph": "s", "\u0070h": 1})"),  // a key by its code
           std::string(R"(,{"ph": "s", "ts": 12ab})"),    // where the number ends
           std::string(R"(,{"ph": "s", "ts": 12-5})"),    // likewise
           std::string(R"(,{"ph": "s", "ok": true})"),    // no number at all
           ",{\"ph\": \"s\", \"name\": \"" + std::string(300, 'n') + "\"}",
       }) {
    EXPECT_EQ(learned(odd, odd), 0U) << odd;
  }
}

TEST(CountedEventsTest, TheOldestGivesWay) {
  CountedEvents events;
  const auto event = [](char name) {
    return std::string(R"(,{"ph": "s", "name": ")") + name + "\"}";
  };
  for (const char name : {'a', 'b', 'c', 'd'}) {
    const std::string text = event(name);
    events.learn(text.data(), text.data() + text.size(), 's');
  }
  EXPECT_GT(found(events, event('a')), 0U);
  const std::string text = event('e');
  events.learn(text.data(), text.data() + text.size(), 's');
  EXPECT_GT(found(events, event('a')), 0U) << "found since";
  EXPECT_EQ(found(events, event('b')), 0U);
  EXPECT_GT(found(events, event('e')), 0U);
}

TEST(CountedEventsTest, OnlyPhasesThatHoldNothingCount) {
  for (const char phase : {'X', 'B', 'E', 'M', '\0', '1'})
    EXPECT_FALSE(CountedEvents::counts(phase)) << phase;
  for (const char phase : {'s', 't', 'f', 'C', 'i'})
    EXPECT_TRUE(CountedEvents::counts(phase)) << phase;
}

}  // namespace
}  // namespace ergon::trace::kineto
