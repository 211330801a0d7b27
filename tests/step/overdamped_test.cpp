// SPDX-License-Identifier: Apache-2.0
// Overdamped motion beyond the local drag: slender bodies, Brownian kicks, periodic boxes.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

StepSettings settings_of(double h) {
  StepSettings s;
  s.h = h;
  s.constraints = ConstraintScheme::Relcp;
  s.solver.tolerance = 1e-11;
  return s;
}

struct Placed {
  Vec3 at;
  Vec3 turn;
  Vec3 force;
};

Model rods(const std::vector<Placed>& places, bool body_axes = false) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "m", .friction = 0});
  for (std::size_t i = 0; i < places.size(); ++i) {
    BodySpec body;
    body.name = "r" + std::to_string(i);
    body.position = places[i].at;
    body.orientation = exp_rotation(places[i].turn);
    body.shapes.push_back({.shape = Shape::capsule(0.5, 1), .density = 1, .material = "m"});
    body.drag = 2;
    body.length = 3;
    builder.add_body(body);
    builder.add_force(BodyForceSpec{.name = "f" + std::to_string(i),
                                    .body = body.name,
                                    .force = places[i].force,
                                    .body_axes = body_axes});
  }
  return builder.build();
}

TEST(Overdamped, SlenderBodyMovesFasterAlongItsAxis) {
  const double angle = 0.4;
  const Model model = rods({{Vec3::Zero(), Vec3(0, 0, angle), Vec3(1, 0, 0)}});
  StepSettings settings = settings_of(0.1);
  settings.drag_ratio = 2;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  (void)step(model, model.default_parameters(), settings, {}, x, warm, work);
  // v = (1/(xi l)) (ratio t t' + 1 - t t') f
  const Vec3 t(std::cos(angle), std::sin(angle), 0), f(1, 0, 0);
  const Vec3 v = (f + t * t.dot(f)) / 6;
  EXPECT_LT((x.v.head<3>() - v).norm(), 1e-14);
  EXPECT_LT((x.q.head<3>() - 0.1 * v).norm(), 1e-14);
}

TEST(Overdamped, ActiveForceFollowsTheAxis) {
  const Model model = rods({{Vec3::Zero(), Vec3(0, 0, 0.7), Vec3(6, 0, 0)}}, true);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  (void)step(model, model.default_parameters(), settings_of(0.5), {}, x, warm, work);
  EXPECT_LT((x.q.head<3>() - 0.5 * Vec3(std::cos(0.7), std::sin(0.7), 0)).norm(), 1e-14);
}

TEST(Overdamped, KicksHaveTheRightVarianceAndTheSameBitsForAnyThreads) {
  std::vector<Placed> places;
  for (int i = 0; i < 400; ++i)
    places.push_back({Vec3(20 * (i % 20), 20 * (i / 20), 0), Vec3(0, 0, 0), Vec3::Zero()});
  const Model model = rods(places);
  StepSettings settings = settings_of(0.01);
  settings.thermal_energy = 0.3;
  settings.drag_ratio = 2;
  VecX reference;
  for (const int threads : {1, 2}) {
    set_thread_count(threads);
    State x = model.rest_state();
    x.rng = {42, 0};
    WarmStart warm;
    StepWorkspace work;
    double along = 0, across = 0, turn = 0;
    int count = 0;
    for (int k = 0; k < 10; ++k) {
      const VecX before = x.q;
      (void)step(model, model.default_parameters(), settings, {}, x, warm, work);
      for (Index b = 0; b < 400; ++b) {
        // Directions of the first steps: the rods have hardly turned.
        along += std::pow(x.v[6 * b] * 0.01, 2);
        across += std::pow(x.v[6 * b + 1] * 0.01, 2);
        turn += std::pow(x.v[6 * b + 3] * 0.01, 2);
        ++count;
      }
    }
    EXPECT_EQ(x.rng[1], 10u);
    // 2 kT h / zeta; 4000 samples: 5 % is more than two standard deviations
    EXPECT_NEAR(across / count, 2 * 0.3 * 0.01 / 6, 0.07 * 2 * 0.3 * 0.01 / 6);
    EXPECT_NEAR(along / count, 2 * 0.3 * 0.01 / 3, 0.07 * 2 * 0.3 * 0.01 / 3);
    EXPECT_NEAR(turn / count, 2 * 0.3 * 0.01 * 12 / 54, 0.07 * 2 * 0.3 * 0.01 * 12 / 54);
    if (threads == 1) reference = x.q;
    EXPECT_TRUE(x.q == reference);
  }
  set_thread_count(1);
}

TEST(Periodic, BodiesMeetAcrossTheSides) {
  // Two rods at opposite sides, pushed outwards: the same motion as two pushed towards each other.
  const Vec3 upright(0, std::numbers::pi / 2, 0.3);
  const Model apart = rods({{Vec3(0.8, 0, 0), Vec3(0, 0, 1), Vec3(-3, 0, 0)},
                            {Vec3(9.2, 0.4, 0), upright, Vec3(3, 0, 0)}});
  const Model near = rods({{Vec3(0.8, 0, 0), Vec3(0, 0, 1), Vec3(-3, 0, 0)},
                           {Vec3(-0.8, 0.4, 0), upright, Vec3(3, 0, 0)}});
  StepSettings plain = settings_of(0.05), boxed = plain;
  boxed.periodic.active = {true, false, false};
  boxed.periodic.lo = Vec3(0, 0, 0);
  boxed.periodic.hi = Vec3(10, 0, 0);
  State x = apart.rest_state(), y = near.rest_state();
  WarmStart wx, wy;
  StepWorkspace work;
  int touched = 0;
  for (int i = 0; i < 60; ++i) {
    const StepReport r = step(apart, apart.default_parameters(), boxed, {}, x, wx, work);
    (void)step(near, near.default_parameters(), plain, {}, y, wy, work);
    touched += !wx.contacts.empty();
    ASSERT_LE(r.deepest, 1e-5);
  }
  EXPECT_GT(touched, 20);
  x.q[7] -= 10;
  EXPECT_LT((x.q - y.q).norm(), 1e-9);
}

TEST(Periodic, PositionsMayLieInAnyPeriodAndCornersWork) {
  // Four rods around the corner of a box that is periodic in x and y, placed whole periods away.
  std::vector<Placed> places, shifted;
  const double push = 4;
  for (int i = 0; i < 4; ++i) {
    const double sx = i % 2 == 0 ? 1 : -1, sy = i / 2 == 0 ? 1 : -1;
    const Placed p{Vec3(0.9 * sx, 0.95 * sy, 0.1 * i), Vec3(0, std::numbers::pi / 2, 0.2 * i),
                   push * Vec3(-sx, -sy, 0)};
    places.push_back(p);
    Placed q = p;
    q.at += Vec3(12 * i, -12 * (i % 3), 0);
    shifted.push_back(q);
  }
  const Model one = rods(places), two = rods(shifted);
  StepSettings plain = settings_of(0.05), boxed = plain;
  boxed.periodic.active = {true, true, false};
  boxed.periodic.hi = Vec3(12, 12, 0);
  State x = one.rest_state(), y = two.rest_state();
  WarmStart wx, wy;
  StepWorkspace work;
  for (int i = 0; i < 20; ++i) {
    (void)step(one, one.default_parameters(), plain, {}, x, wx, work);
    (void)step(two, two.default_parameters(), boxed, {}, y, wy, work);
  }
  EXPECT_GE(wx.contacts.size(), 3u);
  for (int i = 0; i < 4; ++i) {
    y.q[7 * i] -= 12 * i;
    y.q[7 * i + 1] += 12 * (i % 3);
  }
  EXPECT_LT((x.q - y.q).norm(), 1e-8);
}

TEST(Periodic, BoxSmallerThanABodyIsRefused) {
  const Model model = rods({{Vec3::Zero(), Vec3::Zero(), Vec3::Zero()}});
  StepSettings settings = settings_of(0.05);
  settings.periodic.active = {true, false, false};
  settings.periodic.hi = Vec3(2.5, 0, 0);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  try {
    (void)step(model, model.default_parameters(), settings, {}, x, warm, work);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("larger than every body"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("2.5"), std::string::npos);
  }
}

}  // namespace
}  // namespace orthant
