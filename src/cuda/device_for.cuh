// SPDX-License-Identifier: Apache-2.0
// cuda/device_for.cuh: device_for and device_sum on a CUDA device: the chunks and the order of
// orthant/device/device_for.hpp, so the same bits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace orthant::device {

template <class Body>
__global__ void for_kernel(std::size_t count, const __grid_constant__ Body body) {
  const std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) body(i);
}

/// body(i) for i in [0, count), a thread each, `threads` in a block, on the stream.
template <class Body>
cudaError_t device_for(std::size_t count, int threads, const Body& body, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>((count + threads - 1) / threads);
  for_kernel<<<blocks, threads, 0, stream>>>(count, body);
  return cudaGetLastError();
}

constexpr int kDeviceSumLanes = 32;
constexpr std::size_t kDeviceSumChunk = 2048;

/// A warp per chunk: lane l adds the terms l, l + 32, …, then the halves are joined.
template <class Term>
__global__ void sum_kernel(std::size_t count, const __grid_constant__ Term term, double* partial) {
  const std::size_t begin = blockIdx.x * kDeviceSumChunk;
  const std::size_t end = begin + kDeviceSumChunk < count ? begin + kDeviceSumChunk : count;
  double s = 0;
  for (std::size_t i = begin + threadIdx.x; i < end; i += kDeviceSumLanes) s += term(i);
  for (int half = kDeviceSumLanes / 2; half > 0; half /= 2)
    s += __shfl_down_sync(0xffffffffu, s, half);
  if (threadIdx.x == 0) partial[blockIdx.x] = s;
}

/// Σ term(i) as the chunks' sums in `partial` (on the device, one per chunk), to be added in order.
template <class Term>
cudaError_t device_partial_sums(std::size_t count, const Term& term, double* partial,
                                cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  const auto chunks = static_cast<unsigned>((count + kDeviceSumChunk - 1) / kDeviceSumChunk);
  sum_kernel<<<chunks, kDeviceSumLanes, 0, stream>>>(count, term, partial);
  return cudaGetLastError();
}

}  // namespace orthant::device
