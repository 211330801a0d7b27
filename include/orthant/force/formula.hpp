// SPDX-License-Identifier: Apache-2.0
// force/formula.hpp: a text such as "-x*(r - sin(r))/r^2" => a function of place, velocity and time
// with exact derivatives.
//   variables   x y z (place), r (its distance from the origin), vx vy vz, t
//   functions   sin cos tan exp log sqrt abs tanh atan2 min max; constant pi
// The grammar is that of base/arithmetic.hpp. A text is read once into a list of operations; limits
// on its length and depth make it safe to take from anyone.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

/// Where a formula is evaluated.
struct FormulaPoint {
  Vec3 x = Vec3::Zero(), v = Vec3::Zero();
  double t = 0;
};

class Formula {
 public:
  /// `component`: 0 to 2: the word x means x, y or z, so that one text serves all components of a
  /// vector; -1: x is x. Throws Error(where, "… at character N") for anything it does not know.
  explicit Formula(std::string_view text, const std::string& where = "formula", int component = -1);

  double value(const FormulaPoint& at) const;
  /// Value and its derivatives by x, y, z, vx, vy, vz.
  double value(const FormulaPoint& at, std::array<double, 6>& gradient) const;

  struct Operation {
    std::uint8_t code;
    std::uint8_t which;  ///< variable or function
    double constant;
  };

 private:
  std::vector<Operation> operations_;  // postfix
  std::size_t depth_ = 0;              // of the stack
};

}  // namespace orthant
