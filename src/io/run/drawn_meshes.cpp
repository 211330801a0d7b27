// SPDX-License-Identifier: Apache-2.0
// io/run/drawn_meshes.cpp: reading and thinning of what is only to be seen.
#include "io/run/drawn_meshes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "io/scene/scene_reader.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

/// The corners of each cell replaced by their mean; a grid of `cells` along the longest side.
Surface gathered(const Surface& s, const Vec3& lo, double edge) {
  std::map<std::array<std::int64_t, 3>, std::uint32_t> cells;
  std::vector<std::uint32_t> cell_of;
  std::vector<Vec3> sum;
  std::vector<double> count;
  for (std::size_t i = 0; i + 2 < s.corners.size(); i += 3) {
    std::array<std::int64_t, 3> at{};
    const Vec3 p(s.corners[i], s.corners[i + 1], s.corners[i + 2]);
    for (int k = 0; k < 3; ++k)
      at[static_cast<std::size_t>(k)] =
          static_cast<std::int64_t>(std::floor((p[k] - lo[k]) / edge));
    const auto [found, fresh] = cells.emplace(at, static_cast<std::uint32_t>(sum.size()));
    if (fresh) {
      sum.emplace_back(Vec3::Zero());
      count.push_back(0);
    }
    sum[found->second] += p;
    count[found->second] += 1;
    cell_of.push_back(found->second);
  }
  Surface out;
  for (std::size_t i = 0; i < sum.size(); ++i)
    for (int k = 0; k < 3; ++k) out.corners.push_back(sum[i][k] / count[i]);
  for (std::size_t t = 0; t + 2 < s.triangles.size(); t += 3) {
    const std::uint32_t a = cell_of[s.triangles[t]], b = cell_of[s.triangles[t + 1]],
                        c = cell_of[s.triangles[t + 2]];
    if (a != b && b != c && c != a) out.triangles.insert(out.triangles.end(), {a, b, c});
  }
  return out;
}

}  // namespace

Surface coarser(const Surface& s, std::size_t most) {
  Vec3 lo = Vec3::Constant(HUGE_VAL), hi = Vec3::Constant(-HUGE_VAL);
  for (std::size_t i = 0; i + 2 < s.corners.size(); i += 3) {
    const Vec3 p(s.corners[i], s.corners[i + 1], s.corners[i + 2]);
    lo = lo.cwiseMin(p);
    hi = hi.cwiseMax(p);
  }
  const double size = s.corners.empty() ? 0 : (hi - lo).maxCoeff();
  if (!(size > 0)) return {};
  Surface out = gathered(s, lo, 1e-6 * size);  // joins the corners that an STL repeats
  for (double cells = 512; out.triangles.size() > 3 * most && cells >= 2; cells *= 0.7)
    out = gathered(s, lo, size / cells);
  return out.triangles.size() > 3 * most ? Surface{} : out;
}

DrawnMeshes::DrawnMeshes(const std::vector<Visual>& visuals) : surfaces_(visuals.size()) {
  const auto files = static_cast<std::size_t>(std::count_if(
      visuals.begin(), visuals.end(), [](const Visual& v) { return !v.file.empty(); }));
  std::map<std::string, MeshTriangles> read;
  for (std::size_t i = 0; i < visuals.size(); ++i) {
    const Visual& v = visuals[i];
    if (v.file.empty()) continue;
    auto found = read.find(v.file);
    if (found == read.end()) {
      MeshTriangles mesh;
      try {
        mesh = read_mesh_triangles(v.file);
      } catch (const Error& error) {
        left_out_.emplace_back(error.what());
      }
      found = read.emplace(v.file, std::move(mesh)).first;
    }
    Surface s;
    const bool mirrored = v.scale.prod() < 0;
    for (const Vec3& p : found->second.corners)
      for (int k = 0; k < 3; ++k) s.corners.push_back(v.scale[k] * p[k]);
    for (const auto& t : found->second.triangles)
      for (const std::int32_t c : {t[0], mirrored ? t[2] : t[1], mirrored ? t[1] : t[2]})
        s.triangles.push_back(static_cast<std::uint32_t>(c));
    surfaces_[i] = coarser(s, kMaxDrawnTriangles / files);
  }
}

}  // namespace orthant::io
