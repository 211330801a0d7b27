// SPDX-License-Identifier: Apache-2.0
// solver/first_order.hpp: projected gradients, matrix-free, for up to millions of rows.
//
//   min ½ λᵀNλ + rᵀλ over K,   Nλ = [C;D] H⁻¹ [C;D]ᵀ λ + Fλ never formed
//
// Exact friction laws by a fixed point on De Saxcé's shift, updated as the inner problem settles.
// All loops run through parallel_for with fixed chunks: the same bits for any number of threads.
#pragma once

#include "base/scratch.hpp"
#include "orthant/solver/method.hpp"

namespace orthant {

struct FirstOrderSettings {
  int max_iterations = 20000;
  int judge_every = 50;  ///< iterations between two looks by the judge
  int shift_every = 10;  ///< iterations between two looks at De Saxcé's shift
  int history = 10;      ///< of the nonmonotone line search
};

struct FirstOrderWork;
using FirstOrderWorkspace = Scratch<FirstOrderWork>;

/// Spectral projected gradients (Barzilai–Borwein), every law. F must be symmetric.
MethodResult solve_first_order(const CanonicalProblem& p, const ProblemScale& scale,
                               const FirstOrderSettings& settings, const MethodLimits& limits,
                               FirstOrderWorkspace& work, Solution& x);

}  // namespace orthant
