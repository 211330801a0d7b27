// SPDX-License-Identifier: Apache-2.0
// device/hd.hpp: marks a function that runs on the host and on a CUDA device. One text, two places:
// without CUDA's compiler the marks are empty and the text is plain C++.
#pragma once

#if defined(__CUDACC__)
#define ORTHANT_HD __host__ __device__
#define ORTHANT_UNROLL _Pragma("unroll")
#else
#define ORTHANT_HD
#define ORTHANT_UNROLL
#endif
