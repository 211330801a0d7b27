// SPDX-License-Identifier: Apache-2.0
// solver/methods.hpp: the table of methods: where each applies and how a step of a plan runs it.
// A new method: its name in solver/plan.hpp, its workspace in workspace.hpp, a row in methods.cpp,
// its place in plan.cpp.
#pragma once

#include "orthant/solver/method.hpp"
#include "orthant/solver/plan.hpp"

namespace orthant {

/// One step of a plan on one island (or on its reduced form).
struct MethodCall {
  const CanonicalProblem& p;
  const ProblemScale& scale;
  Effort effort;
  const PlanSettings& settings;
  const MethodLimits& limits;
  SolveWorkspace::Impl& work;
  Solution& x;
  bool by_name = false;  ///< the method alone was asked for: nothing runs after it
  bool warm = false;     ///< x is meant as a start
};

struct MethodEntry {
  Method method;
  bool needs_local;  ///< takes the reduced problem
  /// Null when it can run on such a problem, else the reason.
  const char* (*why_not)(const ProblemTraits& traits);
  MethodResult (*run)(const MethodCall& call);
  bool goes_on = true;  ///< started from its own answer it improves it, at a tighter tolerance
  /// The same in velocities (work.space is built); null: there is none.
  MethodResult (*in_velocities)(const MethodCall& call) = nullptr;
};

/// The row of `method`; null for Automatic.
const MethodEntry* find_method(Method method);

}  // namespace orthant
