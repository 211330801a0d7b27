// SPDX-License-Identifier: Apache-2.0
// gradient/feature_margin.cpp: (contact, configuration) => distance from a tie of deepest points.
#include "gradient/feature_margin.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/shape/contact_kernel.hpp"

namespace orthant::internal {
namespace {

constexpr double kOffValley = 1e-6;  // n.c'(s) of a ring's circle, of its radius: not a valley

/// A shape where it stands.
struct Placed {
  ShapeView<double> view;
  Quat p;

  Vec3 edge(Index v0, Index v1) const {
    return rotate(p, Vec3(core_vertex(view, v1) - core_vertex(view, v0))).normalized();
  }
  Vec3 edge(const HullEdge& e) const { return edge(e.v0, e.v1); }
  double at_vertex(Index vertex, const Vec3& n) const {
    const HullTopology& hull = *view.topology;
    double margin = 1;
    const auto look = [&](Index v0, Index v1) {
      if (v0 == vertex || v1 == vertex) margin = std::min(margin, std::abs(edge(v0, v1).dot(n)));
    };
    for (const HullEdge& e : hull.edges) look(e.v0, e.v1);
    if (!hull.edges.empty()) return margin;
    for (Index f = 0; f < hull.face_count(); ++f)  // in the plane: sides
      look(hull.face_vertex[hull.face_start[f]], hull.face_vertex[hull.face_start[f] + 1]);
    if (hull.face_count() == 0 && hull.vertex_count == 2) look(0, 1);  // a segment
    return margin;
  }
  /// Of a cylinder or cone: how far its end or its side is from lying flush with a plane of normal
  /// n.
  double at_plane(const Vec3& n) const {
    if (!is_turned(view.kind)) return 1;
    const Vec3 d = rotate(conjugate(p), n);
    const double r = view.p[0], length = 2 * view.p[1], across = std::hypot(d.y(), d.z());
    const double along = std::abs(d.x());
    const double side = view.kind == ShapeKind::Cylinder
                            ? along
                            : std::abs(length * along - r * across) / std::hypot(length, r);
    return std::min(across, side);
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
                       deepest_only ? a.at_plane(contact.normal) : 1,
                       deepest_only ? b.at_plane(contact.normal) : 1});
    default:
      return 1;
  }
}

}  // namespace orthant::internal
