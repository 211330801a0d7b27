// SPDX-License-Identifier: Apache-2.0
// solver/active_set.hpp: (law, z = λ − τ w) => the set a block is in, and the equations of a set.
//
//   apart λ = 0; pressed w_n = 0 (exact laws); a group sticks, w_g = 0, or slides on its border.
// With the set held fixed the equations are smooth, so Newton on them converges quadratically also
// where the projection itself would flip from one side of a border to the other.
#pragma once

#include "orthant/math/law.hpp"
#include "solver/projection_residual.hpp"

namespace orthant::internal {

enum class EntrySet : std::uint8_t { Inside, AtLower, AtUpper };

/// The set of one block: `entry` for separable laws, the rest for cones.
struct BlockSet {
  bool pressed = false;
  bool slides[2] = {false, false};
  EntrySet entry[kMaxLawDim] = {};
  bool operator==(const BlockSet&) const = default;
};

/// The set that the projection residual with step ρ is in at (x, y).
BlockSet block_set(const Law& law, const double* x, const double* y, double rho = 1);

/// Residual of the equations of `set`, and its derivative dR = X dx + Y dy.
void set_residual(const Law& law, const BlockSet& set, const double* x, const double* y, double* R,
                  BlockJacobian& J);

}  // namespace orthant::internal
