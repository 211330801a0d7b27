// SPDX-License-Identifier: Apache-2.0
// math/dense_kernel.hpp: the one dense product that sparse factorisations spend their time in.
#pragma once

#include <cstddef>

namespace orthant {

/// Where entry (row, k) of the second factor is: base[row * row_stride + k * column_stride], times
/// scale[k] unless scale is null.
struct Factor {
  const double* base;
  std::ptrdiff_t row_stride;
  std::ptrdiff_t column_stride;
  const double* scale;
};

/// Doubles that subtract_product() needs for `columns` and `depth`.
std::size_t packing_size(int columns, int depth);

/// C −= A Bᵀ, C rows x columns, A rows x depth, both column-major; `packing` is scratch.
void subtract_product(double* C, std::ptrdiff_t ldc, const double* A, std::ptrdiff_t lda,
                      const Factor& B, int rows, int columns, int depth, double* packing);

}  // namespace orthant
