// SPDX-License-Identifier: Apache-2.0
// bench/one_contact_bench.cpp: exact one-contact solves per second, with the worst residual
// reached.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "math/law_kernel.hpp"
#include "solver/one_contact_kernel.hpp"
#include "support/splitmix.hpp"

namespace {

using orthant::Law;
constexpr int kCount = 4096;
constexpr int kMax = orthant::kMaxLawDim;

struct Block {
  double W[kMax * kMax] = {};
  double q[kMax] = {};
  Law law;
};

/// Positive definite W, all three states about equally often.
std::vector<Block> random_blocks(const Law& kind) {
  orthant::testing::SplitMix rng(1);
  std::vector<Block> blocks(kCount);
  const int n = kind.dim;
  for (Block& block : blocks) {
    block.law = kind;
    block.law.mu = rng.uniform(0.1, 1);
    double G[kMax * kMax];
    for (double& g : G) g = rng.normal();
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        for (int k = 0; k < n; ++k) block.W[i * n + j] += G[i * n + k] * G[j * n + k];
      }
      block.W[i * n + i] += 0.1;
      block.q[i] = rng.normal() - (i == 0 ? 0.5 : 0.0);
    }
  }
  return blocks;
}

/// The judge's measure of one block.
double residual(const Block& block, const double* r) {
  const int n = block.law.dim;
  double w[kMax] = {}, z[kMax] = {}, size = 0, trace = 0, error = 0, impulse = 0;
  for (int i = 0; i < n; ++i) {
    w[i] = block.q[i];
    double terms = std::abs(block.q[i]);
    for (int j = 0; j < n; ++j) {
      w[i] += block.W[i * n + j] * r[j];
      terms += std::abs(block.W[i * n + j] * r[j]);
    }
    size += terms * terms;
    impulse += r[i] * r[i];
    trace += block.W[i * n + i];
  }
  const double tau = n / trace;
  w[0] += orthant::shift_of(block.law, w);
  for (int i = 0; i < n; ++i) z[i] = r[i] - tau * w[i];
  orthant::project(block.law, z, z);
  for (int i = 0; i < n; ++i) error += (r[i] - z[i]) * (r[i] - z[i]);
  return std::sqrt(error) / (std::sqrt(impulse) + tau * std::sqrt(size));
}

void one_contact(benchmark::State& state, Law kind) {
  const std::vector<Block> blocks = random_blocks(kind);
  std::vector<double> r(static_cast<std::size_t>(kCount) * kMax, 0.0);
  for (auto _ : state) {
    for (int i = 0; i < kCount; ++i) {
      double* out = r.data() + static_cast<std::size_t>(i) * kMax;
      if (kind.kind == orthant::LawKind::Coulomb && kind.dim == 3) {
        (void)orthant::solve_coulomb3(blocks[i].W, blocks[i].q, blocks[i].law.mu, out);
      } else {
        std::fill_n(out, kMax, 0.0);
        (void)orthant::solve_one_block(blocks[i].law, blocks[i].W, blocks[i].q, out);
      }
    }
    benchmark::DoNotOptimize(r.data());
  }
  double worst = 0;
  for (int i = 0; i < kCount; ++i) {
    worst = std::max(worst, residual(blocks[i], r.data() + static_cast<std::size_t>(i) * kMax));
  }
  state.counters["residual"] = worst;
  state.SetItemsProcessed(state.iterations() * kCount);
}

BENCHMARK_CAPTURE(one_contact, coulomb_3d, Law::coulomb(3, 0.5));
BENCHMARK_CAPTURE(one_contact, coulomb_2d, Law::coulomb(2, 0.5));
BENCHMARK_CAPTURE(one_contact, convex_3d, Law::soc(3, 0.5));
BENCHMARK_CAPTURE(one_contact, rolling, Law::rolling(5, 0.5, 0.1));

}  // namespace
