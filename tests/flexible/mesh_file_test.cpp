// SPDX-License-Identifier: Apache-2.0
// Gmsh and VTK texts give the mesh they describe; every cut and every wrong word is named.
#include "orthant/model/mesh_file.hpp"

#include <gtest/gtest.h>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

const char* const kGmsh2 = R"($MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
1
3 1 "body"
$EndPhysicalNames
$Nodes
5
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
10 1 1 1
$EndNodes
$Elements
3
1 2 2 1 1 1 2 3
2 4 2 1 1 1 2 3 4
3 4 2 1 1 2 3 4 10
$EndElements
)";

const char* const kGmsh4 = R"($MeshFormat
4.1 0 8
$EndMeshFormat
$Entities
0 0 0 1
1 0 0 0 1 1 1 0 0
$EndEntities
$Nodes
2 5 1 10
2 1 1 2
1
2
0 0 0 0.5 0.5
1 0 0 0.5 0.5
3 1 0 3
3
4
10
0 1 0
0 0 1
1 1 1
$EndNodes
$Elements
2 3 1 3
2 1 2 1
1 1 2 3
3 1 4 2
2 1 2 3 4
3 2 3 4 10
$EndElements
)";

const char* const kVtu = R"(<?xml version="1.0"?>
<VTKFile type="UnstructuredGrid" version="0.1" byte_order="LittleEndian">
 <UnstructuredGrid>
  <Piece NumberOfPoints="5" NumberOfCells="3">
   <Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">
     0 0 0  1 0 0  0 1 0
     0 0 1  1 1 1
   </DataArray></Points>
   <Cells>
    <DataArray type="Int64" Name="connectivity" format="ascii">0 1 2 0 1 2 3 1 2 3 4</DataArray>
    <DataArray type="Int64" Name="offsets" format="ascii">3 7 11</DataArray>
    <DataArray type="UInt8" Name="types" format="ascii">5 10 10</DataArray>
   </Cells>
  </Piece>
 </UnstructuredGrid>
</VTKFile>
)";

TEST(MeshFile, AllFormatsGiveTheSameMesh) {
  for (const Mesh& mesh :
       {parse_gmsh(kGmsh2, "a.msh"), parse_gmsh(kGmsh4, "b.msh"), parse_vtu(kVtu, "c.vtu")}) {
    EXPECT_EQ(mesh.dim, 3);
    ASSERT_EQ(mesh.node_count(), 5);
    ASSERT_EQ(mesh.element_count(), 2);
    EXPECT_EQ(mesh.elements[1], (std::array<Index, 4>{1, 2, 3, 4}));
    EXPECT_EQ(mesh.nodes[4], Vec3(1, 1, 1));
    check_mesh(mesh, "mesh");
    EXPECT_NEAR(element_volume(mesh, 0) + element_volume(mesh, 1), 1.0 / 6 + 1.0 / 3, 1e-15);
  }
}

template <class Parse>
std::string message(Parse&& parse) {
  try {
    (void)parse();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(MeshFile, EveryCutIsNoticed) {
  const auto check = [](const std::string& text, auto parse) {
    for (std::size_t cut = 0; cut + 4 < text.size(); ++cut) {
      const std::string part = text.substr(0, cut);
      const std::string what = message([&] { return parse(part, "cut"); });
      // What was cut after the last section that matters is not missed.
      if (what.empty())
        EXPECT_GT(cut, text.size() - 70) << cut;
      else
        EXPECT_EQ(what.substr(0, 4), "cut:") << what;
    }
  };
  check(kGmsh2, [](std::string_view t, const std::string& n) { return parse_gmsh(t, n); });
  check(kGmsh4, [](std::string_view t, const std::string& n) { return parse_gmsh(t, n); });
  check(kVtu, [](std::string_view t, const std::string& n) { return parse_vtu(t, n); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

TEST(MeshFile, WrongWordsAreNamed) {
  const auto gmsh = [](const std::string& text) {
    return message([&] { return parse_gmsh(text, "m.msh"); });
  };
  EXPECT_NE(gmsh(replaced(kGmsh2, "2.2 0 8", "2.2 1 8")).find("binary"), std::string::npos);
  EXPECT_NE(gmsh(replaced(kGmsh2, "2.2 0 8", "3 0 8")).find("version 3"), std::string::npos);
  EXPECT_EQ(gmsh(replaced(kGmsh2, "4 0 0 1\n", "4 0 zero 1\n")),
            "m.msh:13: expected y of a node, got 'zero'");
  EXPECT_NE(gmsh(replaced(kGmsh2, "2 3 4 10", "2 3 4 11")).find("corner 11 is no node"),
            std::string::npos);
  EXPECT_NE(gmsh(replaced(kGmsh2, "10 1 1 1", "4 1 1 1")).find("given twice"), std::string::npos);
  const auto vtu = [](const std::string& text) {
    return message([&] { return parse_vtu(text, "m.vtu"); });
  };
  EXPECT_NE(vtu(replaced(kVtu, "format=\"ascii\"", "format=\"appended\"")).find("appended"),
            std::string::npos);
  EXPECT_NE(vtu(replaced(kVtu, "1 2 3 4<", "1 2 3 9<")).find("corner 9"), std::string::npos);
  EXPECT_THROW((void)read_mesh("beam.stl"), Error);
  EXPECT_THROW((void)read_mesh("/nowhere/beam.msh"), Error);
}

}  // namespace
}  // namespace orthant
