// SPDX-License-Identifier: Apache-2.0
// Joint coordinates against closed forms, against each other and against differences. Comparisons
// with Pinocchio are in python/tests/test_articulation.py.
#include "orthant/robot/articulation.hpp"

#include <gtest/gtest.h>

#include <Eigen/Eigenvalues>
#include <array>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;
using Values = std::vector<std::pair<std::string, double>>;

constexpr double kGravity = 9.81;

/// Two rods in the plane x-z that swing about y, of point-like mass m at l with inertia I.
struct Pendulum {
  double m1 = 1.3, m2 = 0.7, l1 = 0.5, l2 = 0.4, c1 = 0.3, c2 = 0.25, I1 = 0.02, I2 = 0.01;
  double armature = 0.05;
  Model build() const {
    ModelBuilder b;
    const auto body = [&](const char* name, double x, double m, double I) {
      b.add_body({.name = name,
                  .position = Vec3(x, 0, 0),
                  .mass = m,
                  .inertia = Mat3(I * Mat3::Identity())});
    };
    body("upper", c1, m1, I1);
    body("lower", l1 + c2, m2, I2);
    // About -y: angles count upwards from the x axis.
    b.add_joint({.name = "shoulder",
                 .kind = JointKind::Revolute,
                 .a = "upper",
                 .b = "world",
                 .anchor = Vec3::Zero(),
                 .axis = -Vec3::UnitY(),
                 .armature = armature});
    b.add_joint({.name = "elbow",
                 .kind = JointKind::Revolute,
                 .a = "upper",
                 .b = "lower",
                 .anchor = Vec3(l1, 0, 0),
                 .axis = Vec3::UnitY()});
    b.add_frame({.name = "tip", .body = "lower", .pose = {Vec3(l2 - c2, 0, 0), {}}});
    return b.build();
  }
};

TEST(Articulation, TwoRodsAreTheTextbook) {
  const Pendulum d;
  const Model model = d.build();
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  const Articulation tree(model);
  ASSERT_EQ(tree.u_size(), 2);
  EXPECT_EQ(tree.joints()[1].name, "elbow");
  EXPECT_TRUE(tree.joints()[1].reversed);
  VecX q(2), u(2), a(2);
  q << 0.7, -0.4;
  u << 1.1, -2.3;
  a << 0.3, 0.9;
  const double c2 = std::cos(q[1]), s2 = std::sin(q[1]), c1 = std::cos(q[0]),
               c12 = std::cos(q[0] + q[1]);
  MatX M(2, 2);
  const double m22 = d.I2 + d.m2 * d.c2 * d.c2, m12 = m22 + d.m2 * d.l1 * d.c2 * c2;
  M << d.I1 + d.m1 * d.c1 * d.c1 + d.m2 * d.l1 * d.l1 + 2 * m12 - m22 + d.armature, m12, m12, m22;
  const double k = d.m2 * d.l1 * d.c2 * s2;
  VecX bias(2);
  bias << -k * (2 * u[0] * u[1] + u[1] * u[1]) +
              kGravity * ((d.m1 * d.c1 + d.m2 * d.l1) * c1 + d.m2 * d.c2 * c12),
      k * u[0] * u[0] + kGravity * d.m2 * d.c2 * c12;
  EXPECT_LT((tree.mass_matrix(p, x, q) - M).norm(), 1e-14);
  EXPECT_LT((tree.bias(p, x, q, u) - bias).norm(), 1e-13);
  EXPECT_LT((tree.inverse_dynamics(p, x, q, u, a) - M * a - bias).norm(), 1e-13);
  EXPECT_LT((tree.forward_dynamics(p, x, q, u, M * a + bias) - a).norm(), 1e-12);
  const Pose tip = tree.pose(p, x, q, tree.frame("tip"));
  const Vec3 expected(d.l1 * c1 + d.l2 * c12, 0,
                      d.l1 * std::sin(q[0]) + d.l2 * std::sin(q[0] + q[1]));
  EXPECT_LT((tip.x - expected).norm(), 1e-15);
}

/// A floating base with a branch for every kind of joint, some seen from the other side.
Model creature(std::uint64_t seed) {
  SplitMix random(seed);
  ModelBuilder b;
  const auto vec = [&](double size) -> Vec3 {
    return size * Vec3(random.normal(), random.normal(), random.normal());
  };
  const auto body = [&](const std::string& name) {
    const Mat3 A = Mat3::Identity() * 0.2 + 0.1 * vec(1) * vec(1).transpose();
    Mat3 I = 0.05 * (A * A.transpose());
    I += I.trace() * Mat3::Identity();
    const Vec3 turn = vec(0.5);
    b.add_body({.name = name,
                .position = vec(0.4),
                .orientation = exp_rotation(turn),
                .mass = 0.5 + random.uniform(),
                .inertia = I,
                .center_of_mass = vec(0.1)});
  };
  const std::array kinds = {JointKind::Revolute, JointKind::Prismatic, JointKind::Ball,
                            JointKind::Planar,   JointKind::Weld,      JointKind::Revolute};
  body("base");
  std::string parent = "base";
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const std::string name = "b" + std::to_string(i);
    body(name);
    JointSpec joint{.name = "j" + std::to_string(i),
                    .kind = kinds[i],
                    .a = name,
                    .b = parent,
                    .anchor = vec(0.3),
                    .axis = vec(1)};
    if (i % 2 == 1) std::swap(joint.a, joint.b);
    if (kinds[i] == JointKind::Revolute) joint.armature = 0.1;
    b.add_joint(joint);
    if (i != 2) parent = name;
  }
  b.add_frame({.name = "tool", .body = "b5", .pose = {vec(0.2), exp_rotation(vec(0.5))}});
  return b.build();
}

struct Posture {
  VecX q, u, a;
};

Posture random_posture(const Articulation& tree, const State& x, const Parameters& p,
                       std::uint64_t seed) {
  SplitMix random(seed);
  const auto vec = [&] {
    VecX v(tree.u_size());
    for (double& y : v) y = random.normal();
    return v;
  };
  Posture out;
  out.q = tree.integrate(tree.positions(p, x), 0.7 * vec());
  out.u = vec();
  out.a = vec();
  return out;
}

TEST(Articulation, CoordinatesOfBodiesComeBack) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Model model = creature(seed);
    const Parameters p = model.default_parameters();
    State x = model.rest_state();
    const Articulation tree(model);
    EXPECT_EQ(tree.u_size(), 6 + 1 + 1 + 3 + 3 + 0 + 1);
    EXPECT_TRUE(tree.loops().empty());
    const Posture s = random_posture(tree, x, p, seed);
    tree.write(p, s.q, s.u, x);
    EXPECT_LT(tree.difference(tree.positions(p, x), s.q).norm(), 1e-12);
    EXPECT_LT((tree.velocities(p, x) - s.u).norm(), 1e-12);
    // The bodies' velocities are the rates of their places.
    const double e = 1e-6;
    State before = x, after = x;
    tree.write(p, tree.integrate(s.q, -e * s.u), s.u, before);
    tree.write(p, tree.integrate(s.q, e * s.u), s.u, after);
    VecX rate;
    boxminus(model, after.q, before.q, rate);
    EXPECT_LT((rate / (2 * e) - x.v).norm(), 1e-8);
  }
}

TEST(Articulation, JacobiansAreDerivatives) {
  const Model model = creature(7);
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  const Articulation tree(model);
  const Posture s = random_posture(tree, x, p, 3);
  const FrameRef tool = tree.frame("tool");
  const MatX J = tree.jacobian(p, x, s.q, tool), Jc = tree.center_of_mass_jacobian(p, x, s.q);
  const double e = 1e-6;
  for (Index k = 0; k < tree.u_size(); ++k) {
    const VecX d = e * VecX::Unit(tree.u_size(), k);
    const VecX q0 = tree.integrate(s.q, -d), q1 = tree.integrate(s.q, d);
    const Pose a = tree.pose(p, x, q0, tool), b = tree.pose(p, x, q1, tool);
    EXPECT_LT((J.col(k).head<3>() - (b.x - a.x) / (2 * e)).norm(), 1e-8);
    EXPECT_LT((J.col(k).tail<3>() - boxminus(b.p, a.p) / (2 * e)).norm(), 1e-8);
    EXPECT_LT(
        (Jc.col(k) - (tree.center_of_mass(p, x, q1) - tree.center_of_mass(p, x, q0)) / (2 * e))
            .norm(),
        1e-8);
  }
  const VecX q0 = tree.integrate(s.q, -e * s.u), q1 = tree.integrate(s.q, e * s.u);
  const VecX rate = (tree.jacobian(p, x, q1, tool) - tree.jacobian(p, x, q0, tool)) * s.u / (2 * e);
  EXPECT_LT((tree.jacobian_rate(p, x, s.q, s.u, tool) - rate).norm(), 1e-7);
}

TEST(Articulation, MassMatrixAndInverseDynamicsAreOfOneMechanism) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Model model = creature(seed);
    const Parameters p = model.default_parameters();
    const State x = model.rest_state();
    const Articulation tree(model);
    const Posture s = random_posture(tree, x, p, 10 + seed);
    const MatX M = tree.mass_matrix(p, x, s.q);
    const VecX tau = tree.inverse_dynamics(p, x, s.q, s.u, s.a);
    EXPECT_LT((tau - M * s.a - tree.bias(p, x, s.q, s.u)).norm(), 1e-11 * tau.norm());
    EXPECT_GT(M.selfadjointView<Eigen::Lower>().eigenvalues().minCoeff(), 0);
    // M is that of the bodies' kinetic energy, armature beside it.
    State moving = x;
    tree.write(p, s.q, s.u, moving);
    double twice = 0.1 * s.u[tree.joints()[1].u_begin] * s.u[tree.joints()[1].u_begin];
    const double last = s.u[tree.joints()[static_cast<std::size_t>(tree.find("j5"))].u_begin];
    twice += 0.1 * last * last;
    for (const Body& body : model.bodies()) {
      const Vec3 v = moving.v.segment<3>(body.v_begin), w = moving.v.segment<3>(body.v_begin + 3);
      const Mat3 R = matrix_of(body_pose(body, moving.q.data()).p);
      const double* I = p.values.data() + body.inertia;
      Mat3 J;
      J << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
      twice += p[body.mass] * v.squaredNorm() + w.dot(R * J * R.transpose() * w);
    }
    EXPECT_NEAR(s.u.dot(M * s.u), twice, 1e-12 * twice);
  }
}

TEST(Articulation, DerivativesOfInverseDynamicsAgreeWithDifferences) {
  const Model model = creature(11);
  Parameters p = model.default_parameters();
  const State x = model.rest_state();
  const Articulation tree(model);
  const Posture s = random_posture(tree, x, p, 5);
  const auto d = tree.inverse_dynamics_derivatives(p, x, s.q, s.u, s.a);
  const double e = 1e-6;
  for (Index k = 0; k < tree.u_size(); ++k) {
    const VecX step = e * VecX::Unit(tree.u_size(), k);
    const VecX by_q = (tree.inverse_dynamics(p, x, tree.integrate(s.q, step), s.u, s.a) -
                       tree.inverse_dynamics(p, x, tree.integrate(s.q, -step), s.u, s.a)) /
                      (2 * e);
    const VecX by_u = (tree.inverse_dynamics(p, x, s.q, s.u + step, s.a) -
                       tree.inverse_dynamics(p, x, s.q, s.u - step, s.a)) /
                      (2 * e);
    EXPECT_LT((d.by_q.col(k) - by_q).norm(), 1e-6 * (1 + by_q.norm()));
    EXPECT_LT((d.by_u.col(k) - by_u).norm(), 1e-6 * (1 + by_u.norm()));
  }
  const Index mass = p.table->find("body/b3.mass");
  const VecX by_mass = tree.inverse_dynamics_by_parameter(p, x, s.q, s.u, s.a, mass);
  const VecX before = tree.inverse_dynamics(p, x, s.q, s.u, s.a);
  p.values[mass] += 1;  // linear in it
  EXPECT_LT((tree.inverse_dynamics(p, x, s.q, s.u, s.a) - before - by_mass).norm(),
            1e-11 * before.norm());
}

/// Runge-Kutta of order 4 with the efforts at zero.
void fall(const Articulation& tree, const Parameters& p, const State& x, double time, int steps,
          VecX& q, VecX& u) {
  const double h = time / steps;
  const VecX none = VecX::Zero(tree.u_size());
  const auto rate = [&](const VecX& at, const VecX& v) {
    return tree.forward_dynamics(p, x, at, v, none);
  };
  for (int i = 0; i < steps; ++i) {
    const VecX k1 = rate(q, u), u2 = u + 0.5 * h * k1;
    const VecX k2 = rate(tree.integrate(q, 0.5 * h * u), u2), u3 = u + 0.5 * h * k2;
    const VecX k3 = rate(tree.integrate(q, 0.5 * h * u2), u3), u4 = u + h * k3;
    const VecX k4 = rate(tree.integrate(q, h * u3), u4);
    q = tree.integrate(q, h / 6 * (u + 2 * u2 + 2 * u3 + u4));
    u += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
}

TEST(Articulation, StepsTendToTheMotionOfForwardDynamics) {
  const Model model = creature(2);
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const Articulation tree(model);
  const Posture s = random_posture(tree, x, p, 8);
  tree.write(p, s.q, 0.3 * s.u, x);
  const double time = 0.2;
  VecX q = s.q, u = 0.3 * s.u;
  fall(tree, p, x, time, 400, q, u);
  double last = 0;
  for (const int steps : {200, 400}) {
    State y = x;
    WarmStart warm;
    StepWorkspace work;
    StepSettings settings;
    settings.h = time / steps;
    for (int i = 0; i < steps; ++i)
      ASSERT_EQ(step(model, p, settings, {}, y, warm, work).outcome, Outcome::Converged);
    const double error = tree.difference(tree.positions(p, y), q).norm();
    EXPECT_LT(error, 0.01);
    if (last > 0) {
      EXPECT_NEAR(last / error, 2, 0.2);  // first order
    }
    last = error;
  }
}

/// A four-bar linkage in the plane: two cranks of length 1 and a coupler of length 2.
Model four_bar() {
  ModelBuilder b;
  const Mat3 I = 0.1 * Mat3::Identity();
  b.add_body({.name = "left", .position = Vec3(0, 0, 0.5), .mass = 1, .inertia = I});
  b.add_body({.name = "coupler", .position = Vec3(1, 0, 1), .mass = 1, .inertia = I});
  b.add_body({.name = "right", .position = Vec3(2, 0, 0.5), .mass = 1, .inertia = I});
  const Vec3 y = Vec3::UnitY();
  const auto hinge = [&](const char* name, const char* a, const char* to, double at_x,
                         double at_z) {
    b.add_joint({.name = name,
                 .kind = JointKind::Revolute,
                 .a = a,
                 .b = to,
                 .anchor = Vec3(at_x, 0, at_z),
                 .axis = y});
  };
  hinge("crank", "left", "world", 0, 0);
  hinge("rocker", "right", "world", 2, 0);
  hinge("joint", "coupler", "left", 0, 1);
  hinge("closing", "coupler", "right", 2, 1);
  return b.build();
}

TEST(Articulation, LoopsStayClosed) {
  const Model model = four_bar();
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const Articulation tree(model);
  ASSERT_EQ(tree.u_size(), 3);
  ASSERT_EQ(tree.loops().size(), 1U);
  const double angle = 0.4;
  tree.set_positions(p, Values{{"crank", angle}}, x);
  const VecX q = tree.positions(p, x);
  // A parallelogram: the rocker turns as the crank, the coupler does not turn.
  EXPECT_NEAR(q[tree.joints()[static_cast<std::size_t>(tree.find("rocker"))].q_begin], angle, 1e-9);
  EXPECT_NEAR(q[tree.joints()[static_cast<std::size_t>(tree.find("joint"))].q_begin], -angle, 1e-9);
  EXPECT_LT(tree.loop_error(p, x, q).norm(), 1e-11);
  tree.set_velocities(p, Values{{"crank", 2.0}}, x);
  const VecX u = tree.velocities(p, x);
  EXPECT_NEAR(u[tree.joints()[static_cast<std::size_t>(tree.find("rocker"))].u_begin], 2, 1e-9);
  EXPECT_LT((tree.loop_jacobian(p, x, q) * u).norm(), 1e-10);
  EXPECT_THROW(tree.set_positions(p, Values{{"crank", 1.0}, {"rocker", -1.0}}, x), Error);
}

TEST(Articulation, FollowersFollow) {
  ModelBuilder b;
  const Mat3 I = 0.1 * Mat3::Identity();
  b.add_body({.name = "one", .position = Vec3(1, 0, 0), .mass = 1, .inertia = I});
  b.add_body({.name = "two", .position = Vec3(-1, 0, 0), .mass = 1, .inertia = I});
  b.add_joint({.name = "lead", .kind = JointKind::Prismatic, .a = "one", .axis = Vec3::UnitX()});
  b.add_joint({.name = "mirror",
               .kind = JointKind::Prismatic,
               .a = "two",
               .axis = Vec3::UnitX(),
               .follow = {"lead", -2, 0}});
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const Articulation tree(model);
  tree.set_positions(p, Values{{"lead", 0.3}}, x);
  EXPECT_NEAR(tree.positions(p, x)[1], -0.6, 1e-12);
  EXPECT_NEAR(x.q[model.body(model.find_body("two")).q_begin], -1.6, 1e-12);
}

TEST(Articulation, InverseKinematicsReachesWithinLimits) {
  const Pendulum d;
  const Model model = d.build();
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  const Articulation tree(model);
  VecX q(2);
  q << 0.3, -0.9;
  const VecX goal = q;
  const Vec3 target = tree.pose(p, x, goal, tree.frame("tip")).x;
  q << 0.1, -0.2;
  const std::vector<FrameTarget> targets = {{.frame = "tip", .position = target}};
  const auto report = tree.inverse_kinematics(p, x, targets, q);
  EXPECT_TRUE(report.reached);
  EXPECT_LT((q - goal).norm(), 1e-9);
  // Out of reach: the arm points at it.
  const std::vector<FrameTarget> far = {{.frame = "tip", .position = Vec3(3, 0, 4)}};
  const auto failed = tree.inverse_kinematics(p, x, far, q);
  EXPECT_FALSE(failed.reached);
  EXPECT_NEAR(failed.error, 5 - d.l1 - d.l2, 1e-6);
}

TEST(Articulation, InverseKinematicsStopsAtLimits) {
  ModelBuilder b;
  b.add_body(
      {.name = "rod", .position = Vec3(0.5, 0, 0), .mass = 1, .inertia = Mat3(Mat3::Identity())});
  b.add_joint({.name = "hinge",
               .kind = JointKind::Revolute,
               .a = "rod",
               .axis = Vec3::UnitZ(),
               .lower = -0.5,
               .upper = 0.6});
  b.add_frame({.name = "tip", .body = "rod", .pose = {Vec3(0.5, 0, 0), {}}});
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  const Articulation tree(model);
  VecX q = VecX::Zero(1);
  const std::vector<FrameTarget> targets = {{.frame = "tip", .position = Vec3(0, 1, 0)}};
  EXPECT_FALSE(tree.inverse_kinematics(p, model.rest_state(), targets, q).reached);
  EXPECT_DOUBLE_EQ(q[0], 0.6);
}

TEST(Articulation, OneRobotOfSeveral) {
  ModelBuilder b;
  for (const char* name : {"one", "two"})
    b.add_body({.name = name, .mass = 1, .inertia = Mat3(Mat3::Identity())});
  b.add_joint({.name = "hinge", .kind = JointKind::Revolute, .a = "two"});
  const Model model = b.build();
  EXPECT_EQ(Articulation(model).u_size(), 7);
  EXPECT_EQ(Articulation(model, "two").u_size(), 1);
  EXPECT_EQ(Articulation(model, "one").u_size(), 6);
}

TEST(Articulation, BadInputIsNamed) {
  const Model model = Pendulum{}.build();
  const Parameters p = model.default_parameters();
  State x = model.rest_state();
  const Articulation tree(model);
  EXPECT_THROW(Articulation(model, "world"), Error);
  EXPECT_THROW((void)tree.mass_matrix(p, x, VecX::Zero(3)), Error);
  EXPECT_THROW((void)tree.bias(p, x, VecX::Zero(2), VecX::Constant(2, NAN)), Error);
  try {
    tree.set_positions(p, Values{{"elbw", 1}}, x);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("did you mean 'elbow'"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace orthant
