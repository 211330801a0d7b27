// SPDX-License-Identifier: Apache-2.0
// solver/proximal_newton.hpp: joints with limits, boxes and contacts => answer, by Newton steps in
// velocities on the block graph. See the source for the equations.
#pragma once

#include <vector>

#include "math/velocity_system.hpp"
#include "orthant/solver/method.hpp"
#include "solver/active_set.hpp"

namespace orthant::internal {

struct ProximalNewtonSettings {
  int max_iterations = 300;  ///< factorisations
  int max_guesses = 6;       ///< sets tried before the steps are globalised
  /// Compliance of a row beside its own mobility. Refined away; larger is better conditioned.
  double proximal = 1e-11;
  double joint_proximal = 1e-10;  ///< the same of a bilateral row
  /// Compliance of the first globalised step: soft enough to get there, stiff enough to find sets.
  double descent_proximal = 1e-3;
  int max_descents = 20;       ///< globalised steps; exact friction updates its shift in between
  int max_descent_steps = 20;  ///< Newton steps of one of them
  int max_exact_steps = 8;     ///< of one by the exact law that follows it
};

struct ProximalNewtonWorkspace {
  VelocitySystem system[2];  ///< a step alternates between two problems: velocities, positions
  int turn = 0;
  std::vector<Law> laws;  ///< in scaled impulses
  std::vector<BlockSet> sets, next_sets;
  std::vector<Index> offset;            ///< of each block's square in the arrays of squares
  std::vector<double> inverse, middle;  ///< squares: T⁻¹ and s T⁻¹Y s
  VecX scale, delta;
  VecX v, gamma, x, start_v, start_gamma, start_x, best_v, best_gamma, best_x, y, R, r_v, r_c,
      right, step, dx, trial, along, centre, shift, impulse, speed;
  Solution candidate;
  JudgeWorkspace judge;
};

/// True where the velocities come in small blocks and no two blocks of laws are coupled by F.
bool fits_proximal_newton(const CanonicalProblem& p);

MethodResult solve_proximal_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                   const ProximalNewtonSettings& settings,
                                   const MethodLimits& limits, ProximalNewtonWorkspace& work,
                                   Solution& x);

}  // namespace orthant::internal
