// SPDX-License-Identifier: Apache-2.0
// gradient/kinks.hpp: (solve of a record) => kinks of its data that no multiplier shows. Private to
// the room.
// The laws of contact have kinks of their own, which SolutionGradient finds by λ and w. The data
// have others: a bias b_n has the slopes 1/h and β/h at Φ = 0; the stiffness across a spring is cut
// off at its rest length; faces that lie flush give the normal to either body.
#pragma once

#include <span>
#include <string>

#include "orthant/constraint/contact_rows.hpp"
#include "orthant/gradient/step.hpp"

namespace orthant::internal {

struct Kinks {
  Index here = 0;    ///< whatever led to this solve
  Index start = 0;   ///< of the state it begins at, where that is varied by itself
  std::string what;  ///< the first, in words
};

/// `starts`: the solve stands at the state its step begins at.
Kinks find_kinks(const Model& model, const Parameters& parameters, const StepSettings& settings,
                 const SolveRecord& record, std::span<const ContactBlock> blocks, bool starts);

}  // namespace orthant::internal
