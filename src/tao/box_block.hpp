// SPDX-License-Identifier: Apache-2.0
// tao/box_block.hpp: quadratic problems in the few rows of one block, within bounds.
#pragma once

#include "solver/small_block.hpp"

namespace orthant::tao {

using internal::block_product;
using internal::kMaxBlock;
using internal::solve_subset;

/// min ½ yᵀGy − cᵀy over lo <= y <= hi; y comes in as the start. One row is a clamp, more a tiny
/// active set.
void box_block(const double* G, int m, const double* c, const double* lo, const double* hi,
               double* y);

}  // namespace orthant::tao
