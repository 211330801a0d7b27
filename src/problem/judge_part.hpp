// SPDX-License-Identifier: Apache-2.0
// problem/judge_part.hpp: the judge of a problem whose rows are with several members of a team.
// What is worst of all rows and bodies is the worst of what each of them finds, and the energies
// add up exactly: the same residual for any number of members.
#pragma once

#include <span>
#include <vector>

#include "base/exact_sum.hpp"
#include "orthant/problem/residual.hpp"

namespace orthant {

struct PartResidual {
  double complementarity = 0;  ///< but for `work` beside `energy`
  double balance = 0;
  double work = 0;  ///< the most that a block does although it must not
  ExactSum energy;  ///< that all blocks have to do with

  void add(const PartResidual& other);
  Residual whole() const;
};

/// Law blocks and velocity blocks that miss the tolerance each by itself.
struct Misses {
  double tolerance = 0;
  std::vector<unsigned char> rows, bodies;
};

/// `bodies`: by velocity block, those all of whose rows are here; `rows`: by law block, those whose
/// energy is counted here. Empty: all. No bilateral rows. Leaves w in the workspace.
PartResidual judge_part(const CanonicalProblem& problem, const ProblemScale& scale,
                        const Solution& answer, std::span<const unsigned char> bodies,
                        std::span<const unsigned char> rows, JudgeWorkspace& work, Misses& misses);

}  // namespace orthant
