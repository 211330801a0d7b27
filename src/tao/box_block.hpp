// SPDX-License-Identifier: Apache-2.0
// tao/box_block.hpp: quadratic problems in the few rows of one block, within bounds.
#pragma once

namespace orthant::tao {

constexpr int kMaxBlock = 8;

/// G x = b for the rows `in` (a bit each) of a symmetric positive m x m matrix; x = 0 elsewhere.
void solve_subset(const double* G, int m, unsigned in, const double* b, double* x);

/// c = G y
void block_product(const double* G, int m, const double* y, double* c);

/// min ½ yᵀGy − cᵀy over lo <= y <= hi; y comes in as the start. One row is a clamp, more a tiny
/// active set.
void box_block(const double* G, int m, const double* c, const double* lo, const double* hi,
               double* y);

}  // namespace orthant::tao
