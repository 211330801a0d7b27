// SPDX-License-Identifier: Apache-2.0
#include "force/held_spin.hpp"

namespace orthant::internal {

void hold_spins(const Model& model, const Parameters& parameters, const VecX& q,
                const std::vector<unsigned char>& held, Dynamics& dynamics, VecX& k, VecX& change) {
  change.resize(0);
  if (model.law() != LawOfMotion::Inertial) return;
  for (const BodyId id : model.dynamic_bodies()) {
    const Body& body = model.body(id);
    if (body.planar || held[static_cast<std::size_t>(body.dynamic)] == 0) continue;
    const Mat3 J = inertia_matrix(parameters.values.data() + body.inertia);
    if (is_isotropic(J)) continue;  // has no gyroscopic terms: nothing to turn back
    const Index at = body.v_begin + 3;
    const Vec3 turn = dynamics.coast_delta.segment<3>(at),
               coast = dynamics.coast_velocity.segment<3>(at);
    if (turn.cross(coast) == Vec3::Zero()) continue;  // about its axis: nothing to turn back
    const Vec3 spin = held_spin<double>({turn, coast});
    if (change.size() == 0) change.setZero(dynamics.coast_velocity.size());
    change.segment<3>(at) = spin - coast;
    dynamics.coast_velocity.segment<3>(at) = spin;
    k.segment<3>(at) += world_inertia(body_pose(body, q.data()).p, J) * change.segment<3>(at);
  }
}

}  // namespace orthant::internal
