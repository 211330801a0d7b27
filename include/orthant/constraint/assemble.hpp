// SPDX-License-Identifier: Apache-2.0
// constraint/assemble.hpp: (model, q, v, contacts, h) => the canonical problem of a step, of an
// impact, of a correction of positions.
#pragma once

#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/constraint/contact_rows.hpp"
#include "orthant/constraint/flexible_rows.hpp"
#include "orthant/force/force.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"

namespace ORTHANT_EXPORT orthant {

/// A problem and what is needed to read its answer; reused without allocation.
struct Assembly {
  CanonicalProblem problem;
  std::vector<ContactBlock> blocks;  ///< one per contact, in order, then one a flexible contact
  Dynamics dynamics;                 ///< of assemble_motion()
  VecX v_free;                       ///< H v_free = k
  std::vector<double> b;
  std::vector<JointSoftness> softness;  ///< of servos
  VelocitySolver solver;
};

/// Where a step begins and how long it lasts.
struct StepInterval {
  const VecX& q;
  const VecX& v;  ///< State::v
  double t = 0;
  double h = 0;
  const VecX* u = nullptr;  ///< controls, read for servos; null or empty: none
};

/// First half of a step's problem: H and k from the forces, and v_free, from which one knows where
/// bodies may go. False where H is singular. `v_at`: flexible parts linearised at q + h v_at (laid
/// out as State::v; empty: at q).
bool assemble_motion(const Model& model, const Parameters& parameters, const StepInterval& x,
                     const VecX& u, Assembly& out, const VecX& v_at = {});
/// Second half: C and e from joints and ties, D, b and F from contacts and limits.
void assemble_rows(const Model& model, const Parameters& parameters, const StepInterval& x,
                   std::span<const Contact> contacts, const ContactRowSettings& settings,
                   double joint_beta, Assembly& out,
                   std::span<const FlexibleContact> flexible = {});

/// Appends rows of contacts found at the trial configuration q_trial = q ⊞ h v_trial to a problem
/// made by assemble_rows(): levers and normals as there, b_n = Φ(q_trial)/h − D_n v_trial, so that
/// the row says what the gap will be for other velocities. `v`: State::v, for bodies whose velocity
/// is given. Old rows are not touched.
void append_trial_rows(const Model& model, const Parameters& parameters, const VecX& q_trial,
                       const VecX& v, const VecX& v_trial, std::span<const Contact> contacts,
                       const ContactRowSettings& settings, Assembly& out);

/// An instant without forces: M v⁺ = M v + Cᵀγ + Dᵀλ, C v⁺ + ∂Ψ/∂t = 0, b_n = ε D_n v where a
/// contact approaches.
void assemble_impact(const Model& model, const Parameters& parameters, const StepInterval& x,
                     std::span<const Contact> contacts, const ContactRowSettings& settings,
                     Assembly& out);

/// Correction δ of positions: min ½ δᵀMδ with C δ + Ψ = 0, D δ + Φ >= 0. Flexible parts: M + h²K +
/// hB instead of M, h the length of the step.
void assemble_projection(const Model& model, const Parameters& parameters, const VecX& q, double t,
                         double h, std::span<const Contact> contacts, Assembly& out,
                         std::span<const FlexibleContact> flexible = {});

}  // namespace orthant
