// SPDX-License-Identifier: Apache-2.0
// math/block_rows.cpp: products of block compressed rows.
#include "orthant/math/block_rows.hpp"

namespace orthant {
namespace {

// Dimensions 1, 2, 3 rows with 3 or 6 columns are nearly all of mechanics; fixed sizes let the
// compiler unroll them.
template <int D, int W>
void block_multiply_add(const double* a, const double* x, double* y) {
  for (int r = 0; r < D; ++r) {
    double s = 0;
    for (int c = 0; c < W; ++c) s += a[r * W + c] * x[c];
    y[r] += s;
  }
}

void block_multiply_add(const double* a, Index d, Index w, const double* x, double* y) {
  if (d == 3 && w == 3) return block_multiply_add<3, 3>(a, x, y);
  if (d == 3 && w == 6) return block_multiply_add<3, 6>(a, x, y);
  if (d == 2 && w == 3) return block_multiply_add<2, 3>(a, x, y);
  if (d == 2 && w == 2) return block_multiply_add<2, 2>(a, x, y);
  if (d == 1 && w == 6) return block_multiply_add<1, 6>(a, x, y);
  if (d == 1 && w == 1) {
    y[0] += a[0] * x[0];
    return;
  }
  for (Index r = 0; r < d; ++r) {
    double s = 0;
    for (Index c = 0; c < w; ++c) s += a[r * w + c] * x[c];
    y[r] += s;
  }
}

/// y += s A x with the widths of bodies known to the compiler; W 0: any.
template <int W>
void add_scaled(const double* a, Index d, Index width, double s, const double* x, double* y) {
  const Index w = W > 0 ? W : width;
  for (Index r = 0; r < d; ++r, a += w) {
    double sum = 0;
    for (Index c = 0; c < w; ++c) sum += a[c] * x[c];
    y[r] += s * sum;
  }
}

/// y += s Aᵀ x
template <int W>
void add_transposed(const double* a, Index d, Index width, double s, const double* x, double* y) {
  const Index w = W > 0 ? W : width;
  for (Index r = 0; r < d; ++r, a += w) {
    const double t = s * x[r];
    for (Index c = 0; c < w; ++c) y[c] += a[c] * t;
  }
}

}  // namespace

const double* BlockRows::find(Index i, Index block) const {
  const double* a = values(i);
  for (const Entry& e : entries(i)) {
    if (e.block == block) return a;
    a += static_cast<std::ptrdiff_t>(dim(i)) * e.width;
  }
  return nullptr;
}

void BlockRows::multiply_row(Index i, const double* x, double* y) const {
  const Index d = dim(i);
  for (Index r = 0; r < d; ++r) y[r] = 0;
  const double* a = values(i);
  for (const Entry& e : entries(i)) {
    block_multiply_add(a, d, e.width, x + e.column, y);
    a += static_cast<std::ptrdiff_t>(d) * e.width;
  }
}

void BlockRows::multiply(const VecX& x, VecX& y) const {
  y.resize(rows());
  for (Index i = 0; i < row_block_count(); ++i) multiply_row(i, x.data(), y.data() + row_begin(i));
}

void BlockRows::multiply_add(double s, const VecX& x, VecX& y) const {
  for (Index i = 0; i < row_block_count(); ++i) {
    const Index d = dim(i);
    const double* a = values(i);
    double* yi = y.data() + row_begin(i);
    for (const Entry& e : entries(i)) {
      const double* xe = x.data() + e.column;
      if (e.width == 6) {
        add_scaled<6>(a, d, 6, s, xe, yi);
      } else if (e.width == 3) {
        add_scaled<3>(a, d, 3, s, xe, yi);
      } else {
        add_scaled<0>(a, d, e.width, s, xe, yi);
      }
      a += static_cast<std::ptrdiff_t>(d) * e.width;
    }
  }
}

void BlockRows::multiply_transpose_add(double s, const VecX& x, VecX& y) const {
  for (Index i = 0; i < row_block_count(); ++i) {
    const Index d = dim(i);
    const double* a = values(i);
    const double* xi = x.data() + row_begin(i);
    for (const Entry& e : entries(i)) {
      double* ye = y.data() + e.column;
      if (e.width == 6) {
        add_transposed<6>(a, d, 6, s, xi, ye);
      } else if (e.width == 3) {
        add_transposed<3>(a, d, 3, s, xi, ye);
      } else {
        add_transposed<0>(a, d, e.width, s, xi, ye);
      }
      a += static_cast<std::ptrdiff_t>(d) * e.width;
    }
  }
}

}  // namespace orthant
