// SPDX-License-Identifier: Apache-2.0
// solver/island_lots.hpp: all islands of a problem, by threads and over a team.
#pragma once

#include <span>

#include "solver/island.hpp"

namespace orthant::internal {

/// The sum over the islands.
struct IslandTotals {
  Outcome outcome = Outcome::Converged;  // of the hardest: one that failed, else the most work
  Method method = Method::Automatic;     // of the hardest
  Index closed_forms = 0;                // islands solved without a method
  double spent = 0, hardest = -1;
  bool judged =
      false;  // the one island is the whole problem, and the judge has just seen its answer
  Residual parts;

  void add(const IslandTotals& other);
};

/// What x is as a start.
struct Start {
  bool warm;   // the answer of a problem like this one
  bool given;  // the same, or at least its velocities
};

/// One problem while its islands are solved: those of work.split, by the steps of work.scale.
struct Islands {
  const CanonicalProblem& p;
  const VelocitySolver& inverse;
  const SolveSettings& settings;
  MethodLimits limits;
  Start start;
  bool closed_form;  // islands of one block are solved in place
  SolveWorkspace::Impl& work;
  /// By law block: islands without one of these keep the answer they have; empty: all are solved.
  std::span<const unsigned char> fresh = {};

  bool is_lone_block(Index i) const {
    return closed_form && work.split.blocks_of(i).size() == 1 && work.split.joints_of(i).empty();
  }
  bool is_fresh(Index i) const;
};

/// From x into x.
IslandTotals solve_islands(const Islands& islands, Solution& x, SolveReport& report);

}  // namespace orthant::internal
