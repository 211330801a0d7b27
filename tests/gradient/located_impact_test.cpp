// SPDX-License-Identifier: Apache-2.0
// Located impacts on the path the interval takes, with τ pinned, with a scaled restitution, with
// springs, joints, spin and compliance: certified exact, and right.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/gradient/checker.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

BodySpec floor_body(bool planar) {
  return {
      .name = "floor",
      .motion = Motion::Fixed,
      .planar = planar,
      .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(), .material = "m"}}};
}

StepSettings events(double h) {
  StepSettings settings;
  settings.h = h;
  settings.impact_events = true;
  settings.solver.tolerance = 1e-12;
  return settings;
}

/// One recorded step from the rest state, and its gradient.
struct OneStep {
  OneStep(const Model& m, const StepSettings& s) : model(m), parameters(m.default_parameters()) {
    settings = s;
    x = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    report = step(model, parameters, settings, {}, x, warm, work, &record);
  }
  StepGradient gradient() const { return {model, parameters, settings, record}; }

  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  StepRecord record;
  StepReport report;
};

/// Gradient beside differences: right to 1e-6 and certified.
void expect_exact(const Model& model, const StepSettings& settings, Index steps, int impacts) {
  const GradientChecker checker(model, model.default_parameters(), settings, model.rest_state(),
                                steps);
  const GradientCheck check = checker.run();
  EXPECT_LE(check.worst, 2e-6) << check.table();
  EXPECT_GE(check.share(), 0.9) << check.table();
  EXPECT_TRUE(check.certificate.exact) << check.certificate.reason;
  EXPECT_EQ(check.certificate.floating, 0);
  EXPECT_GE(check.certificate.impacts, impacts);
}

// A contact that overlaps when the step begins has its impact at once, τ = 0: y⁺ = y + h v⁺ + …,
// and dy⁺/dy = 1, not −ε.
TEST(LocatedImpact, OverlapAtTheStartPinsItsTime) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0, .restitution = 0.5});
  b.add_body(floor_body(true));
  b.add_body({.name = "disc",
              .motion = Motion::Planar,
              .position = {0, 0.1 - 1e-6, 0},
              .velocity = {0, -1, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
  for (const Stabilisation way : {Stabilisation::None, Stabilisation::Baumgarte}) {
    StepSettings settings = events(0.01);
    settings.stabilisation = way;
    const OneStep one(b.build(), settings);
    EXPECT_EQ(one.report.events, 1);
    StepGradient gradient = one.gradient();
    EXPECT_TRUE(gradient.certificate().exact) << gradient.certificate().reason;
    EXPECT_EQ(gradient.certificate().floating, 0);
    EXPECT_NEAR(gradient.jacobian().A(1, 1), 1, 1e-9);
    StepTangent up;
    up.q = VecX::Unit(3, 1);
    EXPECT_NEAR(gradient.push_forward(up).q[1], 1, 1e-9);
  }
}

// The path of a body that spins with unequal inertia, or hangs on a spring, depends on the length
// of its interval: the trial passes elsewhere.
TEST(LocatedImpact, SpinningBodyWithUnequalInertia) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4, .restitution = 0.6});
  b.add_body(floor_body(false));
  b.add_body({.name = "box",
              .position = {0, 0, 0.21},
              .orientation = exp_rotation(Vec3(0.5, 0.3, 0.1)),
              .velocity = {0.5, 0.2, -2},
              .angular_velocity = {9, -7, 11},
              .shapes = {{.shape = Shape::box(0.05, 0.1, 0.16), .material = "m"}}});
  expect_exact(b.build(), events(0.02), 2, 1);
}

TEST(LocatedImpact, BodyOnASpring) {
  for (const bool planar : {true, false}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0.3, .restitution = 0.7});
    b.add_body(floor_body(planar));
    b.add_body(
        {.name = "rod",
         .motion = planar ? Motion::Planar : Motion::Spatial,
         .position = planar ? Vec3(0, 0.11, 0) : Vec3(0, 0, 0.11),
         .orientation = planar ? Quat{} : exp_rotation(Vec3(0.2, 0.5, 0)),
         .angle = planar ? 0.5 : 0,
         .velocity = planar ? Vec3(0.3, -3, 0) : Vec3(0.3, 0.1, -3),
         .angular_velocity = planar ? Vec3(0, 0, 6) : Vec3(3, 5, 2),
         .shapes = {{.shape = planar ? Shape::stadium(0.04, 0.12) : Shape::capsule(0.04, 0.12),
                     .material = "m"}}});
    b.add_force(SpringSpec{.name = "spring",
                           .a = "rod",
                           .point_a = {0.1, 0, 0},
                           .point_b = planar ? Vec3(0.2, 0.6, 0) : Vec3(0.2, 0.1, 0.6),
                           .stiffness = 400,
                           .damping = 1,
                           .rest = 0.2});
    expect_exact(b.build(), events(0.02), 2, 1);
  }
}

TEST(LocatedImpact, LinksOfAChain) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3, .restitution = 0.5});
  b.add_body(floor_body(true));
  for (int i = 0; i < 2; ++i)
    b.add_body({.name = "link" + std::to_string(i),
                .motion = Motion::Planar,
                .position = {0.2 * i, 0.15 + 0.03 * i, 0},
                .angle = 0.4 - 0.7 * i,
                .velocity = {0.2, -3, 0},
                .shapes = {{.shape = Shape::stadium(0.03, 0.07), .material = "m"}}});
  b.add_joint({.name = "pin",
               .kind = JointKind::Revolute,
               .a = "link0",
               .b = "link1",
               .anchor = {0.1, 0.16, 0}});
  expect_exact(b.build(), events(0.02), 3, 1);
}

// A compliant contact is a spring: it has no impact, and its compliance is differentiated as in a
// step without events.
TEST(LocatedImpact, CompliantContactsHaveNoImpacts) {
  for (const double compliance : {1e-7, 1e-5}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0.2, .restitution = 0.5, .compliance = compliance});
    b.add_body(floor_body(true));
    b.add_body({.name = "disc",
                .motion = Motion::Planar,
                .position = {0, 0.12, 0},
                .velocity = {0.3, -3, 0},
                .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
    const Model model = b.build();
    const OneStep one(model, events(0.01));
    EXPECT_EQ(one.report.events, 0);
    EXPECT_EQ(one.report.outcome, Outcome::Converged);
    const Index at = model.parameter_table().find("material/m.compliance");
    const auto v_after = [&](double c) {
      Parameters p = model.default_parameters();
      p.values[at] = c;
      State x = model.rest_state();
      WarmStart warm;
      StepWorkspace work;
      (void)step(model, p, one.settings, {}, x, warm, work);
      return x.v[1];
    };
    const double d = 1e-3 * compliance,
                 slope = (v_after(compliance + d) - v_after(compliance - d)) / (2 * d);
    StepGradient gradient = one.gradient();
    EXPECT_TRUE(gradient.certificate().exact) << gradient.certificate().reason;
    const double given = gradient.pull_back({.q = {}, .v = VecX::Unit(3, 1)}).parameters[at];
    EXPECT_NEAR(given / slope, 1, 1e-5) << given << " " << slope;
    EXPECT_GT(std::abs(slope), 1e3);
  }
}

// The rows of a soft contact depend on where the step leads: an ellipse that lands and rolls.
TEST(LocatedImpact, SoftContactsOfWhatTurnsAreExact) {
  for (const bool planar : {true, false}) {
    for (const double compliance : {1e-7, 1e-5}) {
      ModelBuilder b;
      if (planar) b.set_gravity({0, -9.81, 0});
      b.add_material({.name = "m", .friction = 0.4, .compliance = compliance});
      b.add_body(floor_body(planar));
      BodySpec body{.name = "body", .motion = planar ? Motion::Planar : Motion::Spatial};
      body.position = planar ? Vec3(0, 0.13, 0) : Vec3(0, 0, 0.13);
      if (planar) body.angle = 0.4;
      if (!planar) body.orientation = exp_rotation(Vec3(0.4, 0.2, 0.1));
      body.velocity = planar ? Vec3(1, -1.5, 0) : Vec3(1, 0.3, -1.5);
      body.angular_velocity = planar ? Vec3(0, 0, -6) : Vec3(2, 5, 1);
      body.shapes = {{.shape = planar ? Shape::ellipse(0.2, 0.1) : Shape::ellipsoid(0.2, 0.15, 0.1),
                      .material = "m"}};
      b.add_body(body);
      const Model model = b.build();
      expect_exact(model, events(0.01), 4, 0);
      // Forwards and backwards are transposes.
      const Parameters parameters = model.default_parameters();
      const StepSettings settings = events(0.01);
      State x = model.rest_state();
      WarmStart warm;
      StepWorkspace work;
      for (int i = 0; i < 4; ++i) {
        StepRecord record;
        (void)step(model, parameters, settings, {}, x, warm, work, &record);
        StepGradient gradient(model, parameters, settings, record);
        const Index n = model.v_size();
        const VecX by_q = VecX::LinSpaced(n, 1, 2), by_v = VecX::LinSpaced(n, -1, 1.5),
                   dq = VecX::LinSpaced(n, 0.5, -1), dv = VecX::LinSpaced(n, 2, 1);
        const StepCotangent g = gradient.pull_back({.q = by_q, .v = by_v});
        const StateTangent d = gradient.push_forward({.q = dq, .v = dv, .u = {}, .parameters = {}});
        const double back = g.q.dot(dq) + g.v.dot(dv), forth = by_q.dot(d.q) + by_v.dot(d.v);
        EXPECT_NEAR(back, forth, 1e-9 * std::max(1.0, std::abs(forth))) << i;
      }
    }
  }
}

// A slider that rests at its limit is on a border: its own numbers have two sides, those of an
// ellipse that lands elsewhere on a soft floor have one.
TEST(LocatedImpact, ALimitElsewhereOpensNothingOfASoftContact) {
  ModelBuilder b;
  b.set_gravity({0, -10, 0});
  b.add_material({.name = "m", .friction = 0.5});
  b.add_material({.name = "soft", .friction = 0.5, .compliance = 1e-5});
  b.add_body(floor_body(true));
  b.add_body({.name = "slider",
              .motion = Motion::Planar,
              .position = {5, 3, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
  b.add_body({.name = "ellipse",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .angle = 0.4,
              .velocity = {1, -2.5, 0},
              .angular_velocity = {0, 0, -6},
              .shapes = {{.shape = Shape::ellipse(0.2, 0.1), .material = "soft"}}});
  b.add_joint({.name = "rail",
               .kind = JointKind::Prismatic,
               .a = "slider",
               .anchor = {5, 3, 0},
               .axis = {1, 0, 0},
               .lower = 0});
  const Model model = b.build();
  const RolloutTape tape = record_rollout(model, model.default_parameters(), events(0.01),
                                          model.rest_state(), MatX(), 1);
  const VecX by = VecX::Ones(model.v_size());
  const RolloutGradient g = rollout_gradient(tape, at_end(tape, by, by), {});
  EXPECT_TRUE(g.certificate.exact) << g.certificate.reason;
  const Index begin = model.body(model.find_body("ellipse")).v_begin;
  int others = 0;
  for (const OpenInput& open : g.certificate.open) {
    const bool of_state = open.kind == InputKind::Configuration || open.kind == InputKind::Velocity;
    EXPECT_FALSE(of_state && open.place >= begin && open.place < begin + 3) << open.place;
    ++others;
  }
  EXPECT_GT(others, 0);
}

// A rod that comes down askew with friction gains energy by Newton's law; the scale of its
// restitution is a function of the state, differentiated with the rest.
TEST(LocatedImpact, ScaledRestitutionIsDifferentiated) {
  int scaled = 0;
  for (const double angle : {0.4, 0.8}) {
    for (const double along : {0.5, 1.0, 1.5}) {
      ModelBuilder b;
      b.add_material({.name = "m", .friction = 0.6, .restitution = 0.95});
      b.add_body(floor_body(true));
      const double reach = 0.04 + 0.2 * std::sin(angle);
      b.add_body({.name = "rod",
                  .motion = Motion::Planar,
                  .position = {0, reach + 0.01, 0},
                  .angle = angle,
                  .velocity = {along, -2, 0},
                  .shapes = {{.shape = Shape::stadium(0.04, 0.2), .material = "m"}}});
      const Model model = b.build();
      const OneStep one(model, events(0.01));
      for (const SolveRecord& solve : one.record.solves) scaled += solve.scaled;
      expect_exact(model, events(0.01), 1, 1);
      // Both modes agree.
      StepGradient gradient = one.gradient();
      const MatX A = gradient.jacobian().A;
      for (Index k = 0; k < 3; ++k) {
        StepTangent d;
        d.v = VecX::Unit(3, k);
        const StateTangent t = gradient.push_forward(d);
        EXPECT_LE((t.v - A.block(3, 3 + k, 3, 1)).cwiseAbs().maxCoeff(), 1e-9);
      }
    }
  }
  EXPECT_GE(scaled, 5);
}

}  // namespace
}  // namespace orthant
