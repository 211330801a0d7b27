// SPDX-License-Identifier: Apache-2.0
// shape/mesh.cpp: corners and triangles from a caller => a checked mesh with neighbours and a tree.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "orthant/base/error.hpp"
#include "orthant/shape/shape.hpp"

namespace orthant {
namespace {

constexpr std::size_t kMaxTriangles = 2'000'000;
constexpr Index kLeaf = 4;  // triangles of the tree

/// Corners at the same place become one; returns the new number of each.
std::vector<Index> join_corners(std::span<const Vec3> corners, std::vector<Vec3>& kept) {
  std::vector<Index> order(corners.size()), number(corners.size());
  std::iota(order.begin(), order.end(), 0);
  const auto less = [&](Index i, Index j) {
    const Vec3 &a = corners[i], &b = corners[j];
    return std::tie(a[0], a[1], a[2], i) < std::tie(b[0], b[1], b[2], j);
  };
  std::sort(order.begin(), order.end(), less);
  // The first of equals stands for all, and the order of the input stays.
  std::vector<Index> first(corners.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    first[order[k]] =
        k > 0 && corners[order[k]] == corners[order[k - 1]] ? first[order[k - 1]] : order[k];
  for (std::size_t i = 0; i < corners.size(); ++i) {
    if (first[i] == static_cast<Index>(i)) {
      number[i] = static_cast<Index>(kept.size());
      kept.push_back(corners[i]);
    } else {
      number[i] = number[first[i]];
    }
  }
  return number;
}

bool has_area(const Vec3& a, const Vec3& b, const Vec3& c) {
  const double longest =
      std::max({(b - a).squaredNorm(), (c - b).squaredNorm(), (a - c).squaredNorm()});
  return (b - a).cross(c - a).norm() > 1e-10 * longest;
}

void find_neighbours(TriangleMesh& m) {
  struct Side {
    Index low, high, triangle;
    int side;
  };
  std::vector<Side> sides;
  sides.reserve(3 * m.triangles.size());
  for (std::size_t t = 0; t < m.triangles.size(); ++t)
    for (int k = 0; k < 3; ++k) {
      const Index a = m.triangles[t][k], b = m.triangles[t][(k + 1) % 3];
      sides.push_back({std::min(a, b), std::max(a, b), static_cast<Index>(t), k});
    }
  std::sort(sides.begin(), sides.end(), [](const Side& x, const Side& y) {
    return std::tie(x.low, x.high, x.triangle) < std::tie(y.low, y.high, y.triangle);
  });
  m.across.assign(m.triangles.size(), {-1, -1, -1});
  std::vector<Index> degree(m.corners.size() + 1, 0);
  for (std::size_t i = 0; i < sides.size();) {
    std::size_t end = i + 1;
    while (end < sides.size() && sides[end].low == sides[i].low && sides[end].high == sides[i].high)
      ++end;
    // Two triangles per side; where more meet, each takes the next one.
    for (std::size_t k = i; end - i > 1 && k < end; ++k) {
      const Side& other = sides[k + 1 < end ? k + 1 : i];
      m.across[sides[k].triangle][sides[k].side] =
          m.triangles[other.triangle][(other.side + 2) % 3];
    }
    ++degree[sides[i].low + 1];
    ++degree[sides[i].high + 1];
    sides[i].side = -1;  // marks the one that stands for the edge
    i = end;
  }
  std::partial_sum(degree.begin(), degree.end(), degree.begin());
  m.ring_start = degree;
  m.ring.resize(static_cast<std::size_t>(degree.back()));
  for (const Side& s : sides) {
    if (s.side >= 0) continue;
    m.ring[degree[s.low]++] = s.high;
    m.ring[degree[s.high]++] = s.low;
  }
}

TriangleMesh::Box box_of(const TriangleMesh& m, Index begin, Index end) {
  TriangleMesh::Box box{Vec3::Constant(std::numeric_limits<double>::infinity()),
                        Vec3::Constant(-std::numeric_limits<double>::infinity())};
  for (Index i = begin; i < end; ++i)
    for (const Index c : m.triangles[m.order[i]]) {
      box.lo = box.lo.cwiseMin(m.corners[c]);
      box.hi = box.hi.cwiseMax(m.corners[c]);
    }
  return box;
}

/// Halves at the median of the longest direction.
void grow_tree(TriangleMesh& m) {
  m.order.resize(m.triangles.size());
  std::iota(m.order.begin(), m.order.end(), 0);
  struct Task {
    Index node, begin, end;
  };
  std::vector<Task> tasks = {{0, 0, static_cast<Index>(m.order.size())}};
  m.nodes.emplace_back();
  while (!tasks.empty()) {
    const Task task = tasks.back();
    tasks.pop_back();
    const TriangleMesh::Box box = box_of(m, task.begin, task.end);
    m.nodes[task.node].box = box;
    if (task.end - task.begin <= kLeaf) {
      m.nodes[task.node].first = task.begin;
      m.nodes[task.node].count = task.end - task.begin;
      continue;
    }
    int axis = 0;
    (box.hi - box.lo).maxCoeff(&axis);
    const auto middle_of = [&](Index t) {
      const auto& c = m.triangles[t];
      return m.corners[c[0]][axis] + m.corners[c[1]][axis] + m.corners[c[2]][axis];
    };
    const Index middle = task.begin + (task.end - task.begin) / 2;
    std::nth_element(m.order.begin() + task.begin, m.order.begin() + middle,
                     m.order.begin() + task.end, [&](Index i, Index j) {
                       const double x = middle_of(i), y = middle_of(j);
                       return x != y ? x < y : i < j;
                     });
    const Index left = static_cast<Index>(m.nodes.size());
    m.nodes[task.node].first = left;
    m.nodes.resize(m.nodes.size() + 2);
    tasks.push_back({left, task.begin, middle});
    tasks.push_back({left + 1, middle, task.end});
  }
}

}  // namespace

Shape Shape::mesh(std::span<const Vec3> corners,
                  std::span<const std::array<std::int32_t, 3>> triangles, std::string_view name,
                  std::size_t* left_out) {
  if (triangles.empty()) throw Error(name, "a mesh needs at least one triangle");
  if (triangles.size() > kMaxTriangles || corners.size() > 3 * kMaxTriangles)
    throw Error(name, "a mesh may have at most " + std::to_string(kMaxTriangles) +
                          " triangles, this one has " + std::to_string(triangles.size()) + " and " +
                          std::to_string(corners.size()) + " corners");
  for (std::size_t i = 0; i < corners.size(); ++i)
    if (!corners[i].allFinite())
      throw Error(name, "corner " + std::to_string(i) + " must be finite");
  for (std::size_t t = 0; t < triangles.size(); ++t)
    for (const std::int32_t c : triangles[t])
      if (c < 0 || static_cast<std::size_t>(c) >= corners.size())
        throw Error(name, "triangle " + std::to_string(t) + " has the corner " + std::to_string(c) +
                              "; there are " + std::to_string(corners.size()));
  auto mesh = std::make_shared<TriangleMesh>();
  const std::vector<Index> number = join_corners(corners, mesh->corners);
  std::size_t flat = 0;
  for (const auto& t : triangles) {
    const std::array<Index, 3> c = {number[t[0]], number[t[1]], number[t[2]]};
    if (c[0] != c[1] && c[1] != c[2] && c[2] != c[0] &&
        has_area(mesh->corners[c[0]], mesh->corners[c[1]], mesh->corners[c[2]]))
      mesh->triangles.push_back(c);
    else
      ++flat;
  }
  if (left_out != nullptr) *left_out = flat;
  if (mesh->triangles.empty()) throw Error(name, "no triangle of the mesh has an area");
  find_neighbours(*mesh);
  grow_tree(*mesh);
  auto topology = std::make_shared<HullTopology>();
  topology->mesh = std::move(mesh);
  return {ShapeKind::Mesh, 3, name, {1, 1, 1}, std::move(topology)};
}

Shape Shape::height_field(std::span<const double> heights, int rows, int columns, double half_x,
                          double half_y, std::string_view name) {
  if (rows < 2 || columns < 2)
    throw Error(name, "a height field needs at least 2 rows and 2 columns, got " +
                          std::to_string(rows) + " x " + std::to_string(columns));
  const auto count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
  if (heights.size() != count)
    throw Error(name, std::to_string(rows) + " x " + std::to_string(columns) + " heights need " +
                          std::to_string(count) + " numbers, got " +
                          std::to_string(heights.size()));
  if (2 * count > kMaxTriangles)
    throw Error(name, "a height field may have at most " + std::to_string(kMaxTriangles / 2) +
                          " heights, got " + std::to_string(count));
  std::vector<Vec3> corners;
  std::vector<std::array<std::int32_t, 3>> triangles;
  corners.reserve(count);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      const double z = heights[static_cast<std::size_t>(i) * columns + j];
      if (!std::isfinite(z))
        throw Error(name, "height " + std::to_string(j) + " of row " + std::to_string(i) +
                              " must be finite");
      corners.emplace_back(2.0 * j / (columns - 1) - 1, 2.0 * i / (rows - 1) - 1, z);
    }
  for (int i = 0; i + 1 < rows; ++i)
    for (int j = 0; j + 1 < columns; ++j) {
      const std::int32_t a = i * columns + j, b = a + 1, c = b + columns, d = a + columns;
      triangles.push_back({a, b, c});
      triangles.push_back({a, c, d});
    }
  const double scale[] = {half_x, half_y, 1};
  return mesh(corners, triangles, name).with_parameters(scale);
}

}  // namespace orthant
