// SPDX-License-Identifier: Apache-2.0
// Cylinders, meshes and height fields of scene files and robots; what is drawn of a robot.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/run.hpp"
#include "orthant/io/scene.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryFolder;

constexpr const char* kSquare =
    "v -1 -1 0\nv 1 -1 0\nv 1 1 0\nv -1 1 0\nv 0 0 0\nv 0 0 0\nf 1/1 2/2 3/3 -3//1\nf 5 6 1\n";

std::string binary_stl(const std::vector<float>& corners) {
  std::string out(80, ' ');
  const auto count = static_cast<std::uint32_t>(corners.size() / 9);
  out.append(reinterpret_cast<const char*>(&count), 4);
  for (std::uint32_t t = 0; t < count; ++t) {
    out.append(12, '\0');
    out.append(reinterpret_cast<const char*>(corners.data() + 9 * t), 36);
    out.append(2, '\0');
  }
  return out;
}

LoadedScene load(const TemporaryFolder& folder, const std::string& shape) {
  write_file(
      folder.file("scene.yaml"),
      "orthant: 1\nbodies:\n- {name: ground, motion: fixed, shapes: " + shape +
          "}\n- {name: ball, position: [0.2, 0.3, 0.1], shapes: {type: sphere, radius: 0.1}}\n");
  return load_scene(folder.file("scene.yaml"));
}

std::string refusal(const TemporaryFolder& folder, const std::string& shape) {
  try {
    load(folder, shape);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Ground, MeshesOfFilesCarryABallAndResolve) {
  const TemporaryFolder folder;
  write_file(folder.file("square.obj"), kSquare);
  write_file(folder.file("square.stl"), binary_stl({-1, -1, 0, 1, -1, 0, 1, 1, 0,  //
                                                    -1, -1, 0, 1, 1, 0, -1, 1, 0}));
  for (const char* file : {"square.obj", "square.stl"}) {
    const LoadedScene scene =
        load(folder, std::string("{type: mesh, file: ") + file + ", scale: 2}");
    const Shape& mesh = scene.model.shapes()[0].shape;
    ASSERT_EQ(mesh.kind(), ShapeKind::Mesh);
    EXPECT_EQ(mesh.topology().mesh->triangles.size(), 2u);
    State x = scene.state;
    EXPECT_EQ(rollout(scene.model, scene.parameters, scene.settings, x, 50).failed_steps, 0);
    EXPECT_NEAR(x.q[scene.model.body(scene.model.find_body("ball")).q_begin + 2], 0.1, 1e-8);
    const LoadedScene again = parse_scene(scene.resolved, "resolved");  // needs no file
    EXPECT_EQ(again.resolved, scene.resolved);
  }
  const LoadedScene obj = load(folder, "{type: mesh, file: square.obj}");
  EXPECT_THAT(::testing::PrintToString(obj.notes), HasSubstr("without area are left out"));
}

TEST(Ground, HeightFieldsCylindersConesAndRoundedHulls) {
  const TemporaryFolder folder;
  const LoadedScene scene = load(
      folder, "{type: height_field, half: [2, 1], rows: 2, heights: [0, 0, 0, 0.5, 0.5, 0.5]}");
  const Shape& field = scene.model.shapes()[0].shape;
  EXPECT_EQ(field.topology().mesh->triangles.size(), 4u);
  EXPECT_EQ(scene.parameters.get("shape/ground.scale_x"), 2);
  const LoadedScene others =
      load(folder,
           "[{type: cylinder, radius: 0.1, half_length: 0.2, position: [3, 0, 0]}, {type: cone, "
           "radius: 0.1, half_length: 0.2, position: [4, 0, 0]}, {type: rounded_hull, radius: "
           "0.05, points: [[0,0,0],[1,0,0],[0,1,0],[0,0,1]], position: [5, 0, 0]}]");
  EXPECT_EQ(others.model.shapes()[0].shape.kind(), ShapeKind::Cylinder);
  EXPECT_EQ(others.model.shapes()[1].shape.kind(), ShapeKind::Cone);
  EXPECT_TRUE(others.model.shapes()[2].shape.topology().rounded);
}

TEST(Ground, BadMeshesAreRefusedWithFileAndRule) {
  const TemporaryFolder folder;
  write_file(folder.file("bad.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n");
  EXPECT_THAT(refusal(folder, "{type: mesh, file: bad.obj}"), HasSubstr("bad.obj:4"));
  write_file(folder.file("short.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n");
  EXPECT_THAT(refusal(folder, "{type: mesh, file: short.obj}"), HasSubstr("three corners"));
  write_file(folder.file("none.obj"), "v 0 0 0\nv 1 0 0\nv 0 1 0\n");
  EXPECT_THAT(refusal(folder, "{type: mesh, file: none.obj}"), HasSubstr("no faces"));
  write_file(folder.file("flat.obj"), "v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n");
  EXPECT_THAT(refusal(folder, "{type: mesh, file: flat.obj}"), HasSubstr("area"));
  write_file(folder.file("nan.stl"), binary_stl({0, 0, 0, NAN, 0, 0, 0, 1, 0}));
  EXPECT_THAT(refusal(folder, "{type: mesh, file: nan.stl}"), HasSubstr("not finite"));
  std::string many = "v 0 0 0\nv 1 0 0\nv 0 1 0\n";
  for (int i = 0; i < 200'001; ++i) many += "f 1 2 3\n";
  write_file(folder.file("many.obj"), many);
  EXPECT_THAT(refusal(folder, "{type: mesh, file: many.obj}"), HasSubstr("200000"));
  write_file(folder.file("mesh.dae"), "<COLLADA/>");
  EXPECT_THAT(refusal(folder, "{type: mesh, file: mesh.dae}"), HasSubstr("fewer than three"));
  write_file(folder.file("mesh.ply"), "ply");
  EXPECT_THAT(refusal(folder, "{type: mesh, file: mesh.ply}"), HasSubstr("end_header"));
  write_file(folder.file("mesh.fbx"), "ply");
  EXPECT_THAT(refusal(folder, "{type: mesh, file: mesh.fbx}"), HasSubstr(".stl, .obj, .dae"));
  EXPECT_THAT(refusal(folder, "{type: mesh, points: [[0,0,0],[1,0,0],[0,1,0]], triangles: [0, 1]}"),
              HasSubstr("3 corners each"));
  EXPECT_THAT(refusal(folder, "{type: height_field, half: [1, 1], rows: 2, heights: [0, 1, 2]}"),
              HasSubstr("rows"));
}

TEST(Ground, HeightFieldOfMjcfIsReadFromTheFarSide) {
  const LoadedScene scene = parse_mjcf(
      "<mujoco><asset><hfield name='h' nrow='3' ncol='2' size='1 2 0.5 0.1' elevation='0 1 2 3 4 "
      "10'/>"
      "</asset><worldbody><geom type='hfield' hfield='h'/><body pos='0 0 2'><freejoint/>"
      "<geom type='sphere' size='0.1'/></body></worldbody></mujoco>",
      "field.xml");
  const TriangleMesh* mesh = nullptr;
  for (const ShapeInstance& s : scene.model.shapes())
    if (s.shape.kind() == ShapeKind::Mesh) mesh = s.shape.topology().mesh.get();
  ASSERT_NE(mesh, nullptr);
  // As MuJoCo 3 has them: rows from the smallest y, 0.4 1 / 0.2 0.3 / 0 0.1 times 0.5.
  const double z[] = {0.2, 0.5, 0.1, 0.15, 0, 0.05};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(mesh->corners[i][2], z[i], 1e-12);
}

/// A COLLADA file whose faces are `faces`, over the corners of a square and one above it.
std::string collada(const std::string& faces, const std::string& node = "") {
  return "<COLLADA><library_geometries><geometry id='g'><mesh><source id='p'><float_array>"
         "0 0 0  1 0 0  1 1 0  0 1 0  0.5 0.5 1</float_array></source><vertices id='v'>"
         "<input semantic='POSITION' source='#p'/></vertices>" +
         faces +
         "</mesh></geometry></library_geometries><library_visual_scenes><visual_scene><node>" +
         node +
         "<instance_geometry url='#g'/></node></visual_scene></library_visual_scenes></COLLADA>";
}

TEST(Ground, ColladaFacesOfAllKindsAreTriangles) {
  const TemporaryFolder folder;
  const auto mesh = [&](const std::string& faces, const std::string& node = "") {
    write_file(folder.file("mesh.dae"), collada(faces, node));
    const LoadedScene scene = load(folder, "{type: mesh, file: mesh.dae}");
    return *scene.model.shapes()[0].shape.topology().mesh;
  };
  const auto normal = [](const TriangleMesh& m, std::size_t t) {
    const auto& [a, b, c] = m.triangles[t];
    const auto at = [&](Index i) { return m.corners[static_cast<std::size_t>(i)]; };
    return Vec3((at(b) - at(a)).cross(at(c) - at(a)));
  };
  const std::string input = "<input semantic='VERTEX' source='#v' offset='0'/>";
  for (const std::string& faces :
       {"<triangles>" + input + "<p>0 1 2 0 2 3</p></triangles>",
        "<polylist>" + input +
            "<input semantic='NORMAL' offset='1'/><vcount>4</vcount><p>0 9 1 9 2 9 3 "
            "9</p></polylist>",
        "<polygons>" + input + "<p>0 1 2</p><p>0 2 3</p></polygons>",
        "<trifans>" + input + "<p>0 1 2 3</p></trifans>",
        "<tristrips>" + input + "<p>0 1 3 2</p></tristrips>"}) {
    const TriangleMesh m = mesh(faces);
    ASSERT_EQ(m.triangles.size(), 2u) << faces;
    for (std::size_t t = 0; t < 2; ++t) EXPECT_EQ(normal(m, t), Vec3(0, 0, 1)) << faces;
  }
  // Seen in a mirror, the outside stays outside.
  const TriangleMesh m =
      mesh("<triangles>" + input + "<p>0 1 2</p></triangles>", "<scale>-1 1 1</scale>");
  EXPECT_EQ(normal(m, 0), Vec3(0, 0, 1));
  write_file(folder.file("mesh.dae"), collada("<triangles>" + input + "<p>0 1 7</p></triangles>"));
  EXPECT_THAT(refusal(folder, "{type: mesh, file: mesh.dae}"), HasSubstr("the corner 7 of 5"));
  write_file(folder.file("mesh.dae"),
             collada("<polylist>" + input + "<vcount>4</vcount><p>0 1 2</p></polylist>"));
  EXPECT_THAT(refusal(folder, "{type: mesh, file: mesh.dae}"), HasSubstr("do not go together"));
}

TEST(Visuals, MeshesAndColoursReachTheModelOfARun) {
  const TemporaryFolder folder;
  write_file(folder.file("square.obj"), kSquare);
  write_file(folder.file("a.dae"),
             collada("<triangles><input semantic='VERTEX' source='#v'/><p>0 1 4</p></triangles>"));
  write_file(folder.file("robot.urdf"), R"(<robot name="r">
    <material name="blue"><color rgba="0 0 1 1"/></material>
    <link name="base"><inertial><origin xyz="0.1 0 0"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
      <visual><origin xyz="0 0 0.5"/><geometry><mesh filename="square.obj" scale="1 1 -1"/></geometry>
        <material name="blue"/></visual>
      <visual><geometry><cylinder radius="0.1" length="0.4"/></geometry></visual>
      <visual><geometry><mesh filename="a.dae"/></geometry></visual>
      <visual><geometry><mesh filename="lost.stl"/></geometry></visual>
      <collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>)");
  LoadedScene scene = load_scene(folder.file("robot.urdf"));
  ASSERT_EQ(scene.visuals.size(), 3u);
  EXPECT_LT((scene.visuals[0].X_BV.x - Vec3(-0.1, 0, 0.5)).norm(),
            1e-12);  // the frame is at the centre
  EXPECT_EQ(scene.visuals[0].colour, "#0000ff");
  const std::string notes = ::testing::PrintToString(scene.notes);
  EXPECT_THAT(notes, HasSubstr("not there"));
  scene.steps = 1;
  SceneRun run(std::move(scene), folder.file("run"));
  while (!run.done()) (void)run.step();
  run.save();
  const std::string model = read_file(folder.file("run") + "/model.json");
  EXPECT_THAT(model, HasSubstr("\"visuals\""));
  EXPECT_THAT(model, HasSubstr("#0000ff"));
  EXPECT_THAT(model, HasSubstr("\"cylinder\""));
  EXPECT_THAT(model, Not(HasSubstr("left_out")));
}

}  // namespace
}  // namespace orthant
