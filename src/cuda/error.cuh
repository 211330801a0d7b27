// SPDX-License-Identifier: Apache-2.0
// cuda/error.cuh: what orthant_cuda_error() says, kept by common.cu.
#pragma once

#include <cuda_runtime.h>

#include <string>

/// Keeps the words; always 1.
int cuda_fail(const std::string& what);
/// A code of the runtime in words; says where no device can be used.
std::string cuda_message(cudaError_t code, const char* what);
