// SPDX-License-Identifier: Apache-2.0
// Robot files with one thing wrong each: one message with file, line and what is allowed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/scene.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TemporaryFolder;

std::string link(const std::string& name, const std::string& more = "") {
  return "<link name='" + name +
         "'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1'/></inertial>" + more +
         "</link>\n";
}
std::string joint(const std::string& name, const std::string& parent, const std::string& child,
                  const std::string& more = "<axis xyz='0 0 1'/><limit lower='-1' upper='1'/>") {
  return "<joint name='" + name + "' type='revolute'><parent link='" + parent + "'/><child link='" +
         child + "'/>" + more + "</joint>\n";
}
std::string urdf(const std::string& inside) { return "<robot name='r'>\n" + inside + "</robot>"; }
std::string mjcf(const std::string& inside) { return "<mujoco>\n" + inside + "</mujoco>"; }

/// What is said about a file.
std::string refusal(const std::string& file, const std::string& text,
                    const TemporaryFolder& folder = {}) {
  write_file(folder.file(file), text);
  try {
    (void)load_scene(folder.file(file));
  } catch (const Error& error) {
    return error.what();
  }
  return "loaded";
}

TEST(BadRobot, CyclicParents) {
  EXPECT_THAT(refusal("r.urdf", urdf(link("base") + link("a") + link("b") + joint("x", "a", "b") +
                                     joint("y", "b", "a"))),
              AllOf(HasSubstr("r.urdf:3"), HasSubstr("go round in a circle): 'a', 'b'")));
}

TEST(BadRobot, MissingParents) {
  EXPECT_THAT(refusal("r.urdf", urdf(link("a") + joint("x", "nobody", "a"))),
              AllOf(HasSubstr("r.urdf:3"), HasSubstr("there is no link 'nobody'")));
  EXPECT_THAT(refusal("r.urdf", urdf(link("a") + "<joint name='x' type='fixed'/>")),
              HasSubstr("joint 'x' needs <parent> and <child>"));
}

TEST(BadRobot, TwoRoots) {
  EXPECT_THAT(
      refusal("r.urdf", urdf(link("a") + link("b"))),
      AllOf(HasSubstr("r.urdf:3"), HasSubstr("must have one root link, found 2: 'a', 'b'")));
}

TEST(BadRobot, DuplicateNames) {
  EXPECT_THAT(refusal("r.urdf", urdf(link("a") + link("a"))),
              AllOf(HasSubstr("r.urdf:3"), HasSubstr("link 'a' is given twice")));
  EXPECT_THAT(refusal("r.urdf", urdf(link("a") + link("b") + link("c") + joint("x", "a", "b") +
                                     joint("x", "a", "c"))),
              AllOf(HasSubstr("r.urdf:6"), HasSubstr("joint 'x' is given twice")));
  EXPECT_THAT(refusal("r.xml", mjcf("<worldbody><body name='a'><geom size='1'/></body>\n<body "
                                    "name='a'><geom size='1'/></body></worldbody>")),
              AllOf(HasSubstr("r.xml:3"), HasSubstr("body 'a' is given twice")));
}

std::string with_mesh(const std::string& file) {
  return urdf(
      link("a", "<collision><geometry><mesh filename='" + file + "'/></geometry></collision>"));
}

TEST(BadRobot, UnknownMesh) {
  EXPECT_THAT(refusal("r.urdf", with_mesh("lost.stl")),
              AllOf(HasSubstr("r.urdf:2"), HasSubstr("mesh 'lost.stl': there is no such file"),
                    HasSubstr("allowed: skip_meshes: true")));
}

TEST(BadRobot, MeshThatIsNotFinite) {
  const TemporaryFolder folder;
  std::string stl(84, ' ');
  const std::uint32_t count = 1;
  std::memcpy(stl.data() + 80, &count, 4);
  const float corners[12] = {0, 0, 1, 0, 0, 0, 1, NAN, 0, 0, 1, 0};
  stl.append(reinterpret_cast<const char*>(corners), sizeof corners);
  stl.append(2, '\0');
  write_file(folder.file("nan.stl"), stl);
  EXPECT_THAT(refusal("r.urdf", with_mesh("nan.stl"), folder),
              AllOf(HasSubstr("r.urdf:2"), HasSubstr("nan.stl"), HasSubstr("not finite")));
}

TEST(BadRobot, MeshOfTenMillionTriangles) {
  const TemporaryFolder folder;
  write_file(folder.file("many.stl"), std::string(84, '\0'));
  std::filesystem::resize_file(folder.file("many.stl"), 84 + 10'000'000ull * 50);  // sparse
  EXPECT_THAT(refusal("r.urdf", with_mesh("many.stl"), folder),
              AllOf(HasSubstr("r.urdf:2"), HasSubstr("many.stl"), HasSubstr("256 MiB")));
}

TEST(BadRobot, AxesThatAreNotOfUnitLength) {
  const TemporaryFolder folder;
  write_file(folder.file("r.urdf"),
             urdf(link("a") + link("b") +
                  joint("x", "a", "b", "<axis xyz='0 0 5'/><limit lower='-1' upper='1'/>")));
  const LoadedScene s = load_scene(folder.file("r.urdf"));
  EXPECT_THAT(::testing::PrintToString(s.notes), HasSubstr("the length of axes that is not 1"));
  EXPECT_THAT(
      refusal("r.urdf", urdf(link("a") + link("b") + joint("x", "a", "b", "<axis xyz='0 0 0'/>"))),
      AllOf(HasSubstr("r.urdf:4"), HasSubstr("must not be zero")));
}

TEST(BadRobot, LimitsReversed) {
  EXPECT_THAT(refusal("r.urdf", urdf(link("a") + link("b") +
                                     joint("x", "a", "b", "<limit lower='1' upper='-1'/>"))),
              AllOf(HasSubstr("r.urdf:4"),
                    HasSubstr("the lower limit, 1, must be at most the upper one, -1")));
  EXPECT_THAT(refusal("r.xml", mjcf("<worldbody><body>\n<joint range='2 1'/><geom "
                                    "size='1'/></body></worldbody>")),
              AllOf(HasSubstr("r.xml:3"), HasSubstr("must be less than the upper one")));
}

TEST(BadRobot, RecursionInDefaultsAndIncludes) {
  const std::string world = "<worldbody><body><geom size='1'/></body></worldbody>";
  EXPECT_THAT(refusal("r.xml", mjcf("<default><default class='a'>\n<default class='a'/></default>"
                                    "</default>" +
                                    world)),
              AllOf(HasSubstr("r.xml:3"), HasSubstr("class 'a' is given twice")));
  EXPECT_THAT(refusal("r.xml", mjcf("<include file='r.xml'/>" + world)),
              AllOf(HasSubstr("r.xml:2"), HasSubstr("'r.xml' includes itself")));
  std::string deep, end;
  for (int i = 0; i < 3000; ++i) {
    deep += "<default class='c" + std::to_string(i) + "'>";
    end += "</default>";
  }
  EXPECT_THAT(refusal("r.xml", mjcf("<default>" + deep + end + "</default>" + world)),
              HasSubstr("r.xml:2"));
}

}  // namespace
}  // namespace orthant
