// SPDX-License-Identifier: Apache-2.0
// Rays over a model, and postures found with contacts: feet on the ground, no overlaps.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/robot/sensors.hpp"

namespace orthant {
namespace {

/// A leg of two rods above a step of height 0.1 at x > 0.1, on a slide along z.
Model leg() {
  ModelBuilder b;
  b.add_body(
      {.name = "ground",
       .motion = Motion::Fixed,
       .shapes = {
           {.shape = Shape::half_space(), .name = "floor"},
           {.shape = Shape::box(1, 1, 0.1), .offset = {Vec3(1.1, 0, 0), {}}, .name = "stair"}}});
  const Mat3 I = 0.01 * Mat3::Identity();
  b.add_body({.name = "hip",
              .position = Vec3(0, 0, 1),
              .shapes = {{.shape = Shape::sphere(0.05), .name = "hip"}},
              .mass = 1,
              .inertia = I});
  b.add_body({.name = "thigh", .position = Vec3(0, 0, 0.75), .mass = 1, .inertia = I});
  b.add_body(
      {.name = "shin",
       .position = Vec3(0, 0, 0.25),
       .shapes = {{.shape = Shape::sphere(0.04), .offset = {Vec3(0, 0, -0.2), {}}, .name = "foot"}},
       .mass = 1,
       .inertia = I});
  b.add_joint({.name = "lift", .kind = JointKind::Prismatic, .a = "hip", .axis = Vec3::UnitZ()});
  b.add_joint({.name = "hip",
               .kind = JointKind::Revolute,
               .a = "thigh",
               .b = "hip",
               .anchor = Vec3(0, 0, 1),
               .axis = Vec3::UnitY(),
               .lower = -1.5,
               .upper = 1.5});
  b.add_joint({.name = "knee",
               .kind = JointKind::Revolute,
               .a = "shin",
               .b = "thigh",
               .anchor = Vec3(0, 0, 0.5),
               .axis = Vec3::UnitY(),
               .lower = 0,
               .upper = 2.5});
  b.add_frame({.name = "eye", .body = "hip", .pose = {Vec3::Zero(), {}}});
  b.add_frame({.name = "foot", .body = "shin", .pose = {Vec3(0, 0, -0.2), {}}});
  return b.build();
}

TEST(Rays, SeeTheFirstShapeButTheirOwnBody) {
  const Model model = leg();
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  const auto hit = cast_ray(model, p, x, Vec3(0.5, 0, 1), Vec3(0, 0, -2));
  ASSERT_TRUE(hit.hits());
  EXPECT_EQ(model.shape(hit.shape).name, "stair");
  EXPECT_NEAR(hit.distance, 0.9, 1e-12);
  EXPECT_LT((hit.normal - Vec3::UnitZ()).norm(), 1e-12);
  // From inside the hip's own ball: down along the leg to the foot, to the side the floor.
  const std::vector<Vec3> directions = {Vec3(0, 0, -1), Vec3(-0.6, 0, -0.8), Vec3(0, 0, 1)};
  const auto rays = read_rays(model, p, x, find_frame_ref(model, "eye"), directions, 5);
  EXPECT_EQ(model.shape(rays[0].shape).name, "foot");
  EXPECT_NEAR(rays[0].distance, 0.91, 1e-12);
  EXPECT_EQ(model.shape(rays[1].shape).name, "floor");
  EXPECT_NEAR(rays[1].distance, 1.25, 1e-12);
  EXPECT_FALSE(rays[2].hits());
  EXPECT_TRUE(std::isinf(rays[2].distance));
  EXPECT_THROW((void)cast_ray(model, p, x, Vec3::Zero(), Vec3::Zero()), Error);
}

TEST(InverseKinematics, PutsTheFootOnTheStair) {
  const Model model = leg();
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const Articulation tree(model);
  VecX q = tree.positions(p, x);
  q << 0, -0.4, 0.8;
  // The foot touches the stair, the hip stays at its height; where along the stair is open.
  InverseKinematicsSettings settings;
  settings.contacts = true;
  settings.gaps = {{.shape = "foot", .other = "stair"}};
  const std::vector<FrameTarget> targets = {{.frame = "eye", .position = Vec3(0, 0, 0.95)}};
  const auto report = tree.inverse_kinematics(p, x, targets, q, settings);
  EXPECT_TRUE(report.reached) << report.error;
  tree.write(p, q, VecX::Zero(3), x);
  const auto gap =
      shape_distance(model, p, x.q, model.find_shape("foot"), model.find_shape("stair"));
  EXPECT_NEAR(gap.gap, 0, 1e-9);
  EXPECT_NEAR(tree.pose(p, x, q, tree.frame("eye")).x[2], 0.95, 1e-9);
}

TEST(InverseKinematics, KeepsOutOfTheGroundWhereAsked) {
  const Model model = leg();
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const Articulation tree(model);
  // 0.05 m below the floor is where the foot is wanted.
  const std::vector<FrameTarget> targets = {{.frame = "eye", .position = Vec3(0, 0, 0.8)},
                                            {.frame = "foot", .position = Vec3(-0.2, 0, -0.01)}};
  VecX q(3);
  q << 0, -0.4, 0.8;
  VecX free = q;
  EXPECT_TRUE(tree.inverse_kinematics(p, x, targets, free).reached);
  InverseKinematicsSettings settings;
  settings.contacts = true;
  const auto report = tree.inverse_kinematics(p, x, targets, q, settings);
  EXPECT_FALSE(report.reached);
  // The least sum of squares shares the 0.05 m between the target and the overlap.
  EXPECT_NEAR(report.error, 0.05 / std::sqrt(2.0), 0.01);
  settings.gaps = {{.shape = "foot", .other = "nothing"}};
  EXPECT_THROW((void)tree.inverse_kinematics(p, x, targets, q, settings), Error);
}

}  // namespace
}  // namespace orthant
