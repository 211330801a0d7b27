// SPDX-License-Identifier: Apache-2.0
// solver/velocity_descent.hpp: jammed piles => answer, by sweeps and Newton steps in turn.
//
//   sweep a few times                       which blocks push, stick, slide: all but a few in 1e3
//   Newton step of that set                 the impulses of the whole pile at once
//   x ← x + t d, two sweeps, t by |R|       the sweeps settle what the step has turned over
//
// A guess with a few wrong blocks has no solution: their impulses go to infinity as α → 0. α is
// therefore kept near |R| and follows the step lengths. |R| may rise for a while: impulses drift
// along nearly null directions of N until one more block opens or slides.
#pragma once

#include "orthant/solver/method.hpp"
#include "solver/velocity_equations.hpp"
#include "solver/velocity_space.hpp"

namespace orthant::internal {

struct VelocityDescentSettings {
  int max_iterations = 40;     ///< Newton steps: where more are needed the interior point is faster
  int first_sweeps = 20;       ///< before the first of them
  int sweeps = 20;             ///< between two, where a step leaves more than a tenth of |R|
  int many_sweeps = 500;       ///< where they get nowhere
  int after_sweeps = 2;        ///< before a step is measured
  int patience = 4;            ///< steps without progress, then α rises
  double rise = 1.5;           ///< how far above the last three |R| a step may end
  double shorter = 0.4;        ///< from one trial step to the next
  double shortest = 1e-3;      ///< trial step
  double most_proximal = 0.1;  ///< α, beside a unit diagonal of N
  double least_proximal = 1e-10;
  double give_up_below = 1e-5;  ///< residual below which steps without progress end the run
  int near_ends = 4;  ///< when they have come so often: guesses of sets settle what is left
};

struct VelocityDescentWorkspace {
  std::vector<BlockSet> sets;
  VecX x, v, dx, trial_x, trial_v, next_x, next_v;
  Solution candidate;
  JudgeWorkspace judge;
};

/// Both of p, built.
MethodResult descend_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                                const VelocityDescentSettings& settings, const MethodLimits& limits,
                                const VelocitySpace& space, VelocityEquations& equations,
                                VelocityDescentWorkspace& work, Solution& x);

}  // namespace orthant::internal
