// SPDX-License-Identifier: Apache-2.0
// cuda/backend.cuh: what spheres_run.hpp and rods_run.hpp ask of a back end, on a CUDA device.
// Sorting and scans are CCCL's.
#pragma once

#include <cstdint>
#include <cub/cub.cuh>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda/device_for.cuh"
#include "cuda/error.cuh"
#include "device/cells_kernel.hpp"

namespace orthant::device {

/// Errors leave as exceptions; the C interface turns them into words.
inline void require(cudaError_t code, const char* what) {
  if (code != cudaSuccess) throw std::runtime_error(cuda_message(code, what));
}

class CudaBackend {
 public:
  ~CudaBackend() {
    release(spare_key_);
    release(spare_value_);
    release(scratch_);
  }
  template <class Body>
  void each(std::size_t count, const Body& body) {
    constexpr int kThreads = 128;
    require(device_for(count, kThreads, body, nullptr), "launch");
  }
  void sort(std::uint64_t* keys, int* values, std::size_t n, int bits) {
    if (n == 0) return;
    reserve(spare_key_, n);
    reserve(spare_value_, n);
    cub::DoubleBuffer<std::uint64_t> k(keys, spare_key_.data);
    cub::DoubleBuffer<int> v(values, spare_value_.data);
    std::size_t bytes = 0;
    require(cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, v, static_cast<int>(n), 0, bits),
            "sort");
    reserve(scratch_, bytes);
    require(
        cub::DeviceRadixSort::SortPairs(scratch_.data, bytes, k, v, static_cast<int>(n), 0, bits),
        "sort");
    if (k.Current() != keys) copy(k.Current(), keys, n);
    if (v.Current() != values) copy(v.Current(), values, n);
  }
  /// Each entry becomes the sum of those before it; returns that of all.
  int scan(int* values, std::size_t n) {
    int last = 0, before = 0;
    get(values + n - 1, 1, &last);
    std::size_t bytes = 0;
    require(cub::DeviceScan::ExclusiveSum(nullptr, bytes, values, static_cast<int>(n)), "scan");
    reserve(scratch_, bytes);
    require(cub::DeviceScan::ExclusiveSum(scratch_.data, bytes, values, static_cast<int>(n)),
            "scan");
    get(values + n - 1, 1, &before);
    return before + last;
  }
  template <class T>
  void reserve(Buffer<T>& buffer, std::size_t n) {
    if (n <= buffer.capacity) return;
    release(buffer);
    const std::size_t capacity = n + n / 4;
    std::size_t free = 0, total = 0;
    require(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
    if (capacity * sizeof(T) > free)
      throw std::runtime_error(
          "too little memory on the device: " + std::to_string(capacity * sizeof(T) >> 20) +
          " MiB needed, " + std::to_string(free >> 20) + " MiB free");
    require(cudaMalloc(&buffer.data, capacity * sizeof(T)), "cudaMalloc");
    buffer.capacity = capacity;
  }
  template <class T>
  void release(Buffer<T>& buffer) {
    cudaFree(buffer.data);
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
    require(cudaMemcpy(buffer.data, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice),
            "upload");
  }
  template <class T>
  void put(T* at, const T& value) {
    require(cudaMemcpy(at, &value, sizeof(T), cudaMemcpyHostToDevice), "upload");
  }
  template <class T>
  void get(const T* from, std::size_t n, T* to) {
    require(cudaMemcpy(to, from, n * sizeof(T), cudaMemcpyDeviceToHost), "download");
  }
  template <class T>
  void copy(const T* from, T* to, std::size_t n) {
    require(cudaMemcpyAsync(to, from, n * sizeof(T), cudaMemcpyDeviceToDevice), "copy");
  }

 private:
  Buffer<std::uint64_t> spare_key_;
  Buffer<int> spare_value_;
  Buffer<unsigned char> scratch_;
};

template <class Call>
int guarded(Call&& call) {
  try {
    call();
    return 0;
  } catch (const std::exception& error) {
    return cuda_fail(error.what());
  }
}

}  // namespace orthant::device
