// SPDX-License-Identifier: Apache-2.0
// Coefficients at the end of their range, and kinks of the data, which the certificate names.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradient/right_difference.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

struct World {
  Model model;
  StepSettings settings = {};
  Index steps = 3;
};

/// A ball that slides and spins on a floor, or falls on it.
World ball(bool planar, double height, const MaterialSpec& material, bool gravity = true) {
  ModelBuilder b;
  if (!gravity) b.set_gravity(Vec3::Zero());
  b.add_material(material);
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = planar,
              .shapes = {{.shape = planar ? Shape::half_plane() : Shape::half_space(),
                          .material = material.name}}});
  b.add_body({.name = "ball",
              .motion = planar ? Motion::Planar : Motion::Spatial,
              .position = planar ? Vec3(0, 0.1 + height, 0) : Vec3(0, 0, 0.1 + height),
              .velocity = planar ? Vec3(1, -0.3, 0) : Vec3(1, 0.4, -0.3),
              .angular_velocity = planar ? Vec3(0, 0, 3) : Vec3(0.5, 2, 0.3),
              .shapes = {{.shape = planar ? Shape::disc(0.1) : Shape::sphere(0.1),
                          .material = material.name}}});
  World world{b.build()};
  world.settings.solver.tolerance = 1e-13;
  return world;
}

RolloutGradient gradient(const World& w, KinkChoice kink = KinkChoice::Clamp) {
  const RolloutTape tape = record(w, w.model.default_parameters());
  const Index n = w.model.v_size();
  StepGradientSettings settings;
  settings.solution.kink = kink;
  return rollout_gradient(tape, at_end(tape, weights(n, 1), weights(n, 2)), settings);
}

bool says(const RolloutCertificate& c, Index place, bool given) {
  for (const EdgeParameter& edge : c.edges)
    if (edge.place == place) return edge.given == given;
  return false;
}

bool is_open(const RolloutCertificate& c, InputKind kind, Index place,
             OpenReason reason = OpenReason::Kink) {
  return std::ranges::binary_search(c.open, OpenInput{kind, place, 0, reason});
}

TEST(GradientEdges, NoFrictionHasTheDerivativeFromTheRight) {
  for (const bool planar : {true, false})
    for (const FrictionModel model :
         {FrictionModel::Coulomb, FrictionModel::Cone, FrictionModel::Pyramid}) {
      World w = ball(planar, 0.001, {.name = "m", .friction = 0});
      w.settings.friction = model;
      const RolloutGradient g = gradient(w);
      for (const char* name : {"material/m.friction", "material/m.rolling_friction"}) {
        const Index place = w.model.parameter_table().find(name);
        const double truth = right_difference(w, place, 1e-6);
        EXPECT_GT(std::abs(truth), 1e-2) << name;
        EXPECT_NEAR(g.parameters[place], truth, 1e-5 * std::abs(truth))
            << name << " planar " << planar << " model " << static_cast<int>(model);
        EXPECT_TRUE(says(g.certificate, place, true)) << name;
      }
      EXPECT_TRUE(g.certificate.certified());
    }
}

TEST(GradientEdges, NoRestitutionHasTheDerivativeFromTheRightAtALocatedImpact) {
  for (const bool planar : {true, false}) {
    // With gravity the slow rebound would end within the step, whatever the coefficient. Without,
    // the ball rests on the floor with no impulse after the impact, and a bounce lets it go.
    World w = ball(planar, 0.002, {.name = "m", .friction = 0.2}, false);
    w.settings.impact_events = true;
    const Index place = w.model.parameter_table().find("material/m.restitution");
    const RolloutGradient g = gradient(w, KinkChoice::Separate);
    const double truth = right_difference(w, place, 1e-6);
    EXPECT_GT(std::abs(truth), 1e-2);
    EXPECT_NEAR(g.parameters[place], truth, 1e-5 * std::abs(truth));
  }
}

TEST(GradientEdges, PushForwardHasThemToo) {
  World w = ball(false, 0.001, {.name = "m", .friction = 0});
  const RolloutTape tape = record(w, w.model.default_parameters());
  const Index n = w.model.v_size();
  const RolloutGradient g = rollout_gradient(tape, at_end(tape, weights(n, 1), weights(n, 2)));
  for (const char* name : {"material/m.friction", "material/m.rolling_friction"}) {
    const Index place = w.model.parameter_table().find(name);
    StepTangent change;
    change.parameters = VecX::Unit(w.model.parameter_table().size(), place);
    const RolloutTangent d = rollout_tangent(tape, change);
    EXPECT_NEAR(weights(n, 1).dot(d.q.col(w.steps)) + weights(n, 2).dot(d.v.col(w.steps)),
                g.parameters[place], 1e-10);
  }
}

// A ball welded where it touches the floor: no motion is left that could open or close the contact,
// so nothing pushes, and on no border. The weld puts the ball back wherever it is moved.
TEST(GradientEdges, ContactsOfWhatJointsHoldAreOpen) {
  for (const bool events : {true, false}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0.5});
    b.add_body({.name = "floor",
                .motion = Motion::Fixed,
                .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
    b.add_body({.name = "ball",
                .position = {0, 0, 0.1},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
    b.add_joint({.name = "hold", .kind = JointKind::Weld, .a = "ball", .anchor = {0.1, 0.3, 0.2}});
    World w{b.build()};
    w.settings.solver.tolerance = 1e-13;
    w.settings.impact_events = events;
    const RolloutGradient g = gradient(w);
    EXPECT_TRUE(g.certificate.certified()) << g.certificate.reason << " " << g.certificate.kink;
    EXPECT_LE(g.q.cwiseAbs().maxCoeff(), 1e-12);
    EXPECT_LE(g.v.cwiseAbs().maxCoeff(), 1e-12);
  }
}

TEST(GradientEdges, HardContactsSayThatComplianceHasNoDerivative) {
  const World w = ball(true, 0.001, {.name = "m", .friction = 0.3});
  const RolloutGradient g = gradient(w);
  EXPECT_TRUE(says(g.certificate, w.model.parameter_table().find("material/m.compliance"), false));
  EXPECT_TRUE(g.certificate.certified());
}

TEST(GradientKinks, AStartAtRestIsNamedAndALaterRestIsNot) {
  const World touching = ball(true, 0, {.name = "m", .friction = 0.3});
  const RolloutCertificate at_rest = gradient(touching).certificate;
  EXPECT_TRUE(at_rest.certified());
  EXPECT_NE(at_rest.kink.find("touch at the start"), std::string::npos) << at_rest.kink;
  // Its height and radius open or close the gap; nothing else does.
  const ParameterTable& table = touching.model.parameter_table();
  EXPECT_TRUE(is_open(at_rest, InputKind::Configuration, 1));
  EXPECT_FALSE(is_open(at_rest, InputKind::Configuration, 0));
  EXPECT_TRUE(is_open(at_rest, InputKind::Parameter, table.find("shape/ball.radius")));
  EXPECT_FALSE(is_open(at_rest, InputKind::Parameter, table.find("material/m.friction")));
  EXPECT_FALSE(is_open(at_rest, InputKind::Parameter, table.find("body/ball.mass")));
  for (Index i = 0; i < 3; ++i) EXPECT_FALSE(is_open(at_rest, InputKind::Velocity, i));

  World falling = ball(true, 0.001, {.name = "m", .friction = 0.3});
  falling.steps = 10;
  EXPECT_TRUE(gradient(falling).certificate.certified()) << gradient(falling).certificate.kink;
  // Off its centre the disc would not land where the rows say; about it, it does.
  const ParameterTable& names = falling.model.parameter_table();
  for (const OpenInput& one : gradient(falling).certificate.open) {
    EXPECT_EQ(one.kind, InputKind::Parameter) << one.place;
    EXPECT_NE(names.name(one.place).find("offset"), std::string::npos) << names.name(one.place);
  }
}

TEST(GradientKinks, ASpringAtItsRestLengthIsNamed) {
  for (const double rest : {0.5, 0.4}) {
    ModelBuilder b;
    b.add_body({.name = "ball",
                .motion = Motion::Planar,
                .position = {0.5, 0, 0},
                .shapes = {{.shape = Shape::disc(0.1)}}});
    b.add_force(SpringSpec{.name = "s", .a = "ball", .stiffness = 10, .rest = rest});
    World w{b.build()};
    const RolloutCertificate c = gradient(w).certificate;
    EXPECT_TRUE(c.certified());
    const Index place = w.model.parameter_table().find("force/s.rest");
    EXPECT_EQ(is_open(c, InputKind::Configuration, 0), rest == 0.5);
    EXPECT_EQ(is_open(c, InputKind::Parameter, place), rest == 0.5);
    EXPECT_FALSE(
        is_open(c, InputKind::Parameter, w.model.parameter_table().find("body/ball.mass")));
    EXPECT_EQ(c.kink.find("spring 's'") != std::string::npos, rest == 0.5) << c.kink;
  }
}

TEST(GradientKinks, FlushFacesThatCloseAreNamed) {
  for (const double tilt : {0.0, 0.01}) {
    ModelBuilder b;
    for (int i = 0; i < 2; ++i)
      b.add_body({.name = "box" + std::to_string(i),
                  .motion = Motion::Planar,
                  .position = {0.01 * i, 0.2015 * i, 0},
                  .angle = i * tilt,
                  .velocity = {0, -1.0 * i, 0},
                  .shapes = {{.shape = Shape::rectangle(0.1, 0.1)}}});
    World w{b.build()};
    w.settings.solver.tolerance = 1e-13;
    w.steps = 1;
    const RolloutCertificate c = gradient(w).certificate;
    EXPECT_TRUE(c.certified()) << c.kink;
    // Turning one face against the other, not moving it.
    for (const Index turn : {2, 5})
      EXPECT_EQ(is_open(c, InputKind::Configuration, turn, OpenReason::Neither), tilt == 0)
          << c.kink;
    EXPECT_FALSE(is_open(c, InputKind::Configuration, 1)) << c.kink;
    EXPECT_FALSE(is_open(c, InputKind::Velocity, 4)) << c.kink;
  }
}

TEST(GradientRedundancy, ABallOnTwoFloorsSaysThatItsImpulsesAreNotUnique) {
  // Two floors in one place share the load as the solver likes; turning one of them, the derivative
  // depends on its share, and truth is one-sided.
  for (const Method method : {Method::Automatic, Method::InteriorPoint}) {
    ModelBuilder b;
    b.add_material({.name = "m", .friction = 0});
    for (const char* name : {"floor", "other"})
      b.add_body({.name = name,
                  .motion = Motion::Fixed,
                  .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
    b.add_body({.name = "ball",
                .position = {0, 0, 0.101},
                .velocity = {0, 0, -1},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
    World w{b.build()};
    w.settings.solver.tolerance = 1e-13;
    w.settings.solver.method = method;
    w.steps = 1;
    const RolloutCertificate c = gradient(w).certificate;
    // Where one floor carries everything, the other is on the border of touching and parting.
    if (c.floating > 0) continue;
    EXPECT_TRUE(c.certified()) << static_cast<int>(method) << c.reason;
    const ParameterTable& table = w.model.parameter_table();
    EXPECT_TRUE(is_open(c, InputKind::Parameter, table.find("shape/other.offset.qx"),
                        OpenReason::Ambiguous))
        << c.kink;
    EXPECT_FALSE(is_open(c, InputKind::Parameter, table.find("body/ball.mass"))) << c.kink;
    for (Index i = 0; i < 6; ++i) EXPECT_FALSE(is_open(c, InputKind::Configuration, i)) << i;
  }
}

// A box that lies on the floor: tilted either way one corner opens and the other closes, so both
// sides are alike, and the number, for which both open, is neither.
TEST(GradientEdges, TiltsOfALyingBoxAreOfNeitherSide) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
  b.add_body({.name = "box",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .shapes = {{.shape = Shape::rectangle(0.2, 0.1), .material = "m"}}});
  World w{b.build()};
  w.settings.solver.tolerance = 1e-13;
  w.steps = 2;
  const RolloutGradient g = gradient(w);
  const auto difference = [&](Index i, double by) {
    State state = w.model.rest_state();
    boxplus(w.model, w.model.rest_state().q, by * VecX::Unit(3, i), state.q);
    const auto end = [&](const State& from) {
      return record_rollout(w.model, w.model.default_parameters(), w.settings, from, {}, w.steps)
          .final_state;
    };
    const State moved = end(state), base = end(w.model.rest_state());
    VecX d;
    boxminus(w.model, moved.q, base.q, d);
    return (weights(3, 1).dot(d) + weights(3, 2).dot(moved.v - base.v)) / by;
  };
  const double left = difference(2, -1e-6), right = difference(2, 1e-6);
  EXPECT_NEAR(left, right, 1e-3 * std::abs(right));
  EXPECT_GT(std::abs(g.q[2] - right), 0.1 * std::abs(right));
  EXPECT_TRUE(is_open(g.certificate, InputKind::Configuration, 2, OpenReason::Neither));
  EXPECT_TRUE(is_open(g.certificate, InputKind::Configuration, 1, OpenReason::Kink));
  EXPECT_FALSE(is_open(g.certificate, InputKind::Configuration, 1, OpenReason::Neither));
  EXPECT_FALSE(is_open(g.certificate, InputKind::Configuration, 0));
}

// Corners of other heights that stick and bounce ask for two turns: any spin contradicts one.
TEST(GradientRedundancy, ASpinOfCornersThatStickAndBounceIsOfNeitherSide) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 2, .restitution = 0.5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
  b.add_body({.name = "box",
              .motion = Motion::Planar,
              .position = {0, 0.113, 0},
              .angle = 0.05,
              .velocity = {0.1, -4, 0},
              .shapes = {{.shape = Shape::rectangle(0.2, 0.1), .material = "m"}}});
  World w{b.build()};
  w.settings.solver.tolerance = 1e-13;
  w.steps = 1;
  const RolloutCertificate c = gradient(w).certificate;
  EXPECT_TRUE(c.certified()) << c.reason;
  EXPECT_TRUE(is_open(c, InputKind::Velocity, 2, OpenReason::Neither));
  EXPECT_FALSE(is_open(c, InputKind::Velocity, 1, OpenReason::Neither));
}

// Both ends of a cylinder that lies on its side are as deep, and with one contact per pair it is
// the one or the other.
TEST(GradientKinks, ACylinderOnItsSideHasTwoDeepestPoints) {
  for (const double tilt : {0.0, 0.01}) {
    ModelBuilder b;
    b.add_body(
        {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
    b.add_body({.name = "cylinder",
                .position = {0, 0, 0.1 + 0.2 * std::sin(tilt)},
                .orientation = exp_rotation(Vec3(0, tilt, 0)),
                .shapes = {{.shape = Shape::cylinder(0.1, 0.2)}}});
    World w{b.build()};
    w.settings.constraints = ConstraintScheme::Single;
    w.settings.solver.tolerance = 1e-13;
    w.steps = 1;
    EXPECT_EQ(gradient(w).certificate.floating > 0, tilt == 0) << tilt;
  }
}

// One point is the deepest, though it lies on the side of a cylinder, crosses it, or is a tip.
TEST(GradientKinks, CylindersAndConesTouchedInOnePointHaveNoTie) {
  const Quat upright = exp_rotation(Vec3(0, -1.5707963267948966, 0));
  struct Pair {
    Shape below, above;
    Vec3 at;
    Quat turned;
    bool tie;
  };
  const Shape log = Shape::cylinder(0.1, 0.2);
  const Quat across = exp_rotation(Vec3(0, 0, 1.2));
  for (const Pair& pair :
       {Pair{log, Shape::sphere(0.1), {0.05, 0, 0.2}, Quat(), false},
        Pair{log, Shape::capsule(0.05, 0.2), {0.03, 0, 0.15}, across, false},
        Pair{log, Shape::capsule(0.05, 0.2), {0.03, 0, 0.15}, Quat(), true},
        Pair{log, log, {0.03, 0, 0.2}, across, false}, Pair{log, log, {0.03, 0, 0.2}, Quat(), true},
        Pair{Shape::half_space(), Shape::cone(0.1, 0.1), {0, 0, 0.1}, conjugate(upright), false},
        Pair{Shape::half_space(), Shape::cone(0.1, 0.1), {0, 0, 0.1}, upright, true}}) {
    ModelBuilder b;
    b.add_body({.name = "below", .motion = Motion::Fixed, .shapes = {{.shape = pair.below}}});
    b.add_body({.name = "above",
                .position = pair.at,
                .orientation = pair.turned,
                .velocity = {0.1, 0.2, 0},
                .shapes = {{.shape = pair.above}}});
    World w{b.build()};
    w.settings.constraints = ConstraintScheme::Single;
    w.settings.solver.tolerance = 1e-13;
    w.steps = 1;
    const RolloutCertificate c = gradient(w).certificate;
    EXPECT_EQ(c.floating > 0, pair.tie) << static_cast<int>(pair.above.kind()) << c.reason;
  }
}

}  // namespace
}  // namespace orthant
