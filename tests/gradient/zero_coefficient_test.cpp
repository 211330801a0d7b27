// SPDX-License-Identifier: Apache-2.0
// Friction and rolling friction that are exactly 0: the derivative is that from the right, or the
// certificate says that there is none.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "gradient/right_difference.hpp"
#include "orthant/constraint/contact_rows.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

struct World {
  Model model;
  StepSettings settings = {};
  Index steps = 1;

  Index place(const char* name) const { return model.parameter_table().find(name); }
};

RolloutGradient gradient(const World& w) {
  const RolloutTape tape = record(w, w.model.default_parameters());
  const Index n = w.model.v_size();
  return rollout_gradient(tape, at_end(tape, weights(n, 1), weights(n, 2)));
}

bool is_given(const RolloutCertificate& c, Index place) {
  return std::ranges::any_of(
      c.edges, [&](const EdgeParameter& edge) { return edge.place == place && edge.given; });
}

bool is_open(const RolloutCertificate& c, InputKind kind, Index place, OpenReason reason) {
  return std::ranges::binary_search(c.open, OpenInput{kind, place, 0, reason});
}

void add_floor(ModelBuilder& b, bool planar, const char* material = "m") {
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = planar,
              .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(),
                          .material = material}}});
}

// One elastic impact of a corner without friction gains nothing just so. With a little of a
// coefficient c that acts along the row d, impulse λ (n − c σ d), σ = sign(d·v⁺), 2 (T⁺ − T⁻) is
// λ u⁻ (1 − s) − c λ σ d·(v⁺ + v⁻): where the second part is a gain, the restitution is scaled.
TEST(ZeroCoefficient, AnElasticImpactIsScaledWhereItWouldGain) {
  int scaled = 0, plain = 0;
  for (const double spin : {-9.0, -6.0, -3.0, 3.0, 6.0, 9.0})
    for (const double side : {-3.0, 3.0}) {
      ModelBuilder b;
      b.set_gravity(Vec3::Zero());
      b.add_material({.name = "m", .friction = 0, .restitution = 1});
      add_floor(b, true);
      b.add_body({.name = "box",
                  .motion = Motion::Planar,
                  .position = {0, 0.172, 0},
                  .angle = 0.4,
                  .velocity = {side, -3, 0},
                  .angular_velocity = {0, 0, spin},
                  .shapes = {{.shape = Shape::rectangle(0.2, 0.1), .material = "m"}}});
      World w{b.build()};
      w.settings.impact_events = true;
      w.settings.solver.tolerance = 1e-13;
      const RolloutTape tape = record(w, w.model.default_parameters());
      const SolveRecord* impact = nullptr;
      int impacts = 0;
      for (const SolveRecord& solve : tape.records[0].solves)
        if (solve.kind == SolveKind::Impact) ++impacts, impact = &solve;
      ASSERT_EQ(impacts, 1);
      const Body& box = w.model.bodies()[1];
      const Contact& c = impact->contacts.contacts[0];
      const Vec3 centre(impact->q[box.q_begin], impact->q[box.q_begin + 1], 0);
      const Vec3 r = 0.5 * (c.point_a + c.point_b) - centre;
      const Vec3 n(0, 1, r.x());
      const VecX& x = w.model.default_parameters().values;
      const Vec3 inverse(1 / x[box.mass], 1 / x[box.mass], 1 / x[box.inertia]);
      const Vec3 before = impact->v.head<3>(), after = impact->solution.v.head<3>();
      const double u = n.dot(before), W = n.dot(inverse.cwiseProduct(n)), lambda = -2 * u / W;
      for (const auto& [name, d] : {std::pair{"material/m.friction", Vec3(1, 0, -r.y())},
                                    {"material/m.rolling_friction", Vec3(0, 0, 1)}}) {
        const double sign = d.dot(after) > 0 ? 1 : -1;
        const double gain = -sign * d.dot(after + before);
        const double by_scale = gain > 0 ? gain / u : 0;  // ds/dc
        ++(gain > 0 ? scaled : plain);
        const double by_lambda =
            lambda * sign * n.dot(inverse.cwiseProduct(d)) / W - u / W * by_scale;
        const Vec3 truth = inverse.cwiseProduct(n * by_lambda - sign * lambda * d);
        for (Index i = 0; i < 3; ++i) {
          const RolloutGradient g =
              rollout_gradient(tape, at_end(tape, VecX::Zero(3), VecX::Unit(3, i)));
          EXPECT_NEAR(g.parameters[w.place(name)], truth[i], 1e-8 * (1 + truth.norm()))
              << name << " spin " << spin << " side " << side << " i " << i;
          EXPECT_TRUE(g.certificate.certified());
          EXPECT_TRUE(is_given(g.certificate, w.place(name)));
          StepTangent change;
          change.parameters = VecX::Unit(x.size(), w.place(name));
          EXPECT_NEAR(rollout_tangent(tape, change).v(i, 1), truth[i], 1e-8 * (1 + truth.norm()));
        }
      }
    }
  EXPECT_GE(scaled, 4);
  EXPECT_GE(plain, 4);
}

// A disc that spins on one that lies still: a little rolling friction turns the lower one only as
// far as the floor lets it, which holds twice as much.
TEST(ZeroCoefficient, WhatAStillContactResistsIsNotGiven) {
  for (const bool stacked : {true, false}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0});
    add_floor(b, true);
    for (int i = stacked ? 0 : 1; i < 2; ++i)
      b.add_body({.name = "disc" + std::to_string(i),
                  .motion = Motion::Planar,
                  .position = {0, stacked ? 0.1 + 0.2 * i : 0.1, 0},
                  .angular_velocity = {0, 0, 4.0 * i},
                  .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
    World w{b.build()};
    w.settings.solver.tolerance = 1e-13;
    const Index place = w.place("material/m.rolling_friction");
    const RolloutGradient g = gradient(w);
    const double truth = right_difference(w, place);
    EXPECT_GT(std::abs(truth), 1e-3);
    EXPECT_TRUE(g.certificate.certified());
    EXPECT_EQ(is_given(g.certificate, place), !stacked);
    EXPECT_EQ(std::abs(g.parameters[place] - truth) <= 1e-5 * std::abs(truth), !stacked);
  }
}

// A ball on a ball joint that sticks to the floor: its contact may push along the line to the joint
// as it likes, and rolling friction of 0 would act with the load that was found.
TEST(ZeroCoefficient, AnUnknownLoadIsAmbiguous) {
  const Vec3 anchor(0.3, 0, 0.3), axis = anchor.normalized(), centre(0, 0, 0.1);
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 2});
  add_floor(b, false);
  b.add_body({.name = "ball",
              .position = centre,
              .velocity = (3 * axis).cross(centre - anchor),
              .angular_velocity = 3 * axis,
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  b.add_joint({.name = "j", .kind = JointKind::Ball, .a = "ball", .anchor = anchor});
  World w{b.build()};
  w.settings.solver.tolerance = 1e-13;
  const RolloutCertificate c = gradient(w).certificate;
  EXPECT_TRUE(c.certified()) << c.reason << c.kink;
  EXPECT_TRUE(is_open(c, InputKind::Parameter, w.place("material/m.rolling_friction"),
                      OpenReason::Ambiguous));
  EXPECT_FALSE(is_open(c, InputKind::Parameter, w.place("body/ball.mass"), OpenReason::Ambiguous));
}

// By the cone law a ball that slides lifts off by μ |s|. Corrections of positions, which a pendulum
// beside it asks for, have its contact on the border of touching and parting, all of them alike.
TEST(ZeroCoefficient, WhatLiftsOffACorrectedContactIsNamed) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0});
  add_floor(b, true);
  b.add_body({.name = "ball",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .velocity = {1, 0, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
  b.add_body({.name = "pendulum",
              .motion = Motion::Planar,
              .position = {2, 2, 0},
              .velocity = {15, 0, 0},
              .angular_velocity = {0, 0, 30},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}}});
  b.add_joint({.name = "j", .kind = JointKind::Revolute, .a = "pendulum", .anchor = {2, 2.5, 0}});
  World w{b.build()};
  w.settings.friction = FrictionModel::Cone;
  w.settings.solver.tolerance = 1e-13;
  const RolloutTape tape = record(w, w.model.default_parameters());
  EXPECT_GE(tape.records[0].solves.size(), 3u);  // corrected more than once
  const RolloutGradient g = gradient(w);
  const Index place = w.place("material/m.friction");
  EXPECT_TRUE(g.certificate.certified()) << g.certificate.reason;
  EXPECT_TRUE(is_open(g.certificate, InputKind::Parameter, place, OpenReason::Neither));
  for (Index i = 0; i < w.model.v_size(); ++i)
    EXPECT_FALSE(is_open(g.certificate, InputKind::Velocity, i, OpenReason::Neither)) << i;
}

// By the cone law the corners of a box that turns as it slides would lift off at speeds that no
// motion of the box has: all four cannot stay, and which does is not known.
TEST(ZeroCoefficient, CornersThatWouldLiftOffAtOtherSpeedsContradict) {
  for (const double spin : {0.0, 3.0}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0});
    add_floor(b, false);
    b.add_body({.name = "box",
                .position = {0, 0, 0.1},
                .velocity = {1, 0.2, 0},
                .angular_velocity = {0, 0, spin},
                .shapes = {{.shape = Shape::box(0.2, 0.3, 0.1), .material = "m"}}});
    World w{b.build()};
    w.settings.friction = FrictionModel::Cone;
    w.settings.solver.tolerance = 1e-13;
    const RolloutCertificate c = gradient(w).certificate;
    EXPECT_TRUE(c.certified()) << c.reason;
    EXPECT_EQ(is_open(c, InputKind::Parameter, w.place("material/m.friction"), OpenReason::Neither),
              spin != 0);
  }
}

// Rolling friction alone has rows for sliding, which hold nothing: dx⁺/dv = t. The corners of a box
// share its load in many ways.
TEST(ZeroCoefficient, WithRollingFrictionAloneBodiesSlide) {
  for (const bool planar : {true, false})
    for (const bool box : {true, false}) {
      ModelBuilder b;
      b.add_material({.name = "m", .friction = 0, .rolling_friction = 0.02});
      add_floor(b, planar);
      const Shape shape = box ? (planar ? Shape::rectangle(0.2, 0.1) : Shape::box(0.2, 0.2, 0.1))
                              : (planar ? Shape::disc(0.1) : Shape::sphere(0.1));
      b.add_body({.name = "body",
                  .motion = planar ? Motion::Planar : Motion::Spatial,
                  .position = planar ? Vec3(0, 0.1, 0) : Vec3(0, 0, 0.1),
                  .shapes = {{.shape = shape, .material = "m"}}});
      World w{b.build()};
      w.steps = 3;
      const RolloutTape tape = record(w, w.model.default_parameters());
      const Index n = w.model.v_size();
      const RolloutGradient g =
          rollout_gradient(tape, at_end(tape, VecX::Unit(n, 0), VecX::Zero(n)));
      EXPECT_NEAR(g.v[0], 3 * w.settings.h, 1e-10) << planar << box;
      EXPECT_EQ(g.certificate.floating, 0) << planar << box;
    }
}

}  // namespace
}  // namespace orthant
