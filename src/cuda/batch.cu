// SPDX-License-Identifier: Apache-2.0
// cuda/batch.cu: liborthant_cuda: the kernels of src/device with a thread per world. The workspaces
// of 32 worlds lie side by side, so that a warp reads and writes whole lines.
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/device_for.cuh"
#include "cuda/error.cuh"
#include "device/program.hpp"
#include "device/pull_kernel.hpp"
#include "orthant/device/cuda.h"

using namespace orthant::device;

namespace {

constexpr int kLanes = 32;

int fail(const std::string& what) { return cuda_fail(what); }
int check(cudaError_t code, const char* what) {
  return code == cudaSuccess ? 0 : fail(cuda_message(code, what));
}

}  // namespace

struct orthant_cuda_batch {
  BatchModel model{};
  Settings settings{};
  std::size_t worlds = 0;
  int numbers = 0;       ///< of a world's workspace
  int threads = kLanes;  ///< of a warp that have a world, in a step
  unsigned char* program = nullptr;
  double* work = nullptr;
  int* integers = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
};

namespace {

struct Launch {
  BatchModel model;
  Settings settings;
  double* work;
  int* integers;
  int numbers;
  const double* parameters;
  std::size_t stride;
  const double* u;

  __device__ World<kLanes> world(std::size_t i) const {
    const std::size_t group = i / kLanes, lane = i % kLanes;
    return {model,
            settings,
            parameters + i * stride,
            u == nullptr ? nullptr : u + i * static_cast<std::size_t>(model.controls),
            {work + group * kLanes * static_cast<std::size_t>(numbers) + lane},
            {integers + group * kLanes * static_cast<std::size_t>(model.at.integers) + lane}};
  }
};

struct StepBody {
  Launch launch;
  double *q, *v, *warm;
  WorldReport* report;

  __device__ void operator()(std::size_t i) const {
    const BatchModel& m = launch.model;
    WorldReport made;
    step_world(launch.world(i), q + i * m.q_size, v + i * m.v_size, warm + i * m.warm, made);
    report[i] = made;
  }
};

struct PullBody {
  Launch launch;
  const double *q, *v, *warm, *by_q_next, *by_v_next;
  double *by_q, *by_v, *by_u, *by_parameters;
  const unsigned char* wanted;
  WorldCertificate* certificate;

  __device__ void operator()(std::size_t i) const {
    const BatchModel& m = launch.model;
    const Gradient g{by_v + i * m.v_size,
                     by_u == nullptr ? nullptr : by_u + i * static_cast<std::size_t>(m.controls),
                     by_parameters == nullptr
                         ? nullptr
                         : by_parameters + i * static_cast<std::size_t>(m.parameters),
                     wanted};
    WorldCertificate made;
    pull_back_world(launch.world(i), q + i * m.q_size, v + i * m.v_size, warm + i * m.warm,
                    by_q_next + i * m.v_size, by_v_next + i * m.v_size, by_q + i * m.v_size, g,
                    made);
    certificate[i] = made;
  }
};

/// Threads of a warp that have a world, in a step: half of them where the registers let all warps
/// run at once, since a warp waits for its slowest world (measured: docs/gpu.md).
int step_threads(std::size_t worlds) {
  int processors = 1;
  (void)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0);
  constexpr std::size_t kWarps = 8;  // of a multiprocessor
  return worlds <= static_cast<std::size_t>(processors) * kWarps * (kLanes / 2) ? kLanes / 2
                                                                                : kLanes;
}

Launch launch_of(const orthant_cuda_batch& b, const double* parameters, std::size_t rows,
                 const double* u) {
  return {b.model,
          b.settings,
          b.work,
          b.integers,
          b.numbers,
          parameters,
          rows == 1 ? 0 : static_cast<std::size_t>(b.model.parameters),
          u};
}

template <class Body>
int run(orthant_cuda_batch* b, int threads, const Body& body, float* milliseconds) {
  if (int bad = check(cudaEventRecord(b->begin), "timer")) return bad;
  if (int bad = check(device_for(b->worlds, threads, body, nullptr), "launch")) return bad;
  if (int bad = check(cudaEventRecord(b->end), "timer")) return bad;
  if (int bad = check(cudaEventSynchronize(b->end), "kernel")) return bad;
  if (milliseconds != nullptr)
    return check(cudaEventElapsedTime(milliseconds, b->begin, b->end), "timer");
  return 0;
}

}  // namespace

extern "C" {

int orthant_cuda_create(const unsigned char* program, size_t size, size_t worlds, int gradient,
                        size_t* bytes_needed, orthant_cuda_batch** out) {
  *out = nullptr;
  ProgramHeader header;
  if (size < sizeof(header)) return fail("program: too short");
  std::memcpy(&header, program, sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0 || header.size != size)
    return fail("program: made by another version of Orthant");
  if (worlds == 0) return fail("worlds: must be > 0");
  const std::size_t padded = (worlds + kLanes - 1) / kLanes * kLanes;
  const int numbers = gradient != 0 ? header.model.at.size : header.model.at.forward_size;
  const std::size_t work = padded * static_cast<std::size_t>(numbers) * sizeof(double);
  const std::size_t integers =
      padded * static_cast<std::size_t>(header.model.at.integers) * sizeof(int);
  const std::size_t needed = size + work + integers;
  if (bytes_needed != nullptr) *bytes_needed = needed;
  std::size_t free = 0, total = 0;
  if (int bad = check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo")) return bad;
  if (needed > free)
    return fail("too little memory on the device: " + std::to_string(worlds) + " worlds need " +
                std::to_string(needed >> 20) + " MiB, " + std::to_string(free >> 20) +
                " MiB are free");
  auto* b = new orthant_cuda_batch;
  b->worlds = worlds;
  b->settings = header.settings;
  b->threads = step_threads(worlds);
  b->numbers = numbers;
  int bad = check(cudaMalloc(&b->program, size), "cudaMalloc") ||
            check(cudaMalloc(&b->work, work), "cudaMalloc") ||
            check(cudaMalloc(&b->integers, integers > 0 ? integers : 4), "cudaMalloc") ||
            check(cudaMemcpy(b->program, program, size, cudaMemcpyHostToDevice), "cudaMemcpy") ||
            check(cudaEventCreate(&b->begin), "timer") || check(cudaEventCreate(&b->end), "timer");
  if (bad != 0) {
    orthant_cuda_destroy(b);
    return bad;
  }
  b->model = open_program(header, b->program);
  *out = b;
  return 0;
}

void orthant_cuda_destroy(orthant_cuda_batch* b) {
  if (b == nullptr) return;
  cudaFree(b->program);
  cudaFree(b->work);
  cudaFree(b->integers);
  if (b->begin != nullptr) cudaEventDestroy(b->begin);
  if (b->end != nullptr) cudaEventDestroy(b->end);
  delete b;
}

int orthant_cuda_step(orthant_cuda_batch* b, double* q, double* v, double* warm, const double* u,
                      const double* parameters, size_t parameter_rows, double* report,
                      float* milliseconds) {
  static_assert(sizeof(WorldReport) == kReportNumbers * sizeof(double));
  return run(b, b->threads,
             StepBody{launch_of(*b, parameters, parameter_rows, u), q, v, warm,
                      reinterpret_cast<WorldReport*>(report)},
             milliseconds);
}

int orthant_cuda_pull_back(orthant_cuda_batch* b, const double* q, const double* v,
                           const double* warm, const double* u, const double* parameters,
                           size_t parameter_rows, const double* by_q_next, const double* by_v_next,
                           double* by_q, double* by_v, double* by_u, double* by_parameters,
                           const unsigned char* wanted, double* certificate, float* milliseconds) {
  static_assert(sizeof(WorldCertificate) == kCertificateNumbers * sizeof(double));
  if (b->numbers < b->model.at.size)
    return fail("the batch was made without gradients: create it with gradient = 1");
  return run(
      b, kLanes,
      PullBody{launch_of(*b, parameters, parameter_rows, u), q, v, warm, by_q_next, by_v_next, by_q,
               by_v, by_u, by_parameters, wanted, reinterpret_cast<WorldCertificate*>(certificate)},
      milliseconds);
}

}  // extern "C"
