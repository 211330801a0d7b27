// SPDX-License-Identifier: Apache-2.0
// solver/ending.hpp: what is left to spend, when an iteration stops, and how that is called; the
// same for every method.
#pragma once

#include <algorithm>
#include <cmath>

#include "orthant/solver/method.hpp"

namespace orthant::internal {

/// What may be spent after `work` of it.
inline MethodLimits less(MethodLimits limits, double work) {
  if (limits.work_limit > 0) limits.work_limit = std::max(limits.work_limit - work, 1.0);
  return limits;
}

/// The tolerance is reached, or nothing is left to spend.
inline bool has_ended(const MethodResult& result, const MethodLimits& limits, int max_iterations) {
  return result.residual <= limits.tolerance || result.iterations >= max_iterations ||
         limits.exhausted(result.work);
}

/// How a run that stopped is called.
inline Outcome outcome_of(const MethodResult& result, const MethodLimits& limits,
                          int max_iterations) {
  return result.residual <= limits.tolerance   ? Outcome::Converged
         : limits.exhausted(result.work)       ? Outcome::WorkLimit
         : result.iterations >= max_iterations ? Outcome::IterationLimit
         : std::isfinite(result.residual)      ? Outcome::Stalled
                                               : Outcome::NotFinite;
}

}  // namespace orthant::internal
