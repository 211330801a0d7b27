// SPDX-License-Identifier: Apache-2.0
// tao/box_block.cpp: Cholesky of a subset, and an active set over such subsets.
#include "tao/box_block.hpp"

#include <algorithm>
#include <cmath>

namespace orthant::tao {

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

void box_block(const double* G, int m, const double* c, const double* lo, const double* hi,
               double* y) {
  if (m == 1) {
    y[0] = std::clamp(c[0] / G[0], lo[0], hi[0]);
    return;
  }
  unsigned in = 0;
  for (int i = 0; i < m; ++i) {
    y[i] = std::clamp(y[i], lo[i], hi[i]);
    if (y[i] > lo[i] && y[i] < hi[i]) in |= 1u << i;
  }
  for (int round = 0; round < 6 * m; ++round) {
    double b[kMaxBlock], s[kMaxBlock];
    for (int i = 0; i < m; ++i) {
      b[i] = c[i];
      for (int j = 0; j < m; ++j)
        if ((in >> j & 1) == 0) b[i] -= G[i * m + j] * y[j];
    }
    solve_subset(G, m, in, b, s);
    double step = 1;
    int leaves = -1;
    for (int i = 0; i < m; ++i) {
      if ((in >> i & 1) == 0 || (s[i] >= lo[i] && s[i] <= hi[i])) continue;
      const double t = ((s[i] < lo[i] ? lo[i] : hi[i]) - y[i]) / (s[i] - y[i]);
      if (t < step) {
        step = t;
        leaves = i;
      }
    }
    for (int i = 0; i < m; ++i)
      if (in >> i & 1) y[i] += step * (s[i] - y[i]);
    if (leaves >= 0) {
      y[leaves] = s[leaves] < lo[leaves] ? lo[leaves] : hi[leaves];
      in &= ~(1u << leaves);
      continue;
    }
    int enters = -1;
    double most = 1e-14;
    for (int i = 0; i < m; ++i) {
      if ((in >> i & 1) || !(lo[i] < hi[i])) continue;
      double w = c[i], size = std::abs(c[i]);
      for (int j = 0; j < m; ++j) {
        w -= G[i * m + j] * y[j];
        size += std::abs(G[i * m + j] * y[j]);
      }
      if (y[i] >= hi[i]) w = -w;
      if (w > most * std::max(size, 1e-300)) {
        most = w / size;
        enters = i;
      }
    }
    if (enters < 0) return;
    in |= 1u << enters;
  }
}

}  // namespace orthant::tao
