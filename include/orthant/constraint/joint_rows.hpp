// SPDX-License-Identifier: Apache-2.0
// constraint/joint_rows.hpp: joints => bilateral rows C, e and unilateral blocks D, b.
//   e = beta Psi(q, t)/h + (Psi(q, t + h) - Psi(q, t))/h,   C = dPsi/dq by the tangent of q
// Joint frames and rows: model/joint_kernel.hpp. Row order: all joints in model order, then
// the motors without force limit, then the joints that follow another; blocks: joint by joint lower
// limit, upper limit, limited motor, dry friction. The difference quotient in time makes a
// prescribed motion exact at the end of the step.
#pragma once

#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/model.hpp"
#include "orthant/problem/problem.hpp"

namespace ORTHANT_EXPORT orthant {

/// Blocks (all of one row) that append_joint_rows() adds to laws, D and b: the same in every step.
Index joint_block_count(const Model& model);
/// Of these, limits: the blocks that append_joint_position_rows() adds.
Index joint_limit_count(const Model& model);

/// Appends C and writes e (resized to bilateral_count()); appends laws and D and writes
/// b[b_begin …), which the caller has sized. `v` is State::v, read for kinematic bodies only.
/// Limits: Orthant with gap/h; motors with a limit and dry friction: Box of +- force h. A servo has
/// an entry in F, too: F = 1/(h (h k + c)), so that λ = h [k (target - s⁺) + c (speed - ṡ⁺)] where
/// w = 0; it is left in `softness`. `u`: controls, null or empty where there are none.
struct JointSoftness {
  Index block = 0;
  double value = 0;  ///< of F [m/(N s^2) and the like]
};
void append_joint_rows(const Model& model, const Parameters& parameters, const VecX& q,
                       const VecX& v, double t, double h, double beta, CanonicalProblem& problem,
                       Index b_begin, const VecX* u = nullptr,
                       std::vector<JointSoftness>* softness = nullptr);

/// The same rows for a correction of positions: C delta + Psi = 0, D delta + Phi >= 0, limits only.
/// Velocity motors keep their row with e = 0 (the correction does not turn them).
void append_joint_position_rows(const Model& model, const Parameters& parameters, const VecX& q,
                                double t, CanonicalProblem& problem, Index b_begin);

/// Psi(q, t), row by row [m, rad]; size bilateral_count(). Velocity motors count 0.
void joint_error(const Model& model, const Parameters& parameters, const VecX& q, double t,
                 VecX& psi);
/// Largest entry of Psi and largest violation of a limit [m, rad].
double largest_joint_error(const Model& model, const Parameters& parameters, const VecX& q,
                           double t);
/// The rate part of e: dPsi/dt plus what kinematic bodies contribute, at time t [m/s, rad/s].
void joint_rate(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                double t, VecX& rate);

/// Value of a joint's coordinate: angle, path or length; A relative to B.
double joint_coordinate(const Model& model, const Parameters& parameters, const VecX& q,
                        JointId joint);

}  // namespace orthant
