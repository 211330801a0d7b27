// SPDX-License-Identifier: Apache-2.0
// solver/velocity_space.hpp: rigid problem => scaled rows by body, sweeps and Newton steps in
// velocities.
//
//   Ĥ v − Jᵀ x = k,   y = J v + F x + b,   J = S [C; D] V,   (γ; λ) = f S x,   velocities = f V v
//
// Ĥ has unit diagonal, J Ĥ⁻¹ Jᵀ + F too (normal, tangent and rolling rows apart), y and x have size
// one. The Newton equations X dx + Y (dy + α dx) = −R of all blocks are eliminated block by block,
//
//   (Ĥ + Jᵀ T⁻¹ Y J) dv = −r − Jᵀ T⁻¹ R,   T = X + Y (F + α),   dx = −T⁻¹ (R + Y J dv),
//
// which leaves six rows per body however many contacts it has; N = J Ĥ⁻¹ Jᵀ is never formed.
#pragma once

#include <vector>

#include "math/block_lu.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"
#include "solver/projection_residual.hpp"
#include "solver/scaled_local.hpp"

namespace orthant::internal {

class VelocitySpace {
 public:
  /// H is block-diagonal and F couples no two blocks.
  static bool fits(const CanonicalProblem& p);

  /// Rows of C first, then those of the laws; rows of separable laws are blocks of their own.
  /// Memory is reused, values are not.
  void build(const CanonicalProblem& p, const ProblemScale& scale);

  Index rows() const { return static_cast<Index>(row_scale_.size()); }
  Index velocities() const { return static_cast<Index>(velocity_scale_.size()); }
  const std::vector<ScaledBlock>& blocks() const { return blocks_; }
  bool compliant() const { return compliant_; }  ///< F is not zero
  /// Multiply-adds of one product with J and Jᵀ.
  double product_work() const { return 2.0 * static_cast<double>(J_.size()); }
  double sweep_work() const { return product_work() + 40.0 * static_cast<double>(blocks_.size()); }

  // --- answers in and out ---
  void scale_impulses(const Solution& from, VecX& x) const;
  void scale_velocities(const Solution& from, VecX& v) const;
  void unscale_impulses(const VecX& x, Solution& to) const;
  void unscale_velocities(const VecX& v, Solution& to) const;

  // --- what the problem says at a point ---
  void free_motion(const VecX& x, VecX& v) const;              ///< v = Ĥ⁻¹(k + Jᵀx)
  void relative(const VecX& v, const VecX& x, VecX& y) const;  ///< y = J v + F x + b
  void product(const VecX& x, VecX& Wx) const;                 ///< (J Ĥ⁻¹ Jᵀ + F) x
  void balance(const VecX& v, const VecX& x, VecX& r) const;   ///< Ĥ v − Jᵀx − k

  /// Exact solves of one block after another, with α (x − centre) added to y where centre is not
  /// null; v follows x. Returns the largest change of x.
  double sweep(double alpha, const VecX* centre, VecX& x, VecX& v) const;

  // --- Newton steps ---
  void set_block(Index c, const BlockJacobian& jacobian, double alpha);
  /// After set_block() of every block. False when singular.
  bool factorize();
  /// dv, dx of the linear equations with right-hand sides −r (null: zero) and −R.
  void solve(const VecX* r, const VecX& R, VecX& dv, VecX& dx);
  double factor_work();  ///< multiply-adds of factorize()

 private:
  struct Entry {
    Index block, column, width;
    std::size_t at;  // of dim x width values in J_ and K_
  };

  void add_rows(const BlockRows& A, Index c, const Law& law, Index at);
  void find_scales(const CanonicalProblem& p, const ProblemScale& scale);
  void prepare_matrix();
  const Entry* begin_of(std::size_t c) const { return entries_.data() + entry_begin_[c]; }
  const Entry* end_of(std::size_t c) const { return entries_.data() + entry_begin_[c + 1]; }

  std::vector<ScaledBlock> blocks_;  // `diagonal`: place of the block's square in those below
  std::vector<std::size_t> entry_begin_;
  std::vector<Entry> entries_;
  std::vector<double> J_, K_;        // rows of J and of (Ĥ⁻¹ Jᵀ)ᵀ
  std::vector<double> F_, W_;        // squares: compliance; J Ĥ⁻¹ Jᵀ + F
  std::vector<double> T_, S_;        // squares: T⁻¹ and T⁻¹ Y of the Newton step
  std::vector<unsigned char> idle_;  // T⁻¹ Y vanishes: the block is apart
  bool compliant_ = false;           // some F is not zero
  VecX row_scale_, velocity_scale_, b_, v_free_;
  double force_ = 1;
  VelocitySolver inverse_;
  std::vector<double> H_;  // scaled blocks, one after another
  std::vector<Index> block_begin_;

  bool prepared_ = false;
  BlockRows matrix_;  // block by block
  std::vector<std::size_t> place_,
      block_place_;  // of each pair of entries, of each velocity block alone
  std::vector<std::vector<Index>> neighbours_;
  BlockLu lu_;
  VecX right_;
  mutable VecX velocity_;
};

}  // namespace orthant::internal
