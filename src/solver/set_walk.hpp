// SPDX-License-Identifier: Apache-2.0
// solver/set_walk.hpp: from a point within the laws to the answer, one change of a set at a time.
//
// Contacts that repeat each other (wheels and casters, the corners of a foot) have gaps that agree
// to second order of a tilt, and not to the tolerance: most of them must open, by 1e-12 m. Guessing
// all sets at once from a point that far off opens too many or too few. Here the equations of the
// sets give a point T beyond which nothing is known, and of the way from x to T only as much is
// taken as keeps within the laws:
//
//   x ← x + t (T − x),   t the least at which an impulse becomes zero or a contact begins to slide
//
// That block alone changes its set. Where t = 1 the block that is most in error does, as in an
// active-set method for quadratic programs; without friction it is one.
#pragma once

#include <vector>

#include "solver/polish_run.hpp"

namespace orthant::internal {

struct SetWalkWorkspace {
  std::vector<BlockSet> sets, scratch;
  VecX v, gamma, x;  // where it is
  Solution candidate;
};

/// From the point that `equations` are at; true when the judge accepts. At most `most` changes.
bool walk_sets(VelocityEquations& equations, double proximal, int most, BestAnswer& best,
               SetWalkWorkspace& work);

}  // namespace orthant::internal
