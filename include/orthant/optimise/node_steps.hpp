// SPDX-License-Identifier: Apache-2.0
// optimise/node_steps.hpp: states that need not be a motion => where a step leads from each of
// them, and its exact Jacobians: the constraints of multiple shooting, for a nonlinear program of
// one's own.
#pragma once

#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/optimise/problem.hpp"

namespace ORTHANT_EXPORT orthant {

/// One step from a node, by the numbers of (q, v): a quaternion counts as normalised, the pose of a
/// fixed body stays.
struct NodeStep {
  VecX q, v;     ///< after the step
  MatX A, B, P;  ///< by (q, v), by u, by the parameters varied; empty: not asked for
};

/// Steps from the first problem.steps columns of q, v with the controls u, in threads; numbers do
/// not depend on how many. Throws Error for sizes and numbers that are not finite.
std::vector<NodeStep> node_steps(const TrajectoryProblem& problem, const MatX& q, const MatX& v,
                                 const MatX& u, bool jacobians,
                                 const StepGradientSettings& gradient = {});

}  // namespace orthant
