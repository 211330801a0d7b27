// SPDX-License-Identifier: Apache-2.0
// cuda/spheres.cu: the stages of src/device/spheres_run.hpp on a CUDA device: one text with the
// host, the same bits. Sorting and scans are CCCL's.
#include <cstdio>
#include <cstring>
#include <cub/cub.cuh>
#include <memory>
#include <stdexcept>
#include <string>

#include "cuda/device_for.cuh"
#include "cuda/error.cuh"
#include "device/spheres_program.hpp"
#include "device/spheres_run.hpp"
#include "orthant/device/cuda.h"

using namespace orthant::device;

namespace {

/// Errors leave as exceptions; the C interface turns them into words.
void require(cudaError_t code, const char* what) {
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
    require(cub::DeviceRadixSort::SortPairs(scratch_.data, bytes, k, v, static_cast<int>(n), 0,
                                            bits),
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
      throw std::runtime_error("too little memory on the device: " +
                               std::to_string(capacity * sizeof(T) >> 20) + " MiB needed, " +
                               std::to_string(free >> 20) + " MiB free");
    require(cudaMalloc(&buffer.data, capacity * sizeof(T)), "cudaMalloc");
    buffer.capacity = capacity;
  }
  template <class T>
  void release(Buffer<T>& buffer) {
    cudaFree(buffer.data);
    buffer = {};
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

}  // namespace

struct orthant_cuda_spheres {
  CudaBackend backend;
  Buffer<unsigned char> program;
  std::unique_ptr<SphereRun<CudaBackend>> run;
  cudaEvent_t begin = nullptr, end = nullptr;

  ~orthant_cuda_spheres() {
    run.reset();
    backend.release(program);
    if (begin != nullptr) cudaEventDestroy(begin);
    if (end != nullptr) cudaEventDestroy(end);
  }
};

extern "C" {

int orthant_cuda_spheres_create(const unsigned char* program, size_t size,
                                orthant_cuda_spheres** out) {
  *out = nullptr;
  SphereHeader header;
  if (size < sizeof(header)) return cuda_fail("spheres: too short");
  std::memcpy(&header, program, sizeof(header));
  if (std::memcmp(header.magic, kSphereMagic, sizeof(kSphereMagic)) != 0 || header.size != size)
    return cuda_fail("spheres: made by another version of Orthant");
  return guarded([&] {
    auto made = std::make_unique<orthant_cuda_spheres>();
    require(cudaEventCreate(&made->begin), "timer");
    require(cudaEventCreate(&made->end), "timer");
    made->backend.reserve(made->program, size);
    require(cudaMemcpy(made->program.data, program, size, cudaMemcpyHostToDevice), "upload");
    made->run = std::make_unique<SphereRun<CudaBackend>>(
        made->backend, open_spheres(header, made->program.data));
    *out = made.release();
  });
}

void orthant_cuda_spheres_destroy(orthant_cuda_spheres* spheres) { delete spheres; }

int orthant_cuda_spheres_step(orthant_cuda_spheres* spheres, double* q, double* v, int forget,
                              double* report, float* milliseconds) {
  return guarded([&] {
    if (forget != 0) spheres->run->forget();
    require(cudaEventRecord(spheres->begin), "timer");
    const orthant::SphereReport made = spheres->run->step(q, v);
    require(cudaEventRecord(spheres->end), "timer");
    require(cudaEventSynchronize(spheres->end), "kernel");
    const double numbers[] = {static_cast<double>(made.contacts), static_cast<double>(made.late),
                              static_cast<double>(made.one_by_one),
                              static_cast<double>(made.not_finite), made.residual, made.deepest};
    std::memcpy(report, numbers, sizeof(numbers));
    if (milliseconds != nullptr)
      require(cudaEventElapsedTime(milliseconds, spheres->begin, spheres->end), "timer");
  });
}

}  // extern "C"
