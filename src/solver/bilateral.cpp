// SPDX-License-Identifier: Apache-2.0
// solver/bilateral.cpp: joints alone => v and γ. Without laws there is no set to guess: the polish
// is one factorisation, whose ε keeps redundant rows (closed loops) harmless and which steps with
// the true residual refine away.
#include "solver/bilateral.hpp"

#include <algorithm>
#include <cmath>

#include "math/each_value.hpp"
#include "solver/polish_run.hpp"

namespace orthant {

MethodResult solve_bilateral(const CanonicalProblem& p, const ProblemScale& scale,
                             const MethodLimits& limits, BilateralWorkspace& work, Solution& x) {
  // To rounding, not to the tolerance: a step costs two triangular solves.
  MethodLimits tight = limits;
  tight.tolerance = std::min(limits.tolerance, 1e-15);
  MethodResult result = internal::polish_as(Method::Bilateral, p, scale, {}, tight, work.polish, x);
  result.outcome = result.residual <= limits.tolerance ? Outcome::Converged : Outcome::Stalled;
  return result;
}

bool bilateral_rows_contradict(const CanonicalProblem& p, const VecX& v_free,
                               BilateralWorkspace& work) {
  if (p.C.empty() || p.H.kind() == VelocityMatrix::Kind::Operator) return false;
  CanonicalProblem alone;
  alone.H = p.H;
  alone.k = p.k;
  alone.C = p.C;
  alone.e = p.e;
  ProblemScale scale{VecX(), v_free, VecX()};
  diagonal_of(alone.H, scale.weight);
  Solution x = zero_solution(alone);
  const MethodResult result = solve_bilateral(alone, scale, {.tolerance = 1e-9}, work, x);
  return std::isfinite(result.residual) && result.residual > 1e-6;
}

}  // namespace orthant
