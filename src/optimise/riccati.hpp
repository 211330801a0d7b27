// SPDX-License-Identifier: Apache-2.0
// optimise/riccati.hpp: linear steps and quadratic costs => the step of all unknowns, in one sweep.
// The parameters that vary ride along as states that do not change, so that z = (y, δp), y the
// coordinates of δx (optimise/linear_motion.hpp), and
//   V(z) = min over δu of ½ quadratic of (z, δu) + V⁺(A z + B δu + d),   d the defect
//   δu = k + K z within the bounds of u;  at the start V is minimised over the free part of z
// DDP without the second derivatives of the step.
#pragma once

#include <vector>

#include "optimise/linear_motion.hpp"

namespace orthant::internal {

struct RiccatiSweep {
  std::vector<VecX> k;
  std::vector<MatX> K;      ///< control_count x (coordinates of the stage + parameters)
  std::vector<VecX> slope;  ///< V' at stage i, z = 0
  std::vector<MatX> curve;  ///< V'' at stage i
  VecX start;               ///< change of the initial variables, then of the parameters
  double promised = 0;      ///< −(slope of the cost along the step), no defects
  bool ok = false;          ///< false: not convex enough, more damping is needed
};

/// `stages`: by (y, u). `damping` adds its share of the diagonals.
RiccatiSweep riccati(const TrajectoryProblem& problem, const StageCosts& costs,
                     const Motion& motion, const LinearMotion& linear,
                     const std::vector<StageExpansion>& stages, double damping);

}  // namespace orthant::internal
