// SPDX-License-Identifier: Apache-2.0
// math/supernodal.hpp: P A Pᵀ = L U for A with a symmetric pattern, in dense panels, no pivoting.
// Serves LDLᵀ (U = D Lᵀ, only L kept) and the LU of matrices that are unsymmetric in value only.
//
// Columns with the same rows below them form a supernode: a panel of `rows` x `width` numbers.
// Left-looking: a panel receives the products of the earlier panels that reach it, then is
// factorised by itself. The ordering, the panels and the place of every entry of A are found once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orthant/math/factorisation.hpp"

namespace orthant {

/// Order of elimination: order[new] = old. `begin`, `neighbours`: the graph without loops.
std::vector<Index> elimination_order(const std::vector<Index>& begin,
                                     const std::vector<Index>& neighbours, Ordering ordering);

class Supernodal {
 public:
  /// Symmetric: reads the upper triangle. Else: all of A; a missing mirror entry counts as zero.
  void analyze(const SparseMatrix& A, bool symmetric, Ordering ordering);
  bool factorize(const SparseMatrix& A, const std::vector<signed char>& signs, double pivot_floor);
  void solve(const VecX& b, VecX& x) const;
  void solve_transpose(const VecX& b, VecX& x) const;

  int replaced_pivots() const { return replaced_; }
  double flops() const { return flops_; }
  std::int64_t nonzeros() const { return nonzeros_; }

 private:
  Index width(Index s) const { return first_[s + 1] - first_[s]; }
  Index height(Index s) const { return static_cast<Index>(row_begin_[s + 1] - row_begin_[s]); }
  const Index* rows(Index s) const { return rows_.data() + row_begin_[s]; }
  double* lower(Index s) { return values_.data() + panel_[s]; }
  const double* lower(Index s) const { return values_.data() + panel_[s]; }
  /// Uᵀ below the diagonal block, (height − width) x width; unsymmetric only.
  double* upper(Index s) { return lower(s) + static_cast<std::ptrdiff_t>(height(s)) * width(s); }
  const double* upper(Index s) const {
    return lower(s) + static_cast<std::ptrdiff_t>(height(s)) * width(s);
  }

  void build_graph(const SparseMatrix& A);
  void eliminate_symbolically(Ordering ordering);
  void find_supernodes();
  void list_rows();
  void place_entries(const SparseMatrix& A);
  std::int64_t place(Index row, Index column) const;
  void apply_update(Index from, Index to);
  bool factor_panel(Index s, const std::vector<signed char>& signs, double pivot_floor);
  bool accept_pivot(Index column, const std::vector<signed char>& signs, double pivot_floor,
                    double& pivot);
  void solve_with(bool transpose, VecX& x) const;

  bool symmetric_ = true;
  Index size_ = 0;
  std::vector<Index> begin_, neighbours_;  // graph of A + Aᵀ
  std::vector<Index> order_, inverse_;     // new → old, old → new
  std::vector<Index> parent_, count_;      // elimination tree, entries below the diagonal of L
  std::vector<Index> first_, member_;      // supernode → first column; column → supernode
  std::vector<std::int64_t> row_begin_, panel_;
  std::vector<Index> rows_;
  std::vector<std::int64_t> place_;  // entry of A → its place in values_, −1: not read
  std::vector<double> values_, row_scale_, diagonal_;
  std::vector<Index> head_, next_;     // panels waiting to update a supernode
  std::vector<std::int64_t> reached_;  // how far into its rows a panel has updated
  std::vector<Index> local_;           // row → its index in the panel at hand
  std::vector<double> product_, packing_;
  mutable VecX work_;
  int replaced_ = 0;
  double flops_ = 0;
  std::int64_t nonzeros_ = 0;
};

}  // namespace orthant
