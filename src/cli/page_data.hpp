// What the HTML pages of `graph` and `plan` share.
#pragma once
#include <vector>

#include "ergon/graph.hpp"
#include "ergon/report/page.hpp"

namespace ergon::cli {

/// One lane a stream, one slice a GPU operation.
report::Timeline graph_timeline(const graph::Graph& graph);
/// All GPU operations by name, the longest first; energy and response are left unknown.
std::vector<report::KernelRow> kernel_rows(const graph::Graph& graph);

}  // namespace ergon::cli
