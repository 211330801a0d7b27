// SPDX-License-Identifier: Apache-2.0
// solver/solve_fields.hpp: the fields of SolveSettings, once (base/setting.hpp).
#pragma once

#include <type_traits>

#include "orthant/base/setting.hpp"
#include "orthant/solver/solve.hpp"

namespace orthant {

template <class Field>
void visit_settings(std::type_identity<SolveSettings>, Field&& field) {
  using S = SolveSettings;
  using R = SettingRule;
  field("method", &S::method, "`automatic` chooses island by island", R{});
  field("tolerance", &S::tolerance, "of the block-wise residual; in a step 1e-10",
        R{.unit = "-", .positive = true});
  field("max_iterations", &S::max_iterations, "of each method; 0: the method's own", R{.lo = 0});
  field("work_limit", &S::work_limit, "counted multiply-adds; 0: none", R{.lo = 0});
  field("time_limit", &S::time_limit, "wall clock; 0: none, else results depend on the machine",
        R{.unit = "s", .lo = 0, .reproducible = false});
  field("use_warm_start", &S::use_warm_start, "start from the incoming solution", R{});
  field("siconos_too", &S::siconos_too, "go on until Siconos' error is small as well", R{});
}

}  // namespace orthant
