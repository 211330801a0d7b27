// SPDX-License-Identifier: Apache-2.0
// tao/box_block.cpp: an active set over subsets of the rows of a block.
#include "tao/box_block.hpp"

#include <algorithm>
#include <cmath>

namespace orthant::tao {

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
