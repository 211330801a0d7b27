// SPDX-License-Identifier: Apache-2.0
// scenes/toss_cube.hpp: the cube of the measured tosses (docs/learning.md).
#pragma once

#include "orthant/model/model_builder.hpp"

namespace orthant::scenes {

/// Lengths in half-edges, as in the data.
inline Model toss_cube(double friction, double restitution) {
  ModelBuilder b;
  b.set_gravity(Vec3(0, 0, -187.2137));
  b.add_material({.name = "wood", .friction = friction, .restitution = restitution});
  b.add_body({.name = "table",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "wood"}}});
  const Mat3 inertia = 0.2950003 * Mat3::Identity();
  b.add_body({.name = "cube",
              .position = Vec3(0, 0, 2),
              .shapes = {{.shape = Shape::box(1, 1, 1), .material = "wood"}},
              .mass = 0.37,
              .inertia = inertia});
  return b.build();
}

}  // namespace orthant::scenes
