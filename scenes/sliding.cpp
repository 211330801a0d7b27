// SPDX-License-Identifier: Apache-2.0
// scenes/sliding.cpp: friction with closed forms.
#include "scenes/common.hpp"

namespace orthant::scenes {

namespace {

ShapeSpec flat_block() { return {.shape = Shape::box(0.2, 0.2, 0.05), .material = "rough"}; }

}  // namespace

Scene incline(double angle_deg, double friction, double heading_deg) {
  const Quat turn = exp_rotation(Vec3(0, 0, heading_deg * kDegree));
  const Quat plane = multiply(turn, exp_rotation(Vec3(0, angle_deg * kDegree, 0)));
  ModelBuilder b;
  b.add_material({.name = "rough", .friction = friction});
  b.add_body(ground("rough", plane));
  // Not turned with the heading: at 45 degrees the block slides along its diagonal.
  b.add_body({.name = "block",
              .position = rotate(plane, Vec3(0, 0, 0.05)),
              .orientation = multiply(plane, conjugate(turn)),
              .shapes = {flat_block()}});
  return finish(b, "A block on an incline: rests below atan(friction), slides above.", 100);
}

Scene thrown_block(double heading_deg, double friction) {
  const double heading = heading_deg * kDegree;
  ModelBuilder b;
  b.add_material({.name = "rough", .friction = friction});
  b.add_body(ground("rough"));
  b.add_body({.name = "block",
              .position = Vec3(0, 0, 0.05),
              .velocity = Vec3(2 * std::cos(heading), 2 * std::sin(heading), 0),
              .shapes = {flat_block()}});
  return finish(b, "A block thrown along the floor stops after v^2/(2 friction g).", 100);
}

Scene rolling_sphere(double angle_deg, double friction) {
  const Quat plane = exp_rotation(Vec3(0, angle_deg * kDegree, 0));
  ModelBuilder b;
  b.add_material({.name = "rough", .friction = friction});
  b.add_body(ground("rough", plane));
  b.add_body({.name = "ball",
              .position = rotate(plane, Vec3(0, 0, 0.1)),
              .shapes = {{.shape = Shape::sphere(0.1), .material = "rough"}}});
  return finish(b, "A sphere rolls down an incline at 5/7 g sin(angle).", 100);
}

Scene painleve_rod(double friction, double speed) {
  const double half = 0.5, radius = 0.01, angle = 60 * kDegree;
  ModelBuilder b;
  b.add_material({.name = "rough", .friction = friction});
  b.add_body(planar_ground("rough"));
  b.add_body({.name = "rod",
              .motion = Motion::Planar,
              .position = Vec3(0, half * std::sin(angle) + radius, 0),
              .angle = angle,
              .velocity = Vec3(-speed, 0, 0),
              .shapes = {{.shape = Shape::stadium(radius, half), .material = "rough"}}});
  return finish(b, "A rod dragged over a rough floor: Painlevé's paradox.", 200);
}

}  // namespace orthant::scenes
