#include "ergon/dag.hpp"

#include <gtest/gtest.h>

#include <random>

namespace {

using namespace ergon::dag;

TEST(Dag, RowsKeepTheOrderOfTheArcs) {
  const std::vector<Arc> arcs{{0, 2}, {1, 2}, {0, 1}};
  const Csr in = Csr::incoming(3, arcs);
  EXPECT_EQ(in.row(0).size(), 0U);
  ASSERT_EQ(in.row(2).size(), 2U);
  EXPECT_EQ(in.row(2)[0], 0U);
  EXPECT_EQ(in.row(2)[1], 1U);
  EXPECT_EQ(in.arc_ids(1)[0], 2U);
  EXPECT_EQ(Csr::outgoing(3, arcs).row(0).size(), 2U);
}

TEST(Dag, OrderTakesTheLowestIndexFirst) {
  const std::vector<Arc> arcs{{3, 0}, {2, 1}};
  const auto order = topological_order(4, arcs);
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, (std::vector<Node>{2, 1, 3, 0}));
}

TEST(Dag, CycleIsNamed) {
  const std::vector<Arc> arcs{{0, 1}, {1, 2}, {2, 3}, {3, 1}};
  const auto order = topological_order(4, arcs);
  ASSERT_FALSE(order);
  EXPECT_EQ(order.error().code, ergon::Errc::kMalformedInput);
  EXPECT_NE(order.error().message.find("a cycle of 3"), std::string::npos) << order.error().message;
}

TEST(Dag, SelfLoopIsACycle) {
  const std::vector<Arc> arcs{{1, 1}};
  EXPECT_FALSE(topological_order(2, arcs));
  const Acyclic broken = break_cycles(2, arcs);
  EXPECT_EQ(broken.dropped, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(broken.order.size(), 2U);
}

TEST(Dag, BreakingDropsTheArcThatLeadsBack) {
  const std::vector<Arc> arcs{{0, 1}, {1, 2}, {2, 0}, {2, 3}};
  const Acyclic broken = break_cycles(4, arcs);
  EXPECT_EQ(broken.dropped, (std::vector<std::uint32_t>{2}));
}

TEST(Dag, RandomGraphsAreOrderedAfterBreaking) {
  std::mt19937 rng(7);
  for (int round = 0; round < 200; ++round) {
    const auto nodes = static_cast<std::uint32_t>(1 + rng() % 30);
    std::vector<Arc> arcs(rng() % 90);
    for (Arc& arc : arcs)
      arc = {static_cast<Node>(rng() % nodes), static_cast<Node>(rng() % nodes)};
    const Acyclic broken = break_cycles(nodes, arcs);
    ASSERT_EQ(broken.order.size(), nodes);
    std::vector<std::uint32_t> place(nodes);
    for (std::uint32_t i = 0; i < nodes; ++i) place[broken.order[i]] = i;
    std::size_t d = 0;
    std::vector<Arc> kept;
    for (std::uint32_t a = 0; a < arcs.size(); ++a) {
      if (d < broken.dropped.size() && broken.dropped[d] == a) {
        ++d;
        continue;
      }
      EXPECT_LT(place[arcs[a].from], place[arcs[a].to]);
      kept.push_back(arcs[a]);
    }
    EXPECT_TRUE(topological_order(nodes, kept));
    EXPECT_EQ(topological_order(nodes, arcs).has_value(), broken.dropped.empty());
  }
}

TEST(Dag, LongestPathAndSlack) {
  //  0 (3) -> 1 (2) -> 3 (1);  0 -> 2 (1) -> 3, lag 1 on 2 -> 3
  const std::vector<Arc> arcs{{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  const std::vector<std::int64_t> weight{3, 2, 1, 1};
  const std::vector<std::int64_t> lag{0, 0, 0, 1};
  const Csr in = Csr::incoming(4, arcs);
  const std::vector<Node> order{0, 1, 2, 3};
  const auto start = earliest_starts(in, order, weight, lag);
  EXPECT_EQ(start, (std::vector<std::int64_t>{0, 3, 3, 5}));
  EXPECT_EQ(longest_path(in, start, weight, lag), (std::vector<Node>{0, 1, 3}));
  const auto latest = latest_starts(in, order, weight, lag, 6);
  EXPECT_EQ(latest, (std::vector<std::int64_t>{0, 3, 3, 5}));
  EXPECT_EQ(latest_starts(in, order, weight, lag, 8)[0], 2);
}

}  // namespace
