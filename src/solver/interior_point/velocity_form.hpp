// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/velocity_form.hpp: the Newton system with the impulses eliminated block by
// block.
//
//   K = [ H −Cᵀ −Dᵀ ; C δ 0 ; D 0 F + E ]   =>   [ H + Dᵀ(F + E)⁻¹D  −Cᵀ ; C  δ ]
//
// The graph is that of the velocity blocks (math/velocity_system.hpp): rows that repeat each other
// only add to the same entries. Digits of H are lost beside Dᵀ(F + E)⁻¹D at large mass ratios;
// refinement shows it, and the caller goes on with K as it is.
#pragma once

#include <vector>

#include "math/velocity_system.hpp"
#include "orthant/problem/problem.hpp"
#include "solver/interior_point/cone_set.hpp"

namespace orthant::interior_point {

class VelocityForm {
 public:
  /// H is block-diagonal, F couples no two blocks,
  static bool fits(const CanonicalProblem& p);
  /// In unknowns (v, γ, λ) scaled by s; rows of λ with s = 0 are switched off. `proximal`: diagonal
  /// of rows without a cone, `softening`: of those in one, refined away.
  void build(const CanonicalProblem& p, const VecX& s, const ConeSet& cones, double proximal,
             double softening);

  /// r = K u, without the cones' E and the proximal terms unless `newton`.
  void multiply(const VecX& u, bool newton, VecX& r) const;
  /// With the cones' blocks at their scaling. `symmetric`: these blocks are, and F.
  bool factorize(const ConeSet& cones, bool symmetric);
  void solve(const VecX& rhs, VecX& x);

  double flops() const { return system_.flops(); }
  double solve_work() const {
    return 2 * static_cast<double>(H_.all_values().size() + D_.all_values().size());
  }

 private:
  /// out = squares times in, block by block: those of E, `forward`, or of W.
  void apply(const std::vector<double>& squares, bool forward, const double* in, VecX& out) const;

  Index velocities_ = 0, first_ = 0;  // of λ
  VelocityMatrix H_;
  BlockRows C_, D_, F_;
  std::vector<Index> block_of_;  // by row of λ
  std::vector<Index> at_;        // first row of each block
  std::vector<std::size_t> square_;
  const ConeSet* cones_ = nullptr;
  double softening_ = 0;
  std::vector<std::ptrdiff_t> cone_of_;       // the one that is all of F + E in a block, else < 0
  std::vector<double> rest_, E_, W_, delta_;  // F and what is switched off; F + E; its inverses
  VelocitySystem system_;
  VecX right_, solved_, impulse_;
  mutable VecX part_, product_;
};

}  // namespace orthant::interior_point
