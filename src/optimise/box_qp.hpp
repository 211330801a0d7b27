// SPDX-License-Identifier: Apache-2.0
// optimise/box_qp.hpp: min ½ dᵀH d + gᵀd, lower <= d <= upper, H positive definite on the free
// numbers; small and dense. Projected Newton.
#pragma once

#include <vector>

#include "orthant/math/types.hpp"

namespace orthant::internal {

struct BoxMinimum {
  VecX d;
  std::vector<Index> free;  ///< ascending
  bool ok = false;          ///< false: H is not positive definite there
};
BoxMinimum box_qp(const MatX& H, const VecX& g, const VecX& lower, const VecX& upper);

/// −H_ff⁻¹ R_f, zero in the other rows. H_ff as in box_qp().
MatX solve_free(const MatX& H, const std::vector<Index>& free, const MatX& R);

}  // namespace orthant::internal
