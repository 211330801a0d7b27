// SPDX-License-Identifier: Apache-2.0
// gradient/other_sides.hpp: rows on a border — does it matter which side is taken? Private to the
// room.
// A foot of a robot that stands is on a border of every correction of positions, and no change
// moves it there that does not break a joint. What KinkChoice::Mixed instead of Clamp changes of a
// derivative is carried back beside it; most of it ends on the way.
#pragma once

#include "gradient/reader.hpp"

namespace orthant::internal {

struct OtherSides {
  static constexpr double kNoticed = 1e-9;  // of the derivative

  SolveInputs by;   ///< q, v: by the state at hand; u: of the step at hand; parameters: all
  double size = 0;  ///< of the derivative by states and controls so far
  bool known =
      true;  ///< false: another side may move the time of an impact, or is no side of a row

  bool ended() const {
    const auto within = [&](const VecX& x) { return (x.array().abs() <= kNoticed * size).all(); };
    return within(by.q) && within(by.v);
  }
  void look_at(const VecX& derivative) {
    if (derivative.size() > 0) size = std::max(size, derivative.cwiseAbs().maxCoeff());
  }
};

}  // namespace orthant::internal
