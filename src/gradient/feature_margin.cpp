// SPDX-License-Identifier: Apache-2.0
// gradient/feature_margin.cpp: (contact, configuration) => distance from a tie of deepest points.
#include "gradient/feature_margin.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "orthant/shape/contact_kernel.hpp"

namespace orthant::internal {
namespace {

constexpr double kOffValley = 1e-6;  // n.c'(s) of a ring's circle, of its radius: not a valley

/// A line of a shape that may lie flush on another one, and how far it is from that: the sine of
/// its angle with the plane of contact.
struct FlushLine {
  Vec3 along;  ///< a unit vector
  double off;
};

PartKind part_kind(std::int16_t code) { return static_cast<PartKind>(code >> 12); }

/// A shape where it stands.
struct Placed {
  ShapeView<double> view;
  Quat p;

  Vec3 edge(Index v0, Index v1) const {
    return rotate(p, Vec3(core_vertex(view, v1) - core_vertex(view, v0))).normalized();
  }
  Vec3 edge(const HullEdge& e) const { return edge(e.v0, e.v1); }
  /// f(direction) of each edge that meets at a vertex.
  template <class Function>
  void each_edge_at(Index vertex, Function&& f) const {
    const HullTopology& hull = *view.topology;
    const auto look = [&](Index v0, Index v1) {
      if (v0 == vertex || v1 == vertex) f(edge(v0, v1));
    };
    for (const HullEdge& e : hull.edges) look(e.v0, e.v1);
    if (!hull.edges.empty()) return;
    for (Index k = 0; k < hull.face_count(); ++k)  // in the plane: sides
      look(hull.face_vertex[hull.face_start[k]], hull.face_vertex[hull.face_start[k] + 1]);
    if (hull.face_count() == 0 && hull.vertex_count == 2) look(0, 1);  // a segment
  }
  double at_vertex(Index vertex, const Vec3& n) const {
    double margin = 1;
    each_edge_at(vertex, [&](const Vec3& e) { margin = std::min(margin, std::abs(e.dot(n))); });
    return margin;
  }
  /// How far a flat part is from lying flush, `n` its outward normal; 1 where there is none.
  /// `code`: the part in a smooth contact.
  double plane_off(const Vec3& n, std::int16_t code) const {
    if (!is_turned(view.kind)) return part_kind(code) == PartKind::Face ? 0 : 1;
    const Vec3 d = rotate(conjugate(p), n);
    return view.kind != ShapeKind::Cylinder && d.x() > 0 ? 1 : std::hypot(d.y(), d.z());  // a tip
  }
  std::vector<FlushLine> flush_lines(const Vec3& n, std::int16_t code) const {
    std::vector<FlushLine> lines;
    if (is_turned(view.kind)) {
      const Vec3 d = rotate(conjugate(p), n), axis = rotate(p, Vec3(1, 0, 0));
      const double sine =
          view.kind == ShapeKind::Cylinder ? 0 : view.p[0] / std::hypot(view.p[0], 2 * view.p[1]);
      const double across = std::hypot(d.y(), d.z());
      if (across > 0)
        lines.push_back({(axis - d.x() * n) / across,
                         std::abs(std::sqrt(1 - sine * sine) * d.x() - sine * across)});
    } else if (part_kind(code) == PartKind::Edge) {
      const Vec3 u = smooth_part(view, Pose{Vec3::Zero(), p}, code).u;
      lines.push_back({u.normalized(), 0});
    } else if (part_kind(code) == PartKind::Vertex && view.topology != nullptr) {
      each_edge_at(code & 0xfff, [&](const Vec3& e) { lines.push_back({e, std::abs(e.dot(n))}); });
    }
    return lines;
  }
  /// Of a ring: the nearest place of its circle has n.c'(s) = 0, but where the circle runs through
  /// the other body and two of its faces are equally near.
  double on_circle(const ContactFeature& f, int side) const {
    if (view.kind != ShapeKind::Torus) return 1;
    const Vec3 n(f.start_normal[0], f.start_normal[1], f.start_normal[2]);
    const SmoothPartT<double> circle =
        smooth_part(view, Pose{Vec3::Zero(), p}, side == 0 ? f.first : f.second);
    const double slope = place_condition(circle, 1, n, f.start_place[side]);
    return std::abs(slope) <= kOffValley * view.p[0] ? 1 : 0;
  }
};

/// Of a cylinder or cone and another shape in a smooth contact: how far they are from being as deep
/// along a line or an area. `n`: the normal, from B to A.
double from_flush(const Placed& a, const Placed& b, const ContactFeature& f, const Vec3& n) {
  if (!is_turned(a.view.kind) && !is_turned(b.view.kind)) return 1;
  const double plane_a = a.plane_off(-n, f.first), plane_b = b.plane_off(n, f.second);
  const std::vector<FlushLine> lines_a = a.flush_lines(-n, f.first),
                               lines_b = b.flush_lines(n, f.second);
  double off = std::max(plane_a, plane_b);
  for (const FlushLine& l : lines_a) off = std::min(off, std::max(l.off, plane_b));
  for (const FlushLine& k : lines_b) off = std::min(off, std::max(k.off, plane_a));
  for (const FlushLine& l : lines_a)
    for (const FlushLine& k : lines_b)
      off = std::min(off, std::max({l.off, k.off, l.along.cross(k.along).norm()}));
  return std::min(off, 1.0);
}

}  // namespace

double feature_margin(const Model& model, const Parameters& parameters, const VecX& q,
                      const Contact& contact, bool deepest_only) {
  const ContactFeature& f = contact.feature;
  if (!deepest_only && f.kind != FeatureKind::Smooth) return 1;
  const double* x = parameters.values.data();
  const auto place = [&](ShapeId id, BodyId body) {
    const ShapeInstance& shape = model.shape(id);
    return Placed{shape.shape.view(x + shape.parameter_begin),
                  shape_pose(model.body(body), shape, q.data(), x).p};
  };
  const Placed a = place(contact.shape_a, contact.body_a),
               b = place(contact.shape_b, contact.body_b);
  const Placed &first = f.swapped ? b : a, &second = f.swapped ? a : b;
  switch (f.kind) {
    case FeatureKind::VertexVertex:
      return std::min(first.at_vertex(f.first, contact.normal),
                      second.at_vertex(f.second, contact.normal));
    case FeatureKind::VertexEdge:
    case FeatureKind::VertexFace:
      return first.at_vertex(f.first, contact.normal);
    case FeatureKind::ClippedEdge:  // as deep from end to end where it lies flush
      return std::abs(first.edge(first.view.topology->edges[f.first]).dot(contact.normal));
    case FeatureKind::ClippedVertex:
      return second.at_vertex(f.second, contact.normal);
    case FeatureKind::EdgeEdge:
      return first.edge(first.view.topology->edges[f.first])
          .cross(second.edge(second.view.topology->edges[f.second]))
          .norm();
    case FeatureKind::Smooth:
      return std::min({a.on_circle(f, 0), b.on_circle(f, 1),
                       deepest_only ? from_flush(a, b, f, contact.normal) : 1});
    default:
      return 1;
  }
}

}  // namespace orthant::internal
