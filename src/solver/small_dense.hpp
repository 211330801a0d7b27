// SPDX-License-Identifier: Apache-2.0
// solver/small_dense.hpp: products and inverses of the few rows of one block, row-major.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "orthant/math/block_rows.hpp"
#include "orthant/math/law.hpp"
#include "orthant/math/types.hpp"

namespace orthant::internal {

/// The square A is block-diagonal, as F is where only contacts themselves yield.
inline bool couples_no_blocks(const BlockRows& A) {
  for (Index c = 0; c < A.row_block_count(); ++c)
    for (const BlockRows::Entry& entry : A.entries(c))
      if (entry.block != c) return false;
  return true;
}

/// y += A x
inline void add_product(const double* A, int rows, Index columns, const double* x, double* y) {
  for (int r = 0; r < rows; ++r, A += columns) {
    double s = 0;
    for (Index j = 0; j < columns; ++j) s += A[j] * x[j];
    y[r] += s;
  }
}

/// y += Aᵀ x
inline void add_transposed(const double* A, int rows, Index columns, const double* x, double* y) {
  for (int r = 0; r < rows; ++r, A += columns) {
    const double f = x[r];
    for (Index j = 0; j < columns; ++j) y[j] += f * A[j];
  }
}

/// Inverse in place by Gauss–Jordan with row pivoting, n at most kMaxLawDim: rows of a sliding
/// block differ by 1/α. False where a pivot is not above `least`.
inline bool invert(double* A, int n, double least = 1e-300) {
  int swapped[kMaxLawDim];
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(A[i * n + k]) > std::abs(A[pivot * n + k])) pivot = i;
    }
    swapped[k] = pivot;
    const double p = A[pivot * n + k];
    if (!(std::abs(p) > least)) return false;
    if (pivot != k) std::swap_ranges(A + k * n, A + k * n + n, A + pivot * n);
    A[k * n + k] = 1;
    for (int j = 0; j < n; ++j) A[k * n + j] /= p;
    for (int i = 0; i < n; ++i) {
      if (i == k) continue;
      const double f = A[i * n + k];
      A[i * n + k] = 0;
      for (int j = 0; j < n; ++j) A[i * n + j] -= f * A[k * n + j];
    }
  }
  for (int k = n; k-- > 0;) {
    if (swapped[k] == k) continue;
    for (int i = 0; i < n; ++i) std::swap(A[i * n + k], A[i * n + swapped[k]]);
  }
  return true;
}

}  // namespace orthant::internal
