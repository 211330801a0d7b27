// SPDX-License-Identifier: Apache-2.0
// solver/one_contact_test.cpp: the answer of a block solve satisfies its law, measured by the
// judge.
#include <gtest/gtest.h>

#include <cmath>

#include "math/law_kernel.hpp"
#include "solver/one_contact_kernel.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

constexpr int kMax = kMaxLawDim;

struct Block {
  Law law;
  double W[kMax * kMax] = {};
  double q[kMax] = {};
};

/// W = G Gᵀ with `rank` columns, plus a skew part, scaled; q random.
Block random_block(SplitMix& random, const Law& law, int rank, double skew, double scale) {
  Block block{law};
  const int n = law.dim;
  double G[kMax * kMax] = {};
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < rank; ++j) G[i * n + j] = random.normal();
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < rank; ++k) block.W[i * n + j] += scale * G[i * n + k] * G[j * n + k];
    }
    for (int j = 0; j < i; ++j) {
      const double s = skew * scale * random.normal();
      block.W[i * n + j] += s;
      block.W[j * n + i] -= s;
    }
  }
  // In the range of W, so that a semidefinite block has a solution that sticks or slides.
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < rank; ++j) block.q[i] += G[i * n + j] * random.normal();
  }
  return block;
}

/// |r − Π(r − τ w~)| / (|r| + τ (|W||r| + |q|)), the measure of the judge.
double residual(const Block& block, const double* r) {
  const int n = block.law.dim;
  double trace = 0, w[kMax] = {}, size[kMax] = {}, z[kMax] = {};
  for (int i = 0; i < n; ++i) trace += block.W[i * n + i];
  const double tau = n / trace;
  for (int i = 0; i < n; ++i) {
    w[i] = block.q[i];
    size[i] = std::abs(block.q[i]);
    for (int j = 0; j < n; ++j) {
      w[i] += block.W[i * n + j] * r[j];
      size[i] += std::abs(block.W[i * n + j] * r[j]);
    }
  }
  w[0] += shift_of(block.law, w);
  for (int i = 0; i < n; ++i) z[i] = r[i] - tau * w[i];
  project(block.law, z, z);
  double error = 0, terms = 0, impulse = 0;
  for (int i = 0; i < n; ++i) {
    error += (r[i] - z[i]) * (r[i] - z[i]);
    terms += size[i] * size[i];
    impulse += r[i] * r[i];
  }
  return std::sqrt(error) / (std::sqrt(impulse) + tau * std::sqrt(terms));
}

double worst_residual(const Law& kind, int rank, double skew, int count, double mu_high = 2) {
  SplitMix random(7);
  double worst = 0;
  for (int i = 0; i < count; ++i) {
    Law law = kind;
    law.mu = random.chance(0.1) ? 0.0 : random.uniform(0, mu_high);
    law.mu_r = law.has_rolling() ? random.uniform(0, 1) : 0.0;
    const Block block = random_block(random, law, rank, skew, random.log_uniform(1e-9, 1e9));
    double r[kMax] = {};
    (void)solve_one_block(block.law, block.W, block.q, r);
    const double value = residual(block, r);
    EXPECT_TRUE(value <= 1e-9) << name_of(law.kind) << law.dim + 0 << " block " << i << " mu "
                               << law.mu << " mu_r " << law.mu_r;
    worst = std::max(worst, value);
  }
  return worst;
}

TEST(OneContact, SolvesDefiniteCoulombBlocks) {
  EXPECT_LE(worst_residual(Law::coulomb(3, 0), 3, 0, 100000), 1e-12);
  EXPECT_LE(worst_residual(Law::coulomb(2, 0), 2, 0, 100000), 1e-12);
}

TEST(OneContact, SolvesUnsymmetricCoulombBlocks) {
  EXPECT_LE(worst_residual(Law::coulomb(3, 0), 3, 0.1, 100000), 1e-11);
}

TEST(OneContact, SolvesConvexConeBlocks) {
  EXPECT_LE(worst_residual(Law::soc(3, 0), 3, 0, 20000), 1e-11);
  EXPECT_LE(worst_residual(Law::soc(2, 0), 2, 0, 20000), 1e-11);
}

TEST(OneContact, SolvesRollingBlocks) {
  EXPECT_LE(worst_residual(Law::rolling(5, 0, 0), 5, 0, 20000), 1e-9);
  EXPECT_LE(worst_residual(Law::rolling(3, 0, 0), 3, 0, 20000), 1e-9);
  EXPECT_LE(worst_residual(Law::rolling_soc(5, 0, 0), 5, 0, 20000), 1e-9);
}

TEST(OneContact, SolvesSemidefiniteCoulombBlocks) {
  EXPECT_LE(worst_residual(Law::coulomb(3, 0), 2, 0, 20000, 0.5), 1e-9);
}

TEST(OneContact, NamesTheStateItFound) {
  const double W[9] = {2, 0, 0, 0, 1, 0, 0, 0, 1};
  double r[3];
  const double apart[3] = {0.1, 3, 4};
  EXPECT_EQ(solve_coulomb3(W, apart, 0.5, r), BlockState::Open);
  EXPECT_EQ(r[0], 0);
  // Normal impulse 1; a tangential velocity of 0.1 needs 0.1 < μ·1.
  const double slow[3] = {-2, 0.1, 0};
  EXPECT_EQ(solve_coulomb3(W, slow, 0.5, r), BlockState::Stick);
  EXPECT_NEAR(r[0], 1, 1e-15);
  EXPECT_NEAR(r[1], -0.1, 1e-15);
  // A velocity of 5 along (3, 4)/5 slides: |r_t| = 0.5 against it.
  const double fast[3] = {-2, 3, 4};
  EXPECT_EQ(solve_coulomb3(W, fast, 0.5, r), BlockState::Slide);
  EXPECT_NEAR(r[0], 1, 1e-15);
  EXPECT_NEAR(r[1], -0.3, 1e-15);
  EXPECT_NEAR(r[2], -0.4, 1e-15);
}

}  // namespace
}  // namespace orthant
