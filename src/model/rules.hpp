// SPDX-License-Identifier: Apache-2.0
// model/rules.hpp: the rules every number of a model keeps, at build time and after a change.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "orthant/base/error.hpp"
#include "orthant/math/types.hpp"

namespace orthant::internal {

/// Throws Error(where, "<what> must be <rule>, got <value>").
[[noreturn]] void refuse(std::string_view where, std::string_view what, std::string_view rule,
                         double value);

inline void need_finite(std::string_view where, std::string_view what, double x) {
  if (!std::isfinite(x)) refuse(where, what, "finite", x);
}
inline void need_finite(std::string_view where, std::string_view what, const Vec3& x) {
  for (int i = 0; i < 3; ++i) need_finite(where, what, x[i]);
}
inline void need_positive(std::string_view where, std::string_view what, double x) {
  if (!(x > 0) || !std::isfinite(x)) refuse(where, what, "finite and > 0", x);
}
inline void need_not_negative(std::string_view where, std::string_view what, double x) {
  if (!(x >= 0) || !std::isfinite(x)) refuse(where, what, "finite and >= 0", x);
}
inline void need_fraction(std::string_view where, std::string_view what, double x) {
  if (!(x >= 0 && x <= 1)) refuse(where, what, "in [0, 1]", x);
}

/// Coefficient of friction. More than a body can weigh is a misprint, and no solver's business.
inline constexpr double kMaxFriction = 1e8;
inline void need_friction(std::string_view where, std::string_view what, double x) {
  if (!(x >= 0 && x < kMaxFriction)) refuse(where, what, ">= 0 and < 1e8", x);
}

/// Symmetric, positive definite, and no principal moment above the sum of the other two.
void need_inertia(std::string_view where, const Mat3& inertia);

/// Rules of a flexible material.
void need_elastic(std::string_view where, double young, double poisson, double density,
                  double damping_mass, double damping_stiffness);

}  // namespace orthant::internal
