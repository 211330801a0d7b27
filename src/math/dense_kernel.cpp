// SPDX-License-Identifier: Apache-2.0
// math/dense_kernel.cpp: C −= A Bᵀ in register tiles of 8 x 4.
// The tile is written once with vectors of four; it is compiled for the baseline and for AVX2 with
// FMA, and the machine decides. On one machine the bits are always the same.
#include "math/dense_kernel.hpp"

namespace orthant {
namespace {

constexpr int kTileRows = 8;
constexpr int kTileColumns = 4;

using Vector = double __attribute__((vector_size(32)));

[[gnu::always_inline]] inline void load(Vector& v, const double* p) {
  __builtin_memcpy(&v, p, sizeof(Vector));
}
[[gnu::always_inline]] inline void store(double* p, const Vector& v) {
  __builtin_memcpy(p, &v, sizeof(Vector));
}

/// One tile: 8 rows of A against 4 packed columns.
[[gnu::always_inline]] inline void tile(double* C, std::ptrdiff_t ldc, const double* A,
                                        std::ptrdiff_t lda, const double* B, int depth) {
  Vector c[kTileColumns][2] = {};
  for (int k = 0; k < depth; ++k) {
    Vector low, high;
    load(low, A);
    load(high, A + 4);
    for (int j = 0; j < kTileColumns; ++j) {
      c[j][0] += low * B[j];
      c[j][1] += high * B[j];
    }
    A += lda;
    B += kTileColumns;
  }
  for (int j = 0; j < kTileColumns; ++j) {
    Vector low, high;
    load(low, C + j * ldc);
    load(high, C + j * ldc + 4);
    store(C + j * ldc, low - c[j][0]);
    store(C + j * ldc + 4, high - c[j][1]);
  }
}

/// The remainders, at most 8 x 4, from packed columns.
[[gnu::always_inline]] inline void edge(double* C, std::ptrdiff_t ldc, const double* A,
                                        std::ptrdiff_t lda, const double* B, int rows, int columns,
                                        int depth) {
  double c[kTileColumns][kTileRows] = {};
  for (int k = 0; k < depth; ++k) {
    for (int j = 0; j < columns; ++j) {
      for (int i = 0; i < rows; ++i) c[j][i] += A[i] * B[j];
    }
    A += lda;
    B += kTileColumns;
  }
  for (int j = 0; j < columns; ++j) {
    for (int i = 0; i < rows; ++i) C[j * ldc + i] -= c[j][i];
  }
}

/// Rows outside, columns inside: a strip of A stays in the first cache, packed B in the second.
[[gnu::always_inline]] inline void product(double* C, std::ptrdiff_t ldc, const double* A,
                                           std::ptrdiff_t lda, const double* B, int rows,
                                           int columns, int depth) {
  for (int i = 0; i < rows; i += kTileRows) {
    const int m = rows - i < kTileRows ? rows - i : kTileRows;
    for (int j = 0; j < columns; j += kTileColumns) {
      const int n = columns - j < kTileColumns ? columns - j : kTileColumns;
      double* c = C + i + j * ldc;
      const double* b = B + static_cast<std::ptrdiff_t>(j) * depth;
      if (m == kTileRows && n == kTileColumns) {
        tile(c, ldc, A + i, lda, b, depth);
      } else {
        edge(c, ldc, A + i, lda, b, m, n, depth);
      }
    }
  }
}

using Product = void (*)(double*, std::ptrdiff_t, const double*, std::ptrdiff_t, const double*, int,
                         int, int);

void product_baseline(double* C, std::ptrdiff_t ldc, const double* A, std::ptrdiff_t lda,
                      const double* B, int rows, int columns, int depth) {
  product(C, ldc, A, lda, B, rows, columns, depth);
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void product_avx2(double* C, std::ptrdiff_t ldc, const double* A,
                                              std::ptrdiff_t lda, const double* B, int rows,
                                              int columns, int depth) {
  product(C, ldc, A, lda, B, rows, columns, depth);
}

Product choose_product() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? product_avx2
                                                                         : product_baseline;
}
#else
Product choose_product() { return product_baseline; }
#endif

}  // namespace

std::size_t packing_size(int columns, int depth) {
  return (static_cast<std::size_t>(columns) + kTileColumns) * static_cast<std::size_t>(depth);
}

void subtract_product(double* C, std::ptrdiff_t ldc, const double* A, std::ptrdiff_t lda,
                      const Factor& B, int rows, int columns, int depth, double* packing) {
  static const Product run = choose_product();
  // Columns in groups of four, padded with zeros, one depth after another.
  double* p = packing;
  for (int j = 0; j < columns; j += kTileColumns) {
    for (int k = 0; k < depth; ++k) {
      const double s = B.scale ? B.scale[k] : 1.0;
      for (int t = 0; t < kTileColumns; ++t) {
        *p++ = j + t < columns ? s * B.base[(j + t) * B.row_stride + k * B.column_stride] : 0.0;
      }
    }
  }
  run(C, ldc, A, lda, packing, rows, columns, depth);
}

}  // namespace orthant
