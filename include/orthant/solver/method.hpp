// SPDX-License-Identifier: Apache-2.0
// solver/method.hpp: what every solver family shares: its limits, its result, its signature.
//
//   MethodResult solve_<family>(const CanonicalProblem& p, const ProblemScale& scale,
//                               const <Family>Settings& settings, const MethodLimits& limits,
//                               <Family>Workspace& work, Solution& x);
//
// x goes in as the start (sizes must agree; zero_solution() is a start) and comes out as the best
// answer found, whatever the outcome. A family stops when judge_quick() reads <= limits.tolerance;
// its result is still a claim: solve() judges the answer again. Families that need the matrix N
// take a local problem (p.is_local()); solve() reduces once per island.
#pragma once

#include <limits>

#include "orthant/base/export.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/solver/solve.hpp"

namespace ORTHANT_EXPORT orthant {

/// What a method may spend, and when it may stop.
struct MethodLimits {
  double tolerance = 1e-8;       ///< of the judge's residual [-]
  int max_iterations = 0;        ///< 0: the method's own default
  double work_limit = 0;         ///< counted work in multiply-adds; 0: none
  SolveTrace* trace = nullptr;   ///< null: no history wanted
  const Timer* clock = nullptr;  ///< runs since the solve began; read only with a time limit
  double time_limit = 0;         ///< wall clock [s]; 0: none

  /// True when `work` or the optional clock is used up: end with Outcome::WorkLimit.
  bool exhausted(double work) const {
    return (work_limit > 0 && work >= work_limit) ||
           (time_limit > 0 && clock != nullptr && clock->seconds() >= time_limit);
  }
  int iterations_or(int own_default) const {
    return max_iterations > 0 ? max_iterations : own_default;
  }
  void record(Method method, int iteration, double residual) const {
    if (trace != nullptr) trace->points.push_back({method, iteration, residual});
  }
};

/// How one method ended on one problem. Starts pessimistic.
struct [[nodiscard]] MethodResult {
  Outcome outcome = Outcome::NotFinite;
  int iterations = 0;
  double residual = std::numeric_limits<double>::infinity();  ///< judge_quick() of the best answer
  double work = 0;                                            ///< multiply-adds, roughly
  Residual parts = {};  ///< what `residual` is made of, where parts.value is the same number
};

}  // namespace orthant
