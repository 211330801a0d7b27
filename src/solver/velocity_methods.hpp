// SPDX-License-Identifier: Apache-2.0
// solver/velocity_methods.hpp: the families that can work in body space, given a VelocitySpace of
// p. Same contract as solver/method.hpp; solve() builds the space at most once an island.
#pragma once

#include "solver/active_set.hpp"
#include "solver/best_answer.hpp"
#include "solver/gauss_seidel.hpp"
#include "solver/nonsmooth_newton.hpp"
#include "solver/polish.hpp"
#include "solver/velocity_space.hpp"

namespace orthant::internal {

struct VelocitySweepWorkspace {
  VecX x, v;
  Solution candidate;
  JudgeWorkspace judge;
};
/// Block Gauss–Seidel.
MethodResult sweep_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                              const GaussSeidelSettings& settings, const MethodLimits& limits,
                              const VelocitySpace& space, VelocitySweepWorkspace& work,
                              Solution& x);

struct VelocityPolishWorkspace {
  std::vector<BlockSet> sets, next_sets;
  VecX x, v, y, R, r, dx, dv;
  Solution candidate;
  JudgeWorkspace judge;
};
/// Newton on the equations of the guessed set; velocities are unknowns of their own, so that mass
/// ratios cost no digits.
MethodResult polish_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                               const PolishSettings& settings, const MethodLimits& limits,
                               VelocitySpace& space, VelocityPolishWorkspace& work, Solution& x);

struct VelocityDescentSettings {
  int max_iterations = 200;    ///< Newton steps (factorisations)
  int first_sweeps = 20;       ///< before the first of them
  double polish_below = 1e-3;  ///< residual below which steps without progress ask for a polish
  /// Residual below which they end the run when polishing has not helped: forces have to drift.
  double give_up_below = 1e-5;
};
struct VelocityDescentWorkspace {
  VecX x, v, y, R, dx, dv, trial_x, trial_v, next_x, next_v;
  Solution candidate;
  JudgeWorkspace judge;
  VelocityPolishWorkspace polish;
};
/// Sweeps and Newton steps in turn: for piles, where a few contacts of a thousand are in the wrong
/// set after a hundred sweeps.
MethodResult descend_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                                const VelocityDescentSettings& settings, const MethodLimits& limits,
                                VelocitySpace& space, VelocityDescentWorkspace& work, Solution& x);

/// Proximal nonsmooth Newton.
MethodResult newton_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                               const NonsmoothNewtonSettings& settings, const MethodLimits& limits,
                               VelocitySpace& space, NonsmoothNewtonWorkspace& work, Solution& x);

}  // namespace orthant::internal
