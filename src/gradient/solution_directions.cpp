// SPDX-License-Identifier: Apache-2.0
// gradient/solution_directions.cpp: the derivative of a solution along many changes at once: one
// factorisation, every product of small blocks with all columns. Refined as solve() does.
#include <algorithm>
#include <cmath>
#include <limits>

#include "gradient/solution_impl.hpp"

namespace orthant {

namespace {
constexpr double kGood = 1e-9;  // worse: column by column, which knows what else to try
constexpr Index kLanes = 8;     // columns are filled up to a multiple of it
}  // namespace

bool SolutionGradient::Impl::solve_many(const Directions& b, Directions& out) {
  if (!in_velocities) return false;
  const Index n = b.rows(), m = b.cols();
  Directions &left = many_left, &next = many_next, &image = many_image;
  left = b;
  next.resize(n, m);
  image.resize(n, m);
  out.setZero(n, m);
  const Eigen::RowVectorXd size = b.colwise().norm();
  Eigen::RowVectorXd now,
      error = Eigen::RowVectorXd::Constant(m, std::numeric_limits<double>::infinity());
  for (int k = 0; k <= settings.max_refinements; ++k) {
    if (!velocities.solve_many(left.data(), next.data(), m)) return false;
    if (k > 0) next += out;
    velocities.apply_many(next.data(), image.data(), m);
    left = b - image;
    now = left.colwise().norm();
    bool better = false, done = true, all = true;
    for (Index i = 0; i < m; ++i) {
      now[i] = size[i] > 0 ? now[i] / size[i] : 0;
      better = better || now[i] < 0.5 * error[i];
      all = all && now[i] < error[i];
      done = done && std::min(now[i], error[i]) <= settings.tolerance;
    }
    if (all) {
      out.swap(next);
      error = now;
    }
    for (Index i = 0; i < m && !all; ++i) {  // one that no longer improves keeps what it has
      if (!(now[i] < error[i])) continue;
      out.col(i) = next.col(i);
      error[i] = now[i];
    }
    if (done || !better) break;
  }
  certificate.solve_error = m == 0 ? 0 : error.maxCoeff();
  if (!(certificate.solve_error <= kGood)) return false;
  for (Index i = 0; i < m; ++i)
    if (const double answer = out.col(i).norm(); answer > 0)
      certificate.reciprocal_condition =
          std::min(certificate.reciprocal_condition, size[i] / (matrix_norm * answer));
  return true;
}

void SolutionGradient::tangent(const Directions& balance, const Directions& bilateral,
                               const Directions& blocks, Directions& dv) {
  Impl& m = *impl_;
  m.probe();
  const Index columns = balance.cols(), padded = (columns + kLanes - 1) / kLanes * kLanes;
  Directions &b = m.many_right, &x = m.many_answer;
  b.setZero(m.nv + m.nc + m.nl, padded);
  b.topLeftCorner(m.nv, columns) = balance;
  b.block(m.nv, 0, m.nc, columns) = -bilateral;
  for (std::size_t c = 0; c < m.blocks.size(); ++c) {
    const Index at = m.offset[c], dim = m.p->laws[c].dim;
    for (Index r = 0; r < dim; ++r)
      for (Index s = 0; s < dim; ++s) {
        const double share = m.tau[at + r] * m.blocks[c].PG[r * dim + s];
        if (share != 0) b.row(m.nv + m.nc + at + r).head(columns) -= share * blocks.row(at + s);
      }
  }
  b = m.row_scale.asDiagonal() * b;
  if (m.solve_many(b, x)) {
    dv = m.column_scale.head(m.nv).asDiagonal() * x.topLeftCorner(m.nv, columns);
    return;
  }
  dv.resize(m.nv, columns);
  // The laws by those of the column: one before it may have let contacts go.
  VecX right(m.nv + m.nc + m.nl), law, one;
  double worst = 0;
  for (Index i = 0; i < columns; ++i) {
    m.apply_tpg(blocks.col(i), false, law);
    right << balance.col(i), -bilateral.col(i), -law;
    m.solve(right, false, one);
    dv.col(i) = one.head(m.nv);
    worst = std::max(worst, m.certificate.solve_error);
  }
  m.certificate.solve_error = worst;
}

}  // namespace orthant
