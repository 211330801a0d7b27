// SPDX-License-Identifier: Apache-2.0
// constraint/flexible_rows.hpp: contacts of flexible surfaces and ties => rows.
//   contact   w = n · (Σ weight v_node ± v_body(point)), tangents alike     up to four + one blocks
//   tie       v_node − v_body(point) + Ψ/h = 0,   Ψ = x_node − x_body(point)
#pragma once

#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/constraint/contact_rows.hpp"

namespace ORTHANT_EXPORT orthant {

/// Appends laws, D and b of flexible contacts, one block each; Coulomb friction or its cone.
/// Restitution and rolling friction of the materials are not used: a flexible body bounces by its
/// own elasticity.
void append_flexible_rows(const Model& model, const Parameters& parameters, const VecX& q,
                          const VecX& v, std::span<const FlexibleContact> contacts,
                          const ContactRowSettings& settings, CanonicalProblem& problem,
                          std::vector<double>& b, std::vector<ContactBlock>& blocks);

/// The same as append_contact_position_rows().
void append_flexible_position_rows(const Model& model, const Parameters& parameters, const VecX& q,
                                   std::span<const FlexibleContact> contacts,
                                   CanonicalProblem& problem, std::vector<double>& b,
                                   std::vector<ContactBlock>& blocks);

/// Appends the rows of all ties to C, and e = share Ψ + what kinematic bodies do with v (empty:
/// nothing). Share: 1/h in a step, 0 at an impact, 1 in a correction of positions.
void append_tie_rows(const Model& model, const VecX& q, const VecX& v, double share,
                     CanonicalProblem& problem);

/// Largest |Ψ| of the ties [m].
double largest_tie_error(const Model& model, const VecX& q);

}  // namespace orthant
