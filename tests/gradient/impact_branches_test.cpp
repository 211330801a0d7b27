// SPDX-License-Identifier: Apache-2.0
// Located impacts: what the forward has chosen (frame, scale of the restitution, spin of bodies
// that do not fly) is what is differentiated. Against central differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include "orthant/force/force.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

Vec3 draw(SplitMix& dice, double size) {
  const double x = dice.uniform(-size, size), y = dice.uniform(-size, size);
  return {x, y, dice.uniform(-size, size)};
}

/// One step, recorded, and its derivatives beside differences.
struct OneStep {
  explicit OneStep(Model of) : model(std::move(of)) {}

  Model model;
  StepSettings settings{.h = 0.01, .impact_events = true, .solver = {.tolerance = 1e-13}};
  Parameters parameters = model.default_parameters();
  State end = model.rest_state();
  StepRecord record;
  StepReport report = run(VecX::Zero(model.v_size()), VecX::Zero(model.v_size()), {}, end, &record);

  StepReport run(const VecX& dq, const VecX& dv, const VecX& dp, State& x, StepRecord* keep) {
    x = model.rest_state();
    boxplus(model, model.rest_state().q, dq, x.q);
    x.v += dv;
    Parameters p = parameters;
    if (dp.size() > 0) p.values += dp;
    WarmStart warm;
    StepWorkspace work;
    return step(model, p, settings, {}, x, warm, work, keep);
  }
  bool certified = false;  ///< known after error()

  bool has(auto&& what) const { return std::ranges::any_of(record.solves, what); }

  /// By (q, v) and the parameters `named`: largest error relative to the derivative.
  double error(const std::vector<std::string>& named = {}) {
    StepGradient gradient(model, parameters, settings, record);
    const Index n = model.v_size();
    const std::vector<Index> places = find_parameters(model, named);
    const Index inputs = 2 * n + static_cast<Index>(places.size());
    MatX given(2 * n, inputs);
    for (Index row = 0; row < 2 * n; ++row) {
      StateCotangent by{VecX::Zero(n), VecX::Zero(n)};
      (row < n ? by.q[row] : by.v[row - n]) = 1;
      const StepCotangent g = gradient.pull_back(by);
      given.row(row).head(2 * n) << g.q.transpose(), g.v.transpose();
      for (std::size_t i = 0; i < places.size(); ++i)
        given(row, 2 * n + static_cast<Index>(i)) = g.parameters[places[i]];
    }
    certified = gradient.certificate().certified();
    double worst = 0;
    for (Index k = 0; k < inputs; ++k) {
      const auto at = [&](double e) {
        VecX d[2] = {VecX::Zero(n), VecX::Zero(n)}, dp = VecX::Zero(parameters.values.size());
        if (k < 2 * n) {
          d[k / n][k % n] = e;
        } else {
          dp[places[static_cast<std::size_t>(k - 2 * n)]] = e;
        }
        State x;
        (void)run(d[0], d[1], dp, x, nullptr);
        VecX dq, out(2 * n);
        boxminus(model, x.q, end.q, dq);
        out << dq, x.v - end.v;
        return out;
      };
      // The longer differences may meet the next feature, the shorter ones round more.
      double best = std::numeric_limits<double>::infinity();
      for (const double e : {1e-5, 1e-7}) {
        const VecX truth = (8 * (at(e) - at(-e)) - (at(2 * e) - at(-2 * e))) / (12 * e);
        best = std::min(best, (given.col(k) - truth).norm() / std::max(1.0, truth.norm()));
      }
      worst = std::max(worst, best);
    }
    return worst;
  }
};

// A level normal is level to rounding, and the frame depends on the sign of its height.
TEST(ImpactBranches, LevelNormalsHaveTheFrameOfTheForward) {
  int impacts = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    SplitMix dice(seed);
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0.5, .restitution = 0.3});
    b.add_body({.name = "pillar",
                .motion = Motion::Fixed,
                .orientation = multiply(exp_rotation(Vec3(0, 0, dice.uniform(0.3, 1.2))),
                                        exp_rotation(Vec3(0.5 * std::numbers::pi, 0, 0))),
                .shapes = {{.shape = Shape::box(0.1, 2, 0.1), .material = "m"}}});
    b.add_body({.name = "box",
                .position = Vec3(-0.33, 0.05 * dice.uniform(-1, 1), 0),
                .orientation = exp_rotation(draw(dice, 2)),
                .velocity = Vec3(30, 0, 0) + draw(dice, 1),
                .angular_velocity = draw(dice, 5),
                .shapes = {{.shape = Shape::box(0.08, 0.1, 0.12), .material = "m"}}});
    OneStep one(b.build());
    const auto struck = [](const SolveRecord& r) { return r.kind == SolveKind::Impact; };
    if (one.report.events != 1 || !one.has(struck)) continue;
    const double error = one.error();
    if (!one.certified) continue;  // another contact is as near
    ++impacts;
    EXPECT_LE(error, 1e-5) << seed;
  }
  EXPECT_GE(impacts, 150);
}

// The energy that an impact must not gain is that of armatures, too.
TEST(ImpactBranches, ScaledRestitutionKnowsArmatures) {
  int scaled = 0;
  for (unsigned seed = 0; seed < 60 && scaled < 6; ++seed) {
    SplitMix dice(seed);
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0, .restitution = 0.9});
    b.add_body({.name = "floor",
                .motion = Motion::Fixed,
                .planar = true,
                .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
    b.add_body({.name = "disc",
                .motion = Motion::Planar,
                .position = Vec3(0, 0.0998, 0),
                .velocity = Vec3(0, -2, 0) + Vec3(draw(dice, 1).cwiseProduct(Vec3(1, 1, 0))),
                .angular_velocity = Vec3(0, 0, dice.uniform(-5, 5)),
                .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
    b.add_joint({.name = "j",
                 .kind = JointKind::Revolute,
                 .a = "disc",
                 .anchor = Vec3(dice.uniform(0.05, 0.2), 0.2, 0),
                 .armature = 0.02});
    OneStep one(b.build());
    // At once, before the joint has made the velocities agree with it.
    if (!one.has([](const SolveRecord& r) { return r.scaled && r.pinned; })) continue;
    ++scaled;
    EXPECT_LE(one.error({"joint/j.armature", "body/disc.inertia"}), 1e-5) << seed;
    EXPECT_TRUE(one.certified) << seed;
  }
  EXPECT_GE(scaled, 4);
}

// A body of unequal inertia on a ball joint at its centre spins as it likes and keeps its energy.
TEST(ImpactBranches, SpinningBodiesOnJointsKeepTheirEnergy) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    SplitMix dice(seed);
    ModelBuilder b;
    b.set_gravity(Vec3::Zero());
    b.add_body({.name = "box",
                .orientation = exp_rotation(draw(dice, 2)),
                .angular_velocity = draw(dice, 12),
                .shapes = {{.shape = Shape::box(0.05, 0.1, 0.2), .density = 1000}}});
    b.add_joint({.name = "j", .kind = JointKind::Ball, .a = "box"});
    OneStep one(b.build());
    EXPECT_LE(one.error({"body/box.inertia.xx", "body/box.inertia.xy"}), 1e-6) << seed;
    EXPECT_TRUE(one.certified) << seed;
    State x = one.model.rest_state();
    const double before = kinetic_energy(one.model, one.parameters, x.q, x.v);
    WarmStart warm;
    StepWorkspace work;
    for (int i = 0; i < 50; ++i)
      (void)step(one.model, one.parameters, one.settings, {}, x, warm, work);
    EXPECT_NEAR(kinetic_energy(one.model, one.parameters, x.q, x.v), before, 1e-10 * before);
  }
}

// However stiff a spring is and however far a body swings on it in a step, it gives what it stored.
TEST(ImpactBranches, BodiesThatSwingOnStiffSpringsGainNoEnergy) {
  for (const bool planar : {true, false})
    for (const double stiffness : {100.0, 2000.0, 50000.0}) {
      ModelBuilder b;
      const Vec3 down = planar ? Vec3(0, -9.81, 0) : Vec3(0, 0, -9.81);
      b.set_gravity(down);
      b.add_body(
          {.name = "box",
           .motion = planar ? Motion::Planar : Motion::Spatial,
           .velocity = planar ? Vec3(3, 0, 0) : Vec3(3, 1, 0),
           .angular_velocity = planar ? Vec3(0, 0, 6) : Vec3(3, -4, 6),
           .shapes = {{.shape = planar ? Shape::rectangle(0.05, 0.1) : Shape::box(0.05, 0.1, 0.2),
                       .density = 500}}});
      b.add_force(SpringSpec{.name = "s",
                             .a = "box",
                             .point_a = planar ? Vec3(0.03, 0.02, 0) : Vec3(0.03, 0.02, 0.04),
                             .point_b = -0.05 * down,
                             .stiffness = stiffness,
                             .rest = 0.4});
      OneStep one(b.build());
      EXPECT_LE(one.error({"force/s.rest", "force/s.stiffness"}), 1e-6) << stiffness;
      EXPECT_TRUE(one.certified);
      State x = one.model.rest_state();
      const auto energy = [&] {
        return kinetic_energy(one.model, one.parameters, x.q, x.v) +
               potential_energy(one.model, one.parameters, x.q, x.t);
      };
      WarmStart warm;
      StepWorkspace work;
      double before = energy(), rise = 0;
      for (int i = 0; i < 100; ++i) {
        (void)step(one.model, one.parameters, one.settings, {}, x, warm, work);
        const double after = energy();
        const double size = std::max(kinetic_energy(one.model, one.parameters, x.q, x.v), 1e-3);
        rise = std::max(rise, (after - before) / size);
        before = after;
      }
      EXPECT_LE(rise, 1e-6) << stiffness << (planar ? " planar" : "");
    }
}

}  // namespace
}  // namespace orthant
