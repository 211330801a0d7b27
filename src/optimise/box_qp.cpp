// SPDX-License-Identifier: Apache-2.0
// optimise/box_qp.cpp: projected Newton with an Armijo search along the projected arc.
#include "optimise/box_qp.hpp"

#include <Eigen/Cholesky>
#include <cmath>

namespace orthant::internal {

namespace {

MatX block_of(const MatX& H, const std::vector<Index>& rows) {
  const auto n = static_cast<Index>(rows.size());
  MatX out(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      out(i, j) = H(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(j)]);
  return out;
}

}  // namespace

MatX solve_free(const MatX& H, const std::vector<Index>& free, const MatX& R) {
  MatX out = MatX::Zero(R.rows(), R.cols());
  if (free.empty() || R.cols() == 0) return out;
  const auto n = static_cast<Index>(free.size());
  MatX right(n, R.cols());
  for (Index i = 0; i < n; ++i) right.row(i) = R.row(free[static_cast<std::size_t>(i)]);
  const MatX x = block_of(H, free).llt().solve(right);
  for (Index i = 0; i < n; ++i) out.row(free[static_cast<std::size_t>(i)]) = -x.row(i);
  return out;
}

BoxMinimum box_qp(const MatX& H, const VecX& g, const VecX& lower, const VecX& upper) {
  const auto n = static_cast<Index>(g.size());
  BoxMinimum out;
  out.d = VecX::Zero(n).cwiseMax(lower).cwiseMin(upper);
  const auto value = [&](const VecX& d) { return 0.5 * d.dot(H * d) + g.dot(d); };
  double now = value(out.d);
  for (int iteration = 0; iteration < 100; ++iteration) {
    const VecX slope = g + H * out.d;
    out.free.clear();
    double most = 0;
    for (Index i = 0; i < n; ++i) {
      const bool held = (out.d[i] <= lower[i] && slope[i] > 0) ||
                        (out.d[i] >= upper[i] && slope[i] < 0) || lower[i] == upper[i];
      if (held) continue;
      out.free.push_back(i);
      most = std::max(most, std::abs(slope[i]));
    }
    if (out.free.empty()) {
      out.ok = true;
      return out;
    }
    const Eigen::LLT<MatX> factor(block_of(H, out.free));
    if (factor.info() != Eigen::Success) return out;
    if (most <= 1e-12 * (g.cwiseAbs().maxCoeff() + 1e-300)) {
      out.ok = true;
      return out;
    }
    VecX right(static_cast<Index>(out.free.size()));
    for (std::size_t i = 0; i < out.free.size(); ++i)
      right[static_cast<Index>(i)] = -slope[out.free[i]];
    const VecX x = factor.solve(right);
    VecX direction = VecX::Zero(n);
    for (std::size_t i = 0; i < out.free.size(); ++i)
      direction[out.free[i]] = x[static_cast<Index>(i)];
    bool moved = false;
    for (double length = 1; length > 1e-12 && !moved; length *= 0.5) {
      const VecX d = (out.d + length * direction).cwiseMax(lower).cwiseMin(upper);
      const double next = value(d);
      if (next < now && next <= now + 0.1 * slope.dot(d - out.d)) {
        moved = (d - out.d).cwiseAbs().maxCoeff() > 0;
        out.d = d;
        now = next;
      }
    }
    if (!moved) {  // as good as it gets in this arithmetic
      out.ok = true;
      return out;
    }
  }
  out.ok = true;
  return out;
}

}  // namespace orthant::internal
