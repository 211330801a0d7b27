// SPDX-License-Identifier: Apache-2.0
// bench/cuda/rods_bench.cpp: rods_bench LIBRARY [--cells N] [--seconds S] [--from FILE] [--to FILE]
// [--steps N] [--tolerance T] [--interior-from N] [--as-step]: a colony from one cell, or from
// FILE, to N cells on a CUDA device, halfway through its last generation; a line per generation, as
// docs/gpu.md quotes it, and one where the time ends. LIBRARY `host`: on the threads of the host.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "library.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/device/rods.hpp"

using namespace orthant;

namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Rods on a device, or on the host where there is no library.
class World {
 public:
  World(const CudaLibrary* cuda, const RodSettings& settings) : cuda_(cuda), program_(settings) {
    if (cuda_ == nullptr) return;
    const std::vector<unsigned char> bytes = program_.bytes();
    cuda_->require(cuda_->rods_create(bytes.data(), bytes.size(), &rods_));
  }
  ~World() {
    if (cuda_ == nullptr) return;
    free_memory();
    cuda_->rods_destroy(rods_);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  void put(const Rods& rods) {
    host_ = rods;
    forget_ = true;
    if (cuda_ == nullptr) return;
    free_memory();
    cuda_->require(cuda_->allocate(rods.q.size() * 8, &q_));
    cuda_->require(cuda_->allocate(rods.length.size() * 8, &length_));
    cuda_->require(cuda_->upload(q_, rods.q.data(), rods.q.size() * 8));
    cuda_->require(cuda_->upload(length_, rods.length.data(), rods.length.size() * 8));
  }
  const Rods& get() {
    if (cuda_ != nullptr) {
      cuda_->require(cuda_->download(host_.q.data(), q_, host_.q.size() * 8));
      cuda_->require(cuda_->download(host_.length.data(), length_, host_.length.size() * 8));
    }
    return host_;
  }
  RodReport step() {
    if (cuda_ == nullptr) {
      if (forget_) program_.forget();
      forget_ = false;
      return program_.step(host_.q, host_.length);
    }
    double r[7];
    cuda_->require(cuda_->rods_step(rods_, host_.uid.size(), static_cast<double*>(q_),
                                    static_cast<double*>(length_), forget_ ? 1 : 0, r, nullptr));
    forget_ = false;
    return {static_cast<RodOutcome>(r[0]),
            static_cast<std::int64_t>(r[1]),
            static_cast<std::int64_t>(r[2]),
            static_cast<std::int64_t>(r[3]),
            static_cast<std::int64_t>(r[4]),
            r[5],
            r[6]};
  }

 private:
  void free_memory() {
    cuda_->release(q_);
    cuda_->release(length_);
    q_ = length_ = nullptr;
  }
  const CudaLibrary* cuda_;
  RodProgram program_;
  Rods host_;
  orthant_cuda_rods* rods_ = nullptr;
  void *q_ = nullptr, *length_ = nullptr;
  bool forget_ = true;
};

void write(const char* path, const Rods& rods) {
  std::ofstream out(path, std::ios::binary);
  const std::uint64_t n = rods.uid.size();
  const auto put = [&](const void* data, std::size_t bytes) {
    out.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
  };
  put(&n, 8);
  put(rods.q.data(), 24 * n);
  put(rods.length.data(), 8 * n);
  put(rods.uid.data(), 8 * n);
  if (!out.flush()) CudaLibrary::die("cannot write the colony");
}
Rods read(const char* path) {
  std::ifstream in(path, std::ios::binary);
  std::uint64_t n = 0;
  const auto take = [&](void* data, std::size_t bytes) {
    in.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
  };
  take(&n, 8);
  if (!in || n > (1u << 24)) CudaLibrary::die("cannot read the colony");
  Rods rods{std::vector<double>(3 * n), std::vector<double>(n), std::vector<std::uint64_t>(n)};
  take(rods.q.data(), 24 * n);
  take(rods.length.data(), 8 * n);
  take(rods.uid.data(), 8 * n);
  if (!in) CudaLibrary::die("cannot read the colony");
  return rods;
}

/// Sums over the steps of a generation, or of a part of one.
struct Steps {
  int count = 0;
  double first = 0, rows = 0, solves = 0, iterations = 0, failed = 0;
  std::int64_t most_solves = 0, most_iterations = 0;
  double cold = 0;  // products of the first step, which knows no impulses
  double residual = 0, deepest = 0, seconds = 0;

  void add(const RodReport& r, double time) {
    if (count++ == 0) cold = static_cast<double>(r.iterations);
    first += static_cast<double>(r.first);
    rows += static_cast<double>(r.rows);
    solves += static_cast<double>(r.solves);
    iterations += static_cast<double>(r.iterations);
    failed += r.outcome != RodOutcome::Converged;
    most_solves = std::max(most_solves, r.solves);
    most_iterations = std::max(most_iterations, r.iterations);
    residual = std::max(residual, r.residual);
    deepest = std::max(deepest, r.deepest);
    seconds += time;
  }
  void print(const char* name, const Rods& rods) const {
    const auto n = static_cast<double>(rods.uid.size());
    double gyration = 0, order_x = 0, order_y = 0;
    for (std::size_t i = 0; i < rods.uid.size(); ++i) {
      gyration += rods.q[3 * i] * rods.q[3 * i] + rods.q[3 * i + 1] * rods.q[3 * i + 1];
      order_x += std::cos(2 * rods.q[3 * i + 2]);
      order_y += std::sin(2 * rods.q[3 * i + 2]);
    }
    const double per = std::max(1, count);
    std::printf(
        "%s %.0f cells: %d steps, rows per cell %.3f at first %.3f at last, solves %.2f (%lld), "
        "products %.0f per step (cold %.0f, most %lld), %.2f ms per step, %.1f us per product, "
        "%.1f s, residual "
        "%.1e, overlap %.2e, %.0f failed; length %.3f, gyration %.4f, order %.4f\n",
        name, n, count, first / per / n, rows / per / n, solves / per,
        static_cast<long long>(most_solves), iterations / per, cold,
        static_cast<long long>(most_iterations), 1e3 * seconds / per,
        1e6 * seconds / std::max(1.0, iterations), seconds, residual, deepest, failed,
        rods.length.empty() ? 0 : rods.length[0], std::sqrt(gyration / n),
        std::hypot(order_x, order_y) / n);
    std::fflush(stdout);
  }
};

Rods one_cell() { return {{0, 0, 0.3}, {2}, {1}}; }

void compare_bits(const CudaLibrary& cuda, const RodSettings& settings) {
  World device(&cuda, settings), host(nullptr, settings);
  Rods rods = one_cell();
  std::size_t different = 0, numbers = 0;
  while (rods.uid.size() < 128) {
    device.put(rods);
    host.put(rods);
    while (host.get().length[0] < 4) {
      const RodReport a = device.step(), b = host.step();
      different += a.iterations != b.iterations || a.rows != b.rows || a.deepest != b.deepest;
    }
    const Rods& other = device.get();
    rods = host.get();
    for (std::size_t i = 0; i < rods.q.size(); ++i) different += rods.q[i] != other.q[i];
    numbers += rods.q.size();
    divide_rods({}, rods);
  }
  std::printf("bits: a colony to 64 cells: %zu of %zu numbers differ\n", different, numbers);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) CudaLibrary::die("usage: rods_bench LIBRARY|host [--cells N] [...]");
  RodSettings settings;
  std::size_t cells = 4096;
  double most_seconds = 1e9;
  const char *from = nullptr, *to = nullptr;
  int most_steps = 1 << 30;
  for (int i = 2; i < argc; ++i) {
    const std::string a = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--as-step") {
      settings.as_step = true;
      continue;
    }
    ++i;
    if (a == "--cells")
      cells = std::strtoul(value, nullptr, 10);
    else if (a == "--seconds")
      most_seconds = std::atof(value);
    else if (a == "--steps")
      most_steps = std::atoi(value);
    else if (a == "--from")
      from = value;
    else if (a == "--to")
      to = value;
    else if (a == "--tolerance")
      settings.tolerance = std::atof(value);
    else if (a == "--interior-from")
      settings.interior_from = std::atoi(value);
    else
      CudaLibrary::die(("unknown: " + a).c_str());
  }
  set_thread_count(0);
  std::unique_ptr<CudaLibrary> cuda;
  if (std::strcmp(argv[1], "host") != 0) {
    cuda = std::make_unique<CudaLibrary>(argv[1]);
    if (from == nullptr) compare_bits(*cuda, settings);
  }
  World world(cuda.get(), settings);
  Rods rods = from != nullptr ? read(from) : one_cell();
  const double start = now();
  bool over = false;
  while (!over) {
    world.put(rods);
    Steps steps;
    const double last_length = 2 * std::sqrt(2.0);
    const bool last = rods.uid.size() >= cells;
    double length = rods.length[0];
    const char* name = "part of";
    for (;;) {
      if (length >= 4 || (last && length >= last_length)) {
        name = last ? "half of" : "all of";
        over = last;
        break;
      }
      if (now() - start > most_seconds || steps.count >= most_steps) {
        over = true;
        break;
      }
      const double begin = now();
      const RodReport report = world.step();
      steps.add(report, now() - begin);
      length *= std::exp(settings.h * settings.growth);
      if (report.outcome == RodOutcome::NotFinite) CudaLibrary::die("a number is not finite");
    }
    rods = world.get();
    steps.print(name, rods);
    if (!over) divide_rods({}, rods);
  }
  if (to != nullptr) write(to, rods);
  std::printf("%.1f s in all\n", now() - start);
  return 0;
}
