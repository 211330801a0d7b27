// SPDX-License-Identifier: Apache-2.0
// io/scene/mesh_file.cpp: mesh files => corner points, and the hulls they stand for.
// A mesh mostly stands for its convex hull; its triangles: mesh_triangles.cpp.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <sstream>

#include "io/scene/expression.hpp"
#include "io/scene/scene_reader.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

constexpr std::size_t kHeader = 84, kTriangle = 50;  // bytes of a binary STL
constexpr std::size_t kMaxPieces = 256;              // hulls for one mesh

bool is_binary_stl(const std::string& data) {
  if (data.size() < kHeader) return false;
  std::uint32_t count = 0;
  std::memcpy(&count, data.data() + 80, 4);
  return data.size() == kHeader + std::size_t{count} * kTriangle;
}

std::vector<Vec3> binary_stl_points(const std::string& data) {
  std::vector<Vec3> points;
  for (std::size_t at = kHeader; at + kTriangle <= data.size(); at += kTriangle) {
    float x[9];  // after the normal
    std::memcpy(x, data.data() + at + 12, sizeof x);
    for (int corner = 0; corner < 3; ++corner)
      points.emplace_back(x[3 * corner], x[3 * corner + 1], x[3 * corner + 2]);
  }
  return points;
}

/// Lines "<word> x y z", whatever else is in the file.
std::vector<Vec3> text_points(const std::string& data, const std::string& word,
                              const std::string& path) {
  std::vector<Vec3> points;
  std::istringstream lines(data);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string first, text[3];
    if (!(words >> first) || first != word) continue;
    Vec3 p = Vec3::Zero();
    for (int c = 0; c < 3; ++c) {
      words >> text[c];
      if (!read_number(text[c], p[c]))
        throw Error(path + ":" + std::to_string(number), "expected three coordinates");
    }
    points.push_back(p);
  }
  return points;
}

/// How many corners have been read where each object of an OBJ file ends.
std::vector<std::size_t> object_ends(const std::string& data) {
  std::vector<std::size_t> ends;
  std::size_t corners = 0;
  const auto end = [&] {
    if (corners > (ends.empty() ? 0 : ends.back())) ends.push_back(corners);
  };
  std::istringstream lines(data);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("v ")) ++corners;
    if (line.starts_with("o ")) end();
  }
  end();
  return ends;
}

}  // namespace

std::vector<Vec3> read_mesh_points(const std::string& path) {
  const std::string data = read_regular_file(path, kMaxMeshFile);
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<Vec3> points;
  if (lower.ends_with(".obj"))
    points = text_points(data, "v", path);
  else if (lower.ends_with(".stl"))
    points = is_binary_stl(data) ? binary_stl_points(data) : text_points(data, "vertex", path);
  else if (lower.ends_with(".dae"))
    points = dae_surface(data, path).corners;
  else if (lower.ends_with(".ply"))
    points = ply_surface(data, path).corners;
  else if (lower.ends_with(".glb"))
    points = glb_surface(data, path).corners;
  else if (lower.ends_with(".msh"))
    points = msh_surface(data, path).corners;
  else
    throw Error(path, "unknown kind of mesh; allowed: .stl, .obj, .dae, .ply, .glb, .msh");
  if (points.size() > kMaxMeshCorners)
    throw Error(path, "has " + std::to_string(points.size()) + " corners; allowed: at most " +
                          std::to_string(kMaxMeshCorners));
  if (points.size() < 3) throw Error(path, "has fewer than three corners");
  for (const Vec3& p : points)
    if (!p.allFinite()) throw Error(path, "has a corner that is not finite");
  return points;
}

namespace {

/// Two copies of points that lie in one plane, apart by a share of their extent; false where they
/// do not lie in one.
bool thicken(std::vector<Vec3>& points) {
  constexpr double kFlat = 1e-8;  // of the extent
  Vec3 middle = Vec3::Zero();
  for (const Vec3& p : points) middle += p / static_cast<double>(points.size());
  Mat3 spread = Mat3::Zero();
  double extent = 0;
  for (const Vec3& p : points) {
    spread += (p - middle) * (p - middle).transpose();
    extent = std::max(extent, 2 * (p - middle).norm());
  }
  const Eigen::SelfAdjointEigenSolver<Mat3> axes(spread);
  const Vec3 normal = axes.eigenvectors().col(0);
  // Points on one line are no plane: nothing makes a body of these.
  if (!(axes.eigenvalues()[1] > kFlat * axes.eigenvalues()[2])) return false;
  for (const Vec3& p : points)
    if (std::abs(normal.dot(p - middle)) > kFlat * extent) return false;
  const Vec3 up = 0.5 * kFlatThickness * extent * normal;
  const std::size_t count = points.size();
  for (std::size_t i = 0; i < count; ++i) {
    points.push_back(points[i] - up);
    points[i] += up;
  }
  return true;
}

}  // namespace

MeshHulls mesh_hulls(const std::string& path, const Vec3& scale, bool pieces) {
  std::vector<Vec3> points = read_mesh_points(path);
  for (Vec3& p : points) p = p.cwiseProduct(scale);
  std::vector<std::size_t> ends;  // of the objects, in points
  if (pieces && (path.ends_with(".obj") || path.ends_with(".OBJ")))
    ends = object_ends(read_regular_file(path, kMaxMeshFile));
  if (ends.size() > kMaxPieces)
    throw Error(path, "has " + std::to_string(ends.size()) + " objects; allowed: at most " +
                          std::to_string(kMaxPieces));
  if (ends.empty()) ends = {points.size()};
  MeshHulls out;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    bool one = true;
    std::vector<Vec3> piece{points.begin() + static_cast<std::ptrdiff_t>(begin),
                            points.begin() + static_cast<std::ptrdiff_t>(end)};
    if (thicken(piece)) out.thickened = true;
    out.hulls.push_back(hull_points(piece, path, one));
    out.exact = out.exact && one;
    begin = end;
  }
  return out;
}

std::vector<Vec3> hull_points(const std::vector<Vec3>& points, const std::string& name,
                              bool& exact) {
  exact = true;
  // Corners come once a triangle: sort and drop the copies.
  std::vector<Vec3> unique = points;
  const auto less = [](const Vec3& a, const Vec3& b) {
    return std::lexicographical_compare(a.data(), a.data() + 3, b.data(), b.data() + 3);
  };
  std::sort(unique.begin(), unique.end(), less);
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  if (unique.size() > static_cast<std::size_t>(kMaxHullVertices)) {
    // The outermost points in directions spread evenly (Fibonacci's spiral).
    std::vector<std::size_t> kept;
    const double turn = std::numbers::pi * (3 - std::sqrt(5.0));
    for (int d = 0; d < kMaxHullVertices; ++d) {
      const double z = 1 - (2 * d + 1.0) / kMaxHullVertices, r = std::sqrt(1 - z * z);
      const Vec3 direction(r * std::cos(turn * d), r * std::sin(turn * d), z);
      std::size_t best = 0;
      for (std::size_t i = 1; i < unique.size(); ++i)
        if (direction.dot(unique[i]) > direction.dot(unique[best])) best = i;
      kept.push_back(best);
    }
    std::sort(kept.begin(), kept.end());
    kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
    std::vector<Vec3> outer;
    outer.reserve(kept.size());
    for (const std::size_t i : kept) outer.push_back(unique[i]);
    exact = false;
    unique = std::move(outer);
  }
  const Shape hull = Shape::hull(unique, name);  // drops what lies inside
  std::vector<Vec3> corners;
  const std::span<const double> p = hull.parameters();
  for (std::size_t i = 0; i + 2 < p.size(); i += 3) corners.emplace_back(p[i], p[i + 1], p[i + 2]);
  return corners;
}

}  // namespace orthant::io
