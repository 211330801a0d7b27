// SPDX-License-Identifier: Apache-2.0
// Joint rows of whole models: C = dPsi/dq by differences through boxplus, e, limits, motors,
// friction.
#include "orthant/constraint/joint_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "orthant/model/model_builder.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

BodySpec link(std::string name, const Vec3& at) {
  return {.name = std::move(name),
          .position = at,
          .orientation = exp_rotation(Vec3(0.2 * at[0], 0.3, -0.1)),
          .shapes = {{.shape = Shape::box(0.1, 0.2, 0.3)}}};
}

/// Every spatial joint kind once, to the world, a fixed, a kinematic and a dynamic partner.
Model spatial_model() {
  ModelBuilder b;
  for (int i = 0; i < 5; ++i) b.add_body(link("l" + std::to_string(i), Vec3(i, 0.1 * i, 0)));
  b.add_body({.name = "cart",
              .motion = Motion::Kinematic,
              .velocity = Vec3(1, -2, 0.5),
              .angular_velocity = Vec3(0.3, 0.2, -0.7)});
  b.add_body({.name = "post", .motion = Motion::Fixed, .position = Vec3(-1, 0, 0)});
  b.add_joint({.kind = JointKind::Weld, .a = "l0", .b = "l1", .anchor = Vec3(0.4, 0, 0.1)});
  b.add_joint({.kind = JointKind::Revolute,
               .a = "l1",
               .b = "cart",
               .anchor = Vec3(1, 1, 0),
               .axis = Vec3(1, 2, 3)});
  b.add_joint({.kind = JointKind::Prismatic,
               .a = "l2",
               .b = "l1",
               .anchor = Vec3(2, 0, 1),
               .axis = Vec3(-1, 0.5, 0),
               .lower = -0.5,
               .upper = 0.25});
  b.add_joint({.kind = JointKind::Ball, .a = "world", .b = "l3", .anchor = Vec3(3, 0, 0.5)});
  b.add_joint({.kind = JointKind::Distance, .a = "l4", .b = "l3", .anchor_a = Vec3(0, 0.1, 0)});
  b.add_joint({.kind = JointKind::LockX, .a = "l4", .anchor = Vec3(1, 2, 3)});
  b.add_joint({.kind = JointKind::LockZ, .a = "l4", .b = "cart"});
  b.add_joint({.kind = JointKind::LockRotation, .a = "l2", .b = "post"});
  b.add_joint({.name = "drive",
               .kind = JointKind::Revolute,
               .a = "l0",
               .b = "l3",
               .motor = {.kind = MotorKind::Position,
                         .target = 0.1,
                         .velocity = 2,
                         .times = {0, 1},
                         .values = {0, 0.5}}});
  // One leader that shares a body, one with a kinematic partner; the second is led by angle.
  b.add_joint({.name = "rack",
               .kind = JointKind::Prismatic,
               .a = "l4",
               .b = "cart",
               .axis = Vec3(0, 1, 1),
               .follow = {.joint = "joint2", .ratio = -2.5}});
  b.add_joint({.name = "gear",
               .kind = JointKind::Revolute,
               .a = "l2",
               .b = "l1",
               .axis = Vec3(1, 0, 0),
               .follow = {.joint = "joint1", .ratio = 3}});
  return b.build();
}

Model planar_model() {
  ModelBuilder b;
  for (int i = 0; i < 4; ++i) {
    b.add_body({.name = "p" + std::to_string(i),
                .motion = Motion::Planar,
                .position = Vec3(i, 0.3 * i, 0),
                .angle = 0.4 * i,
                .shapes = {{.shape = Shape::rectangle(0.3, 0.1)}}});
  }
  b.add_joint({.kind = JointKind::Pin, .a = "p0", .anchor = Vec3(-0.3, 0, 0)});
  b.add_joint({.kind = JointKind::Pin, .a = "p1", .b = "p0", .anchor = Vec3(0.5, 0.1, 0)});
  b.add_joint({.kind = JointKind::Slider,
               .a = "p2",
               .b = "p1",
               .anchor = Vec3(1, 1, 0),
               .axis = Vec3(1, 0.5, 0)});
  b.add_joint({.kind = JointKind::Weld, .a = "p3", .b = "p2"});
  b.add_joint({.kind = JointKind::Distance, .a = "p3", .b = "p0"});
  b.add_joint({.kind = JointKind::LockY, .a = "p3"});
  b.add_joint(
      {.kind = JointKind::Pin, .a = "p2", .b = "p0", .follow = {.joint = "joint1", .ratio = 0.7}});
  b.add_joint({.kind = JointKind::LockRotation, .a = "p3", .b = "p1"});
  return b.build();
}

VecX disturbed(const Model& model, std::uint64_t seed, double size) {
  SplitMix random(seed);
  VecX delta(model.v_size()), q;
  for (Index i = 0; i < delta.size(); ++i) delta[i] = size * random.uniform(-1, 1);
  boxplus(model, model.rest_state().q, delta, q);
  return q;
}

MatX dense(const BlockRows& rows, Index columns) {
  MatX A = MatX::Zero(rows.rows(), columns);
  for (Index i = 0; i < columns; ++i) {
    VecX y = VecX::Zero(rows.rows());
    rows.multiply_add(1, VecX::Unit(columns, i), y);
    A.col(i) = y;
  }
  return A;
}

CanonicalProblem rows_of(const Model& model, const VecX& q, const VecX& v, double t, double h,
                         double beta) {
  CanonicalProblem problem;
  problem.b.resize(joint_block_count(model));
  append_joint_rows(model, model.default_parameters(), q, v, t, h, beta, problem, 0);
  return problem;
}

void expect_rows_are_derivatives(const Model& model) {
  const Parameters p = model.default_parameters();
  const VecX q = disturbed(model, 5, 0.3), v = model.rest_state().v;
  const double t = 0.3, h = 0.01;
  const CanonicalProblem problem = rows_of(model, q, v, t, h, 1);
  ASSERT_EQ(problem.C.rows(), model.bilateral_count());
  const MatX C = dense(problem.C, model.dynamic_v_size());
  MatX numeric(model.bilateral_count(), model.v_size());
  for (Index i = 0; i < model.v_size(); ++i) {
    VecX side[2], moved;
    for (int s = 0; s < 2; ++s) {
      boxplus(model, q, VecX::Unit(model.v_size(), i) * (s == 0 ? -1e-5 : 1e-5), moved);
      joint_error(model, p, moved, t, side[s]);
    }
    numeric.col(i) = (side[1] - side[0]) / 2e-5;
  }
  EXPECT_LT((C - numeric.leftCols(model.dynamic_v_size())).cwiseAbs().maxCoeff(), 1e-9);

  // What a prescribed body does to the joint is in e, with the joint's own error and the drive.
  VecX now, later, rate;
  joint_error(model, p, q, t, now);
  joint_error(model, p, q, t + h, later);
  const Index rest = model.v_size() - model.dynamic_v_size();
  const VecX carried = numeric.rightCols(rest) * v.tail(rest);
  EXPECT_LT((problem.e - (now / h + (later - now) / h + carried)).cwiseAbs().maxCoeff(), 1e-8);
  joint_rate(model, p, q, v, t, rate);
  EXPECT_LT((rate - ((later - now) / h + carried)).cwiseAbs().maxCoeff(), 1e-8);
  const CanonicalProblem projected = rows_of(model, q, v, t, h, 0);
  EXPECT_LT((projected.e - rate).cwiseAbs().maxCoeff(), 1e-8);
}

TEST(JointRows, SpatialRowsAreDerivatives) { expect_rows_are_derivatives(spatial_model()); }
TEST(JointRows, PlanarRowsAreDerivatives) { expect_rows_are_derivatives(planar_model()); }

TEST(JointRows, AsBuiltNoErrorAndFullCount) {
  for (const Model& model : {spatial_model(), planar_model()}) {
    VecX psi;
    joint_error(model, model.default_parameters(), model.rest_state().q, -0.05, psi);
    // At t = -0.05 the drive wants 0.1 - 2 * 0.05 = 0.
    EXPECT_LT(psi.cwiseAbs().maxCoeff(), 1e-15);
    EXPECT_LT(largest_joint_error(model, model.default_parameters(), model.rest_state().q, -0.05),
              1e-15);
  }
  EXPECT_EQ(spatial_model().bilateral_count(), 6 + 5 + 5 + 3 + 1 + 1 + 1 + 3 + 5 + 1 + 6 + 6);
  EXPECT_EQ(planar_model().bilateral_count(), 2 + 2 + 2 + 3 + 1 + 1 + 1 + 3);
}

TEST(JointRows, ParametersMoveTheError) {
  const Model model = spatial_model();
  Parameters p = model.default_parameters();
  p.values[p.table->find("joint/joint3.a.x")] += 0.125;  // the world's anchor of the ball joint
  VecX psi;
  joint_error(model, p, model.rest_state().q, -0.05, psi);
  EXPECT_NEAR(psi[model.joint(JointId{3}).row_begin], 0.125, 1e-15);
  EXPECT_NEAR(largest_joint_error(model, p, model.rest_state().q, -0.05), 0.125, 1e-15);
  p.values[p.table->find("joint/rack.follow.offset")] = 0.25;
  joint_error(model, p, model.rest_state().q, -0.05, psi);
  EXPECT_NEAR(psi[model.joint(model.find_joint("rack")).follow.row], -0.25, 1e-15);
  EXPECT_NEAR(largest_joint_error(model, p, model.rest_state().q, -0.05), 0.25, 1e-15);
}

// The planar hinge of the notation page: A [[1, 0, -r_y], [0, 1, r_x]], B the negative.
TEST(JointRows, PlanarHingeInClosedForm) {
  ModelBuilder b;
  b.add_body({.name = "a", .motion = Motion::Planar, .shapes = {{.shape = Shape::disc(1)}}});
  b.add_body({.name = "b",
              .motion = Motion::Planar,
              .position = Vec3(2, 0, 0),
              .shapes = {{.shape = Shape::disc(1)}}});
  b.add_joint({.kind = JointKind::Pin, .a = "a", .b = "b", .anchor = Vec3(0.7, 0.4, 0)});
  const Model model = b.build();
  const State x = model.rest_state();
  const MatX C = dense(rows_of(model, x.q, x.v, 0, 0.01, 1).C, 6);
  MatX wanted(2, 6);
  wanted << 1, 0, -0.4, -1, 0, 0.4, 0, 1, 0.7, 0, -1, 1.3;
  EXPECT_LT((C - wanted).cwiseAbs().maxCoeff(), 1e-15);
}

Model slider_model(JointSpec spec) {
  ModelBuilder b;
  b.add_body({.name = "block", .motion = Motion::Planar, .shapes = {{.shape = Shape::disc(1)}}});
  spec.kind = JointKind::Slider;
  spec.a = "block";
  spec.axis = Vec3(1, 0, 0);
  b.add_joint(spec);
  return b.build();
}

TEST(JointRows, LimitsAreOrthantRowsWithGapOverStep) {
  const Model model = slider_model({.lower = -0.5, .upper = 0.25});
  EXPECT_EQ(joint_block_count(model), 2);
  EXPECT_EQ(joint_limit_count(model), 2);
  State x = model.rest_state();
  x.q[0] = 0.1;
  const CanonicalProblem p = rows_of(model, x.q, x.v, 0, 0.01, 0);
  ASSERT_EQ(p.laws.size(), 2U);
  EXPECT_EQ(p.laws[0], Law::orthant());
  EXPECT_NEAR(p.b[0], 0.6 / 0.01, 1e-12);
  EXPECT_NEAR(p.b[1], 0.15 / 0.01, 1e-12);
  const MatX D = dense(p.D, 3);
  EXPECT_EQ(D(0, 0), 1);
  EXPECT_EQ(D(1, 0), -1);
  x.q[0] = 0.35;  // past the upper limit: stabilised by beta
  EXPECT_NEAR(rows_of(model, x.q, x.v, 0, 0.01, 0.2).b[1], -0.2 * 0.1 / 0.01, 1e-12);
  EXPECT_NEAR(rows_of(model, x.q, x.v, 0, 0.01, 0).b[1], 0, 1e-12);
  EXPECT_NEAR(largest_joint_error(model, model.default_parameters(), x.q, 0), 0.1, 1e-15);
  CanonicalProblem position;
  position.b.resize(2);
  append_joint_position_rows(model, model.default_parameters(), x.q, 0, position, 0);
  EXPECT_NEAR(position.b[0], 0.85, 1e-15);
  EXPECT_NEAR(position.b[1], -0.1, 1e-15);
}

TEST(JointRows, LimitedMotorsAndFrictionAreBoxes) {
  const Model model = slider_model(
      {.dry_friction = 3, .motor = {.kind = MotorKind::Velocity, .velocity = 2, .max_force = 50}});
  EXPECT_EQ(joint_block_count(model), 2);
  EXPECT_EQ(joint_limit_count(model), 0);
  EXPECT_EQ(model.bilateral_count(), 2);  // the motor is no bilateral row
  const State x = model.rest_state();
  const CanonicalProblem p = rows_of(model, x.q, x.v, 0, 0.01, 0);
  EXPECT_EQ(p.laws[0], Law::box(-0.5, 0.5));
  EXPECT_EQ(p.b[0], -2);
  EXPECT_EQ(p.laws[1], Law::box(-0.03, 0.03));
  EXPECT_EQ(p.b[1], 0);
}

TEST(JointRows, UnlimitedMotorsAreRheonomicRows) {
  const Model model = slider_model(
      {.motor = {.kind = MotorKind::Position, .target = 0.5, .times = {0, 1}, .values = {0, 3}}});
  EXPECT_EQ(model.bilateral_count(), 3);
  const State x = model.rest_state();
  const CanonicalProblem p = rows_of(model, x.q, x.v, 0.2, 0.01, 1);
  // C v + e = 0 must bring the coordinate from 0 to 0.5 + 3 * 0.21 within the step.
  EXPECT_NEAR(p.e[2], -(0.5 + 3 * 0.21) / 0.01, 1e-12);
  const Model spin = slider_model({.motor = {.kind = MotorKind::Velocity, .velocity = 4}});
  EXPECT_EQ(rows_of(spin, x.q, x.v, 0, 0.01, 1).e[2], -4);
}

TEST(JointRows, SpatialHingeMotorTakesTheNearestTurn) {
  ModelBuilder b;
  b.add_body(link("wheel", Vec3::Zero()));
  b.add_joint({.name = "axle",
               .kind = JointKind::Revolute,
               .a = "wheel",
               .axis = Vec3(0, 1, 0),
               .motor = {.kind = MotorKind::Position, .velocity = 1}});
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  VecX q, psi, delta = VecX::Zero(6);
  const double t = 20.25;  // three turns and a bit
  delta[4] = t + 1e-3;
  boxplus(model, model.rest_state().q, delta, q);
  joint_error(model, p, q, t, psi);
  EXPECT_NEAR(psi[5], 1e-3, 1e-13);
  EXPECT_NEAR(joint_coordinate(model, p, q, model.find_joint("axle")),
              std::remainder(t + 1e-3, 2 * std::acos(-1.0)), 1e-13);
}

TEST(JointRows, RopeHasNoBilateralRow) {
  ModelBuilder b;
  b.add_body(link("bob", Vec3(0, 0, -1)));
  b.add_joint({.name = "rope", .kind = JointKind::Distance, .a = "bob", .upper = 1.5});
  b.add_joint({.name = "rod", .kind = JointKind::Distance, .a = "bob", .anchor = Vec3(1, 0, -1)});
  const Model model = b.build();
  EXPECT_EQ(model.joint(JointId{0}).row_count, 0);
  EXPECT_EQ(model.joint(JointId{1}).row_count, 1);
  const State x = model.rest_state();
  EXPECT_NEAR(rows_of(model, x.q, x.v, 0, 0.1, 1).b[0], 0.5 / 0.1, 1e-13);
}

TEST(JointRows, ValidProblem) {
  const Model model = spatial_model();
  const State x = model.rest_state();
  CanonicalProblem p = rows_of(model, disturbed(model, 9, 0.2), x.v, 0, 0.01, 0);
  for (const BodyId id : model.dynamic_bodies()) {
    const Index n = model.body(id).v_size;
    double* block = p.H.add_block(n);
    for (Index i = 0; i < n; ++i) block[i * n + i] = 1;
  }
  p.k = VecX::Zero(model.dynamic_v_size());
  EXPECT_NO_THROW(validate(p));
}

}  // namespace
}  // namespace orthant
