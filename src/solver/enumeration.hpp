// SPDX-License-Identifier: Apache-2.0
// solver/enumeration.hpp: all complementary bases of a small LCP or MLCP, one by one.
// The oracle of the tests, and the last word on a tiny problem that Lemke left on a ray.
#pragma once

#include <vector>

#include "orthant/solver/method.hpp"

namespace orthant {

inline constexpr int kMaxEnumeratedPairs = 16;

/// Complementary pairs of a problem in the sense of the enumeration: orthant entries, finite
/// bounds, three a planar Coulomb contact. −1 when a law does not fit (convex cones, 3D friction).
int pair_count(const CanonicalProblem& p);

struct AllSolutions {
  std::vector<VecX> lambda;  ///< each once, in the order of the bases; empty: there is none
  /// A singular basis holds one of them: there may be a continuum, of which one point is listed.
  bool continuum = false;
};
/// p must be local with at most kMaxEnumeratedPairs pairs.
AllSolutions enumerate_all(const CanonicalProblem& p, const ProblemScale& scale);

/// The solution with the smallest residual; Infeasible when there is none.
MethodResult solve_enumeration(const CanonicalProblem& p, const ProblemScale& scale,
                               const MethodLimits& limits, Solution& x);

}  // namespace orthant
