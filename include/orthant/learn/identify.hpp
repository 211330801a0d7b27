// SPDX-License-Identifier: Apache-2.0
// learn/identify.hpp: samples of (features d, solution λ) => M and W of 0 <= λ ⊥ Mλ + W d >= 0.
// Rows are independent. Row i minimises Σ λ_i w_i over samples with w_i = M_i λ + W_i d >= 0 (a
// linear program); Σ w_i = number of samples keeps it away from the trivial M = W = 0. The scale of
// a row can never be seen; what else cannot is found from the rows that must vanish (λ_i > 0):
// their null space beyond the solution itself.
#pragma once

#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/learn/linear_program.hpp"
#include "orthant/learn/optimise.hpp"

namespace ORTHANT_EXPORT orthant {

/// Columns are samples.
struct LcpSamples {
  MatX lambda;                             ///< n x samples
  MatX features;                           ///< what q is linear in: (v, u, 1), say
  std::vector<std::string> lambda_names;   ///< for messages; empty: "lambda0" …
  std::vector<std::string> feature_names;  ///< empty: "d0" …
};

struct IdentifyOptions {
  double l1 = 0;            ///< weight of Σ|M| + Σ|W|, over that of complementarity
  double tolerance = 1e-8;  ///< relative singular value that counts as zero
  /// Entries that may differ from zero, n x (n + features); empty: all.
  Eigen::Matrix<bool, Eigen::Dynamic, Eigen::Dynamic> allowed;
};

struct IdentifiedRow {
  double complementarity = 0;  ///< mean of λ_i w_i, mean of w_i being 1: 0 where the row is exact
  double violation = 0;        ///< largest −w_i
  Index tight = 0;             ///< samples with λ_i > 0
  Index freedom = 0;           ///< dimension left open by the samples that must vanish, less scale
  /// Where freedom > 0: what the row may be combined of, entries by name, one string per direction.
  std::vector<std::string> open;
};

struct IdentifiedLcp {
  MatX M, W;
  std::vector<IdentifiedRow> rows;
  bool converged = false;
  /// Always true, and said in the notes: every row may be multiplied by a positive number.
  std::vector<std::string> notes;
};

/// Throws Error for too few samples, sizes that do not fit, λ < 0 or not finite, rows without a
/// single λ_i > 0.
IdentifiedLcp identify_lcp(const LcpSamples& samples, const IdentifyOptions& options = {});

/// Structured: M = Σ c_j M_j, W = Σ c_j W_j with given matrices and unknown c (dyads φφᵀ,
/// couplings, antisymmetric parts). All rows share the one scale.
struct LcpBasis {
  std::vector<MatX> M, W;
};
struct StructuredLcp {
  VecX coefficients;
  MatX M, W;
  double complementarity = 0;
  Index freedom = 0;
  bool converged = false;
};
StructuredLcp identify_structured(const LcpSamples& samples, const LcpBasis& basis, double l1 = 0);

/// Weights of the losses of known friction forces.
struct FrictionLossWeights {
  double prediction = 1, complementarity = 1, sign = 1;
};
/// α₁|x − x̂|² + α₂|λ ∘ x̂|₁ + α₃|max(0, −x̂)|₁, x̂ = A d + G λ, summed over samples; `targets` are the
/// measured x. With λ the friction this is the direct loss, with λ the unused friction the slack
/// loss. Parameters: A then G, row by row. Derivatives: cost and gradient.
CostValue friction_loss(const LcpSamples& samples, const MatX& targets, const VecX& parameters,
                        const FrictionLossWeights& weights = {});

/// Two-level loss of friction μ on transitions v → v' under u of a sliding block (m = g = dt = 1):
///   V(μ) = min over λ >= 0, Mλ + q(μ) >= 0 of (v' − v − u − λ⁺ + λ⁻)² + λᵀ(Mλ + q(μ))
/// `gradient_zero` says that no transition pulls: where μ is too large nothing slides (γ = 0).
/// `slide_weight` w adds w (μ − f)² for transitions that slid, v' ≠ 0, f = ±(λ⁻ − λ⁺) the friction
/// against the motion: it is then on its cone, an answer that sticks costs, and they pull at any μ.
struct BilevelSample {
  double v = 0, u = 0, next = 0;
};
struct BilevelValue {
  double value = 0, gradient = 0;
  double gamma = 0;  ///< largest sliding speed of the inner answers
  bool gradient_zero = false;
  bool converged = false;  ///< all inner problems
};
BilevelValue bilevel_friction(const std::vector<BilevelSample>& samples, double mu,
                              double slide_weight = 0);

struct BilevelFit {
  double mu = 0;
  BilevelValue at;
  int iterations = 0;
  std::string note;  ///< empty, or why μ could not be moved
};
BilevelFit fit_bilevel_friction(const std::vector<BilevelSample>& samples, double start,
                                double upper = 20, double slide_weight = 0);

}  // namespace orthant
