// Potentials of a network with conductances: sparse Cholesky in a minimum-degree order.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace ergon::plan {

/// Solves (A C A^T) p = b, where A is the incidence matrix of a connected graph and C its positive
/// conductances; the potential of node 0 is 0. The order and the pattern are found once.
class NetworkLaplace {
 public:
  NetworkLaplace(std::uint32_t nodes, std::span<const std::uint32_t> tails,
                 std::span<const std::uint32_t> heads);

  void factor(std::span<const double> conductance);
  /// `b` by node on entry (its entry for node 0 is not read), potentials on return.
  void solve(std::span<double> b);
  [[nodiscard]] std::size_t fill() const { return rows_.size(); }

 private:
  void order(std::vector<std::vector<std::uint32_t>> neighbours);

  std::uint32_t size_ = 0;  // nodes but node 0
  std::vector<std::uint32_t> tail_, head_;
  std::vector<std::uint32_t> place_;  // by node: its column
  std::vector<std::uint32_t> begin_;  // by column, and one more: into rows_ and values_
  std::vector<std::uint32_t> rows_;   // below the diagonal, ascending
  std::vector<double> values_, diagonal_;
  std::vector<std::uint32_t> entry_;  // by arc: where it goes in values_, or kNoEntry
  std::vector<double> work_;
  std::vector<std::uint32_t> next_, next_of_, at_;  // next_: by row the first column waiting for it
};

}  // namespace ergon::plan
