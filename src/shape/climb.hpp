// SPDX-License-Identifier: Apache-2.0
// shape/climb.hpp: a smooth pair and a normal => the local maximum of its separation from there.
//   f(n) = min_A n.a - max_B n.b on the unit sphere; Newton with P (H_A + H_B) P + f 1, where P
// projects across n and H are the radii of curvature. Private to the room.
#pragma once

#include <cmath>

#include "orthant/shape/contact_kernel.hpp"

namespace orthant::internal {

/// f and its first and second derivatives along two tangents: r uphill, k the curvature downhill.
struct ClimbState {
  double f = 0;
  double r1 = 0, r2 = 0;
  double k11 = 0, k12 = 0, k22 = 0;
  double scale = 0;  // a length of the pair
};

/// Climbs from n; returns f there. A pair has
///   dim                      2: one tangent
///   kFlatSpots               curvatures without bound somewhere: steps are then always checked
///   value(n), tangents(n, t1, t2), state(n, t1, t2)
template <class Pair>
double climb(const Pair& pair, Vec3& n) {
  constexpr int kMaxNewton = 80;
  constexpr int kMaxEscapes = 4;  // from saddle points
  const auto uphill = [](const ClimbState& s) { return s.r1 * s.r1 + s.r2 * s.r2; };
  int escapes = 0;
  Vec3 t1, t2 = Vec3::Zero();
  pair.tangents(n, t1, t2);
  ClimbState s = pair.state(n, t1, t2);
  for (int iteration = 0; iteration < kMaxNewton; ++iteration) {
    const double trace = std::abs(s.k11) + std::abs(s.k22);
    double det = s.k11 * s.k22 - s.k12 * s.k12;
    const bool peak = s.k11 > 0 && det > 1e-14 * trace * trace;
    if (Pair::kFlatSpots && peak && uphill(s) <= 1e-30 * s.scale * s.scale) return s.f;
    if (!peak) {  // lift the lowest curvature; at a critical point leave it
      const double middle = 0.5 * (s.k11 + s.k22);
      const double half = std::sqrt(0.25 * (s.k11 - s.k22) * (s.k11 - s.k22) + s.k12 * s.k12);
      const double lowest = pair.dim == 2 ? s.k11 : middle - half;
      if (uphill(s) <= 1e-20 * s.scale * s.scale) {
        if (lowest >= -1e-10 * s.scale || ++escapes > kMaxEscapes) return s.f;
        double e1 = s.k12, e2 = lowest - s.k11;  // eigenvector of the lowest
        if (pair.dim == 2 || e1 * e1 + e2 * e2 < 1e-24 * s.scale * s.scale) {
          e1 = s.k11 <= s.k22 || pair.dim == 2 ? 1 : 0;
          e2 = 1 - e1;
        }
        const double length = std::sqrt(e1 * e1 + e2 * e2);
        n = (n + (t1 * e1 + t2 * e2) * (0.5 / length)).normalized();
        pair.tangents(n, t1, t2);
        s = pair.state(n, t1, t2);
        continue;
      }
      const double lift = 0.1 * s.scale - lowest;
      s.k11 += lift;
      if (pair.dim == 3) s.k22 += lift;
      det = s.k11 * s.k22 - s.k12 * s.k12;
    }
    const double s1 = (s.k22 * s.r1 - s.k12 * s.r2) / det, s2 = (s.k11 * s.r2 - s.k12 * s.r1) / det;
    const double length = std::sqrt(s1 * s1 + s2 * s2);
    const auto moved = [&](double t) { return Vec3((n + (t1 * s1 + t2 * s2) * t).normalized()); };
    if (!Pair::kFlatSpots && peak && length < 1e-8) {  // the next error is its square
      n = moved(1);
      return pair.value(n);
    }
    double t = length > 0.6 ? 0.6 / length : 1;
    const bool near = length < 1e-3 && peak;
    Vec3 next = moved(t);
    // Of what the slope promises: a flat spot is leapt over to and fro with hardly any gain.
    const double share = Pair::kFlatSpots ? 0.3 * (s.r1 * s1 + s.r2 * s2) : 0;
    if (!near)
      for (int k = 0; k < 40 && !(pair.value(next) > s.f + share * t); ++k) next = moved(t *= 0.5);
    Vec3 u1, u2 = Vec3::Zero();
    pair.tangents(next, u1, u2);
    ClimbState after = pair.state(next, u1, u2);
    if (Pair::kFlatSpots && near) {
      // Near the top f no longer tells better from worse; the slope does. Across a flat spot a full
      // step lands beyond it, half of one nearer.
      for (int k = 0; k < 4 && !(uphill(after) < uphill(s)); ++k) {
        next = moved(t *= 0.5);
        pair.tangents(next, u1, u2);
        after = pair.state(next, u1, u2);
      }
      if (!(uphill(after) < uphill(s))) return s.f;
    }
    n = next;
    t1 = u1;
    t2 = u2;
    s = after;
  }
  return pair.value(n);
}

}  // namespace orthant::internal
