// SPDX-License-Identifier: Apache-2.0
// step/world.hpp: shortcuts for building a world of rigid bodies, one line per body.
// World is a thin cover of ModelBuilder, which has everything else: joints, forces, actuators,
// flexible parts, mass properties given by hand.
#pragma once

#include <string>

#include "orthant/base/export.hpp"
#include "orthant/model/model_builder.hpp"

namespace ORTHANT_EXPORT orthant {

/// Where a new body is, how it moves and what it is made of.
struct Placement {
  Vec3 position = Vec3::Zero();          ///< of the shape's frame [m]
  Quat orientation = {};                 ///< unit quaternion (w, x, y, z)
  Vec3 velocity = Vec3::Zero();          ///< of the centre of mass [m/s]
  Vec3 angular_velocity = Vec3::Zero();  ///< world axes [rad/s]
  double density = 1000;                 ///< [kg/m^3]
  std::string material = {};             ///< empty: friction 0.5, no restitution
  bool fixed = false;                    ///< never moves
};

class World {
 public:
  BodyId add(std::string name, Shape shape, const Placement& place = {});
  /// `half`: half the edge lengths [m].
  BodyId add_box(std::string name, const Vec3& half, const Placement& place = {});
  BodyId add_sphere(std::string name, double radius, const Placement& place = {});
  /// Along the x axis of its frame; `half_length` without the round ends [m].
  BodyId add_capsule(std::string name, double radius, double half_length,
                     const Placement& place = {});
  /// The half-space z <= 0, named "floor".
  BodyId add_floor(std::string material = {});
  MaterialId add_material(MaterialSpec spec) { return builder_.add_material(std::move(spec)); }

  ModelBuilder& builder() { return builder_; }
  Model build() const { return builder_.build(); }

 private:
  ModelBuilder builder_;
};

}  // namespace orthant
