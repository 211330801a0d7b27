// SPDX-License-Identifier: Apache-2.0
// Built-in meshes fill their volume and close their surface; bad meshes are named.
#include "orthant/model/mesh.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <map>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/model/graded_mesh.hpp"

namespace orthant {
namespace {

double volume(const Mesh& mesh) {
  double sum = 0;
  for (Index e = 0; e < mesh.element_count(); ++e) sum += element_volume(mesh, e);
  return sum;
}

/// Every edge of the surface is walked once in each direction.
bool closed(const Mesh& mesh) {
  std::map<std::pair<Index, Index>, int> edges;
  const auto faces = surface_faces(mesh);
  for (const auto& face : faces) {
    if (mesh.dim == 2) {
      ++edges[{face[0], 0}];
      --edges[{face[1], 0}];
      continue;
    }
    for (int c = 0; c < 3; ++c) {
      ++edges[{face[c], face[(c + 1) % 3]}];
      --edges[{face[(c + 1) % 3], face[c]}];
    }
  }
  for (const auto& [edge, count] : edges)
    if (count != 0) return false;
  return !faces.empty();
}

/// Volume from the surface alone (divergence theorem): right only where faces point outward.
double enclosed(const Mesh& mesh) {
  double sum = 0;
  for (const auto& f : surface_faces(mesh)) {
    const Vec3 &a = mesh.nodes[f[0]], &b = mesh.nodes[f[1]];
    sum += mesh.dim == 2 ? 0.5 * (a[0] * b[1] - a[1] * b[0]) : a.cross(b).dot(mesh.nodes[f[2]]) / 6;
  }
  return sum;
}

TEST(Mesh, BallsMayBeFineAtAPole) {
  const double finest = 0.02;
  const Mesh mesh = graded_ball_mesh(2, 10, finest), even = ball_mesh(2, 10);
  check_mesh(mesh, "ball");
  EXPECT_TRUE(closed(mesh));
  EXPECT_NEAR(volume(mesh), enclosed(mesh), 1e-12);
  double aside = 10, below = 10, worst = 1, worst_even = 1;
  bool pole = false;
  for (std::size_t i = 0; i < mesh.nodes.size(); ++i) {
    const Vec3& x = mesh.nodes[i];
    EXPECT_NEAR(even.nodes[i].norm() == 2 ? x.norm() : 2, 2, 1e-12);  // onto itself
    const double off = (x - Vec3(0, 0, -2)).norm();
    pole = pole || off < 1e-12;
    if (off > 1e-12 && std::abs(x.norm() - 2) < 1e-12) aside = std::min(aside, off);
    if (off > 1e-12 && x[0] == 0 && x[1] == 0) below = std::min(below, off);
  }
  EXPECT_TRUE(pole);
  EXPECT_NEAR(aside, 2 * finest, 0.15 * 2 * finest);
  EXPECT_NEAR(below, 2 * finest, 0.15 * 2 * finest);
  // Angles are kept, so the worst element is no worse than where cells are as large as the ball.
  for (Index e = 0; e < mesh.element_count(); ++e) {
    worst = std::min(worst, element_quality(mesh, e));
    worst_even = std::min(worst_even, element_quality(even, e));
  }
  EXPECT_GT(worst, 0.25 * worst_even);
  EXPECT_THROW((void)graded_ball_mesh(1, 10, 0.3), Error);
  EXPECT_THROW((void)graded_ball_mesh(1, 9, 0.1), Error);
}

TEST(Mesh, BoxesFillTheirVolume) {
  for (const auto& [nx, ny, nz] : {std::array{1, 1, 1}, {2, 3, 4}, {5, 2, 1}}) {
    const Mesh mesh = box_mesh(Vec3(2, 0.5, 3), nx, ny, nz);
    check_mesh(mesh, "box");
    EXPECT_EQ(mesh.element_count(), 6 * nx * ny * nz);
    EXPECT_NEAR(volume(mesh), 3, 1e-12);
    EXPECT_TRUE(closed(mesh));
    EXPECT_NEAR(enclosed(mesh), 3, 1e-12);
  }
}

TEST(Mesh, RoundMeshesApproachTheirVolume) {
  double last = 1;
  for (const Index n : {4, 8, 16}) {
    const Mesh ball = ball_mesh(2, n), cylinder = cylinder_mesh(0.5, 3, n, 4),
               disc = disc_mesh(1, n);
    for (const Mesh* mesh : {&ball, &cylinder, &disc}) {
      check_mesh(*mesh, "round");
      EXPECT_TRUE(closed(*mesh));
      EXPECT_NEAR(enclosed(*mesh), volume(*mesh), 1e-12);
    }
    const double pi = std::numbers::pi;
    const double error = 1 - volume(ball) / (4.0 / 3 * pi * 8);
    EXPECT_GT(error, 0);
    EXPECT_LT(error, 0.4 * last);  // second order
    last = error;
    EXPECT_NEAR(volume(cylinder), pi * 0.25 * 3, 3.0 / (n * n) * 2.4);
    EXPECT_NEAR(volume(disc), pi, 3.0 / (n * n) * pi);
    for (Index e = 0; e < ball.element_count(); ++e) EXPECT_GT(element_quality(ball, e), 0.05);
  }
}

std::string message(const Mesh& mesh) {
  try {
    check_mesh(mesh, "mesh");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Mesh, FaultsAreNamed) {
  Mesh mesh = box_mesh(Vec3::Ones(), 1, 1, 1);
  EXPECT_EQ(message(mesh), "");
  Mesh bad = mesh;
  std::swap(bad.elements[2][0], bad.elements[2][1]);
  EXPECT_NE(message(bad).find("tetrahedron 2"), std::string::npos) << message(bad);
  EXPECT_NE(message(bad).find("inverted"), std::string::npos);
  bad = mesh;
  bad.nodes.push_back(Vec3(9, 9, 9));
  EXPECT_NE(message(bad).find("node 8 belongs to no element"), std::string::npos) << message(bad);
  bad = mesh;
  bad.elements[1][3] = 77;
  EXPECT_NE(message(bad).find("77"), std::string::npos) << message(bad);
  bad = mesh;
  for (Vec3& x : bad.nodes) x[2] *= 1e-9;
  EXPECT_NE(message(bad).find("sliver"), std::string::npos) << message(bad);
  bad = mesh;
  bad.elements.clear();
  EXPECT_NE(message(bad).find("no elements"), std::string::npos) << message(bad);
  bad = mesh;
  bad.nodes[3][1] = NAN;
  EXPECT_NE(message(bad).find("node 3"), std::string::npos) << message(bad);
  EXPECT_THROW(ball_mesh(1, 3), Error);
  EXPECT_THROW(box_mesh(Vec3(1, 0, 1), 1, 1, 1), Error);
}

}  // namespace
}  // namespace orthant
