// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/schur_factor.hpp: the Newton matrix K => its factor in velocity form.
//
//   K = [ A  −Dᵀ ; D  E ],  E in small blocks   =>   S = A + Dᵀ E⁻¹ D,   A = [ H  −Cᵀ ; C  0 ]
//
// The graph of S is that of the velocity blocks: rows that repeat each other only add to the same
// entries, and the analysis of S is kept where rows are added between blocks that already share
// one, as in most rounds of a recursion. Digits of H are lost beside Dᵀ E⁻¹ D at large mass ratios;
// refinement shows it, and the caller goes back to the factor of K.
#pragma once

#include <vector>

#include "solver/interior_point/kkt_factor.hpp"

namespace orthant::interior_point {

class SchurFactor {
 public:
  /// Unknowns of K: `primal` velocities, then others up to `kept`, which stay; then those of E.
  /// Takes the values of D. False where E has no small blocks.
  bool analyze(const SparseMatrix& K, Index primal, Index kept, bool symmetric);
  bool factorize(const SparseMatrix& K);
  void solve(const VecX& rhs, VecX& x);

  double flops() const { return factor_.flops(); }
  double nonzeros() const { return factor_.nonzeros() + 2.0 * static_cast<double>(D_.size()); }

 private:
  struct Block {
    Index row, size;                      // in E
    std::size_t columns, D, inverse, to;  // where each begins
  };
  bool find_blocks(const SparseMatrix& K);
  void find_pattern(const SparseMatrix& K);
  Index width(std::size_t b) const {
    return static_cast<Index>(blocks_[b + 1].columns - blocks_[b].columns);
  }

  Index kept_ = 0;
  std::vector<Block> blocks_;   // and one more behind the last
  std::vector<Index> columns_;  // of A that a block meets
  std::vector<double> D_, inverse_, product_;
  std::vector<Index> to_;           // where the products of a block's columns go in S
  std::vector<Index> from_, into_;  // entries of A: in K, in S
  SparseMatrix S_;
  KktFactor factor_;
  std::vector<Index> place_, count_, user_;  // scratch
  VecX right_, solved_;
};

}  // namespace orthant::interior_point
