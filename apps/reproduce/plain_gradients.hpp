// SPDX-License-Identifier: Apache-2.0
// reproduce/plain_gradients.hpp: the solver of the ReLCP paper, for comparison: projected gradients
// over all rows.
#pragma once

#include "orthant/problem/problem.hpp"

namespace orthant::reproduce {

/// min ½ λᵀNλ + rᵀλ over λ >= 0, N = D H⁻¹ Dᵀ, from zero, at most 20,000 products with N. True when
/// the judge's residual is within the tolerance.
bool solve_by_plain_gradients(const CanonicalProblem& problem, double tolerance);

}  // namespace orthant::reproduce
