// Plans for packs on several GPUs that wait for each other.
#pragma once
#include <memory>

#include "ergon/plan.hpp"

namespace ergon::plan {

/// Solves one problem at many deadlines; what does not depend on the deadline is built once, and
/// each solve starts from the prices of the one before.
class CoupledSolver {
 public:
  /// Keeps a reference to the problem.
  explicit CoupledSolver(const Problem& problem);
  ~CoupledSolver();
  CoupledSolver(const CoupledSolver&) = delete;
  CoupledSolver& operator=(const CoupledSolver&) = delete;

  /// As plan::solve(). Without switch cost a linear program over the convex hulls of the options
  /// gives the bound and, rounded and filled, the plan; with it smoothed prices give the bound and
  /// annealing the plan.
  /// More work goes into a plan that stands `alone` than into one of many deadlines.
  Result<Solution> solve(double deadline_s, const SolveOptions& options, bool alone = false);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

Result<Solution> solve_coupled(const Problem& problem, double deadline_s,
                               const SolveOptions& options);

}  // namespace ergon::plan
