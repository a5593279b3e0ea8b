// Compressed rows by counting sort.
#include "ergon/dag.hpp"

namespace ergon::dag {

Csr Csr::make(std::size_t nodes, std::span<const Arc> arcs, bool by_target) {
  ERGON_CHECK(arcs.size() < 0xffffffffU, "too many arcs for 32-bit positions");
  Csr csr;
  csr.offset_.assign(nodes + 1, 0);
  for (const Arc& arc : arcs) {
    ERGON_CHECK(arc.from < nodes && arc.to < nodes, "an arc names a node that does not exist");
    ++csr.offset_[(by_target ? arc.to : arc.from) + 1];
  }
  for (std::size_t n = 0; n < nodes; ++n) csr.offset_[n + 1] += csr.offset_[n];
  csr.ends_.resize(arcs.size());
  csr.ids_.resize(arcs.size());
  std::vector<std::uint32_t> fill(csr.offset_.begin(), csr.offset_.end() - 1);
  for (std::uint32_t id = 0; id < arcs.size(); ++id) {
    const Arc& arc = arcs[id];
    const std::uint32_t slot = fill[by_target ? arc.to : arc.from]++;
    csr.ends_[slot] = by_target ? arc.from : arc.to;
    csr.ids_[slot] = id;
  }
  return csr;
}

Csr Csr::incoming(std::size_t nodes, std::span<const Arc> arcs) { return make(nodes, arcs, true); }
Csr Csr::outgoing(std::size_t nodes, std::span<const Arc> arcs) { return make(nodes, arcs, false); }

}  // namespace ergon::dag
