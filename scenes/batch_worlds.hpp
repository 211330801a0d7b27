// SPDX-License-Identifier: Apache-2.0
// scenes/batch_worlds.hpp: models for batches of worlds (docs/gpu.md).
#pragma once

#include <cmath>
#include <string>

#include "orthant/model/model_builder.hpp"

namespace orthant::scenes {

/// The quaternion that turns x onto the unit vector d.
inline Quat along_x(const Vec3& d) {
  const Vec3 axis = Vec3::UnitX().cross(d);
  const double w = 1 + d[0];
  if (w < 1e-9) return {0, 0, 0, 1};
  return normalized(Quat{w, axis[0], axis[1], axis[2]});
}

/// The ant of the learning benchmarks, with its sizes, densities, armature, damping, limits and
/// gears: a ball and four legs of two links, nine bodies, eight hinges with motors, 25 points that
/// may touch the floor. Its parts do not touch each other.
inline Model ant(double height = 0.75) {
  ModelBuilder b;
  b.add_material({.name = "ground", .friction = 1.0});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "ground", .group = 2}}});
  const auto capsule = [](const Vec3& from, const Vec3& to) {
    const Vec3 d = to - from;
    return ShapeSpec{.shape = Shape::capsule(0.08, 0.5 * d.norm()),
                     .offset = {0.5 * (from + to), along_x(d.normalized())},
                     .density = 5,
                     .material = "ground",
                     .group = 1,
                     .mask = 2};
  };
  BodySpec torso{.name = "torso", .position = Vec3(0, 0, height)};
  torso.shapes.push_back(
      {.shape = Shape::sphere(0.25), .density = 5, .material = "ground", .group = 1, .mask = 2});
  const Vec3 corner[4] = {{1, 1, 0}, {-1, 1, 0}, {-1, -1, 0}, {1, -1, 0}};
  for (const Vec3& c : corner) torso.shapes.push_back(capsule(Vec3::Zero(), 0.2 * c));
  b.add_body(torso);
  const double bend = 50 * std::numbers::pi / 180, degree = std::numbers::pi / 180;
  for (int leg = 0; leg < 4; ++leg) {
    const std::string n = std::to_string(leg + 1);
    const Vec3 hip = Vec3(0, 0, height) + 0.2 * corner[leg], knee = hip + 0.2 * corner[leg];
    const Vec3 out = corner[leg].normalized(), turn = Vec3::UnitZ().cross(out);
    const Vec3 foot =
        0.4 * std::sqrt(2.0) * (std::cos(bend) * out - std::sin(bend) * Vec3::UnitZ());
    b.add_body({.name = "leg" + n, .position = hip, .shapes = {capsule(Vec3::Zero(), knee - hip)}});
    b.add_body({.name = "foot" + n, .position = knee, .shapes = {capsule(Vec3::Zero(), foot)}});
    b.add_joint({.name = "hip" + n,
                 .kind = JointKind::Revolute,
                 .a = "leg" + n,
                 .b = "torso",
                 .anchor = hip,
                 .lower = -30 * degree,
                 .upper = 30 * degree,
                 .damping = 1,
                 .armature = 1});
    b.add_joint({.name = "ankle" + n,
                 .kind = JointKind::Revolute,
                 .a = "foot" + n,
                 .b = "leg" + n,
                 .anchor = knee,
                 .axis = turn,
                 .start = bend,
                 .lower = 30 * degree,
                 .upper = 70 * degree,
                 .damping = 1,
                 .armature = 1});
  }
  for (int leg = 1; leg <= 4; ++leg)
    for (const char* joint : {"hip", "ankle"}) {
      const std::string name = joint + std::to_string(leg);
      b.add_actuator(
          JointActuatorSpec{.name = name, .joint = name, .gear = 150, .lower = -1, .upper = 1});
    }
  return b.build();
}

/// Two balls and a capsule on a floor and on each other; with a brick its impulses are not unique.
inline Model pebbles(bool brick = false) {
  ModelBuilder b;
  b.add_material({.name = "stone", .friction = 0.4});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "stone", .group = 4}}});
  const auto body = [&](const char* name, Shape shape, const Vec3& x, std::uint32_t group,
                        std::uint32_t mask) {
    b.add_body(
        {.name = name,
         .position = x,
         .shapes = {
             {.shape = std::move(shape), .material = "stone", .group = group, .mask = mask}}});
  };
  body("ball", Shape::sphere(0.1), Vec3(0, 0, 0.35), 1, 7);
  body("marble", Shape::sphere(0.07), Vec3(0.13, 0.02, 0.3), 1, 7);
  body("stick", Shape::capsule(0.06, 0.15), Vec3(0, 0.02, 0.12), 2, 5);
  if (brick) body("brick", Shape::box(0.1, 0.07, 0.05), Vec3(0.5, 0, 0.15), 8, 4);
  return b.build();
}

}  // namespace orthant::scenes
