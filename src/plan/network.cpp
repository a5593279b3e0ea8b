// Builds the network of event times of a problem.
#include "network.hpp"

#include <algorithm>
#include <limits>

namespace ergon::plan {
namespace {

struct Edge {
  std::uint32_t from = 0;  // index into row
  double lag_s = 0;
};

// Edges into each pack (by index into row) that no other edge from the same GPU implies.
class EdgeFilter {
 public:
  EdgeFilter(const Problem& problem, const Network& net) : net_(net) {
    const std::size_t n = net.row.size();
    place_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) place_[net.row[i]] = i;
    least_before_.assign(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
      double least = std::numeric_limits<double>::infinity();
      for (const Option& o : problem.packs[net.row[i]].options) least = std::min(least, o.time_s);
      least_before_[i + 1] = least_before_[i] + least;
    }
  }

  std::vector<Edge> edges_into(const Problem& problem, std::uint32_t at) const {
    const Pack& pack = problem.packs[net_.row[at]];
    std::vector<Edge> all;
    all.reserve(pack.after.size());
    for (const After& a : pack.after) all.push_back({place_[a.pack], a.lag_s});
    std::ranges::sort(all, [](const Edge& a, const Edge& b) {
      return a.from != b.from ? a.from > b.from : a.lag_s > b.lag_s;
    });
    std::vector<Edge> kept;
    for (const Edge& e : all) {
      const bool own = e.from >= net_.row_begin[pack.gpu] && e.from < at;
      if (own && implied(e, {at - 1, 0})) continue;
      const bool known = std::ranges::any_of(
          kept, [&](const Edge& k) { return same_row(problem, k.from, e.from) && implied(e, k); });
      if (!known) kept.push_back(e);
    }
    return kept;
  }

 private:
  bool same_row(const Problem& problem, std::uint32_t a, std::uint32_t b) const {
    return problem.packs[net_.row[a]].gpu == problem.packs[net_.row[b]].gpu;
  }
  // `by` leaves no earlier than `e` on the same row, whatever the clocks between them.
  bool implied(const Edge& e, const Edge& by) const {
    return by.from >= e.from &&
           by.lag_s + (least_before_[by.from + 1] - least_before_[e.from + 1]) >= e.lag_s;
  }

  const Network& net_;
  std::vector<std::uint32_t> place_;  // by pack: index into row
  std::vector<double> least_before_;
};

}  // namespace

Network make_network(const Problem& problem) {
  Network net;
  std::vector<std::vector<std::uint32_t>> rows(problem.gpus.size());
  for (std::uint32_t i = 0; i < problem.packs.size(); ++i) rows[problem.packs[i].gpu].push_back(i);
  for (const auto& row : rows) {
    net.row_begin.push_back(static_cast<std::uint32_t>(net.row.size()));
    net.row.insert(net.row.end(), row.begin(), row.end());
  }
  const auto n = static_cast<std::uint32_t>(net.row.size());
  net.row_begin.push_back(n);
  for (const Gpu& gpu : problem.gpus) net.idle_w += gpu.idle_power_w;

  const EdgeFilter filter(problem, net);
  std::vector<std::vector<Edge>> into(n);
  std::vector<char> leaves(n, 0);
  for (std::uint32_t i = 0; i < n; ++i) {
    into[i] = filter.edges_into(problem, i);
    for (const Edge& e : into[i]) leaves[e.from] = 1;
  }

  net.pack_arc.resize(n);
  net.switch_arc.resize(n);
  std::vector<std::uint32_t> start_node(n);
  std::vector<std::uint32_t> end_node(n);
  for (std::size_t g = 0; g + 1 < net.row_begin.size(); ++g) {
    const std::uint32_t first = net.row_begin[g];
    const std::uint32_t last = net.row_begin[g + 1];
    for (std::uint32_t i = first; i < last; ++i) {
      const bool waits = !into[i].empty();
      const auto arc = [&] { return static_cast<std::uint32_t>(net.arcs.size()); };
      if (i == first) {
        start_node[i] = waits ? net.nodes++ : Network::kBegin;
      } else if (!waits && leaves[i - 1] == 0) {
        start_node[i] = start_node[i - 1];  // goes on with the segment
        net.pack_arc[i] = net.switch_arc[i] = net.pack_arc[i - 1];
        net.arcs[net.pack_arc[i]].last = i + 1;
        continue;
      } else {
        std::uint32_t node = net.nodes++;
        net.arcs.back().head = end_node[i - 1] = node;
        if (waits && leaves[i - 1] != 0) {
          net.switch_arc[i] = arc();
          net.arcs.push_back({node, net.nodes, 0, 0, 0});
          node = net.nodes++;
        } else {
          net.switch_arc[i] = waits ? net.pack_arc[i - 1] : arc();
        }
        start_node[i] = node;
      }
      net.pack_arc[i] = arc();
      net.arcs.push_back({start_node[i], Network::kEnd, 0, i, i + 1});
    }
    if (first == last) continue;
    end_node[last - 1] = Network::kEnd;
    net.switch_arc[first] = net.pack_arc[last - 1];
    if (leaves[last - 1] != 0) {
      const std::uint32_t node = net.nodes++;
      net.arcs.back().head = end_node[last - 1] = node;
      net.switch_arc[first] = static_cast<std::uint32_t>(net.arcs.size());
      net.arcs.push_back({node, Network::kEnd, 0, 0, 0});
    }
  }
  for (std::uint32_t i = 0; i < n; ++i)
    for (const Edge& e : into[i]) {
      net.waits.push_back({e.from, i, static_cast<std::uint32_t>(net.arcs.size())});
      net.arcs.push_back({end_node[e.from], start_node[i], e.lag_s, 0, 0});
    }
  return net;
}

}  // namespace ergon::plan
