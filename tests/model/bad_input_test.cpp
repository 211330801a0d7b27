// SPDX-License-Identifier: Apache-2.0
// Every refusal names the object, the rule and the value.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "orthant/base/error.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

/// Builds after `change` and wants every word in the message.
void refused(const std::function<void(ModelBuilder&)>& change, std::vector<std::string> words) {
  ModelBuilder b;
  b.add_body({.name = "ball", .shapes = {{.shape = Shape::sphere(0.5)}}});
  b.add_body(
      {.name = "cube", .position = Vec3(2, 0, 0), .shapes = {{.shape = Shape::box(1, 1, 1)}}});
  b.add_body({.name = "rock", .motion = Motion::Fixed});
  b.add_body({.name = "stone", .motion = Motion::Fixed});
  b.add_body({.name = "coin",
              .motion = Motion::Planar,
              .shapes = {{.shape = Shape::disc(1), .group = 2, .mask = 2}}});
  EXPECT_NO_THROW((void)b.build());
  try {
    change(b);
    (void)b.build();
    ADD_FAILURE() << "accepted; expected words: " << words.front();
  } catch (const Error& error) {
    const std::string what = error.what();
    for (const std::string& word : words)
      EXPECT_NE(what.find(word), std::string::npos) << "'" << word << "' not in: " << what;
  }
}

void body_refused(const std::function<void(BodySpec&)>& change, std::vector<std::string> words) {
  refused(
      [&](ModelBuilder& b) {
        BodySpec spec{.name = "egg", .shapes = {{.shape = Shape::sphere(0.5)}}};
        change(spec);
        b.add_body(spec);
      },
      std::move(words));
}

void joint_refused(JointSpec spec, std::vector<std::string> words) {
  refused([&](ModelBuilder& b) { b.add_joint(spec); }, std::move(words));
}

TEST(BadInput, Uid) {
  body_refused([](BodySpec& s) { s.uid = 1; }, {"body 'egg'", "uid", "unique", "1", "'cube'"});
  body_refused([](BodySpec& s) { s.uid = kFirstPartUid; },
               {"body 'egg'", "uid", "below 2147483648"});
}

TEST(BadInput, Mass) {
  body_refused([](BodySpec& s) { s.mass = 0; }, {"body 'egg'", "mass", "> 0", "0"});
  body_refused([](BodySpec& s) { s.mass = -2; }, {"body 'egg'", "mass", "-2"});
  body_refused([](BodySpec& s) { s.mass = kNan; }, {"body 'egg'", "mass", "nan"});
  body_refused([](BodySpec& s) { s.mass = kInf; }, {"body 'egg'", "mass", "inf"});
  body_refused([](BodySpec& s) { s.shapes[0].density = -1; }, {"body 'egg'", "density", "-1"});
  body_refused([](BodySpec& s) { s.shapes[0].density = 0; }, {"body 'egg'", "needs mass"});
  body_refused([](BodySpec& s) { s.shapes.clear(); }, {"body 'egg'", "needs mass"});
  body_refused([](BodySpec& s) { s.center_of_mass = Vec3(1, 0, 0); }, {"egg", "center_of_mass"});
}

TEST(BadInput, Inertia) {
  body_refused([](BodySpec& s) { s.inertia = Mat3(Vec3(1, 1, 3).asDiagonal()); },
               {"body 'egg'", "inertia", "triangle", "3", "2"});
  body_refused([](BodySpec& s) { s.inertia = Mat3(Vec3(1, 1, 0).asDiagonal()); },
               {"body 'egg'", "inertia", "positive definite"});
  body_refused([](BodySpec& s) { s.inertia = Mat3(Vec3(-1, -1, -1).asDiagonal()); },
               {"body 'egg'", "inertia", "positive definite", "-1"});
  body_refused(
      [](BodySpec& s) {
        s.inertia = Mat3::Identity();
        (*s.inertia)(0, 1) = 0.5;
      },
      {"body 'egg'", "inertia", "symmetric", "0.5"});
  body_refused([](BodySpec& s) { s.inertia = Mat3::Constant(kNan); }, {"egg", "inertia", "nan"});
}

TEST(BadInput, FlatAndThinBodiesAreBodies) {
  ModelBuilder b;  // equality in the triangle inequality: a plate, exactly
  b.add_body({.name = "plate", .mass = 1, .inertia = Mat3(Vec3(1, 2, 3).asDiagonal())});
  EXPECT_NO_THROW((void)b.build());
}

TEST(BadInput, StateOfABody) {
  body_refused([](BodySpec& s) { s.position[1] = kNan; }, {"body 'egg'", "position", "nan"});
  body_refused([](BodySpec& s) { s.velocity[0] = kInf; }, {"body 'egg'", "velocity", "inf"});
  body_refused([](BodySpec& s) { s.orientation = {0, 0, 0, 0}; }, {"egg", "orientation", "0"});
  body_refused([](BodySpec& s) { s.orientation = {kNan, 0, 0, 0}; }, {"egg", "orientation"});
  body_refused([](BodySpec& s) { s.angle = 1; }, {"egg", "angle", "1"});
  body_refused(
      [](BodySpec& s) {
        s.motion = Motion::Fixed;
        s.velocity[0] = 3;
      },
      {"egg", "fixed", "3"});
  body_refused(
      [](BodySpec& s) {
        s.motion = Motion::Planar;
        s.position[2] = 1;
      },
      {"egg", "position z", "planar", "1"});
  body_refused([](BodySpec& s) { s.name = "world"; }, {"world"});
}

TEST(BadInput, OrientationIsNormalised) {
  ModelBuilder b;
  b.add_body({.name = "egg", .orientation = {2, 0, 0, 0}, .shapes = {{.shape = Shape::sphere(1)}}});
  EXPECT_EQ(b.build().rest_state().q[3], 1);
}

TEST(BadInput, Names) {
  body_refused([](BodySpec& s) { s.name = "ball"; }, {"body 'ball'", "twice"});
  body_refused([](BodySpec& s) { s.shapes[0].name = "cube"; }, {"shape 'cube'", "twice"});
  body_refused([](BodySpec& s) { s.shapes[0].material = "wod"; }, {"egg", "wod"});
  refused(
      [](ModelBuilder& b) {
        b.add_material({.name = "wood"});
        b.add_material({.name = "wood"});
      },
      {"material 'wood'", "twice"});
  refused(
      [](ModelBuilder& b) {
        b.add_material({.name = "wood"});
        b.add_body({.shapes = {{.shape = Shape::sphere(1), .material = "wod"}}});
      },
      {"wod", "did you mean 'wood'"});
  joint_refused({.name = "j", .a = "bal"}, {"joint 'j'", "bal", "did you mean 'ball'"});
  refused(
      [](ModelBuilder& b) {
        b.add_joint({.name = "j", .a = "ball"});
        b.add_joint({.name = "j", .a = "cube"});
      },
      {"joint 'j'", "twice"});
  refused([](ModelBuilder& b) { b.add_force(BodyForceSpec{.name = "gravity", .body = "ball"}); },
          {"gravity"});
  refused([](ModelBuilder& b) { b.add_actuator(JointActuatorSpec{.name = "u", .joint = "x"}); },
          {"actuator 'u'", "joint 'x'"});
}

TEST(BadInput, Materials) {
  refused([](ModelBuilder& b) { b.add_material({.name = "m", .friction = -0.1}); },
          {"material 'm'", "friction", "-0.1"});
  refused([](ModelBuilder& b) { b.add_material({.name = "m", .restitution = 1.5}); },
          {"material 'm'", "restitution", "1.5"});
  refused([](ModelBuilder& b) { b.add_material({.name = "m", .rolling_friction = kNan}); },
          {"material 'm'", "rolling_friction", "nan"});
  refused([](ModelBuilder& b) { b.add_material_pair({.a = "x", .b = "y"}); }, {"x+y", "'x'"});
}

TEST(BadInput, ShapesOnBodies) {
  body_refused([](BodySpec& s) { s.shapes = {{.shape = Shape::disc(1)}}; }, {"egg", "planar"});
  body_refused([](BodySpec& s) { s.shapes.push_back({.shape = Shape::half_space()}); },
               {"egg", "half-space"});
  body_refused([](BodySpec& s) { s.shapes[0].offset.x[0] = kNan; }, {"egg", "offset", "nan"});
  body_refused(
      [](BodySpec& s) {
        s.motion = Motion::Planar;
        s.shapes[0].group = 2;
        s.shapes[0].mask = 2;
        s.shapes[0].offset.x[2] = 1;
      },
      {"egg", "plane"});
  body_refused([](BodySpec& s) { s.motion = Motion::Planar; }, {"planar", "spatial", "egg"});
}

TEST(BadInput, Joints) {
  joint_refused({.name = "j", .a = "ball", .b = "ball"}, {"joint 'j'", "different", "ball"});
  joint_refused({.name = "j", .a = "rock", .b = "stone"},
                {"joint 'j'", "dynamic", "rock", "stone"});
  joint_refused({.name = "j", .a = "rock"}, {"joint 'j'", "dynamic", "rock", "world"});
  joint_refused({.name = "j", .a = "ball", .b = "coin"},
                {"joint 'j'", "planar", "spatial", "coin"});
  joint_refused({.name = "j", .kind = JointKind::Revolute, .a = "ball", .axis = Vec3::Zero()},
                {"joint 'j'", "axis", "> 0"});
  joint_refused({.name = "j", .kind = JointKind::Revolute, .a = "ball", .axis = Vec3(kNan, 0, 0)},
                {"joint 'j'", "axis", "nan"});
  joint_refused({.name = "j", .kind = JointKind::Slider, .a = "coin"},
                {"joint 'j'", "axis", "plane"});
  joint_refused({.name = "j", .kind = JointKind::Pin, .a = "coin", .axis = Vec3(1, 0, 0)},
                {"joint 'j'", "axis"});
  joint_refused({.name = "j", .kind = JointKind::LockZ, .a = "coin"}, {"joint 'j'", "LockZ"});
  joint_refused({.name = "j", .kind = JointKind::Ball, .a = "ball", .lower = 0},
                {"joint 'j'", "coordinate"});
  joint_refused({.name = "j", .kind = JointKind::Prismatic, .a = "ball", .lower = 1, .upper = 0},
                {"joint 'j'", "lower", "1", "0"});
  joint_refused({.name = "j", .kind = JointKind::Revolute, .a = "ball", .upper = 4},
                {"joint 'j'", "pi", "4"});
  joint_refused({.name = "j", .kind = JointKind::Revolute, .a = "ball", .stiffness = -1},
                {"joint 'j'", "stiffness", "-1"});
  joint_refused({.name = "j", .kind = JointKind::Distance, .a = "ball"},
                {"joint 'j'", "length", "0"});
  joint_refused({.name = "j", .kind = JointKind::Ball, .a = "ball", .length = 1},
                {"joint 'j'", "Distance", "1"});
  joint_refused({.name = "j",
                 .kind = JointKind::Revolute,
                 .a = "ball",
                 .motor = {.kind = MotorKind::Position, .times = {0, 0}, .values = {1, 2}}},
                {"joint 'j'", "ascending", "0"});
  joint_refused({.name = "j",
                 .kind = JointKind::Revolute,
                 .a = "ball",
                 .motor = {.kind = MotorKind::Position, .times = {0}, .values = {}}},
                {"joint 'j'", "table"});
  joint_refused({.name = "j",
                 .kind = JointKind::Revolute,
                 .a = "ball",
                 .motor = {.kind = MotorKind::Velocity, .max_force = -1}},
                {"joint 'j'", "max_force", "-1"});
  const auto follows = [](FollowSpec follow, std::vector<std::string> words,
                          JointKind leader = JointKind::Revolute) {
    refused(
        [&](ModelBuilder& b) {
          b.add_joint({.name = "wheel", .kind = leader, .a = "ball"});
          b.add_joint({.name = "j",
                       .kind = JointKind::Prismatic,
                       .a = "cube",
                       .follow = std::move(follow)});
        },
        std::move(words));
  };
  follows({.joint = "whel"}, {"joint 'j'", "did you mean 'wheel'"});
  follows({.joint = "j"}, {"joint 'j'", "circle"});
  follows({.joint = "wheel", .ratio = kNan}, {"joint 'j'", "ratio", "nan"}, JointKind::Prismatic);
  follows({.joint = "wheel", .offset = kNan}, {"joint 'j'", "offset", "nan"}, JointKind::Prismatic);
  follows({.joint = "wheel"}, {"joint 'j'", "'wheel' has none"}, JointKind::Ball);
  follows({.joint = "wheel", .ratio = 0.5}, {"joint 'j'", "'wheel'", "both limits", "0.5"});
}

TEST(BadInput, AxesAreNormalised) {
  const auto frame = [](const Vec3& axis) {
    ModelBuilder b;
    b.add_body({.name = "ball", .shapes = {{.shape = Shape::sphere(0.5)}}});
    b.add_joint({.name = "j", .kind = JointKind::Revolute, .a = "ball", .axis = axis});
    return b.build().default_parameters().values;
  };
  EXPECT_EQ(frame(Vec3(0, 3, 0)), frame(Vec3(0, 1, 0)));
  const VecX down = frame(Vec3(0, 0, -2));
  EXPECT_TRUE(down.allFinite());
}

TEST(BadInput, Forces) {
  refused([](ModelBuilder& b) { b.add_force(BodyForceSpec{.name = "f", .body = "rock"}); },
          {"force 'f'", "dynamic", "rock"});
  refused([](ModelBuilder& b) { b.add_force(SpringSpec{.name = "f", .a = "ball", .b = "ball"}); },
          {"force 'f'", "different"});
  refused(
      [](ModelBuilder& b) { b.add_force(SpringSpec{.name = "f", .a = "ball", .stiffness = -5}); },
      {"force 'f'", "stiffness", "-5"});
  refused([](ModelBuilder& b) { b.add_force(CallbackSpec{.name = "f", .body = "ball"}); },
          {"force 'f'", "null"});
  refused(
      [](ModelBuilder& b) {
        b.add_force(PointForceSpec{.name = "f", .body = "coin", .force = Vec3(0, 0, 1)});
      },
      {"force 'f'", "force z", "1"});
  refused([](ModelBuilder& b) { b.set_gravity(Vec3(0, 0, kNan)); }, {"gravity", "nan"});
}

TEST(BadInput, StatesAndParameters) {
  ModelBuilder b;
  b.add_body({.name = "ball", .shapes = {{.shape = Shape::sphere(0.5)}}});
  const Model model = b.build();
  State x = model.rest_state();
  EXPECT_NO_THROW(validate(model, x));
  x.v[4] = kNan;
  EXPECT_THROW(validate(model, x), Error);
  x = model.rest_state();
  x.q[3] = 1.1;
  EXPECT_THROW(validate(model, x), Error);
  x.q.resize(3);
  EXPECT_THROW(validate(model, x), Error);
  Parameters p = model.default_parameters();
  EXPECT_NO_THROW(validate(model, p));
  for (const char* name : {"body/ball.mass", "shape/ball.radius", "material/default.friction"}) {
    p = model.default_parameters();
    p.set(name, -1);
    EXPECT_THROW(validate(model, p), Error) << name;
  }
  p = model.default_parameters();
  p.set("body/ball.inertia.xx", 1e9);
  EXPECT_THROW(validate(model, p), Error);
}

TEST(BadInput, EveryRangeOfAParameterIsChecked) {
  ModelBuilder b;
  b.add_material({.name = "a"});
  b.add_material({.name = "c"});
  b.add_material_pair({.a = "a", .b = "c", .friction = 0.2, .restitution = 0.1});
  b.add_body({.name = "one", .shapes = {{.shape = Shape::sphere(0.5), .material = "a"}}});
  b.add_body({.name = "two", .position = {2, 0, 0}, .shapes = {{.shape = Shape::sphere(0.5)}}});
  b.add_force(SpringSpec{.name = "s", .a = "one", .b = "two", .stiffness = 1, .damping = 1});
  b.add_joint({.name = "j",
               .kind = JointKind::Distance,
               .a = "one",
               .b = "two",
               .lower = 0.1,
               .upper = 3,
               .stiffness = 1,
               .damping = 1,
               .dry_friction = 1});
  const Model model = b.build();
  const std::pair<const char*, double> bad[] = {{"material/a.friction", 1e8},
                                                {"material/a.restitution", 1.01},
                                                {"material/a.compliance", -1e-9},
                                                {"material/a.rolling_friction", -1e-9},
                                                {"pair/a+c.friction", -0.1},
                                                {"pair/a+c.restitution", -0.1},
                                                {"force/s.stiffness", -1},
                                                {"force/s.damping", -1},
                                                {"force/s.rest", -1},
                                                {"joint/j.length", 0},
                                                {"joint/j.stiffness", -1},
                                                {"joint/j.damping", -1},
                                                {"joint/j.dry_friction", -1},
                                                {"joint/j.lower", 4},
                                                {"shape/one.radius", 0},
                                                {"body/one.mass", 0}};
  for (const auto& [name, value] : bad) {
    Parameters p = model.default_parameters();
    EXPECT_NO_THROW(validate(model, p));
    p.set(name, value);
    EXPECT_THROW(validate(model, p), Error) << name;
  }
}

}  // namespace
}  // namespace orthant
