// SPDX-License-Identifier: Apache-2.0
// force/held_spin.hpp: the spin that bodies which do not fly would have without forces.
//   I(q) (ω⁺ − ω_h) = impulses,   ω_h = exp(−turn) ω*,   q⁺ = q ⊞ h ω⁺
// A turn about ω⁺ leaves ω⁺·I ω⁺ as it is, so the energy of a body that moves with v⁺ is that with
// the inertia at q. The spin ω* after a free turn has its energy with the inertia there; turned
// back with the body it has it at q, and 2 ΔT = 2 ω⁺·impulse − |ω⁺ − ω_h|²: contacts and springs
// add what they work and no more. With ω* bodies of unequal inertia gain about |h ω'|² in every
// step.
#pragma once

#include <vector>

#include "force/free_rotation_kernel.hpp"
#include "orthant/force/force.hpp"

namespace orthant::internal {

template <class T>
Vec3T<T> held_spin(const FreeRotationT<T>& free) {
  return rotate(conjugate(exp_rotation(free.turn)), free.omega);
}

/// ω_h instead of ω* for the spatial bodies that `held` names (by dynamic body), in the coast
/// velocity and in k. `change`: what was added to the coast velocity; empty where nothing was.
void hold_spins(const Model& model, const Parameters& parameters, const VecX& q,
                const std::vector<unsigned char>& held, Dynamics& dynamics, VecX& k, VecX& change);

}  // namespace orthant::internal
