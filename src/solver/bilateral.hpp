// SPDX-License-Identifier: Apache-2.0
// solver/bilateral.hpp: islands with joints and nothing else: one factorisation, no cones.
#pragma once

#include <vector>

#include "orthant/math/factorisation.hpp"
#include "orthant/solver/method.hpp"

namespace orthant {

struct BilateralWorkspace {
  SparseLdlt factor;
  SparseMatrix matrix;
  std::vector<Index> outer,
      inner;  // pattern that `factor` has analysed: a function of it alone
  std::vector<signed char> signs;
  std::vector<Index> order;
  VecX delta, residual, step, product;
  Solution candidate;
  JudgeWorkspace judge;
};

/// H v − Cᵀγ = k, C v + e = 0. Redundant rows are normal: γ is then one of many, v is unique.
MethodResult solve_bilateral(const CanonicalProblem& p, const ProblemScale& scale,
                             const MethodLimits& limits, BilateralWorkspace& work, Solution& x);

/// Do the bilateral rows of p alone have no answer? v_free: that of p.
bool bilateral_rows_contradict(const CanonicalProblem& p, const VecX& v_free,
                               BilateralWorkspace& work);

}  // namespace orthant
