// SPDX-License-Identifier: Apache-2.0
// solver/working_set.hpp: frictionless problems of which few rows push, as bodies of many small
// spheres have: solved on the rows that push or would overlap, all others only looked at.
#pragma once

#include <memory>

#include "solver/islands.hpp"
#include "solver/pair_blocks.hpp"

namespace orthant::internal {

struct WorkingSetWorkspace {
  CanonicalProblem problem;  ///< the rows worked on
  Solution x, candidate;
  IslandSplit split;                       ///< of `problem`
  std::unique_ptr<SolveWorkspace> solver;  ///< for it, made when first needed
  SolveReport report;
  std::vector<Index> rows;  ///< in the whole problem
  std::vector<char> taken;
  VelocitySolver inverse;
  VecX impulse;
  JudgeWorkspace judge;
};

/// As solve_pair_blocks() in its conjugate form, to the same tolerance over all rows. Ends without
/// an outcome, or stalled, where it is for that to go on: few rows, or most of them push.
MethodResult solve_working_set(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairBlocksSettings& settings, const MethodLimits& limits,
                               WorkingSetWorkspace& work, Solution& x);

}  // namespace orthant::internal
