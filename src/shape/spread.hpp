// SPDX-License-Identifier: Apache-2.0
// shape/spread.hpp: many candidate points on a plane => at most 4 well-spread ones.
#pragma once

#include "orthant/shape/contact_kernel.hpp"

namespace orthant::internal {

/// A candidate contact in the coordinates of its reference plane. No member has a default: searches
/// keep a thousand of these on the stack and fill a few.
struct ClipPoint {
  double u, v;  // on the plane
  double gap;   // above it
  FeatureKind kind;
  bool swapped;
  std::int8_t sign;
  std::int16_t first, second, face;

  ContactFeature feature() const { return {kind, swapped, sign, first, second, face}; }
};

inline ClipPoint clip_point(double u, double v, double gap, const ContactFeature& f) {
  return {u, v, gap, f.kind, f.swapped, f.sign, f.first, f.second, f.face};
}

/// Chooses at most `most` of the points, first `first` (or the deepest where that is -1), then the
/// farthest from it, then the largest triangle, then the one farthest outside the triangle; points
/// that touch after a smaller turn come before those that are merely farther. Points nearer than
/// `same` to a chosen one are dropped. Nearly equal choices go to the lower index, so rounding does
/// not make the manifold flicker.
int choose_spread(const ClipPoint* points, int count, int first, int most, double same,
                  int* chosen);

}  // namespace orthant::internal
