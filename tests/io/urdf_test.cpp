// SPDX-License-Identifier: Apache-2.0
// URDF and meshes: links, joints, inertia, hulls; what is left out is said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/scene.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;
using testing::TemporaryFolder;

constexpr const char* kArm = R"(<?xml version="1.0"?>
<robot name="arm">
  <material name="blue"><color rgba="0 0 1 1"/></material>
  <link name="base">
    <inertial><mass value="2"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/></inertial>
    <visual><geometry><sphere radius="1"/></geometry></visual>
    <collision><geometry><box size="0.2 0.4 0.6"/></geometry></collision>
  </link>
  <link name="rod">
    <inertial><origin xyz="0.5 0 0" rpy="0 0 1.5707963267948966"/><mass value="1"/>
      <inertia ixx="0.01" iyy="0.03" izz="0.035"/></inertial>
    <collision><origin xyz="0.5 0 0" rpy="0 1.5707963267948966 0"/><geometry><cylinder radius="0.05" length="1"/></geometry></collision>
  </link>
  <link name="tip"/>
  <joint name="hinge" type="revolute">
    <parent link="base"/><child link="rod"/><origin xyz="0 0 0.3" rpy="0 0 1.5707963267948966"/>
    <axis xyz="1 0 0"/><limit lower="-0.5" upper="0.75" effort="10" velocity="1"/>
    <dynamics damping="0.2" friction="0.1"/>
  </joint>
  <joint name="end" type="fixed"><parent link="rod"/><child link="tip"/><origin xyz="1 0 0"/></joint>
  <transmission name="t"/>
</robot>
)";

std::string cube_obj() {
  std::string text = "# a cube\n";
  for (int i = 0; i < 8; ++i)
    text += std::string("v ") + ((i & 1) ? "1" : "-1") + ((i & 2) ? " 1" : " -1") +
            ((i & 4) ? " 1\n" : " -1\n");
  return text + "v 0 0 0\nf 1 2 3\n";
}

TEST(Urdf, LinksAndJointsArriveWhereTheFileSays) {
  const TemporaryFolder folder;
  write_file(folder.file("arm.urdf"), kArm);
  const LoadedScene scene = load_scene(folder.file("arm.urdf"));
  const Model& m = scene.model;
  ASSERT_EQ(m.bodies().size(), 2u);  // the tip is part of the rod
  ASSERT_EQ(m.joints().size(), 1u);
  EXPECT_EQ(scene.parameters.get("body/rod.mass"), 1);
  // The rod's frame is turned by 90 degrees about z at (0, 0, 0.3): its centre is at (0, 0.5, 0.3).
  const Vec3 rod = body_pose(m.body(m.find_body("rod")), scene.state.q.data()).x;
  EXPECT_LT((rod - Vec3(0, 0.5, 0.3)).norm(), 1e-12);
  const Frame& tip = m.frames()[static_cast<std::size_t>(m.find_frame("tip"))];
  const Pose X_WB = body_pose(m.body(tip.body), scene.state.q.data());
  EXPECT_LT((transform(X_WB, tip.X_BF.x) - Vec3(0, 1, 0.3)).norm(), 1e-12);
  // Inertia turned by 90 degrees about z: xx and yy change places.
  EXPECT_NEAR(scene.parameters.get("body/rod.inertia.xx"), 0.03, 1e-12);
  EXPECT_NEAR(scene.parameters.get("body/rod.inertia.yy"), 0.01, 1e-12);
  EXPECT_NEAR(scene.parameters.get("body/rod.inertia.zz"), 0.035, 1e-12);
  const Joint& hinge = m.joint(m.find_joint("hinge"));
  EXPECT_EQ(hinge.kind, JointKind::Revolute);
  EXPECT_EQ(scene.parameters[hinge.lower], -0.5);
  EXPECT_EQ(scene.parameters[hinge.upper], 0.75);
  EXPECT_EQ(scene.parameters[hinge.damping], 0.2);
  // x of the rod's frame is y of the world: the hinge's z axis on the parent.
  const Pose X = frame_pose(false, scene.parameters.values.data() + hinge.parameter_begin);
  const Pose X_WA = body_pose(m.body(hinge.a), scene.state.q.data());
  const Vec3 axis = rotate(X_WA.p, rotate(X.p, Vec3(0, 0, 1)));
  EXPECT_LT((axis - Vec3(0, 1, 0)).norm(), 1e-12);
  // The cylinder lies along z of its own frame, which is turned to x of the link, y of the world.
  for (const ShapeInstance& s : m.shapes()) {
    if (s.shape.kind() != ShapeKind::Cylinder) continue;
    const Pose X_WS =
        shape_pose(m.body(s.body), s, scene.state.q.data(), scene.parameters.values.data());
    EXPECT_NEAR(std::abs(rotate(X_WS.p, Vec3(1, 0, 0))[1]), 1, 1e-12);
    EXPECT_EQ(s.shape.parameters()[1], 0.5);
  }
  const std::string notes = ::testing::PrintToString(scene.notes);
  ASSERT_EQ(scene.visuals.size(), 1u);
  EXPECT_EQ(m.bodies()[static_cast<std::size_t>(scene.visuals[0].body)].name, "base");
  EXPECT_EQ(scene.visuals[0].shape->parameters()[0], 1);
  for (const char* word : {"<transmission>", "velocity"}) EXPECT_THAT(notes, HasSubstr(word));
}

TEST(Urdf, FallsUnderGravityAndKeepsItsJoints) {
  const TemporaryFolder folder;
  write_file(folder.file("arm.urdf"), kArm);
  write_file(
      folder.file("scene.yaml"),
      "orthant: 1\nurdf: {file: arm.urdf, position: [0, 0, 1], prefix: r/}\n"
      "bodies: [{name: floor, motion: fixed, shapes: {type: half_space}}]\nstep: {h: 0.005}\n");
  const LoadedScene scene = load_scene(folder.file("scene.yaml"));
  State x = scene.state;
  const RolloutReport report = rollout(scene.model, scene.parameters, scene.settings, x, 200);
  EXPECT_EQ(report.failed_steps, 0);
  EXPECT_LT(report.joint_error, 1e-6);
  const Body& base = scene.model.body(scene.model.find_body("r/base"));
  EXPECT_LT(x.q[base.q_begin + 2], 0.5);  // fell by 0.7 m and more, and lies on the floor
  EXPECT_GT(x.q[base.q_begin + 2], 0.05);
}

constexpr const char* kGripper = R"(<robot name="gripper">
<link name="palm"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link>
<link name="left"><inertial><mass value="0.5"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
<link name="right"><inertial><mass value="0.2"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial></link>
<link name="screw"><inertial><mass value="0.2"/><inertia ixx="0.01" iyy="0.01" izz="0.02"/></inertial></link>
<joint name="l" type="prismatic"><parent link="palm"/><child link="left"/><origin xyz="0.1 0 0"/>
  <axis xyz="0 0 2"/><limit lower="-0.5" upper="0.25"/></joint>
<joint name="r" type="prismatic"><parent link="palm"/><child link="right"/><origin xyz="-0.1 0 0"/>
  <axis xyz="0 0 1"/><limit lower="-0.5" upper="0.5"/><mimic joint="l" multiplier="-1" offset="0.05"/></joint>
<joint name="s" type="continuous"><parent link="palm"/><child link="screw"/>
  <axis xyz="0 0 1"/><mimic joint="r" multiplier="10" offset="0.1"/></joint>
%s</robot>)";

std::string gripper(const std::string& more = "") {
  std::string text = kGripper;
  return text.replace(text.find("%s"), 2, more);
}

TEST(Urdf, ShapesWithoutThickness) {
  const TemporaryFolder folder;
  write_file(folder.file("plate.obj"), "v 0 0 0\nv 1 0 0.5\nv 1 1 0.5\nv 0 1 0\nf 1 2 3 4\n");
  const auto with = [](const std::string& geometry) {
    return "<robot name='r'><link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
           "izz='1'/></inertial><collision><geometry>" +
           geometry + "</geometry></collision></link></robot>";
  };
  write_file(folder.file("plate.urdf"), with("<mesh filename='plate.obj'/>"));
  const LoadedScene plate = load_scene(folder.file("plate.urdf"));
  EXPECT_THAT(::testing::PrintToString(plate.notes), HasSubstr("'plate.obj' is flat"));
  ASSERT_EQ(plate.model.shapes().size(), 1u);
  const std::span<const double> corners = plate.model.shapes()[0].shape.parameters();
  ASSERT_EQ(corners.size(), 24u);  // eight
  const Vec3 normal = Vec3(-1, 0, 2).normalized();
  double low = 1, high = -1;
  for (std::size_t i = 0; i < corners.size(); i += 3) {
    const double x = normal.dot(Vec3(corners[i], corners[i + 1], corners[i + 2]));
    low = std::min(low, x), high = std::max(high, x);
  }
  EXPECT_NEAR(high - low, 1.5e-3, 1e-9);  // a thousandth of the diagonal
  write_file(folder.file("box.urdf"), with("<box size='0 0 0'/>"));
  const LoadedScene box = load_scene(folder.file("box.urdf"));
  EXPECT_TRUE(box.model.shapes().empty());
  EXPECT_THAT(::testing::PrintToString(box.notes), HasSubstr("<box> of size 0"));
}

TEST(Urdf, MimicCouplesJointsAndPlacesLinksAtTheirOffset) {
  const TemporaryFolder folder;
  write_file(folder.file("gripper.urdf"), gripper());
  write_file(folder.file("scene.yaml"),
             "orthant: 1\nurdf: {file: gripper.urdf, fixed: true}\nstep: {h: 0.01}\n");
  LoadedScene scene = load_scene(folder.file("scene.yaml"));
  const Model& m = scene.model;
  // r = 0.05 where l = 0; s = 10 r + 0.1 = 0.6 rad.
  const Pose right = body_pose(m.body(m.find_body("right")), scene.state.q.data());
  EXPECT_LT((right.x - Vec3(-0.1, 0, 0.05)).norm(), 1e-15);
  const Pose screw = body_pose(m.body(m.find_body("screw")), scene.state.q.data());
  EXPECT_NEAR(screw.p.z, std::sin(0.3), 1e-15);
  EXPECT_NEAR(scene.parameters.get("joint/r.lower"), -0.5, 1e-15);
  EXPECT_NEAR(scene.parameters.get("joint/r.upper"), 0.5, 1e-15);
  EXPECT_THAT(::testing::PrintToString(scene.notes), ::testing::Not(HasSubstr("mimic")));

  // The palm is held, the left finger sinks, the right one rises, the screw turns:
  //   l'' (m_l + m_r + 10^2 I_z) = -(m_l - m_r) g
  const double fall = 0.3 * 9.81 / (0.5 + 0.2 + 100 * 0.02);
  State x = scene.state;
  RolloutReport report = rollout(m, scene.parameters, scene.settings, x, 50);
  EXPECT_EQ(report.failed_steps, 0);
  EXPECT_LT(report.joint_error, 1e-9);
  const auto speed = [&](const char* body, Index part) {
    return x.v[m.body(m.find_body(body)).v_begin + part];
  };
  EXPECT_NEAR(speed("left", 2), -0.5 * fall, 1e-9);
  EXPECT_NEAR(speed("right", 2), 0.5 * fall, 1e-9);
  EXPECT_NEAR(speed("screw", 5), 10 * 0.5 * fall, 1e-8);
  // The right finger's own limit, r = 0.5, stops all three.
  report = rollout(m, scene.parameters, scene.settings, x, 150);
  EXPECT_EQ(report.failed_steps, 0);
  EXPECT_NEAR(body_pose(m.body(m.find_body("right")), x.q.data()).x[2], 0.5, 1e-8);
  EXPECT_NEAR(body_pose(m.body(m.find_body("left")), x.q.data()).x[2], -0.45, 1e-8);
  EXPECT_NEAR(speed("screw", 5), 0, 1e-8);
  // The scene of a run says the same.
  EXPECT_EQ(parse_scene(scene.resolved, "resolved.yaml").resolved, scene.resolved);
  EXPECT_THAT(scene.resolved, HasSubstr("follow: {joint: r, ratio: 10, offset: 0.1}"));
}

TEST(Urdf, MimicThatCannotHoldIsNamed) {
  const auto joint = [](const char* name, const std::string& mimic) {
    return "<link name='" + std::string(name) +
           "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial></link>\n"
           "<joint name='" +
           name + "' type='continuous'><parent link='palm'/><child link='" + name + "'/>" + mimic +
           "</joint>\n";
  };
  const auto error_of = [](const std::string& text) {
    try {
      return ::testing::PrintToString(parse_urdf(text, "g.urdf").notes);
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(error_of(gripper(joint("w", "<mimic joint='x'/>"))),
              HasSubstr("there is no joint 'x' to mimic"));
  EXPECT_THAT(error_of(gripper(joint("w", "<mimic joint='w'/>"))), HasSubstr("circle"));
  EXPECT_THAT(error_of(gripper(joint("w", "") + joint("z", "<mimic joint='w' multiplier='0.5'/>"))),
              HasSubstr("ignored <mimic> of a hinge without limits"));
  EXPECT_THAT(error_of(gripper(joint("w", "") + joint("z", "<mimic joint='w' multiplier='-3'/>"))),
              ::testing::Not(HasSubstr("mimic")));
}

TEST(Urdf, InertiaWithoutMassTurnsWithItsParent) {
  const auto text = [](const std::string& type) {
    return "<robot name='r'><link name='base'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
           "izz='1'/>"
           "</inertial></link><link name='foot'><inertial><mass value='0'/><inertia ixx='0' "
           "iyy='0.1' "
           "izz='0'/>"
           "</inertial></link><joint name='sole' type='" +
           type +
           "'><parent link='base'/><child "
           "link='foot'/></joint></robot>";
  };
  const LoadedScene fixed = parse_urdf(text("fixed"), "r.urdf");
  EXPECT_NEAR(fixed.parameters.get("body/base.inertia.yy"), 1.1, 1e-12);
  EXPECT_THAT(::testing::PrintToString(parse_urdf(text("continuous"), "r.urdf").notes),
              HasSubstr("the inertia of links that move and have no mass"));
}

TEST(Urdf, QuarterTurnsOfElevenDigitsAreQuarterTurns) {
  const auto across = [](const std::string& angle) {
    const LoadedScene s = parse_urdf(
        "<robot name='r'><link name='b'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
        "izz='1'/></inertial></link><link name='f'/><joint name='j' type='fixed'><parent "
        "link='b'/><child link='f'/><origin rpy='" +
            angle + " 0 0'/></joint></robot>",
        "r.urdf");
    const Frame& f = s.model.frames()[static_cast<std::size_t>(s.model.find_frame("f"))];
    return rotate(f.X_BF.p, Vec3(0, 1, 0))[1];
  };
  EXPECT_LT(std::abs(across("1.57079632679")), 1e-15);
  EXPECT_LT(std::abs(across("-4.71238898038")), 1e-15);
  EXPECT_NEAR(across("1.570796325"), 1.7948965e-9, 1e-15);  // is what it says
}

TEST(Urdf, BadFilesAreRefusedWithTheLine) {
  const TemporaryFolder folder;
  const auto error_of = [&](const std::string& text) {
    write_file(folder.file("bad.urdf"), text);
    try {
      (void)load_scene(folder.file("bad.urdf"));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error_of("<robot"), HasSubstr("is not XML"));
  EXPECT_THAT(error_of("<a/>"), HasSubstr("has no <robot>"));
  EXPECT_THAT(error_of("<robot/>"), HasSubstr("has no links"));
  EXPECT_THAT(error_of("<robot>\n<link/>\n</robot>"), HasSubstr("bad.urdf:2: <link> needs 'name'"));
  EXPECT_THAT(error_of("<robot><link name='a'/><link name='b'/></robot>"), HasSubstr("one root"));
  EXPECT_THAT(error_of("<robot><link name='a'/>\n<joint name='j' type='fixed'><parent link='a'/>"
                       "<child link='c'/></joint></robot>"),
              HasSubstr("bad.urdf:2: there is no link 'c'"));
}

TEST(Meshes, StandForTheirConvexHull) {
  const TemporaryFolder folder;
  write_file(folder.file("cube.obj"), cube_obj());
  std::string ascii = "solid cube\n", binary(80, ' ');
  const std::uint32_t count = 8;
  binary.append(reinterpret_cast<const char*>(&count), 4);
  for (int i = 0; i < 8; ++i) {  // one degenerate triangle a corner is enough
    const float p[3] = {(i & 1) ? 1.F : -1.F, (i & 2) ? 1.F : -1.F, (i & 4) ? 1.F : -1.F};
    const float normal[3] = {0, 0, 1};
    binary.append(reinterpret_cast<const char*>(normal), 12);
    for (int k = 0; k < 3; ++k) {
      binary.append(reinterpret_cast<const char*>(p), 12);
      ascii += "vertex " + std::to_string(p[0]) + " " + std::to_string(p[1]) + " " +
               std::to_string(p[2]) + "\n";
    }
    binary.append(2, '\0');
  }
  write_file(folder.file("text.stl"), ascii + "endsolid\n");
  write_file(folder.file("binary.stl"), binary);
  for (const char* name : {"cube.obj", "text.stl", "binary.stl"}) {
    write_file(
        folder.file("scene.yaml"),
        "orthant: 1\nbodies: [{name: b, shapes: {type: hull, density: 2, scale: 0.5, file: " +
            std::string(name) + "}}]\n");
    const LoadedScene scene = load_scene(folder.file("scene.yaml"));
    EXPECT_NEAR(scene.parameters.get("body/b.mass"), 2, 1e-9) << name;  // a unit cube of density 2
    EXPECT_THAT(scene.resolved, ::testing::Not(HasSubstr("file:"))) << name;
  }
  write_file(folder.file("scene.yaml"),
             "orthant: 1\nbodies: [{name: b, shapes: {type: hull, file: none.obj}}]\n");
  EXPECT_THROW((void)load_scene(folder.file("scene.yaml")), Error);
}

}  // namespace
}  // namespace orthant
