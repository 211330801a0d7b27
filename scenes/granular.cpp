// SPDX-License-Identifier: Apache-2.0
// scenes/granular.cpp: many round bodies.
#include <algorithm>

#include "scenes/common.hpp"

namespace orthant::scenes {

Scene spheres_in_a_box(int n, double friction, std::span<const Vec3> positions, double half) {
  const double radius = 0.035, pitch = 0.08, quarter = 90 * kDegree;
  ModelBuilder b;
  b.add_material({.name = "grain", .friction = friction});
  b.add_body(ground("grain"));
  b.add_body(ground("grain", exp_rotation(Vec3(0, quarter, 0)), Vec3(-half, 0, 0), "west"));
  b.add_body(ground("grain", exp_rotation(Vec3(0, -quarter, 0)), Vec3(half, 0, 0), "east"));
  b.add_body(ground("grain", exp_rotation(Vec3(-quarter, 0, 0)), Vec3(0, -half, 0), "south"));
  b.add_body(ground("grain", exp_rotation(Vec3(quarter, 0, 0)), Vec3(0, half, 0), "north"));
  Jitter jitter(12345);
  const int side = std::min(static_cast<int>(2 * half / pitch),
                            static_cast<int>(std::ceil(std::cbrt(double(n)) - 1e-9)));
  const int count = positions.empty() ? n : static_cast<int>(positions.size());
  for (int i = 0; i < count; ++i) {
    Vec3 at;
    if (positions.empty()) {
      const int layer = i / (side * side), in_layer = i % (side * side);
      const int row = in_layer / side, column = in_layer % side;
      at[0] = (column - 0.5 * (side - 1)) * pitch + jitter(0.002);
      at[1] = (row - 0.5 * (side - 1)) * pitch + jitter(0.002);
      at[2] = 0.1 + layer * pitch + jitter(0.002);
    } else {
      at = positions[static_cast<std::size_t>(i)];
    }
    b.add_body({.name = "grain" + std::to_string(i),
                .position = at,
                .shapes = {{.shape = Shape::sphere(radius), .material = "grain"}}});
  }
  return finish(b, "Spheres fall into a box and settle.", 300);
}

Scene planar_discs(int n, double friction) {
  ModelBuilder b;
  b.add_material({.name = "disc", .friction = friction});
  b.add_body(planar_ground("disc"));
  Jitter jitter(4242);
  for (int i = 0; i < n; ++i) {
    const int row = i / 5, k = i % 5;
    const double vx = jitter(0.5), vy = jitter(0.5), spin = jitter(0.5);
    b.add_body({.name = "disc" + std::to_string(i),
                .motion = Motion::Planar,
                .position = Vec3(k + 0.5 * (row % 2), 0.5 + row * std::sqrt(3.0) / 2, 0),
                .velocity = Vec3(vx, vy, 0),
                // The comparison's plane is x-z, whose hinge turns about y: the other way round.
                .angular_velocity = Vec3(0, 0, -spin),
                .shapes = {{.shape = Shape::disc(0.5), .material = "disc"}},
                .mass = 1});
  }
  return finish(b, "Planar discs in rows of five, touching.", 50);
}

}  // namespace orthant::scenes
