// SPDX-License-Identifier: Apache-2.0
// device/device_for.hpp: parallel_for and parallel_sum for worlds in a batch: a host back end here,
// the CUDA one in src/cuda/device_for.cuh with the same chunks and the same order of additions.
//   device_sum: chunks of 2048 terms; lane l of 32 adds the terms l, l + 32, … of its chunk, the
//   lanes are joined by halves (16, 8, 4, 2, 1), the chunks one after another.
// So a sum has the same bits on the host and on a device, for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "orthant/base/parallel.hpp"

namespace orthant::device {

inline constexpr std::size_t kSumChunk = 2048;
inline constexpr int kSumLanes = 32;

/// body(i) for i in [0, count), on the host, possibly at once.
template <class Body>
void device_for(std::size_t count, Body&& body) {
  constexpr std::size_t kGrain = 8;  // worlds: a hundred microseconds each
  parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

/// Σ term(i) on the host, in the order every back end adds.
template <class Term>
double device_sum(std::size_t count, Term&& term) {
  std::vector<double> partial(chunk_count(count, kSumChunk));
  parallel_for_chunks(count, kSumChunk, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    double lanes[kSumLanes] = {};
    for (std::size_t i = begin; i < end; ++i) lanes[(i - begin) % kSumLanes] += term(i);
    for (int half = kSumLanes / 2; half > 0; half /= 2)
      for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
    partial[chunk] = lanes[0];
  });
  double total = 0;
  for (const double s : partial) total += s;
  return total;
}

}  // namespace orthant::device
