// SPDX-License-Identifier: Apache-2.0
// shape/mass_kernel.hpp: (shape, density) => mass, centre of mass, inertia; exact, in any scalar.
// Polytopes by signed tetrahedra (planar: triangles) from the origin; a body of parts by the
// parallel axis theorem, I_c = sum R I R' + m (|r|^2 1 - r r'). A planar shape fills only
// inertia(2, 2), that of the section.
#pragma once

#include <numbers>

#include "orthant/math/pose_kernel.hpp"
#include "orthant/shape/shape_kernel.hpp"

namespace orthant {

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

}  // namespace internal

/// Mass properties in the shape frame. A half-space has none: zero mass is returned.
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
    case ShapeKind::Hull:
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
    case ShapeKind::Torus: {
      const T R = s.p[0], r = s.p[1];
      m.mass = density * T(2 * pi * pi) * R * r * r;
      m.inertia(2, 2) = m.mass * (R * R + r * r * T(0.75));
      m.inertia(0, 0) = m.mass * (R * R * T(0.5) + r * r * T(0.625));
      m.inertia(1, 1) = m.inertia(0, 0);
      return m;
    }
    case ShapeKind::HalfSpace:
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
