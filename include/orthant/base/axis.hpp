// SPDX-License-Identifier: Apache-2.0
// base/axis.hpp: a range of numbers => an axis with round ticks, for every plot.
#pragma once

#include <string>
#include <vector>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// Ticks are multiples of 1, 2 or 5 times a power of ten; there are at most about eight of them.
struct Axis {
  double lo = 0, hi = 1, step = 0.2;

  Axis() = default;
  /// Both finite. A range that is constant up to rounding is widened, so that ticks can be told
  /// apart. `margin`: share of the range added on both sides, so that no curve lies on the frame.
  Axis(double low, double high, double margin = 0);

  double share(double value) const { return (value - lo) / (hi - lo); }
  std::vector<double> ticks() const;
  /// With as many digits as neighbouring ticks need to differ.
  std::string text(double tick) const;
};

}  // namespace orthant
