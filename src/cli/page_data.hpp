// What the HTML pages of `graph` and `plan` share.
#pragma once
#include <vector>

#include "ergon/graph.hpp"
#include "ergon/report/page.hpp"

namespace ergon::cli {

/// One lane a stream, one slice a GPU operation.
report::Timeline graph_timeline(const graph::Graph& graph);
/// Puts the critical path before the GPUs, as a row of its own.
void add_path_lane(const graph::Graph& graph, const graph::CriticalPath& path,
                   report::Timeline& timeline);
/// GPU operations of nodes [first, last) by name, the longest first; energy and response are left
/// unknown.
std::vector<report::KernelRow> kernel_rows(const graph::Graph& graph, graph::NodeId first = 0,
                                           graph::NodeId last = graph::kNoNode);

}  // namespace ergon::cli
