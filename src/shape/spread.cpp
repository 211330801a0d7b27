// SPDX-License-Identifier: Apache-2.0
// shape/spread.cpp: (u, v, gap) candidates => indices of the well-spread subset.
#include "shape/spread.hpp"

#include <algorithm>
#include <cmath>

namespace orthant::internal {
namespace {

constexpr double kBias = 1 + 1e-6;  // a later point must be better by this factor

double cross(const ClipPoint& a, const ClipPoint& b, const ClipPoint& c) {
  return (b.u - a.u) * (c.v - a.v) - (b.v - a.v) * (c.u - a.u);
}

double distance2(const ClipPoint& a, const ClipPoint& b) {
  return (a.u - b.u) * (a.u - b.u) + (a.v - b.v) * (a.v - b.v);
}

/// Weight of a point that comes down only after a turn by `tilt`: the next ones to touch are chosen
/// before those farther off. Without it the ends of an edge near the plane take turns as the
/// deepest, each leaving out the other, and corrections of positions do not settle.
double weight(double tilt) {
  constexpr double kFlat = 1e-3;  // [rad]: faces that lie on the plane are chosen by area alone
  return 1 / (1 + (tilt / kFlat) * (tilt / kFlat));
}

/// Index with the largest score among the points not within `same` of a chosen one; -1 for none.
template <class Score>
int best_of(const ClipPoint* points, int count, const int* chosen, int n, double same,
            Score&& score) {
  int best = -1;
  double best_score = 0;
  for (int i = 0; i < count; ++i) {
    bool near = false;
    for (int k = 0; k < n; ++k)
      near = near || distance2(points[i], points[chosen[k]]) <= same * same;
    if (near) continue;
    const double s = score(points[i]);
    if (best >= 0 ? s > best_score * kBias : s > 0) {
      best = i;
      best_score = s;
    }
  }
  return best;
}

}  // namespace

int choose_spread(const ClipPoint* points, int count, int first, int most, double same,
                  int* chosen) {
  if (count == 0) return 0;
  if (first < 0) {
    first = 0;
    for (int i = 1; i < count; ++i)
      if (points[i].gap < points[first].gap) first = i;
  }
  chosen[0] = first;
  int n = 1;
  const ClipPoint& p0 = points[first];
  if (most == 1) return n;
  const int second = best_of(points, count, chosen, n, same, [&](const ClipPoint& p) {
    const double d2 = distance2(p0, p);
    return d2 * weight((p.gap - p0.gap) / std::sqrt(d2));
  });
  if (second < 0) return n;
  chosen[n++] = second;
  if (most == 2) return n;
  const ClipPoint& p1 = points[second];
  const double length2 = distance2(p0, p1), length = std::sqrt(length2);
  const int third = best_of(points, count, chosen, n, same, [&](const ClipPoint& p) {
    const double area = std::abs(cross(p0, p1, p));
    const double along = ((p.u - p0.u) * (p1.u - p0.u) + (p.v - p0.v) * (p1.v - p0.v)) / length2;
    const double above = p.gap - p0.gap - along * (p1.gap - p0.gap);
    return area > 0 ? area * weight(above * length / area) : 0;
  });
  if (third < 0) return n;
  chosen[n++] = third;
  if (most == 3) return n;
  const ClipPoint& p2 = points[third];
  const double turn = cross(p0, p1, p2) > 0 ? 1 : -1;
  // Area by which the point sticks out of the triangle, over its worst side.
  const double floor = 1e-9 * std::abs(cross(p0, p1, p2));
  const int fourth = best_of(points, count, chosen, n, same, [&](const ClipPoint& p) {
    return -std::min({turn * cross(p0, p1, p), turn * cross(p1, p2, p), turn * cross(p2, p0, p)}) -
           floor;
  });
  if (fourth >= 0) chosen[n++] = fourth;
  return n;
}

}  // namespace orthant::internal
