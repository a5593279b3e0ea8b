// Sparse Cholesky of a graph Laplacian.
#include "network_laplace.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "numbers.hpp"

namespace ergon::plan {
namespace {}  // namespace

NetworkLaplace::NetworkLaplace(std::uint32_t nodes, std::span<const std::uint32_t> tails,
                               std::span<const std::uint32_t> heads)
    : size_(nodes - 1), tail_(tails.begin(), tails.end()), head_(heads.begin(), heads.end()) {
  std::vector<std::vector<std::uint32_t>> neighbours(size_);
  for (std::size_t a = 0; a < tail_.size(); ++a) {
    if (tail_[a] == 0 || head_[a] == 0 || tail_[a] == head_[a]) continue;
    neighbours[tail_[a] - 1].push_back(head_[a] - 1);
    neighbours[head_[a] - 1].push_back(tail_[a] - 1);
  }
  for (auto& list : neighbours) {
    std::ranges::sort(list);
    list.erase(std::ranges::unique(list).begin(), list.end());
  }
  order(std::move(neighbours));

  entry_.assign(tail_.size(), kNone);
  for (std::size_t a = 0; a < tail_.size(); ++a) {
    if (tail_[a] == 0 || head_[a] == 0 || tail_[a] == head_[a]) continue;
    const std::uint32_t low = std::min(place_[tail_[a] - 1], place_[head_[a] - 1]);
    const std::uint32_t high = std::max(place_[tail_[a] - 1], place_[head_[a] - 1]);
    const auto begin = rows_.begin() + begin_[low];
    const auto end = rows_.begin() + begin_[low + 1];
    entry_[a] = static_cast<std::uint32_t>(std::lower_bound(begin, end, high) - rows_.begin());
  }
  values_.resize(rows_.size());
  diagonal_.resize(size_);
  work_.assign(size_, 0.0);
  next_.resize(size_);
  at_.resize(size_);
  next_of_.resize(size_);
}

// Eliminates the node with the fewest neighbours, which then all become neighbours of each other.
void NetworkLaplace::order(std::vector<std::vector<std::uint32_t>> neighbours) {
  place_.assign(size_, kNone);
  std::set<std::pair<std::size_t, std::uint32_t>> queue;
  for (std::uint32_t v = 0; v < size_; ++v) queue.emplace(neighbours[v].size(), v);
  std::vector<std::vector<std::uint32_t>> columns;
  columns.reserve(size_);
  std::vector<std::uint32_t> merged;
  while (!queue.empty()) {
    const std::uint32_t v = queue.begin()->second;
    queue.erase(queue.begin());
    place_[v] = static_cast<std::uint32_t>(columns.size());
    const std::vector<std::uint32_t> clique = std::move(neighbours[v]);
    for (const std::uint32_t u : clique) {
      queue.erase({neighbours[u].size(), u});
      merged.clear();
      std::ranges::set_union(neighbours[u], clique, std::back_inserter(merged));
      std::erase_if(merged, [&](std::uint32_t x) { return x == u || x == v; });
      neighbours[u].assign(merged.begin(), merged.end());
      queue.emplace(neighbours[u].size(), u);
    }
    columns.push_back(clique);
  }
  begin_.push_back(0);
  for (std::vector<std::uint32_t>& column : columns) {
    for (std::uint32_t& v : column) v = place_[v];
    std::ranges::sort(column);
    rows_.insert(rows_.end(), column.begin(), column.end());
    begin_.push_back(static_cast<std::uint32_t>(rows_.size()));
  }
}

void NetworkLaplace::factor(std::span<const double> conductance) {
  std::ranges::fill(values_, 0.0);
  std::ranges::fill(diagonal_, 0.0);
  for (std::size_t a = 0; a < tail_.size(); ++a) {
    if (tail_[a] == head_[a]) continue;
    if (tail_[a] != 0) diagonal_[place_[tail_[a] - 1]] += conductance[a];
    if (head_[a] != 0) diagonal_[place_[head_[a] - 1]] += conductance[a];
    if (entry_[a] != kNone) values_[entry_[a]] -= conductance[a];
  }
  // Left-looking: next_ chains the columns whose next row is the current one.
  std::ranges::fill(next_, kNone);
  for (std::uint32_t j = 0; j < size_; ++j) {
    for (std::uint32_t e = begin_[j]; e < begin_[j + 1]; ++e) work_[rows_[e]] = values_[e];
    double pivot = diagonal_[j];
    for (std::uint32_t k = next_[j]; k != kNone;) {
      const std::uint32_t follow = next_of_[k];
      const std::uint32_t at = at_[k];
      const double factor = values_[at] * diagonal_[k];
      pivot -= values_[at] * factor;
      for (std::uint32_t e = at + 1; e < begin_[k + 1]; ++e) work_[rows_[e]] -= values_[e] * factor;
      if (at + 1 < begin_[k + 1]) {
        at_[k] = at + 1;
        next_of_[k] = next_[rows_[at + 1]];
        next_[rows_[at + 1]] = k;
      }
      k = follow;
    }
    diagonal_[j] = pivot;
    for (std::uint32_t e = begin_[j]; e < begin_[j + 1]; ++e) values_[e] = work_[rows_[e]] / pivot;
    if (begin_[j] < begin_[j + 1]) {
      at_[j] = begin_[j];
      next_of_[j] = next_[rows_[begin_[j]]];
      next_[rows_[begin_[j]]] = j;
    }
  }
}

void NetworkLaplace::solve(std::span<double> b) {
  for (std::uint32_t v = 0; v < size_; ++v) work_[place_[v]] = b[v + 1];
  for (std::uint32_t j = 0; j < size_; ++j) {
    const double x = work_[j];
    for (std::uint32_t e = begin_[j]; e < begin_[j + 1]; ++e) work_[rows_[e]] -= values_[e] * x;
  }
  for (std::uint32_t j = size_; j-- > 0;) {
    double x = work_[j] / diagonal_[j];
    for (std::uint32_t e = begin_[j]; e < begin_[j + 1]; ++e) x -= values_[e] * work_[rows_[e]];
    work_[j] = x;
  }
  b[0] = 0;
  for (std::uint32_t v = 0; v < size_; ++v) b[v + 1] = work_[place_[v]];
}

}  // namespace ergon::plan
