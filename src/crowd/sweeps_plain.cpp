// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_plain.cpp: the sweeps in what every processor of the kind has. Flags:
// src/CMakeLists.txt.
#define ORTHANT_SWEEPS_TABLE kSweepsPlain
#define ORTHANT_SWEEPS_LANES 8
#include "crowd/sweeps_kernel.hpp"
