// SPDX-License-Identifier: Apache-2.0
// force/fe/flexible.hpp: what flexible parts add to forces, H and k, and energies. Private.
#pragma once

#include "orthant/force/force.hpp"

namespace orthant::internal {

/// Adds gravity, loads, elastic and damping forces of the free nodes to f.
void add_flexible_force(const Model& model, const Parameters& parameters, const VecX& q,
                        const VecX& v, VecX& f);

/// H = [bodies 0; 0 M + h²K + hB] sparse, and k of the free nodes, linearised at q + h v_at (v_at
/// empty: at q). `bodies` is the H of the bodies alone.
void assemble_flexible(const Model& model, const Parameters& parameters, const VecX& q,
                       const VecX& v, const VecX& v_at, double h, const VelocityMatrix& bodies,
                       VelocityMatrix& H, VecX& k);

/// Appends the lumped mass of every free node to a block-diagonal matrix.
void append_node_mass(const Model& model, const Parameters& parameters, VelocityMatrix& M);

double flexible_kinetic_energy(const Model& model, const Parameters& parameters, const VecX& v);
/// Elastic energy, gravity and loads.
double flexible_potential_energy(const Model& model, const Parameters& parameters, const VecX& q);

}  // namespace orthant::internal
