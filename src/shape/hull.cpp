// SPDX-License-Identifier: Apache-2.0
// shape/hull.cpp: points => convex hull. In space by Qhull with coplanar facets merged into
// polygons (face contacts need the whole face), in the plane by the monotone chain. Points are
// centred and scaled to size 1 first: Qhull's own tolerances are absolute in part.
#include "shape/hull.hpp"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>

#include "orthant/base/assert.hpp"
#include "orthant/base/error.hpp"

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

namespace orthant::internal {
namespace {

// A set thinner than this share of its extent counts as flat; equal to it, points count as one.
constexpr double kFlat = 1e-9;
constexpr double kSame = 1e-12;

std::string point_text(const double* x, int dim) {
  std::string text = "(";
  for (int k = 0; k < dim; ++k) text += (k ? ", " : "") + to_text(x[k]);
  return text + ")";
}

/// Throws on values that are not finite; returns the extent (largest side of the bounding box).
template <class Vec>
double checked_extent(std::span<const Vec> points, std::string_view name) {
  constexpr int dim = Vec::RowsAtCompileTime;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (!points[i].allFinite())
      throw Error(name, "hull point " + std::to_string(i) + " must be finite, is " +
                            point_text(points[i].data(), dim));
  if (static_cast<int>(points.size()) < dim + 1)
    throw Error(name, "a hull needs at least " + std::to_string(dim + 1) + " points, has " +
                          std::to_string(points.size()));
  Vec lo = points[0], hi = points[0];
  for (const Vec& p : points) {
    lo = lo.cwiseMin(p);
    hi = hi.cwiseMax(p);
  }
  return (hi - lo).maxCoeff();
}

/// Indices of points that differ, first of each group kept.
template <class Vec>
std::vector<int> distinct(std::span<const Vec> points, double tolerance) {
  constexpr int dim = Vec::RowsAtCompileTime;
  std::vector<int> order(points.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return points[a][0] < points[b][0]; });
  std::vector<char> drop(points.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const Vec d = points[order[j]] - points[order[i]];
      if (d[0] > tolerance) break;
      bool same = true;
      for (int k = 0; k < dim; ++k) same = same && std::abs(d[k]) <= tolerance;
      if (same) drop[std::max(order[i], order[j])] = 1;
    }
  }
  std::vector<int> kept;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (!drop[i]) kept.push_back(static_cast<int>(i));
  return kept;
}

/// The smallest extent of the points over the principal directions of their scatter, relative to
/// the largest: 0 for a flat set.
double flatness(const std::vector<Vec3>& points) {
  Vec3 mean = Vec3::Zero();
  for (const Vec3& p : points) mean += p;
  mean /= static_cast<double>(points.size());
  Mat3 scatter = Mat3::Zero();
  for (const Vec3& p : points) scatter += (p - mean) * (p - mean).transpose();
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(scatter);
  double extent[3];
  for (int k = 0; k < 3; ++k) {
    const Vec3 axis = eigen.eigenvectors().col(k);
    double lo = axis.dot(points[0] - mean), hi = lo;
    for (const Vec3& p : points) {
      lo = std::min(lo, axis.dot(p - mean));
      hi = std::max(hi, axis.dot(p - mean));
    }
    extent[k] = hi - lo;
  }
  return std::min({extent[0], extent[1], extent[2]}) / std::max({extent[0], extent[1], extent[2]});
}

/// Qhull's state and its message stream, freed on every way out.
class Qhull {
 public:
  Qhull() {
    messages_ = open_memstream(&text_, &length_);
    qh_zero(&qh_, messages_);
  }
  ~Qhull() {
    qh_.NOerrexit = True;
    qh_freeqhull(&qh_, !qh_ALL);
    int left = 0, total = 0;
    qh_memfreeshort(&qh_, &left, &total);
    std::fclose(messages_);
    std::free(text_);
  }
  Qhull(const Qhull&) = delete;
  Qhull& operator=(const Qhull&) = delete;

  bool run(std::vector<double>& coordinates, const char* command) {
    std::string text = command;
    return qh_new_qhull(&qh_, 3, static_cast<int>(coordinates.size() / 3), coordinates.data(),
                        False, text.data(), nullptr, messages_) == 0;
  }

  /// Faces as loops of point numbers, counter-clockwise seen from outside.
  std::vector<std::vector<Index>> faces(const std::vector<Vec3>& points) {
    std::vector<std::vector<Index>> loops;
    for (facetT* facet = qh_.facet_list; facet && facet->next; facet = facet->next) {
      setT* vertices = qh_facet3vertex(&qh_, facet);
      std::vector<Index> loop;
      for (int k = 0; k < qh_setsize(&qh_, vertices); ++k) {
        auto* vertex = static_cast<vertexT*>(SETelem_(vertices, k));
        loop.push_back(qh_pointid(&qh_, vertex->point));
      }
      qh_settempfree(&qh_, &vertices);
      Vec3 normal = Vec3::Zero();
      for (std::size_t k = 1; k + 1 < loop.size(); ++k)
        normal += (points[loop[k]] - points[loop[0]]).cross(points[loop[k + 1]] - points[loop[0]]);
      const Vec3 outward(facet->normal[0], facet->normal[1], facet->normal[2]);
      if (normal.dot(outward) < 0) std::reverse(loop.begin(), loop.end());
      loops.push_back(std::move(loop));
    }
    return loops;
  }

 private:
  qhT qh_;
  FILE* messages_ = nullptr;
  char* text_ = nullptr;
  std::size_t length_ = 0;
};

/// Each loop from its smallest vertex, loops in order: the numbering depends on the points alone.
void sort_loops(std::vector<std::vector<Index>>& loops) {
  for (auto& loop : loops)
    std::rotate(loop.begin(), std::min_element(loop.begin(), loop.end()), loop.end());
  std::sort(loops.begin(), loops.end());
}

bool build_topology(const std::vector<std::vector<Index>>& loops, HullTopology& h) {
  h.face_start = {0};
  h.face_vertex.clear();
  for (const auto& loop : loops) {
    if (loop.size() < 3) return false;
    h.face_vertex.insert(h.face_vertex.end(), loop.begin(), loop.end());
    h.face_start.push_back(static_cast<Index>(h.face_vertex.size()));
  }
  return connect_faces(h) && h.vertex_count - h.edge_count() + h.face_count() == 2;
}

}  // namespace

bool connect_faces(HullTopology& h) {
  h.edges.clear();
  h.face_edge.assign(h.face_vertex.size(), -1);
  std::map<std::pair<Index, Index>, Index> forward;  // (v0, v1) => edge, waiting for its twin
  for (Index f = 0; f < h.face_count(); ++f) {
    const Index begin = h.face_start[f], end = h.face_start[f + 1];
    for (Index k = begin; k < end; ++k) {
      const Index a = h.face_vertex[k], b = h.face_vertex[k + 1 < end ? k + 1 : begin];
      const auto twin = forward.find({b, a});
      if (twin != forward.end()) {
        h.face_edge[k] = twin->second;
        h.edges[twin->second].f1 = f;
        forward.erase(twin);
      } else {
        h.face_edge[k] = h.edge_count();
        if (!forward.emplace(std::pair{a, b}, h.edge_count()).second) return false;
        h.edges.push_back({a, b, f, -1});
      }
    }
  }
  return forward.empty();
}

HullResult convex_hull_3d(std::span<const Vec3> points, std::string_view name) {
  const double extent = checked_extent(points, name);
  const std::vector<int> kept = distinct(points, kSame * extent);
  if (kept.size() < 4)
    throw Error(name, "a hull needs at least 4 different points, has " +
                          std::to_string(kept.size()) + " of " + std::to_string(points.size()));
  std::vector<Vec3> scaled;
  scaled.reserve(kept.size());
  for (int i : kept) scaled.push_back((points[i] - points[kept[0]]) / extent);
  const double flat = flatness(scaled);
  if (!(flat > kFlat))
    throw Error(name, "hull points must not lie in one plane: thickness over extent must exceed " +
                          to_text(kFlat) + ", is " + to_text(flat));

  // Merged facets first; should their loops not close (near-degenerate input), triangles.
  for (const char* command : {"qhull Pp", "qhull Pp Qt"}) {
    std::vector<double> coordinates;
    for (const Vec3& p : scaled) coordinates.insert(coordinates.end(), p.data(), p.data() + 3);
    Qhull qhull;
    if (!qhull.run(coordinates, command)) continue;
    std::vector<std::vector<Index>> loops = qhull.faces(scaled);
    std::vector<Index> number(scaled.size(), -1);
    for (const auto& loop : loops)
      for (Index v : loop) number[v] = 0;
    HullResult result;
    auto topology = std::make_shared<HullTopology>();
    for (std::size_t i = 0; i < scaled.size(); ++i) {
      if (number[i] < 0) continue;
      number[i] = topology->vertex_count++;
      const Vec3& p = points[kept[i]];
      result.parameters.insert(result.parameters.end(), p.data(), p.data() + 3);
    }
    for (auto& loop : loops)
      for (Index& v : loop) v = number[v];
    sort_loops(loops);
    if (topology->vertex_count > kMaxHullVertices)
      throw Error(name, "a hull may have at most " + std::to_string(kMaxHullVertices) +
                            " vertices, has " + std::to_string(topology->vertex_count));
    if (!build_topology(loops, *topology)) continue;
    result.topology = std::move(topology);
    return result;
  }
  throw Error(name, "the hull of these " + std::to_string(points.size()) +
                        " points is too close to degenerate to build (thickness over extent " +
                        to_text(flat) + ")");
}

HullResult convex_hull_2d(std::span<const Vec2> points, std::string_view name) {
  const double extent = checked_extent(points, name);
  std::vector<Vec2> sorted;
  for (int i : distinct(points, kSame * extent)) sorted.push_back(points[i]);
  if (sorted.size() < 3)
    throw Error(name, "a polygon needs at least 3 different points, has " +
                          std::to_string(sorted.size()) + " of " + std::to_string(points.size()));
  std::sort(sorted.begin(), sorted.end(),
            [](const Vec2& a, const Vec2& b) { return a[0] != b[0] ? a[0] < b[0] : a[1] < b[1]; });
  // Height of b over the line a c, relative to the extent: a vertex must stick out by kSame.
  const auto turns = [&](const Vec2& a, const Vec2& b, const Vec2& c) {
    const Vec2 u = b - a, w = c - a;
    return u[0] * w[1] - u[1] * w[0] > kSame * extent * w.norm();
  };
  std::vector<Vec2> chain;
  const auto walk = [&](const auto& begin, const auto& end) {
    const std::size_t base = chain.size();
    for (auto it = begin; it != end; ++it) {
      while (chain.size() >= base + 2 && !turns(chain[chain.size() - 2], chain.back(), *it))
        chain.pop_back();
      chain.push_back(*it);
    }
    chain.pop_back();  // the far end opens the other half
  };
  walk(sorted.begin(), sorted.end());
  walk(sorted.rbegin(), sorted.rend());

  double area = 0;
  for (std::size_t i = 1; i + 1 < chain.size(); ++i) {
    const Vec2 u = chain[i] - chain[0], w = chain[i + 1] - chain[0];
    area += 0.5 * (u[0] * w[1] - u[1] * w[0]);
  }
  if (chain.size() < 3 || !(area > kFlat * extent * extent))
    throw Error(name, "polygon points must not lie on one line: area over extent^2 must exceed " +
                          to_text(kFlat) + ", is " + to_text(area / (extent * extent)));
  if (static_cast<int>(chain.size()) > kMaxHullVertices)
    throw Error(name, "a polygon may have at most " + std::to_string(kMaxHullVertices) +
                          " vertices, has " + std::to_string(chain.size()));
  HullResult result;
  auto topology = std::make_shared<HullTopology>();
  topology->vertex_count = static_cast<Index>(chain.size());
  topology->face_start = {0};
  for (Index i = 0; i < topology->vertex_count; ++i) {
    result.parameters.insert(result.parameters.end(), chain[i].data(), chain[i].data() + 2);
    topology->face_vertex.push_back(i);
    topology->face_vertex.push_back((i + 1) % topology->vertex_count);
    topology->face_start.push_back(2 * (i + 1));
  }
  result.topology = std::move(topology);
  return result;
}

namespace {

std::shared_ptr<const HullTopology> loops_topology(Index vertices, std::vector<Index> start,
                                                   std::vector<Index> loops, bool spatial) {
  auto h = std::make_shared<HullTopology>();
  h->vertex_count = vertices;
  h->face_start = std::move(start);
  h->face_vertex = std::move(loops);
  const bool closed = !spatial || connect_faces(*h);
  ORTHANT_ASSERT(closed);
  static_cast<void>(closed);
  return h;
}

}  // namespace

std::shared_ptr<const HullTopology> fixed_topology(ShapeKind kind, int dim) {
  // Box faces -x +x -y +y -z +z; vertex bits (x, y, z), see core_vertex.
  static const auto box = loops_topology(
      8, {0, 4, 8, 12, 16, 20, 24},
      {0, 4, 6, 2, 1, 3, 7, 5, 0, 1, 5, 4, 2, 6, 7, 3, 0, 2, 3, 1, 4, 5, 7, 6}, true);
  static const auto rectangle = loops_topology(4, {0, 2, 4, 6, 8}, {2, 0, 1, 3, 0, 1, 3, 2}, false);
  // In the plane a segment is a polygon with two sides; in space an edge without faces.
  static const auto planar_segment = loops_topology(2, {0, 2, 4}, {0, 1, 1, 0}, false);
  static const auto segment = [] {
    auto h = std::make_shared<HullTopology>();
    h->vertex_count = 2;
    h->edges = {{0, 1, -1, -1}};
    return std::shared_ptr<const HullTopology>(h);
  }();
  static const auto point = [] {
    auto h = std::make_shared<HullTopology>();
    h->vertex_count = 1;
    return std::shared_ptr<const HullTopology>(h);
  }();
  // Points held on the rims, and the flat ends, which core_face() knows.
  static const auto turned = [](Index vertices, Index ends) {
    auto h = std::make_shared<HullTopology>();
    h->vertex_count = vertices;
    h->face_start.assign(static_cast<std::size_t>(ends + 1), 0);
    return std::shared_ptr<const HullTopology>(h);
  };
  static const auto cylinder = turned(2 * kRimPoints, 2), cone = turned(kRimPoints + 1, 1);
  static const auto plane = loops_topology(0, {0, 0}, {}, false);
  switch (kind) {
    case ShapeKind::Sphere:
    case ShapeKind::Ellipsoid:
    case ShapeKind::SuperEllipsoid:
    case ShapeKind::Torus:
      return point;
    case ShapeKind::Cylinder:
      return cylinder;
    case ShapeKind::Cone:
      return cone;
    case ShapeKind::Capsule:
      return dim == 2 ? planar_segment : segment;
    case ShapeKind::Box:
      return dim == 2 ? rectangle : box;
    default:
      return plane;
  }
}

}  // namespace orthant::internal
