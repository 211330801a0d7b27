// SPDX-License-Identifier: Apache-2.0
// math/velocity_system.hpp: the linear system of velocities and bilateral impulses, factorised.
//
//   [ H + Σ_c D_cᵀ W_c D_c   −Cᵀ ] [ v ]   [ r ]
//   [ C                       δ  ] [ γ ] = [ s ]
//
// D_c are the rows of one block of laws, W_c a small square (a stiffness; unsymmetric where a
// contact slides), δ > 0 a small diagonal that keeps redundant rows of C harmless; the caller
// refines it away with the true residual. The graph has one vertex per velocity block and one per
// row block of C. A row block of C is eliminated once at most one of its velocity blocks is left:
// its pivot is then C H⁻¹ Cᵀ of those that are gone, never δ alone. Within that rule the order is
// minimum degree, which goes from the leaves of a tree to its root and fills in nothing: work and
// memory are linear in the links. Many blocks without C and with symmetric values are factorised as
// L D Lᵀ in dense panels, all else by a block LU.
#pragma once

#include <span>
#include <vector>

#include "math/block_lu.hpp"
#include "orthant/math/block_rows.hpp"
#include "orthant/math/factorisation.hpp"
#include "orthant/math/velocity_matrix.hpp"

namespace orthant {

class VelocitySystem {
 public:
  /// True where H has entries in blocks small enough: not an operator, at most 16 velocities each,
  /// and likewise the row blocks of C.
  static bool fits(const VelocityMatrix& H, const BlockRows& C);

  /// Order and pattern. Nothing is done where the rows meet the same blocks as in the last call,
  /// little where they connect the same blocks, as rows do that are added to a pair.
  void analyze(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D);
  /// The rows meet the same blocks as in the last call of analyze().
  bool knows(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D) const;

  /// Values on the pattern analysed; does not allocate. `delta`: one per row of C. `weights`: W_c
  /// of every row block of D, dim x dim row-major, one after another; a W_c of zeros costs nothing.
  /// False where a pivot block is singular.
  bool factorize(const VelocityMatrix& H, const BlockRows& C, std::span<const double> delta,
                 const BlockRows& D, std::span<const double> weights);

  /// right = (r; s), x = (v; γ).
  void solve(const VecX& right, VecX& x);
  /// The same with the transposed matrix.
  void solve_transpose(const VecX& right, VecX& x);

  /// Velocity blocks, then row blocks of C, in the order they are eliminated.
  std::span<const Index> order() const { return order_; }
  /// Multiply-adds of one factorisation, and of one solve, roughly.
  double flops() const { return symmetric_ ? ldlt_.flops() : lu_.flops(); }
  double solve_flops() const {
    return 2 * static_cast<double>(symmetric_
                                       ? ldlt_.nonzeros()
                                       : static_cast<std::int64_t>(matrix_.all_values().size()));
  }

 private:
  void find_graph(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D);
  bool same_graph(const VelocityMatrix& H, const BlockRows& C);
  void find_order(const BlockRows& C);
  void find_places(const VelocityMatrix& H, const BlockRows& C, const BlockRows& D);
  std::size_t place_of(Index i, Index j) const;
  void analyze_symmetric(const VelocityMatrix& H);
  void solve_symmetric(const VecX& right, VecX& x);

  Index velocity_blocks_ = 0, bilateral_blocks_ = 0;
  BlockRows matrix_;
  BlockLu lu_;
  std::vector<std::size_t> H_place_;  // of every stored number of H; of blocks where H has these
  std::vector<std::size_t> C_place_;  // of each entry of C, each followed by that across
  std::vector<std::size_t> D_place_;  // of each pair of entries of a row block of D
  std::vector<std::size_t> delta_place_;  // of the diagonal block of each row block of C

  // Symmetric values: the upper triangle in the order of elimination, analysed when first needed.
  bool symmetric_ = false, symmetric_known_ = false;
  SparseLdlt ldlt_;
  SparseMatrix upper_;
  std::vector<std::size_t> upper_place_;  // of each of its numbers in matrix_
  std::vector<Index> row_of_;             // of each row of upper_
  VecX permuted_, solved_;

  // The pattern analysed, and scratch of the analysis.
  std::vector<Index> key_, graph_key_, seen_, block_of_, order_;
  std::vector<std::vector<Index>> graph_, by_degree_;
  std::vector<Index> waits_;  // row blocks of C: velocity blocks that must go first
  std::vector<unsigned char> eliminated_;
};

}  // namespace orthant
