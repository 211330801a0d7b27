// SPDX-License-Identifier: Apache-2.0
// math/many_columns.cpp: Y += factor A X, eight columns of a row of Y in registers at a time.
#include "math/many_columns.hpp"

#include <cstddef>
#include <type_traits>

namespace orthant {
namespace {

constexpr Index kLanes = 8;

template <class Width>
[[gnu::always_inline]] inline void strip(const SmallMatrix& A, Index rows, Index inner,
                                         double factor, const double* X, double* Y, Index columns,
                                         Width width) {
  for (Index r = 0; r < rows; ++r) {
    double sum[kLanes] = {};
    for (Index k = 0; k < inner; ++k) {
      const double a = A.values[r * A.row_step + k * A.step];
      for (Index c = 0; c < width; ++c) sum[c] += a * X[k * columns + c];
    }
    for (Index c = 0; c < width; ++c) Y[r * columns + c] += factor * sum[c];
  }
}

[[gnu::always_inline]] inline void product(const SmallMatrix& A, Index rows, Index inner,
                                           double factor, const double* X, double* Y,
                                           Index columns) {
  Index c = 0;
  for (; c + kLanes <= columns; c += kLanes)
    strip(A, rows, inner, factor, X + c, Y + c, columns, std::integral_constant<Index, kLanes>());
  if (c < columns) strip(A, rows, inner, factor, X + c, Y + c, columns, columns - c);
}

using Product = void (*)(const SmallMatrix&, Index, Index, double, const double*, double*, Index);

void product_baseline(const SmallMatrix& A, Index rows, Index inner, double factor, const double* X,
                      double* Y, Index columns) {
  product(A, rows, inner, factor, X, Y, columns);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void product_avx2(const SmallMatrix& A, Index rows, Index inner,
                                              double factor, const double* X, double* Y,
                                              Index columns) {
  product(A, rows, inner, factor, X, Y, columns);
}
Product choose_product() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? product_avx2
                                                                         : product_baseline;
}
#else
Product choose_product() { return product_baseline; }
#endif

}  // namespace

void add_times(const SmallMatrix& A, Index rows, Index inner, double factor, const double* X,
               double* Y, Index columns) {
  static const Product run = choose_product();
  run(A, rows, inner, factor, X, Y, columns);
}

}  // namespace orthant
