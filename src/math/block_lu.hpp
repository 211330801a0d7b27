// SPDX-License-Identifier: Apache-2.0
// math/block_lu.hpp: A = L U of a block-sparse matrix, pivoting only inside the diagonal blocks.
// Contact matrices couple small dense blocks and are nearly definite: on them this is several times
// faster than a scalar LU. Stability is not guaranteed: check the residual, fall back to SparseLu.
#pragma once

#include <span>
#include <vector>

#include "orthant/math/block_rows.hpp"

namespace orthant {

class BlockLu {
 public:
  /// Ordering and pattern of the factors for the pattern of A: square, row and column blocks the
  /// same, every diagonal block present. Memory is reused; nothing is done where the pattern is
  /// that of the last call.
  void analyze(const BlockRows& A);
  /// The same with the blocks eliminated in the order given; always analyses.
  void analyze(const BlockRows& A, std::span<const Index> order);
  /// Values on the pattern analysed. Blocks that are zero cost nothing. False when a diagonal block
  /// is singular.
  bool factorize(const BlockRows& A);
  void solve(const VecX& b, VecX& x);
  /// The same in place for many right-hand sides, `columns` numbers per row.
  void solve_many(double* x, Index columns);
  /// x = A⁻ᵀ b
  void solve_transpose(const VecX& b, VecX& x);

  /// Multiply-adds of a factorisation in which no row is skipped; known after analyze().
  double flops() const { return flops_; }

 private:
  struct Entry {
    Index other;        // the other block, in the order of elimination
    bool zero = false;  // of U: all its values vanish
    std::size_t at;     // of its values
  };

  bool same_pattern(const BlockRows& A);
  void order_small(const BlockRows& A);
  void order_large(const BlockRows& A);
  void find_pattern(const BlockRows& A);

  Index count_ = 0;
  std::vector<Index> order_, rank_;  // order_[k]: block eliminated k-th; its inverse
  std::vector<Index> dim_, row_;     // by rank: size of the block, its first row in A
  std::vector<std::size_t> lower_begin_, upper_begin_, diagonal_;
  std::vector<Entry> lower_, upper_;  // by rows, ascending
  std::vector<double> values_;        // of L, of U, and factors of the diagonal blocks
  std::vector<std::size_t> place_;    // scratch: where the blocks of the current row are
  std::vector<double> x_;
  std::vector<Index> pivot_;  // row exchanges inside the diagonal blocks
  double flops_ = 0;

  // The pattern analysed, entry by entry, and scratch of the analysis.
  std::vector<Index> analysed_rows_;
  std::vector<std::size_t> entry_end_;
  std::vector<BlockRows::Entry> analysed_;
  std::vector<std::vector<Index>> pattern_, children_;
};

}  // namespace orthant
