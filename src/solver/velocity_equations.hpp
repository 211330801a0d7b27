// SPDX-License-Identifier: Apache-2.0
// solver/velocity_equations.hpp: a problem in velocities, joints beside them: what the laws say at
// a point, the equations of guessed sets, and Newton steps on them.
//
// With λ = s x, w = y/s and s² the judge's step of a row, the natural map x − Π(x − y) says which
// equations hold in each block (active_set.hpp). Newton on these, on the balance and on the joints,
// a block's dx eliminated, is one system on the graph of the velocity blocks:
//
//   T = X + Y (s F s + α),   dx = −T⁻¹ (R + Y s D dv)
//   [ H + Dᵀ s T⁻¹Y s D   −Cᵀ ] [ dv ]   [ −r_v − Dᵀ s T⁻¹ R ]
//   [ C                    δ  ] [ dγ ] = [ −r_c              ]        (math/velocity_system.hpp)
//
// α and δ make redundant contacts and joints harmless; they multiply steps, not the answer, so
// repeated steps with one factor and the true residuals refine them away. Velocities are unknowns
// of their own, so that mass ratios cost no digits. It is a system of polish_run.hpp.
#pragma once

#include <vector>

#include "math/velocity_system.hpp"
#include "orthant/problem/residual.hpp"
#include "solver/active_set.hpp"

namespace orthant::internal {

class VelocityEquations {
 public:
  /// Velocities come in small blocks and no two blocks of laws are coupled by F.
  static bool fits(const CanonicalProblem& p);
  /// Scales and pattern; p must outlive the use.
  void build(const CanonicalProblem& p, const ProblemScale& scale);

  // --- the point ---
  VecX v, gamma, x;  ///< x scaled
  VecX y, R;         ///< of the laws, scaled
  VecX r_v, r_c;     ///< H v − k − Cᵀγ − Dᵀλ and C v + e
  void load(const Solution& from);
  void store(Solution& to) const;

  // --- laws ---
  const CanonicalProblem& problem() const { return *p_; }
  std::size_t block_count() const { return laws_.size(); }
  const std::vector<Law>& laws() const { return laws_; }  ///< in scaled impulses
  const VecX& scale() const { return scale_; }            ///< s
  const VecX& speed() const { return speed_; }            ///< 1/√H of the velocities
  double size() const { return size_; }                   ///< of the terms of the equations
  /// y = s (D v + F s x + b)
  void find_relative();
  BlockSet set_of(std::size_t c) const {
    return block_set(laws_[c], x.data() + at_[c], y.data() + at_[c]);
  }
  Index at(std::size_t c) const { return at_[c]; }
  double natural_error() const;  ///< |x − Π(x − y)| over all blocks

  // --- equations ---
  void find_residuals();       ///< r_v, r_c
  double joint_error() const;  ///< |r_c|², each row beside what an impulse moves it
  double balance_error() const { return r_v.cwiseProduct(speed_).squaredNorm(); }
  /// Size of the errors of the guessed equations at the point; with the weights of the matrix when
  /// asked for.
  double errors(const std::vector<BlockSet>& sets, bool matrix);
  /// Where a step no longer makes them smaller.
  double rounding() const;
  double proximal() const { return alpha_; }
  /// Below, rounding of the factor decides.
  double least_proximal() const;
  void set_proximal(double alpha);

  // --- matrix ---
  /// s T⁻¹Y s of a block, where errors() is not to choose it.
  double* weight(std::size_t c) { return weights_.data() + square_[c]; }
  void clear_weights() { std::fill(weights_.begin(), weights_.end(), 0.0); }
  bool factorize();
  /// One step from the errors at hand with the factor at hand.
  bool step();
  /// dv, dγ of right-hand sides r and s.
  bool solve(const VecX& r, const VecX& s);
  const VecX& dv() const { return dv_; }
  auto dgamma() const { return solved_.tail(r_c.size()); }

  double product_work() const;
  double factor_work() const { return system_->flops(); }

 private:
  void entry_errors(std::size_t c, EntrySet set, bool matrix);

  const CanonicalProblem* p_ = nullptr;
  VelocitySystem systems_[2];  // a step alternates between two problems: velocities, positions
  VelocitySystem* system_ = systems_;
  std::vector<Law> laws_;
  std::vector<Index> at_, square_;         // of each block: first row, place in arrays of squares
  std::vector<double> inverse_, weights_;  // squares: T⁻¹ and s T⁻¹Y s
  VecX scale_, speed_, mobility_, delta_, impulse_, dx_, right_, solved_, dv_, force_;
  double alpha_ = 0, size_ = 1;
};

}  // namespace orthant::internal
