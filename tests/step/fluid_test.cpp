// SPDX-License-Identifier: Apache-2.0
// Bodies that move each other through a fluid: free motion, contacts, ReLCP, against dense algebra.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/fluid.hpp"

namespace orthant {
namespace {

constexpr double kPi = std::numbers::pi, kEta = 0.5, kRadius = 0.5;

/// Spheres in a line, drag by Stokes, pulled by `force` along x.
Model spheres(const std::vector<double>& places, const std::vector<double>& force) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (std::size_t i = 0; i < places.size(); ++i) {
    BodySpec body;
    body.name = "s" + std::to_string(i);
    body.position = Vec3(places[i], 0, 0);
    body.shapes.push_back({.shape = Shape::sphere(kRadius), .material = "smooth"});
    body.drag = 3 * kPi * kEta;
    body.length = 2 * kRadius;
    builder.add_body(body);
    builder.add_force(BodyForceSpec{"f" + std::to_string(i), body.name, Vec3(force[i], 0, 0)});
  }
  return builder.build();
}

StepSettings settings(double h) {
  StepSettings s;
  s.h = h;
  s.constraints = ConstraintScheme::Relcp;
  s.contact_margin = 0.5;
  s.solver.tolerance = 1e-9;
  return s;
}

/// Along the line of centres.
double mobility(double r) {
  const RpyPair m = rpy_pair(std::abs(r), kRadius, kRadius);
  return r == 0 ? 1 / (6 * kPi * kEta * kRadius) : (m.identity + m.along) / kEta;
}

TEST(Fluid, FreeSpheresMoveByTheMobility) {
  const std::vector<double> x = {0, 2, 5}, f = {1, 0, -0.3};
  const Model model = spheres(x, f);
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  const StepReport r = step_in_fluid(model, model.default_parameters(), settings(1e-3),
                                     {.viscosity = kEta}, {}, state, warm, work);
  EXPECT_EQ(r.outcome, Outcome::Converged);
  for (std::size_t i = 0; i < 3; ++i) {
    double u = 0;
    for (std::size_t j = 0; j < 3; ++j) u += mobility(x[i] - x[j]) * f[j];
    EXPECT_NEAR(state.v[static_cast<Index>(6 * i)], u, 1e-12);
  }
}

TEST(Fluid, ContactForcesActThroughIt) {
  // Two spheres pressed together: they stay a pair, and the third is carried by the sum alone.
  const std::vector<double> x = {0, 1, 4}, f = {2, -0.5, 0};
  const Model model = spheres(x, f);
  for (const ConstraintScheme scheme :
       {ConstraintScheme::Relcp, ConstraintScheme::Single, ConstraintScheme::Manifold}) {
    State state = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    StepSettings s = settings(1e-2);
    s.constraints = scheme;
    const StepReport r = step_in_fluid(model, model.default_parameters(), s, {.viscosity = kEta},
                                       {}, state, warm, work);
    EXPECT_EQ(r.outcome, Outcome::Converged);
    // u_0 = u_1 with the force n between them: n from the difference of the first two rows.
    const double m0 = mobility(0), m1 = mobility(1);
    const double n = (m0 * f[0] + m1 * f[1] - m1 * f[0] - m0 * f[1]) / (2 * (m0 - m1));
    const double u0 = m0 * (f[0] - n) + m1 * (f[1] + n);
    EXPECT_NEAR(state.v[0], u0, 1e-7);
    EXPECT_NEAR(state.v[6], u0, 1e-7);
    EXPECT_NEAR(state.v[12], mobility(4) * (f[0] - n) + mobility(3) * (f[1] + n), 1e-7);
  }
}

TEST(Fluid, ADenseCrowdKeepsItsOverlapAndFallsFasterThanASingleSphere) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (int i = 0; i < 27; ++i) {
    BodySpec body;
    body.name = "s" + std::to_string(i);
    body.position = Vec3(1.05 * (i % 3) + 0.01 * i, 1.05 * (i / 3 % 3), 1.05 * (i / 9));
    body.shapes.push_back({.shape = Shape::sphere(kRadius), .material = "smooth"});
    body.drag = 3 * kPi * kEta;
    body.length = 2 * kRadius;
    builder.add_body(body);
    builder.add_force(
        BodyForceSpec{"f" + std::to_string(i), body.name, Vec3(0.1 * (i % 2), 0, -1)});
  }
  const Model model = builder.build();
  for (const bool periodic : {false, true}) {
    State state = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    StepSettings s = settings(0.05);
    s.solver.tolerance = 1e-7;
    if (periodic) s.periodic = {{true, true, true}, Vec3::Constant(-4), Vec3::Constant(6)};
    for (int k = 0; k < 10; ++k) {
      const StepReport r = step_in_fluid(model, model.default_parameters(), s, {.viscosity = kEta},
                                         {}, state, warm, work);
      EXPECT_EQ(r.outcome, Outcome::Converged) << periodic << ' ' << k;
      EXPECT_LE(r.deepest, 1e-5);
    }
    double mean = 0;
    for (Index i = 0; i < 27; ++i) mean -= state.v[6 * i + 2] / 27;
    EXPECT_TRUE(periodic || mean > 3 * mobility(0)) << mean;  // a cloud sediments faster
  }
}

TEST(Fluid, WhatDoesNotGoTogetherIsNamed) {
  const Model model = spheres({0, 2}, {1, 0});
  const Parameters parameters = model.default_parameters();
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  const auto refuses = [&](const StepSettings& s) {
    EXPECT_THROW(
        (void)step_in_fluid(model, parameters, s, {.viscosity = kEta}, {}, state, warm, work),
        Error);
  };
  StepSettings s = settings(0.1);
  s.thermal_energy = 1;
  refuses(s);
  s = settings(0.1);
  s.drag_ratio = 2;
  refuses(s);
  s = settings(0.1);
  s.periodic = {{true, true, false}, Vec3::Constant(-4), Vec3::Constant(6)};
  refuses(s);
  ModelBuilder heavy;
  BodySpec ball;
  ball.shapes.push_back({.shape = Shape::sphere(1)});
  heavy.add_body(ball);
  const Model inertial = heavy.build();
  State y = inertial.rest_state();
  EXPECT_THROW((void)step_in_fluid(inertial, inertial.default_parameters(), {}, {.viscosity = kEta},
                                   {}, y, warm, work),
               Error);
}

}  // namespace
}  // namespace orthant
