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
  std::vector<Index> outer, inner;  // pattern that `factor` has analysed: a function of it alone
  std::vector<signed char> signs;
  std::vector<Index> order;
  VecX delta, residual, step, best_v, best_gamma, product;
  JudgeWorkspace judge;
};

/// True where solve_bilateral() applies: no laws, an H with entries.
bool is_bilateral(const CanonicalProblem& p);

/// H v − Cᵀγ = k, C v + e = 0. Redundant rows are normal: γ is then one of many, v is unique.
MethodResult solve_bilateral(const CanonicalProblem& p, const ProblemScale& scale,
                             const MethodLimits& limits, BilateralWorkspace& work, Solution& x);

}  // namespace orthant
