// SPDX-License-Identifier: Apache-2.0
// shape/mesh_contacts.cpp: a convex body (or torus) against the triangles near it.
// A triangle is a hull without thickness, so the search of two convex bodies answers for it; what
// it says is true of the mesh only where the neighbours agree. A normal n at a side or corner q of
// the triangle belongs to the mesh if no neighbouring corner w rises above it, n.(w - q) <= 0: for
// a ridge that is the arc between the two face normals, for a flat seam the face normal alone, for
// a valley nothing. Over the triangle itself its own normal always holds, unless a normal that
// belongs to the mesh shows the bodies to be farther apart.
#include "shape/mesh_contacts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "shape/polytope.hpp"
#include "shape/spread.hpp"

namespace orthant {
namespace {

using internal::PartKind;

constexpr double kCone = 1e-7;  // sine by which a normal may leave the cone of a side or corner
constexpr double kParallel = 1e-12;  // 1 - cosine below which two normals are one
constexpr double kSame = 1e-6;       // of the size: points of one normal closer than this are one

/// The part of the triangle in a feature of (A, triangle).
struct TrianglePart {
  PartKind kind;
  Index index;
};

TrianglePart part_of(const ContactFeature& f) {
  if (f.kind == FeatureKind::Smooth)
    return {static_cast<PartKind>(f.second >> 12), f.second & 0xfff};
  const bool second = !f.swapped;
  switch (f.kind) {
    case FeatureKind::VertexVertex:
      return {PartKind::Vertex, second ? f.second : f.first};
    case FeatureKind::VertexEdge:
      return second ? TrianglePart{PartKind::Edge, f.second}
                    : TrianglePart{PartKind::Vertex, f.first};
    case FeatureKind::VertexFace:
      return second ? TrianglePart{PartKind::Face, f.second}
                    : TrianglePart{PartKind::Vertex, f.first};
    case FeatureKind::ClippedVertex:
      return second ? TrianglePart{PartKind::Vertex, f.second}
                    : TrianglePart{PartKind::Face, f.first};
    default:
      return {PartKind::Edge, second ? f.second : f.first};
  }
}

class MeshSearch {
 public:
  MeshSearch(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& mesh,
             const Pose& X_WB, double margin, std::vector<ContactPoint>& out)
      : a_(a),
        X_WA_(X_WA),
        mesh_(mesh),
        X_WB_(X_WB),
        margin_(margin),
        out_(out),
        data_(*mesh.topology->mesh),
        begin_(out.size()) {
    const Bounds box = bounds(a, X_WA);
    centre_ = 0.5 * (box.lo + box.hi);
    size_ = 0.5 * (box.hi - box.lo).norm();
  }

  void run() {
    collect();
    for (const Index t : near_) triangle(t);
    thin_out();
  }

 private:
  Vec3 corner(Index i) const {
    return transform(X_WB_, Vec3(mesh_.p[0] * data_.corners[i][0], mesh_.p[1] * data_.corners[i][1],
                                 mesh_.p[2] * data_.corners[i][2]));
  }

  /// Triangles whose boxes come within the margin of A's, in ascending order.
  void collect() {
    const Pose X_BA = compose(inverse(X_WB_), X_WA_);
    Bounds box = bounds(a_, X_BA);
    const Vec3 scale(mesh_.p[0], mesh_.p[1], mesh_.p[2]);
    box.lo = (box.lo.array() - margin_).matrix().cwiseQuotient(scale);
    box.hi = (box.hi.array() + margin_).matrix().cwiseQuotient(scale);
    std::vector<Index> stack = {0};
    while (!stack.empty()) {
      const TriangleMesh::Node& node = data_.nodes[stack.back()];
      stack.pop_back();
      if ((node.box.lo.array() > box.hi.array()).any() ||
          (node.box.hi.array() < box.lo.array()).any())
        continue;
      if (node.count == 0) {
        stack.push_back(node.first);
        stack.push_back(node.first + 1);
        continue;
      }
      for (Index i = 0; i < node.count; ++i) near_.push_back(data_.order[node.first + i]);
    }
    std::sort(near_.begin(), near_.end());
  }

  void triangle(Index t) {
    const internal::MeshTriangle<double> shape(mesh_, t);
    const ShapeView<double> view = shape.view();
    for (std::size_t k = 0; k < 3; ++k) x_[k] = corner(data_.triangles[t][k]);
    N_ = (x_[1] - x_[0]).cross(x_[2] - x_[0]).normalized();
    if (N_.dot(centre_ - x_[0]) < -1e-9 * size_) return;  // A is behind it
    ContactPoint points[kMaxContacts];
    const int count = contacts(a_, X_WA_, view, X_WB_, margin_, points);
    if (count == 0) return;
    for (int i = 0; i < count; ++i) {
      const TrianglePart part = part_of(points[i].feature);
      if (part.kind == PartKind::Face || points[i].normal.dot(N_) > 1 - kParallel) continue;
      if (belongs(t, part, points[i].normal)) keep(points[i], t);
    }
    const TrianglePart nearest = part_of(points[0].feature);
    const bool front = points[0].normal.dot(N_) > 1 - kParallel;
    const bool true_gap =
        front || (nearest.kind != PartKind::Face && belongs(t, nearest, points[0].normal));
    const double least =
        true_gap ? points[0].gap - 1e-9 * size_ : -std::numeric_limits<double>::infinity();
    over_face(view, t, least);
  }

  /// The points of A over the triangle, with its own normal, not deeper than `least`.
  void over_face(const ShapeView<double>& view, Index t, double least) {
    ContactPoint points[kMaxContacts];
    int count = 0;
    if (a_.kind <= ShapeKind::Hull) {
      count = internal::front_contacts(a_, X_WA_, view, X_WB_, margin_, points);
    } else {
      // Face 0 of a half-space on the triangle's plane is face 0 of the triangle to every formula.
      const ShapeView<double> plane{ShapeKind::HalfSpace, 3, nullptr, plane_topology()};
      const int n = contacts(a_, X_WA_, plane, plane_pose(), margin_, points);
      for (int i = 0; i < n; ++i)
        if (covers(points[i].point_b)) points[count++] = points[i];
    }
    for (int i = 0; i < count; ++i)
      if (points[i].gap >= least) keep(points[i], t);
  }

  static const HullTopology* plane_topology() {
    static const Shape plane = Shape::half_space();
    return &plane.topology();
  }
  /// z along the normal, at the first corner.
  Pose plane_pose() const {
    Quat p{0, 1, 0, 0};  // the shortest turn from z to N
    const double length = std::sqrt(2 * (1 + N_[2]));
    if (length > 1e-6) p = {0.5 * length, -N_[1] / length, N_[0] / length, 0};
    return {x_[0], p};
  }
  bool covers(const Vec3& p) const {
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 e = x_[(k + 1) % 3] - x_[k];
      if (e.cross(p - x_[k]).dot(N_) < -1e-9 * size_ * e.norm()) return false;
    }
    return true;
  }

  /// May the mesh push along n at this side or corner of triangle t?
  bool belongs(Index t, const TrianglePart& part, const Vec3& n) const {
    const auto below = [&](const Vec3& q, Index w) {
      const Vec3 d = corner(w) - q;
      return n.dot(d) <= kCone * d.norm();
    };
    const std::array<Index, 3>& c = data_.triangles[t];
    const auto k = static_cast<std::size_t>(part.index);
    if (part.kind == PartKind::Edge) {
      const Index w = data_.across[t][k];
      const Vec3 e = x_[(k + 1) % 3] - x_[k];
      if (std::abs(n.dot(e)) > kCone * e.norm()) return false;  // one of its ends rises above
      if (w < 0 && n.dot(N_) < -kCone) return false;            // from behind, around a border
      return below(x_[k], c[(k + 2) % 3]) && (w < 0 || below(x_[k], w));
    }
    for (Index i = data_.ring_start[c[k]]; i < data_.ring_start[c[k] + 1]; ++i)
      if (!below(x_[k], data_.ring[i])) return false;
    return n.dot(N_) >= -kCone;
  }

  void keep(const ContactPoint& point, Index t) {
    out_.push_back(point);
    out_.back().feature.element = t;
    out_.back().id = feature_id(out_.back().feature);
  }

  /// Triangles that share a normal or a side say the same thing: each point once, four a normal.
  void thin_out() {
    std::vector<ContactPoint> kept;
    std::vector<unsigned char> done(out_.size() - begin_, 0);
    std::vector<internal::ClipPoint> clip;
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (done[i] != 0) continue;
      const Vec3 n = out_[begin_ + i].normal;
      Vec3 t1, t2;
      contact_tangents(n, t1, t2);
      clip.clear();
      for (std::size_t j = i; j < done.size(); ++j) {
        const ContactPoint& c = out_[begin_ + j];
        if (done[j] != 0 || !(n.dot(c.normal) > 1 - kParallel)) continue;
        done[j] = 1;
        const Vec3 d = c.point_b - centre_;
        clip.push_back(internal::clip_point(t1.dot(d), t2.dot(d), c.gap, ContactFeature{}));
        clip.back().kind = FeatureKind::VertexVertex;
        members_.push_back(begin_ + j);
      }
      int chosen[4];
      const int count = internal::choose_spread(clip.data(), static_cast<int>(clip.size()), -1, 4,
                                                kSame * size_, chosen);
      std::vector<std::size_t> in_order;
      for (int k = 0; k < count; ++k)
        in_order.push_back(members_[static_cast<std::size_t>(chosen[k])]);
      std::sort(in_order.begin(), in_order.end());
      for (const std::size_t k : in_order) kept.push_back(out_[k]);
      members_.clear();
    }
    out_.resize(begin_);
    out_.insert(out_.end(), kept.begin(), kept.end());
  }

  const ShapeView<double>& a_;
  const Pose& X_WA_;
  const ShapeView<double>& mesh_;
  const Pose& X_WB_;
  const double margin_;
  std::vector<ContactPoint>& out_;
  const TriangleMesh& data_;
  const std::size_t begin_;
  Vec3 centre_;
  double size_ = 0;
  std::vector<Index> near_;
  std::vector<std::size_t> members_;
  std::array<Vec3, 3> x_;
  Vec3 N_;
};

}  // namespace

void mesh_contacts(const ShapeView<double>& a, const Pose& X_WA, const ShapeView<double>& b,
                   const Pose& X_WB, double margin, std::vector<ContactPoint>& out) {
  if (is_ground(a.kind) && is_ground(b.kind)) return;
  if (b.kind == ShapeKind::Mesh) {
    MeshSearch(a, X_WA, b, X_WB, margin, out).run();
    return;
  }
  const std::size_t begin = out.size();
  MeshSearch(b, X_WB, a, X_WA, margin, out).run();
  for (std::size_t i = begin; i < out.size(); ++i) internal::exchange_sides(out[i]);
}

}  // namespace orthant
