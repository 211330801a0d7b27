// SPDX-License-Identifier: Apache-2.0
// shape/smooth_kernel.hpp: (two parts of cores, a start) => gap, normal, points; with derivatives.
//   p_A - p_B = g n,  |n| = 1,  p_A, p_B where the surfaces have the normals -n and n
// A part is a vertex, an edge, a face, an ellipsoid (or super-ellipsoid), a circle or the side of a
// cone. Newton runs in double; the last step is repeated in T with the converged matrix: by the
// implicit function theorem that is the exact derivative of gap, normal and points, and no
// iteration is differentiated.
#pragma once

#include <cmath>
#include <cstdint>

#include "orthant/base/export.hpp"
#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"
#include "orthant/shape/super_kernel.hpp"

namespace ORTHANT_EXPORT orthant {
namespace internal {

enum class PartKind : std::uint8_t {
  Vertex,
  Edge,
  Face,
  Ellipsoid,
  Circle,
  ConeSide,
  SuperEllipsoid
};

/// One body's half of a smooth contact, all in one frame.
template <class T>
struct SmoothPartT {
  PartKind kind = PartKind::Vertex;
  Vec3T<T> x;      // vertex, start of the edge, point of the face, centre
  Vec3T<T> u, v;   // edge: u its vector; face: u its normal; circle: u, v radii at right angles
  Mat3T<T> shape;  // ellipsoid: R diag(a^2) R', support(n) = x + E n / sqrt(n.E n)
                   // super-ellipsoid: R; u its semi-axes, v its exponents
  T sine{0};       // side of a cone: outward normals have n.u = sine; x its tip, u its unit axis
};

template <class T>
struct SmoothContactT {
  T gap{0};
  Vec3T<T> normal, first, second;  // first on A, second on B; normal from B to A
  double s[2] = {0, 0};            // place on the edge [0, 1], circle [rad], line of a side [m]
};

/// Free places: one for an edge, a circle, the line of a cone's side.
inline int place_count(PartKind kind) {
  return kind == PartKind::Edge || kind == PartKind::Circle || kind == PartKind::ConeSide ? 1 : 0;
}

/// Its point with the outward normal `sign` n, at the place s.
template <class T, class U>
Vec3T<U> part_point(const SmoothPartT<T>& part, double sign, const Vec3T<U>& n, const U& s) {
  using std::cos;
  using std::sin;
  using std::sqrt;
  Vec3T<U> point(U(part.x[0]), U(part.x[1]), U(part.x[2]));
  switch (part.kind) {
    case PartKind::Edge:
      for (int i = 0; i < 3; ++i) point[i] += U(part.u[i]) * s;
      break;
    case PartKind::Circle: {
      const U c = cos(s), d = sin(s);
      for (int i = 0; i < 3; ++i) point[i] += U(part.u[i]) * c + U(part.v[i]) * d;
      break;
    }
    case PartKind::Ellipsoid: {
      Vec3T<U> En(U(0), U(0), U(0));
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) En[i] += U(part.shape(i, j)) * n[j];
      const U factor = U(sign) / sqrt(n.dot(En));
      for (int i = 0; i < 3; ++i) point[i] += factor * En[i];
      break;
    }
    case PartKind::ConeSide: {  // from the tip down the line whose outward normal is sign n
      U along(0);
      for (int i = 0; i < 3; ++i) along += U(part.u[i]) * n[i];
      for (int i = 0; i < 3; ++i) point[i] += (along * n[i] - U(part.u[i])) * s;
      break;
    }
    case PartKind::SuperEllipsoid: {
      Vec3T<U> m(U(0), U(0), U(0));
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) m[i] += U(part.shape(j, i)) * n[j] * U(sign);
      const T p[5] = {part.u[0], part.u[1], part.u[2], part.v[0], part.v[1]};
      const Vec3T<U> x = super_point(p, m);
      for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) point[i] += U(part.shape(i, j)) * x[j];
      break;
    }
    case PartKind::Vertex:
    case PartKind::Face:
      break;
  }
  return point;
}

/// n . (d point / d s): zero at the nearest place. The side of a cone: its slope instead.
template <class T, class U>
U place_condition(const SmoothPartT<T>& part, double sign, const Vec3T<U>& n, const U& s) {
  using std::cos;
  using std::sin;
  U sum(0);
  if (part.kind != PartKind::Circle) {
    for (int i = 0; i < 3; ++i) sum += U(part.u[i]) * n[i];
    return part.kind == PartKind::ConeSide ? sum - U(sign) * U(part.sine) : sum;
  }
  const U c = cos(s), d = sin(s);
  for (int i = 0; i < 3; ++i) sum += (U(part.v[i]) * c - U(part.u[i]) * d) * n[i];
  return sum;
}

inline constexpr int kSmoothUnknowns = 6;  // n, g, two places

/// Residual of the conditions at x = (n, g, s_A, s_B); returns how many there are.
template <class T, class U>
int smooth_residual(const SmoothPartT<T>& a, const SmoothPartT<T>& b, int dim, const U* x, U* r) {
  const Vec3T<U> n(x[0], x[1], x[2]);
  int next = 4;
  const U s_a = place_count(a.kind) ? x[next++] : U(0);
  const U s_b = place_count(b.kind) ? x[next++] : U(0);
  const Vec3T<U> p = part_point(a, -1, n, s_a), q = part_point(b, 1, n, s_b);
  for (int i = 0; i < 3; ++i) r[i] = p[i] - q[i] - x[3] * n[i];
  if (dim == 2) r[2] = n[2];
  r[3] = (n.dot(n) - U(1)) * U(0.5);
  int count = 4;
  if (place_count(a.kind)) r[count++] = place_condition(a, -1, n, s_a);
  if (place_count(b.kind)) r[count++] = place_condition(b, 1, n, s_b);
  return count;
}

/// Inverse of the leading n x n part by Gauss-Jordan with row pivots; false where singular.
inline bool invert(double (&A)[kSmoothUnknowns][kSmoothUnknowns], int n,
                   double (&inverse)[kSmoothUnknowns][kSmoothUnknowns]) {
  double largest = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      inverse[i][j] = i == j ? 1 : 0;
      largest = std::fmax(largest, std::fabs(A[i][j]));
    }
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i)
      if (std::fabs(A[i][k]) > std::fabs(A[pivot][k])) pivot = i;
    if (!(std::fabs(A[pivot][k]) > 1e-13 * largest)) return false;
    for (int j = 0; j < n; ++j) {
      std::swap(A[k][j], A[pivot][j]);
      std::swap(inverse[k][j], inverse[pivot][j]);
    }
    const double scale = 1 / A[k][k];
    for (int j = 0; j < n; ++j) {
      A[k][j] *= scale;
      inverse[k][j] *= scale;
    }
    for (int i = 0; i < n; ++i) {
      const double factor = A[i][k];
      if (i == k || factor == 0) continue;
      for (int j = 0; j < n; ++j) {
        A[i][j] -= factor * A[k][j];
        inverse[i][j] -= factor * inverse[k][j];
      }
    }
  }
  return true;
}

template <class T>
SmoothPartT<double> value_part(const SmoothPartT<T>& part) {
  SmoothPartT<double> p;
  p.kind = part.kind;
  p.sine = value_of(part.sine);
  for (int i = 0; i < 3; ++i) {
    p.x[i] = value_of(part.x[i]);
    const bool super = part.kind == PartKind::SuperEllipsoid;
    if (super || part.kind == PartKind::Ellipsoid)
      for (int j = 0; j < 3; ++j) p.shape(i, j) = value_of(part.shape(i, j));
    if (part.kind != PartKind::Ellipsoid && part.kind != PartKind::Vertex)
      p.u[i] = value_of(part.u[i]);
    if (super || part.kind == PartKind::Circle) p.v[i] = value_of(part.v[i]);
  }
  return p;
}

/// A face holds its normal; the other part's place is the nearest along it. `face` is B when
/// face_is_b.
template <class T>
SmoothContactT<T> face_contact(const SmoothPartT<T>& face, const SmoothPartT<T>& other,
                               bool face_is_b, double start) {
  SmoothContactT<T> c;
  c.normal = face_is_b ? face.u : Vec3T<T>(-face.u);
  const double sign = face_is_b ? -1 : 1;
  T s(start);
  if (place_count(other.kind) == 1 && other.kind == PartKind::Circle) {
    // n.(v cos s - u sin s) = 0. A ring parallel to the face keeps its place, and so does one whose
    // circle runs through the body: its nearest point is a kink between two faces.
    const T nu = c.normal.dot(other.u), nv = c.normal.dot(other.v);
    const double size = value_of(other.u.squaredNorm());
    const double slope = value_of(nv) * std::cos(start) - value_of(nu) * std::sin(start);
    const double square = value_of(nu * nu + nv * nv);
    if (square > 1e-24 * size && slope * slope < 1e-4 * square) {
      using std::atan2;
      s = face_is_b ? atan2(-nv, -nu) : atan2(nv, nu);
    }
  }
  const Vec3T<T> p = part_point<T, T>(other, sign, c.normal, s);
  if (face_is_b) {
    c.gap = c.normal.dot(p - face.x);
    c.first = p;
    c.second = p - c.normal * c.gap;
  } else {
    c.gap = c.normal.dot(face.x - p);
    c.second = p;
    c.first = p + c.normal * c.gap;
  }
  c.s[face_is_b ? 0 : 1] = value_of(s);
  return c;
}

/// Gap, normal and points of two parts near the start (normal, places).
template <class T>
SmoothContactT<T> smooth_contact(const SmoothPartT<T>& a, const SmoothPartT<T>& b, int dim,
                                 const double* normal, const double* places) {
  if (b.kind == PartKind::Face) return face_contact(b, a, true, places[0]);
  if (a.kind == PartKind::Face) return face_contact(a, b, false, places[1]);
  using D = Dual<kSmoothUnknowns>;
  const SmoothPartT<double> A = value_part(a), B = value_part(b);
  double x[kSmoothUnknowns] = {normal[0], normal[1], normal[2], 0, 0, 0};
  int n = 4;
  if (place_count(a.kind)) x[n++] = places[0];
  if (place_count(b.kind)) x[n++] = places[1];
  {
    const Vec3 m(x[0], x[1], x[2]);
    int next = 4;
    const double s_a = place_count(a.kind) ? x[next++] : 0;
    const double s_b = place_count(b.kind) ? x[next++] : 0;
    x[3] = m.dot(part_point(A, -1, m, s_a) - part_point(B, 1, m, s_b));
  }
  // Across a flat spot of a super-ellipsoid a full step of Newton goes astray: there only a step
  // that lessens the residual is taken, and what is left of it is not corrected below.
  const bool flat = a.kind == PartKind::SuperEllipsoid || b.kind == PartKind::SuperEllipsoid;
  double inverse[kSmoothUnknowns][kSmoothUnknowns] = {};
  bool regular = false;
  for (int iteration = 0; iteration < 12; ++iteration) {
    D unknown[kSmoothUnknowns], r[kSmoothUnknowns];
    for (int i = 0; i < n; ++i) unknown[i] = D::variable(x[i], i);
    smooth_residual<double, D>(A, B, dim, unknown, r);
    double J[kSmoothUnknowns][kSmoothUnknowns] = {};
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) J[i][j] = r[i].d[j];
    regular = invert(J, n, inverse);
    if (!regular) break;
    double step = 0, next[kSmoothUnknowns] = {};
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < n; ++j) sum += inverse[i][j] * r[j].v;
      next[i] = x[i] - sum;
      if (i != 3) step = std::fmax(step, std::fabs(sum));
    }
    if (flat) {
      double after[kSmoothUnknowns], before = 0, square = 0;
      smooth_residual<double, double>(A, B, dim, next, after);
      for (int i = 0; i < n; ++i) {
        before += r[i].v * r[i].v;
        square += after[i] * after[i];
      }
      if (!(square < before)) break;
    }
    for (int i = 0; i < n; ++i) x[i] = next[i];
    if (step < 1e-13) break;
  }
  // A start that was no solution (a kink, deep inside) stays where it is.
  double moved = 0;
  for (int i = 0; i < 3; ++i) moved = std::fmax(moved, std::fabs(x[i] - normal[i]));
  if (!(moved < 0.1)) {
    regular = false;
    for (int i = 0; i < 3; ++i) x[i] = normal[i];
    int next = 4;
    if (place_count(a.kind)) x[next++] = places[0];
    if (place_count(b.kind)) x[next++] = places[1];
  }
  T y[kSmoothUnknowns], r[kSmoothUnknowns];
  for (int i = 0; i < n; ++i) y[i] = T(x[i]);
  if (regular) {
    smooth_residual<T, T>(a, b, dim, y, r);
    for (int i = 0; i < n; ++i) {
      T sum(0);
      for (int j = 0; j < n; ++j) sum += (flat ? r[j] - T(value_of(r[j])) : r[j]) * inverse[i][j];
      y[i] -= sum;
    }
  }
  SmoothContactT<T> c;
  c.normal = Vec3T<T>(y[0], y[1], y[2]);
  int next = 4;
  const T s_a = place_count(a.kind) ? y[next++] : T(0);
  const T s_b = place_count(b.kind) ? y[next++] : T(0);
  c.first = part_point<T, T>(a, -1, c.normal, s_a);
  c.second = part_point<T, T>(b, 1, c.normal, s_b);
  c.gap = c.normal.dot(c.first - c.second);
  // Where a super-ellipsoid is flat its point is known less well than the normal: the other body's
  // is taken, of two of them the middle.
  const bool super_a = a.kind == PartKind::SuperEllipsoid,
             super_b = b.kind == PartKind::SuperEllipsoid;
  if (super_a || super_b) {
    const double share = super_a ? (super_b ? 0.5 : 0) : 1;  // of A's
    for (int i = 0; i < 3; ++i) {
      const T middle = c.first[i] * T(share) + (c.second[i] + c.gap * c.normal[i]) * T(1 - share);
      c.first[i] = middle;
      c.second[i] = middle - c.gap * c.normal[i];
    }
  }
  c.s[0] = value_of(s_a);
  c.s[1] = value_of(s_b);
  return c;
}

}  // namespace internal
}  // namespace orthant
