// SPDX-License-Identifier: Apache-2.0
// gradient/check_extra.hpp: what a user asks of one solve of a step => Error where it does not fit.
// Private to the room.
#pragma once

#include "orthant/base/error.hpp"
#include "orthant/gradient/step.hpp"

namespace orthant::internal {

inline void check_extra(const SolveCotangent& x, const SolveRecord& record) {
  const auto count = static_cast<Index>(record.contacts.contacts.size());
  const auto check = [](bool fits, bool finite, const char* what) {
    if (!fits) throw Error(what, "does not fit the solve it belongs to");
    if (!finite) throw Error(what, "must be finite");
  };
  check(x.lambda.size() == 0 || x.lambda.size() == record.solution.lambda.size(),
        x.lambda.allFinite(), "incoming gradient by lambda");
  check(x.gamma.size() == 0 || x.gamma.size() == record.solution.gamma.size(), x.gamma.allFinite(),
        "incoming gradient by gamma");
  check(x.impulse_W.size() == 0 || (x.impulse_W.rows() == 3 && x.impulse_W.cols() == count &&
                                    record.kind != SolveKind::Projection),
        x.impulse_W.allFinite(), "incoming gradient by impulse_W");
  check(x.gap.size() == 0 || x.gap.size() == count, x.gap.allFinite(), "incoming gradient by gap");
}

}  // namespace orthant::internal
