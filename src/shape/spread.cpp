// SPDX-License-Identifier: Apache-2.0
// shape/spread.cpp: (u, v, gap) candidates => indices of the well-spread subset.
#include "shape/spread.hpp"

#include <algorithm>

namespace orthant::internal {
namespace {

constexpr double kBias = 1 + 1e-6;  // a later point must be better by this factor

double cross(const ClipPoint& a, const ClipPoint& b, const ClipPoint& c) {
  return (b.u - a.u) * (c.v - a.v) - (b.v - a.v) * (c.u - a.u);
}

double distance2(const ClipPoint& a, const ClipPoint& b) {
  return (a.u - b.u) * (a.u - b.u) + (a.v - b.v) * (a.v - b.v);
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
  const int second =
      best_of(points, count, chosen, n, same, [&](const ClipPoint& p) { return distance2(p0, p); });
  if (second < 0) return n;
  chosen[n++] = second;
  if (most == 2) return n;
  const ClipPoint& p1 = points[second];
  const int third = best_of(points, count, chosen, n, same,
                            [&](const ClipPoint& p) { return std::abs(cross(p0, p1, p)); });
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
