// SPDX-License-Identifier: Apache-2.0
// Steps whose rows were found on the way (ReLCP) and their one-solve relatives, slender drag, kicks
// and periodic images: gradients against differences, forwards against backwards.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "orthant/gradient/checker.hpp"
#include "orthant/model/model_builder.hpp"
#include "scenes/overdamped.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

StepSettings relcp(double h, ConstraintScheme scheme = ConstraintScheme::Relcp) {
  StepSettings settings;
  settings.h = h;
  settings.constraints = scheme;
  settings.contact_margin = 0.4;
  settings.solver.tolerance = 1e-13;
  return settings;
}

/// Sixteen in four rows.
Model rods(bool planar, double column = 2.15, double line = 0.8, double turn = 0.3) {
  testing::SplitMix random{16};
  std::vector<scenes::RodPlace> places(16);
  for (int i = 0; i < 16; ++i) {
    scenes::RodPlace& rod = places[static_cast<std::size_t>(i)];
    rod.angle = turn * random.uniform(-1, 1);
    rod.position[0] = column * (i % 4 - 1.5) + 0.2 * (column - 2) * random.uniform(-1, 1);
    rod.position[1] = line * (i / 4 - 1.5) + 0.2 * (line - 0.5) * random.uniform(-1, 1);
    rod.position[2] = planar ? 0 : 0.05 * random.uniform(-1, 1);
    rod.tilt = planar ? 0 : 0.05 * random.uniform(-1, 1);
  }
  return scenes::drawn_rods(planar, places);
}

/// The state after some steps, without a warm start.
State after(const Model& model, const StepSettings& settings, int steps) {
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  for (int i = 0; i < steps; ++i)
    (void)step(model, model.default_parameters(), settings, {}, x, warm, work);
  return x;
}

Index recursed_steps(const Model& model, const StepSettings& settings, State x, Index steps) {
  WarmStart warm;
  StepWorkspace work;
  Index count = 0;
  for (Index i = 0; i < steps; ++i) {
    const StepReport report = step(model, model.default_parameters(), settings, {}, x, warm, work);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    count += report.recursions > 0;
  }
  return count;
}

/// Differences by the configuration and by the parameters that `wanted` accepts.
template <class Wanted>
GradientCheck compare(const Model& model, const StepSettings& settings, const State& x, Index steps,
                      double difference, Wanted&& wanted, bool by_v = false) {
  GradientChecker checker(model, model.default_parameters(), settings, x, steps);
  checker.check_v = by_v;
  std::erase_if(checker.parameters_checked,
                [&](Index i) { return !wanted(model.parameter_table().name(i)); });
  GradientCheckSettings with;
  with.difference = difference;
  with.compare_one_side = true;
  return checker.run(with);
}

bool has(const std::string& name, const char* part) { return name.find(part) != std::string::npos; }

// Offset (initial place), drag, semi-axes and all else, through 440 steps of which about a hundred
// recurse.
TEST(RecursionGradient, TwoEllipsoidsThroughTheWholePassage) {
  const Model model = scenes::passing_ellipsoids();
  const StepSettings settings = relcp(0.1);
  const State x = model.rest_state();
  EXPECT_GE(recursed_steps(model, settings, x, 440), 50);
  const GradientCheck check = compare(model, settings, x, 440, 1e-6, [](const std::string& name) {
    return has(name, "semi_") || has(name, "drag") || has(name, "length");
  });
  EXPECT_LE(check.worst, 1e-6) << check.table();
  EXPECT_EQ(check.skipped, 0) << check.table();
  EXPECT_TRUE(check.certificate.exact) << check.certificate.reason;
}

TEST(RecursionGradient, SixteenRodsRecurseInEveryStep) {
  for (const bool planar : {true, false}) {
    const Model model = rods(planar);
    const StepSettings settings = relcp(0.02);
    const State x = after(model, settings, planar ? 60 : 40);
    constexpr Index kSteps = 3;
    EXPECT_EQ(recursed_steps(model, settings, x, kSteps), kSteps);
    const GradientCheck check =
        compare(model, settings, x, kSteps, 3e-7, [](const std::string& name) {
          return has(name, "rod5.radius") || has(name, "rod10.half") || has(name, "rod6.drag") ||
                 has(name, "rod9.length");
        });
    EXPECT_LE(check.worst, 1e-5) << check.table();
    EXPECT_GE(check.share(), 0.95) << check.table();
    // Flush rods: which end is nearer is open, and the differences of one side say nothing.
    EXPECT_LE(check.from_one_side, 6) << check.table();
  }
}

// What has been held fixed in the trial configurations would show here first: without them the
// derivative of a recursed step is off in the second digit.
TEST(RecursionGradient, ForwardIsTheTransposeOfBackward) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3});
  b.add_body({.name = "belt",
              .motion = Motion::Kinematic,
              .velocity = {0.4, 0.1, 0},
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  for (int i = 0; i < 3; ++i)
    b.add_body({.name = "rod" + std::to_string(i),
                .position = {0.1 * i, 0.42 * i, 0.2501},
                .orientation = exp_rotation(Vec3(0, 0.002 * (i - 1), 0.1 * i)),
                .velocity = {0, i == 2 ? -1.5 : 0.0, -0.3},
                .angular_velocity = {0, 0.5, 0.2},
                .shapes = {{.shape = Shape::capsule(0.2, 0.5), .material = "m"}}});
  b.add_joint({.name = "pin",
               .kind = JointKind::Revolute,
               .a = "rod0",
               .anchor = Vec3(0, 0, 0.25),
               .axis = Vec3::UnitZ(),
               .lower = -0.1,
               .upper = 0.1});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  for (const FrictionModel friction :
       {FrictionModel::Cone, FrictionModel::Coulomb, FrictionModel::Pyramid}) {
    StepSettings settings = relcp(0.02);
    settings.friction = friction;
    settings.solver.tolerance = 1e-11;
    State x = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    StepRecord record;
    Index compared = 0;
    testing::SplitMix random{5};
    for (int i = 0; i < 8; ++i) {
      const StepReport report = step(model, parameters, settings, {}, x, warm, work, &record);
      ASSERT_EQ(report.outcome, Outcome::Converged) << i;
      if (report.recursions == 0) continue;
      ++compared;
      StepGradient gradient(model, parameters, settings, record);
      const Index n = model.v_size(), p = model.parameter_table().size();
      const auto draw = [&](Index count) {
        VecX out(count);
        for (Index k = 0; k < count; ++k) out[k] = random.uniform(-1, 1);
        return out;
      };
      const StepTangent d{draw(n), draw(n), {}, draw(p)};
      const StateCotangent w{draw(n), draw(n)};
      const StateTangent forward = gradient.push_forward(d);
      const StepCotangent back = gradient.pull_back(w);
      const double left = w.q.dot(forward.q) + w.v.dot(forward.v);
      const double right = back.q.dot(d.q) + back.v.dot(d.v) + back.parameters.dot(d.parameters);
      EXPECT_NEAR(left, right, 1e-8 * (std::abs(left) + 1)) << i;
    }
    EXPECT_GE(compared, 1);
  }
}

// Rods that land on a moving floor and on each other, with mass and friction.
TEST(RecursionGradient, InertialRodsWithFriction) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.3});
  b.add_body({.name = "belt",
              .motion = Motion::Kinematic,
              .velocity = {0.4, 0.1, 0.02},
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  b.add_body({.name = "rod",
              .position = {0, 0, 0.21},
              .orientation = exp_rotation(Vec3(0, 0.01, 0.1)),
              .velocity = {0, 0, -0.3},
              .shapes = {{.shape = Shape::capsule(0.2, 0.5), .material = "m"}}});
  b.add_body({.name = "egg",
              .position = {0.1, 0.45, 0.21},
              .velocity = {0, -0.6, -0.3},
              .shapes = {{.shape = Shape::ellipsoid(0.4, 0.2, 0.2), .material = "m"}}});
  const Model model = b.build();
  for (const FrictionModel friction : {FrictionModel::Cone, FrictionModel::Coulomb}) {
    StepSettings settings = relcp(0.02);
    settings.friction = friction;
    const State x = model.rest_state();
    constexpr Index kSteps = 5;  // until the rod sticks at both ends, which is a kink
    EXPECT_GE(recursed_steps(model, settings, x, kSteps), 2);
    const GradientCheck check = compare(
        model, settings, x, kSteps, 1e-6,
        [](const std::string& name) {
          return has(name, "friction") || has(name, "radius") || has(name, "mass") ||
                 has(name, "semi_") || has(name, "half");
        },
        true);
    EXPECT_LE(check.worst, 1e-5) << check.table();
    EXPECT_GE(check.share(), 0.9) << check.table();
  }
}

TEST(RecursionGradient, SingleRowsAndSubSpheres) {
  const Model model = scenes::passing_ellipsoids();
  for (const ConstraintScheme scheme : {ConstraintScheme::Single, ConstraintScheme::Multisphere}) {
    StepSettings settings = relcp(0.1, scheme);
    settings.sub_spheres = 7;
    const State x = after(model, settings, 90);
    const GradientCheck check = compare(model, settings, x, 60, 1e-6, [](const std::string& name) {
      // The spheres of a spheroid have a kink where its two short axes are equal.
      return has(name, "semi_x") || has(name, "drag");
    });
    EXPECT_LE(check.worst, 1e-6) << check.table();
    EXPECT_GE(check.share(), 0.9) << check.table();
  }
}

// Which end of a flush rod is the deeper one decides the sign of an angle: the certificate says so.
TEST(RecursionGradient, FlushRodsAreCertifiedAsABorder) {
  for (const double tilt : {0.0, 1e-4}) {
    const scenes::RodPlace places[] = {{.position = {-0.1, -0.25, 0}, .angle = 0.3},
                                       {.position = {0.1, 0.25, 0}, .angle = 0.3 + tilt}};
    const Model model = scenes::drawn_rods(false, places);
    const Parameters parameters = model.default_parameters();
    const StepSettings settings = relcp(0.02);
    State x = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    StepRecord record;
    (void)step(model, parameters, settings, {}, x, warm, work, &record);
    const StepGradient gradient(model, parameters, settings, record);
    EXPECT_EQ(gradient.certificate().floating > 0, tilt == 0) << tilt;
    EXPECT_LE(gradient.certificate().margin, 2 * tilt + 1e-8);
  }
}

// Where an overlap at a trial just reaches the tolerance, the row it adds is a matter of rounding.
TEST(RecursionGradient, OverlapsAtTheToleranceAreCertifiedAsABorder) {
  const Model model = scenes::passing_ellipsoids();
  const Parameters parameters = model.default_parameters();
  StepSettings settings = relcp(0.1);
  State before = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  const auto recursed_step = [&](State& x) {
    warm = {};
    return step(model, parameters, settings, {}, x, warm, work, &record).recursions > 0;
  };
  for (State x = before; !recursed_step(x); before = x) ASSERT_LT(x.t, 40);
  // Half the smaller width is 1.
  const double overlap = -record.solves.back().contacts.contacts.back().gap;
  for (const double factor : {1 - 1e-10, 1 + 1e-10, 0.5, 2.0}) {
    settings.overlap_tolerance = factor * overlap;
    State x = before;
    EXPECT_EQ(recursed_step(x), factor < 1);
    const StepGradient gradient(model, parameters, settings, record);
    EXPECT_EQ(gradient.certificate().floating > 0, std::abs(factor - 1) < 1e-3) << factor;
    EXPECT_LE(gradient.certificate().margin, std::abs(1 / factor - 1) + 1e-9) << factor;
  }
}

// Slender rods with kicks that meet across the sides of a periodic box.
TEST(RecursionGradient, SlenderDragKicksAndPeriodicImages) {
  for (const bool planar : {true, false}) {
    const Model model = rods(planar, 2.06, 0.56, 0.05);
    StepSettings settings = relcp(0.02);
    settings.drag_ratio = 2;
    settings.thermal_energy = 1e-3;
    settings.periodic.active = {true, true, false};
    settings.periodic.lo = Vec3(-4.12, -1.12, 0);
    settings.periodic.hi = Vec3(4.12, 1.12, 0);
    State x = after(model, settings, 3);
    x.rng = {7, 3};
    WarmStart warm;
    StepWorkspace work;
    StepRecord record;
    (void)step(model, model.default_parameters(), settings, {}, x, warm, work, &record);
    const auto& contacts = record.solves.back().contacts.contacts;
    EXPECT_TRUE(std::any_of(contacts.begin(), contacts.end(),
                            [](const Contact& c) { return c.shift.squaredNorm() > 0; }));
    constexpr Index kSteps = 2;
    EXPECT_GE(recursed_steps(model, settings, x, kSteps), 1);
    const GradientCheck check =
        compare(model, settings, x, kSteps, 3e-7, [](const std::string& name) {
          return has(name, "rod5.radius") || has(name, "rod10.half") || has(name, "rod6.drag") ||
                 has(name, "rod9.length");
        });
    EXPECT_LE(check.worst, 1e-5) << check.table();
    EXPECT_GE(check.share(), 0.95) << check.table();
  }
}

}  // namespace
}  // namespace orthant
