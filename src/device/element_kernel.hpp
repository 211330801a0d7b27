// SPDX-License-Identifier: Apache-2.0
// device/element_kernel.hpp: the formulas of bodies, joints and contacts in any scalar: the same as
// force/free_rotation_kernel.hpp, model/joint_kernel.hpp and constraint/contact_kernel.hpp, on
// plain structs, so that a device compiler takes them; the tests hold the two together.
#pragma once

#include "device/batch_model.hpp"
#include "device/scalar_kernel.hpp"

namespace orthant::device {

template <class T>
struct Pose7 {
  V3<T> x;
  Q4<T> p;
};
template <class T>
ORTHANT_HD Pose7<T> read_pose(const T* q) {
  return {{q[0], q[1], q[2]}, {q[3], q[4], q[5], q[6]}};
}
/// As stored in parameters: the quaternion is normalised here.
template <class T>
ORTHANT_HD Pose7<T> read_frame(const T* x) {
  return {{x[0], x[1], x[2]}, normalized(Q4<T>{x[3], x[4], x[5], x[6]})};
}

// --- bodies ---

/// A symmetric 3 × 3 matrix: xx, yy, zz, xy, xz, yz.
template <class T>
ORTHANT_HD V3<T> times(const T* I, const V3<T>& a) {
  return {I[0] * a.x + I[3] * a.y + I[4] * a.z, I[3] * a.x + I[1] * a.y + I[5] * a.z,
          I[4] * a.x + I[5] * a.y + I[2] * a.z};
}
/// A x = y by Cramer's rule; columns of A.
template <class T>
ORTHANT_HD V3<T> solve3(const V3<T>& a, const V3<T>& b, const V3<T>& c, const V3<T>& y) {
  const V3<T> bc = cross(b, c);
  const T inverse = T(1) / dot(a, bc);
  return {dot(y, bc) * inverse, dot(a, cross(y, c)) * inverse, dot(a, cross(b, y)) * inverse};
}
template <class T>
ORTHANT_HD V3<T> solve_symmetric(const T* I, const V3<T>& y) {
  return solve3(V3<T>{I[0], I[3], I[4]}, V3<T>{I[3], I[1], I[5]}, V3<T>{I[4], I[5], I[2]}, y);
}

template <class T>
ORTHANT_HD void tangent_ratio(const T& y, T& value, T& slope) {
  if (value_of(y) < 1e-3) {
    value = 1.0 + y * (1.0 / 3 + y * (2.0 / 15 + y * (17.0 / 315 + y * (62.0 / 2835))));
    slope = 1.0 / 3 + y * (4.0 / 15 + y * (51.0 / 315 + y * (248.0 / 2835)));
    return;
  }
  const double limit = 1.44;
  const T at = value_of(y) < limit ? y : T(limit);
  const T x = root(at);
  const T c = cosine(x);
  value = sine(x) / (c * x);
  slope = (T(1) / (c * c) - value) / (2.0 * at);
  if (value_of(y) >= limit) value = value + slope * (y - at);
}

template <class T>
ORTHANT_HD V3<T> midpoint_omega(const T* J, const V3<T>& P, const V3<T>& start, double h) {
  V3<T> W = start;
  const double half = h * 0.5;
  const double scale = root(value_of(dot(P, P)));
  int extra = 2;  // after the value has settled: the last bits, and the derivative
  for (int i = 0; i < 30 && extra > 0; ++i) {
    const V3<T> JW = times(J, W);
    T ratio, slope;
    tangent_ratio<T>(dot(W, W) * (h * h * 0.25), ratio, slope);
    const V3<T> gyro = cross(W, JW);
    const T r = ratio * half;
    const V3<T> F = JW - P + gyro * r;
    if (root(value_of(dot(F, F))) <= 1e-10 * scale) --extra;
    // J + ([W]× J − [JW]×) r + gyro Wᵀ slope h half², column by column
    const T g = slope * (h * half * half);
    const V3<T> c0 = V3<T>{J[0], J[3], J[4]}, c1 = V3<T>{J[3], J[1], J[5]},
                c2 = V3<T>{J[4], J[5], J[2]};
    const V3<T> a0 = c0 + (cross(W, c0) - cross(JW, axis<T>(0))) * r + gyro * (W.x * g);
    const V3<T> a1 = c1 + (cross(W, c1) - cross(JW, axis<T>(1))) * r + gyro * (W.y * g);
    const V3<T> a2 = c2 + (cross(W, c2) - cross(JW, axis<T>(2))) * r + gyro * (W.z * g);
    W = W - solve3(a0, a1, a2, F);
  }
  return W;
}

template <class T>
struct Coast {
  V3<T> turn, omega;  ///< in h, without torque, world axes
};
/// Implicit midpoint that keeps energy and angular momentum (force/free_rotation_kernel.hpp).
template <class T>
ORTHANT_HD Coast<T> coast(const T* J, const Q4<T>& p, const V3<T>& omega, double h) {
  const V3<T> L = rotate(p, times(J, rotate(conjugate(p), omega)));
  const double angle = h * root(value_of(dot(omega, omega)));
  const int count = angle < 2 ? 1 : static_cast<int>(angle / 2 < 1e6 ? angle / 2 : 1e6) + 1;
  const double part = h / count;
  Coast<T> r;
  Q4<T> now = p;
  r.omega = omega;
  for (int i = 0; i < count; ++i) {
    const Q4<T> back = conjugate(now);
    const V3<T> W = midpoint_omega<T>(J, rotate(back, L), rotate(back, r.omega), part);
    r.turn = rotate(now, W) * part;
    now = boxplus(now, r.turn);
    r.omega = rotate(now, solve_symmetric(J, rotate(conjugate(now), L)));
  }
  if (count > 1) r.turn = boxminus(now, p);
  return r;
}
ORTHANT_HD inline bool is_isotropic(const double* I) {
  return I[0] == I[1] && I[1] == I[2] && I[3] == 0 && I[4] == 0 && I[5] == 0;
}

// --- joints ---

template <class T>
struct JointFrame {
  V3<T> ra, rb, d;
  Q4<T> pa, pb;
};
template <class T>
struct RowT {
  V3<T> la, aa, lb, ab;
};
template <class T>
ORTHANT_HD JointFrame<T> joint_frame(const Pose7<T>& a, const Pose7<T>& b, const T* frames) {
  const Pose7<T> A = read_frame(frames), B = read_frame(frames + 7);
  JointFrame<T> f;
  f.ra = rotate(a.p, A.x);
  f.rb = rotate(b.p, B.x);
  f.d = (a.x - b.x) + (f.ra - f.rb);
  f.pa = a.p * A.p;
  f.pb = b.p * B.p;
  return f;
}
template <class T>
ORTHANT_HD RowT<T> turning(const V3<T>& g) {
  const V3<T> zero{T(0), T(0), T(0)};
  return {zero, g, zero, -g};
}
template <class T>
ORTHANT_HD RowT<T> sliding(const JointFrame<T>& f, const V3<T>& n) {
  return {n, cross(f.ra, n), -n, -cross(f.rb + f.d, n)};
}
template <class T>
ORTHANT_HD Q4<T> relative_turn(const JointFrame<T>& f) {
  Q4<T> r = conjugate(f.pb) * f.pa;
  if (value_of(r.w) < 0) r = {-r.w, -r.x, -r.y, -r.z};
  return r;
}
/// Which function row i holds: 0 point, 1 slide, 2 turn, 3 tilt; and its axis.
ORTHANT_HD inline int joint_part(JointType type, int i, int& k) {
  k = i;
  switch (type) {
    case JointType::Weld:
      if (i < 3) return 0;
      k = i - 3;
      return 2;
    case JointType::Revolute:
      if (i < 3) return 0;
      k = i - 3;
      return 3;
    case JointType::Prismatic:
      if (i < 2) {
        k = i + 1;
        return 1;
      }
      k = i - 2;
      return 2;
    case JointType::Ball:
      return 0;
    case JointType::Planar:
      if (i < 1) {
        k = 2;
        return 1;
      }
      k = i - 1;
      return 3;
    case JointType::LockX:
    case JointType::LockY:
    case JointType::LockZ:
      k = static_cast<int>(type) - static_cast<int>(JointType::LockX);
      return 0;
    case JointType::LockRotation:
      break;
  }
  return 2;
}
/// Row i and its value Ψ.
template <class T>
ORTHANT_HD RowT<T> joint_row(JointType type, int i, const JointFrame<T>& f, T& psi) {
  int k;
  switch (joint_part(type, i, k)) {
    case 0: {
      const V3<T> n = axis<T>(k);
      psi = component(f.d, k);
      return {n, cross(f.ra, n), -n, -cross(f.rb, n)};
    }
    case 1: {
      const V3<T> n = rotate(f.pb, axis<T>(k));
      psi = dot(n, f.d);
      return sliding(f, n);
    }
    case 2: {
      const Q4<T> r = relative_turn(f);
      const V3<T> e = axis<T>(k), vec{r.x, r.y, r.z};
      psi = component(vec, k) * 2.0;
      return turning(rotate(f.pb, e * r.w + cross(vec, e)));
    }
    default: {
      const V3<T> z = rotate(f.pa, axis<T>(2)), x = rotate(f.pb, axis<T>(k));
      psi = dot(z, x);
      return turning(cross(z, x));
    }
  }
}
/// The coordinate of a Revolute or Prismatic, and its row.
template <class T>
ORTHANT_HD RowT<T> coordinate_row(JointType type, double middle, const JointFrame<T>& f, T& s) {
  if (type == JointType::Prismatic) {
    const V3<T> n = rotate(f.pb, axis<T>(0));
    s = dot(n, f.d);
    return sliding(f, n);
  }
  const Q4<T> r = relative_turn(f);
  s = 2.0 * arc_tangent2(r.z, r.w);
  if (middle != 0) {
    const double turn = 6.28318530717958647693;
    s = s + turn * ::floor((middle - value_of(s)) / turn + 0.5);
  }
  const T n = T(1) / (r.w * r.w + r.z * r.z);
  const V3<T> g{(r.w * r.y + r.z * r.x) * n, (r.z * r.y - r.w * r.x) * n, T(1)};
  return turning(rotate(f.pb, g));
}

// --- contacts ---

/// What a contact needs of the parameters, in this order.
inline constexpr int kSize1 = 0, kOffset1 = 3, kSize2 = 10, kOffset2 = 13, kFriction = 20,
                     kContactNumbers = 22;
enum : int { kSphere = 0, kCapsule = 1, kBox = 2, kHalfSpace = 4 };  // ShapeKind

template <class T>
struct ContactT {
  T gap;
  V3<T> n, point;  ///< normal from 2 to 1; midway between the witness points
};
template <class T>
ORTHANT_HD Pose7<T> place_shape(const Pose7<T>& body, const T* offset) {
  const Pose7<T> o = read_frame(offset);
  return {body.x + rotate(body.p, o.x), body.p * o.p};
}
template <class T>
ORTHANT_HD V3<T> unit_of(const V3<T>& d, T& length) {
  const T s = dot(d, d);
  if (!(value_of(s) > 1e-200)) {
    length = T(0);
    return axis<T>(2);
  }
  length = root(s);
  return d * (T(1) / length);
}
/// A ball over the box at s2: over a face or inside, the nearest face; else the nearest edge or
/// corner (shape/contacts.cpp).
template <class T>
ORTHANT_HD ContactT<T> ball_on_box(const V3<T>& centre, const T& radius, const Pose7<T>& s2,
                                   const T* half) {
  const V3<T> local = rotate(conjugate(s2.p), centre - s2.x);
  V3<T> away{T(0), T(0), T(0)};
  int outside = 0, deepest = 0;
  double most = -1e300;
  for (int k = 0; k < 3; ++k) {
    const T at = component(local, k);
    const double sign = value_of(at) > 0 ? 1 : -1;
    const T over = at * sign - half[k];
    if (value_of(over) > 0) {
      away = away + axis<T>(k) * (over * sign);
      ++outside;
    }
    if (value_of(over) > most) most = value_of(over), deepest = k;
  }
  ContactT<T> r;
  T length;
  if (outside > 1) {
    r.n = unit_of(rotate(s2.p, away), length);
  } else {
    const T at = component(local, deepest);
    const double sign = value_of(at) > 0 ? 1 : -1;
    length = at * sign - half[deepest];
    r.n = rotate(s2.p, axis<T>(deepest) * T(sign));
  }
  r.gap = length - radius;
  r.point = centre - r.n * ((length + radius) * 0.5);
  return r;
}
/// `x`: the kContactNumbers numbers of the pair.
template <class T>
ORTHANT_HD ContactT<T> contact_point(const ContactData& c, const Pose7<T>& b1, const Pose7<T>& b2,
                                     const T* x) {
  const Pose7<T> s1 = place_shape(b1, x + kOffset1), s2 = place_shape(b2, x + kOffset2);
  ContactT<T> r;
  if (c.type == PairType::CorePlane) {
    V3<T> corner{T(0), T(0), T(0)};
    T radius = x[kSize1];
    if (c.shape1 == kCapsule) corner.x = c.corner == 0 ? -x[kSize1 + 1] : x[kSize1 + 1];
    if (c.shape1 == kBox) {
      corner = {(c.corner & 1) != 0 ? x[kSize1] : -x[kSize1],
                (c.corner & 2) != 0 ? x[kSize1 + 1] : -x[kSize1 + 1],
                (c.corner & 4) != 0 ? x[kSize1 + 2] : -x[kSize1 + 2]};
      radius = T(0);
    }
    const V3<T> p = s1.x + rotate(s1.p, corner);
    r.n = rotate(s2.p, axis<T>(2));
    r.gap = dot(r.n, p - s2.x) - radius;
    r.point = p - r.n * (radius + r.gap * 0.5);
    return r;
  }
  if (c.type == PairType::PointBox) return ball_on_box(s1.x, x[kSize1], s2, x + kSize2);
  V3<T> near = s2.x;
  if (c.type == PairType::PointEdge) {
    const V3<T> e = rotate(s2.p, V3<T>{x[kSize2 + 1], T(0), T(0)});
    const T ee = dot(e, e), t = dot(s1.x - s2.x, e);
    if (value_of(t) > value_of(ee))
      near = s2.x + e;
    else if (value_of(t) < -value_of(ee))
      near = s2.x - e;
    else
      near = s2.x + e * (t / ee);
  }
  T length;
  r.n = unit_of(s1.x - near, length);
  r.gap = length - x[kSize1] - x[kSize2];
  r.point = (s1.x - r.n * x[kSize1] + near + r.n * x[kSize2]) * 0.5;
  return r;
}
/// Two unit vectors across n (shape/contact_kernel.hpp).
template <class T>
ORTHANT_HD void contact_tangents(const V3<T>& n, V3<T>& t1, V3<T>& t2) {
  const double sign = value_of(n.z) < 0 ? -1 : 1;
  const T a = T(-1) / (sign + n.z);
  const T b = n.x * n.y * a;
  t1 = {1.0 + sign * n.x * n.x * a, sign * b, -sign * n.x};
  t2 = {b, sign + n.y * n.y * a, -n.y};
}
template <class T>
ORTHANT_HD T combine_friction(int rule, const T& a, const T& b) {
  switch (rule) {  // CombineRule
    case 1:
      return root(a * b);
    case 2:
      return value_of(a) < value_of(b) ? a : b;
    case 3:
      return value_of(a) < value_of(b) ? b : a;
    default:
      return (a + b) * 0.5;
  }
}
/// Half the smallest width of a shape: what tolerances are relative to.
ORTHANT_HD inline double shape_width(int shape, const double* size) {
  if (shape == kHalfSpace) return 1e300;
  if (shape != kBox) return size[0];
  const double a = size[0] < size[1] ? size[0] : size[1];
  return a < size[2] ? a : size[2];
}
/// Farthest point of a shape from the centre of its body; 0 for a centred sphere.
ORTHANT_HD inline double shape_reach(int shape, const double* size, const double* offset) {
  const double away = root(offset[0] * offset[0] + offset[1] * offset[1] + offset[2] * offset[2]);
  if (shape == kCapsule) return away + size[0] + size[1];
  if (shape == kBox) return away + root(size[0] * size[0] + size[1] * size[1] + size[2] * size[2]);
  return away;
}

}  // namespace orthant::device
