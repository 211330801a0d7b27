// SPDX-License-Identifier: Apache-2.0
// cuda/common.cu: what all of liborthant_cuda shares: words for errors, devices, memory, sums.
#include <cstdio>
#include <string>
#include <vector>

#include "cuda/device_for.cuh"
#include "cuda/error.cuh"
#include "orthant/device/cuda.h"

using namespace orthant::device;

namespace {

thread_local std::string last_error = "no error";

int check(cudaError_t code, const char* what) {
  return code == cudaSuccess ? 0 : cuda_fail(cuda_message(code, what));
}

struct Read {
  const double* x;
  __device__ double operator()(std::size_t i) const { return x[i]; }
};

}  // namespace

int cuda_fail(const std::string& what) {
  last_error = what;
  return 1;
}
std::string cuda_message(cudaError_t code, const char* what) {
  (void)cudaGetLastError();
  if (code == cudaErrorInsufficientDriver || code == cudaErrorNoDevice ||
      code == cudaErrorInitializationError)
    return std::string("no CUDA device can be used: ") + cudaGetErrorString(code) +
           "; use device=\"cpu\"";
  return std::string(what) + ": " + cudaGetErrorString(code);
}

extern "C" {

const char* orthant_cuda_error(void) { return last_error.c_str(); }

int orthant_cuda_devices(int* count, char* name, size_t name_size, size_t* free_bytes,
                         size_t* total_bytes) {
  *count = 0;
  if (int bad = check(cudaGetDeviceCount(count), "cudaGetDeviceCount")) return bad;
  if (*count == 0) return cuda_fail("no CUDA device can be used: there is none; use device=\"cpu\"");
  cudaDeviceProp properties;
  if (int bad = check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties"))
    return bad;
  std::snprintf(name, name_size, "%s", properties.name);
  return check(cudaMemGetInfo(free_bytes, total_bytes), "cudaMemGetInfo");
}

int orthant_cuda_allocate(size_t bytes, void** out) {
  return check(cudaMalloc(out, bytes), "cudaMalloc");
}
void orthant_cuda_release(void* memory) { cudaFree(memory); }
int orthant_cuda_upload(void* to, const void* host, size_t bytes) {
  return check(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice), "upload");
}
int orthant_cuda_download(void* host, const void* from, size_t bytes) {
  return check(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost), "download");
}

int orthant_cuda_sum(const double* x, size_t count, double* out) {
  std::vector<double> partial((count + kDeviceSumChunk - 1) / kDeviceSumChunk);
  const std::size_t bytes = partial.size() * sizeof(double);
  double* memory = nullptr;
  *out = 0;
  if (count == 0) return 0;
  if (int bad = check(cudaMalloc(&memory, bytes), "cudaMalloc")) return bad;
  const int bad =
      check(device_partial_sums(count, Read{x}, memory, nullptr), "launch") ||
      check(cudaMemcpy(partial.data(), memory, bytes, cudaMemcpyDeviceToHost), "download");
  cudaFree(memory);
  for (const double s : partial) *out += s;
  return bad;
}

}  // extern "C"
