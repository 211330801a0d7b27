// SPDX-License-Identifier: Apache-2.0
// math/velocity_matrix.cpp: the three forms of H.
#include "orthant/math/velocity_matrix.hpp"

#include <type_traits>
#include <utility>

namespace orthant {

double* VelocityMatrix::add_block(Index n) {
  offset_.push_back(offset_.back() + n);
  const std::size_t size = static_cast<std::size_t>(n) * n;
  values_.resize(values_.size() + size, 0.0);
  value_begin_.push_back(static_cast<std::int64_t>(values_.size()));
  return values_.data() + values_.size() - size;
}

void VelocityMatrix::clear() {
  if (kind_ == Kind::Sparse) sparse_ = {};  // an assignment allocates: not in every step
  kind_ = Kind::BlockDiagonal;
  offset_.resize(1);
  value_begin_.resize(1);
  values_.clear();
  operator_.reset();
}

VelocityMatrix VelocityMatrix::sparse(SparseMatrix H, std::vector<Index> offsets) {
  VelocityMatrix m;
  m.kind_ = Kind::Sparse;
  m.sparse_.swap(H);  // Eigen 3.4 has no move assignment here
  m.sparse_.makeCompressed();
  m.offset_ = std::move(offsets);
  return m;
}

SparseMatrix& VelocityMatrix::reset_sparse(Index rows, Index nonzeros,
                                           std::span<const Index> offsets) {
  kind_ = Kind::Sparse;
  offset_.assign(offsets.begin(), offsets.end());
  values_.clear();
  value_begin_.resize(1);
  operator_.reset();
  if (sparse_.rows() != rows || sparse_.cols() != rows) sparse_.resize(rows, rows);
  sparse_.makeCompressed();
  sparse_.resizeNonZeros(nonzeros);
  return sparse_;
}

VelocityMatrix VelocityMatrix::from_operator(std::shared_ptr<const VelocityOperator> H,
                                             std::vector<Index> offsets) {
  VelocityMatrix m;
  m.kind_ = Kind::Operator;
  m.operator_ = std::move(H);
  m.offset_ = std::move(offsets);
  return m;
}

bool VelocityMatrix::is_symmetric() const {
  if (kind_ == Kind::Sparse) {
    // Column by column; entry (i, j), j < i, is the next one above the diagonal of column i.
    std::vector<Index> next(sparse_.outerIndexPtr(), sparse_.outerIndexPtr() + sparse_.cols());
    const Index *outer = sparse_.outerIndexPtr(), *inner = sparse_.innerIndexPtr();
    const double* a = sparse_.valuePtr();
    for (Index j = 0; j < sparse_.cols(); ++j) {
      Index at = next[j];
      if (at < outer[j + 1] && inner[at] < j) return false;  // a mirror entry is missing
      if (at < outer[j + 1] && inner[at] == j) ++at;
      for (; at < outer[j + 1]; ++at) {
        const Index i = inner[at], across = next[i]++;
        if (across == outer[i + 1] || inner[across] != j || a[across] != a[at]) return false;
      }
    }
    return true;
  }
  if (kind_ == Kind::Operator) return true;
  for (Index i = 0; i < block_count(); ++i) {
    const Index n = block_size(i);
    const double* a = block(i);
    for (Index r = 0; r < n; ++r) {
      for (Index c = 0; c < r; ++c) {
        if (a[r * n + c] != a[c * n + r]) return false;
      }
    }
  }
  return true;
}

void VelocityMatrix::multiply(const VecX& v, VecX& y) const {
  switch (kind_) {
    case Kind::Sparse:
      y.noalias() = sparse_ * v;
      return;
    case Kind::Operator:
      operator_->multiply(v, y);
      return;
    case Kind::BlockDiagonal:
      break;
  }
  y.resize(rows());
  for (Index i = 0; i < block_count(); ++i) {
    const Index at = block_begin(i);
    const double *a = block(i), *x = v.data() + at;
    double* out = y.data() + at;
    const auto product = [&](auto n) {
      for (Index r = 0; r < n; ++r) {
        double s = 0;
        for (Index c = 0; c < n; ++c) s += a[r * n + c] * x[c];
        out[r] = s;
      }
    };
    if (block_size(i) == 6)
      product(std::integral_constant<Index, 6>());
    else
      product(block_size(i));
  }
}

}  // namespace orthant
