// SPDX-License-Identifier: Apache-2.0
// solver/small_block.hpp: quadratic problems in the few rows of one pair of bodies.
#pragma once

namespace orthant::internal {

constexpr int kMaxBlock = 8;

/// G x = b for the rows `in` (a bit each) of a symmetric positive m x m matrix; x = 0 elsewhere.
void solve_subset(const double* G, int m, unsigned in, const double* b, double* x);

/// c = G y
void block_product(const double* G, int m, const double* y, double* c);

/// min ½ yᵀGy − cᵀy over y >= 0; y comes in as the start. One row is a clamp, two are a closed
/// form, more a tiny active set.
void nonnegative_block(const double* G, int m, const double* c, double* y);

}  // namespace orthant::internal
