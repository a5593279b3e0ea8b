// What the modes of ergon_graph_oracle share.
#pragma once
#include <string>
#include <vector>

#include "ergon/graph.hpp"
#include "ergon/io.hpp"
#include "ergon/trace.hpp"

namespace ergon::graph_oracle {

constexpr double ms(Nanos t) { return static_cast<double>(t) * 1e-6; }
inline std::string base(const std::string& path) { return path.substr(path.rfind('/') + 1); }

struct Loaded {
  std::vector<trace::EventTable> tables;
  std::vector<const trace::EventTable*> views;
};
inline Result<Loaded> load(const std::string& path, const trace::ReadOptions& options = {}) {
  ERGON_TRY(auto source, io::open_source(path));
  Loaded l;
  ERGON_TRY(l.tables, trace::read_traces(*source, options));
  for (const trace::EventTable& t : l.tables) l.views.push_back(&t);
  return l;
}

/// Where the growth of the span goes when every kernel takes twice as long. Prints one table; 1
/// where its rows do not add up to the span.
int response(const std::string& path);

/// The critical path of a trace against an overlay of HolisticTraceAnalysis, as lines of an oracle.
int golden(const std::string& path, const std::string& overlay);

}  // namespace ergon::graph_oracle
