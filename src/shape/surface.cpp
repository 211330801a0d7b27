// SPDX-License-Identifier: Apache-2.0
// shape/surface.cpp: shapes whose surface is triangles, or is drawn as such.
#include "orthant/shape/surface.hpp"

#include <cmath>

namespace orthant {
namespace {

void add(Surface& out, const Vec3& p) { out.corners.insert(out.corners.end(), {p[0], p[1], p[2]}); }

/// The point of a super-ellipsoid over the point n of the unit sphere (Barr): edges get their
/// share.
Vec3 stretched(const double* p, const Vec3& n) {
  const auto power = [](double x, double e) { return std::copysign(std::pow(std::abs(x), e), x); };
  const double across = std::hypot(n[0], n[1]), level = std::pow(across, p[3]);
  if (!(across > 0)) return {0, 0, std::copysign(p[2], n[2])};
  return {p[0] * level * power(n[0] / across, p[4]), p[1] * level * power(n[1] / across, p[4]),
          p[2] * power(n[2], p[3])};
}

/// An octahedron subdivided, each direction sent to the point of the shape that reaches farthest.
void add_rounded(const ShapeView<double>& s, Surface& out) {
  constexpr int kPieces = 10;
  const double r = core_radius(s);
  for (int octant = 0; octant < 8; ++octant) {
    const Vec3 sign((octant & 1) ? 1 : -1, (octant & 2) ? 1 : -1, (octant & 4) ? 1 : -1);
    const bool flip = sign[0] * sign[1] * sign[2] < 0;
    const auto first = static_cast<std::uint32_t>(out.corners.size() / 3);
    const auto at = [&](int i, int j) {  // row i has kPieces - i + 1 points
      return first + static_cast<std::uint32_t>(i * (kPieces + 1) - i * (i - 1) / 2 + j);
    };
    for (int i = 0; i <= kPieces; ++i)
      for (int j = 0; j <= kPieces - i; ++j) {
        const Vec3 n = Vec3(kPieces - i - j, i, j).cwiseProduct(sign).normalized();
        if (s.kind == ShapeKind::SuperEllipsoid) {
          add(out, stretched(s.p, n));
          continue;
        }
        Vec3 best = core_vertex(s, 0);
        for (Index v = 1; v < s.topology->vertex_count; ++v)
          if (n.dot(core_vertex(s, v)) > n.dot(best)) best = core_vertex(s, v);
        add(out, best + r * n);
      }
    const auto triangle = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c) {
      out.triangles.insert(out.triangles.end(), {a, flip ? c : b, flip ? b : c});
    };
    for (int i = 0; i < kPieces; ++i)
      for (int j = 0; j < kPieces - i; ++j) {
        triangle(at(i, j), at(i + 1, j), at(i, j + 1));
        if (j < kPieces - i - 1) triangle(at(i + 1, j), at(i + 1, j + 1), at(i, j + 1));
      }
  }
}

}  // namespace

Surface surface_of(const ShapeView<double>& s) {
  Surface out;
  const HullTopology& h = *s.topology;
  if (h.mesh) {
    for (const Vec3& c : h.mesh->corners)
      add(out, Vec3(s.p[0] * c[0], s.p[1] * c[1], s.p[2] * c[2]));
    for (const auto& t : h.mesh->triangles)
      for (const Index c : t) out.triangles.push_back(static_cast<std::uint32_t>(c));
    return out;
  }
  if (h.rounded || s.kind == ShapeKind::SuperEllipsoid) {
    add_rounded(s, out);
    return out;
  }
  for (Index i = 0; i < h.vertex_count; ++i) add(out, core_vertex(s, i));
  for (Index f = 0; f < h.face_count(); ++f)
    for (Index k = h.face_start[f] + 1; k + 1 < h.face_start[f + 1]; ++k)
      for (const Index c : {h.face_start[f], k, k + 1})
        out.triangles.push_back(static_cast<std::uint32_t>(h.face_vertex[c]));
  return out;
}

}  // namespace orthant
