// SPDX-License-Identifier: Apache-2.0
// solver/sweeps_instructions.hpp: instruction set => the kernels compiled for it.
#pragma once

#include "orthant/solver/sweeps.hpp"
#include "solver/sweeps_data.hpp"

namespace orthant::internal {

/// Those of the best set that this processor has where `Best` is asked for.
const SweepTable& table_of(SweepInstructions instructions);

}  // namespace orthant::internal
