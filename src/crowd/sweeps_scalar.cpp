// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_scalar.cpp: the sweeps one contact at a time: the reference of the others.
// Flags: src/CMakeLists.txt.
#define ORTHANT_SWEEPS_TABLE kSweepsScalar
#define ORTHANT_SWEEPS_LANES 1
#include "crowd/sweeps_kernel.hpp"
