// SPDX-License-Identifier: Apache-2.0
// solver/polish.hpp: (problem, approximate answer) => the set each block is in, and an answer that
// solves the equations of that set to rounding. Works on the problem as given, velocities included,
// so that mass ratios cost no digits; takes 1e-4 to 1e-12 in a few factorisations.
#pragma once

#include "base/scratch.hpp"
#include "orthant/solver/method.hpp"

namespace orthant {

struct PolishSettings {
  int max_iterations = 20;  ///< factorisations
  int max_lost = 20;        ///< guesses in a row that lead nowhere
  int max_guesses = 1000;
  bool impatient = false;   ///< guesses that change no fewer blocks than the one before count too
  double proximal = 1e-10;  ///< weight ε that picks the nearest answer among redundant blocks
  double shrink = 1e-6;     ///< of ε, where the sets stay and their equations do not solve
  double lost = 0.1;        ///< the judge's residual of a guess that leads nowhere
  double holds = 100;       ///< tolerances that are left where rounding chooses between two sets
  double slow = 0.1;        ///< what a step with an old factor leaves; more asks for a new one
  double near_rounding = 100;  ///< where a new factor gains nothing
  Index dense_rows = 60;       ///< rows up to which a dense factorisation is faster
  double contradicts = 1e-6;   ///< residual of bilateral rows that have no answer
  double sure = 1e-2;          ///< of rounding, that the next step would leave: it is not looked at
};

struct PolishWork;
using PolishWorkspace = Scratch<PolishWork>;

/// Improves x until the judge reads <= limits.tolerance or nothing improves any more; x never gets
/// worse. H must be a matrix (not an operator), else x is returned as it came. Without laws there
/// is no set to guess: bilateral rows are solved to rounding by one factorisation; where they are
/// redundant (closed loops) γ is one of many, v is unique.
MethodResult polish(const CanonicalProblem& p, const ProblemScale& scale,
                    const PolishSettings& settings, const MethodLimits& limits,
                    PolishWorkspace& work, Solution& x);

/// Do the bilateral rows of p alone have no answer? v_free: that of p.
bool bilateral_rows_contradict(const CanonicalProblem& p, const VecX& v_free,
                               PolishWorkspace& work);

}  // namespace orthant
