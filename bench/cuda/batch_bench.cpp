// SPDX-License-Identifier: Apache-2.0
// bench/cuda/batch_bench.cpp: batch_bench LIBRARY [quick|bits]: ants, quadrupeds and arms in
// batches on a CUDA device, beside the host back end on all cores: bits, world-steps per second
// forward and backward, memory, residual, certificate, bad input. One line per measurement, as
// docs/gpu.md quotes it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "device/device_for.hpp"
#include "library.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/device/batch.hpp"
#include "scenes/batch_worlds.hpp"

using namespace orthant;

namespace {

constexpr std::size_t kReport = static_cast<std::size_t>(BatchReport::Count);
constexpr std::size_t kCertificate = static_cast<std::size_t>(BatchCertificate::Count);

struct Array {
  const CudaLibrary& cuda;
  void* memory = nullptr;
  std::size_t count;
  Array(const CudaLibrary& c, std::size_t n) : cuda(c), count(n) {
    cuda.require(cuda.allocate(std::max<std::size_t>(n, 1) * sizeof(double), &memory));
  }
  Array(const CudaLibrary& c, const std::vector<double>& from) : Array(c, from.size()) {
    set(from);
  }
  ~Array() { cuda.release(memory); }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  void set(const std::vector<double>& x) {
    cuda.require(cuda.upload(memory, x.data(), count * sizeof(double)));
  }
  std::vector<double> get() const {
    std::vector<double> x(count);
    cuda.require(cuda.download(x.data(), memory, count * sizeof(double)));
    return x;
  }
  double* data() const { return static_cast<double*>(memory); }
};

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}
double random_number(std::uint64_t key) {
  return static_cast<double>(mix(key) >> 11) * 0x1p-52 - 1;
}  // [-1, 1)

/// Worlds that differ, and the controls of step t: world i is the same in any batch.
struct Worlds {
  std::vector<double> q, v, warm, u, report;
  Worlds(const Model& model, const BatchProgram& p, std::size_t n, std::size_t first = 0) {
    const State x = model.rest_state();
    for (std::size_t i = 0; i < n; ++i) {
      q.insert(q.end(), x.q.data(), x.q.data() + x.q.size());
      for (std::size_t k = 0; k < p.v_size(); ++k)
        v.push_back(0.3 * random_number(1000 * (i + first) + k));
    }
    warm.assign(n * p.warm_size(), 0);
    report.assign(n * kReport, 0);
    u.assign(n * p.control_count(), 0);
  }
  void control(const BatchProgram& p, int t, std::size_t first = 0) {
    const std::size_t n = p.control_count();
    for (std::size_t i = 0; i < u.size(); ++i)
      u[i] = 0.7 * random_number(77'000'000 + 1'000'003 * static_cast<std::uint64_t>(t / 10) +
                                 first * n + i);
  }
};

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Summary {
  double failed = 0, residual = 0, contacts = 0, sweeps = 0, newton = 0, rounds = 0, deepest = 0,
         joint = 0;
  explicit Summary(const std::vector<double>& report) {
    const std::size_t n = report.size() / kReport;
    for (std::size_t i = 0; i < n; ++i) {
      const double* r = report.data() + i * kReport;
      failed += r[0] != 0;
      contacts += r[1] / static_cast<double>(n), sweeps += r[2] / static_cast<double>(n);
      newton += r[3] / static_cast<double>(n), rounds += r[4] / static_cast<double>(n);
      residual = std::max(residual, r[5]), deepest = std::max(deepest, r[6]),
      joint = std::max(joint, r[7]);
    }
  }
};

std::size_t differences(const std::vector<double>& a, const std::vector<double>& b) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < b.size(); ++i) n += std::memcmp(&a[i], &b[i], sizeof(double)) != 0;
  return n;
}

struct Bench {
  const CudaLibrary& cuda;
  const char* name;
  const Model model;
  std::vector<double> parameters;

  Bench(const CudaLibrary& c, const char* n, Model m) : cuda(c), name(n), model(std::move(m)) {
    const Parameters p = model.default_parameters();
    parameters.assign(p.values.data(), p.values.data() + p.values.size());
  }
  static StepSettings settings(Stabilisation s, double tolerance) {
    StepSettings x;
    x.h = 0.01;
    x.stabilisation = s;
    x.solver.tolerance = tolerance;
    return x;
  }

  /// The same worlds on the device and on the host, forward and backward: numbers that differ.
  void bits(Stabilisation s) const {
    const BatchProgram p(model, settings(s, 1e-10));
    const std::size_t n = 96;
    const int steps = 60;
    Worlds host(model, p, n);
    orthant_cuda_batch* batch = nullptr;
    cuda.require(cuda.create(p.bytes().data(), p.bytes().size(), n, 1, nullptr, &batch));
    Array q(cuda, host.q), v(cuda, host.v), warm(cuda, host.warm), u(cuda, host.u),
        report(cuda, host.report), par(cuda, parameters);
    std::size_t forward = 0, backward = 0, touching = 0;
    double floating = 0, solve_error = 0;
    for (int t = 0; t < steps; ++t) {
      host.control(p, t);
      u.set(host.u);
      const std::vector<double> q0 = host.q, v0 = host.v;
      cuda.require(cuda.step(batch, q.data(), v.data(), warm.data(), u.data(), par.data(), 1,
                             report.data(), nullptr));
      p.step(host.q, host.v, host.warm, host.u, parameters, host.report);
      forward += differences(q.get(), host.q) + differences(v.get(), host.v) +
                 differences(warm.get(), host.warm) + differences(report.get(), host.report);
      for (const double l : host.warm) touching += l != 0;
      if (t % 10 != 9) continue;
      std::vector<double> by_q_next(n * p.v_size()), by_v_next(n * p.v_size()),
          by_q(n * p.v_size()), by_v(n * p.v_size()), by_u(n * p.control_count()),
          by_p(n * p.parameter_count()), certificate(n * kCertificate);
      for (std::size_t i = 0; i < by_q_next.size(); ++i)
        by_q_next[i] = random_number(5'000'000 + i), by_v_next[i] = random_number(6'000'000 + i);
      Array dq0(cuda, q0), dv0(cuda, v0), dbq(cuda, by_q_next), dbv(cuda, by_v_next),
          oq(cuda, by_q), ov(cuda, by_v), ou(cuda, by_u), op(cuda, by_p), oc(cuda, certificate);
      cuda.require(cuda.pull_back(batch, dq0.data(), dv0.data(), warm.data(), u.data(), par.data(),
                                  1, dbq.data(), dbv.data(), oq.data(), ov.data(), ou.data(),
                                  op.data(), nullptr, oc.data(), nullptr));
      p.pull_back(q0, v0, host.warm, host.u, parameters, by_q_next, by_v_next, by_q, by_v, by_u,
                  by_p, {}, certificate);
      backward += differences(oq.get(), by_q) + differences(ov.get(), by_v) +
                  differences(ou.get(), by_u) + differences(op.get(), by_p) +
                  differences(oc.get(), certificate);
      for (std::size_t i = 0; i < n; ++i) {
        floating += certificate[i * kCertificate];
        solve_error = std::max(solve_error, certificate[i * kCertificate + 3]);
      }
    }
    cuda.destroy(batch);
    std::printf(
        "bits, %s, %s: %zu worlds, %d steps, %zu impulses: numbers that differ from the host: "
        "forward "
        "%zu, backward %zu; "
        "floating %g, solve error %.1e\n",
        name, s == Stabilisation::Projection ? "projection" : "baumgarte", n, steps, touching,
        forward, backward, floating, solve_error);
  }

  void speed(Stabilisation s, double tolerance, std::size_t n, bool gradient, int warm_up,
             int steps) const {
    const BatchProgram p(model, settings(s, tolerance));
    Worlds w(model, p, n);
    orthant_cuda_batch* batch = nullptr;
    std::size_t bytes = 0;
    cuda.require(cuda.create(p.bytes().data(), p.bytes().size(), n, gradient, &bytes, &batch));
    Array q(cuda, w.q), v(cuda, w.v), warm(cuda, w.warm), u(cuda, w.u), report(cuda, w.report),
        par(cuda, parameters);
    std::vector<double> forward, backward;
    double residual = 0, failed = 0, wall = 0;
    double floating = 0, solve_error = 0, margin = 1;
    for (int t = 0; t < warm_up + steps; ++t) {
      if (t % 10 == 0) {
        w.control(p, t);
        u.set(w.u);
      }
      const bool reverse = gradient && t >= warm_up && t % 5 == 4;
      std::vector<double> q0, v0;
      if (reverse) q0 = q.get(), v0 = v.get();
      float ms = 0;
      const double begin = seconds();
      cuda.require(cuda.step(batch, q.data(), v.data(), warm.data(), u.data(), par.data(), 1,
                             report.data(), &ms));
      if (t < warm_up) continue;
      wall += seconds() - begin;
      forward.push_back(ms);
      if (t % 5 == 4) {
        const Summary some(report.get());
        residual = std::max(residual, some.residual), failed += some.failed;
      }
      if (!reverse) continue;
      const std::vector<double> ones(n * p.v_size(), 1.0), zero_u(n * p.control_count());
      Array dq0(cuda, q0), dv0(cuda, v0), dbq(cuda, ones), dbv(cuda, ones),
          oq(cuda, n * p.v_size()), ov(cuda, n * p.v_size()), ou(cuda, zero_u),
          oc(cuda, n * kCertificate);
      cuda.require(cuda.pull_back(batch, dq0.data(), dv0.data(), warm.data(), u.data(), par.data(),
                                  1, dbq.data(), dbv.data(), oq.data(), ov.data(), ou.data(),
                                  nullptr, nullptr, oc.data(), &ms));
      backward.push_back(ms);
      const std::vector<double> c = oc.get();
      for (std::size_t i = 0; i < n; ++i) {
        floating += c[i * kCertificate] > 0;
        margin = std::min(margin, c[i * kCertificate + 2]);
        solve_error = std::max(solve_error, c[i * kCertificate + 3]);
      }
    }
    const Summary last(report.get());
    std::sort(forward.begin(), forward.end());
    std::sort(backward.begin(), backward.end());
    const double f = forward[forward.size() / 2];
    std::printf("%s %s tol %.0e worlds %zu: forward %.3f ms (max %.3f) = %.3f M world-steps/s; ",
                name, s == Stabilisation::Projection ? "projection" : "baumgarte", tolerance, n, f,
                forward.back(), static_cast<double>(n) / f / 1e3);
    if (!backward.empty()) {
      const double b = backward[backward.size() / 2];
      std::printf(
          "backward %.3f ms = %.2f x; fwd+bwd %.3f M/s; floating %g of %zu, solve error %.1e, "
          "margin %.1e; ",
          b, b / f, static_cast<double>(n) / (f + b) / 1e3, floating, n * backward.size(),
          solve_error, margin);
    }
    std::printf(
        "residual %.1e, failed %g; contacts %.1f, sweeps %.1f, newton %.1f, rounds %.1f; joint "
        "error %.1e, deepest %.1e; "
        "memory %zu MiB, %zu kB per world; wall %.3f ms\n",
        residual, failed, last.contacts, last.sweeps, last.newton, last.rounds, last.joint,
        last.deepest, bytes >> 20, bytes / n / 1000, 1e3 * wall / steps);
    std::fflush(stdout);
    cuda.destroy(batch);
  }

  void host_speed(Stabilisation s, double tolerance, std::size_t n, int warm_up, int steps,
                  bool gradient) const {
    const BatchProgram p(model, settings(s, tolerance));
    Worlds w(model, p, n);
    double forward = 0, backward = 0;
    std::vector<double> by(n * p.v_size(), 1.0), by_q(by), by_v(by), by_u(n * p.control_count()),
        c(n * kCertificate);
    int reversed = 0;
    for (int t = 0; t < warm_up + steps; ++t) {
      if (t % 10 == 0) w.control(p, t);
      const std::vector<double> q0 = w.q, v0 = w.v;
      const double begin = seconds();
      p.step(w.q, w.v, w.warm, w.u, parameters, w.report);
      if (t < warm_up) continue;
      forward += seconds() - begin;
      if (!gradient || t % 5 != 4) continue;
      const double then = seconds();
      p.pull_back(q0, v0, w.warm, w.u, parameters, by, by, by_q, by_v, by_u, {}, {}, c);
      backward += seconds() - then;
      ++reversed;
    }
    const Summary last(w.report);
    std::printf(
        "host %d threads, %s %s tol %.0e worlds %zu: forward %.1f k world-steps/s, backward %.1f "
        "k/s; residual %.1e, failed %g\n",
        thread_count(), name, s == Stabilisation::Projection ? "projection" : "baumgarte",
        tolerance, n, static_cast<double>(n) * steps / forward / 1e3,
        reversed > 0 ? static_cast<double>(n) * reversed / backward / 1e3 : 0.0, last.residual,
        last.failed);
    std::fflush(stdout);
  }

  void sum() const {
    std::vector<double> x(1'000'003);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = random_number(i) * std::exp(20 * random_number(i + 7));
    const Array on_device(cuda, x);
    double there = 0;
    cuda.require(cuda.sum(on_device.data(), x.size(), &there));
    const double here = device::device_sum(x.size(), [&](std::size_t i) { return x[i]; });
    std::printf("sum of %zu numbers: %.17g, on the host %.17g: %s\n", x.size(), there, here,
                std::memcmp(&there, &here, sizeof(double)) == 0 ? "same bits" : "DIFFERENT");
  }

  void bad_input() const {
    const BatchProgram p(model, settings(Stabilisation::Baumgarte, 1e-6));
    orthant_cuda_batch* batch = nullptr;
    std::size_t bytes = 0;
    if (cuda.create(p.bytes().data(), p.bytes().size(), 100'000'000, 1, &bytes, &batch) != 0)
      std::printf("refused: %s\n", cuda.error());
    const std::size_t n = 10'000;
    Worlds w(model, p, n);
    w.v[4321 * p.v_size() + 7] = std::nan("");
    cuda.require(cuda.create(p.bytes().data(), p.bytes().size(), n, 0, &bytes, &batch));
    Array q(cuda, w.q), v(cuda, w.v), warm(cuda, w.warm), u(cuda, w.u), report(cuda, w.report),
        par(cuda, parameters);
    for (int t = 0; t < 5; ++t)
      cuda.require(cuda.step(batch, q.data(), v.data(), warm.data(), u.data(), par.data(), 1,
                             report.data(), nullptr));
    const std::vector<double> r = report.get();
    std::size_t not_finite = 0, at = 0, converged = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (r[i * kReport] == 2) ++not_finite, at = i;
      converged += r[i * kReport] == 0;
    }
    std::printf("NaN in world 4321 of %zu: not finite %zu (world %zu), converged %zu\n", n,
                not_finite, at, converged);
    cuda.destroy(batch);
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) CudaLibrary::die("usage: batch_bench liborthant_cuda.so [quick]");
  const std::string mode = argc > 2 ? argv[2] : "full";
  const CudaLibrary cuda(argv[1]);
  int count = 0;
  char name[256] = "";
  std::size_t free = 0, total = 0;
  cuda.require(cuda.devices(&count, name, sizeof(name), &free, &total));
  std::printf("%s, %zu of %zu MiB free\n", name, free >> 20, total >> 20);
  set_thread_count(0);
  const Bench ant(cuda, "ant", scenes::ant(0.6)), quadruped(cuda, "quadruped", scenes::quadruped()),
      arm(cuda, "arm with block", scenes::arm_with_block());
  const std::initializer_list<const Bench*> all = {&ant, &quadruped, &arm};
  ant.sum();
  for (const Bench* bench : all) {
    bench->bits(Stabilisation::Baumgarte);
    bench->bits(Stabilisation::Projection);
  }
  if (mode == "bits") return 0;
  const int warm = 60, steps = 20;
  for (const Bench* bench : all) {
    for (const std::size_t n : {4096, 16384}) {
      bench->speed(Stabilisation::Baumgarte, 1e-6, n, true, warm, steps);
      bench->speed(Stabilisation::Projection, 1e-6, n, true, warm, steps);
    }
    bench->host_speed(Stabilisation::Baumgarte, 1e-6, 2048, warm, steps, true);
  }
  ant.bad_input();
  if (mode == "quick") return 0;
  ant.speed(Stabilisation::Baumgarte, 1e-10, 16384, true, warm, steps);
  ant.speed(Stabilisation::Projection, 1e-10, 16384, true, warm, steps);
  ant.speed(Stabilisation::Baumgarte, 1e-6, 65536, true, warm, steps);
  for (const Bench* bench : all)
    bench->host_speed(Stabilisation::Projection, 1e-6, 2048, warm, steps, true);
  return 0;
}
