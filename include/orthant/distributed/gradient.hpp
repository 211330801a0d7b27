// SPDX-License-Identifier: Apache-2.0
// distributed/gradient.hpp: the pull-back of a rollout, over ranks of MPI.
//
// The walk back goes from stretch to stretch between checkpoints, and what it carries is small: the
// stretches are dealt out in turn, and while one rank walks, the others step theirs again and
// factorise. The products are made in the order of rollout_gradient(): the same bits, certificate
// included, for any number of ranks. docs/scale.md has its cost.
#pragma once

#include <cstdint>

#include "orthant/base/export.hpp"
#include "orthant/gradient/rollout.hpp"

namespace ORTHANT_EXPORT orthant {

/// What this rank did and sent.
struct RankGradientCounts {
  Index stretches = 0;  ///< all
  Index mine = 0;       ///< of them walked here
  std::int64_t messages = 0, bytes = 0;
  /// Processor time [s]: of what was made ahead, while others walked, and of the walk, which is
  /// shared out by nobody.
  double ahead = 0, walk = 0;
};

/// rollout_gradient() by all ranks of MPI_COMM_WORLD, who call it with the same tape, loss and
/// settings; all get the answer, or the same Error. The tape is best one with checkpoints
/// (CheckpointPolicy::store_records = false).
RolloutGradient rollout_gradient_on_ranks(const RolloutTape& tape, const RolloutCotangent& loss,
                                          const StepGradientSettings& gradient = {},
                                          RankGradientCounts* counts = nullptr);

}  // namespace orthant
