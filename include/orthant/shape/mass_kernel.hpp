// SPDX-License-Identifier: Apache-2.0
// shape/mass_kernel.hpp: (shape, density) => mass, centre of mass, inertia; exact, in any scalar.
// Polytopes by signed tetrahedra (planar: triangles) from the origin; a body of parts by the
// parallel axis theorem, I_c = sum R I R' + m (|r|^2 1 - r r'). A planar shape fills only
// inertia(2, 2), that of the section.
#pragma once

#include <numbers>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/pose_kernel.hpp"
#include "orthant/shape/shape_kernel.hpp"
#include "orthant/shape/super_kernel.hpp"

namespace ORTHANT_EXPORT orthant {

template <class T>
struct MassPropertiesT {
  T mass{0};                                     // [kg]
  Vec3T<T> center = Vec3T<T>(T(0), T(0), T(0));  // of mass, in the frame of the shape [m]
  Mat3T<T> inertia = Mat3T<T>::Zero();           // about center [kg m^2]
};
using MassProperties = MassPropertiesT<double>;

namespace internal {

/// m (|r|^2 1 - r r'): the inertia of a point mass.
template <class T>
Mat3T<T> point_inertia(const T& mass, const Vec3T<T>& r) {
  const T s = r.squaredNorm();
  Mat3T<T> I;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) I(i, j) = mass * ((i == j ? s : T(0)) - r[i] * r[j]);
  return I;
}

/// In the plane only the turn about z exists.
template <class T>
void keep_planar(Mat3T<T>& I) {
  const T zz = I(2, 2);
  I = Mat3T<T>::Zero();
  I(2, 2) = zz;
}

template <class T>
MassPropertiesT<T> capsule_mass(const ShapeView<T>& s, const T& density) {
  const double pi = std::numbers::pi;
  const T r = s.p[0], h = s.p[1];
  MassPropertiesT<T> m;
  if (s.dim == 2) {
    const T bar = density * T(4) * h * r, caps = density * T(pi) * r * r;
    m.mass = bar + caps;
    m.inertia(2, 2) = bar * (h * h + r * r) * T(1.0 / 3) +
                      caps * (r * r * T(0.5) + h * h + h * r * T(8 / (3 * pi)));
    return m;
  }
  const T bar = density * T(2 * pi) * r * r * h, caps = density * T(4 * pi / 3) * r * r * r;
  m.mass = bar + caps;
  m.inertia(0, 0) = bar * r * r * T(0.5) + caps * r * r * T(0.4);
  m.inertia(1, 1) = bar * (r * r * T(0.25) + h * h * T(1.0 / 3)) +
                    caps * (r * r * T(0.4) + h * h + h * r * T(0.75));
  m.inertia(2, 2) = m.inertia(1, 1);
  return m;
}

template <class T>
MassPropertiesT<T> polygon_mass(const ShapeView<T>& s, const T& density) {
  MassPropertiesT<T> m;
  const HullTopology& h = *s.topology;
  const Vec3T<T> origin = core_vertex(s, 0);  // a vertex as apex keeps far hulls accurate
  T second(0);
  for (Index f = 0; f < h.face_count(); ++f) {
    const Vec3T<T> a = core_vertex(s, h.face_vertex[2 * f]) - origin;
    const Vec3T<T> b = core_vertex(s, h.face_vertex[2 * f + 1]) - origin;
    const T area = (a[0] * b[1] - a[1] * b[0]) * T(0.5);
    m.mass += density * area;
    m.center += (a + b) * (density * area * T(1.0 / 3));
    second += density * area * (a.dot(a) + a.dot(b) + b.dot(b)) * T(1.0 / 6);
  }
  m.center = m.center / m.mass;
  m.inertia(2, 2) = second - m.mass * m.center.squaredNorm();
  m.center += origin;
  return m;
}

template <class T>
MassPropertiesT<T> polyhedron_mass(const ShapeView<T>& s, const T& density) {
  MassPropertiesT<T> m;
  const HullTopology& h = *s.topology;
  const Vec3T<T> origin = core_vertex(s, 0);
  Mat3T<T> second = m.inertia;  // integral of r r'
  for (Index f = 0; f < h.face_count(); ++f) {
    const Vec3T<T> a = core_vertex(s, h.face_vertex[h.face_start[f]]) - origin;
    for (Index k = h.face_start[f] + 1; k + 1 < h.face_start[f + 1]; ++k) {
      const Vec3T<T> b = core_vertex(s, h.face_vertex[k]) - origin;
      const Vec3T<T> c = core_vertex(s, h.face_vertex[k + 1]) - origin;
      const T mass = density * a.dot(b.cross(c)) * T(1.0 / 6);
      const Vec3T<T> sum = a + b + c;
      m.mass += mass;
      m.center += sum * (mass * T(0.25));
      // tetrahedron (0, a, b, c): integral of r r' = m/20 (sum sum' + aa' + bb' + cc')
      second +=
          (sum * sum.transpose() + a * a.transpose() + b * b.transpose() + c * c.transpose()) *
          (mass * T(0.05));
    }
  }
  m.center = m.center / m.mass;
  const T trace = second(0, 0) + second(1, 1) + second(2, 2);
  const Mat3T<T> shift = point_inertia(m.mass, m.center);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      m.inertia(i, j) = (i == j ? trace : T(0)) - second(i, j) - shift(i, j);
  m.center += origin;
  return m;
}

/// What a rounded hull has beyond its core, and the core: prisms on the faces, sectors of cylinders
/// along the edges, sectors of a ball at the vertices. Those of a vertex need the moments of its
/// spherical polygon, by Stokes and by the Laplacian of n n' on the sphere (arcs have poles m):
///   int n = 1/2 sum angle m,   int n n' = (2 area 1 + sum [m w' + w m']) / 6,  w = int of n on an
///   arc
template <class T>
MassPropertiesT<T> rounded_mass(const ShapeView<T>& s, const T& density) {
  using std::atan2;
  using std::sqrt;
  const HullTopology& h = *s.topology;
  const T r = core_radius(s);
  MassPropertiesT<T> m = polyhedron_mass(s, density);
  const Vec3T<T> origin = m.center;  // everything is collected about the centre of the core
  T mass = m.mass;
  Vec3T<T> first(T(0), T(0), T(0));
  Mat3T<T> second;  // integral of r r'
  const T trace = (m.inertia(0, 0) + m.inertia(1, 1) + m.inertia(2, 2)) * T(0.5);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) second(i, j) = (i == j ? trace : T(0)) - m.inertia(i, j);
  const auto add = [](const Vec3T<T>& a, const Vec3T<T>& b) {  // a b' + b a'
    Mat3T<T> out;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) out(i, j) = a[i] * b[j] + b[i] * a[j];
    return out;
  };
  const T r2 = r * r * density, r3 = r2 * r, r4 = r3 * r, r5 = r4 * r;
  std::vector<Vec3T<T>> normal(static_cast<std::size_t>(h.face_count()));
  const T half(0.5), third(1.0 / 3);
  for (Index f = 0; f < h.face_count(); ++f) {
    const Vec3T<T> n = normal[f] = core_face(s, f).normal;
    const Vec3T<T> a = core_vertex(s, h.face_vertex[h.face_start[f]]) - origin;
    for (Index k = h.face_start[f] + 1; k + 1 < h.face_start[f + 1]; ++k) {
      const Vec3T<T> b = core_vertex(s, h.face_vertex[k]) - origin;
      const Vec3T<T> c = core_vertex(s, h.face_vertex[k + 1]) - origin;
      const T area = n.dot(Vec3T<T>((b - a).cross(c - a))) * half;
      const Vec3T<T> sum = a + b + c, mean = sum * third;
      mass += density * area * r;
      first += mean * (density * area * r) + n * (area * r2 * half);
      second += (add(sum, sum) * half + add(a, a) * half + add(b, b) * half + add(c, c) * half) *
                    (density * area * r * T(1.0 / 12)) +
                add(mean, n) * (area * r2 * half) + add(n, n) * (area * r3 * third * half);
    }
  }
  struct Corner {
    T area{0};
    Vec3T<T> first = Vec3T<T>(T(0), T(0), T(0));
    Mat3T<T> second = Mat3T<T>::Zero();
  };
  std::vector<Corner> corner(static_cast<std::size_t>(h.vertex_count));
  for (const HullEdge& e : h.edges) {
    const Vec3T<T> p = core_vertex(s, e.v0) - origin, q = core_vertex(s, e.v1) - origin;
    const T length = sqrt((q - p).squaredNorm());
    const Vec3T<T> along = (q - p) / length, n0 = normal[e.f0], n1 = normal[e.f1];
    // Seen along the edge the normals turn from f0 to f1, about its direction or against it.
    const bool against = value_of(n0.cross(n1).dot(along)) < 0;
    const Vec3T<T> pole = against ? Vec3T<T>(-along) : along, t = pole.cross(n0);
    const T sine = n1.dot(t), cosine = n1.dot(n0), angle = atan2(sine, cosine);
    const Vec3T<T> w = pole.cross(n0 - n1);  // integral of n over the arc
    const Mat3T<T> nn =                      // of n n'
        add(n0, n0) * (half * half * (angle + sine * cosine)) +
        add(t, t) * (half * half * (angle - sine * cosine)) + add(n0, t) * (half * sine * sine);
    const Vec3T<T> middle = (p + q) * half;
    mass += r2 * half * angle * length;
    first += middle * (r2 * half * angle * length) + w * (r3 * third * length);
    second += (add(middle, middle) * half + add(along, along) * (length * length * T(1.0 / 24))) *
                  (r2 * half * angle * length) +
              add(middle, w) * (r3 * third * length) + nn * (r4 * T(0.25) * length);
    // The arc bounds the polygons of both ends: at v1 the edge arrives, at v0 it leaves.
    for (const bool end : {false, true}) {
      Corner& c = corner[end ? e.v1 : e.v0];
      const Vec3T<T> inward =
          end ? along : Vec3T<T>(-along);  // pole of the arc towards the polygon
      c.first += inward * (angle * half);
      c.second += add(inward, w) * T(1.0 / 6);
    }
  }
  // Areas of the polygons: 2 pi less the turns of their corners, which are the angles of the faces.
  for (Corner& c : corner) c.area = T(2 * std::numbers::pi);
  for (Index f = 0; f < h.face_count(); ++f) {
    const Index begin = h.face_start[f], end = h.face_start[f + 1];
    for (Index k = begin; k < end; ++k) {
      const Vec3T<T> x = core_vertex(s, h.face_vertex[k]);
      const Vec3T<T> a = core_vertex(s, h.face_vertex[k + 1 < end ? k + 1 : begin]) - x;
      const Vec3T<T> b = core_vertex(s, h.face_vertex[k > begin ? k - 1 : end - 1]) - x;
      corner[h.face_vertex[k]].area -= atan2(sqrt(a.cross(b).squaredNorm()), a.dot(b));
    }
  }
  for (Index i = 0; i < h.vertex_count; ++i) {
    Corner& c = corner[i];
    for (int k = 0; k < 3; ++k) c.second(k, k) += c.area * third;
    const Vec3T<T> x = core_vertex(s, i) - origin;
    mass += c.area * r3 * third;
    first += x * (c.area * r3 * third) + c.first * (r4 * T(0.25));
    second += add(x, x) * (half * c.area * r3 * third) + add(x, c.first) * (r4 * T(0.25)) +
              c.second * (r5 * T(0.2));
  }
  m.mass = mass;
  const Vec3T<T> offset = first / mass;
  m.center = origin + offset;
  const T total = second(0, 0) + second(1, 1) + second(2, 2);
  const Mat3T<T> shift = point_inertia(mass, offset);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      m.inertia(i, j) = (i == j ? total : T(0)) - second(i, j) - shift(i, j);
  return m;
}

}  // namespace internal

/// Mass properties in the shape frame. Ground has none: zero mass is returned.
template <class T>
MassPropertiesT<T> mass_properties(const ShapeView<T>& s, const T& density) {
  const double pi = std::numbers::pi;
  MassPropertiesT<T> m;
  switch (s.kind) {
    case ShapeKind::Sphere: {
      const T r = s.p[0];
      if (s.dim == 2) {
        m.mass = density * T(pi) * r * r;
        m.inertia(2, 2) = m.mass * r * r * T(0.5);
        return m;
      }
      m.mass = density * T(4 * pi / 3) * r * r * r;
      for (int i = 0; i < 3; ++i) m.inertia(i, i) = m.mass * r * r * T(0.4);
      return m;
    }
    case ShapeKind::Capsule:
      return internal::capsule_mass(s, density);
    case ShapeKind::Box: {
      const T x = s.p[0], y = s.p[1], third = T(1.0 / 3);
      if (s.dim == 2) {
        m.mass = density * T(4) * x * y;
        m.inertia(2, 2) = m.mass * (x * x + y * y) * third;
        return m;
      }
      const T z = s.p[2];
      m.mass = density * T(8) * x * y * z;
      m.inertia(0, 0) = m.mass * (y * y + z * z) * third;
      m.inertia(1, 1) = m.mass * (z * z + x * x) * third;
      m.inertia(2, 2) = m.mass * (x * x + y * y) * third;
      return m;
    }
    case ShapeKind::Cylinder: {
      const T r = s.p[0], h = s.p[1];
      m.mass = density * T(2 * pi) * r * r * h;
      m.inertia(0, 0) = m.mass * r * r * T(0.5);
      m.inertia(1, 1) = m.mass * (r * r * T(0.25) + h * h * T(1.0 / 3));
      m.inertia(2, 2) = m.inertia(1, 1);
      return m;
    }
    case ShapeKind::Cone: {
      const T r = s.p[0], h = s.p[1];
      m.mass = density * T(2 * pi / 3) * r * r * h;
      m.center[0] = h * T(-0.5);
      m.inertia(0, 0) = m.mass * r * r * T(0.3);
      m.inertia(1, 1) = m.mass * (r * r + h * h) * T(0.15);
      m.inertia(2, 2) = m.inertia(1, 1);
      return m;
    }
    case ShapeKind::Hull:
      if (s.topology->rounded) return internal::rounded_mass(s, density);
      return s.dim == 2 ? internal::polygon_mass(s, density)
                        : internal::polyhedron_mass(s, density);
    case ShapeKind::Ellipsoid: {
      const T x = s.p[0], y = s.p[1];
      if (s.dim == 2) {
        m.mass = density * T(pi) * x * y;
        m.inertia(2, 2) = m.mass * (x * x + y * y) * T(0.25);
        return m;
      }
      const T z = s.p[2];
      m.mass = density * T(4 * pi / 3) * x * y * z;
      m.inertia(0, 0) = m.mass * (y * y + z * z) * T(0.2);
      m.inertia(1, 1) = m.mass * (z * z + x * x) * T(0.2);
      m.inertia(2, 2) = m.mass * (x * x + y * y) * T(0.2);
      return m;
    }
    case ShapeKind::SuperEllipsoid: {
      // Integrals of powers in polar form (Jaklic, Solina 2003): products of beta functions.
      const auto beta = [](const T& x, const T& y) { return internal::beta_function(x, y); };
      const T e1 = s.p[3], e2 = s.p[4], half(0.5), one(1), two(2), more(1.5);
      const T size = density * s.p[0] * s.p[1] * s.p[2] * e1 * e2;
      m.mass = size * two * beta(half * e1 + one, e1) * beta(half * e2, half * e2);
      const T across = size * half * beta(more * e2, half * e2) * beta(half * e1, two * e1 + one);
      const T along = size * two * beta(half * e2, half * e2 + one) * beta(more * e1, e1 + one);
      const T x = across * s.p[0] * s.p[0], y = across * s.p[1] * s.p[1],
              z = along * s.p[2] * s.p[2];
      m.inertia(0, 0) = y + z;
      m.inertia(1, 1) = z + x;
      m.inertia(2, 2) = x + y;
      return m;
    }
    case ShapeKind::Torus: {
      const T R = s.p[0], r = s.p[1];
      m.mass = density * T(2 * pi * pi) * R * r * r;
      m.inertia(2, 2) = m.mass * (R * R + r * r * T(0.75));
      m.inertia(0, 0) = m.mass * (R * R * T(0.5) + r * r * T(0.625));
      m.inertia(1, 1) = m.inertia(0, 0);
      return m;
    }
    case ShapeKind::HalfSpace:
    case ShapeKind::Mesh:
      break;
  }
  return m;
}

/// The same body seen from frame A: X_AB places its frame B.
template <class T>
MassPropertiesT<T> transform(const PoseT<T>& X_AB, const MassPropertiesT<T>& m) {
  const Mat3T<T> R = matrix_of(X_AB.p);
  MassPropertiesT<T> r;
  r.mass = m.mass;
  r.center = transform(X_AB, m.center);
  r.inertia = R * m.inertia * R.transpose();
  return r;
}

/// Two parts, in one frame, as one body. Pass dim = 2 for planar parts.
template <class T>
MassPropertiesT<T> combine(const MassPropertiesT<T>& a, const MassPropertiesT<T>& b, int dim = 3) {
  MassPropertiesT<T> r;
  r.mass = a.mass + b.mass;
  if (!(value_of(r.mass) > 0)) return r;
  r.center = (a.center * a.mass + b.center * b.mass) / r.mass;
  r.inertia = a.inertia + b.inertia +
              internal::point_inertia(a.mass, Vec3T<T>(a.center - r.center)) +
              internal::point_inertia(b.mass, Vec3T<T>(b.center - r.center));
  if (dim == 2) internal::keep_planar(r.inertia);
  return r;
}

}  // namespace orthant
