// SPDX-License-Identifier: Apache-2.0
// cuda/rods.cu: the stages of src/device/rods_run.hpp on a CUDA device: one text with the host, the
// same bits. A solve is one cooperative kernel: its grid waits for itself instead of the host.
#include <cooperative_groups.h>

#include <cstring>
#include <memory>

#include "cuda/backend.cuh"
#include "device/rods_program.hpp"
#include "device/rods_run.hpp"
#include "orthant/device/cuda.h"

using namespace orthant::device;

namespace {

/// Lanes of a block joined by halves, as on the host; the answer in every thread.
__device__ RodTotals join_block(RodTotals mine) {
  __shared__ RodTotals lanes[kSumLanes];
  const int l = static_cast<int>(threadIdx.x);
  lanes[l] = mine;
  for (int half = kSumLanes / 2; half > 0; half /= 2) {
    __syncthreads();
    if (l < half) lanes[l] = join(lanes[l], lanes[l + half]);
  }
  __syncthreads();
  mine = lanes[0];
  __syncthreads();  // the lanes may be written again
  return mine;
}
template <class Term>
__device__ void sum_chunks(std::size_t count, const Term& term, RodTotals* partial) {
  const std::size_t chunks = (count + kSumLanes - 1) / kSumLanes;
  for (std::size_t c = blockIdx.x; c < chunks; c += gridDim.x) {
    const std::size_t i = c * kSumLanes + threadIdx.x;
    const RodTotals sum = join_block(i < count ? term(i) : RodTotals{0, 0});
    if (threadIdx.x == 0) partial[c] = sum;
  }
}
__device__ RodTotals sum_partials(std::size_t count, const RodTotals* partial) {
  const std::size_t chunks = (count + kSumLanes - 1) / kSumLanes;
  RodTotals mine{0, 0};
  for (std::size_t c = threadIdx.x; c < chunks; c += kSumLanes) mine = join(mine, partial[c]);
  return join_block(mine);
}

class DeviceGrid {
 public:
  template <class Body>
  __device__ void each(std::size_t count, const Body& body) {
    const std::size_t stride = static_cast<std::size_t>(gridDim.x) * kSumLanes;
    for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * kSumLanes + threadIdx.x; i < count;
         i += stride)
      body(i);
    group_.sync();
  }
  template <class Term>
  __device__ RodTotals total(std::size_t count, const Term& term, RodTotals* partial) {
    sum_chunks(count, term, partial);
    group_.sync();
    const RodTotals sum = sum_partials(count, partial);
    group_.sync();  // the partials may be written again
    return sum;
  }
  __device__ bool first() const { return blockIdx.x == 0 && threadIdx.x == 0; }

 private:
  cooperative_groups::grid_group group_ = cooperative_groups::this_grid();
};

__global__ void __launch_bounds__(kSumLanes, 4) SolveRods(const __grid_constant__ RodWork w) {
  DeviceGrid grid;
  solve_rods(grid, w);
}
template <class Term>
__global__ void chunks_kernel(std::size_t count, const __grid_constant__ Term term,
                              RodTotals* partial) {
  sum_chunks(count, term, partial);
}
__global__ void partials_kernel(std::size_t count, const RodTotals* partial, RodTotals* out) {
  const RodTotals sum = sum_partials(count, partial);
  if (threadIdx.x == 0) *out = sum;
}

/// The team of fronts_kernel.hpp: the threads of a block.
struct DeviceTeam {
  double* shared;
  template <class Body>
  __device__ void each(int count, const Body& body) {
    for (int i = static_cast<int>(threadIdx.x); i < count; i += kTeam) {
      asm volatile("" ::: "memory");  // what a body reads stays in memory, not in registers
      body(i);
    }
    __syncthreads();
  }
  template <class Term>
  __device__ void sums(int count, int length, const Term& term, double* out) {
    constexpr int kLanes = 32;
    const int warp = static_cast<int>(threadIdx.x) / kLanes, lane = threadIdx.x % kLanes;
    for (int c = warp; c < count; c += kTeam / kLanes) {
      double sum = 0;
      for (int i = lane; i < length; i += kLanes) sum += term(c, i);
      for (int half = kLanes / 2; half > 0; half /= 2) sum += __shfl_down_sync(~0u, sum, half);
      if (lane == 0) out[c] = sum;
    }
    __syncthreads();
  }
};
template <class Body>
__global__ void __launch_bounds__(kTeam) team_kernel(const __grid_constant__ Body body) {
  __shared__ double shared[kShared];
  DeviceTeam team{shared};
  body(team, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y));
}

class RodBackend : public CudaBackend {
 public:
  using Recording = cudaGraphExec_t;
  /// Launches that follow each other closely are made by the device itself.
  template <class Run>
  void replay(Recording& recording, const Run& run) {
    if (recording == nullptr) {
      cudaGraph_t graph = nullptr;
      require(cudaStreamBeginCapture(recorder_, cudaStreamCaptureModeThreadLocal), "capture");
      stream_ = recorder_;
      try {
        run();
      } catch (...) {
        stream_ = nullptr;
        cudaStreamEndCapture(recorder_, &graph);
        cudaGraphDestroy(graph);
        throw;
      }
      stream_ = nullptr;
      require(cudaStreamEndCapture(recorder_, &graph), "capture");
      const cudaError_t made = cudaGraphInstantiate(&recording, graph, 0);
      cudaGraphDestroy(graph);
      require(made, "capture");
    }
    require(cudaGraphLaunch(recording, nullptr), "launch");
  }
  void forget(Recording& recording) {
    if (recording != nullptr) cudaGraphExecDestroy(recording);
    recording = nullptr;
  }
  template <class Body>
  void teams(int x, int y, const Body& body) {
    team_kernel<<<dim3(static_cast<unsigned>(x), static_cast<unsigned>(y)), kTeam, 0, stream_>>>(
        body);
    require(cudaGetLastError(), "launch");
  }
  RodBackend() {
    int device = 0, per = 0, processors = 0;
    require(cudaGetDevice(&device), "cudaGetDevice");
    require(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device), "device");
    require(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, SolveRods, kSumLanes, 0), "device");
    most_blocks_ = static_cast<unsigned>(per * processors);
    processors_ = static_cast<unsigned>(processors);
    require(cudaStreamCreateWithFlags(&recorder_, cudaStreamNonBlocking), "stream");
    reserve(total_, 1);
  }
  ~RodBackend() {
    release(total_);
    cudaStreamDestroy(recorder_);
  }

  template <class Term>
  RodTotals total(std::size_t count, const Term& term, RodTotals* scratch) {
    const auto chunks = static_cast<unsigned>((count + kSumLanes - 1) / kSumLanes);
    chunks_kernel<<<chunks, kSumLanes>>>(count, term, scratch);
    partials_kernel<<<1, kSumLanes>>>(count, scratch, total_.data);
    require(cudaGetLastError(), "launch");
    RodTotals sum;
    get(total_.data, 1, &sum);
    return sum;
  }
  /// As few blocks as have a row per thread: each of them more makes the grid wait longer.
  RodSolve solve(const RodWork& w) {
    const int items = w.rows > w.count ? w.rows : w.count;
    unsigned blocks = static_cast<unsigned>((items + kSumLanes - 1) / kSumLanes);
    if (blocks > most_blocks_) blocks = most_blocks_;
    if (blocks > processors_) blocks = blocks / processors_ * processors_;
    RodWork work = w;
    void* arguments[] = {&work};
    require(cudaLaunchCooperativeKernel(SolveRods, dim3(blocks), dim3(kSumLanes), arguments, 0,
                                        nullptr),
            "launch");
    RodSolve solved;
    get(w.solve, 1, &solved);
    return solved;
  }

 private:
  unsigned most_blocks_ = 1, processors_ = 1;
  cudaStream_t recorder_ = nullptr, stream_ = nullptr;
  Buffer<RodTotals> total_;
};

}  // namespace

struct orthant_cuda_rods {
  RodBackend backend;
  std::unique_ptr<RodRun<RodBackend>> run;
  cudaEvent_t begin = nullptr, end = nullptr;

  ~orthant_cuda_rods() {
    run.reset();
    if (begin != nullptr) cudaEventDestroy(begin);
    if (end != nullptr) cudaEventDestroy(end);
  }
};

extern "C" {

int orthant_cuda_rods_create(const unsigned char* program, size_t size, orthant_cuda_rods** out) {
  *out = nullptr;
  RodHeader header;
  if (size != sizeof(header) || std::memcmp(program, kRodMagic, sizeof(kRodMagic)) != 0)
    return cuda_fail("rods: made by another version of Orthant");
  std::memcpy(&header, program, sizeof(header));
  return guarded([&] {
    auto made = std::make_unique<orthant_cuda_rods>();
    require(cudaEventCreate(&made->begin), "timer");
    require(cudaEventCreate(&made->end), "timer");
    made->run = std::make_unique<RodRun<RodBackend>>(made->backend, header.model);
    *out = made.release();
  });
}

void orthant_cuda_rods_destroy(orthant_cuda_rods* rods) { delete rods; }

int orthant_cuda_rods_step(orthant_cuda_rods* rods, size_t count, double* q, double* length,
                           int forget, double* report, float* milliseconds) {
  return guarded([&] {
    if (forget != 0) rods->run->forget();
    require(cudaEventRecord(rods->begin), "timer");
    const orthant::RodReport made = rods->run->step(count, q, length);
    require(cudaEventRecord(rods->end), "timer");
    require(cudaEventSynchronize(rods->end), "kernel");
    const double numbers[] = {static_cast<double>(made.outcome),
                              static_cast<double>(made.first),
                              static_cast<double>(made.rows),
                              static_cast<double>(made.solves),
                              static_cast<double>(made.iterations),
                              made.residual,
                              made.deepest};
    std::memcpy(report, numbers, sizeof(numbers));
    if (milliseconds != nullptr)
      require(cudaEventElapsedTime(milliseconds, rods->begin, rods->end), "timer");
  });
}

}  // extern "C"
