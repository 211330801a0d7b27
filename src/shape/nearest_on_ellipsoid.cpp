// SPDX-License-Identifier: Apache-2.0
// shape/nearest_on_ellipsoid.cpp: a point => where the surface of an ellipsoid is locally nearest.
//   x_i = a_i^2 y_i / (t + a_i^2)  with  sum (a_i y_i / (t + a_i^2))^2 = 1
// A local minimum of the distance has t > -(middle axis)^2: the largest root (the global one) and
// the largest root below -(shortest axis)^2 (the far side). The sum is convex between its poles, so
// Newton from the pole's side never oversteps. Written in sigma = 1 + t/a_min^2, in which the pole
// is at 0 and nothing cancels.
#include <algorithm>
#include <cmath>

#include "shape/smooth.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxNewton = 100;

struct Secular {
  int dim = 3;
  double r[3] = {};  // (a_i / a_min)^2
  double z[3] = {};  // |y_i| / a_i
  int smallest = 0;  // axis

  /// sum (r z / (sigma + r - 1))^2 - 1 and its derivative.
  double value(double sigma, double& slope) const {
    double sum = -1;
    slope = 0;
    for (int i = 0; i < dim; ++i) {
      if (z[i] == 0) continue;
      const double below = sigma + (r[i] - 1), q = r[i] * z[i] / below;
      sum += q * q;
      slope -= 2 * q * q / below;
    }
    return sum;
  }
};

/// The root to the right of the pole; false where it is the pole itself (y on the middle plane).
bool right_root(const Secular& s, double& sigma) {
  double slope;
  sigma = 0;
  for (int i = 0; i < s.dim; ++i) sigma = std::max(sigma, s.r[i] * s.z[i] - (s.r[i] - 1));
  if (!(sigma > 0)) {
    // all of z on the shortest axes vanishes: is there a root beyond the pole at all?
    double others = -1;
    for (int i = 0; i < s.dim; ++i) {
      if (s.z[i] == 0) continue;
      const double q = s.r[i] * s.z[i] / (s.r[i] - 1);
      others += q * q;
    }
    if (!(others > 0)) return false;
    sigma = 0;
  }
  for (int k = 0; k < kMaxNewton; ++k) {
    const double f = s.value(sigma, slope);
    if (!(f > 0) || !(slope < 0)) break;
    const double next = sigma - f / slope;
    if (!(next > sigma)) break;
    const bool done = next - sigma <= 1e-16 * next;
    sigma = next;
    if (done) break;
  }
  return true;
}

/// The root next to the pole on its left; false where there is none before the next pole.
bool left_root(const Secular& s, double next_pole, double& sigma) {
  sigma = -s.z[s.smallest];
  if (!(sigma < 0)) return false;
  for (int k = 0; k < kMaxNewton; ++k) {
    if (!(sigma > next_pole)) return false;
    double slope;
    const double f = s.value(sigma, slope);
    if (!(f > 0)) return true;
    if (!(slope > 0)) return false;
    const double next = sigma - f / slope;
    if (!(next < sigma)) return true;
    const bool done = sigma - next <= 1e-16 * -next;
    sigma = next;
    if (done) return sigma > next_pole;
  }
  return true;
}

}  // namespace

int nearest_normals(const double* a, int dim, const Vec3& y, const Vec3& towards, Vec3* normals) {
  Secular s;
  s.dim = dim;
  for (int i = 1; i < dim; ++i)
    if (a[i] < a[s.smallest]) s.smallest = i;
  // Among equal shortest axes the one y leans to, so that a spheroid has no second root.
  for (int i = 0; i < dim; ++i)
    if (a[i] == a[s.smallest] && std::abs(y[i]) > std::abs(y[s.smallest])) s.smallest = i;
  const double a_min = a[s.smallest];
  double next_pole = -HUGE_VAL;
  bool double_pole = false;
  for (int i = 0; i < dim; ++i) {
    s.r[i] = (a[i] / a_min) * (a[i] / a_min);
    s.z[i] = std::abs(y[i]) / a[i];
    if (i == s.smallest) continue;
    next_pole = std::max(next_pole, -(s.r[i] - 1));
    double_pole = double_pole || a[i] == a_min;
  }
  // n_i = x_i / a_i^2 = y_i / (t + a_i^2), t + a_i^2 = a_min^2 (sigma + r_i - 1)
  const auto normal_at = [&](double sigma) {
    Vec3 n = Vec3::Zero();
    for (int i = 0; i < dim; ++i)
      if (y[i] != 0) n[i] = y[i] / (sigma + (s.r[i] - 1));
    return Vec3(n.normalized());
  };
  double sigma;
  if (right_root(s, sigma)) {
    normals[0] = normal_at(sigma);
    if (!double_pole && left_root(s, next_pole, sigma)) {
      normals[1] = normal_at(sigma);
      return 2;
    }
    return 1;
  }
  // y on the plane (or axis) across the shortest axis, deep inside: both sides are as near.
  double rest = 1;
  Vec3 n = Vec3::Zero();
  for (int i = 0; i < dim; ++i) {
    if (y[i] == 0) continue;
    const double q = s.r[i] * s.z[i] / (s.r[i] - 1);
    rest -= q * q;
    n[i] = y[i] / (a_min * a_min * (s.r[i] - 1));
  }
  Vec3 along = Vec3::Zero();
  if (double_pole) {
    for (int i = 0; i < dim; ++i)
      if (a[i] == a_min) along[i] = towards[i];
  }
  if (!(along.squaredNorm() > 0)) {
    along = Vec3::Zero();
    along[s.smallest] = towards[s.smallest] < 0 ? -1 : 1;
  }
  along *= std::sqrt(std::max(0.0, rest)) / a_min / along.norm();
  normals[0] = (n + along).normalized();
  normals[1] = (n - along).normalized();
  return 2;
}

}  // namespace orthant::internal
