// SPDX-License-Identifier: Apache-2.0
// solver/velocity_newton.cpp: the Newton steps of a VelocitySpace: pattern, blocks, factor, solve.
#include <algorithm>

#include "solver/small_dense.hpp"
#include "solver/velocity_space.hpp"

namespace orthant::internal {

/// Pattern of the matrix, and where the product of two entries of a block goes.
void VelocitySpace::prepare_matrix() {
  const std::size_t count = block_begin_.size() - 1;
  if (neighbours_.size() < count) neighbours_.resize(count);
  for (std::size_t i = 0; i < count; ++i) neighbours_[i].assign(1, static_cast<Index>(i));
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    for (const Entry* a = begin_of(c); a != end_of(c); ++a) {
      for (const Entry* b = begin_of(c); b != end_of(c); ++b) {
        if (a->block != b->block) neighbours_[a->block].push_back(b->block);
      }
    }
  }
  matrix_.clear();
  block_place_.resize(count);
  const auto size_of = [&](Index i) { return block_begin_[i + 1] - block_begin_[i]; };
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<Index>& list = neighbours_[i];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    matrix_.begin_row(size_of(static_cast<Index>(i)));
    for (const Index j : list) matrix_.add(j, block_begin_[j], size_of(j));
  }
  const double* first = matrix_.all_values().data();
  place_.clear();
  const auto find = [&](Index i, Index j) {
    return static_cast<std::size_t>(matrix_.find(i, j) - first);
  };
  for (std::size_t i = 0; i < count; ++i)
    block_place_[i] = find(static_cast<Index>(i), static_cast<Index>(i));
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    for (const Entry* a = begin_of(c); a != end_of(c); ++a) {
      for (const Entry* b = begin_of(c); b != end_of(c); ++b)
        place_.push_back(find(a->block, b->block));
    }
  }
  lu_.analyze(matrix_);
  T_.resize(W_.size());
  S_.resize(W_.size());
  idle_.resize(blocks_.size());
  prepared_ = true;
}

double VelocitySpace::factor_work() {
  if (!prepared_) prepare_matrix();
  return lu_.flops();
}

void VelocitySpace::set_block(Index c, const BlockJacobian& jacobian, double alpha) {
  if (!prepared_) prepare_matrix();
  const ScaledBlock& block = blocks_[c];
  const int n = block.law.dim;
  const double *X = jacobian.X, *Y = jacobian.Y, *F = F_.data() + block.diagonal;
  double *T = T_.data() + block.diagonal, *S = S_.data() + block.diagonal;
  bool idle = true;
  for (int i = 0; i < n * n; ++i) {
    T[i] = X[i] + alpha * Y[i];
    idle = idle && Y[i] == 0;
  }
  if (compliant_) {
    for (int i = 0; i < n; ++i) {
      for (int k = 0; k < n; ++k) {
        for (int j = 0; j < n; ++j) T[i * n + j] += Y[i * n + k] * F[k * n + j];
      }
    }
  }
  if (!invert(T, n)) std::fill(T, T + n * n, 0.0);  // the block stays where it is
  std::fill(S, S + n * n, 0.0);
  idle_[static_cast<std::size_t>(c)] = idle;
  for (int i = 0; !idle && i < n; ++i) {
    for (int k = 0; k < n; ++k) {
      for (int j = 0; j < n; ++j) S[i * n + j] += T[i * n + k] * Y[k * n + j];
    }
  }
}

bool VelocitySpace::factorize() {
  double* values = matrix_.all_values().data();
  std::fill(values, values + matrix_.all_values().size(), 0.0);
  const double* h = H_.data();
  for (std::size_t i = 0; i + 1 < block_begin_.size(); ++i) {
    const Index n = block_begin_[i + 1] - block_begin_[i];
    double* out = values + block_place_[i];
    for (Index t = 0; t < n * n; ++t) out[t] += h[t];
    h += n * n;
  }
  const std::size_t* place = place_.data();
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const Entry *begin = begin_of(c), *end = end_of(c);
    const std::size_t* own = place;
    place += (end - begin) * (end - begin);
    if (idle_[c]) continue;
    const int dim = blocks_[c].law.dim;
    const double* S = S_.data() + blocks_[c].diagonal;
    double SJ[kMaxLawDim * kMaxVelocityBlock];
    for (const Entry* b = begin; b != end; ++b) {
      const double* J = J_.data() + b->at;
      const Index width = b->width;
      for (int r = 0; r < dim; ++r) {
        double* row = SJ + r * width;
        std::fill(row, row + width, 0.0);
        for (int k = 0; k < dim; ++k) {
          const double f = S[r * dim + k];
          for (Index j = 0; j < width; ++j) row[j] += f * J[k * width + j];
        }
      }
      for (const Entry* a = begin; a != end; ++a) {
        double* out = values + own[(a - begin) * (end - begin) + (b - begin)];
        const double* Ja = J_.data() + a->at;
        for (Index i = 0; i < a->width; ++i) {
          for (int r = 0; r < dim; ++r) {
            const double f = Ja[r * a->width + i];
            for (Index j = 0; j < width; ++j) out[i * width + j] += f * SJ[r * width + j];
          }
        }
      }
    }
  }
  return lu_.factorize(matrix_);
}

void VelocitySpace::solve(const VecX* r, const VecX& R, VecX& dv, VecX& dx) {
  dx.resize(rows());
  right_.setZero(velocities());
  if (r != nullptr) right_ -= *r;
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    const ScaledBlock& block = blocks_[c];
    const int n = block.law.dim;
    double t[kMaxLawDim] = {}, minus[kMaxLawDim];
    for (int i = 0; i < n; ++i) minus[i] = -R[block.at + i];
    add_product(T_.data() + block.diagonal, n, n, minus, t);
    for (int i = 0; i < n; ++i) dx[block.at + i] = t[i];
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_transposed(J_.data() + e->at, n, e->width, t, right_.data() + e->column);
  }
  lu_.solve(right_, dv);
  for (std::size_t c = 0; c < blocks_.size(); ++c) {
    if (idle_[c]) continue;
    const ScaledBlock& block = blocks_[c];
    const int n = block.law.dim;
    double u[kMaxLawDim] = {};
    for (const Entry* e = begin_of(c); e != end_of(c); ++e)
      add_product(J_.data() + e->at, n, e->width, dv.data() + e->column, u);
    for (int i = 0; i < n; ++i) u[i] = -u[i];
    add_product(S_.data() + block.diagonal, n, n, u, dx.data() + block.at);
  }
}

}  // namespace orthant::internal
