// SPDX-License-Identifier: Apache-2.0
// math/tree_cholesky.hpp: H = L Lᵀ where the velocity blocks of H couple as a forest, as springs
// and dampers along the joints of a robot do. From the leaves to the roots nothing fills in:
//
//   L_i L_iᵀ = H_ii,   W_i = L_i⁻¹ H_ip,   H_pp −= W_iᵀ W_i     (p the parent of i)
//
// Work and memory are linear in the blocks. Private to the room.
#pragma once

#include <vector>

#include "orthant/math/velocity_matrix.hpp"

namespace orthant {

class TreeCholesky {
 public:
  /// For the pattern of a sparse H; false where its blocks do not couple as a forest.
  bool analyze(const VelocityMatrix& H);
  /// H symmetric, its pattern the one analysed. False where it is not positive definite.
  bool factorize(const VelocityMatrix& H);
  /// x = H⁻¹ x
  void solve(VecX& x) const;
  /// x·H⁻¹x = |L⁻¹x|²; overwrites x. Costs nothing for blocks where neither x nor what comes below
  /// them in the tree is other than zero.
  double inverse_square(VecX& x) const;
  /// Multiply-adds of one solve.
  double solve_work() const { return 2.0 * static_cast<double>(values_.size()); }

 private:
  void solve_lower(VecX& x) const;

  struct Node {
    Index begin, size;             // of the block's velocities
    Index parent;                  // its node; kNone: a root
    std::size_t diagonal, across;  // in values_: size x size, and size x parent's size
  };
  std::vector<Node> nodes_;   // by block
  std::vector<Index> order_;  // leaves before their parents
  std::vector<Index> block_of_;
  std::vector<std::size_t> place_;  // of every stored number of H; kUnused: not read
  std::vector<double> values_;
};

}  // namespace orthant
