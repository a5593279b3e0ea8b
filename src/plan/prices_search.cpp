// Interior-point walk on the smoothed dual.
#include "prices_search.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ergon::plan {
namespace {

std::vector<std::uint32_t> ends_of(const Network& net, bool tails) {
  std::vector<std::uint32_t> out;
  out.reserve(net.arcs.size() + 1);
  for (const Network::Arc& a : net.arcs) out.push_back(tails ? a.tail : a.head);
  out.push_back(tails ? Network::kEnd : Network::kBegin);
  return out;
}

double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

PriceSearch::PriceSearch(const Problem& problem, const Network& net)
    : problem_(problem),
      net_(net),
      arcs_(static_cast<std::uint32_t>(net.arcs.size())),
      tail_(ends_of(net, true)),
      head_(ends_of(net, false)),
      laplace_(net.nodes, tail_, head_) {
  for (std::uint32_t g = 0; g < problem.gpus.size(); ++g)
    chains_.push_back(make_clock_chain(problem, g));
  for (const ClockChain& chain : chains_) soft_.emplace_back(chain);
  for (auto* v : {&flow_, &gradient_, &curvature_, &direction_, &length_, &spread_, &trial_,
                  &base_length_, &residual_, &search_, &product_, &solved_})
    v->assign(arcs_ + 1, 0.0);
  when_.assign(net.nodes, 0.0);
  node_.assign(net.nodes, 0.0);
  out_.resize(net.nodes);
  std::vector<std::uint32_t> open(net.nodes, 0);
  for (std::uint32_t a = 0; a < arcs_; ++a) {
    ++open[head_[a]];
    out_[tail_[a]].push_back(a);
  }
  order_.push_back(Network::kBegin);
  for (std::size_t k = 0; k < order_.size(); ++k)
    for (const std::uint32_t a : out_[order_[k]])
      if (--open[head_[a]] == 0) order_.push_back(head_[a]);
}

// Makes a flow exact: each node hands on what it gets, in the proportions of `flow`.
void PriceSearch::conserve(std::span<double> flow) {
  std::ranges::fill(node_, 0.0);
  for (const std::uint32_t v : order_) {
    double leaves = 0;
    for (const std::uint32_t a : out_[v]) leaves += flow[a];
    if (v == Network::kBegin) node_[v] = leaves;
    const double scale = leaves > 0 ? node_[v] / leaves : 0.0;
    for (const std::uint32_t a : out_[v]) {
      flow[a] = leaves > 0 ? flow[a] * scale : node_[v] / static_cast<double>(out_[v].size());
      node_[head_[a]] += flow[a];
    }
  }
  flow[arcs_] = node_[Network::kEnd] - net_.idle_w;
}

void PriceSearch::start(std::span<const double> prices, double deadline_s) {
  deadline_s_ = deadline_s;
  std::vector<double> spread(arcs_ + 1, 0.0);  // uses every arc, in equal parts at each node
  for (const std::uint32_t a : out_[Network::kBegin])
    spread[a] = 1 / static_cast<double>(out_[Network::kBegin].size());
  conserve(spread);
  double value = 0;
  for (const std::uint32_t a : out_[Network::kBegin]) value += prices[a];
  constexpr double kMix = 0.1;
  const double more = std::max(kMix * value, net_.idle_w * 1.01 + 1e-3 - (1 - kMix) * value);
  for (std::uint32_t a = 0; a < arcs_; ++a) flow_[a] = (1 - kMix) * prices[a] + more * spread[a];
  conserve(flow_);
}

// length_ and spread_ at `flow`; returns the soft minimum.
double PriceSearch::evaluate_lengths(std::span<const double> flow, const Level& level) {
  ++evaluations_;
  double soft = 0;
  std::ranges::fill(length_, 0.0);
  std::ranges::fill(spread_, 0.0);
  const double tau = problem_.switching.time_s;
  for (std::uint32_t g = 0; g < soft_.size(); ++g) {
    const std::uint32_t first = net_.row_begin[g];
    const std::uint32_t n = net_.row_begin[g + 1] - first;
    const double idle = problem_.gpus[g].idle_power_w;
    pack_price_.resize(n);
    switch_price_.resize(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      pack_price_[i] = flow[net_.pack_arc[first + i]] - idle;
      switch_price_[i] = flow[net_.switch_arc[first + i]];
    }
    soft += soft_[g].solve(pack_price_, switch_price_, level.temperature_j);
    for (std::uint32_t i = 0; i < n; ++i) {
      const double change = soft_[g].change()[i];
      length_[net_.pack_arc[first + i]] += soft_[g].time()[i];
      spread_[net_.pack_arc[first + i]] += soft_[g].variance()[i] / level.temperature_j;
      length_[net_.switch_arc[first + i]] += change * tau;
      spread_[net_.switch_arc[first + i]] +=
          change * (1 - change) * tau * tau / level.temperature_j;
    }
  }
  return soft;
}

double PriceSearch::evaluate(std::span<const double> flow, const Level& level) {
  double value = deadline_s_ * flow[arcs_] - evaluate_lengths(flow, level);
  for (std::uint32_t a = 0; a < arcs_; ++a) value -= net_.arcs[a].lag_s * flow[a];
  for (const double f : flow) value -= level.barrier_j * std::log(f);
  return value;
}

void PriceSearch::walk(const Level& level, int steps) {
  value_ = evaluate(flow_, level);
  for (int step = 0; step < steps; ++step) {
    for (std::uint32_t a = 0; a <= arcs_; ++a) {
      const double own = a == arcs_ ? deadline_s_ : -length_[a] - net_.arcs[a].lag_s;
      gradient_[a] = own - level.barrier_j / flow_[a];
      curvature_[a] = spread_[a] + level.barrier_j / (flow_[a] * flow_[a]);
    }
    newton_direction(level);
    decrement_ = -dot(gradient_, direction_);
    if (!(decrement_ > 0.02 * level.barrier_j * static_cast<double>(arcs_))) {
      // Close enough for this level; length_ is that of the finite difference, so restore it.
      evaluate(flow_, level);
      break;
    }
    double most = 1;
    for (std::uint32_t a = 0; a <= arcs_; ++a)
      if (direction_[a] < 0) most = std::min(most, -0.95 * flow_[a] / direction_[a]);
    double length = most;
    bool better = false;
    for (; length > 1e-7 && !better; length *= better ? 1 : 0.4) {
      for (std::uint32_t a = 0; a <= arcs_; ++a) trial_[a] = flow_[a] + length * direction_[a];
      const double value = evaluate(trial_, level);
      better = value <= value_ - 1e-4 * length * decrement_;
      if (better) value_ = value;
    }
    if (!better) {
      evaluate(flow_, level);
      break;
    }
    flow_.swap(trial_);
    conserve(flow_);
  }
}

// Preconditioned conjugate gradients on the circulations.
void PriceSearch::newton_direction(const Level& level) {
  laplace_.factor([&] {
    for (std::uint32_t a = 0; a <= arcs_; ++a) trial_[a] = 1 / curvature_[a];
    return std::span<const double>(trial_);
  }());
  base_length_ = length_;
  std::ranges::fill(direction_, 0.0);
  for (std::uint32_t a = 0; a <= arcs_; ++a) residual_[a] = -gradient_[a];
  double rho = precondition(residual_);
  std::ranges::copy(node_, when_.begin());
  const double enough = 0.01 * rho;
  search_ = solved_;
  for (int iteration = 0; iteration < 30; ++iteration) {
    hessian_times(search_, level);
    const double bend = dot(search_, product_);
    if (!(bend > 0)) break;
    const double alpha = rho / bend;
    for (std::uint32_t a = 0; a <= arcs_; ++a) {
      direction_[a] += alpha * search_[a];
      residual_[a] -= alpha * product_[a];
    }
    const double next = precondition(residual_);
    if (next < enough) break;
    const double beta = next / rho;
    rho = next;
    for (std::uint32_t a = 0; a <= arcs_; ++a) search_[a] = solved_[a] + beta * search_[a];
  }
}

// solved_ = the circulation that is best for `residual` under the diagonal curvature; returns their
// product.
double PriceSearch::precondition(std::span<const double> residual) {
  std::ranges::fill(node_, 0.0);
  for (std::uint32_t a = 0; a <= arcs_; ++a) {
    const double flow = residual[a] / curvature_[a];
    node_[head_[a]] += flow;
    node_[tail_[a]] -= flow;
  }
  laplace_.solve(node_);
  double product = 0;
  for (std::uint32_t a = 0; a <= arcs_; ++a) {
    solved_[a] = (residual[a] - (node_[head_[a]] - node_[tail_[a]])) / curvature_[a];
    product += solved_[a] * residual[a];
  }
  return product;
}

void PriceSearch::hessian_times(std::span<const double> v, const Level& level) {
  double largest = 0;
  for (const double x : v) largest = std::max(largest, std::abs(x));
  if (largest == 0) {
    std::ranges::fill(product_, 0.0);
    return;
  }
  const double scale = 1e-2 * level.temperature_j / (largest * 0.05);
  for (std::uint32_t a = 0; a <= arcs_; ++a) trial_[a] = flow_[a] + scale * v[a];
  evaluate_lengths(trial_, level);
  for (std::uint32_t a = 0; a < arcs_; ++a)
    product_[a] =
        -(length_[a] - base_length_[a]) / scale + level.barrier_j / (flow_[a] * flow_[a]) * v[a];
  product_[arcs_] = level.barrier_j / (flow_[arcs_] * flow_[arcs_]) * v[arcs_];
}

}  // namespace ergon::plan
