// SPDX-License-Identifier: Apache-2.0
// solver/separable_newton.hpp: Newton's method on a complementarity function, entry by entry.
//
//   MinMap    Φ_i = a_i − clamp(a_i − b_i, lo_i, hi_i)
//   Fischer   Φ_i = a_i + b_i − √(a_i² + b_i²)      (nested for two bounds, Billups 1995)
//
// with a = λ/σ, b = σ w, σ² = τ: both have unit scale. Semismooth Newton with a line search on |Φ|,
// a Levenberg–Marquardt step where the Jacobian is singular or its step is no descent.
// Quadratic at a regular solution; no proof of getting there.
#pragma once

#include <memory>

#include "orthant/solver/method.hpp"

namespace orthant {

enum class ComplementarityFunction : std::uint8_t { MinMap, Fischer };

struct SeparableNewtonSettings {
  ComplementarityFunction function = ComplementarityFunction::MinMap;
  int max_iterations = 200;  ///< used when the limits give no number
  int memory = 4;          ///< the line search may rise above the last |Φ|, not above the last four
  Index dense_rows = 160;  ///< up to this size dense LU, beyond sparse
};

class SeparableNewtonWorkspace {
 public:
  SeparableNewtonWorkspace();
  ~SeparableNewtonWorkspace();
  SeparableNewtonWorkspace(SeparableNewtonWorkspace&&) noexcept;
  SeparableNewtonWorkspace& operator=(SeparableNewtonWorkspace&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// p must be local and its laws separable.
MethodResult solve_separable_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                    const SeparableNewtonSettings& settings,
                                    const MethodLimits& limits, SeparableNewtonWorkspace& work,
                                    Solution& x);

}  // namespace orthant
