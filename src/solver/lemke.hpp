// SPDX-License-Identifier: Apache-2.0
// solver/lemke.hpp: complementary pivoting with a covering vector, for LCP and MLCP.
//
//   w = M z + q + d z₀,  0 ≤ z ⊥ w ≥ 0:  from z₀ large follow the path of complementary bases to
//   z₀ = 0 (a solution) or to a ray (none found; none exists for copositive-plus M).
//
// Equations are pivoted in first, in 2 × 2 steps with a complementary pair where their own block is
// singular. Ties are broken lexicographically, so the path never cycles. The answer is computed
// from the final basis and the original data. R. W. Cottle, J.-S. Pang, R. E. Stone, The Linear
// Complementarity Problem, 1992, chapter 4.4.
#pragma once

#include "base/scratch.hpp"
#include "orthant/solver/method.hpp"

namespace orthant {

struct LemkeSettings {
  int covering_vectors = 3;  ///< tried one after another when the path ends on a ray
};

struct LemkeWork;
using LemkeWorkspace = Scratch<LemkeWork>;

/// p must be local, its laws separable or planar exact Coulomb (which is an LCP). The start is not
/// used. Ends in RayTermination when every covering vector leads to a ray, in Infeasible when the
/// equations contradict each other; then x keeps the start.
MethodResult solve_lemke(const CanonicalProblem& p, const ProblemScale& scale,
                         const LemkeSettings& settings, const MethodLimits& limits,
                         LemkeWorkspace& work, Solution& x);

}  // namespace orthant
