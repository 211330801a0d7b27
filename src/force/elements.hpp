// SPDX-License-Identifier: Apache-2.0
// force/elements.hpp: everything that pushes, one by one, in model order.
// A spring element acts between two bodies through a Jacobian J of one row (joint coordinate) or
// three (the difference of two points): generalised force J'F, implicit part J'(h^2 K + h C + A)J,
// A the armature of a joint.
#pragma once

#include "model/joint_kernel.hpp"
#include "orthant/model/model.hpp"

namespace orthant::internal {

/// At most three rows by the six velocities of a body.
using ElementRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, 3, 6>;
using ElementMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 3, 3>;
using ElementVector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 3, 1>;

struct SpringElement {
  BodyId a{}, b{};
  ElementRows J_a, J_b;     ///< empty columns for the world and fixed bodies
  ElementVector force;      ///< spring and damper, along J
  ElementMatrix stiffness;  ///< K, symmetric positive semidefinite
  ElementMatrix damping;    ///< C
  ElementMatrix ahead;      ///< the part of K that acts from where the points are expected
  ElementMatrix inertia;    ///< of the coordinate itself (armature)
  double energy = 0;
};

/// q and v of a body, the world included.
PlacedT<double> place_of(const Model& model, BodyId id, const VecX& q);
/// Velocities of a body: empty for the world and fixed bodies.
Eigen::Map<const VecX> velocity_of(const Model& model, BodyId id, const VecX& v);

/// An empty v means at rest. `h`: of a step in which bodies are expected to go on with v; 0: none.
/// Calls use(element) for every spring and damper: forces first, then joints.
template <class Use>
void for_each_spring(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                     double h, Use&& use);

/// The spring of a Force of kind Spring, or along a joint's coordinate.
SpringElement point_spring(const Model& model, const Parameters& parameters, const VecX& q,
                           const VecX& v, double h, const Force& force);
SpringElement joint_spring(const Model& model, const Parameters& parameters, const VecX& q,
                           const VecX& v, const Joint& joint);

/// Rate of a joint's coordinate.
double joint_speed(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                   const Joint& joint);

/// Adds gravity, body and point forces, callbacks and actuators to f: all that is explicit.
void add_explicit(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                  double t, const VecX& u, VecX& f);

template <class Use>
void for_each_spring(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                     double h, Use&& use) {
  for (const Force& force : model.forces())
    if (force.kind == ForceKind::Spring) use(point_spring(model, parameters, q, v, h, force));
  for (const Joint& joint : model.joints())
    if (joint.has_spring()) use(joint_spring(model, parameters, q, v, joint));
}

}  // namespace orthant::internal
