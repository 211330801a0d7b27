// SPDX-License-Identifier: Apache-2.0
// solver/bilateral.hpp: islands with bilateral rows and nothing else: linear equations.
#pragma once

#include "solver/polish.hpp"

namespace orthant {

struct BilateralWorkspace {
  PolishWorkspace polish;
};

/// H v − Cᵀγ = k, C v + e = 0. Redundant rows are normal: γ is then one of many, v is unique.
MethodResult solve_bilateral(const CanonicalProblem& p, const ProblemScale& scale,
                             const MethodLimits& limits, BilateralWorkspace& work, Solution& x);

/// Do the bilateral rows of p alone have no answer? v_free: that of p.
bool bilateral_rows_contradict(const CanonicalProblem& p, const VecX& v_free,
                               BilateralWorkspace& work);

}  // namespace orthant
