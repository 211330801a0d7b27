// SPDX-License-Identifier: Apache-2.0
// solver/active_set.hpp: (law, z = λ − τ w) => the set a block is in, and the equations of a set.
//
//   apart λ = 0; pressed w_n = 0 (exact laws); a group sticks, w_g = 0, or slides on its border.
// With the set held fixed the equations are smooth, so Newton on them converges quadratically also
// where the projection itself would flip from one side of a border to the other. In the set that a
// point is in they are the projection residual, zero exactly at the solutions for every ρ > 0:
// exact friction in the form of Alart and Curnier, normal, tangent and rolling part separate,
//   R_n = x_n − (x_n − ρ y_n)₊,   R_g = x_g − Π_{|·| <= c_g (x_n − ρ y_n)₊}(x_g − ρ y_g),
// all other laws the natural map R = x − Π(x − ρ y).
#pragma once

#include "orthant/math/law.hpp"

namespace orthant::internal {

enum class EntrySet : std::uint8_t { Inside, AtLower, AtUpper };

/// The set of one block: `entry` for separable laws, the rest for cones.
struct BlockSet {
  bool pressed = false;
  bool slides[2] = {false, false};
  EntrySet entry[kMaxLawDim] = {};
  bool operator==(const BlockSet&) const = default;
};

/// dR = X dx + Y dy of one block; dim x dim, row-major.
struct BlockJacobian {
  double X[kMaxLawDim * kMaxLawDim];
  double Y[kMaxLawDim * kMaxLawDim];
};

/// The set that a block is in at (x, y).
BlockSet block_set(const Law& law, const double* x, const double* y);

/// Residual of the equations of `set`, and its derivative where that is asked for.
void set_residual(const Law& law, const BlockSet& set, const double* x, const double* y, double* R,
                  BlockJacobian* J = nullptr);

/// The same in the set of (x, ρ y): the projection residual and an element of its generalised
/// Jacobian.
void projection_residual(const Law& law, const double* x, const double* y, double rho, double* R,
                         BlockJacobian* J = nullptr);

}  // namespace orthant::internal
