// SPDX-License-Identifier: Apache-2.0
// solver/lone_block.hpp: an island of one block => its exact answer, in place.
#pragma once

#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant {

/// Solves block c, whose rows start at `at` and which shares no body and no entry of F with
/// another: λ_c, and v of the bodies it touches (`inverse` is that of a block-diagonal H). The law
/// is solved by one small exact solve (one_contact_kernel.hpp), so no method has to run. False, and
/// nothing done, where that is not possible; the answer is judged with all others.
bool solve_lone_block(const CanonicalProblem& problem, const ProblemScale& scale,
                      const VelocitySolver& inverse, Index c, Index at, Solution& x);

}  // namespace orthant
