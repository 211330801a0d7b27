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
  ASSERT_EQ(m.bodies().size(), 3u);
  ASSERT_EQ(m.joints().size(), 2u);
  EXPECT_EQ(scene.parameters.get("body/rod.mass"), 1);
  // The rod's frame is turned by 90 degrees about z at (0, 0, 0.3): its centre is at (0, 0.5, 0.3).
  const Vec3 rod = body_pose(m.body(m.find_body("rod")), scene.state.q.data()).x;
  EXPECT_LT((rod - Vec3(0, 0.5, 0.3)).norm(), 1e-12);
  const Vec3 tip = body_pose(m.body(m.find_body("tip")), scene.state.q.data()).x;
  EXPECT_LT((tip - Vec3(0, 1, 0.3)).norm(), 1e-12);
  // Inertia turned by 90 degrees about z: xx and yy change places.
  EXPECT_NEAR(scene.parameters.get("body/rod.inertia.xx"), 0.03, 1e-12);
  EXPECT_NEAR(scene.parameters.get("body/rod.inertia.yy"), 0.01, 1e-12);
  EXPECT_NEAR(scene.parameters.get("body/rod.inertia.zz"), 0.035, 1e-12);
  const Joint& hinge = m.joint(m.find_joint("hinge"));
  EXPECT_EQ(hinge.kind, JointKind::Revolute);
  EXPECT_EQ(scene.parameters[hinge.lower], -0.5);
  EXPECT_EQ(scene.parameters[hinge.upper], 0.75);
  EXPECT_EQ(scene.parameters[hinge.damping], 0.2);
  EXPECT_EQ(m.joint(m.find_joint("end")).kind, JointKind::Weld);
  // x of the rod's frame is y of the world: the hinge's z axis on the parent.
  const Pose X = frame_pose(false, scene.parameters.values.data() + hinge.parameter_begin);
  const Pose X_WA = body_pose(m.body(hinge.a), scene.state.q.data());
  const Vec3 axis = rotate(X_WA.p, rotate(X.p, Vec3(0, 0, 1)));
  EXPECT_LT((axis - Vec3(0, 1, 0)).norm(), 1e-12);
  const std::string notes = ::testing::PrintToString(scene.notes);
  for (const char* word : {"<visual>", "<transmission>", "effort", "<cylinder>", "'tip' has no"})
    EXPECT_THAT(notes, HasSubstr(word));
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
