// SPDX-License-Identifier: Apache-2.0
// shape/polytope.cpp: (view, R, x) => placed core; (feature, cores) => core contact.
#include "shape/polytope.hpp"

namespace orthant::internal {

void place(const ShapeView<double>& s, const Mat3& R, const Vec3& x, Vec3* vertex, Vec3* normal,
           Vec3* face_point, Polytope& out) {
  out.topology = s.topology;
  out.dim = s.dim;
  out.vertex_count = s.topology->vertex_count;
  out.face_count = s.topology->face_count();
  out.edge_count = s.topology->edge_count();
  out.vertex = vertex;
  out.normal = normal;
  out.face_point = face_point;
  double square = 0;
  for (Index i = 0; i < out.vertex_count; ++i) {
    const Vec3 v = core_vertex(s, i);
    square = std::max(square, v.squaredNorm());
    vertex[i] = x + R * v;
  }
  out.radius = std::sqrt(square);
  if (normal == nullptr) return;
  if (s.kind == ShapeKind::Box) {  // normals are the axes themselves
    for (Index f = 0; f < out.face_count; ++f) {
      const int axis = f >> 1;
      normal[f] = (f & 1) ? Vec3(R.col(axis)) : Vec3(-R.col(axis));
      face_point[f] = x + normal[f] * s.p[axis];
    }
    return;
  }
  for (Index f = 0; f < out.face_count; ++f) {
    const PlaneT<double> plane = core_face(s, f);
    normal[f] = R * plane.normal;
    face_point[f] = x + R * plane.point;
  }
}

void evaluate_core(const ContactFeature& f, const Polytope& A, const Polytope& B,
                   ContactPoint& out) {
  const Polytope& P = f.swapped ? B : A;
  const Polytope& Q = f.swapped ? A : B;
  Primitive first, second, reference;
  switch (f.kind) {
    case FeatureKind::VertexVertex:
      first = vertex_of(P, f.first);
      second = vertex_of(Q, f.second);
      break;
    case FeatureKind::VertexEdge:
      first = vertex_of(P, f.first);
      second = edge_of(Q, f.second);
      break;
    case FeatureKind::VertexFace:
      first = vertex_of(P, f.first);
      second = face_of(Q, f.second);
      break;
    case FeatureKind::EdgeEdge:
      first = edge_of(P, f.first);
      second = edge_of(Q, f.second);
      break;
    case FeatureKind::ClippedEdge:
      first = edge_of(P, f.first);
      second = edge_of(Q, f.second);
      reference = face_of(Q, f.face);
      break;
    case FeatureKind::ClippedVertex:
      first = face_of(P, f.first);
      second = vertex_of(Q, f.second);
      reference = face_of(Q, f.face);
      break;
    case FeatureKind::Smooth:
    case FeatureKind::SubSpheres:
      break;
  }
  const CoreContact c = core_contact(f.kind, f.sign, A.dim, first, second, reference);
  out.gap = c.gap;
  out.normal = f.swapped ? Vec3(-c.normal) : c.normal;
  out.point_a = f.swapped ? c.second : c.first;
  out.point_b = f.swapped ? c.first : c.second;
  out.feature = f;
}

}  // namespace orthant::internal
