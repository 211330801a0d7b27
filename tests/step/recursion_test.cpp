// SPDX-License-Identifier: Apache-2.0
// The recursion: what its theory says (objective rises, motion unique, rows never dropped), what it
// promises (no overlap beyond the tolerance), and how it ends where there is no solution.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/constraint/assemble.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

StepSettings relcp(double h) {
  StepSettings s;
  s.h = h;
  s.constraints = ConstraintScheme::Relcp;
  s.solver.tolerance = 1e-11;
  return s;
}

/// Rods or ellipsoids thrown near each other and drawn together by springs to the origin.
Model crowd(const Shape& shape, int count, double spread, double friction, LawOfMotion law,
            std::uint64_t seed, double pull) {
  testing::SplitMix random(seed);
  ModelBuilder builder;
  builder.set_law(law);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "m", .friction = friction});
  for (int i = 0; i < count; ++i) {
    BodySpec body;
    body.name = "b" + std::to_string(i);
    // On a lattice wide enough that nothing touches at first.
    const int side = static_cast<int>(std::ceil(std::cbrt(count)));
    body.position = spread * Vec3(i % side, (i / side) % side, i / side / side);
    body.position -= 0.5 * spread * (side - 1) * Vec3::Ones();
    const auto u = [&] { return 2 * random.uniform() - 1; };
    const double a = u(), b = u(), c = u();
    body.orientation = exp_rotation(Vec3(3 * a, 3 * b, 3 * c));
    body.shapes.push_back({.shape = shape, .density = 1, .material = "m"});
    builder.add_body(body);
    builder.add_force(SpringSpec{
        .name = "s" + std::to_string(i), .a = body.name, .stiffness = pull, .rest = 0.0});
  }
  return builder.build();
}

struct Totals {
  Outcome outcome = Outcome::Converged;
  double deepest = 0;
  int recursions = 0, most_contacts = 0;
};

Totals run_steps(const Model& model, const StepSettings& settings, State& x, int steps,
                 std::vector<StepRecord>* records = nullptr) {
  WarmStart warm;
  StepWorkspace work;
  Totals run;
  for (int i = 0; i < steps; ++i) {
    StepRecord record;
    const StepReport report = step(model, model.default_parameters(), settings, {}, x, warm, work,
                                   records != nullptr ? &record : nullptr);
    run.outcome = std::max(run.outcome, report.outcome);
    run.deepest = std::max(run.deepest, report.deepest);
    run.recursions += report.recursions;
    run.most_contacts = std::max(run.most_contacts, static_cast<int>(report.constraints));
    if (records != nullptr) records->push_back(std::move(record));
  }
  return run;
}

TEST(Recursion, NoOverlapBeyondTheTolerance) {
  const struct {
    Shape shape;
    double spread;
  } cases[] = {{Shape::ellipsoid(1, 0.5, 0.5), 2.2},
               {Shape::capsule(0.25, 0.75), 2.2},
               {Shape::torus(0.6, 0.15), 1.7},
               {Shape::box(0.5, 0.4, 0.3), 1.6}};
  for (const auto& c : cases) {
    const Model model = crowd(c.shape, 8, c.spread, 0, LawOfMotion::Overdamped, 3, 4);
    State x = model.rest_state();
    const Totals run = run_steps(model, relcp(0.05), x, 40);
    EXPECT_EQ(run.outcome, Outcome::Converged) << c.shape.name();
    EXPECT_GT(run.most_contacts, 3) << c.shape.name();
    EXPECT_GT(run.recursions, 0) << c.shape.name();
    const double size = 0.5 * smallest_width(c.shape.view());
    EXPECT_LE(run.deepest, 1.0001e-5 * size) << c.shape.name();
  }
}

/// Later rounds measure only what has moved: what they report must be what a fresh look sees.
TEST(Recursion, TheOverlapReportedIsThatOfAllPairs) {
  const Model model = crowd(Shape::capsule(0.25, 0.75), 64, 1.7, 0, LawOfMotion::Overdamped, 9, 3);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  int rounds = 0;
  for (int i = 0; i < 12; ++i) {
    const StepReport report =
        step(model, model.default_parameters(), relcp(0.05), {}, x, warm, work);
    rounds += report.recursions;
    CollisionWorkspace fresh;
    ContactSet set;
    find_contacts(model, model.default_parameters(), x.q, {},
                  {.margin = 0, .points = ContactPoints::Deepest}, fresh, set);
    EXPECT_EQ(report.deepest, deepest_penetration(set)) << i;
  }
  EXPECT_GT(rounds, 12);
}

TEST(Recursion, SingleConstraintOverlapsWhereTheRecursionDoesNot) {
  const Model model = crowd(Shape::capsule(0.25, 0.75), 8, 2.2, 0, LawOfMotion::Overdamped, 3, 4);
  StepSettings single = relcp(0.05);
  single.constraints = ConstraintScheme::Single;
  State x = model.rest_state();
  const Totals run = run_steps(model, single, x, 40);
  EXPECT_GT(run.deepest, 1e-3);
  EXPECT_EQ(run.recursions, 0);
}

TEST(Recursion, ObjectiveRisesAndRowsStay) {
  const Model model = crowd(Shape::capsule(0.25, 0.75), 8, 2.2, 0, LawOfMotion::Overdamped, 5, 4);
  const StepSettings settings = relcp(0.05);
  State x = model.rest_state();
  std::vector<StepRecord> records;
  (void)run_steps(model, settings, x, 30, &records);
  int compared = 0;
  for (const StepRecord& record : records) {
    Assembly assembly;
    const SolveRecord& first = record.solves.front();
    ASSERT_TRUE(assemble_motion(model, model.default_parameters(),
                                {first.q, first.v, first.t, first.duration}, {}, assembly));
    double last = -1e300;
    for (std::size_t i = 0; i < record.solves.size(); ++i) {
      const SolveRecord& solve = record.solves[i];
      EXPECT_EQ(solve.kind, i == 0 ? SolveKind::Step : SolveKind::Recursion);
      VecX Hv;
      assembly.problem.H.multiply(solve.solution.v, Hv);
      const double objective =
          0.5 * solve.solution.v.dot(Hv) - assembly.problem.k.dot(solve.solution.v);
      EXPECT_GE(objective, last - 1e-9 * (1 + std::abs(objective)));
      last = objective;
      if (i == 0) continue;
      // What was there is still there, in place; what is new has the number of its round.
      const auto& before = record.solves[i - 1].contacts.contacts;
      const auto& now = solve.contacts.contacts;
      ASSERT_GT(now.size(), before.size());
      for (std::size_t c = 0; c < before.size(); ++c) EXPECT_EQ(now[c].key, before[c].key);
      for (std::size_t c = before.size(); c < now.size(); ++c)
        EXPECT_EQ(now[c].key.feature >> 8, i);
      EXPECT_EQ(solve.q, first.q);
      ++compared;
    }
  }
  EXPECT_GT(compared, 10);
}

TEST(Recursion, MotionIsUniqueWhereImpulsesAreNot) {
  // The same step from different warm starts: other multipliers, the same motion.
  const Model model =
      crowd(Shape::ellipsoid(1, 0.5, 0.5), 8, 2.2, 0, LawOfMotion::Overdamped, 9, 4);
  const StepSettings settings = relcp(0.05);
  State x = model.rest_state();
  (void)run_steps(model, settings, x, 25);
  WarmStart cold, warm;
  StepWorkspace work;
  State a = x, b = x;
  (void)step(model, model.default_parameters(), settings, {}, a, cold, work);
  warm = cold;
  for (auto& entry : warm.contacts) entry.impulse_W *= 3.7;
  (void)step(model, model.default_parameters(), settings, {}, b, warm, work);
  VecX delta;
  boxminus(model, a.q, b.q, delta);
  EXPECT_LT(delta.cwiseAbs().maxCoeff(), 1e-7);
}

TEST(Recursion, JammedStartHasANamedOutcome) {
  // A ball between two fixed walls nearer than its diameter: no solution, bounded work.
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "m", .friction = 0});
  for (const double side : {-1.0, 1.0}) {
    BodySpec wall;
    wall.name = side < 0 ? "below" : "above";
    wall.motion = Motion::Fixed;
    wall.position = Vec3(0, 0, 0.8 * side);
    if (side > 0) wall.orientation = exp_rotation(Vec3(std::numbers::pi, 0, 0));
    wall.shapes.push_back({.shape = Shape::half_space(), .material = "m"});
    builder.add_body(wall);
  }
  BodySpec ball;
  ball.name = "ball";
  ball.shapes.push_back({.shape = Shape::ellipsoid(1, 1, 1), .density = 1, .material = "m"});
  builder.add_body(ball);
  const Model model = builder.build();
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepSettings settings = relcp(0.01);
  settings.max_recursions = 5;
  const StepReport report = step(model, model.default_parameters(), settings, {}, x, warm, work);
  EXPECT_NE(report.outcome, Outcome::Converged);
  EXPECT_NE(report.outcome, Outcome::NotFinite);
  EXPECT_LE(report.recursions, 5);
  EXPECT_TRUE(x.q.allFinite());
  EXPECT_NEAR(report.deepest, 0.2, 0.21);  // as it was, or pushed into one of the walls
  EXPECT_GT(report.deepest, 0.1);
}

TEST(Recursion, GoesOnOnlyAFewRoundsAfterASolveThatFailed) {
  const Model model =
      crowd(Shape::ellipsoid(1, 0.5, 0.5), 27, 0.3, 0.5, LawOfMotion::Inertial, 5, 4);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepSettings settings = relcp(0.05);
  settings.solver.max_iterations = 1;
  const StepReport report = step(model, model.default_parameters(), settings, {}, x, warm, work);
  EXPECT_NE(report.outcome, Outcome::Converged);
  EXPECT_GT(report.deepest, 1e-5);   // rows would still be found
  EXPECT_LE(report.recursions, 15);  // the first ones succeed; the limit is 50
  EXPECT_TRUE(x.q.allFinite());
}

// A soft contact overlaps by its law: that asks for no more rows.
TEST(Recursion, SoftContactsMayOverlap) {
  ModelBuilder b;
  b.set_law(LawOfMotion::Overdamped);
  b.add_material({.name = "m", .friction = 0.3, .compliance = 1e-4});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  b.add_body({.name = "ball",
              .position = {0, 0, 0.0995},
              .shapes = {{.shape = Shape::sphere(0.1), .density = 1000, .material = "m"}}});
  State x = b.build().rest_state();
  const Totals run = run_steps(b.build(), relcp(0.005), x, 5);
  EXPECT_EQ(run.outcome, Outcome::Converged);
  EXPECT_EQ(run.recursions, 0);
  EXPECT_GT(run.deepest, 1e-4);
}

TEST(Recursion, FrictionAndInertia) {
  for (const FrictionModel friction : {FrictionModel::Cone, FrictionModel::Coulomb}) {
    const Model model = crowd(Shape::capsule(0.25, 0.6), 8, 2.0, 0.4, LawOfMotion::Inertial, 4, 60);
    StepSettings settings = relcp(0.01);
    settings.friction = friction;
    settings.solver.tolerance = 1e-9;
    State x = model.rest_state();
    const Totals run = run_steps(model, settings, x, 30);
    EXPECT_EQ(run.outcome, Outcome::Converged);
    EXPECT_GT(run.most_contacts, 3);
    EXPECT_LE(run.deepest, 1.0001e-5 * 0.25);
  }
}

// A rod along a belt is dragged by every row it touches it with, found on the way or not: while it
// slides, the belt pushes with μ times what it carries, m v_y = μ (m v_z + m g t).
TEST(Recursion, RowsFoundOnTheWayMoveWithTheBelt) {
  constexpr double kFriction = 0.3, kGravity = 9.81;
  ModelBuilder builder;
  builder.add_material({.name = "m", .friction = kFriction});
  builder.add_body({.name = "belt",
                    .motion = Motion::Kinematic,
                    .velocity = {0, 2, 0},
                    .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  builder.add_body({.name = "rod",
                    .position = {0, 0, 0.1005},
                    .orientation = multiply(exp_rotation(Vec3(0, 0, 0.5 * std::numbers::pi)),
                                            exp_rotation(Vec3(0, 1e-3, 0))),
                    .shapes = {{.shape = Shape::capsule(0.1, 0.4), .material = "m"}}});
  const Model model = builder.build();
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  const Index v = model.body(model.find_body("rod")).v_begin;
  int recursions = 0;
  for (int i = 0; i < 20; ++i) {
    const StepReport r = step(model, model.default_parameters(), relcp(0.01), {}, x, warm, work);
    EXPECT_EQ(r.outcome, Outcome::Converged);
    recursions += r.recursions;
    EXPECT_NEAR(x.v[v + 1], kFriction * (x.v[v + 2] + kGravity * x.t), 1e-8) << i;
  }
  EXPECT_GT(recursions, 5);
}

TEST(Recursion, SameBitsForOneAndTwoThreads) {
  const Model model =
      crowd(Shape::ellipsoid(1, 0.5, 0.5), 27, 2.2, 0, LawOfMotion::Overdamped, 8, 3);
  const StepSettings settings = relcp(0.05);
  VecX reference;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    State x = model.rest_state();
    (void)run_steps(model, settings, x, 25);
    if (threads == 1) reference = x.q;
    EXPECT_TRUE(x.q == reference);
  }
  set_thread_count(1);
}

/// What the warm start says of every row is what changed the bodies' velocities, no more, no less.
TEST(Recursion, ImpulsesOfAllRowsAreTheChangeOfMomentum) {
  const Model model =
      crowd(Shape::ellipsoid(1, 0.5, 0.5), 27, 1.6, 0.3, LawOfMotion::Inertial, 3, 0);
  const Parameters parameters = model.default_parameters();
  State x = model.rest_state();
  for (const Body& body : model.bodies())
    x.v.segment<3>(body.v_begin) = -4 * x.q.segment<3>(body.q_begin);
  WarmStart warm;
  StepWorkspace work;
  std::size_t added = 0;
  for (int i = 0; i < 10; ++i) {
    const VecX before = x.v;
    const StepReport report = step(model, parameters, relcp(0.02), {}, x, warm, work);
    EXPECT_EQ(report.outcome, Outcome::Converged) << i;
    std::vector<Vec3> sum(model.bodies().size(), Vec3::Zero());
    for (const WarmStart::Entry& e : warm.contacts) {
      for (std::size_t b = 0; b < sum.size(); ++b) {
        if (model.bodies()[b].uid == e.key.body_a) sum[b] += e.impulse_W;
        if (model.bodies()[b].uid == e.key.body_b) sum[b] -= e.impulse_W;
      }
      added += e.key.feature > 255;
    }
    for (std::size_t b = 0; b < sum.size(); ++b) {
      const Body& body = model.bodies()[b];
      const Vec3 change = parameters[body.mass] * (x.v - before).segment<3>(body.v_begin);
      EXPECT_LE((sum[b] - change).norm(), 1e-8) << i << ' ' << b;
    }
  }
  EXPECT_GT(added, 10U);  // rows of the recursion take part
}

TEST(Recursion, SubSpheresHoldASmoothBodyRoughly) {
  const Model model =
      crowd(Shape::ellipsoid(1, 0.5, 0.5), 8, 2.2, 0, LawOfMotion::Overdamped, 3, 4);
  double last = 1;
  for (const int n : {3, 9, 27}) {
    StepSettings settings = relcp(0.01);
    settings.constraints = ConstraintScheme::Multisphere;
    settings.sub_spheres = n;
    State x = model.rest_state();
    const Totals run = run_steps(model, settings, x, 150);
    EXPECT_LT(run.deepest, last) << n;  // the true overlap falls as the spheres fill the body
    last = run.deepest;
  }
  EXPECT_LT(last, 0.02);
}

TEST(Recursion, BadSettingsAreNamed) {
  const Model model = crowd(Shape::sphere(0.4), 1, 1, 0, LawOfMotion::Overdamped, 1, 0);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepSettings settings = relcp(0.01);
  settings.overlap_tolerance = 0;
  EXPECT_THROW((void)step(model, model.default_parameters(), settings, {}, x, warm, work), Error);
  settings = relcp(0.01);
  settings.integrator = Integrator::Rattle;
  EXPECT_THROW((void)step(model, model.default_parameters(), settings, {}, x, warm, work), Error);
  settings = relcp(0.01);
  settings.constraints = ConstraintScheme::Multisphere;
  settings.sub_spheres = 0;
  EXPECT_THROW((void)step(model, model.default_parameters(), settings, {}, x, warm, work), Error);
}

}  // namespace
}  // namespace orthant
