// SPDX-License-Identifier: Apache-2.0
// solver/velocity_space.hpp: problem with block-diagonal H => scaled rows by block, for sweeps that
// keep the velocities up to date.
//
//   v = v_free + H⁻¹ Jᵀ x,   y = J v + F x + b,   J = S [C; D],   (γ; λ) = f S x,   velocities = f
//   v
//
// J H⁻¹ Jᵀ + F has unit diagonal (normal, tangent and rolling rows apart), y and x have size one.
// N = J H⁻¹ Jᵀ is never formed.
#pragma once

#include <vector>

#include "orthant/math/velocity_solver.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/problem/residual.hpp"
#include "solver/scaled_local.hpp"

namespace orthant::internal {

class VelocitySpace {
 public:
  /// H is block-diagonal and F couples no two blocks.
  static bool fits(const CanonicalProblem& p);

  /// Rows of C first, then those of the laws. Memory is reused, values are not.
  void build(const CanonicalProblem& p, const ProblemScale& scale);

  /// Multiply-adds of one sweep.
  double sweep_work() const {
    return 2.0 * static_cast<double>(J_.all_values().size()) +
           40.0 * static_cast<double>(blocks_.size());
  }

  void scale_impulses(const Solution& from, VecX& x) const;
  void unscale(const VecX& x, const VecX& v, Solution& to) const;
  void free_motion(const VecX& x, VecX& v) const;  ///< v = v_free + H⁻¹Jᵀx

  /// Exact solves of one block after another; v follows x.
  void sweep(VecX& x, VecX& v) const;

 private:
  void find_squares(const CanonicalProblem& p);
  void find_scales(const CanonicalProblem& p, const ProblemScale& scale);

  std::vector<ScaledBlock> blocks_;  // `diagonal`: place of the block's square in those below
  BlockRows J_, K_;                  // K = J H⁻¹
  std::vector<double> F_, W_;        // squares: compliance; J H⁻¹ Jᵀ + F
  bool compliant_ = false;           // some F is not zero
  VecX row_scale_, b_, v_free_;
  double force_ = 1;
  VelocitySolver inverse_;
};

}  // namespace orthant::internal
