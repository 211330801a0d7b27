// SPDX-License-Identifier: Apache-2.0
// URDF as people write it: frames, `world`, postures, sloppy inertias, servos; and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/io/scene.hpp"
#include "orthant/robot/articulation.hpp"
#include "orthant/step/step.hpp"
#include "support/sample_files.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

std::string link(const std::string& name, double mass, const std::string& more = "",
                 const std::string& inertia = "ixx='0.01' iyy='0.01' izz='0.01'") {
  return "<link name='" + name + "'><inertial><mass value='" + std::to_string(mass) +
         "'/><inertia " + inertia + "/></inertial>" + more + "</link>\n";
}
std::string joint(const std::string& name, const std::string& type, const std::string& parent,
                  const std::string& child, const std::string& more = "") {
  return "<joint name='" + name + "' type='" + type + "'><parent link='" + parent +
         "'/><child link='" + child + "'/>" + more + "</joint>\n";
}
std::string robot(const std::string& inside) { return "<robot name='r'>\n" + inside + "</robot>"; }

const std::string kBall = "<collision><geometry><sphere radius='0.1'/></geometry></collision>";
const std::string kLimit = "<limit lower='-2' upper='-1' effort='7' velocity='3'/>";

std::string notes(const LoadedScene& scene) { return ::testing::PrintToString(scene.notes); }
std::string error_of(const std::string& text) {
  try {
    (void)parse_urdf(text, "bad.urdf");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}
double coordinate(const LoadedScene& s, const char* name) {
  return joint_coordinate(s.model, s.parameters, s.state.q, s.model.find_joint(name));
}

LoadedScene load(const TemporaryFolder& folder, const std::string& text, const std::string& options,
                 const std::string& rest = "") {
  write_file(folder.file("r.urdf"), text);
  write_file(folder.file("s.yaml"), "orthant: 1\nurdf: {file: r.urdf" + options + "}\n" + rest);
  return load_scene(folder.file("s.yaml"));
}

// A frame, a link without mass between two joints, matter on fixed joints: masses, centres and
// inertias add up, names stay.
TEST(Robot, FoldsWhatHasNoMotionOrMassOfItsOwn) {
  const std::string text =
      robot("<link name='base_link'/>\n" + link("trunk", 2, kBall) + link("arm", 1) +
            link("tool", 1) + "<link name='camera'/><link name='knob'/>\n" +
            joint("root", "fixed", "base_link", "trunk", "<origin xyz='0 0 0.5'/>") +
            joint("shoulder", "continuous", "trunk", "arm", "<axis xyz='0 1 0'/>") +
            joint("flange", "fixed", "arm", "tool", "<origin xyz='1 0 0'/>") +
            joint("mount", "fixed", "tool", "camera", "<origin xyz='0 0 0.1'/>") +
            joint("turn", "continuous", "trunk", "knob"));
  const LoadedScene s = parse_urdf(text, "r.urdf");
  ASSERT_EQ(s.model.bodies().size(), 2u);
  EXPECT_EQ(s.model.bodies()[0].name, "base_link");
  EXPECT_EQ(s.parameters.get("body/base_link.mass"), 2);
  EXPECT_EQ(s.parameters.get("body/arm.mass"), 2);
  // Two points of 1 kg at 0.5 m from their centre.
  EXPECT_NEAR(s.parameters.get("body/arm.inertia.xx"), 0.02, 1e-15);
  EXPECT_NEAR(s.parameters.get("body/arm.inertia.zz"), 0.52, 1e-15);
  ASSERT_EQ(s.model.joints().size(), 1u);
  for (const char* name : {"trunk", "tool", "camera", "knob"}) (void)s.model.find_frame(name);
  const Frame& camera = s.model.frames()[static_cast<std::size_t>(s.model.find_frame("camera"))];
  EXPECT_LT((camera.X_BF.x - Vec3(0.5, 0, 0.1)).norm(), 1e-15);
  EXPECT_THAT(notes(s), HasSubstr("joints that move nothing with mass are held: 'turn'"));
  EXPECT_EQ(parse_scene(s.resolved, "resolved.yaml").resolved, s.resolved);

  const TemporaryFolder folder;
  const LoadedScene kept = load(folder, text, ", keep_fixed: true");
  EXPECT_EQ(kept.model.joint(kept.model.find_joint("flange")).kind, JointKind::Weld);
}

TEST(Robot, WorldIsTheWorld) {
  const LoadedScene s =
      parse_urdf(robot("<link name='world'/>" + link("base", 3, kBall) + link("arm", 1) +
                       joint("stand", "fixed", "world", "base") +
                       joint("j", "continuous", "base", "arm", "<axis xyz='0 0 1'/>")),
                 "r.urdf");
  EXPECT_EQ(s.model.body(s.model.find_body("base")).motion, Motion::Fixed);
  EXPECT_TRUE(s.model.body(s.model.find_body("arm")).is_dynamic());
  const LoadedScene free = parse_urdf(
      robot("<link name='world'/>" + link("base", 3) + joint("f", "floating", "world", "base")),
      "r.urdf");
  EXPECT_TRUE(free.model.joints().empty());
}

TEST(Robot, StartsInsideItsLimitsOrWhereItIsToldTo) {
  const std::string text =
      robot(link("base", 3) + link("shin", 1) +
            joint("knee", "revolute", "base", "shin", "<axis xyz='0 2 0'/>" + kLimit));
  EXPECT_NEAR(coordinate(parse_urdf(text, "r.urdf"), "knee"), -1.5, 1e-12);
  const TemporaryFolder folder;
  const LoadedScene s =
      load(folder, text, ", posture: {knee: -1.25}, servos: {stiffness: 50, damping: 2}");
  EXPECT_NEAR(coordinate(s, "knee"), -1.25, 1e-12);
  EXPECT_EQ(s.parameters.get("joint/knee.lower"), -2);
  EXPECT_EQ(s.parameters.get("joint/knee.motor.max_force"), 7);
  EXPECT_EQ(s.parameters.get("joint/knee.motor.target"), -1.25);
  write_file(
      folder.file("r.srdf"),
      "<robot name='r'><group_state name='sit' group='all'><joint name='knee' value='-1.75'/>"
      "<joint name='other' value='1'/></group_state>"
      "<disable_collisions link1='base' link2='shin'/></robot>");
  EXPECT_NEAR(coordinate(load(folder, text, ", srdf: r.srdf, state: sit"), "knee"), -1.75, 1e-12);
  EXPECT_THROW((void)load(folder, text, ", srdf: r.srdf, state: stand"), Error);
  EXPECT_THROW((void)load(folder, text, ", posture: {knee: 0}"), Error);
  EXPECT_THROW((void)load(folder, text, ", posture: {elbow: 0}"), Error);
  EXPECT_THROW((void)load(folder, text, ", servos: {joints: [elbow], damping: 1}"), Error);
}

std::string four_legs() {
  const std::string foot =
      "<collision><origin xyz='0 0 -0.4'/><geometry><sphere radius='0.05'/></geometry></collision>";
  std::string text = link("base", 4, "", "ixx='0.1' iyy='0.1' izz='0.1'");
  for (const char* corner : {"0.3 0.2 0", "0.3 -0.2 0", "-0.3 0.2 0", "-0.3 -0.2 0"}) {
    const std::string name = "leg" + std::string(corner);
    text += link(name, 0.5, foot) +
            joint("hip" + name, "revolute", "base", name,
                  "<origin xyz='" + std::string(corner) +
                      "'/><axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='20'/>");
  }
  return robot(text);
}

void expect_stands(const LoadedScene& s) {
  const Body& base = s.model.body(s.model.find_body("base"));
  EXPECT_NEAR(s.state.q[base.q_begin + 2], 0.45, 1e-9);
  State x = s.state;
  const RolloutReport report = rollout(s.model, s.parameters, s.settings, x, 200);
  EXPECT_EQ(report.failed_steps, 0);
  EXPECT_LT(report.joint_error, 1e-8);
  EXPECT_NEAR(x.q[base.q_begin + 2], 0.45, 2e-3);
  EXPECT_LT(x.v.cwiseAbs().maxCoeff(), 1e-3);
}

// Its lowest point on the floor, held by servos: it stands.
TEST(Robot, StandsOnTheFloorHeldByItsServos) {
  const TemporaryFolder folder;
  expect_stands(load(folder, four_legs(), ", stand: true, servos: {stiffness: 60, damping: 2}",
                     "bodies: [{name: floor, motion: fixed, shapes: {type: half_space}}]\n"
                     "step: {h: 0.005}\n"));
  // The scene that `orthant new --urdf` writes.
  write_file(folder.file("new.yaml"), starter_robot("new", folder.file("r.urdf")));
  expect_stands(load_scene(folder.file("new.yaml")));
}

TEST(Robot, InertiasOfNoBodyAreChangedByTheLeast) {
  const std::string wrong = "ixx='0.1' iyy='0.1' izz='0.5'";
  const std::string text = robot(link("base", 1, "", wrong));
  const LoadedScene s = parse_urdf(text, "r.urdf");
  // 0.5 > 0.1 + 0.1 by 0.3: a third from each.
  EXPECT_NEAR(s.parameters.get("body/base.inertia.xx"), 0.2, 1e-12);
  EXPECT_NEAR(s.parameters.get("body/base.inertia.zz"), 0.4, 1e-12);
  EXPECT_THAT(notes(s), HasSubstr("inertias of no body"));
  const TemporaryFolder folder;
  EXPECT_THROW((void)load(folder, text, ", strict: true"), Error);
  // Off by rounding: no word about it.
  const LoadedScene rounded =
      parse_urdf(robot(link("base", 1, "", "ixx='0.1' iyy='0.1' izz='0.20000000000001'")), "r");
  EXPECT_TRUE(rounded.notes.empty()) << notes(rounded);
}

TEST(Robot, MasslessLinksThatMoveAndTouchNeedAMass) {
  const std::string text = robot(link("base", 1) + "<link name='wheel'>" + kBall + "</link>" +
                                 joint("j", "continuous", "base", "wheel"));
  EXPECT_THAT(error_of(text),
              HasSubstr("link 'wheel' moves and has a shape: its mass must be > 0"));
  const TemporaryFolder folder;
  const LoadedScene s = load(folder, text, ", density: 1000");
  EXPECT_NEAR(s.parameters.get("body/wheel.mass"), 4.18879, 1e-4);
  EXPECT_THAT(error_of(robot(link("base", -1))), HasSubstr("mass of link 'base' must be >= 0"));
}

TEST(Robot, CarriersAndPlanarJoints) {
  const LoadedScene s =
      parse_urdf(robot(link("base", 1) + "<link name='cross'/>" + link("arm", 1) + link("puck", 1) +
                       joint("u1", "continuous", "base", "cross", "<axis xyz='1 0 0'/>") +
                       joint("u2", "continuous", "cross", "arm", "<axis xyz='0 1 0'/>") +
                       joint("p", "planar", "base", "puck", "<axis xyz='0 0 1'/>")),
                 "r.urdf");
  EXPECT_THAT(notes(s), HasSubstr("share matter on the axes"));
  EXPECT_GT(s.parameters.get("body/cross.mass"), 0.01);
  EXPECT_EQ(s.model.joint(s.model.find_joint("p")).kind, JointKind::Planar);
}

/// Kinetic energy of the links as the file has them, all that have mass, and that of the bodies.
void expect_equal_energies(const LoadedScene& s, const std::vector<std::string>& links, double mass,
                           const Vec3& center, const Mat3& inertia) {
  const Articulation tree(s.model);
  testing::SplitMix random(11);
  for (int trial = 0; trial < 20; ++trial) {
    VecX u(tree.u_size()), du(tree.u_size());
    for (Index i = 0; i < tree.u_size(); ++i) {
      u[i] = random.uniform(-2, 2);
      du[i] = random.uniform(-2, 2);
    }
    const VecX q = tree.integrate(tree.positions(s.parameters, s.state), du);
    double energy = 0, height = 0, all = 0;
    for (const std::string& name : links) {
      FrameRef f = tree.frame(name);
      f.X_BF = compose(f.X_BF, Pose{center, {}});
      const VecX v = tree.jacobian(s.parameters, s.state, q, f) * u;
      const Pose X = tree.pose(s.parameters, s.state, q, f);
      const Mat3 R = matrix_of(X.p);
      energy += 0.5 * mass * v.head<3>().squaredNorm() +
                0.5 * v.tail<3>().dot(R * inertia * R.transpose() * v.tail<3>());
      height += mass * X.x[2];
      all += mass;
    }
    const double here = 0.5 * u.dot(tree.mass_matrix(s.parameters, s.state, q) * u);
    EXPECT_NEAR(here, energy, 1e-12 * energy);
    EXPECT_NEAR(tree.center_of_mass(s.parameters, s.state, q)[2], height / all, 1e-13);
    EXPECT_NEAR(tree.mass(s.parameters), all, 1e-13);
  }
}

// Two hinges that cross or pass each other, a slide and a hinge, a hinge and a slide: what the link
// between them gets, its neighbours lose, and no motion changes.
TEST(Robot, CarriersDoNotChangeTheEnergy) {
  const Vec3 center(0.1, -0.05, 0.2);
  const Mat3 inertia = Vec3(0.03, 0.04, 0.05).asDiagonal();
  const auto heavy = [&](const std::string& name) {
    return "<link name='" + name +
           "'><inertial><origin xyz='0.1 -0.05 0.2'/><mass value='2'/><inertia ixx='0.03' "
           "iyy='0.04' izz='0.05' ixy='0' ixz='0' iyz='0'/></inertial></link>\n";
  };
  const auto origin = [](const std::string& xyz, const std::string& axis) {
    return "<origin xyz='" + xyz + "' rpy='0.3 -0.2 0.5'/><axis xyz='" + axis + "'/>";
  };
  const std::string first[] = {"continuous", "continuous", "prismatic", "continuous"};
  const std::string second[] = {"continuous", "continuous", "continuous", "prismatic"};
  const std::string place[] = {"0 0 0", "0.1 0.2 -0.1", "0.1 0.2 -0.1", "0.1 0.2 -0.1"};
  for (std::size_t i = 0; i < 4; ++i) {
    const LoadedScene s =
        parse_urdf(robot(heavy("base") + "<link name='cross'/>" + heavy("arm") +
                         joint("j1", first[i], "base", "cross", origin("0.2 0 0", "1 0 0")) +
                         joint("j2", second[i], "cross", "arm", origin(place[i], "0 1 0"))),
                   "r.urdf");
    SCOPED_TRACE(notes(s));
    EXPECT_THAT(notes(s), HasSubstr("share matter on the axes"));
    expect_equal_energies(s, {"base", "arm"}, 2, center, inertia);
  }
  // Between two slides nobody has a mass to give: a little is added, and said.
  const LoadedScene slides =
      parse_urdf(robot(heavy("base") + "<link name='cross'/>" + heavy("arm") +
                       joint("j1", "prismatic", "base", "cross", origin("0.2 0 0", "1 0 0")) +
                       joint("j2", "prismatic", "cross", "arm", origin("0 0 0", "0 1 0"))),
                 "r.urdf");
  EXPECT_THAT(notes(slides), HasSubstr("of what they carry"));
  EXPECT_NEAR(slides.parameters.get("body/cross.mass"), 2e-4, 1e-12);
  // On the world, which gives what is asked for.
  const LoadedScene fixed =
      parse_urdf(robot("<link name='world'/><link name='cross'/>" + heavy("arm") +
                       joint("j1", "continuous", "world", "cross", origin("0 0 0", "0 0 1")) +
                       joint("j2", "continuous", "cross", "arm", origin("0 0 0.1", "0 1 0"))),
                 "r.urdf");
  EXPECT_THAT(notes(fixed), HasSubstr("share matter on the axes"));
}

TEST(Robot, FilesOfOtherHouses) {
  // A joint to a world that is not there; no mass but a density; a visual of no size.
  const std::string text =
      robot("<link name='cube'><visual><geometry><sphere radius='0.0'/></geometry></visual>" +
            kBall + "<inertial><density value='3'/></inertial></link>" +
            joint("j", "continuous", "world", "cube", "<axis xyz='0 0 1'/>"));
  const TemporaryFolder folder;
  const LoadedScene s = load(folder, text, ", density: 1000");
  EXPECT_EQ(s.model.joint(s.model.find_joint("j")).b, kWorld);
  EXPECT_NEAR(s.parameters.get("body/cube.mass"), 4.18879, 1e-4);
  EXPECT_THAT(notes(s), AllOf(HasSubstr("<inertial> without <mass>"), HasSubstr("of size 0")));
}

TEST(Robot, SpeedServosAndArmature) {
  const std::string text = robot(link("base", 1) + link("arm", 1) +
                                 joint("j", "continuous", "base", "arm", "<axis xyz='0 0 1'/>"));
  const TemporaryFolder folder;
  const LoadedScene s =
      load(folder, text, ", fixed: true, servos: [{damping: 50, armature: 0.2, control: true}]");
  ASSERT_EQ(s.model.actuators().size(), 1u);
  EXPECT_EQ(s.model.actuators()[0].kind, ActuatorKind::Speed);
  const Articulation tree(s.model);
  const VecX q = tree.positions(s.parameters, s.state);
  EXPECT_NEAR(tree.mass_matrix(s.parameters, s.state, q)(0, 0), 0.01 + 0.2, 1e-12);
  State x = s.state;
  WarmStart warm;
  StepWorkspace work;
  const VecX u = VecX::Constant(1, 1.5);
  for (int i = 0; i < 100; ++i) (void)step(s.model, s.parameters, s.settings, u, x, warm, work);
  EXPECT_NEAR(tree.velocities(s.parameters, x)[0], 1.5, 1e-6);
}

TEST(Robot, PiecesOfAMeshAreHullsOfTheirOwn) {
  const TemporaryFolder folder;
  std::string obj;
  for (const double at : {0.0, 2.0}) {
    obj += "o piece\n";
    for (int i = 0; i < 8; ++i)
      obj += "v " + std::to_string(at + (i & 1)) + " " + std::to_string((i >> 1) & 1) + " " +
             std::to_string((i >> 2) & 1) + "\n";
  }
  write_file(folder.file("two.obj"), obj);
  const std::string text = robot(
      link("base", 1, "<collision><geometry><mesh filename='two.obj'/></geometry></collision>"));
  EXPECT_EQ(load(folder, text, "").model.shapes().size(), 1u);
  const LoadedScene s = load(folder, text, ", pieces: true");
  ASSERT_EQ(s.model.shapes().size(), 2u);
  EXPECT_NEAR(mass_properties(s.model.shapes()[1].shape, 1).mass, 1, 1e-12);
}

std::string bytes_of(const std::vector<float>& x) {
  return {reinterpret_cast<const char*>(x.data()), 4 * x.size()};
}
std::string bytes_of(const std::vector<std::int32_t>& x) {
  return {reinterpret_cast<const char*>(x.data()), 4 * x.size()};
}

// A pyramid over the square of side 2 in every kind of file.
TEST(Robot, MeshesOfManyKindsOfFile) {
  const TemporaryFolder folder;
  const std::vector<float> corners = {-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0, 0, 0, 1};
  const std::vector<std::int32_t> faces = {0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4, 0, 2, 1, 0, 3, 2};
  write_file(folder.file("a.msh"), bytes_of(std::vector<std::int32_t>{5, 0, 1, 6}) +
                                       bytes_of(corners) + bytes_of(std::vector<float>{0, 0}) +
                                       bytes_of(faces));
  const std::string head =
      " 1.0\nelement vertex 5\nproperty float x\nproperty float y\nproperty float z\nelement face "
      "6\nproperty list uchar int vertex_indices\nend_header\n";
  std::string words, lists, list_words;
  for (const float x : corners) words += std::to_string(x) + " ";
  for (std::size_t i = 0; i < 6; ++i) {
    const std::vector<std::int32_t> t(faces.begin() + 3 * static_cast<std::ptrdiff_t>(i),
                                      faces.begin() + 3 * static_cast<std::ptrdiff_t>(i) + 3);
    lists += "\3" + bytes_of(t);
    list_words += "3";
    for (const std::int32_t k : t) list_words += " " + std::to_string(k);
    list_words += "\n";
  }
  write_file(folder.file("b.ply"), "ply\nformat ascii" + head + words + "\n" + list_words);
  write_file(folder.file("c.ply"),
             "ply\nformat binary_little_endian" + head + bytes_of(corners) + lists);
  std::string json =
      R"({"asset":{"version":"2.0"},"scenes":[{"nodes":[0]}],"nodes":[{"mesh":0,"scale":[1,1,1]}],)"
      R"("meshes":[{"primitives":[{"attributes":{"POSITION":0},"indices":1}]}],"accessors":[)"
      R"({"bufferView":0,"componentType":5126,"count":5,"type":"VEC3"},)"
      R"({"bufferView":1,"componentType":5125,"count":18,"type":"SCALAR"}],"bufferViews":[)"
      R"({"buffer":0,"byteLength":60},{"buffer":0,"byteOffset":60,"byteLength":72}]})";
  json.resize((json.size() + 3) / 4 * 4, ' ');
  const std::string binary = bytes_of(corners) + bytes_of(faces);
  const auto word = [](std::size_t n) {
    return bytes_of(std::vector<std::int32_t>{static_cast<std::int32_t>(n)});
  };
  const std::string glb = "glTF" + word(2) + word(28 + json.size() + binary.size()) +
                          word(json.size()) + "JSON" + json + word(binary.size()) +
                          std::string("BIN\0", 4) + binary;
  write_file(folder.file("d.glb"), glb);
  for (const char* file : {"a.msh", "b.ply", "c.ply", "d.glb"}) {
    const LoadedScene s = load(folder,
                               robot(link("base", 1,
                                          std::string("<collision><geometry><mesh filename='") +
                                              file + "'/></geometry></collision>")),
                               "",
                               std::string("bodies: [{name: g, motion: fixed, shapes: {type: mesh, "
                                           "file: ") +
                                   file + "}}]\n");
    for (const ShapeInstance& shape : s.model.shapes())
      if (shape.shape.kind() == ShapeKind::Mesh)
        EXPECT_EQ(shape.shape.topology().mesh->triangles.size(), 6u) << file;
      else
        EXPECT_NEAR(mass_properties(shape.shape, 1).mass, 4.0 / 3, 1e-6) << file;
    EXPECT_EQ(s.model.shapes().size(), 2u);
  }
  // Cut short anywhere: an error, never more.
  for (std::size_t size = 0; size < glb.size(); size += 7) {
    write_file(folder.file("d.glb"), glb.substr(0, size));
    EXPECT_THROW((void)load(folder, robot(link("base", 1)), "",
                            "bodies: [{name: g, motion: fixed, shapes: {type: mesh, file: "
                            "d.glb}}]\n"),
                 Error)
        << size;
  }
}

TEST(Robot, LinksTouchEachOtherWhereAsked) {
  const std::string text = robot(link("a", 1, kBall) + link("b", 1, kBall) + link("c", 1, kBall) +
                                 joint("ab", "continuous", "a", "b", "<origin xyz='0.5 0 0'/>") +
                                 joint("bc", "continuous", "b", "c", "<origin xyz='0.5 0 0'/>"));
  const TemporaryFolder folder;
  const Model off = load(folder, text, "").model;
  EXPECT_TRUE(off.excluded(ShapeId{0}, ShapeId{2}));
  const Model on = load(folder, text, ", self_collision: true").model;
  EXPECT_TRUE(on.excluded(ShapeId{0}, ShapeId{1}));  // neighbours
  EXPECT_FALSE(on.excluded(ShapeId{0}, ShapeId{2}));
  write_file(folder.file("r.srdf"), "<robot><disable_collisions link1='a' link2='c'/></robot>");
  const Model srdf = load(folder, text, ", self_collision: true, srdf: r.srdf").model;
  EXPECT_TRUE(srdf.excluded(ShapeId{0}, ShapeId{2}));
}

TEST(Robot, MeshesOfPackagesAndColladaFiles) {
  const TemporaryFolder folder;
  std::string positions;
  for (int i = 0; i < 8; ++i)
    positions += std::string((i & 1) ? "10 " : "-10 ") + ((i & 2) ? "10 " : "-10 ") +
                 ((i & 4) ? "10 " : "-10 ");
  write_file(folder.file("cube.dae"),
             "<COLLADA><asset><unit meter='0.01'/></asset><library_geometries><geometry id='g'>"
             "<mesh><source id='p'><float_array>" +
                 positions +
                 "</float_array></source><vertices id='v'><input semantic='POSITION' "
                 "source='#p'/></vertices></mesh></geometry></library_geometries>"
                 "<library_visual_scenes><visual_scene><node><translate>5 0 0</translate>"
                 "<instance_geometry url='#g'/></node></visual_scene></library_visual_scenes>"
                 "</COLLADA>");
  const auto with = [&](const std::string& file) {
    return robot(link("base", 1,
                      "\n<collision><geometry><mesh filename='" + file +
                          "' scale='1 1 2'/></geometry></collision>"));
  };
  const LoadedScene s = load(folder, with("package://some_package/cube.dae"), "");
  const Bounds box = bounds(s.model.shapes()[0].shape, Pose{});
  EXPECT_LT((box.lo - Vec3(-0.05, -0.1, -0.2)).norm(), 1e-12);
  EXPECT_LT((box.hi - Vec3(0.15, 0.1, 0.2)).norm(), 1e-12);
  const auto refused = [&](const std::string& text) {
    try {
      (void)load(folder, text, "");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(refused(with("none.stl")), AllOf(HasSubstr("r.urdf:3"), HasSubstr("no such file")));
  write_file(folder.file("nan.obj"), "v 0 0 0\nv 1 0 0\nv nan 1 0\nv 0 0 1\n");
  EXPECT_THAT(refused(with("nan.obj")), HasSubstr("nan.obj:3"));
  write_file(folder.file("line.obj"), "v 0 0 0\nv 1 1 0\nv 2 2 0\nv 3 3 0\n");
  EXPECT_THAT(refused(with("line.obj")), HasSubstr("line.obj"));
  EXPECT_EQ(load(folder, with("none.stl"), ", skip_meshes: true").model.shapes().size(), 0u);
}

TEST(Robot, AllProblemsOfAFileInOneMessage) {
  const std::string text =
      robot(link("a", 1) + link("a", 1) + link("b", -2) + link("c", 1) +
            joint("j", "revolute", "a", "b", "<axis xyz='0 0 0'/><limit lower='1' upper='-1'/>") +
            joint("j", "twisty", "a", "c") + joint("k", "fixed", "a", "nobody"));
  const std::string what = error_of(text);
  for (const char* word :
       {"bad.urdf: ", " problems", "bad.urdf:3: link 'a' is given twice",
        "bad.urdf:4: mass of link 'b' must be >= 0", "the axis of joint 'j' must not be zero",
        "the lower limit, 1, must be at most the upper one, -1",
        "unknown type 'twisty'; allowed: fixed, revolute", "there is no link 'nobody'"})
    EXPECT_THAT(what, HasSubstr(word));
  EXPECT_THAT(error_of(robot(link("a", 1) + link("b", 1) + link("c", 1) +
                             joint("x", "fixed", "b", "c") + joint("y", "fixed", "c", "b"))),
              HasSubstr("links are their own ancestors"));
  EXPECT_THAT(error_of(robot(link("a", 1) + link("b", 1) + joint("x", "fixed", "a", "b") +
                             joint("y", "fixed", "a", "b"))),
              HasSubstr("link 'b' has two parents: joints 'x' and 'y'"));
  EXPECT_THAT(error_of("<robot><link name='a'>\n<inertial><mass value='one'/></inertial></link>"
                       "</robot>"),
              HasSubstr("bad.urdf:2: 'value' of <mass> must be a number, found 'one'"));
}

}  // namespace
}  // namespace orthant
