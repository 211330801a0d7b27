// SPDX-License-Identifier: Apache-2.0
// validate/gradients.cpp: gradients of rollouts against differences and closed forms.
//   smooth scenes, 50 steps: worst relative error over all inputs, and the share that could not be
//   compared because a contact changed its set on the way
// Chaotic scenes have few steps and no bound on the share: it is there to be read.
#include <cmath>

#include "orthant/gradient/checker.hpp"
#include "validate/gradients.hpp"
#include "validate/simulate.hpp"
#include "validate/validate.hpp"

namespace orthant::validation {
namespace {

constexpr double kAngle = 0.6;  // of the slope [rad]

ModelBuilder rough(double friction, double restitution = 0) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = friction, .restitution = restitution});
  return b;
}

BodySpec half_space(double angle = 0) {
  return {.name = "floor",
          .motion = Motion::Fixed,
          .orientation = exp_rotation(Vec3(0, angle, 0)),
          .shapes = {{.shape = Shape::half_space(), .material = "m"}}};
}

BodySpec half_plane(double height = 0) {
  return {.name = "floor",
          .motion = Motion::Fixed,
          .planar = true,
          .position = {0, height, 0},
          .shapes = {{.shape = Shape::half_plane(), .material = "m"}}};
}

struct Case {
  const char* name;
  Model model;
  StepSettings settings = {};
  Index steps = 50;
  double unshared = 0.05;  // share of inputs that may have changed their set
  MatX controls = {};
  /// Redundant contacts on the border of sticking: their problems are solved to 1e-12 and no
  /// better, which shows in a difference here and there, in other rows at another length.
  bool two_lengths = false;
};

void check(Case&& c, Checks& out) {
  c.settings.solver.tolerance = 1e-12;
  GradientChecker checker(c.model, c.model.default_parameters(), c.settings, c.model.rest_state(),
                          c.steps, c.controls);
  checker.control_stride = 1;
  const GradientCheck result = checker.run();
  double worst = result.worst;
  if (c.two_lengths) {
    worst = 0;
    const GradientCheck other = checker.run({.difference = 3e-6});
    for (std::size_t i = 0; i < result.rows.size(); ++i) {
      if (result.rows[i].status != CheckStatus::Compared) continue;
      const bool both = other.rows[i].status == CheckStatus::Compared;
      const double error = result.rows[i].error;
      worst = std::max(worst, both ? std::min(error, other.rows[i].error) : error);
    }
  }
  const std::string name = std::string("gradients/") + c.name;
  out.push_back({name + "/error", worst, 1e-6, "relative"});
  out.push_back({name + "/not_compared", 1 - result.share(), c.unshared, "share"});
}

Model sliding_block() {
  ModelBuilder b = rough(0.4);
  b.add_body(half_space(kAngle));
  b.add_body({.name = "block",
              .position = rotate(exp_rotation(Vec3(0, kAngle, 0)), Vec3(0, 0, 0.0501)),
              .orientation = exp_rotation(Vec3(0, kAngle, 0)),
              .velocity = {0.1, 0, 0},
              .shapes = {{.shape = Shape::box(0.2, 0.15, 0.05), .material = "m"}}});
  return b.build();
}

Model rolling_ball() {
  ModelBuilder b = rough(0.5);
  b.add_body(half_space(0.3));
  b.add_body({.name = "ball",
              .position = rotate(exp_rotation(Vec3(0, 0.3, 0)), Vec3(0, 0, 0.1001)),
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "ball", .force = {0.3, 1, 0.2}});
  return b.build();
}

Model pendulum_and_ball() {
  ModelBuilder b = rough(0.3);
  b.add_body(half_plane(-1.02));
  b.add_body({.name = "rod",
              .motion = Motion::Planar,
              .position = {0.5 * std::sin(0.4), -0.5 * std::cos(0.4), 0},
              .angle = 0.4,
              .shapes = {{.shape = Shape::rectangle(0.02, 0.5), .material = "m"}}});
  b.add_body({.name = "ball",
              .motion = Motion::Planar,
              .position = {0.1, -0.9199, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
  b.add_joint({.name = "pin",
               .kind = JointKind::Revolute,
               .a = "rod",
               .stiffness = 2,
               .damping = 0.3,
               .rest = -0.2});
  return b.build();
}

Model pushed_block() {
  ModelBuilder b = rough(0.4);
  b.add_body(half_plane());
  b.add_body({.name = "block",
              .motion = Motion::Planar,
              .position = {0, 0.1001, 0},
              .shapes = {{.shape = Shape::rectangle(0.3, 0.1), .material = "m"}}});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "block", .force = {1, 0, 0}});
  return b.build();
}

Model dropped_box() {
  ModelBuilder b = rough(0.8);
  b.add_body(half_space());
  b.add_body({.name = "box",
              .position = {0, 0, 0.112},
              .orientation = exp_rotation(Vec3(0.02, 0.03, 0)),
              .shapes = {{.shape = Shape::box(0.1, 0.12, 0.1), .material = "m"}}});
  return b.build();
}

/// Boxes that fall a little on each other. They are tilted by more than any difference: faces that
/// start flush land on the one or on the other edge, which is a kink and no place for differences.
Model stacked_boxes(double friction) {
  constexpr double kTilt = 2e-3;
  ModelBuilder b = rough(friction);
  b.add_body(half_space());
  for (int i = 0; i < 3; ++i)
    b.add_body({.name = "box" + std::to_string(i),
                .position = {0.01 * i, 0.003 * i, 0.1003 + 0.2004 * i + 0.2 * kTilt * (1 + 2 * i)},
                .orientation = exp_rotation(Vec3(kTilt * (1 + i), kTilt * (2 - 2.3 * i), 0)),
                .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1), .material = "m"}}});
  return b.build();
}

Model stacked_rectangles() {
  ModelBuilder b = rough(0.6);
  b.add_body(half_plane());
  for (int i = 0; i < 3; ++i)
    b.add_body({.name = "box" + std::to_string(i),
                .motion = Motion::Planar,
                .position = {0.01 * i, 0.1015 + 0.2015 * i, 0},
                .angle = i == 1 ? -0.0075 : 0.005,
                .shapes = {{.shape = Shape::rectangle(0.1, 0.1), .material = "m"}}});
  return b.build();
}

Model rock() {
  ModelBuilder b = rough(0.4, 0.2);
  b.add_body(half_space());
  const Vec3 points[] = {{0.2, 0, 0}, {-0.1, 0.15, 0}, {-0.1, -0.15, 0.02}, {0, 0, 0.25}};
  b.add_body({.name = "rock",
              .position = {0, 0, 0.12},
              .orientation = exp_rotation(Vec3(0.4, 0.2, 0)),
              .velocity = {0.3, 0.1, -0.4},
              .angular_velocity = {0.5, 1, 0.3},
              .shapes = {{.shape = Shape::hull(points), .material = "m"}}});
  return b.build();
}

Model bouncing(bool planar) {
  ModelBuilder b = rough(0.2, 0.7);
  b.add_body(planar ? half_plane() : half_space());
  b.add_body(
      {.name = "ball",
       .motion = planar ? Motion::Planar : Motion::Spatial,
       .position = planar ? Vec3(0, 0.35, 0) : Vec3(0, 0, 0.35),
       .velocity = planar ? Vec3(0.7, 0.2, 0) : Vec3(0.7, 0.3, 0.2),
       .angular_velocity = planar ? Vec3(0, 0, 1.5) : Vec3(0.3, 0.2, 1.5),
       .shapes = {{.shape = planar ? Shape::disc(0.1) : Shape::sphere(0.1), .material = "m"}}});
  return b.build();
}

/// Balls that run into a rack of three.
Model billiards() {
  ModelBuilder b = rough(0.2, 0.9);
  b.add_body(half_space());
  const auto ball = [&](double x, double y, double v) {
    b.add_body({.position = {x, y, 0.1},
                .velocity = {v, 0, 0},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  };
  ball(-0.25, 0.03, 3);
  ball(0, 0, 0);
  ball(0.18, 0.11, 0);
  ball(0.18, -0.11, 0);
  return b.build();
}

/// Newton's cradle, its balls a hair apart: five impacts within a few milliseconds.
Model cradle_of_balls() {
  ModelBuilder b = rough(0, 1);
  b.set_gravity(Vec3::Zero());
  for (int i = 0; i < 5; ++i)
    b.add_body({.position = {0.2005 * i - (i == 0 ? 0.02 : 0), 0, 0},
                .velocity = {i == 0 ? 2.0 : 0.0, 0, 0},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  return b.build();
}

/// Spheres and boxes that fall on each other.
Model pile() {
  ModelBuilder b = rough(0.4, 0.1);
  b.add_body(half_space());
  for (int i = 0; i < 9; ++i) {
    const int layer = i / 3;
    const Vec3 at(0.19 * (i % 3) + 0.013 * layer, 0.17 * (i % 2) + 0.01 * i, 0.1 + 0.185 * layer);
    b.add_body(
        {.position = at + Vec3(0, 0, 0.003),
         .orientation = exp_rotation(Vec3(0.1 * i, 0.07 * i, 0)),
         .velocity = {0.1 * (i % 3 - 1), 0.05 * (i % 4), -0.5},
         .shapes = {{.shape = i % 4 == 3 ? Shape::box(0.07, 0.06, 0.05) : Shape::sphere(0.09),
                     .material = "m"}}});
  }
  return b.build();
}

/// Two equal elastic balls on a line: the struck one ends at x1 + v1 T + 2 r, so its gradient by
/// (x1, x2, v1, v2) is (1, 0, T, 0).
void two_ball_impact(Checks& out) {
  double worst = 0;
  for (const double h : {2.0, 1.0, 0.3, 0.25, 0.1, 0.07, 0.01}) {
    ModelBuilder b = rough(0, 1);
    b.set_gravity(Vec3::Zero());
    const auto ball = [&](double x, double v) {
      b.add_body({.position = {x, 0, 0},
                  .velocity = {v, 0, 0},
                  .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
    };
    ball(0, 1);
    ball(0.7, 0);
    const Model model = b.build();
    StepSettings settings;
    settings.h = h;
    settings.impact_events = true;
    settings.solver.tolerance = 1e-12;
    const Index steps = static_cast<Index>(std::ceil(1 / h));
    const RolloutTape tape =
        record_rollout(model, model.default_parameters(), settings, model.rest_state(), {}, steps);
    const RolloutGradient g = rollout_gradient(tape, at_end(tape, VecX::Unit(12, 6), {}));
    worst = std::max({worst, std::abs(g.q[0] - 1), std::abs(g.q[6]), std::abs(g.v[0] - h * steps),
                      std::abs(g.v[6])});
  }
  out.push_back({"gradients/two_balls/any_step", worst, 1e-6, "absolute"});
}

}  // namespace

void gradients(Checks& out) {
  MatX push = MatX::Zero(1, 50);
  for (Index i = 0; i < 50; ++i) push(0, i) = i < 10 ? 100 : i < 25 ? 500 : 0;
  StepSettings cone, events;
  cone.friction = FrictionModel::Cone;
  events.impact_events = true;
  check({.name = "incline", .model = sliding_block()}, out);
  check({.name = "rolling", .model = rolling_ball(), .controls = MatX::Constant(1, 50, 0.5)}, out);
  check({.name = "pendulum_with_contact", .model = pendulum_and_ball()}, out);
  check({.name = "pushed_block", .model = pushed_block(), .controls = push}, out);
  check({.name = "dropped_box", .model = dropped_box(), .settings = cone}, out);
  check({.name = "hull", .model = rock(), .steps = 30}, out);
  check({.name = "bounce_2d",
         .model = bouncing(true),
         .settings = events,
         .steps = 40,
         .unshared = 0.1},
        out);
  check({.name = "bounce_3d",
         .model = bouncing(false),
         .settings = events,
         .steps = 40,
         .unshared = 0.1},
        out);
  check({.name = "stack", .model = stacked_boxes(0.6), .settings = cone, .two_lengths = true}, out);
  check({.name = "stack_frictionless", .model = stacked_boxes(0)}, out);
  check({.name = "stack_2d", .model = stacked_rectangles()}, out);
  check({.name = "billiards", .model = billiards(), .steps = 5, .unshared = 1}, out);
  check(
      {.name = "cradle", .model = cradle_of_balls(), .settings = events, .steps = 5, .unshared = 1},
      out);
  check({.name = "pile", .model = pile(), .steps = 5, .unshared = 1}, out);
  two_ball_impact(out);
  gradient_matrix(out);
  gradient_recursion(out);
  gradient_kinks(out);
  gradient_box_on_four_contacts(out);
  gradient_lcps(out);
  gradient_files(out);
}

}  // namespace orthant::validation
