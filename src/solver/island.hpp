// SPDX-License-Identifier: Apache-2.0
// solver/island.hpp: (island, plan) => the best answer and how it was found.
#pragma once

#include "orthant/solver/method.hpp"
#include "orthant/solver/plan.hpp"
#include "solver/workspace.hpp"

namespace orthant {

/// One island while its methods run.
struct IslandRun {
  const CanonicalProblem& p;
  const ProblemScale& scale;
  Index number;
  const SolveSettings& settings;
  MethodLimits limits;  ///< work_limit: what is left
  SolveWorkspace::Impl& work;
  Solution& x;
  SolveReport& report;
  const VelocitySolver* inverse;  ///< of H where that is known; null: reduce() factorises
  bool warm = false;              ///< x is an answer of a problem like this one
  bool given = false;             ///< the same, or at least its velocities

  ProblemTraits traits = {};
  bool tree = false;  ///< bilateral rows between small velocity blocks: Newton in tree order first
  double residual = std::numeric_limits<double>::infinity();  ///< of x
  bool judged = false;  ///< x is as the judge last saw it, and `parts` is what it said
  Residual parts = {};
  bool rejected_start = false;  ///< x is the start and `residual` a part of what it has
  Method method = Method::Automatic;
  Outcome outcome = Outcome::NotFinite;
  double spent = 0;
};

/// From run.x into run.x: λ = 0 where that is the answer, the start where the judge accepts it,
/// else the plan.
void solve_island(IslandRun& run);

}  // namespace orthant
