// SPDX-License-Identifier: Apache-2.0
// solver/pair_blocks.hpp: frictionless problems with several rows per pair of bodies, matrix-free.
//
//   min ½ λᵀNλ + rᵀλ,  λ >= 0;   G = the blocks of N that belong to one pair of bodies
//
// The rows a recursion adds to a pair are nearly parallel to those it has, and that, not the
// packing, makes N ill-conditioned. All rows of a pair are therefore one block: steps, projections
// and preconditioning are taken in the metric G, in which such rows are no harder than one.
#pragma once

#include "base/scratch.hpp"
#include "orthant/solver/method.hpp"

namespace orthant {

struct PairBlocksSettings {
  int max_iterations = 20000;
  /// Rows at zero come in once the square of what they want is above one part in so many of that of
  /// the rows that push: a few that come in late cost all of the iterations made without them.
  double release = 1000;
  double regularise = 1e-10;  ///< of the blocks' diagonals
  int judge_every = 25;       ///< iterations between two looks by the judge
  // working_set.hpp
  Index many_rows = 2000;         ///< from here on rows that do not push are left out,
  Index few_push = 3;             ///< as long as at most one row in so many is worked on
  Index small_part = 10;          ///< islands with less than one row in so many are solved at once,
  double first_tolerance = 1e-2;  ///< others to this in the first round
  double sharpen = 0.05;          ///< tolerance of a round beside the residual of the last one
  int max_rounds = 60;
};

/// Rows from which on the members of a team make the iterations of one problem together.
inline constexpr Index kTogetherRows = 4096;

struct PairBlocksWork;
using PairBlocksWorkspace = Scratch<PairBlocksWork>;

/// Orthant laws only, no bilateral rows, F = 0, H block-diagonal.
MethodResult solve_pair_blocks(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairBlocksSettings& settings, const MethodLimits& limits,
                               PairBlocksWorkspace& work, Solution& x);

}  // namespace orthant
