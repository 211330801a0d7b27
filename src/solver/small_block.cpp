// SPDX-License-Identifier: Apache-2.0
// solver/small_block.cpp: Cholesky of a subset, and an active set over such subsets.
#include "solver/small_block.hpp"

#include <algorithm>
#include <cmath>

namespace orthant::internal {

void solve_subset(const double* G, int m, unsigned in, const double* b, double* x) {
  double L[kMaxBlock][kMaxBlock], y[kMaxBlock];
  int at[kMaxBlock], n = 0;
  for (int i = 0; i < m; ++i) {
    x[i] = 0;
    if (in >> i & 1) at[n++] = i;
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      double s = G[at[i] * m + at[j]];
      for (int k = 0; k < j; ++k) s -= L[i][k] * L[j][k];
      L[i][j] = i == j ? std::sqrt(std::max(s, 1e-300)) : s / L[j][j];
    }
    double s = b[at[i]];
    for (int k = 0; k < i; ++k) s -= L[i][k] * y[k];
    y[i] = s / L[i][i];
  }
  for (int i = n - 1; i >= 0; --i) {
    double s = y[i];
    for (int k = i + 1; k < n; ++k) s -= L[k][i] * x[at[k]];
    x[at[i]] = s / L[i][i];
  }
}

void block_product(const double* G, int m, const double* y, double* c) {
  for (int i = 0; i < m; ++i) {
    double s = 0;
    for (int j = 0; j < m; ++j) s += G[i * m + j] * y[j];
    c[i] = s;
  }
}

void nonnegative_block(const double* G, int m, const double* c, double* y) {
  if (m == 1) {
    y[0] = std::max(0.0, c[0] / G[0]);
    return;
  }
  if (m == 2) {
    const double det = G[0] * G[3] - G[1] * G[1];
    const double a = (G[3] * c[0] - G[1] * c[1]) / det, b = (G[0] * c[1] - G[1] * c[0]) / det;
    if (a >= 0 && b >= 0) {
      y[0] = a;
      y[1] = b;
    } else if (c[0] > 0 && c[1] * G[0] <= G[1] * c[0]) {
      y[0] = c[0] / G[0];
      y[1] = 0;
    } else {
      y[0] = 0;
      y[1] = std::max(0.0, c[1] / G[3]);
    }
    return;
  }
  unsigned in = 0;
  for (int i = 0; i < m; ++i) {
    y[i] = std::max(0.0, y[i]);
    if (y[i] > 0) in |= 1u << i;
  }
  for (int round = 0; round < 6 * m; ++round) {
    double s[kMaxBlock];
    solve_subset(G, m, in, c, s);
    double step = 1;
    int leaves = -1;
    for (int i = 0; i < m; ++i) {
      if ((in >> i & 1) == 0 || s[i] >= 0) continue;
      const double t = y[i] / (y[i] - s[i]);
      if (t < step) {
        step = t;
        leaves = i;
      }
    }
    for (int i = 0; i < m; ++i) y[i] += step * (s[i] - y[i]);
    if (leaves >= 0) {
      y[leaves] = 0;
      in &= ~(1u << leaves);
      continue;
    }
    int enters = -1;
    double most = 1e-14;
    for (int i = 0; i < m; ++i) {
      if (in >> i & 1) continue;
      double w = c[i], size = std::abs(c[i]);
      for (int j = 0; j < m; ++j) {
        w -= G[i * m + j] * y[j];
        size += std::abs(G[i * m + j] * y[j]);
      }
      if (w > most * std::max(size, 1e-300)) {
        most = w / size;
        enters = i;
      }
    }
    if (enters < 0) return;
    in |= 1u << enters;
  }
}

}  // namespace orthant::internal
