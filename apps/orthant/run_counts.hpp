// SPDX-License-Identifier: Apache-2.0
// orthant/run_counts.hpp: what a run on ranks has sent, in a line.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "orthant/distributed/distributed.hpp"

namespace orthant::app {

inline std::string counts_text(const DistributedCounts& c, int ranks) {
  const auto per_step = [&](std::int64_t n) {
    return static_cast<double>(n) / std::max<double>(static_cast<double>(c.steps), 1);
  };
  if (c.cuts == 0 && c.whole_steps == 0)
    return fmt::format(
        "{} ranks; rank 0 sent {:.1f} messages ({:.4g} kB) to neighbours and {:.1f} ({:.4g} kB) to "
        "all in each of {} steps; {} of them in parts{}",
        ranks, per_step(c.messages), 1e-3 * per_step(c.bytes), per_step(c.gathers),
        1e-3 * per_step(c.gathered_bytes), c.steps, c.parted,
        c.parted > 0 ? fmt::format(", imbalance {:.1f} %, {:.4g} kB to all the state at their ends",
                                   100 * c.imbalance, 1e-3 * per_step(c.state_bytes))
                     : std::string());
  return fmt::format(
      "{} ranks: {} of {} steps shared out, {} cuts, imbalance {:.1f} %; rank 0 sent {:.1f} "
      "messages, {:.1f} kB per step, {:.1f} reductions; {:.1f} kB of state gathered",
      ranks, c.steps - c.whole_steps, c.steps, c.cuts, 100 * c.imbalance, per_step(c.messages),
      1e-3 * per_step(c.bytes), per_step(c.reductions),
      1e-3 * static_cast<double>(c.gathered_bytes));
}

}  // namespace orthant::app
