// SPDX-License-Identifier: Apache-2.0
// MJCF: classes, bodies, joints, geoms, actuators, equalities; what is not used is listed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numbers>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/io/scene.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

constexpr double kPi = std::numbers::pi;

LoadedScene parse(const std::string& inside) {
  return parse_mjcf("<mujoco>\n" + inside + "</mujoco>", "m.xml");
}
std::string error_of(const std::string& inside) {
  try {
    (void)parse(inside);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
double get(const LoadedScene& s, const std::string& name) { return s.parameters.get(name); }
double coordinate(const LoadedScene& s, const char* name) {
  return joint_coordinate(s.model, s.parameters, s.state.q, s.model.find_joint(name));
}
const Joint& joint_of(const LoadedScene& s, const char* name) {
  return s.model.joint(s.model.find_joint(name));
}

TEST(Mjcf, FlagsTurnContactsAndGravityOff) {
  const std::string body =
      "<worldbody><geom type='plane' size='1 1 1'/><body name='b'><freejoint/><geom "
      "size='.1'/></body>"
      "</worldbody></mujoco>";
  const auto moves = [&](const std::string& flag) {
    const LoadedScene s =
        parse_mjcf("<mujoco><option><flag " + flag + "/></option>" + body, "f.xml");
    State x = s.state;  // starts half in the floor
    EXPECT_EQ(rollout(s.model, s.parameters, s.settings, x, 2).failed_steps, 0);
    return x.q[s.model.body(s.model.find_body("b")).q_begin + 2];
  };
  EXPECT_GT(moves("contact='enable'"), 0.01);
  EXPECT_LT(moves("contact='disable'"), 0);
  EXPECT_EQ(moves("contact='disable' gravity='disable'"), 0);
}

TEST(Mjcf, NegativeDampingIsNoneAndNoted) {
  const LoadedScene s = parse(
      "<worldbody><body name='b'><joint name='j' damping='-0.01'/><geom size='.1'/></body>"
      "</worldbody>");
  EXPECT_EQ(joint_of(s, "j").damping, kNone);
  EXPECT_THAT(::testing::PrintToString(s.notes), HasSubstr("negative damping"));
}

TEST(Mjcf, BodiesGeomsAndJointsWithTheirClasses) {
  const LoadedScene s = parse(R"(
<compiler angle="degree"/>
<option timestep="0.004" gravity="0 0 -5"/>
<default>
  <joint damping="2" armature="0.3"/>
  <geom density="500"/>
  <default class="soft"><joint damping="7"/><default class="softer"><joint stiffness="9"/></default></default>
</default>
<worldbody>
  <light pos="0 0 1"/>
  <geom name="floor" type="plane" size="1 1 1"/>
  <body name="base" pos="0 0 1" euler="0 0 90">
    <freejoint/>
    <geom type="box" size=".1 .2 .3"/>
    <site name="eye" pos=".1 0 0"/>
    <body name="arm" pos="1 0 0" childclass="soft">
      <joint name="elbow" axis="0 1 0" range="-90 30" pos="-.5 0 0"/>
      <geom type="capsule" fromto="-.5 0 0 .5 0 0" size=".05" density="1000"/>
      <body name="hand" pos=".5 0 0">
        <joint name="grip" class="softer" type="slide" axis="2 0 0" range="0 .1"/>
        <geom size=".04" mass="0.25"/>
      </body>
      <body name="badge"><geom size=".01" contype="0" conaffinity="0" mass="0"/></body>
    </body>
  </body>
</worldbody>)");
  EXPECT_EQ(s.settings.h, 0.004);
  EXPECT_EQ(get(s, "force/gravity.z"), -5);
  EXPECT_NEAR(get(s, "body/base.mass"), 500 * 8 * 0.1 * 0.2 * 0.3, 1e-9);
  EXPECT_NEAR(get(s, "body/hand.mass"), 0.25, 1e-12);
  const Joint& elbow = joint_of(s, "elbow");
  EXPECT_NEAR(s.parameters[elbow.lower], -kPi / 2, 1e-12);
  EXPECT_EQ(s.parameters[elbow.damping], 7);
  EXPECT_EQ(s.parameters[elbow.armature], 0.3);
  EXPECT_EQ(elbow.stiffness, kNone);
  const Joint& grip = joint_of(s, "grip");
  EXPECT_EQ(grip.kind, JointKind::Prismatic);
  EXPECT_EQ(s.parameters[grip.stiffness], 9);
  EXPECT_EQ(s.parameters[grip.damping], 7);
  // The base is turned by 90 degrees about z: the arm's frame is at (0, 1, 1).
  const Pose arm = body_pose(s.model.body(s.model.find_body("arm")), s.state.q.data());
  EXPECT_LT((arm.x - Vec3(0, 1, 1)).norm(), 1e-12);
  (void)s.model.find_frame("eye");
  (void)s.model.find_frame("badge");
  // Parent and child never touch, the floor and everybody do.
  const ShapeId floor = s.model.find_shape("floor");
  EXPECT_FALSE(s.model.excluded(floor, s.model.find_shape("hand_geom")));
  EXPECT_TRUE(s.model.excluded(s.model.find_shape("arm_geom"), s.model.find_shape("hand_geom")));
  EXPECT_EQ(parse_scene(s.resolved, "resolved.yaml").resolved, s.resolved);
}

// Type and affinity meet either way; groups here both ways.
TEST(Mjcf, ContactsByTypeAffinityPairsAndExclusions) {
  const LoadedScene s = parse(R"(
<worldbody>
  <geom name="floor" type="plane" size="1 1 1" conaffinity="1" contype="1" friction="0.3"/>
  <body name="a"><freejoint/><geom name="a" size=".1" contype="1" conaffinity="0" friction="0.9"/></body>
  <body name="b"><freejoint/><geom name="b" size=".1" contype="1" conaffinity="0" condim="1"/></body>
  <body name="c"><freejoint/><geom name="c" size=".1" contype="0" conaffinity="0"/></body>
  <body name="d"><freejoint/><geom name="d" size=".1" contype="2" conaffinity="3"/></body>
</worldbody>
<contact><pair geom1="c" geom2="a"/><exclude body1="a" body2="d"/></contact>)");
  const auto off = [&](const char* x, const char* y) {
    return s.model.excluded(s.model.find_shape(x), s.model.find_shape(y));
  };
  EXPECT_FALSE(off("floor", "a"));
  EXPECT_TRUE(off("a", "b"));
  EXPECT_FALSE(off("a", "c"));  // a pair
  EXPECT_TRUE(off("b", "c"));
  EXPECT_TRUE(off("floor", "c"));
  EXPECT_TRUE(off("a", "d"));  // excluded
  EXPECT_FALSE(off("b", "d"));
  const auto friction = [&](const char* x, const char* y) {
    return contact_material(s.model, s.parameters, s.model.shape(s.model.find_shape(x)).material,
                            s.model.shape(s.model.find_shape(y)).material)
        .friction;
  };
  EXPECT_EQ(friction("floor", "a"), 0.9);
  EXPECT_EQ(friction("floor", "b"), 1);  // condim of the floor, friction of b
  EXPECT_EQ(friction("b", "b"), 0);
}

TEST(Mjcf, ActuatorsAsForcesAndServos) {
  const LoadedScene s = parse(R"(
<compiler angle="radian"/>
<default><motor ctrlrange="-1 1"/><general biastype="affine"/></default>
<worldbody>
  <body><joint name="a"/><geom size=".1"/></body>
  <body><joint name="b"/><geom size=".1"/></body>
  <body><joint name="c" actuatorfrcrange="-4 4"/><geom size=".1"/></body>
  <body><joint name="d"/><geom size=".1"/></body>
</worldbody>
<actuator>
  <motor name="push" joint="a" gear="50"/>
  <position name="to" joint="b" kp="30" kv="2" gear="2" forcerange="-5 5"/>
  <velocity name="spin" joint="c" kv="3"/>
  <general name="pid" joint="d" gainprm="20" biasprm="1 -10 -0.5"/>
  <velocity name="also" joint="b" kv="2" gear="2"/>
  <muscle name="m" joint="a"/>
</actuator>)");
  EXPECT_EQ(get(s, "actuator/push.gear"), 50);
  EXPECT_EQ(s.model.actuators()[0].upper, 1);
  // kp g^2 and kv g^2; the target is u / g; the other velocity servo adds its damping.
  EXPECT_EQ(get(s, "joint/b.motor.stiffness"), 120);
  EXPECT_EQ(get(s, "joint/b.motor.damping"), 16);
  EXPECT_EQ(get(s, "actuator/to.gear"), 0.5);
  EXPECT_EQ(get(s, "actuator/also.gear"), 0.25);
  EXPECT_EQ(get(s, "joint/c.motor.max_force"), 4);
  EXPECT_EQ(get(s, "joint/c.motor.damping"), 3);
  EXPECT_EQ(get(s, "actuator/spin.gear"), 1);
  EXPECT_EQ(get(s, "joint/d.motor.stiffness"), 10);
  EXPECT_EQ(get(s, "joint/d.motor.target"), 0.1);
  EXPECT_EQ(get(s, "actuator/pid.gear"), 2);
  EXPECT_THAT(::testing::PrintToString(s.notes), HasSubstr("ignored <muscle> in <actuator>"));
}

TEST(Mjcf, ConstantForcesAndCriticalDamping) {
  const LoadedScene s = parse(R"(
<compiler angle="radian"/>
<worldbody>
  <body name="a"><joint name="a" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
  <body name="b"><joint name="b" type="slide" axis="1 0 0"/><geom size=".1" mass="2"/></body>
  <body name="c"><joint name="c" axis="0 1 0" pos="0 0 1" armature=".5"/>
    <inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
    <body name="d" pos="0 0 -1"><joint name="d" axis="0 1 0"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>
  </body>
</worldbody>
<actuator>
  <general name="push" joint="a" gear="3" gainprm="2" biastype="affine" biasprm="5 0 0"/>
  <general name="brake" joint="b" gainprm="1" biastype="affine" biasprm="4 0 -2"/>
  <position name="hold" joint="c" kp="100" gear="2" dampratio="0.7"/>
</actuator>)");
  // The constant part acts whatever the controls are: 15 N on 2 kg, and a brake that settles at
  // (4 - 2 v) N.
  State x = s.state;
  StepSettings settings = s.settings;
  settings.h = 0.01;
  StepWorkspace work;
  WarmStart warm;
  const VecX u = VecX::Zero(static_cast<Index>(s.model.actuators().size()));
  ASSERT_EQ(step(s.model, s.parameters, settings, u, x, warm, work).outcome, Outcome::Converged);
  const auto speed = [&](const char* name) {
    return x.v[s.model.body(s.model.find_body(name)).v_begin];
  };
  EXPECT_NEAR(speed("a"), 0.01 * 15 / 2, 1e-12);
  EXPECT_NEAR(speed("b"), 0.01 * 4 / (2 + 0.01 * 2), 1e-12);
  // 0.5 + (1 + 2) + (1 + 4) kg m^2 about the axis of c, reflected through the gear.
  EXPECT_NEAR(get(s, "joint/c.motor.damping"), 2 * 0.7 * 2 * std::sqrt(100 * 8.5), 1e-11);
}

TEST(Mjcf, CompilersOfSeveralFilesAddUp) {
  const LoadedScene s = parse(R"(
<compiler angle="radian" inertiagrouprange="0 1"/>
<compiler eulerseq="zyx"/>
<worldbody>
  <body name="b" euler="1.5707963267948966 0 0"><freejoint/>
    <geom size=".1" mass="2"/><geom size=".2" mass="7" group="3"/></body>
</worldbody>)");
  EXPECT_EQ(get(s, "body/b.mass"), 2);
  const Body& b = s.model.body(s.model.find_body("b"));
  EXPECT_NEAR(s.state.q[b.q_begin + 6], std::sqrt(0.5), 1e-15);  // a quarter turn about z
}

TEST(Mjcf, SeveralJointsOfABody) {
  const char* text = R"(
<worldbody>
  <body name="cheetah">
    <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
    <joint name="y" axis="0 1 0"/><geom size=".1"/>
    <body name="leg"><joint name="hip1" axis="1 0 0"/><joint name="hip2" axis="0 1 0"/>
      <geom size=".1" pos="0 0 -.5"/></body>
  </body>
</worldbody>)";
  const LoadedScene s = parse(text);
  ASSERT_EQ(s.model.joints().size(), 3u);
  EXPECT_EQ(joint_of(s, "y").kind, JointKind::Planar);
  EXPECT_EQ(s.model.bodies().size(), 3u);
  EXPECT_EQ(s.model.bodies()[1].name, "leg/hip1");
  // With an actuator on it the slide is a joint of its own.
  const LoadedScene driven = parse(std::string(text) + "<actuator><motor joint='x'/></actuator>");
  EXPECT_EQ(driven.model.joints().size(), 5u);
}

TEST(Mjcf, JointsStartNearTheFilesPosture) {
  // Lying legs with knees that cannot be straight: bent by the least, not to the middle of the
  // range.
  const LoadedScene s = parse(R"(
<worldbody>
  <body name="shin"><joint name="knee" axis="0 1 0" range="-160 -2"/><geom type="sphere" size=".1"/></body>
</worldbody>)");
  EXPECT_NEAR(coordinate(s, "knee"), -2 * kPi / 180, 1e-12);
}

TEST(Mjcf, GeomsThatAreOnlySeenAreDrawnInPlaceOfTheOthers) {
  const TemporaryFolder folder;
  write_file(folder.file("skin.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n");
  write_file(folder.file("m.xml"), R"(<mujoco>
<asset><mesh name="skin" file="skin.obj" scale="2 2 2"/><material name="red" rgba="1 0 0 1"/></asset>
<default><geom group="1"/>
  <default class="seen"><geom contype="0" conaffinity="0" mass="0"/></default></default>
<worldbody>
  <body name="arm" pos="0 0 1"><freejoint/>
    <geom class="seen" type="mesh" mesh="skin" material="red" pos=".5 0 0"/>
    <geom class="seen" size=".1" rgba="0 0 1 0"/>
    <geom name="shown" size=".1" rgba="0 0 1 1"/>
    <geom name="hidden" size=".3" group="3"/>
  </body>
  <body name="plain" pos="0 0 3"><freejoint/><geom size=".1"/></body>
</worldbody></mujoco>)");
  const LoadedScene s = load_scene(folder.file("m.xml"));
  ASSERT_EQ(s.visuals.size(), 2u);  // nothing of what is invisible, hidden or of a plain body
  EXPECT_THAT(s.visuals[0].file, HasSubstr("skin.obj"));
  EXPECT_EQ(s.visuals[0].scale, Vec3(2, 2, 2));
  EXPECT_EQ(s.visuals[0].colour, "#ff0000");
  EXPECT_LT((s.visuals[0].X_BV.x - Vec3(0.5, 0, 0)).norm(), 1e-15);
  EXPECT_EQ(s.visuals[1].colour, "#0000ff");
}

TEST(Mjcf, MeshesBesideAnIncludedFileAndNamesMadeUp) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder.file("parts"));
  std::filesystem::create_directories(folder.file("meshes"));
  write_file(folder.file("meshes/m.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\n");
  write_file(folder.file("parts/a.xml"),
             "<mujoco><asset><mesh name='m' file='../meshes/m.obj'/></asset></mujoco>");
  write_file(folder.file("m.xml"), R"(<mujoco><include file="parts/a.xml"/>
<worldbody>
  <body pos="0 0 1"><freejoint/><geom type="mesh" mesh="m"/></body>
  <body name="body" pos="0 0 5"><freejoint/><geom size=".1"/></body>
</worldbody></mujoco>)");
  const LoadedScene s = load_scene(folder.file("m.xml"));
  EXPECT_NEAR(get(s, "body/body_1.mass"), 1000.0 / 6, 1e-9);
  const Body& named = s.model.body(s.model.find_body("body"));
  EXPECT_NEAR(s.state.q[named.q_begin + 2], 5, 1e-15);
}

TEST(Mjcf, LinksAreFramesAndPicturesAreNotRead) {
  const LoadedScene s = parse(R"(
<asset><mesh name="skin" file="not_there.obj"/></asset>
<worldbody>
  <body name="ground"><geom type="plane" size="1 1 1"/></body>
  <body name="arm" pos="0 0 1"><joint name="hinge" axis="0 1 0" range="-90 30"/>
    <inertial pos=".3 0 0" mass="1" diaginertia="1 1 1"/>
    <geom type="mesh" mesh="skin" contype="0" conaffinity="0"/>
    <geom type="sphere" size=".1"/></body>
</worldbody>
<actuator><position name="servo" joint="hinge" kp="10" inheritrange="1"/></actuator>)");
  const Frame& arm = s.model.frames()[static_cast<std::size_t>(s.model.find_frame("arm"))];
  EXPECT_LT((arm.X_BF.x - Vec3(-0.3, 0, 0)).norm(), 1e-15);  // the body's origin is its centre
  const Actuator& servo =
      s.model.actuators()[static_cast<std::size_t>(s.model.find_actuator("servo"))];
  EXPECT_NEAR(servo.lower, -kPi / 2, 1e-12);
  EXPECT_NEAR(servo.upper, kPi / 6, 1e-12);
}

TEST(Mjcf, PrimitivesAreFittedToMeshes) {
  // A box of half edges 0.1, 0.3, 0.2 about (1, 0, 0): the longest edge is z of what is fitted.
  std::string corners;
  for (const char* x : {"0.9", "1.1"})
    for (const char* y : {"-0.3", "0.3"})
      for (const char* z : {"-0.2", "0.2"}) corners += std::string(x) + " " + y + " " + z + " ";
  const LoadedScene s = parse("<asset><mesh name='m' vertex='" + corners + R"('/></asset>
<worldbody><body name="b"><freejoint/>
  <geom name="box" type="box" mesh="m" rgba=""/>
  <geom name="rod" type="capsule" mesh="m"/></body></worldbody>)");
  std::vector<double> half = {get(s, "shape/box.half_x"), get(s, "shape/box.half_y"),
                              get(s, "shape/box.half_z")};
  EXPECT_NEAR(half[2], 0.3, 1e-12);
  EXPECT_NEAR(half[0] * half[1], 0.02, 1e-12);
  EXPECT_NEAR(get(s, "shape/rod.radius"), 0.15, 1e-12);
  EXPECT_NEAR(get(s, "shape/rod.half_length"), 0.3 - 0.075, 1e-12);
}

TEST(Mjcf, EqualitiesKeyframesAndReferences) {
  const TemporaryFolder folder;
  write_file(folder.file("part.xml"),
             "<mujoco><worldbody><body name='free' pos='0 0 3'><freejoint/><geom size='.1'/></body>"
             "</worldbody></mujoco>");
  write_file(folder.file("m.xml"), R"(<mujoco>
<compiler angle="degree"/>
<include file="part.xml"/>
<worldbody>
  <body name="p" pos="1 0 0"><joint name="p" axis="0 1 0" ref="30" range="-100 100"/><geom size=".1"/>
    <body name="q" pos="1 0 0"><joint name="q" axis="0 1 0"/><geom size=".1"/></body></body>
  <body name="r" pos="3 0 0"><joint name="r" axis="0 1 0"/><geom size=".1"/></body>
</worldbody>
<equality>
  <connect name="loop" body1="q" body2="r" anchor="1 0 0"/>
  <joint joint1="q" joint2="p" polycoef="0 2 0 0 0"/>
</equality>
<keyframe><key name="home" qpos="1 2 3 1 0 0 0  0.2 0.1 0.3"/></keyframe>
</mujoco>)");
  const LoadedScene plain = load_scene(folder.file("m.xml"));
  EXPECT_NEAR(coordinate(plain, "p"), kPi / 6, 1e-12);
  EXPECT_EQ(joint_of(plain, "loop").kind, JointKind::Ball);
  EXPECT_NEAR(get(plain, "joint/q.follow.offset"), -kPi / 3, 1e-12);
  EXPECT_NEAR(coordinate(plain, "q"), 0, 1e-12);
  const Pose p = body_pose(plain.model.body(plain.model.find_body("p")), plain.state.q.data());
  EXPECT_LT((p.x - Vec3(1, 0, 0)).norm(), 1e-12);  // the file has it at its reference
  write_file(folder.file("s.yaml"), "orthant: 1\nmjcf: {file: m.xml, state: home}\n");
  const LoadedScene home = load_scene(folder.file("s.yaml"));
  EXPECT_NEAR(coordinate(home, "p"), 0.2, 1e-12);
  EXPECT_NEAR(coordinate(home, "r"), 0.3, 1e-12);
  const Pose f = body_pose(home.model.body(home.model.find_body("free")), home.state.q.data());
  EXPECT_LT((f.x - Vec3(1, 2, 3)).norm(), 1e-12);
}

TEST(Mjcf, FallsOnTheFloorAndKeepsItsJoints) {
  const LoadedScene s = parse(R"(
<option timestep="0.005"/>
<default><joint armature="0.01" damping="0.1" limited="true"/></default>
<worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .5"><freejoint/><geom type="sphere" size=".1"/>
    <body pos=".1 0 0"><joint axis="0 1 0" range="-40 40"/><joint axis="0 0 1" range="-40 40"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".04"/></body>
    <body pos="-.1 0 0"><joint axis="0 1 0" range="10 40"/>
      <geom type="capsule" fromto="0 0 0 -.3 0 0" size=".04"/></body>
  </body></worldbody>)");
  State x = s.state;
  const RolloutReport report = rollout(s.model, s.parameters, s.settings, x, 200);
  EXPECT_EQ(report.failed_steps, 0);
  EXPECT_LT(report.joint_error, 1e-8);
  const double z = x.q[s.model.body(s.model.find_body("body")).q_begin + 2];
  EXPECT_LT(z, 0.2);
  EXPECT_GT(z, 0.05);
}

TEST(Mjcf, BadFilesAreRefusedWithTheLine) {
  const auto body = [](const std::string& inside) {
    return "<worldbody>\n<body name='b'>" + inside + "</body></worldbody>";
  };
  EXPECT_THAT(error_of(""), HasSubstr("has no <worldbody>"));
  EXPECT_THAT(error_of(body("<geom size='-1'/>")),
              HasSubstr("m.xml:3: 'size' of a sphere must be 1 numbers > 0"));
  EXPECT_THAT(error_of(body("<geom size='1' contype='1e300'/>")), HasSubstr("whole number"));
  EXPECT_THAT(error_of(body("<geom type='blob' size='1'/>")), HasSubstr("allowed: plane, sphere"));
  EXPECT_THAT(error_of(body("<joint class='x'/><geom size='1'/>")),
              HasSubstr("there is no class 'x'"));
  EXPECT_THAT(error_of("<default><default class='a'/><default class='a'/></default>" +
                       body("<geom size='1'/>")),
              HasSubstr("class 'a' is given twice"));
  EXPECT_THAT(error_of(body("<joint name='j' range='2 1' axis='0 0 0'/><joint name='j'/>"
                            "<geom size='1 nan'/>")),
              ::testing::AllOf(HasSubstr("must be less than the upper one"),
                               HasSubstr("joint 'j' is given twice"), HasSubstr("axis of joint"),
                               HasSubstr("must be 1 or more numbers")));
  EXPECT_THAT(error_of(body("<geom type='mesh' mesh='m'/>")), HasSubstr("there is no <mesh>"));
  EXPECT_THAT(error_of("<worldbody/><include file='m.xml'/>"), HasSubstr("m.xml"));
  EXPECT_THAT(error_of(body("<geom size='1'/>") + "<actuator><motor joint='x'/></actuator>"),
              HasSubstr("there is no hinge or slide 'x' to drive"));
}

}  // namespace
}  // namespace orthant
