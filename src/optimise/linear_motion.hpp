// SPDX-License-Identifier: Apache-2.0
// optimise/linear_motion.hpp: a motion => its steps, linearised.
// Of the 2 v_size() numbers of a state few can change on their own: bodies hang on joints, rest on
// the floor, or nothing that varies has reached them yet. So steps are linearised along what can
// come about,
//   Z_0 = initial numbers that vary,   Z_{i+1} = orthonormal basis of [A Z_i  B  P  d]
//   δx_i = Z_i y_i,                    y_{i+1} = Z_{i+1}ᵀ (A Z_i y_i + B δu + P δp + d)
// which leaves nothing out to first order: d are the defects, and there is no other cause of a
// change. [A Z  B  P] is pushed forwards, a column for every number of y, u and p, instead of
// pulled back, a row for every number of the state: 36 products instead of 108 for a quadruped of
// nine bodies, 2 instead of 6 for a ball thrown in the plane.
#pragma once

#include <vector>

#include "optimise/motion.hpp"

namespace orthant::internal {

/// d(x⁺) = A dx + B du + P dp; p are the parameters that vary.
struct StepLinear {
  MatX A, B, P;
};

/// Exact Jacobians of all steps of `motion` in tangent coordinates, in threads.
void step_jacobians(const TrajectoryProblem& problem, const Motion& motion,
                    const StepGradientSettings& gradient, std::vector<StepLinear>& out);

struct LinearMotion {
  std::vector<MatX> basis;        ///< Z_i, 2 v_size x r_i; steps + 1
  std::vector<StepLinear> steps;  ///< in y; columns of controls that are held are zero
  std::vector<VecX> defect;       ///< in y_{i+1}; of a rollout: empty

  /// Largest number of coordinates of a stage.
  Index size() const;
};

/// Products of one step are made in threads, with the same bits for any number of them.
void linearise(const TrajectoryProblem& problem, const Motion& motion,
               const StepGradientSettings& gradient, LinearMotion& out);

/// Costs by (tangent, u) => costs by (y, u).
std::vector<StageExpansion> in_coordinates(const LinearMotion& linear,
                                           const std::vector<StageExpansion>& stages);

}  // namespace orthant::internal
