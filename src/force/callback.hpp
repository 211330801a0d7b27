// SPDX-License-Identifier: Apache-2.0
// force/callback.hpp: what a step makes of the derivatives that a user's force has.
//   f(q ⊞ h v⁺, v⁺) ≈ f + h Q v⁺ + V (v⁺ − v):   H − h² Q − h V,   k + h f − h V v
// Q and V are the parts of ∂f/∂q and ∂f/∂v that keep H positive definite.
#pragma once

#include "orthant/math/types.hpp"

namespace orthant {

/// Of one body: 3 x 3 planar, 6 x 6 spatial.
using ForceMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor, 6, 6>;

/// The symmetric part of a derivative (n x n, row-major) with its positive eigenvalues set to 0.
ForceMatrix implicit_part(const double* derivative, Index n);

}  // namespace orthant
