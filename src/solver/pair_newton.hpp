// SPDX-License-Identifier: Apache-2.0
// solver/pair_newton.hpp: frictionless problems by factorisations in velocities. Far from the
// answer an interior path (pair_interior.hpp), near it proximal rounds:
//
//   x_{k+1} = argmin over x >= 0 of  ½ xᵀNx + rᵀx + ½ σ |x − x_k|²
//
// Its dual is a smooth convex function of the bodies' motion u alone, quadratic in pieces,
//   φ(u) = ½ uᵀHu + ½ σ |[x_k − (J u + r)/σ]₊|²,   x = [x_k − (J u + r)/σ]₊,   N = J H⁻¹ Jᵀ,
// minimised by Newton steps with the exact length: from any start, in finitely many steps. The
// matrix H + J_Aᵀ J_A/σ has the graph of the bodies, which in the plane factorises in nearly
// linear time; rows that repeat each other only add to the same entries.
#pragma once

#include <memory>

#include "orthant/solver/method.hpp"

namespace orthant::internal {

struct PairNewtonSettings {
  int max_iterations = 400;  ///< factorisations
  double proximal = 1e-3;    ///< σ of the first round, beside a unit diagonal of N
  double shrink = 0.1;       ///< of σ from round to round
  double least_proximal =
      1e-5;  ///< x is known to rounding/σ; more rounds do what a smaller σ would
};

class PairNewtonWorkspace {
 public:
  PairNewtonWorkspace();
  ~PairNewtonWorkspace();
  PairNewtonWorkspace(PairNewtonWorkspace&&) noexcept;
  PairNewtonWorkspace& operator=(PairNewtonWorkspace&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Orthant laws only, no bilateral rows, F = 0, H block-diagonal and symmetric.
MethodResult solve_pair_newton(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairNewtonSettings& settings, const MethodLimits& limits,
                               PairNewtonWorkspace& work, Solution& x);

}  // namespace orthant::internal
