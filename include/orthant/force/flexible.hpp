// SPDX-License-Identifier: Apache-2.0
// force/flexible.hpp: readings of flexible parts, and the implicit step re-linearised.
#pragma once

#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/force/force.hpp"

namespace ORTHANT_EXPORT orthant {

/// As assemble_dynamics, with the elastic forces linearised at q + h v_at instead of q: one Newton
/// iteration of the implicit step. `v_at` is laid out as State::v.
void assemble_dynamics_at(const Model& model, const Parameters& parameters, const VecX& q,
                          const VecX& v, const VecX& v_at, double t, const VecX& u, double h,
                          Dynamics& dynamics, VelocityMatrix& H, VecX& k);

/// The matrix that corrections of positions are small in: M of the bodies, and of flexible parts
/// the H of a step of length h at q. In M alone a correction would dent the surface node by node;
/// the elements then throw back what dented them, and a part on curved supports never came to rest.
/// Without flexible parts: the masses of the bodies.
void assemble_metric(const Model& model, const Parameters& parameters, const VecX& q, double h,
                     Dynamics& scratch, VelocityMatrix& H);

/// Elements whose orientation is lost (det F <= 0) in the configuration q.
Index inverted_elements(const Model& model, const VecX& q);

/// Von Mises stress of every element of a part [Pa].
std::vector<double> element_stress_norms(const Model& model, const Parameters& parameters,
                                         const VecX& q, Index part);

}  // namespace orthant
