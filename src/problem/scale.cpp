// SPDX-License-Identifier: Apache-2.0
// problem/scale.cpp: problem => what the judge measures an answer by: a step for each row, the free
// motion, the weights of velocities. See residual.hpp.
#include <algorithm>
#include <cmath>

#include "math/each_value.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant {
namespace {

constexpr std::size_t kRowGrain = 1024;

/// Multiply-adds that the diagonal of N may cost where every row takes a sparse solve.
constexpr double kDiagonalWork = 2e7;

/// D_r diag(H)⁻¹ D_rᵀ for row r of row block i of D: a lower bound of the entry of N.
double diagonal_estimate(const CanonicalProblem& p, Index i, Index r) {
  const double* a = p.D.values(i);
  double sum = 0;
  for (const auto& entry : p.D.entries(i)) {
    for (Index c = 0; c < entry.width; ++c) {
      const double value = a[r * entry.width + c];
      sum += value * value / p.H.sparse_matrix().coeff(entry.column + c, entry.column + c);
    }
    a += static_cast<std::ptrdiff_t>(p.D.dim(i)) * entry.width;
  }
  return sum;
}

/// The rows of row block i of D, with H of blocks.
void add_block_diagonal(const CanonicalProblem& p, const VelocitySolver& inverse, Index i,
                        VecX& diagonal) {
  const Index d = p.D.dim(i);
  for (Index r = 0; r < d; ++r) {
    const double* a = p.D.values(i);
    double sum = 0;
    for (const auto& entry : p.D.entries(i)) {
      double y[kMaxVelocityBlock];
      const double* row = a + r * entry.width;
      std::copy(row, row + entry.width, y);
      inverse.solve_block(entry.block, y);
      for (Index c = 0; c < entry.width; ++c) sum += row[c] * y[c];
      a += static_cast<std::ptrdiff_t>(d) * entry.width;
    }
    diagonal[p.D.row_begin(i) + r] += sum;
  }
}

/// Diagonal of N = D H⁻¹ Dᵀ + F, row by row. A large sparse H (many finite elements, many contacts)
/// is replaced by its own diagonal: τ is a yardstick, not part of the answer. Joints are left out:
/// the effective mass of a body in a mechanism is at least its own.
void delassus_diagonal(const CanonicalProblem& p, const VelocitySolver& inverse, VecX& diagonal) {
  diagonal.setZero(p.row_count());
  VecX column, x;
  if (!inverse.is_block_diagonal() && !p.D.empty()) column = VecX::Zero(p.velocity_count());
  const bool estimate = p.H.kind() == VelocityMatrix::Kind::Sparse &&
                        static_cast<double>(p.row_count()) * inverse.solve_work() > kDiagonalWork;
  const bool blocks = inverse.is_block_diagonal();
  if (blocks)
    parallel_for(static_cast<std::size_t>(p.D.row_block_count()), kRowGrain,
                 [&](std::size_t begin, std::size_t end) {
                   for (std::size_t i = begin; i < end; ++i)
                     add_block_diagonal(p, inverse, static_cast<Index>(i), diagonal);
                 });
  for (Index i = 0; !blocks && i < p.D.row_block_count(); ++i) {
    const Index d = p.D.dim(i), at = p.D.row_begin(i);
    for (Index r = 0; r < d; ++r) {
      const double* a = p.D.values(i);
      double sum = 0;
      if (estimate) {
        sum = diagonal_estimate(p, i, r);
      } else {
        column.setZero();
        for (const auto& entry : p.D.entries(i)) {
          for (Index c = 0; c < entry.width; ++c)
            column[entry.column + c] += a[r * entry.width + c];
          a += static_cast<std::ptrdiff_t>(d) * entry.width;
        }
        sum = inverse.inverse_square(column, x);
      }
      diagonal[at + r] += sum;
    }
  }
  for (Index i = 0; i < p.F.row_block_count(); ++i) {
    const double* f = p.F.find(i, i);
    const Index d = p.F.dim(i);
    for (Index r = 0; f && r < d; ++r) diagonal[p.F.row_begin(i) + r] += f[r * d + r];
  }
}

/// A row whose diagonal of N vanishes (the sliding speed of a friction pyramid, a saddle point in a
/// circuit) takes its step from the rows it is coupled with, so that the scaled coupling is one:
/// τ_i = 1 / max_j (|N_ij| |N_ji| or the larger squared) τ_j. That keeps the judge free of units.
void borrow_steps(const CanonicalProblem& p, VecX& best, VecX& tau) {
  for (int round = 0; round < 8; ++round) {
    if ((tau.array() != 0).all()) break;
    best.setZero(tau.size());
    for (Index i = 0; i < p.F.row_block_count(); ++i) {
      const double* f = p.F.values(i);
      const Index d = p.F.dim(i);
      for (const auto& entry : p.F.entries(i)) {
        for (Index r = 0; r < d; ++r) {
          for (Index c = 0; c < entry.width; ++c) {
            const Index row = p.F.row_begin(i) + r, column = entry.column + c;
            const double coupling = f[r * entry.width + c] * f[r * entry.width + c];
            if (tau[row] == 0) best[row] = std::max(best[row], coupling * tau[column]);
            if (tau[column] == 0) best[column] = std::max(best[column], coupling * tau[row]);
          }
        }
        f += static_cast<std::ptrdiff_t>(d) * entry.width;
      }
    }
    bool changed = false;
    for (Index i = 0; i < tau.size(); ++i) {
      if (tau[i] == 0 && best[i] > 0) tau[i] = 1 / best[i], changed = true;
    }
    if (!changed) break;
  }
  for (Index i = 0; i < tau.size(); ++i) {
    if (tau[i] == 0 || !std::isfinite(tau[i])) tau[i] = 1;
  }
}

}  // namespace

void scale_of(const CanonicalProblem& p, ScaleWorkspace& work, ProblemScale& scale) {
  if (!work.inverse.factorize(p.H)) throw Error("problem", "H is singular");
  scale.v_free.resize(p.velocity_count());
  work.inverse.solve(p.k, scale.v_free);
  scale_of(p, work.inverse, work, scale);
}

void scale_of(const CanonicalProblem& p, const VelocitySolver& inverse, ScaleWorkspace& work,
              ProblemScale& scale) {
  diagonal_of(p.H, scale.weight);
  VecX& diagonal = work.diagonal;
  delassus_diagonal(p, inverse, diagonal);
  scale.tau.setZero(p.row_count());
  Index at = 0;
  for (const Law& law : p.laws) {
    const Index dim = law.is_separable() ? 1 : law.dim;
    for (Index first = 0; first < law.dim; first += dim) {
      double trace = 0;
      for (Index r = 0; r < dim; ++r) trace += std::abs(diagonal[at + first + r]);
      for (Index r = 0; r < dim; ++r) scale.tau[at + first + r] = trace > 0 ? dim / trace : 0.0;
    }
    at += law.dim;
  }
  borrow_steps(p, work.best, scale.tau);
}

ProblemScale scale_of(const CanonicalProblem& p) {
  ScaleWorkspace work;
  ProblemScale scale;
  scale_of(p, work, scale);
  return scale;
}

}  // namespace orthant
