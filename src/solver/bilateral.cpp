// SPDX-License-Identifier: Apache-2.0
// solver/bilateral.cpp: joints alone => v and γ by one sparse factorisation.
//   [ H  Cᵀ ] [ dv ]   [ k − H v + Cᵀγ ]
//   [ C  −δ ] [−dγ ] = [  −e − C v      ]      repeated with the true residual on the right
// δ > 0 makes the matrix quasi-definite, so that LDLᵀ needs no pivots and redundant rows (closed
// loops) do no harm. Each round shrinks the error by δ/(δ + σ) along an eigenvalue σ of C H⁻¹ Cᵀ:
// a proximal point iteration and iterative refinement in one.
#include "solver/bilateral.hpp"

#include <algorithm>
#include <cmath>

#include "solver/best_answer.hpp"

namespace orthant {
namespace {

constexpr double kRegularisation = 1e-9;  // of the diagonal of C H⁻¹ Cᵀ
constexpr int kMaxRounds = 30;
constexpr double kRounding = 1e-15;  // no round can do better

double diagonal_of(const VelocityMatrix& H, Index block, Index column) {
  if (H.kind() == VelocityMatrix::Kind::Sparse) return H.sparse_matrix().coeff(column, column);
  const Index n = H.block_size(block), i = column - H.block_begin(block);
  return H.block(block)[i * n + i];
}

/// δ of each row of C.
void regularise(const CanonicalProblem& p, VecX& delta) {
  delta.setZero(p.C.rows());
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    const double* value = p.C.values(i);
    for (const BlockRows::Entry& entry : p.C.entries(i)) {
      for (Index r = 0; r < p.C.dim(i); ++r)
        for (Index j = 0; j < entry.width; ++j, ++value)
          delta[p.C.row_begin(i) + r] +=
              *value * *value / diagonal_of(p.H, entry.block, entry.column + j);
    }
  }
  for (double& d : delta) d = d > 0 ? kRegularisation * d : 1;  // a row of zeros decides nothing
}

/// Upper triangle of the matrix, column by column.
void assemble(const CanonicalProblem& p, BilateralWorkspace& work) {
  const Index n = p.velocity_count(), m = p.C.rows();
  SparseMatrix& A = work.matrix;
  A.resize(n + m, n + m);
  A.data().clear();
  Index* outer = A.outerIndexPtr();
  const auto end_column = [&](Index column) {
    outer[column + 1] = static_cast<Index>(A.data().size());
  };
  outer[0] = 0;
  if (p.H.kind() == VelocityMatrix::Kind::Sparse) {
    for (Index j = 0; j < n; ++j) {
      for (SparseMatrix::InnerIterator entry(p.H.sparse_matrix(), j); entry; ++entry)
        if (entry.row() <= j) A.data().append(entry.value(), entry.row());
      end_column(j);
    }
  } else {
    for (Index b = 0; b < p.H.block_count(); ++b) {
      const Index begin = p.H.block_begin(b), size = p.H.block_size(b);
      const double* value = p.H.block(b);
      for (Index j = 0; j < size; ++j) {
        for (Index i = 0; i <= j; ++i) A.data().append(value[i * size + j], begin + i);
        end_column(begin + j);
      }
    }
  }
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    const auto entries = p.C.entries(i);
    const Index dim = p.C.dim(i);
    work.order.resize(entries.size());
    for (std::size_t k = 0; k < entries.size(); ++k) work.order[k] = static_cast<Index>(k);
    std::sort(work.order.begin(), work.order.end(),
              [&](Index a, Index b) { return entries[a].column < entries[b].column; });
    for (Index r = 0; r < dim; ++r) {
      for (const Index k : work.order) {
        const double* value = p.C.values(i);
        for (Index before = 0; before < k; ++before) value += dim * entries[before].width;
        value += r * entries[k].width;
        for (Index j = 0; j < entries[k].width; ++j)
          A.data().append(value[j], entries[k].column + j);
      }
      const Index column = n + p.C.row_begin(i) + r;
      A.data().append(-work.delta[column - n], column);
      end_column(column);
    }
  }
}

bool factorize(const CanonicalProblem& p, BilateralWorkspace& work) {
  const SparseMatrix& A = work.matrix;
  const Index size = static_cast<Index>(A.rows());
  const auto outer = std::span(A.outerIndexPtr(), static_cast<std::size_t>(size) + 1);
  const auto inner = std::span(A.innerIndexPtr(), static_cast<std::size_t>(A.nonZeros()));
  if (!std::ranges::equal(outer, work.outer) || !std::ranges::equal(inner, work.inner)) {
    work.factor.analyze(A);
    work.outer.assign(outer.begin(), outer.end());
    work.inner.assign(inner.begin(), inner.end());
  }
  work.signs.assign(static_cast<std::size_t>(size), 1);
  std::fill(work.signs.begin() + p.velocity_count(), work.signs.end(), -1);
  return work.factor.factorize(A, work.signs, 1e-16);
}

}  // namespace

MethodResult solve_bilateral(const CanonicalProblem& p, const ProblemScale& scale,
                             const MethodLimits& limits, BilateralWorkspace& work, Solution& x) {
  const Index n = p.velocity_count(), m = p.C.rows();
  internal::BestAnswer best(Method::Bilateral, p, scale, limits, kMaxRounds, work.judge, x);
  regularise(p, work.delta);
  assemble(p, work);
  if (!factorize(p, work)) return best.result(Outcome::Stalled);
  best.work = work.factor.flops();
  work.residual.resize(n + m);
  Solution& y = work.candidate;
  y.v = x.v;
  y.gamma = x.gamma;
  y.lambda = x.lambda;
  for (double last = HUGE_VAL; best.iterations < kMaxRounds;) {
    p.H.multiply(y.v, work.product);
    work.product = p.k - work.product;
    p.C.multiply_transpose_add(1, y.gamma, work.product);
    work.residual.head(n) = work.product;
    p.C.multiply(y.v, work.product);
    work.residual.tail(m) = -p.e - work.product;
    work.factor.solve(work.residual, work.step);
    y.v += work.step.head(n);
    y.gamma -= work.step.tail(m);
    ++best.iterations;
    best.work += 4.0 * static_cast<double>(work.factor.nonzeros());
    const double residual = best.consider(y);
    // To rounding, not to the tolerance: a round costs two triangular solves.
    if (!(residual < 0.5 * last) || residual <= kRounding) break;
    last = residual;
  }
  return best.result(best.converged() ? Outcome::Converged : Outcome::Stalled);
}

bool bilateral_rows_contradict(const CanonicalProblem& p, const VecX& v_free,
                               BilateralWorkspace& work) {
  if (p.C.empty() || p.H.kind() == VelocityMatrix::Kind::Operator) return false;
  CanonicalProblem alone;
  alone.H = p.H;
  alone.k = p.k;
  alone.C = p.C;
  alone.e = p.e;
  const ProblemScale scale{VecX(), v_free};
  Solution x = zero_solution(alone);
  const MethodResult result = solve_bilateral(alone, scale, {.tolerance = 1e-9}, work, x);
  return std::isfinite(result.residual) && result.residual > 1e-6;
}

}  // namespace orthant
