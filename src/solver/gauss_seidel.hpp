// SPDX-License-Identifier: Apache-2.0
// solver/gauss_seidel.hpp: projected block Gauss–Seidel on a local problem.
//
//   for every block c in order:  λ_c ← solution of law_c(λ_c, N_cc λ_c + (b + Σ_{j≠c} N_cj λ_j)_c)
//
// Each block is solved exactly (one_contact_kernel.hpp). Cheap and robust on easy and tiny
// problems; on stacks it crawls, and says so early when asked to.
#pragma once

#include <vector>

#include "orthant/solver/method.hpp"
#include "solver/velocity_space.hpp"

namespace orthant {

struct GaussSeidelSettings {
  int max_sweeps = 100000;  ///< used when the limits give no number
  int patience = 2000;      ///< sweeps without a tenth of progress before it is called stalled
  /// > 0: stop as Stalled as soon as the rate so far predicts more sweeps than this in all.
  int hopeful_sweeps = 0;
  int first_sweeps = 8;  ///< before the rate is looked at
};

struct GaussSeidelWorkspace {
  std::vector<const double*> diagonal;  // N_cc of each block
  Solution candidate;
  JudgeWorkspace judge;
};

/// p must be local. Every law is allowed; rows of a Free block with a zero diagonal cannot be
/// relaxed and make it stall.
MethodResult solve_gauss_seidel(const CanonicalProblem& p, const ProblemScale& scale,
                                const GaussSeidelSettings& settings, const MethodLimits& limits,
                                GaussSeidelWorkspace& work, Solution& x);

struct VelocitySweepWorkspace {
  VecX x, v;
  Solution candidate;
  JudgeWorkspace judge;
};
/// The same on a problem with velocities, given the VelocitySpace of p.
MethodResult sweep_velocities(const CanonicalProblem& p, const ProblemScale& scale,
                              const GaussSeidelSettings& settings, const MethodLimits& limits,
                              const internal::VelocitySpace& space, VelocitySweepWorkspace& work,
                              Solution& x);

}  // namespace orthant
