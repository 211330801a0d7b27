// SPDX-License-Identifier: Apache-2.0
// solver/one_contact.cpp: one block of any law => its impulse. See one_contact_kernel.hpp.
//
// Convex cones and rolling have no closed form: semismooth Newton on the residual of active_set.hpp
// in variables scaled to unit effective mass, group by group (torques have other units than forces;
// the scaled law is the same cone with other coefficients). When the line search finds nothing,
// projected steps along −w~ carry on: they converge for a convex law and lead out of wrong active
// sets. Exact rolling that resists is nested: w_R = −s r_R eliminates the torques and leaves a
// Coulomb block, which is solved exactly; s is the bracketed root of |r_R| = μ_r r_n.
#include <algorithm>
#include <cmath>

#include "math/law_kernel.hpp"
#include "solver/active_set.hpp"
#include "solver/one_contact_kernel.hpp"
#include "solver/scaled_local.hpp"
#include "solver/small_dense.hpp"

namespace orthant {
namespace {

constexpr int kMax = kMaxLawDim;

/// Solves A x = y in place; false when singular. Overwrites A.
bool solve_small(double* A, double* y, int n) {
  if (!internal::invert(A, n, 1e-14)) return false;
  double x[kMax] = {};
  internal::add_product(A, n, n, y, x);
  std::copy_n(x, n, y);
  return true;
}

/// The block in variables of unit effective mass, and the residual of its law.
struct UnitBlock {
  Law law;
  int n;
  double sigma[kMax];
  double W[kMax * kMax];
  double q[kMax];
  double norm;  // a bound of |W|

  bool set(const Law& original, const double* W0, const double* q0) {
    if (!(W0[0] > 0)) return false;
    law = original;
    n = law.dim;
    // A group without inertia of its own is measured like the normal.
    const double tau = 1 / W0[0];
    internal::scale_rows(law, W0, &tau, sigma);
    norm = 0;
    for (int i = 0; i < n; ++i) {
      double row = 0;
      for (int j = 0; j < n; ++j) {
        W[i * n + j] = sigma[i] * W0[i * n + j] * sigma[j];
        row += std::abs(W[i * n + j]);
      }
      norm = std::max(norm, row);
      q[i] = sigma[i] * q0[i];
    }
    return true;
  }

  void velocity(const double* r, double* w) const {
    std::copy_n(q, n, w);
    internal::add_product(W, n, n, r, w);
  }

  /// R of active_set.hpp at r, where asked for its derivative by r and w apart; returns |R|.
  double residual(const double* r, double* R, double* w,
                  internal::BlockJacobian* J = nullptr) const {
    velocity(r, w);
    internal::projection_residual(law, r, w, 1, R, J);
    return norm_of(R, n);
  }

  /// d with R'(r) d = −R; false when singular.
  bool newton_step(const double* r, double* d) const {
    double w[kMax];
    internal::BlockJacobian J;
    (void)residual(r, d, w, &J);
    for (int i = 0; i < n; ++i) d[i] = -d[i];
    for (int i = 0; i < n; ++i) internal::add_transposed(W, n, n, J.Y + i * n, J.X + i * n);
    return solve_small(J.X, d, n);
  }

  double size(const double* r) const {
    double s = 0;
    for (int i = 0; i < n; ++i) s = std::max({s, std::abs(r[i]), std::abs(q[i])});
    return s;
  }
};

/// Newton with line search from r; projected steps where it fails. Returns |R|, best r in place.
double iterate(const UnitBlock& block, double* r) {
  const int n = block.n;
  double R[kMax], w[kMax], d[kMax], trial[kMax];
  double error = block.residual(r, R, w);
  const double step = 1 / (block.norm * (1 + block.law.mu + block.law.mu_r));
  // Rounds end by reaching rounding level; the bound is for blocks that have no solution.
  for (int round = 0; round < 200; ++round) {
    if (error <= 8 * internal::kEpsilon * block.size(r)) return error;
    const double before = error;
    const bool newton = block.newton_step(r, d);
    for (double length = 1; newton && error == before && length > 1e-3; length *= 0.5) {
      for (int i = 0; i < n; ++i) trial[i] = r[i] + length * d[i];
      const double now = block.residual(trial, R, w);
      if (!(now < (1 - 0.1 * length) * before)) continue;
      std::copy_n(trial, n, r);
      error = now;
    }
    if (error < before) continue;
    if (error <= 1e3 * internal::kEpsilon * block.size(r)) return error;  // rounding level
    for (int i = 0; i < 20; ++i) {
      block.velocity(r, w);
      double z[kMax];
      for (int j = 0; j < n; ++j) z[j] = r[j] - step * w[j];
      z[0] -= step * shift_of(block.law, w);
      project(block.law, z, r);
    }
    error = block.residual(r, R, w);
  }
  return error;
}

/// |r_R| − μ_r r_n of a rolling block (exact law, scaled) whose torques resist with w_R = −s r_R,
/// s = σ/(1 − σ); fills r. σ = 0: no slip of the rolling motion, σ = 1: no torque.
double rolling_excess(const UnitBlock& block, double sigma, double* r) {
  const int n = block.n, m = 1 + block.law.tangent_dim(), k = n - m;
  double reduced[9], q[3];
  // X = ((1 − σ) W_RR + σ I)⁻¹ [W_R,nT  q_R], column by column; the factor 1 − σ is put back below.
  double X[4 * kMax];
  for (int column = 0; column <= m; ++column) {
    double A[4] = {}, y[2] = {};
    for (int i = 0; i < k; ++i) {
      for (int j = 0; j < k; ++j) {
        A[i * k + j] = (1 - sigma) * block.W[(m + i) * n + m + j] + (i == j ? sigma : 0.0);
      }
      y[i] = column < m ? block.W[(m + i) * n + column] : block.q[m + i];
    }
    if (!solve_small(A, y, k)) std::fill_n(y, k, 0.0);  // no inertia and no force in that direction
    for (int i = 0; i < k; ++i) X[column * k + i] = (1 - sigma) * y[i];
  }
  for (int i = 0; i < m; ++i) {
    for (int column = 0; column <= m; ++column) {
      double value = column < m ? block.W[i * n + column] : block.q[i];
      for (int j = 0; j < k; ++j) value -= block.W[i * n + m + j] * X[column * k + j];
      (column < m ? reduced[i * m + column] : q[i]) = value;
    }
  }
  (void)(m == 3 ? solve_coulomb3(reduced, q, block.law.mu, r)
                : solve_coulomb2(reduced, q, block.law.mu, r));
  double square = 0;
  for (int i = 0; i < k; ++i) {
    r[m + i] = -X[m * k + i];
    for (int j = 0; j < m; ++j) r[m + i] -= X[j * k + i] * r[j];
    square += r[m + i] * r[m + i];
  }
  return std::sqrt(square) - block.law.mu_r * r[0];
}

void solve_rolling_nested(const UnitBlock& block, double* r) {
  if (rolling_excess(block, 0, r) <= 0) return;
  double lo = 0, hi = 1;
  double f_lo = rolling_excess(block, 0, r), f_hi = rolling_excess(block, 1, r);
  int side = 0;
  // Regula falsi with halved weights (Illinois); a step that does not shrink the bracket is halved.
  while (hi - lo > 4 * internal::kEpsilon && f_hi < 0) {
    double sigma = (lo * f_hi - hi * f_lo) / (f_hi - f_lo);
    if (!(sigma > lo && sigma < hi)) sigma = 0.5 * (lo + hi);
    if (sigma == lo || sigma == hi) break;
    const double f = rolling_excess(block, sigma, r);
    if (f == 0) return;
    if (f > 0) {
      lo = sigma, f_lo = f;
      if (side == 1) f_hi *= 0.5;
      side = 1;
    } else {
      hi = sigma, f_hi = f;
      if (side == -1) f_lo *= 0.5;
      side = -1;
    }
  }
  (void)rolling_excess(block, hi, r);
}

/// The block with tangents and torques exchanged: the law is symmetric in them.
UnitBlock exchanged(const UnitBlock& block) {
  UnitBlock out = block;
  const int n = block.n, k = (n - 1) / 2;
  const auto place = [k](int i) { return i == 0 ? 0 : i <= k ? i + k : i - k; };
  for (int i = 0; i < n; ++i) {
    out.q[i] = block.q[place(i)];
    for (int j = 0; j < n; ++j) out.W[i * n + j] = block.W[place(i) * n + place(j)];
  }
  std::swap(out.law.mu, out.law.mu_r);
  return out;
}

BlockState solve_iterative(const Law& law, const double* W, const double* q, double* r) {
  UnitBlock block;
  const int n = law.dim;
  const double zero[kMax] = {};
  if (!internal::block_set(law, zero, q).pressed) {
    std::fill_n(r, n, 0.0);
    return BlockState::Open;
  }
  if (!block.set(law, W, q)) {
    std::fill_n(r, n, 0.0);
    return BlockState::Degenerate;
  }
  double best[kMax] = {}, trial[kMax] = {};
  for (int i = 0; i < n; ++i) best[i] = r[i] / block.sigma[i];
  double error = iterate(block, best);
  const double good = 1e-12 * block.size(best);
  // Other starts: nested both ways for exact rolling, else the impulse that sticks, projected.
  for (int start = 0; start < 2 && error > good; ++start) {
    if (law.kind == LawKind::Rolling) {
      solve_rolling_nested(start == 0 ? block : exchanged(block), trial);
      if (start == 1) std::swap_ranges(trial + 1, trial + 1 + (n - 1) / 2, trial + 1 + (n - 1) / 2);
    } else {
      double A[kMax * kMax];
      std::copy_n(block.W, n * n, A);
      for (int i = 0; i < n; ++i) trial[i] = start == 0 || i == 0 ? -block.q[i] : 0.0;
      if (start == 0 && !solve_small(A, trial, n)) continue;
      project(block.law, trial, trial);
    }
    const double trial_error = iterate(block, trial);
    if (trial_error < error) {
      error = trial_error;
      std::copy_n(trial, n, best);
    }
  }
  double w[kMax];
  block.velocity(best, w);
  const internal::BlockSet set = internal::block_set(block.law, best, w);
  project(block.law, best, best);
  for (int i = 0; i < n; ++i) r[i] = best[i] * block.sigma[i];
  return !set.pressed                     ? BlockState::Open
         : set.slides[0] || set.slides[1] ? BlockState::Slide
                                          : BlockState::Stick;
}

}  // namespace

BlockState solve_other_block(const Law& law, const double* W, const double* q, double* r) {
  if (law.is_frictional()) return solve_iterative(law, W, q, r);
  BlockState state = BlockState::Open;
  for (int i = 0; i < law.dim; ++i) {
    double rest = q[i];
    for (int j = 0; j < law.dim; ++j) {
      if (j != i) rest += W[i * law.dim + j] * r[j];
    }
    state = solve_entry(law, W[i * law.dim + i], rest, r + i);
  }
  return state;
}

}  // namespace orthant
