// SPDX-License-Identifier: Apache-2.0
// scenes/batch_worlds.hpp: models for batches of worlds (docs/gpu.md).
#pragma once

#include <cmath>
#include <numbers>
#include <string>
#include <vector>

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

/// A quadruped with the lengths, masses and joint limits of the Unitree Go2: thirteen bodies,
/// twelve hinges on springs that hold a crouch, with motors; feet, knees and the corners of the
/// trunk may touch the floor, sixteen points.
inline Model quadruped() {
  ModelBuilder b;
  b.add_material({.name = "ground", .friction = 0.6});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "ground", .group = 2}}});
  constexpr std::uint32_t kTouches = 2, kPasses = 0;
  const auto part = [](Shape shape, const Vec3& at, std::uint32_t mask, const Quat& turn = {}) {
    return ShapeSpec{.shape = std::move(shape),
                     .offset = {at, turn},
                     .material = "ground",
                     .group = 1,
                     .mask = mask};
  };
  constexpr double kThigh = 0.8, kCalf = -1.5, kLength = 0.213, kFoot = 0.022;
  const auto down = [](double angle) {
    return Vec3(-kLength * std::sin(angle), 0, -kLength * std::cos(angle));
  };
  const Vec3 thigh = down(kThigh), calf = down(kThigh + kCalf);
  const Vec3 trunk(0, 0, 0.01 + kFoot - thigh.z() - calf.z());
  b.add_body({.name = "trunk",
              .position = trunk,
              .shapes = {part(Shape::box(0.188, 0.0468, 0.057), Vec3::Zero(), kTouches)},
              .mass = 6.921});
  for (int leg = 0; leg < 4; ++leg) {
    const std::string n = std::to_string(leg + 1);
    const double side = leg % 2 == 0 ? 1 : -1, end = leg < 2 ? 1 : -1;
    const Vec3 hip = trunk + Vec3(0.1934 * end, 0.0465 * side, 0);
    const Vec3 top = hip + Vec3(0, 0.0955 * side, 0), knee = top + thigh;
    const auto link = [&](const char* name, const Vec3& at, double mass,
                          std::vector<ShapeSpec> shapes) {
      b.add_body({.name = name + n, .position = at, .shapes = std::move(shapes), .mass = mass});
    };
    const auto rod = [&](const Vec3& to) {
      return part(Shape::capsule(0.015, 0.5 * kLength), 0.5 * to, kPasses,
                  along_x(to.normalized()));
    };
    link("hip", hip, 0.678, {part(Shape::sphere(0.046), Vec3::Zero(), kPasses)});
    link("thigh", top, 1.152, {rod(thigh)});
    link("calf", knee, 0.194,
         {rod(calf), part(Shape::sphere(kFoot), calf, kTouches),
          part(Shape::sphere(kFoot), Vec3::Zero(), kTouches)});
    const auto hinge = [&](const std::string& name, const std::string& a, const std::string& to,
                           const Vec3& at, const Vec3& axis, double start, double lower,
                           double upper) {
      b.add_joint({.name = name,
                   .kind = JointKind::Revolute,
                   .a = a,
                   .b = to,
                   .anchor = at,
                   .axis = axis,
                   .start = start,
                   .lower = lower,
                   .upper = upper,
                   .stiffness = 40,
                   .damping = 1,
                   .rest = start,
                   .armature = 0.01});
      b.add_actuator(
          JointActuatorSpec{.name = name, .joint = name, .gear = 10, .lower = -1, .upper = 1});
    };
    hinge("roll" + n, "hip" + n, "trunk", hip, Vec3::UnitX(), 0, -1.05, 1.05);
    hinge("pitch" + n, "thigh" + n, "hip" + n, top, Vec3::UnitY(), kThigh, -1.57, 3.49);
    hinge("bend" + n, "calf" + n, "thigh" + n, knee, Vec3::UnitY(), kCalf, -2.72, -0.84);
  }
  return b.build();
}

/// An arm with the lengths, link masses and joint limits of the Franka Panda, its hand over a table
/// and a block between its two fingers: ten links, seven hinges and two slides on springs, with
/// motors. The fingers end in balls that may touch the block and the table, the block the table.
inline Model arm_with_block() {
  ModelBuilder b;
  b.add_material({.name = "rubber", .friction = 0.8});
  constexpr std::uint32_t kArm = 1, kTable = 2, kBlock = 4;
  // Origin and turn of each hinge in the frame of the one before; they turn about their z.
  const Quat back = normalized(Quat{1, -1, 0, 0}), forth = normalized(Quat{1, 1, 0, 0});
  const Pose step[7] = {{Vec3(0, 0, 0.333), {}},         {Vec3::Zero(), back},
                        {Vec3(0, -0.316, 0), forth},     {Vec3(0.0825, 0, 0), forth},
                        {Vec3(-0.0825, 0.384, 0), back}, {Vec3::Zero(), forth},
                        {Vec3(0.088, 0, 0), forth}};
  const double pi = std::numbers::pi;
  const double start[7] = {0, -pi / 4, 0, -3 * pi / 4, 0, pi / 2, pi / 4};
  const double lower[7] = {-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973};
  const double upper[7] = {2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973};
  const double mass[7] = {4.97, 0.647, 3.23, 3.59, 1.23, 1.67, 1.466};  // the last with the hand
  const auto actuator = [&](const std::string& name, double gear) {
    b.add_actuator(
        JointActuatorSpec{.name = name, .joint = name, .gear = gear, .lower = -1, .upper = 1});
  };
  Pose at;
  std::string last = "world";
  for (int i = 0; i < 7; ++i) {
    const Quat turned{std::cos(0.5 * start[i]), 0, 0, std::sin(0.5 * start[i])};
    at = compose(compose(at, step[i]), Pose{Vec3::Zero(), turned});
    const std::string name = "link" + std::to_string(i + 1),
                      joint = "joint" + std::to_string(i + 1);
    const Vec3 middle = i < 6 ? Vec3(0.5 * step[i + 1].x) : Vec3(0, 0, 0.08);
    b.add_body({.name = name,
                .position = at.x,
                .orientation = at.p,
                .shapes = {{.shape = Shape::sphere(0.06),
                            .offset = {middle, {}},
                            .material = "rubber",
                            .group = kArm,
                            .mask = 0}},
                .mass = mass[i]});
    b.add_joint({.name = joint,
                 .kind = JointKind::Revolute,
                 .a = name,
                 .b = last,
                 .anchor = at.x,
                 .axis = rotate(at.p, Vec3(Vec3::UnitZ())),
                 .start = start[i],
                 .lower = lower[i],
                 .upper = upper[i],
                 .stiffness = 600,
                 .damping = 50,
                 .rest = start[i],
                 .armature = 0.1});
    actuator(joint, 5);
    last = name;
  }
  // The hand, turned by an eighth, ends 0.107 + 0.1034 m along the last axis: there the fingers
  // grip.
  const Pose hand =
      compose(at, Pose{Vec3(0, 0, 0.107), Quat{std::cos(pi / 8), 0, 0, -std::sin(pi / 8)}});
  constexpr double kHalf = 0.02, kTip = 0.008, kOpen = 0.03;
  const Vec3 grip = transform(hand, Vec3(0, 0, 0.1034));
  for (const int side : {1, -1}) {
    const std::string name = side > 0 ? "left" : "right";
    b.add_body({.name = name,
                .position = transform(hand, Vec3(0, side * kOpen, 0.1034)),
                .orientation = hand.p,
                .shapes = {{.shape = Shape::sphere(kTip),
                            .material = "rubber",
                            .group = kArm,
                            .mask = kTable | kBlock}},
                .mass = 0.015});
    b.add_joint({.name = name,
                 .kind = JointKind::Prismatic,
                 .a = name,
                 .b = last,
                 .anchor = grip,
                 .axis = rotate(hand.p, Vec3(0, -side, 0)),
                 .start = -kOpen,
                 .lower = -0.04,
                 .upper = 0.0,
                 .stiffness = 500,
                 .damping = 5,
                 .rest = 0.005 - kTip - kHalf,
                 .armature = 0.1});
    actuator(name, 2);
  }
  b.add_body({.name = "block",
              .position = grip,
              .orientation = hand.p,
              .shapes = {{.shape = Shape::box(kHalf, kHalf, kHalf),
                          .density = 700,
                          .material = "rubber",
                          .group = kBlock,
                          .mask = kTable | kArm}}});
  b.add_body({.name = "table",
              .motion = Motion::Fixed,
              .position = grip - Vec3(0, 0, kHalf + 0.001),
              .shapes = {{.shape = Shape::half_space(),
                          .material = "rubber",
                          .group = kTable,
                          .mask = kArm | kBlock}}});
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
