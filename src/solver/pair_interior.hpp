// SPDX-License-Identifier: Apache-2.0
// solver/pair_interior.hpp: frictionless problems from afar, by an interior path.
//
//   H u = Jᵀ x,   w = J u + r,   x_i w_i = μ → 0,   x, w > 0
//
// One factorisation of H + Jᵀ diag(x/w) J a step: predictor and corrector (Mehrotra), then up to
// three more right-hand sides that draw products far from μ back to it, so that the next step may
// be longer (Gondzio). Takes 12 to 20 steps whatever the size and however the rows repeat each
// other; a start near the answer is of no use to it.
#pragma once

#include "math/velocity_system.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/solver/interior_point.hpp"
#include "solver/scaled_rows.hpp"

namespace orthant::internal {

class PairInterior {
 public:
  /// From far inside. Some entry of r must be negative: else u = 0 is the answer. The system is
  /// analysed for p, `rows` are those of p. `impulse`: of every row, beside the deepest rate.
  void start(const CanonicalProblem& p, const ScaledRows& rows, VelocitySystem& system,
             double impulse, const InteriorPointSettings& settings);
  /// One factorisation and the step with it. False when rounding leaves no step to take.
  bool advance();

  const VecX& x() const { return x_; }
  const VecX& slack() const { return w_; }
  double mu() const { return mu_; }      ///< mean product, beside that of the scale
  double work() const { return work_; }  ///< multiply-adds of the last step

 private:
  void find_direction();
  double longest_step() const;
  void centre(double aim);

  const CanonicalProblem* p_ = nullptr;
  const ScaledRows* rows_ = nullptr;
  VelocitySystem* system_ = nullptr;
  InteriorPointSettings settings_;
  std::vector<double> squares_;
  double scale_ = 0, mu_ = 0, work_ = 0;
  VecX u_, x_, w_;
  VecX du_, dx_, dw_, last_du_, last_dx_, last_dw_;
  VecX Hu_, miss_, target_, weight_, push_, right_;
};

}  // namespace orthant::internal
