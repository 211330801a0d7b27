// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_avx512.cpp: the sweeps in AVX-512. Flags: src/CMakeLists.txt.
#if defined(__x86_64__)
#define ORTHANT_SWEEPS_TABLE kSweepsAvx512
#define ORTHANT_SWEEPS_LANES 8
#include "crowd/sweeps_kernel.hpp"
#endif
