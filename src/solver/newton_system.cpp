// SPDX-License-Identifier: Apache-2.0
// solver/newton_system.cpp: the linear algebra of nonsmooth Newton. The factorisation does not
// pivot between blocks: what is left of the equations is looked at, and corrected once.
#include "solver/newton_system.hpp"

#include <algorithm>
#include <cmath>

#include "solver/one_contact_kernel.hpp"

namespace orthant::internal {
namespace {

constexpr double kGoodSolve = 1e-7;  // relative error of a Newton direction that will do

}  // namespace

void NewtonSystem::build(const CanonicalProblem& p, const ProblemScale& scale) {
  scaled_.build(p, scale);
  jacobian_ = scaled_.W;
  block_lu_.analyze(jacobian_);
}

void NewtonSystem::scale(const Solution& from, VecX& x) const {
  scaled_.scale_impulse(from.lambda, x);
}

void NewtonSystem::unscale(const VecX& x, Solution& to) { scaled_.unscale_impulse(x, to.lambda); }

void NewtonSystem::evaluate(const VecX& x, VecX& y) {
  scaled_.W.multiply(x, y);
  y += scaled_.q;
}

void NewtonSystem::product(const VecX& x, VecX& Wx) { scaled_.W.multiply(x, Wx); }

double NewtonSystem::sweep(double alpha, const VecX& centre, VecX& x) {
  double change = 0;
  for (Index c = 0; c < scaled_.W.row_block_count(); ++c) {
    const ScaledBlock& b = scaled_.blocks[static_cast<std::size_t>(c)];
    const int dim = b.law.dim;
    double A[kMaxLawDim * kMaxLawDim], q[kMaxLawDim], own[kMaxLawDim];
    scaled_.W.multiply_row(c, x.data(), q);
    const double* W = scaled_.W.values(c) + b.diagonal;
    std::copy(W, W + dim * dim, A);
    for (int i = 0; i < dim; ++i) {
      own[i] = x[b.at + i];
      q[i] += scaled_.q[b.at + i] - alpha * centre[b.at + i];
      for (int j = 0; j < dim; ++j) q[i] -= A[i * dim + j] * x[b.at + j];
      A[i * dim + i] += alpha;
    }
    (void)solve_one_block(b.law, A, q, own);
    for (int i = 0; i < dim; ++i) {
      if (!std::isfinite(own[i])) own[i] = 0;
      change = std::max(change, std::abs(own[i] - x[b.at + i]));
      x[b.at + i] = own[i];
    }
  }
  return change;
}

/// Rows of block c of X + Y (W + α I).
void NewtonSystem::set_block(Index c, const BlockJacobian& D, double alpha) {
  const ScaledBlock& b = scaled_.blocks[static_cast<std::size_t>(c)];
  const int dim = b.law.dim;
  double* J = jacobian_.values(c);
  double* own = J + b.diagonal;
  const double* W = scaled_.W.values(c);
  for (const auto& entry : scaled_.W.entries(c)) {
    const Index width = entry.width;
    for (int i = 0; i < dim; ++i) {
      double* row = J + i * width;
      std::fill(row, row + width, 0.0);
      for (int k = 0; k < dim; ++k) {
        const double f = D.Y[i * dim + k];
        if (f == 0) continue;
        for (Index j = 0; j < width; ++j) row[j] += f * W[k * width + j];
      }
    }
    J += static_cast<std::ptrdiff_t>(dim) * width;
    W += static_cast<std::ptrdiff_t>(dim) * width;
  }
  for (int i = 0; i < dim * dim; ++i) own[i] += D.X[i] + alpha * D.Y[i];
}

bool NewtonSystem::solve(const VecX& R, VecX& d, double& work) {
  work += block_lu_.flops();
  if (!block_lu_.factorize(jacobian_)) return false;
  block_lu_.solve(R, d);
  const double size = R.norm();
  for (int round = 0; round < 2; ++round) {
    error_ = R;
    jacobian_.multiply_add(-1, d, error_);
    const double left = error_.norm();
    if (left <= kGoodSolve * size) return true;
    if (!(left <= 0.1 * size)) break;
    block_lu_.solve(error_, correction_);
    d += correction_;
  }
  return false;
}

}  // namespace orthant::internal
