// SPDX-License-Identifier: Apache-2.0
// ModelBuilder: what it lays out, what it computes, what a pair of shapes or materials shares.
#include "orthant/model/model.hpp"

#include <gtest/gtest.h>

#include <numbers>

#include "model/material_kernel.hpp"
#include "orthant/base/error.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

BodySpec ball(std::string name, double radius = 0.5) {
  return {.name = std::move(name), .shapes = {{.shape = Shape::sphere(radius)}}};
}

BodySpec floor_spec() {
  return {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}};
}

TEST(Model, EmptyIsFine) {
  const Model model = ModelBuilder{}.build();
  EXPECT_EQ(model.q_size(), 0);
  EXPECT_EQ(model.v_size(), 0);
  EXPECT_EQ(model.rest_state().q.size(), 0);
  EXPECT_FALSE(model.planar());
  validate(model, model.rest_state());
  validate(model, model.default_parameters());
}

TEST(Model, LaysOutStateWithDynamicVelocitiesFirst) {
  ModelBuilder b;
  b.add_body({.name = "belt",
              .motion = Motion::Kinematic,
              .velocity = Vec3(1, 2, 3),
              .angular_velocity = Vec3(4, 5, 6)});
  b.add_body(floor_spec());
  BodySpec one = ball("one");
  one.position = Vec3(1, 2, 3);
  one.velocity = Vec3(7, 8, 9);
  b.add_body(one);
  b.add_body(ball("two"));
  const Model model = b.build();
  EXPECT_EQ(model.q_size(), 28);
  EXPECT_EQ(model.v_size(), 18);
  EXPECT_EQ(model.dynamic_v_size(), 12);
  EXPECT_EQ(model.dynamic_count(), 2);
  const Body& belt = model.body(model.find_body("belt"));
  const Body& first = model.body(model.find_body("one"));
  EXPECT_EQ(belt.v_begin, 12);
  EXPECT_EQ(first.v_begin, 0);
  EXPECT_EQ(model.body(model.find_body("two")).v_begin, 6);
  EXPECT_EQ(model.body(model.find_body("floor")).v_begin, kNone);
  EXPECT_EQ(model.dynamic_bodies()[1], model.find_body("two"));
  const State x = model.rest_state();
  EXPECT_EQ(x.v[2], 9);
  EXPECT_EQ(x.v[12], 1);
  EXPECT_EQ(x.v[17], 6);
  EXPECT_EQ(x.q[first.q_begin + 1], 2);
  EXPECT_EQ(x.q[first.q_begin + 3], 1);
  EXPECT_EQ(model.find_body("world"), kWorld);
}

TEST(Model, NamesItsParameters) {
  ModelBuilder b;
  b.add_material({.name = "rubber", .friction = 0.8, .restitution = 0.3});
  BodySpec spec = ball("a.ball", 0.25);
  spec.shapes[0].material = "rubber";
  spec.shapes[0].density = 2000;
  b.add_body(spec);
  b.add_body({.name = "dumbbell",
              .shapes = {{.shape = Shape::box(1, 2, 3), .name = "bar"},
                         {.shape = Shape::sphere(0.5), .offset = {Vec3(0, 0, 4), {}}}}});
  const Model model = b.build();
  Parameters p = model.default_parameters();
  const double volume = 4.0 / 3 * std::numbers::pi * 0.25 * 0.25 * 0.25;
  EXPECT_NEAR(p.get("body/a.ball.mass"), 2000 * volume, 1e-12);
  EXPECT_NEAR(p.get("body/a.ball.inertia.yy"), 2000 * volume * 0.4 * 0.0625, 1e-13);
  EXPECT_EQ(p.get("shape/a.ball.radius"), 0.25);
  EXPECT_EQ(p.get("material/rubber.friction"), 0.8);
  EXPECT_EQ(p.get("force/gravity.z"), -9.81);
  EXPECT_EQ(p.get("shape/bar.half_y"), 2);
  EXPECT_EQ(p.get("shape/dumbbell#1.offset.qw"), 1);
  p.set("shape/a.ball.radius", 0.5);
  EXPECT_EQ(p.get("shape/a.ball.radius"), 0.5);
  EXPECT_EQ(model.default_parameters().get("shape/a.ball.radius"), 0.25);
  for (Index i = 0; i < p.table->size(); ++i) EXPECT_EQ(p.table->find(p.table->name(i)), i);
  EXPECT_EQ(p.table->unit(p.table->find("body/a.ball.mass")), "kg");
  EXPECT_EQ(p.table->unit(p.table->find("shape/bar.offset.x")), "m");
}

TEST(Model, UnknownParameterSuggestsTheNearest) {
  ModelBuilder b;
  b.add_body(ball("ball"));
  const Parameters p = b.build().default_parameters();
  try {
    (void)p.get("shape/ball.radus");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("shape/ball.radius"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("shape/ball.radus"), std::string::npos);
  }
}

// Two cubes of different density side by side: centre of mass by the lever rule, inertia by the
// parallel axis theorem, both written out by hand.
TEST(Model, MovesTheBodyFrameToTheCentreOfMass) {
  ModelBuilder b;
  BodySpec spec{
      .name = "bar",
      .position = Vec3(10, 0, 0),
      .orientation = exp_rotation(Vec3(0, 0, std::numbers::pi / 2)),
      .shapes = {
          {.shape = Shape::box(0.5, 0.5, 0.5), .density = 1},
          {.shape = Shape::box(0.5, 0.5, 0.5), .offset = {Vec3(1, 0, 0), {}}, .density = 3}}};
  b.add_body(spec);
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  const State x = model.rest_state();
  EXPECT_NEAR(p.get("body/bar.mass"), 4, 1e-14);
  // centre at 0.75 along the spec's x, which points along world y
  EXPECT_NEAR(x.q[0], 10, 1e-14);
  EXPECT_NEAR(x.q[1], 0.75, 1e-14);
  EXPECT_NEAR(p.get("shape/bar#0.offset.x"), -0.75, 1e-14);
  EXPECT_NEAR(p.get("shape/bar#1.offset.x"), 0.25, 1e-14);
  EXPECT_NEAR(p.get("body/bar.inertia.xx"), 4.0 / 6, 1e-14);
  EXPECT_NEAR(p.get("body/bar.inertia.yy"), 4.0 / 6 + 1 * 0.5625 + 3 * 0.0625, 1e-14);
  const ShapeInstance& second = model.shape(model.find_shape("bar#1"));
  const Pose X = shape_pose(model.body(second.body), second, x.q.data(), p.values.data());
  EXPECT_LT((X.x - Vec3(10, 1, 0)).norm(), 1e-14);  // where the spec put it
}

TEST(Model, GivenMassScalesTheShapesInertia) {
  ModelBuilder b;
  BodySpec spec = ball("ball", 1);
  spec.mass = 5;
  b.add_body(spec);
  spec.name = "shell";
  spec.inertia = Mat3(Vec3(3, 3, 3).asDiagonal());
  b.add_body(spec);
  const Parameters p = b.build().default_parameters();
  EXPECT_NEAR(p.get("body/ball.inertia.zz"), 0.4 * 5, 1e-14);
  EXPECT_EQ(p.get("body/shell.inertia.zz"), 3);
}

TEST(Model, PlanarBodiesUseTheSection) {
  ModelBuilder b;
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_space()}}});
  b.add_body({.name = "disc",
              .motion = Motion::Planar,
              .position = Vec3(1, 2, 0),
              .angle = 7,
              .angular_velocity = Vec3(0, 0, 3),
              .shapes = {{.shape = Shape::sphere(0.5), .density = 2}}});
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  EXPECT_TRUE(model.planar());
  EXPECT_EQ(model.q_size(), 6);
  EXPECT_EQ(model.v_size(), 3);
  const double mass = 2 * std::numbers::pi * 0.25;
  EXPECT_NEAR(p.get("body/disc.mass"), mass, 1e-14);
  EXPECT_NEAR(p.get("body/disc.inertia"), 0.5 * mass * 0.25, 1e-14);
  EXPECT_EQ(p.get("force/gravity.y"), -9.81);
  EXPECT_EQ(p.get("force/gravity.z"), 0);
  EXPECT_EQ(model.rest_state().q[5], 7);  // an angle keeps its turns
  EXPECT_EQ(model.rest_state().v[2], 3);
  EXPECT_EQ(model.shapes()[1].shape.dim(), 2);
}

TEST(Model, ExcludesPairs) {
  ModelBuilder b;
  b.add_body(floor_spec());
  b.add_body({.name = "wall", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  b.add_body({.name = "two",
              .shapes = {{.shape = Shape::sphere(1)},
                         {.shape = Shape::sphere(1), .offset = {Vec3(1, 0, 0), {}}}}});
  BodySpec ghost = ball("ghost");
  ghost.shapes[0].group = 2;
  ghost.shapes[0].mask = ~2U;
  b.add_body(ghost);
  ghost.name = "ghost2";
  b.add_body(ghost);
  b.add_body(ball("left"));
  b.add_body(ball("right"));
  b.add_joint({.kind = JointKind::Ball, .a = "right", .b = "left"});
  const Model model = b.build();
  const auto excluded = [&](const char* a, const char* c) {
    const bool one = model.excluded(model.find_shape(a), model.find_shape(c));
    EXPECT_EQ(one, model.excluded(model.find_shape(c), model.find_shape(a)));
    return one;
  };
  EXPECT_TRUE(excluded("floor", "wall"));    // neither moves
  EXPECT_TRUE(excluded("two#0", "two#1"));   // one body
  EXPECT_TRUE(excluded("ghost", "ghost2"));  // mask
  EXPECT_TRUE(excluded("left", "right"));    // joined
  EXPECT_FALSE(excluded("floor", "left"));
  EXPECT_FALSE(excluded("ghost", "left"));
  EXPECT_FALSE(excluded("two#0", "right"));
}

TEST(Model, CombinesMaterials) {
  ModelBuilder b;
  b.add_material({.name = "a", .friction = 0.2, .restitution = 0.5, .compliance = 1e-3});
  b.add_material({.name = "b", .friction = 0.8, .restitution = 0.1, .compliance = 2e-3});
  b.add_material({.name = "g", .friction = 0.8, .combine = CombineRule::Geometric});
  b.add_material({.name = "m", .friction = 0.8, .combine = CombineRule::Min});
  b.add_material({.name = "x", .friction = 0.1, .combine = CombineRule::Max});
  b.add_material({.name = "ice", .friction = 0.05});
  b.add_material_pair({.a = "ice", .b = "a", .friction = 0.01});
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  const auto both = [&](const char* i, const char* j) {
    const ContactMaterial c =
        contact_material(model, p, model.find_material(i), model.find_material(j));
    const ContactMaterial d =
        contact_material(model, p, model.find_material(j), model.find_material(i));
    EXPECT_EQ(c.friction, d.friction);
    return c;
  };
  EXPECT_NEAR(both("a", "b").friction, 0.5, 1e-15);
  EXPECT_NEAR(both("a", "b").restitution, 0.3, 1e-15);
  EXPECT_NEAR(both("a", "b").compliance, 3e-3, 1e-18);
  EXPECT_NEAR(both("a", "g").friction, 0.4, 1e-15);
  EXPECT_NEAR(both("a", "m").friction, 0.2, 1e-15);
  EXPECT_NEAR(both("g", "m").friction, 0.8, 1e-15);
  EXPECT_NEAR(both("a", "x").friction, 0.2, 1e-15);
  EXPECT_NEAR(both("ice", "a").friction, 0.01, 1e-15);
  EXPECT_NEAR(both("ice", "a").restitution, 0.25, 1e-15);  // what is not given follows the rule
  EXPECT_NEAR(both("ice", "b").friction, 0.425, 1e-15);
}

TEST(Model, CombineRulesHaveDerivatives) {
  using D = Dual<2>;
  const D a = D::variable(0.3, 0), b = D::variable(0.7, 1);
  for (const CombineRule rule :
       {CombineRule::Average, CombineRule::Geometric, CombineRule::Min, CombineRule::Max}) {
    const D c = combine(rule, a, b);
    const double e = 1e-6;
    for (int i = 0; i < 2; ++i) {
      const double da = i == 0 ? e : 0, db = i == 1 ? e : 0;
      const double slope =
          (combine(rule, 0.3 + da, 0.7 + db) - combine(rule, 0.3 - da, 0.7 - db)) / (2 * e);
      EXPECT_NEAR(c.d[i], slope, 1e-9);
    }
  }
}

TEST(Model, BoxplusAndBoxminusAreInverse) {
  ModelBuilder b;
  BodySpec one = ball("one");
  one.orientation = exp_rotation(Vec3(0.3, -0.4, 1.2));
  b.add_body(one);
  b.add_body({.name = "disc",
              .motion = Motion::Planar,
              .shapes = {{.shape = Shape::disc(1), .group = 2, .mask = 2}}});
  const Model model = b.build();
  const VecX q = model.rest_state().q;
  VecX delta(9), next, back;
  delta << 0.1, -0.2, 0.3, 0.7, -0.5, 0.2, 1, 2, 3;
  boxplus(model, q, delta, next);
  EXPECT_NEAR(next.segment<4>(3).norm(), 1, 1e-15);
  boxminus(model, next, q, back);
  EXPECT_LT((back - delta).norm(), 1e-14);
  boxplus(model, next, VecX::Zero(9), next);
  boxminus(model, next, q, back);
  EXPECT_LT((back - delta).norm(), 1e-14);
}

TEST(Model, BuildsAgainAndCopies) {
  ModelBuilder b;
  b.add_body(ball("one"));
  const ModelBuilder copy = b;
  b.add_body(ball("two"));
  EXPECT_EQ(copy.build().bodies().size(), 1U);
  EXPECT_EQ(b.build().bodies().size(), 2U);
  EXPECT_EQ(b.build().bodies().size(), 2U);
}

TEST(Model, OverdampedBodiesHaveDrag) {
  ModelBuilder b;
  b.set_law(LawOfMotion::Overdamped);
  BodySpec cell{.name = "cell", .shapes = {{.shape = Shape::capsule(0.5, 0.5)}}};
  cell.drag = 200;
  b.add_body(cell);
  const Model model = b.build();
  const Parameters p = model.default_parameters();
  EXPECT_EQ(model.law(), LawOfMotion::Overdamped);
  EXPECT_EQ(p.get("body/cell.drag"), 200);
  EXPECT_NEAR(p.get("body/cell.length"), 2, 1e-15);  // tip to tip
}

TEST(Model, AxesOfJointsAreKeptToRounding) {
  // Near the opposite of the frame's own axis, too: -z and -x, off by as little as files round.
  for (const double off : {0.0, 1e-12, 3.6e-9, 1e-6, 1e-3, 0.1, 1.0})
    for (const JointKind kind : {JointKind::Revolute, JointKind::Prismatic}) {
      const Vec3 around =
          kind == JointKind::Revolute ? Vec3(off, 0.3 * off, -1) : Vec3(-1, 0.3 * off, off);
      const Vec3 axis = around.normalized();
      ModelBuilder b;
      b.add_body({.name = "link", .mass = 1.0, .inertia = Mat3(Mat3::Identity())});
      b.add_joint({.name = "joint", .kind = kind, .a = "link", .axis = around});
      const Model m = b.build();
      const Parameters p = m.default_parameters();
      const Joint& j = m.joint(JointId{0});
      const Pose X = frame_pose(false, p.values.data() + j.parameter_begin);
      const Vec3 own = kind == JointKind::Revolute ? Vec3::UnitZ() : Vec3::UnitX();
      EXPECT_LT((rotate(X.p, own) - axis).norm(), 1e-14) << off;
    }
}

}  // namespace
}  // namespace orthant
