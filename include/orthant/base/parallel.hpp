// SPDX-License-Identifier: Apache-2.0
// base/parallel.hpp: the one door to threads.
// Ranges are cut by `grain` alone, never by the number of threads, so a reduction that adds the
// chunk results in chunk order gives the same bits for any number of threads.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// Number of threads parallel_for may use from now on, in this process. 0 = all cores. Default 1.
void set_thread_count(int threads);
int thread_count() noexcept;

namespace internal {
using RangeFunction = void (*)(void* body, std::size_t begin, std::size_t end, std::size_t chunk);
void parallel_chunks(std::size_t count, std::size_t grain, RangeFunction function, void* body);
}  // namespace internal

inline constexpr std::size_t chunk_count(std::size_t count, std::size_t grain) {
  return (count + grain - 1) / grain;
}

/// Calls body(begin, end) for consecutive chunks of `grain` indices of [0, count), possibly at
/// once.
template <class Body>
void parallel_for(std::size_t count, std::size_t grain, Body&& body) {
  using B = std::remove_reference_t<Body>;
  internal::parallel_chunks(
      count, grain,
      [](void* b, std::size_t begin, std::size_t end, std::size_t) {
        (*static_cast<B*>(b))(begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// As parallel_for, with the running number of the chunk: body(begin, end, chunk). Write partial
/// results to slot `chunk` of an array of chunk_count() and add them in order for the same bits
/// with any number of threads.
template <class Body>
void parallel_for_chunks(std::size_t count, std::size_t grain, Body&& body) {
  using B = std::remove_reference_t<Body>;
  internal::parallel_chunks(
      count, grain,
      [](void* b, std::size_t begin, std::size_t end, std::size_t chunk) {
        (*static_cast<B*>(b))(begin, end, chunk);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Σ term(i), added within chunks and then over them in order: the same bits for any number of
/// threads. `partial` is scratch.
template <class Term>
double parallel_sum(std::size_t count, std::size_t grain, std::vector<double>& partial,
                    Term&& term) {
  partial.assign(chunk_count(count, grain), 0.0);
  parallel_for_chunks(count, grain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
    double s = 0;
    for (std::size_t i = begin; i < end; ++i) s += term(i);
    partial[chunk] = s;
  });
  double total = 0;
  for (const double s : partial) total += s;
  return total;
}

}  // namespace orthant
