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

#include "orthant/solver/interior_point.hpp"

namespace orthant::internal {

struct PairNewtonSettings {
  int max_iterations = 400;  ///< factorisations
  double proximal = 1e-3;    ///< σ of the first round, beside a unit diagonal of N
  double shrink = 0.1;       ///< of σ from round to round
  double least_proximal =
      1e-5;                     ///< x is known to rounding/σ; more rounds do what a smaller σ would
  double tiny_proximal = 1e-8;  ///< below it σ never falls
  double settled = 1e-9;        ///< |φ'| beside that of the round's start that ends the round,
  double rounding = 1e-10;      ///< or beside |H u|
  int max_roots = 40, max_rounds = 200, max_passes = 400;  ///< ends of loops that end by themselves
  int idle_rounds = 3;       ///< with one factor, before σ falls below its usual least
  double near_start = 1e-2;  ///< residual of a start from which rounds come first,
  int near_iterations = 25;  ///< and their factorisations
  int end_iterations = 100;  ///< of rounds that end the interior path
  int max_interior = 60;     ///< steps of that path
  double judge_below =
      1e-3;  ///< μ from which on the judge is asked, beside the deepest rate squared
  double sets_known = 1e-8;  ///< μ at which the rows that push are known as a rule
  /// Impulses at its start, beside the deepest rate. In a packing they grow towards its middle by
  /// the square of the bodies across; from 1 to 1000 the number of steps differs by two.
  double start_impulse = 100;
  InteriorPointSettings path = {.to_boundary = 0.99};
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
