// SPDX-License-Identifier: Apache-2.0
// math/each_value.hpp: visit(row, column, value) for every number stored in a block matrix.
#pragma once

#include <cmath>

#include "orthant/math/block_rows.hpp"
#include "orthant/math/velocity_matrix.hpp"

namespace orthant {

template <class Visit>
void each_value(const BlockRows& A, Visit&& visit) {
  for (Index i = 0; i < A.row_block_count(); ++i) {
    const double* a = A.values(i);
    const Index end = A.row_begin(i) + A.dim(i);
    for (const BlockRows::Entry& entry : A.entries(i))
      for (Index r = A.row_begin(i); r < end; ++r)
        for (Index c = 0; c < entry.width; ++c) visit(r, entry.column + c, *a++);
  }
}

template <class Visit>
void each_value(const VelocityMatrix& H, Visit&& visit) {
  const double* a = H.all_values().data();
  H.for_each_entry([&](Index r, Index c) { visit(r, c, *a++); });
}

/// |h_ii|; ones for an operator.
inline void diagonal_of(const VelocityMatrix& H, VecX& diagonal) {
  if (H.kind() == VelocityMatrix::Kind::BlockDiagonal) {
    diagonal.resize(H.rows());
    for (Index i = 0; i < H.block_count(); ++i)
      for (Index r = 0, n = H.block_size(i); r < n; ++r)
        diagonal[H.block_begin(i) + r] = std::abs(H.block(i)[r * n + r]);
    return;
  }
  diagonal.setConstant(H.rows(), H.kind() == VelocityMatrix::Kind::Operator ? 1.0 : 0.0);
  each_value(H, [&](Index r, Index c, double a) {
    if (r == c) diagonal[r] = std::abs(a);
  });
}

/// out_r += what a unit impulse in row r of A moves that row, with H by its diagonal.
inline void add_mobility(const BlockRows& A, const double* diagonal, double* out) {
  each_value(A, [&](Index r, Index c, double a) {
    if (diagonal[c] > 0) out[r] += a * a / diagonal[c];
  });
}

}  // namespace orthant
