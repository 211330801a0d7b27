// SPDX-License-Identifier: Apache-2.0
// A quadruped held by servos: it stands, its sensors read statics, its efforts stay within their
// limits, and pushed hard enough it slides on the friction cone.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/robot/sensors.hpp"
#include "orthant/robot/step_jacobian.hpp"

namespace orthant {
namespace {

constexpr double kGravity = 9.81, kFriction = 0.6, kFoot = 0.02, kLimit = 40;
const std::vector<std::string> kLegs = {"FL", "FR", "RL", "RR"};

Model quadruped(double max_force = kLimit) {
  ModelBuilder b;
  b.add_material({.name = "rubber", .friction = kFriction});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "rubber"}}});
  const double hip = 0.3 + kFoot;
  b.add_body({.name = "trunk",
              .position = Vec3(0, 0, hip),
              .shapes = {{.shape = Shape::box(0.25, 0.1, 0.05), .material = "rubber"}},
              .mass = 9.0});
  b.add_frame({.name = "imu", .body = "trunk", .pose = {Vec3(0.1, 0, 0), {}}});
  const Mat3 I = 2e-3 * Mat3::Identity();
  for (std::size_t leg = 0; leg < 4; ++leg) {
    const double x = leg < 2 ? 0.2 : -0.21, y = leg % 2 == 0 ? 0.12 : -0.12;
    const std::string& n = kLegs[leg];
    const Vec3 at_hip(x, y, hip), knee(x - 0.1, y, hip - 0.15), foot(x + 0.01, y, kFoot);
    b.add_body(
        {.name = n + "_thigh", .position = 0.5 * (at_hip + knee), .mass = 1.0, .inertia = I});
    b.add_body({.name = n + "_shin",
                .position = 0.5 * (knee + foot),
                .shapes = {{.shape = Shape::sphere(kFoot),
                            .offset = {0.5 * (foot - knee), {}},
                            .material = "rubber",
                            .name = n + "_foot"}},
                .mass = 0.3,
                .inertia = Mat3(0.3 * I),
                .center_of_mass = Vec3(Vec3::Zero())});
    b.add_frame({.name = n + "_foot", .body = n + "_shin", .pose = {0.5 * (foot - knee), {}}});
    const auto hinge = [&](const std::string& name, const std::string& a, const std::string& to,
                           const Vec3& anchor) {
      b.add_joint(
          {.name = n + name,
           .kind = JointKind::Revolute,
           .a = n + a,
           .b = to,
           .anchor = anchor,
           .axis = Vec3::UnitY(),
           .lower = -1,
           .upper = 1,
           .motor = {
               .kind = MotorKind::Servo, .max_force = max_force, .stiffness = 300, .damping = 10}});
    };
    hinge("_hip", "_thigh", "trunk", at_hip);
    hinge("_knee", "_shin", n + "_thigh", knee);
  }
  b.add_actuator({.name = "push", .body = "trunk", .force = Vec3::UnitX()});
  return b.build();
}

struct Trial {
  explicit Trial(Model m)
      : model(std::move(m)), p(model.default_parameters()), x(model.rest_state()) {
    settings.h = 0.005;
  }
  void go(int steps, double push = 0) {
    const VecX u = VecX::Constant(1, push);
    for (int i = 0; i < steps; ++i)
      ASSERT_EQ(step(model, p, settings, u, x, warm, work, &record).outcome, Outcome::Converged);
  }
  Model model;
  Parameters p;
  State x;
  StepSettings settings;
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
};

TEST(Standing, FeetStickAndSensorsReadStatics) {
  Trial run(quadruped());
  const Articulation tree(run.model, "trunk");
  const auto feet = [&] {
    VecX out(12);
    for (std::size_t i = 0; i < 4; ++i)
      out.segment<3>(static_cast<Eigen::Index>(3 * i)) =
          read_frame(run.model, run.x, tree.frame(kLegs[i] + "_foot")).pose.x;
    return out;
  };
  run.go(400);
  const VecX before = feet();
  run.go(2000);  // 10 s
  EXPECT_LT((feet() - before).lpNorm<Eigen::Infinity>(), 1e-9);

  const auto contacts = read_contacts(run.model, run.p, run.record);
  const double weight = kGravity * tree.mass(run.p);
  Vec3 sum = Vec3::Zero();
  const VecX q = tree.positions(run.p, run.x), u = tree.velocities(run.p, run.x);
  VecX efforts = VecX::Zero(tree.u_size());
  for (const std::string& leg : kLegs) {
    const TouchReading foot = read_touch(contacts, leg + "_foot", run.settings.h);
    EXPECT_TRUE(foot.touches()) << leg;
    EXPECT_FALSE(foot.sliding) << leg;
    sum += foot.force;
    // The contact is below the foot's centre.
    FrameRef sole = tree.frame(leg + "_foot");
    const Quat turn = tree.pose(run.p, run.x, q, {sole.body, {}}).p;
    sole.X_BF.x += rotate(conjugate(turn), Vec3(0, 0, -kFoot));
    efforts += tree.jacobian(run.p, run.x, q, sole).topRows(3).transpose() * foot.force;
  }
  EXPECT_LT((sum - Vec3(0, 0, weight)).norm(), 1e-10 * weight);
  const auto joints = read_joints(run.model, run.p, run.record);
  for (const TreeJoint& j : tree.joints()) {
    if (index_of(j.joint) == kNone) continue;
    const JointReading& r = joints[static_cast<std::size_t>(j.joint)];
    efforts[j.u_begin] += r.motor + r.limit + r.friction + r.actuator;
    EXPECT_NEAR(r.position, q[j.q_begin], 1e-14);
    EXPECT_NEAR(r.velocity, u[j.u_begin], 1e-14);
    EXPECT_EQ(r.limit, 0);
    EXPECT_GT(std::abs(r.motor), 0.01);
  }
  // Servos and floor hold the robot up: together they are what inverse dynamics asks for.
  EXPECT_LT((efforts - tree.bias(run.p, run.x, q, u)).norm(), 1e-8 * weight);

  const ImuReading imu = read_imu(run.model, run.p, run.record, tree.frame("imu"));
  EXPECT_NEAR(imu.acceleration.norm(), kGravity, 1e-9);
  EXPECT_LT(imu.angular_velocity.norm(), 1e-9);
}

TEST(Standing, EffortsStayWithinTheirLimits) {
  const double limit = 3;  // too weak to stand
  Trial run(quadruped(limit));
  bool cut = false;
  for (int i = 0; i < 60; ++i) {
    run.go(1);
    for (const JointReading& r : read_joints(run.model, run.p, run.record)) {
      EXPECT_LE(std::abs(r.motor), limit * (1 + 1e-14));
      cut = cut || std::abs(r.motor) >= limit * (1 - 1e-14);
    }
  }
  EXPECT_TRUE(cut);
}

TEST(Standing, PushedItSlidesOnTheCone) {
  Trial run(quadruped());
  run.go(200);
  const double weight = kGravity * Articulation(run.model, "trunk").mass(run.p);
  run.go(40, 0.3 * weight);
  for (const ContactReading& c : read_contacts(run.model, run.p, run.record))
    EXPECT_NE(c.state, ContactState::Slide);
  int sliding = 0;
  for (int i = 0; i < 30; ++i) {
    run.go(1, 0.9 * weight);
    for (const ContactReading& c : read_contacts(run.model, run.p, run.record)) {
      const double normal = c.impulse.dot(c.normal);
      const double tangent = (c.impulse - normal * c.normal).norm();
      EXPECT_LE(tangent, kFriction * normal * (1 + 1e-9) + 1e-12);
      if (c.state != ContactState::Slide) continue;
      ++sliding;
      EXPECT_NEAR(tangent, kFriction * normal, 1e-9 * normal);
    }
  }
  EXPECT_GT(sliding, 20);
}

/// Four feet and no sideways joint: impulses across are not unique, the motion is.
TEST(Standing, GradientsByTargetsGainsAndMassesAgreeWithDifferences) {
  Trial run(quadruped());
  run.go(200);  // settled
  StepSettings settings = run.settings;
  settings.solver.tolerance = 1e-12;
  constexpr Index kSteps = 10;
  const MatX push = MatX::Constant(1, kSteps, 10.0);
  const Body& trunk = run.model.body(run.model.find_body("trunk"));
  VecX by_q = VecX::Zero(run.model.v_size());
  by_q[trunk.v_begin] = 0.5, by_q[trunk.v_begin + 2] = 1;
  const auto loss = [&](const Parameters& p) {
    const RolloutTape tape = record_rollout(run.model, p, settings, run.x, push, kSteps);
    EXPECT_EQ(tape.report.outcome, Outcome::Converged);
    return 0.5 * tape.final_state.q[trunk.q_begin] + tape.final_state.q[trunk.q_begin + 2];
  };
  const RolloutTape tape = record_rollout(run.model, run.p, settings, run.x, push, kSteps);
  const RolloutGradient g =
      rollout_gradient(tape, at_end(tape, by_q, VecX::Zero(run.model.v_size())));
  for (const char* name :
       {"joint/FL_knee.motor.target", "joint/RR_hip.motor.target", "joint/FL_knee.motor.stiffness",
        "joint/RR_hip.motor.damping", "body/trunk.mass", "body/FL_shin.mass"}) {
    const Index i = run.p.table->find(name);
    const double e = 1e-5 * std::max(1.0, std::abs(run.p.values[i]));
    Parameters more = run.p, less = run.p;
    more.values[i] += e;
    less.values[i] -= e;
    const double difference = (loss(more) - loss(less)) / (2 * e);
    EXPECT_NEAR(g.parameters[i], difference, 1e-5 * std::abs(difference) + 1e-11) << name;
  }
}

/// Foot radius and height of the ground change where the robot lands: dropped from 2 mm, it comes
/// to rest on its servos. At rest these two have no two-sided derivative, since the state stays.
TEST(Standing, GradientsByFootAndGroundAgreeWithDifferences) {
  Trial run(quadruped());
  for (const Body& body : run.model.bodies())
    if (body.is_dynamic()) run.x.q[body.q_begin + 2] += 2e-3;
  StepSettings settings = run.settings;
  settings.solver.tolerance = 1e-12;
  constexpr Index kSteps = 60;
  const MatX push = MatX::Zero(1, kSteps);
  const Body& trunk = run.model.body(run.model.find_body("trunk"));
  VecX by_q = VecX::Zero(run.model.v_size());
  by_q[trunk.v_begin] = 0.5, by_q[trunk.v_begin + 2] = 1;
  const auto loss = [&](const Parameters& p) {
    const RolloutTape tape = record_rollout(run.model, p, settings, run.x, push, kSteps);
    EXPECT_EQ(tape.report.outcome, Outcome::Converged);
    return 0.5 * tape.final_state.q[trunk.q_begin] + tape.final_state.q[trunk.q_begin + 2];
  };
  const RolloutTape tape = record_rollout(run.model, run.p, settings, run.x, push, kSteps);
  const RolloutGradient g =
      rollout_gradient(tape, at_end(tape, by_q, VecX::Zero(run.model.v_size())));
  std::vector<Index> which = {
      run.p.table->find("shape/FL_foot.radius"), run.p.table->find("joint/FL_knee.motor.target"),
      run.p.table->find("joint/RR_hip.motor.stiffness"), run.p.table->find("body/trunk.mass"),
      run.model.shapes()[0].offset_begin + 2};
  for (const Index i : which) {
    const double e = 1e-6 * std::max(1.0, std::abs(run.p.values[i]));
    Parameters more = run.p, less = run.p;
    more.values[i] += e;
    less.values[i] -= e;
    const double difference = (loss(more) - loss(less)) / (2 * e);
    EXPECT_NEAR(g.parameters[i], difference, 1e-5 * std::abs(difference) + 1e-9) << i;
  }
}

/// The step as a map of joint coordinates: written to the bodies, stepped, read.
/// `places`: by the coordinates, too; contacts that are closed have two slopes by them.
void expect_joint_jacobian(Trial& run, double push, bool places, double tolerance) {
  const Articulation tree(run.model, "trunk");
  const Index n = tree.u_size();
  run.settings.solver.tolerance = 1e-13;
  run.settings.projection_tolerance = 1e-12;
  const VecX q = tree.positions(run.p, run.x), u = tree.velocities(run.p, run.x);
  const auto end = [&](const VecX& dq, const VecX& du, double control, State& before) {
    before = run.x;
    tree.write(run.p, tree.integrate(q, dq), u + du, before);
    State x = before;
    WarmStart warm = run.warm;
    EXPECT_EQ(step(run.model, run.p, run.settings, VecX::Constant(1, control), x, warm, run.work,
                   &run.record)
                  .outcome,
              Outcome::Converged);
    return x;
  };
  const auto reading = [&](const State& x, const State& from) {
    VecX out(2 * n);
    out << tree.difference(tree.positions(run.p, x), tree.positions(run.p, from)),
        tree.velocities(run.p, x);
    return out;
  };
  State before, other;
  const VecX zero = VecX::Zero(n);
  const State after = end(zero, zero, push, before);
  StepGradient gradient(run.model, run.p, run.settings, run.record, {.by_parameters = false});
  const StepJacobian J = step_jacobian(tree, run.p, before, after, gradient);
  EXPECT_LT(gradient.certificate().solve_error, 1e-9);
  ASSERT_EQ(J.A.rows(), 2 * n);
  ASSERT_EQ(J.B.cols(), 1);
  for (Index i = places ? 0 : n; i <= 2 * n; ++i) {
    const double h = i < n ? 1e-6 : i < 2 * n ? 1e-5 : 1e-3;
    VecX dq = zero, du = zero;
    double control = 0;
    (i < n ? dq[i] : i < 2 * n ? du[i - n] : control) = h;
    const VecX up = reading(end(dq, du, push + control, other), after);
    const VecX down = reading(end(-dq, -du, push - control, other), after);
    const VecX difference = (up - down) / (2 * h), found = i < 2 * n ? J.A.col(i) : J.B.col(0);
    EXPECT_LT((found - difference).lpNorm<Eigen::Infinity>(),
              tolerance * (1 + difference.lpNorm<Eigen::Infinity>()))
        << i;
  }
}

TEST(StepJacobian, InJointCoordinatesAgreesWithDifferencesInTheAir) {
  Trial run(quadruped());
  for (Index i = 0; i < run.model.v_size(); ++i) run.x.v[i] = 0.3 * std::cos(1 + 2.4 * i);
  for (const Body& body : run.model.bodies())
    if (body.is_dynamic()) run.x.q[body.q_begin + 2] += 1;
  run.go(1);
  expect_joint_jacobian(run, 3.0, true, 1e-6);
}

TEST(StepJacobian, InJointCoordinatesAgreesWithDifferencesWhereFeetSlide) {
  Trial run(quadruped());
  run.go(100);
  run.go(30, 0.9 * kGravity * Articulation(run.model, "trunk").mass(run.p));
  expect_joint_jacobian(run, 90, false, 1e-5);
}

/// All directions at once give what one after another gives, on the border of sets too.
TEST(StepJacobian, ManyDirectionsAreWhatSingleOnesAre) {
  Trial run(quadruped());
  run.go(100);
  StepGradient gradient(run.model, run.p, run.settings, run.record, {.by_parameters = false});
  const Index n = run.model.v_size(), count = 11;
  StepChanges changes{MatX(n, count), MatX(n, count), MatX(1, count)};
  for (Index i = 0; i < count; ++i) {
    for (Index k = 0; k < n; ++k) {
      changes.q(k, i) = std::cos(1 + 2.4 * k + i);
      changes.v(k, i) = std::sin(2 + 1.7 * k - i);
    }
    changes.u(0, i) = i;
  }
  const StepChanges all = gradient.push_forward(changes);
  for (Index i = 0; i < count; ++i) {
    const StateTangent one =
        gradient.push_forward({changes.q.col(i), changes.v.col(i), changes.u.col(i), {}});
    EXPECT_LT((all.q.col(i) - one.q).norm(), 1e-9 * one.q.norm()) << i;
    EXPECT_LT((all.v.col(i) - one.v).norm(), 1e-9 * one.v.norm()) << i;
  }
  EXPECT_THROW((void)gradient.push_forward(StepChanges{MatX::Zero(n + 1, 1)}), Error);
}

TEST(Sensors, FreeFallReadsNothing) {
  Trial run(quadruped());
  for (Index i = 0; i < run.model.q_size(); i += 7) run.x.q[i + 2] += 1;  // the floor, too
  const Body& floor = run.model.body(run.model.find_body("floor"));
  run.x.q[floor.q_begin + 2] = 0;
  run.go(5);
  const ImuReading imu = read_imu(run.model, run.p, run.record, find_frame_ref(run.model, "imu"));
  EXPECT_LT(imu.acceleration.norm(), 1e-9);
  EXPECT_TRUE(read_contacts(run.model, run.p, run.record).empty());
  EXPECT_THROW((void)read_joints(run.model, run.p, StepRecord{}), Error);
  EXPECT_THROW((void)find_frame_ref(run.model, "no such frame"), Error);
}

}  // namespace
}  // namespace orthant
