// SPDX-License-Identifier: Apache-2.0
// math/velocity_matrix.hpp: the matrix H of the balance of impulses, H v = k + Cᵀγ + Dᵀλ.
// Three forms: one dense block per body (rigid bodies), sparse (finite elements, files from
// outside; may be unsymmetric there), or an operator that multiplies and solves (dense mobility).
#pragma once

#include <Eigen/SparseCore>
#include <memory>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

using SparseMatrix = Eigen::SparseMatrix<double, Eigen::ColMajor, Index>;

/// Rows of one dense velocity block at most: a spatial body has 6.
inline constexpr Index kMaxVelocityBlock = 12;

/// H given by what it does. Both calls must be pure and thread-safe.
class VelocityOperator {
 public:
  virtual ~VelocityOperator() = default;
  virtual void multiply(const VecX& v, VecX& y) const = 0;  ///< y = H v
  virtual void solve(const VecX& y, VecX& v) const = 0;     ///< v = H⁻¹ y
};

class VelocityMatrix {
 public:
  enum class Kind : std::uint8_t { BlockDiagonal, Sparse, Operator };

  VelocityMatrix() = default;

  // --- block-diagonal, appended body by body ---
  /// Appends a velocity block; returns its n x n row-major values, zeroed. Symmetric positive
  /// definite unless the caller says otherwise in is_symmetric.
  double* add_block(Index n);
  /// Forgets blocks and values, keeps the memory.
  void clear();

  // --- the other two forms ---
  /// `offsets`: start of each velocity block, then the total.
  static VelocityMatrix sparse(SparseMatrix H, std::vector<Index> offsets);
  static VelocityMatrix from_operator(std::shared_ptr<const VelocityOperator> H,
                                      std::vector<Index> offsets);

  /// Makes this the sparse form with `rows` rows and room for `nonzeros`; the caller writes outer
  /// and inner indices and values of the returned matrix, column by column. Keeps the memory.
  SparseMatrix& reset_sparse(Index rows, Index nonzeros, std::span<const Index> offsets);

  Kind kind() const { return kind_; }
  Index rows() const { return offset_.back(); }
  Index block_count() const { return static_cast<Index>(offset_.size()) - 1; }
  Index block_begin(Index i) const { return offset_[i]; }
  Index block_size(Index i) const { return offset_[i + 1] - offset_[i]; }
  std::span<const Index> offsets() const { return offset_; }

  /// Exact symmetry of the stored values (an operator counts as symmetric).
  bool is_symmetric() const;

  const double* block(Index i) const { return values_.data() + value_begin_[i]; }
  double* block(Index i) { return values_.data() + value_begin_[i]; }
  const SparseMatrix& sparse_matrix() const { return sparse_; }
  const VelocityOperator& op() const { return *operator_; }

  /// All stored numbers: blocks one after another, row-major; or the nonzeros column by column;
  /// none for an operator. The same order as for_each_entry.
  std::span<const double> all_values() const {
    if (kind_ != Kind::Sparse) return values_;
    return {sparse_.valuePtr(), static_cast<std::size_t>(sparse_.nonZeros())};
  }
  /// visit(row, column) for every stored number.
  template <class Visit>
  void for_each_entry(Visit&& visit) const {
    for (Index j = 0; kind_ == Kind::Sparse && j < sparse_.outerSize(); ++j) {
      for (SparseMatrix::InnerIterator it(sparse_, j); it; ++it)
        visit(static_cast<Index>(it.row()), j);
    }
    for (Index i = 0; kind_ == Kind::BlockDiagonal && i < block_count(); ++i) {
      for (Index r = 0; r < block_size(i); ++r) {
        for (Index c = 0; c < block_size(i); ++c) visit(block_begin(i) + r, block_begin(i) + c);
      }
    }
  }

  void multiply(const VecX& v, VecX& y) const;  ///< y = H v

 private:
  Kind kind_ = Kind::BlockDiagonal;
  std::vector<Index> offset_{0};
  std::vector<std::int64_t> value_begin_{0};
  std::vector<double> values_;
  SparseMatrix sparse_;
  std::shared_ptr<const VelocityOperator> operator_;
};

}  // namespace orthant
