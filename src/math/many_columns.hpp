// SPDX-License-Identifier: Apache-2.0
// math/many_columns.hpp: small matrices times many vectors at once, whose numbers of one row lie
// together.
#pragma once

#include "orthant/math/types.hpp"

namespace orthant {

/// Entry (r, k) is at values[r * row_step + k * step].
struct SmallMatrix {
  const double* values;
  Index row_step, step;
};

/// Y += factor A X: A is rows x inner, X inner x columns, Y rows x columns.
void add_times(const SmallMatrix& A, Index rows, Index inner, double factor, const double* X,
               double* Y, Index columns);

}  // namespace orthant
