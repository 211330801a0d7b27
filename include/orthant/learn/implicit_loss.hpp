// SPDX-License-Identifier: Apache-2.0
// learn/implicit_loss.hpp: a measured transition (q, v) → v' => how far it is from the laws, and
// the derivative of that by parameters. No simulation.
//
//   L = min over γ, λ ∈ K of  ½ |H v' − k − Cᵀγ − Dᵀλ|²_{H⁻¹}      prediction
//                           + λ·(w⁺ + μ|w_t| e_n),  w = D v' + b     complementarity, dissipation
//       + ½ Σ τ (w_n⁻)²                                             penetration
//
// The problem (H, C, D, k, e, b) is that of the step, assembled at (q, v); w is taken at the
// measured v', so the inner problem is a convex quadratic one over the friction cones. All terms
// are energies [J]; L = 0 exactly where v' solves the step. The envelope theorem gives the
// derivative: that of the terms with γ, λ held (tangential impulses as μ times a vector, so that
// the cone is the same for every μ). After Pfrommer, Halm, Posa, ContactNets (2020).
#pragma once

#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/learn/trajectory.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

struct ImplicitWeights {
  double complementarity = 1;  ///< of λ_n w_n⁺
  double dissipation = 1;      ///< of λ_t·w_t + μ λ_n |w_t|
  double penetration = 1;
  double regularisation = 1e-9;  ///< of the trace of N, added to its diagonal
  int max_iterations = 500;      ///< of the inner problem
  double tolerance = 1e-6;       ///< of the inner problem: projected gradient, of its linear term
};

/// What one transition says.
struct TransitionLoss {
  double value = 0;                                                              ///< [J]
  double prediction = 0, complementarity = 0, dissipation = 0, penetration = 0;  ///< its parts
  double unexplained = 0;  ///< prediction without any impulse, contacts being near
  Index contacts = 0;      ///< candidates
  Index pushing = 0;       ///< with an impulse
  Index sliding = 0;       ///< pushing, at the border of the cone
};

class ImplicitLoss {
 public:
  /// `parameters`: places in Parameters::values to differentiate by. Throws Error for the friction
  /// pyramid.
  ImplicitLoss(const Model& model, const StepSettings& settings, std::vector<Index> parameters,
               const ImplicitWeights& weights = {});
  ~ImplicitLoss();
  ImplicitLoss(ImplicitLoss&&) noexcept;

  /// Loss of (q, v) → v_next over h; `gradient`, where not null, gets one number per parameter.
  TransitionLoss operator()(const Parameters& parameters, const VecX& q, const VecX& v,
                            const VecX& v_next, double t, double h, double* gradient);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orthant
