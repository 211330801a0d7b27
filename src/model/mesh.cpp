// SPDX-License-Identifier: Apache-2.0
// model/mesh.cpp: sizes => structured meshes; a mesh => its surface, its faults.
// A cell is cut along the diagonal from one corner to the opposite one (Kuhn): the tetrahedra are
// the paths that walk the three edge directions in any order. Neighbours that are mirror images cut
// their common face along the same diagonal. Balls and discs are boxes pushed outward shell by
// shell; there the diagonals point away from the centre, so every element has an inner corner and
// none lies flat in the surface.
#include "orthant/model/mesh.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <string>

#include "model/rules.hpp"
#include "orthant/base/error.hpp"
#include "orthant/model/graded_mesh.hpp"

namespace orthant {
namespace {

void need_cells(std::string_view where, Index n, bool even) {
  if (n < 1 || (even && n % 2 != 0))
    internal::refuse(where, "the number of cells", even ? "even and > 0" : "> 0",
                     static_cast<double>(n));
}

/// How the cells along one axis are mirrored: every second one, or those before the middle.
enum class Mirror : std::uint8_t { EverySecond, BeforeMiddle };

bool mirrored(Mirror how, Index i, Index n) {
  return how == Mirror::EverySecond ? i % 2 == 1 : 2 * i < n;
}

/// Grid of unit cells with coordinates in [0, n_k]; the caller moves the nodes.
Mesh grid(int dim, const std::array<Index, 3>& n, const std::array<Mirror, 3>& how) {
  Mesh mesh;
  mesh.dim = dim;
  const Index layers = dim == 3 ? n[2] + 1 : 1;
  const auto node = [&](Index i, Index j, Index k) {
    return (k * (n[1] + 1) + j) * (n[0] + 1) + i;
  };
  for (Index k = 0; k < layers; ++k)
    for (Index j = 0; j <= n[1]; ++j)
      for (Index i = 0; i <= n[0]; ++i) mesh.nodes.emplace_back(i, j, k);
  constexpr int kOrders[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  const Index cells_z = dim == 3 ? n[2] : 1;
  for (Index k = 0; k < cells_z; ++k)
    for (Index j = 0; j < n[1]; ++j)
      for (Index i = 0; i < n[0]; ++i) {
        const Index cell[3] = {i, j, k};
        bool flip[3] = {};
        int flips = 0;
        for (int a = 0; a < dim; ++a) {
          flip[a] = mirrored(how[a], cell[a], n[a]);
          flips += flip[a];
        }
        const auto corner = [&](const int* bits) {
          Index at[3] = {i, j, k};
          for (int a = 0; a < dim; ++a) at[a] += (bits[a] != 0) != flip[a];
          return node(at[0], at[1], at[2]);
        };
        for (int order = 0; order < 6; ++order) {
          const int* walk = kOrders[order];
          if (dim == 2 && walk[2] != 2) continue;
          std::array<Index, 4> element = {-1, -1, -1, -1};
          int bits[3] = {0, 0, 0};
          element[0] = corner(bits);
          for (int a = 0; a < dim; ++a) {
            bits[walk[a]] = 1;
            element[static_cast<std::size_t>(a) + 1] = corner(bits);
          }
          // Even orders of the axes are right-handed; each mirror turns that around.
          const bool right = (order < 3) == (flips % 2 == 0);
          if (!right) std::swap(element[1], element[2]);
          mesh.elements.push_back(element);
        }
      }
  return mesh;
}

/// The cube [−1, 1]^k on the first `dims` coordinates => the ball, shell by shell.
void inflate(Vec3& x, int first, int dims) {
  double largest = 0, square = 0;
  for (int a = first; a < first + dims; ++a) {
    largest = std::max(largest, std::abs(x[a]));
    square += x[a] * x[a];
  }
  if (square == 0) return;
  const double factor = largest / std::sqrt(square);
  for (int a = first; a < first + dims; ++a) x[a] *= factor;
}

}  // namespace

Mesh box_mesh(const Vec3& size, Index nx, Index ny, Index nz) {
  for (int a = 0; a < 3; ++a) internal::need_positive("box_mesh", "size", size[a]);
  for (const Index n : {nx, ny, nz}) need_cells("box_mesh", n, false);
  Mesh mesh =
      grid(3, {nx, ny, nz}, {Mirror::EverySecond, Mirror::EverySecond, Mirror::EverySecond});
  const Vec3 cell(size[0] / nx, size[1] / ny, size[2] / nz);
  for (Vec3& x : mesh.nodes) x = x.cwiseProduct(cell);
  return mesh;
}

Mesh cylinder_mesh(double radius, double length, Index n, Index m) {
  internal::need_positive("cylinder_mesh", "radius", radius);
  internal::need_positive("cylinder_mesh", "length", length);
  need_cells("cylinder_mesh", n, true);
  need_cells("cylinder_mesh", m, false);
  Mesh mesh = grid(3, {m, n, n}, {Mirror::EverySecond, Mirror::BeforeMiddle, Mirror::BeforeMiddle});
  for (Vec3& x : mesh.nodes) {
    x = Vec3(x[0] / m * length, 2 * x[1] / n - 1, 2 * x[2] / n - 1);
    inflate(x, 1, 2);
    x[1] *= radius, x[2] *= radius;
  }
  return mesh;
}

Mesh ball_mesh(double radius, Index n) {
  internal::need_positive("ball_mesh", "radius", radius);
  need_cells("ball_mesh", n, true);
  Mesh mesh =
      grid(3, {n, n, n}, {Mirror::BeforeMiddle, Mirror::BeforeMiddle, Mirror::BeforeMiddle});
  for (Vec3& x : mesh.nodes) {
    x = (2.0 / n) * x - Vec3::Ones();
    inflate(x, 0, 3);
    x *= radius;
  }
  return mesh;
}

Mesh graded_ball_mesh(double radius, Index n, double finest) {
  internal::need_positive("graded_ball_mesh", "radius", radius);
  need_cells("graded_ball_mesh", n, true);
  if (!(finest > 0 && finest * n <= 2))
    internal::refuse("graded_ball_mesh", "finest", "in (0, 2/n]", finest);
  // A Möbius map of the ball onto itself: angles stay, so no element gets worse; at the pole
  // lengths shrink to (1 − b)/(1 + b), and at a distance r grow again with 1 + (r/2)²/shrink².
  Mesh mesh = ball_mesh(1, n);
  const double shrink = 0.5 * n * finest, b = (1 - shrink) / (1 + shrink);
  for (Vec3& x : mesh.nodes) {
    const double along = -2 * b * x[2], square = x.squaredNorm();
    Vec3 y = (1 - b * b) * x;
    y[2] -= (1 + along + square) * b;
    x = radius / (1 + along + b * b * square) * y;
  }
  return mesh;
}

Mesh rectangle_mesh(double x, double y, Index nx, Index ny) {
  internal::need_positive("rectangle_mesh", "x", x);
  internal::need_positive("rectangle_mesh", "y", y);
  for (const Index n : {nx, ny}) need_cells("rectangle_mesh", n, false);
  Mesh mesh = grid(2, {nx, ny, 1}, {Mirror::EverySecond, Mirror::EverySecond, Mirror::EverySecond});
  for (Vec3& node : mesh.nodes) node = Vec3(node[0] / nx * x, node[1] / ny * y, 0);
  return mesh;
}

Mesh disc_mesh(double radius, Index n) {
  internal::need_positive("disc_mesh", "radius", radius);
  need_cells("disc_mesh", n, true);
  Mesh mesh = grid(2, {n, n, 1}, {Mirror::BeforeMiddle, Mirror::BeforeMiddle, Mirror::EverySecond});
  for (Vec3& x : mesh.nodes) {
    x = Vec3(2 * x[0] / n - 1, 2 * x[1] / n - 1, 0);
    inflate(x, 0, 2);
    x *= radius;
  }
  return mesh;
}

double element_volume(const Mesh& mesh, Index element) {
  const auto& e = mesh.elements[static_cast<std::size_t>(element)];
  const Vec3& x0 = mesh.nodes[static_cast<std::size_t>(e[0])];
  const Vec3 a = mesh.nodes[static_cast<std::size_t>(e[1])] - x0;
  const Vec3 b = mesh.nodes[static_cast<std::size_t>(e[2])] - x0;
  if (mesh.dim == 2) return 0.5 * (a[0] * b[1] - a[1] * b[0]);
  const Vec3 c = mesh.nodes[static_cast<std::size_t>(e[3])] - x0;
  return a.cross(b).dot(c) / 6;
}

double element_quality(const Mesh& mesh, Index element) {
  const auto& e = mesh.elements[static_cast<std::size_t>(element)];
  const int corners = mesh.dim + 1;
  double square = 0;
  for (int i = 0; i < corners; ++i)
    for (int j = 0; j < i; ++j)
      square += (mesh.nodes[static_cast<std::size_t>(e[static_cast<std::size_t>(i)])] -
                 mesh.nodes[static_cast<std::size_t>(e[static_cast<std::size_t>(j)])])
                    .squaredNorm();
  const double volume = std::abs(element_volume(mesh, element));
  if (!(square > 0)) return 0;
  return mesh.dim == 3 ? 12 * std::cbrt(9 * volume * volume) / square
                       : 4 * std::sqrt(3.0) * volume / square;
}

void check_mesh(const Mesh& mesh, std::string_view where) {
  const std::string at(where);
  const std::string kind = mesh.dim == 3 ? "tetrahedron " : "triangle ";
  if (mesh.dim != 2 && mesh.dim != 3) internal::refuse(at, "mesh dim", "2 or 3", mesh.dim);
  if (mesh.elements.empty()) throw Error(at, "the mesh has no elements");
  for (std::size_t i = 0; i < mesh.nodes.size(); ++i) {
    internal::need_finite(at + ", node " + std::to_string(i), "position", mesh.nodes[i]);
    if (mesh.dim == 2 && mesh.nodes[i][2] != 0)
      internal::refuse(at + ", node " + std::to_string(i), "z of a planar mesh", "0",
                       mesh.nodes[i][2]);
  }
  std::vector<char> used(mesh.nodes.size(), 0);
  for (Index i = 0; i < mesh.element_count(); ++i) {
    const auto& e = mesh.elements[static_cast<std::size_t>(i)];
    for (std::size_t c = 0; c <= static_cast<std::size_t>(mesh.dim); ++c) {
      if (e[c] < 0 || e[c] >= mesh.node_count())
        internal::refuse(at + ", " + kind + std::to_string(i), "a corner",
                         "a node, 0 … " + std::to_string(mesh.node_count() - 1),
                         static_cast<double>(e[c]));
      used[static_cast<std::size_t>(e[c])] = 1;
    }
    const double quality = element_quality(mesh, i);
    if (!(quality >= kSliverQuality))
      internal::refuse(at + ", " + kind + std::to_string(i), "the quality (a sliver?)",
                       ">= " + to_text(kSliverQuality), quality);
    const double volume = element_volume(mesh, i);
    if (!(volume > 0))
      internal::refuse(at + ", " + kind + std::to_string(i), "the volume (inverted?)", "> 0",
                       volume);
  }
  const auto unused = std::find(used.begin(), used.end(), 0);
  if (unused != used.end())
    throw Error(at, "node " + std::to_string(unused - used.begin()) + " belongs to no element");
}

std::vector<std::array<Index, 3>> surface_faces(const Mesh& mesh) {
  // Outward faces of a positively oriented element, each opposite to one corner.
  constexpr int kTet[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};
  constexpr int kTriangle[3][2] = {{1, 2}, {2, 0}, {0, 1}};
  struct Face {
    std::array<Index, 3> key, nodes;
    std::size_t order;
  };
  std::vector<Face> all;
  for (const auto& e : mesh.elements) {
    for (int f = 0; f <= mesh.dim; ++f) {
      Face face{{-1, -1, -1}, {-1, -1, -1}, all.size()};
      for (int c = 0; c < mesh.dim; ++c) {
        const int corner = mesh.dim == 3 ? kTet[f][c] : kTriangle[f][c];
        face.nodes[static_cast<std::size_t>(c)] = e[static_cast<std::size_t>(corner)];
      }
      face.key = face.nodes;
      std::sort(face.key.begin(), face.key.end());
      all.push_back(face);
    }
  }
  std::sort(all.begin(), all.end(), [](const Face& a, const Face& b) {
    return a.key != b.key ? a.key < b.key : a.order < b.order;
  });
  std::vector<Face> outer;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i + 1;
    while (j < all.size() && all[j].key == all[i].key) ++j;
    if (j == i + 1) outer.push_back(all[i]);
    i = j;
  }
  std::sort(outer.begin(), outer.end(),
            [](const Face& a, const Face& b) { return a.order < b.order; });
  std::vector<std::array<Index, 3>> faces;
  faces.reserve(outer.size());
  for (const Face& face : outer) faces.push_back(face.nodes);
  return faces;
}

}  // namespace orthant
