// SPDX-License-Identifier: Apache-2.0
// bench/cuda/spheres_bench.cpp: spheres_bench LIBRARY [COUNT...]: spheres that fall into a box, on
// a CUDA device: bits beside the host, milliseconds per step while they fall and when they lie,
// residual, overlap. One line per measurement, as docs/gpu.md quotes it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "library.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/device/spheres.hpp"

using namespace orthant;

namespace {

constexpr double kRadius = 0.035;

/// A box as wide as it is deep in spheres, filled from a loose lattice.
struct Drop {
  SphereArrays arrays;
  std::vector<double> q, v;

  explicit Drop(std::size_t count) {
    const auto side = static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(count))));
    const double pitch = 2.3 * kRadius, width = pitch * static_cast<double>(side);
    arrays.radius.assign(count, kRadius);
    arrays.mass.assign(count, 1.0);
    arrays.planes = {{Vec3(0, 0, 1), 0},
                     {Vec3(1, 0, 0), 0},
                     {Vec3(-1, 0, 0), -width},
                     {Vec3(0, 1, 0), 0},
                     {Vec3(0, -1, 0), -width}};
    q.assign(7 * count, 0.0);
    v.assign(6 * count, 0.0);
    std::uint64_t state = 1;
    const auto random = [&] {  // splitmix64 in [-1, 1)
      state += 0x9e3779b97f4a7c15u;
      std::uint64_t z = state;
      z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
      z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
      return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
    };
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t cell[3] = {i % side, i / side % side, i / (side * side)};
      for (std::size_t d = 0; d < 3; ++d)
        q[7 * i + d] = pitch * (static_cast<double>(cell[d]) + 0.5) + 0.14 * kRadius * random();
      q[7 * i + 3] = 1;
    }
  }
};

struct Device {
  const CudaLibrary& cuda;
  orthant_cuda_spheres* spheres = nullptr;
  void *q = nullptr, *v = nullptr;
  std::size_t count;
  double report[6] = {};

  Device(const CudaLibrary& c, const SphereProgram& program, const Drop& drop)
      : cuda(c), count(program.count()) {
    cuda.require(cuda.spheres_create(program.bytes().data(), program.bytes().size(), &spheres));
    cuda.require(cuda.allocate(drop.q.size() * 8, &q));
    cuda.require(cuda.allocate(drop.v.size() * 8, &v));
    cuda.require(cuda.upload(q, drop.q.data(), drop.q.size() * 8));
    cuda.require(cuda.upload(v, drop.v.data(), drop.v.size() * 8));
  }
  ~Device() {
    cuda.release(q);
    cuda.release(v);
    cuda.spheres_destroy(spheres);
  }
  float step() {
    float ms = 0;
    cuda.require(cuda.spheres_step(spheres, static_cast<double*>(q), static_cast<double*>(v), 0,
                                   report, &ms));
    return ms;
  }
  void get(std::vector<double>& to_q, std::vector<double>& to_v) {
    cuda.require(cuda.download(to_q.data(), q, to_q.size() * 8));
    cuda.require(cuda.download(to_v.data(), v, to_v.size() * 8));
  }
};

void compare_bits(const CudaLibrary& cuda) {
  Drop drop(20'000);
  SphereProgram program(drop.arrays, 0.01);
  Device device(cuda, program, drop);
  set_thread_count(0);
  std::vector<double> q = drop.q, v = drop.v;
  for (int i = 0; i < 40; ++i) {
    device.step();
    (void)program.step(q, v);
  }
  std::vector<double> dq(q.size()), dv(v.size());
  device.get(dq, dv);
  std::size_t different = 0;
  for (std::size_t i = 0; i < q.size(); ++i) different += q[i] != dq[i];
  for (std::size_t i = 0; i < v.size(); ++i) different += v[i] != dv[i];
  std::printf("bits: 20000 spheres, 40 steps: %zu of %zu numbers differ\n", different,
              q.size() + v.size());
}

/// Mean and largest overlap with planes and among neighbours, by a grid of its own.
void overlaps(const Drop& drop, const std::vector<double>& q, double& mean, double& most) {
  const std::size_t n = drop.arrays.radius.size();
  std::vector<std::pair<std::uint64_t, std::uint32_t>> cells(n);
  const auto key = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return (static_cast<std::uint64_t>(z + 1000) << 42) |
           (static_cast<std::uint64_t>(y + 1000) << 21) | static_cast<std::uint64_t>(x + 1000);
  };
  const auto axis = [&](std::size_t i, int d) {
    return static_cast<std::int64_t>(
        std::floor(q[7 * i + static_cast<std::size_t>(d)] / (2 * kRadius)));
  };
  for (std::size_t i = 0; i < n; ++i)
    cells[i] = {key(axis(i, 0), axis(i, 1), axis(i, 2)), static_cast<std::uint32_t>(i)};
  std::sort(cells.begin(), cells.end());
  double sum = 0;
  std::size_t touching = 0;
  most = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::int64_t dz = -1; dz <= 1; ++dz)
      for (std::int64_t dy = -1; dy <= 1; ++dy)
        for (std::int64_t dx = -1; dx <= 1; ++dx) {
          const std::uint64_t k = key(axis(i, 0) + dx, axis(i, 1) + dy, axis(i, 2) + dz);
          for (auto it = std::lower_bound(cells.begin(), cells.end(), std::pair{k, 0u});
               it != cells.end() && it->first == k; ++it) {
            if (it->second <= i) continue;
            double d2 = 0;
            for (std::size_t d = 0; d < 3; ++d) {
              const double a = q[7 * i + d] - q[7 * it->second + d];
              d2 += a * a;
            }
            const double overlap = 2 * kRadius - std::sqrt(d2);
            if (overlap <= 0) continue;
            sum += overlap;
            most = std::max(most, overlap);
            ++touching;
          }
        }
  mean = touching > 0 ? sum / static_cast<double>(touching) / kRadius : 0;
  most /= kRadius;
}

void measure(const CudaLibrary& cuda, std::size_t count, int sweeps) {
  Drop drop(count);
  SphereProgram program(drop.arrays, 0.01, {.sweeps = sweeps});
  Device device(cuda, program, drop);
  std::vector<double> q(drop.q.size()), v(drop.v.size());
  for (const auto& [name, steps] : {std::pair{"falling", 60}, {"landing", 140}, {"lying", 300}}) {
    std::vector<float> times;
    double residual = 0, late = 0;
    for (int i = 0; i < steps; ++i) {
      times.push_back(device.step());
      residual = std::max(residual, device.report[4]);
      late = std::max(late, device.report[1]);
    }
    std::sort(times.begin(), times.end());
    device.get(q, v);
    double mean = 0, most = 0, fastest = 0;
    overlaps(drop, q, mean, most);
    std::size_t escaped = 0;
    const double width = -drop.arrays.planes[2].offset;
    for (std::size_t i = 0; i < count; ++i) {
      fastest = std::max(fastest, std::hypot(v[6 * i], v[6 * i + 1], v[6 * i + 2]));
      escaped += !(q[7 * i + 2] > 0 && q[7 * i] > 0 && q[7 * i] < width && q[7 * i + 1] > 0 &&
                   q[7 * i + 1] < width);
    }
    std::printf(
        "%zu spheres, %d sweeps, %s: median %.2f ms, slowest %.2f ms per step; %.0f contacts (%.0f "
        "late at most), residual %.1e g h, overlap mean %.1e r, most %.1e r, fastest %.2f m/s, "
        "%zu escaped, %.0f not finite\n",
        count, sweeps, name, times[times.size() / 2], times.back(), device.report[0], late,
        residual, mean, most, fastest, escaped, device.report[3]);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) CudaLibrary::die("usage: spheres_bench LIBRARY [COUNT...]");
  const CudaLibrary cuda(argv[1]);
  compare_bits(cuda);
  std::vector<std::size_t> counts;
  for (int i = 2; i < argc; ++i) counts.push_back(std::strtoul(argv[i], nullptr, 10));
  if (counts.empty()) counts = {10'000, 100'000, 1'000'000};
  for (const std::size_t count : counts) measure(cuda, count, 30);
  return 0;
}
