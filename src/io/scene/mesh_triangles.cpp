// SPDX-License-Identifier: Apache-2.0
// io/scene/mesh_triangles.cpp: mesh files => corners and triangles.
#include <algorithm>
#include <cstring>
#include <sstream>

#include "io/scene/expression.hpp"
#include "io/scene/scene_reader.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

/// Three points after each other are a triangle.
MeshTriangles from_points(std::vector<Vec3> points, const std::string& path) {
  if (points.size() % 3 != 0)
    throw Error(path, "has " + std::to_string(points.size()) + " corners: not three per triangle");
  MeshTriangles mesh;
  mesh.corners = std::move(points);
  for (std::size_t i = 0; i < mesh.corners.size(); i += 3) {
    const auto first = static_cast<std::int32_t>(i);
    mesh.triangles.push_back({first, first + 1, first + 2});
  }
  return mesh;
}

/// The number before the first '/', from 1; negative ones count from the last corner so far.
std::int32_t corner_of(const std::string& word, std::size_t corners, const std::string& where) {
  double number = 0;
  const std::string text = word.substr(0, word.find('/'));
  if (!read_number(text, number) || number != std::floor(number) || number == 0)
    throw Error(where, "expected the number of a corner, found '" + text.substr(0, 20) + "'");
  const double index = number > 0 ? number - 1 : static_cast<double>(corners) + number;
  if (!(index >= 0 && index < static_cast<double>(corners)))
    throw Error(where, "has the corner " + text.substr(0, 20) + " of " + std::to_string(corners));
  return static_cast<std::int32_t>(index);
}

MeshTriangles from_obj(std::vector<Vec3> points, const std::string& data, const std::string& path) {
  MeshTriangles mesh;
  mesh.corners = std::move(points);
  std::istringstream lines(data);
  std::string line;
  std::size_t corners = 0;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    std::string word;
    if (!(words >> word)) continue;
    if (word == "v") ++corners;
    if (word != "f") continue;
    const std::string where = path + ":" + std::to_string(number);
    std::vector<std::int32_t> loop;
    while (words >> word && word[0] != '#') loop.push_back(corner_of(word, corners, where));
    if (loop.size() < 3) throw Error(where, "a face needs three corners or more");
    for (std::size_t k = 2; k < loop.size(); ++k)
      mesh.triangles.push_back({loop[0], loop[k - 1], loop[k]});
    if (mesh.triangles.size() > kMaxMeshCorners / 3)
      throw Error(path, "has more than " + std::to_string(kMaxMeshCorners / 3) + " triangles");
  }
  if (mesh.triangles.empty()) throw Error(path, "has no faces");
  return mesh;
}

}  // namespace

MeshTriangles read_mesh_triangles(const std::string& path) {
  std::string lower = path;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::vector<Vec3> points = read_mesh_points(path);  // checks them, whatever the file
  if (lower.ends_with(".stl")) return from_points(std::move(points), path);
  const std::string data = read_regular_file(path, kMaxMeshFile);
  if (lower.ends_with(".obj")) return from_obj(std::move(points), data, path);
  MeshTriangles mesh = lower.ends_with(".dae")   ? dae_surface(data, path)
                       : lower.ends_with(".ply") ? ply_surface(data, path)
                       : lower.ends_with(".glb") ? glb_surface(data, path)
                                                 : msh_surface(data, path);
  if (mesh.triangles.empty()) throw Error(path, "has no faces");
  return mesh;
}

}  // namespace orthant::io
