// The answer of `graph`.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/graph.hpp"

namespace ergon::cli {

struct GraphRequest {
  bool slack = false;
  bool check_replay = false;
  std::vector<graph::WhatIf> what_if;
  std::vector<std::string> what_if_texts = {};  ///< the rules as they were written
  std::size_t top = 50;
  bool top_given = false;      ///< by the user: the tables for people are as long too
  bool what_if_host = false;   ///< a rule of --what-if names host operations
  std::size_t steps = 0;       ///< steps found in the whole trace
  std::string step_name = {};  ///< the selected step; empty: everything
  bool part = false;           ///< a time range was selected
  std::optional<Nanos> slack_end = {};
  bool with_page = false;
};

struct GraphResult {
  Answer answer;
  bool replay_exact = true;
  std::vector<std::uint64_t> what_if_matches = {};  ///< of each rule
};
Result<GraphResult> graph_answer(const graph::Graph& graph, const GraphRequest& request);

}  // namespace ergon::cli
