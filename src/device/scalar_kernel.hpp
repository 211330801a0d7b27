// SPDX-License-Identifier: Apache-2.0
// device/scalar_kernel.hpp: sine, cosine and arc tangent with the same bits on the host and on a
// device (their libraries differ in the last place), forward-mode numbers, vectors, quaternions.
// Only +, −, ×, ÷ and √ are used: with contraction off these are IEEE's in both places.
#pragma once

#include <cmath>
#include <cstddef>

#include "device/hd.hpp"

namespace orthant::device {

/// x = k π/2 + r, |r| <= π/4; good to rounding for |x| < 1e5.
ORTHANT_HD inline int reduce_angle(double x, double& r) {
  const double k = ::floor(x * 0.63661977236758134308 + 0.5);
  // π/2 in three parts, the first two with 33 bits: k times them is exact.
  r = ((x - k * 1.57079632673412561417e+00) - k * 6.07710050630396597660e-11) -
      k * 2.02226624879595063154e-21;
  return static_cast<int>(k - 4 * ::floor(k * 0.25));
}
ORTHANT_HD inline double sine_series(double x) {
  const double s = x * x;
  double p = 1.0 / 355687428096000;
  p = 1.0 / 1307674368000 - s * p;
  p = 1.0 / 6227020800 - s * p;
  p = 1.0 / 39916800 - s * p;
  p = 1.0 / 362880 - s * p;
  p = 1.0 / 5040 - s * p;
  p = 1.0 / 120 - s * p;
  p = 1.0 / 6 - s * p;
  return x - x * (s * p);
}
ORTHANT_HD inline double cosine_series(double x) {
  const double s = x * x;
  double p = 1.0 / 6402373705728000;
  p = 1.0 / 20922789888000 - s * p;
  p = 1.0 / 87178291200 - s * p;
  p = 1.0 / 479001600 - s * p;
  p = 1.0 / 3628800 - s * p;
  p = 1.0 / 40320 - s * p;
  p = 1.0 / 720 - s * p;
  p = 1.0 / 24 - s * p;
  return 1 - s * (0.5 - s * p);
}
ORTHANT_HD inline double sine(double x) {
  double r;
  const int k = reduce_angle(x, r);
  const double y = (k & 1) != 0 ? cosine_series(r) : sine_series(r);
  return (k & 2) != 0 ? -y : y;
}
ORTHANT_HD inline double cosine(double x) {
  double r;
  const int k = reduce_angle(x, r);
  const double y = (k & 1) != 0 ? sine_series(r) : cosine_series(r);
  return k == 1 || k == 2 ? -y : y;
}
ORTHANT_HD inline double root(double x) { return ::sqrt(x); }

/// atan(x), |x| <= 1: halved twice by x / (1 + √(1 + x²)), then the series.
ORTHANT_HD inline double arc_tangent_unit(double x) {
  x = x / (1 + root(1 + x * x));
  x = x / (1 + root(1 + x * x));
  const double s = x * x;
  double p = 1.0 / 27;
  for (int k = 25; k >= 3; k -= 2) p = 1.0 / k - s * p;
  return 4 * (x - x * (s * p));
}
ORTHANT_HD inline double arc_tangent2(double y, double x) {
  const double ax = x < 0 ? -x : x, ay = y < 0 ? -y : y;
  const double pi = 3.14159265358979323846;
  if (ax == 0 && ay == 0) return 0;
  double a = ay <= ax ? arc_tangent_unit(ay / ax) : pi / 2 - arc_tangent_unit(ax / ay);
  if (x < 0) a = pi - a;
  return y < 0 ? -a : a;
}

/// A number with N derivatives.
template <int N>
struct DualN {
  double v;
  double d[N];
  DualN() = default;
  ORTHANT_HD DualN(double x) : v(x) {  // NOLINT: constants convert
    ORTHANT_UNROLL for (int i = 0; i < N; ++i) d[i] = 0;
  }
};
ORTHANT_HD inline double value_of(double x) { return x; }
template <int N>
ORTHANT_HD double value_of(const DualN<N>& x) {
  return x.v;
}
template <int N>
ORTHANT_HD DualN<N> chain(const DualN<N>& x, double value, double slope) {
  DualN<N> r;
  r.v = value;
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) r.d[i] = slope * x.d[i];
  return r;
}
template <int N>
ORTHANT_HD DualN<N> operator+(const DualN<N>& a, const DualN<N>& b) {
  DualN<N> r;
  r.v = a.v + b.v;
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) r.d[i] = a.d[i] + b.d[i];
  return r;
}
template <int N>
ORTHANT_HD DualN<N> operator-(const DualN<N>& a, const DualN<N>& b) {
  DualN<N> r;
  r.v = a.v - b.v;
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) r.d[i] = a.d[i] - b.d[i];
  return r;
}
template <int N>
ORTHANT_HD DualN<N> operator*(const DualN<N>& a, const DualN<N>& b) {
  DualN<N> r;
  r.v = a.v * b.v;
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) r.d[i] = a.d[i] * b.v + a.v * b.d[i];
  return r;
}
template <int N>
ORTHANT_HD DualN<N> operator/(const DualN<N>& a, const DualN<N>& b) {
  DualN<N> r;
  const double inverse = 1 / b.v;
  r.v = a.v / b.v;
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) r.d[i] = (a.d[i] - r.v * b.d[i]) * inverse;
  return r;
}
template <int N>
ORTHANT_HD DualN<N> operator-(const DualN<N>& a) {
  return chain(a, -a.v, -1);
}
template <int N>
ORTHANT_HD DualN<N> operator*(const DualN<N>& a, double b) {
  return chain(a, a.v * b, b);
}
template <int N>
ORTHANT_HD DualN<N> operator*(double b, const DualN<N>& a) {
  return a * b;
}
template <int N>
ORTHANT_HD DualN<N> operator+(const DualN<N>& a, double b) {
  return chain(a, a.v + b, 1);
}
template <int N>
ORTHANT_HD DualN<N> operator-(const DualN<N>& a, double b) {
  return chain(a, a.v - b, 1);
}
template <int N>
ORTHANT_HD DualN<N> operator-(double b, const DualN<N>& a) {
  return chain(a, b - a.v, -1);
}
template <int N>
ORTHANT_HD DualN<N> operator+(double b, const DualN<N>& a) {
  return chain(a, a.v + b, 1);
}
template <int N>
ORTHANT_HD DualN<N> operator/(const DualN<N>& a, double b) {
  return chain(a, a.v / b, 1 / b);
}
template <int N>
ORTHANT_HD DualN<N> root(const DualN<N>& a) {
  const double r = root(a.v);
  return chain(a, r, 0.5 / r);
}
template <int N>
ORTHANT_HD DualN<N> sine(const DualN<N>& a) {
  return chain(a, sine(a.v), cosine(a.v));
}
template <int N>
ORTHANT_HD DualN<N> cosine(const DualN<N>& a) {
  return chain(a, cosine(a.v), -sine(a.v));
}
template <int N>
ORTHANT_HD DualN<N> arc_tangent2(const DualN<N>& y, const DualN<N>& x) {
  const double n = 1 / (x.v * x.v + y.v * y.v);
  DualN<N> r;
  r.v = arc_tangent2(y.v, x.v);
  ORTHANT_UNROLL for (int i = 0; i < N; ++i) r.d[i] = (x.v * y.d[i] - y.v * x.d[i]) * n;
  return r;
}

template <class T>
struct V3 {
  T x, y, z;
};
template <class T>
ORTHANT_HD V3<T> operator+(const V3<T>& a, const V3<T>& b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class T>
ORTHANT_HD V3<T> operator-(const V3<T>& a, const V3<T>& b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T>
ORTHANT_HD V3<T> operator-(const V3<T>& a) {
  return {-a.x, -a.y, -a.z};
}
template <class T, class S>
ORTHANT_HD V3<T> operator*(const V3<T>& a, const S& s) {
  return {a.x * s, a.y * s, a.z * s};
}
template <class T>
ORTHANT_HD T dot(const V3<T>& a, const V3<T>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
/// With a constant vector.
template <int N>
ORTHANT_HD DualN<N> dot(const V3<DualN<N>>& a, const V3<double>& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class T>
ORTHANT_HD V3<T> cross(const V3<T>& a, const V3<T>& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T>
ORTHANT_HD V3<T> axis(int k) {
  return {T(k == 0 ? 1.0 : 0.0), T(k == 1 ? 1.0 : 0.0), T(k == 2 ? 1.0 : 0.0)};
}
template <class T>
ORTHANT_HD T component(const V3<T>& a, int k) {
  return k == 0 ? a.x : k == 1 ? a.y : a.z;
}

/// Unit quaternion, scalar first.
template <class T>
struct Q4 {
  T w, x, y, z;
};
template <class T>
ORTHANT_HD Q4<T> operator*(const Q4<T>& a, const Q4<T>& b) {
  return {
      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
template <class T>
ORTHANT_HD Q4<T> conjugate(const Q4<T>& q) {
  return {q.w, -q.x, -q.y, -q.z};
}
template <class T>
ORTHANT_HD Q4<T> normalized(const Q4<T>& q) {
  const T s = T(1) / root(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  return {q.w * s, q.x * s, q.y * s, q.z * s};
}
template <class T>
ORTHANT_HD V3<T> rotate(const Q4<T>& q, const V3<T>& a) {
  const V3<T> u{q.x, q.y, q.z};
  const V3<T> t = cross(u, a) * 2.0;
  return a + t * q.w + cross(u, t);
}
template <class T>
ORTHANT_HD Q4<T> exp_rotation(const V3<T>& theta) {
  const T s = dot(theta, theta);
  T c, k;  // cos(|θ|/2), sin(|θ|/2)/|θ|
  if (value_of(s) < 1e-4) {
    c = 1.0 - s * (1.0 / 8 - s * (1.0 / 384 - s * (1.0 / 46080)));
    k = 0.5 - s * (1.0 / 48 - s * (1.0 / 3840 - s * (1.0 / 645120)));
  } else {
    const T a = root(s);
    c = cosine(a * 0.5);
    k = sine(a * 0.5) / a;
  }
  return {c, k * theta.x, k * theta.y, k * theta.z};
}
/// p ⊞ θ: p turned by the world-frame rotation vector θ.
template <class T>
ORTHANT_HD Q4<T> boxplus(const Q4<T>& p, const V3<T>& theta) {
  return normalized(exp_rotation(theta) * p);
}
/// The rotation vector of q a b⁻¹, length in [0, π].
template <class T>
ORTHANT_HD V3<T> boxminus(const Q4<T>& a, const Q4<T>& b) {
  Q4<T> q = a * conjugate(b);
  if (value_of(q.w) < 0) q = {-q.w, -q.x, -q.y, -q.z};
  const V3<T> u{q.x, q.y, q.z};
  const T s = dot(u, u);
  if (value_of(s) < 1e-10) {
    const T r = s / (q.w * q.w);
    return u * (T(2) / q.w * (1.0 - r * (1.0 / 3 - r * 0.2)));
  }
  const T n = root(s);
  return u * (2.0 * arc_tangent2(n, q.w) / n);
}

}  // namespace orthant::device
