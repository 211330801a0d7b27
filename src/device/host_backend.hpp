// SPDX-License-Identifier: Apache-2.0
// device/host_backend.hpp: what spheres_run.hpp and rods_run.hpp ask of a back end, on the host.
#pragma once

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "device/cells_kernel.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::device {

/// Threads of the host; the arrays are ordinary memory.
class HostBackend {
 public:
  template <class Body>
  void each(std::size_t count, const Body& body) {
    constexpr std::size_t kGrain = 256;
    parallel_for(count, kGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(i);
    });
  }
  void sort(std::uint64_t* keys, int* values, std::size_t n, int /*bits*/) {
    pairs_.resize(n);
    for (std::size_t i = 0; i < n; ++i) pairs_[i] = {keys[i], values[i]};
    std::sort(pairs_.begin(), pairs_.end());  // the values ascend: as a stable sort by key
    for (std::size_t i = 0; i < n; ++i) std::tie(keys[i], values[i]) = pairs_[i];
  }
  int scan(int* values, std::size_t n) {
    int sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exchange(values[i], sum);
    return sum;
  }
  template <class T>
  void reserve(Buffer<T>& buffer, std::size_t n) {
    if (n <= buffer.capacity) return;
    release(buffer);
    buffer.capacity = n + n / 4;
    buffer.data = new T[buffer.capacity];
  }
  template <class T>
  void release(Buffer<T>& buffer) {
    delete[] buffer.data;
    buffer = {};
  }
  /// Room for n entries; the first `used` of them are kept.
  template <class T>
  void grow(Buffer<T>& buffer, std::size_t used, std::size_t n) {
    if (n <= buffer.capacity) return;
    Buffer<T> larger;
    reserve(larger, n);
    if (used > 0) copy(buffer.data, larger.data, used);
    release(buffer);
    buffer = larger;
  }
  template <class T>
  void upload(Buffer<T>& buffer, const std::vector<T>& from) {
    reserve(buffer, from.size());
    std::copy(from.begin(), from.end(), buffer.data);
  }
  template <class T>
  void put(T* at, const T& value) {
    *at = value;
  }
  template <class T>
  void get(const T* from, std::size_t n, T* to) {
    std::copy_n(from, n, to);
  }
  template <class T>
  void copy(const T* from, T* to, std::size_t n) {
    std::copy_n(from, n, to);
  }

 private:
  std::vector<std::pair<std::uint64_t, int>> pairs_;
};

}  // namespace orthant::device
