// SPDX-License-Identifier: Apache-2.0
// cuda/spheres.cu: the stages of src/device/spheres_run.hpp on a CUDA device: one text with the
// host, the same bits.
#include <cstring>
#include <memory>

#include "cuda/backend.cuh"
#include "device/spheres_program.hpp"
#include "device/spheres_run.hpp"
#include "orthant/device/cuda.h"

using namespace orthant::device;

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
    made->run = std::make_unique<SphereRun<CudaBackend>>(made->backend,
                                                         open_spheres(header, made->program.data));
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
    const double numbers[] = {static_cast<double>(made.contacts),
                              static_cast<double>(made.late),
                              static_cast<double>(made.one_by_one),
                              static_cast<double>(made.not_finite),
                              made.residual,
                              made.deepest};
    std::memcpy(report, numbers, sizeof(numbers));
    if (milliseconds != nullptr)
      require(cudaEventElapsedTime(milliseconds, spheres->begin, spheres->end), "timer");
  });
}

}  // extern "C"
