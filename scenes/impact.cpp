// SPDX-License-Identifier: Apache-2.0
// scenes/impact.cpp: bodies that bounce.
#include "scenes/common.hpp"

namespace orthant::scenes {

Scene bouncing_ball(double height, double restitution) {
  ModelBuilder b;
  b.add_material({.name = "rubber", .friction = 0.5, .restitution = restitution});
  b.add_body(ground("rubber"));
  b.add_body({.name = "ball",
              .position = Vec3(0, 0, height + 0.1),
              .shapes = {{.shape = Shape::sphere(0.1), .material = "rubber"}}});
  return finish(b, "A ball dropped from 1 m; each bounce is restitution^2 as high.", 300,
                {.impact_events = true});
}

Scene newtons_cradle(int n) {
  const double radius = 0.1, length = 1, gap = 1e-4, lift = 45 * kDegree;
  ModelBuilder b;
  b.add_material({.name = "steel", .friction = 0, .restitution = 1});
  for (int i = 0; i < n; ++i) {
    const double x = i * (2 * radius + gap), angle = i == 0 ? -lift : 0;
    const std::string name = "ball" + std::to_string(i);
    b.add_body({.name = name,
                .motion = Motion::Planar,
                .position = Vec3(x + length * std::sin(angle), -length * std::cos(angle), 0),
                .shapes = {{.shape = Shape::disc(radius), .material = "steel"}},
                .mass = 1});
    b.add_joint({.kind = JointKind::Distance, .a = name, .anchor = Vec3(x, 0, 0)});
    b.add_joint({.kind = JointKind::LockRotation, .a = name});
  }
  return finish(b, "Newton's cradle: one ball in, one ball out.", 2000,
                {.h = 0.002, .impact_events = true});
}

Scene billiards() {
  const double radius = 0.0286, pitch = 2 * radius + 1e-5;
  ModelBuilder b;
  b.add_material({.name = "ball", .friction = 0.05, .restitution = 0.95});
  b.add_material({.name = "cloth", .friction = 0.2, .rolling_friction = 2e-4});
  b.add_material({.name = "cushion", .friction = 0.2, .restitution = 0.8});
  b.add_material_pair({.a = "ball", .b = "cloth", .friction = 0.2, .restitution = 0});
  b.add_body(ground("cloth"));
  const double half_x = 1.27, half_y = 0.635, quarter = 90 * kDegree;
  b.add_body(ground("cushion", exp_rotation(Vec3(0, quarter, 0)), Vec3(-half_x, 0, 0), "west"));
  b.add_body(ground("cushion", exp_rotation(Vec3(0, -quarter, 0)), Vec3(half_x, 0, 0), "east"));
  b.add_body(ground("cushion", exp_rotation(Vec3(-quarter, 0, 0)), Vec3(0, -half_y, 0), "south"));
  b.add_body(ground("cushion", exp_rotation(Vec3(quarter, 0, 0)), Vec3(0, half_y, 0), "north"));
  const auto ball = [&](std::string name, double x, double y, double speed) {
    b.add_body({.name = std::move(name),
                .position = Vec3(x, y, radius),
                .velocity = Vec3(speed, 0, 0),
                .shapes = {{.shape = Shape::sphere(radius), .material = "ball"}},
                .mass = 0.17});
  };
  ball("cue", -0.635, 0, 5);
  for (int row = 0, number = 1; row < 5; ++row)
    for (int i = 0; i <= row; ++i, ++number)
      ball("ball" + std::to_string(number), 0.635 + row * pitch * std::sqrt(0.75),
           pitch * (i - 0.5 * row), 0);
  return finish(b, "A cue ball breaks a rack of fifteen.", 1000,
                {.h = 0.002, .impact_events = true});
}

Scene two_spheres(double restitution, double friction) {
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_material({.name = "ball", .friction = friction, .restitution = restitution});
  const auto ball = [&](std::string name, double mass, const Vec3& at, double speed) {
    b.add_body({.name = std::move(name),
                .position = at,
                .velocity = Vec3(speed, 0, 0),
                .shapes = {{.shape = Shape::sphere(0.5), .material = "ball"}},
                .mass = mass});
  };
  ball("light", 1, Vec3(-1, 0, 0), 1);
  ball("heavy", 3, Vec3(1, 0.3, 0), 0);
  return finish(b, "Two spheres meet off centre: momentum is kept.", 300);
}

Scene elastic_gas(int n) {
  const double half = 1, radius = 0.05;
  ModelBuilder b;
  b.set_gravity(Vec3::Zero());
  b.add_material({.name = "hard", .friction = 0, .restitution = 1});
  for (int i = 0; i < 4; ++i) {
    const double angle = 90 * kDegree * i;
    const Vec3 at(half * std::sin(angle), -half * std::cos(angle), 0);
    b.add_body(planar_ground("hard", angle, at, "wall" + std::to_string(i)));
  }
  Jitter jitter(2024);
  const int side = static_cast<int>(std::ceil(std::sqrt(n)));
  for (int i = 0; i < n; ++i) {
    const double pitch = 2 * half / side;
    const int row = i / side, column = i % side;
    const double x = -half + pitch * (column + 0.5), y = -half + pitch * (row + 0.5);
    const double vx = jitter(1), vy = jitter(1);
    b.add_body({.name = "disc" + std::to_string(i),
                .motion = Motion::Planar,
                .position = Vec3(x, y, 0),
                .velocity = Vec3(vx, vy, 0),
                .shapes = {{.shape = Shape::disc(radius), .material = "hard"}},
                .mass = 1});
  }
  return finish(b, "Elastic discs in a box: energy is kept.", 1000, {.impact_events = true});
}

}  // namespace orthant::scenes
