// SPDX-License-Identifier: Apache-2.0
// math/law_test.cpp: projections are projections, and their derivatives are derivatives.
// GCC 12 loses sight of the loops over law.dim <= kMaxLawDim and warns about the arrays.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include "orthant/math/law.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "math/law_kernel.hpp"
#include "orthant/base/error.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;
constexpr int kMax = kMaxLawDim;

std::vector<Law> laws(double mu, double mu_r) {
  return {Law::zero(2),
          Law::free(2),
          Law::orthant(3),
          Law::box(-0.4, 1.1),
          Law::soc(2, mu),
          Law::soc(3, mu),
          Law::coulomb(2, mu),
          Law::coulomb(3, mu),
          Law::rolling_soc(3, mu, mu_r),
          Law::rolling(5, mu, mu_r)};
}

double dot(const double* a, const double* b, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) s += a[i] * b[i];
  return s;
}

/// A random point of K.
void draw_member(SplitMix& rng, const Law& law, double* y) {
  for (int i = 0; i < law.dim; ++i) y[i] = 2 * rng.normal();
  if (law.kind == LawKind::Zero) std::fill(y, y + law.dim, 0.0);
  if (law.kind == LawKind::Orthant) {
    for (int i = 0; i < law.dim; ++i) y[i] = std::abs(y[i]);
  }
  if (law.kind == LawKind::Box) y[0] = rng.uniform(law.lo, law.hi);
  if (!law.is_frictional()) return;
  y[0] = std::abs(y[0]);
  const int nt = law.tangent_dim(), nr = law.rolling_dim();
  for (int g = 0; g < (nr > 0 ? 2 : 1); ++g) {
    double* t = y + 1 + (g ? nt : 0);
    const int n = g ? nr : nt;
    const double limit = (g ? law.mu_r : law.mu) * y[0], norm = std::sqrt(dot(t, t, n));
    for (int i = 0; i < n; ++i) t[i] *= norm > 0 ? limit * rng.uniform() / norm : 0;
  }
}

TEST(Law, ProjectionIsTheNearestPoint) {
  SplitMix rng(1);
  for (int round = 0; round < 2000; ++round) {
    for (const Law& law : laws(rng.uniform(0, 2), rng.uniform(0, 1))) {
      double z[kMax], p[kMax], again[kMax], y[kMax], gap[kMax], step[kMax];
      for (int i = 0; i < law.dim; ++i) z[i] = 2 * rng.normal();
      project(law, z, p);
      project(law, p, again);
      for (int i = 0; i < law.dim; ++i) EXPECT_NEAR(again[i], p[i], 1e-14) << name_of(law.kind);
      // (z − Π)·(y − Π) ≤ 0 for every y in K: the definition of the projection on a convex set.
      for (int k = 0; k < 5; ++k) {
        draw_member(rng, law, y);
        for (int i = 0; i < law.dim; ++i) gap[i] = z[i] - p[i], step[i] = y[i] - p[i];
        EXPECT_LE(dot(gap, step, law.dim), 1e-12) << name_of(law.kind);
      }
    }
  }
}

TEST(Law, MoreauSplitsAPointIntoConeAndDual) {
  SplitMix rng(2);
  for (int round = 0; round < 2000; ++round) {
    for (const Law& law : laws(rng.uniform(0, 2), rng.uniform(0, 1))) {
      if (law.kind == LawKind::Box) continue;  // not a cone
      double z[kMax], minus[kMax], p[kMax], d[kMax], y[kMax];
      for (int i = 0; i < law.dim; ++i) z[i] = rng.normal(), minus[i] = -z[i];
      project(law, z, p);
      project_dual(law, minus, d);
      // z = Π_K(z) − Π_K*(−z), the two orthogonal, and the second in the dual.
      for (int i = 0; i < law.dim; ++i) EXPECT_NEAR(p[i] - d[i], z[i], 1e-14);
      EXPECT_NEAR(dot(p, d, law.dim), 0, 1e-13);
      draw_member(rng, law, y);
      EXPECT_GE(dot(d, y, law.dim), -1e-12) << name_of(law.kind);
    }
  }
}

TEST(Law, DerivativeOfTheProjectionMatchesDifferences) {
  SplitMix rng(3);
  int compared = 0;
  const double h = 1e-6;
  for (int round = 0; round < 1000; ++round) {
    for (const Law& law : laws(rng.uniform(0.1, 2), rng.uniform(0.1, 1))) {
      double z[kMax], hi[kMax], lo[kMax], zh[kMax], zl[kMax];
      for (int i = 0; i < law.dim; ++i) z[i] = 2 * rng.normal();
      const ProjectionDerivative D = projection_derivative(law, z);
      for (int j = 0; j < law.dim; ++j) {
        std::copy_n(z, law.dim, zh);
        std::copy_n(z, law.dim, zl);
        zh[j] += h;
        zl[j] -= h;
        // A kink between the two points makes a difference meaningless.
        double kink = 0;
        const ProjectionDerivative A = projection_derivative(law, zh),
                                   B = projection_derivative(law, zl);
        for (int i = 0; i < law.dim * law.dim; ++i)
          kink = std::max(kink, std::abs(A.P[i] - B.P[i]));
        if (kink > 1e-3) continue;
        ++compared;
        project(law, zh, hi);
        project(law, zl, lo);
        for (int i = 0; i < law.dim; ++i) {
          EXPECT_NEAR(D.P[i * law.dim + j], (hi[i] - lo[i]) / (2 * h), 1e-5)
              << name_of(law.kind) << " " << i << j;
        }
      }
      if (!law.is_frictional()) continue;
      for (int which = 0; which < (law.has_rolling() ? 2 : 1); ++which) {
        Law up = law, down = law;
        (which ? up.mu_r : up.mu) += h;
        (which ? down.mu_r : down.mu) -= h;
        const ProjectionDerivative A = projection_derivative(up, z),
                                   B = projection_derivative(down, z);
        double kink = 0;
        for (int i = 0; i < law.dim * law.dim; ++i)
          kink = std::max(kink, std::abs(A.P[i] - B.P[i]));
        if (kink > 1e-3) continue;
        project(up, z, hi);
        project(down, z, lo);
        for (int i = 0; i < law.dim; ++i) {
          EXPECT_NEAR((which ? D.P_mu_r : D.P_mu)[i], (hi[i] - lo[i]) / (2 * h), 1e-4)
              << name_of(law.kind);
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

TEST(Law, ShiftMatchesItsDerivative) {
  SplitMix rng(4);
  for (int round = 0; round < 500; ++round) {
    for (const Law& law : laws(rng.uniform(0.1, 2), rng.uniform(0.1, 1))) {
      double w[kMax] = {}, up[kMax], down[kMax];
      for (int i = 0; i < law.dim; ++i) w[i] = rng.normal();
      if (!law.is_exact()) {
        EXPECT_EQ(shift_of(law, w), 0);
        continue;
      }
      const ShiftDerivative G = shift_derivative(law, w);
      for (int j = 0; j < law.dim; ++j) {
        std::copy_n(w, law.dim, up);
        std::copy_n(w, law.dim, down);
        up[j] += 1e-7;
        down[j] -= 1e-7;
        // |w_t| curves as 1/|w_t|: relative to that.
        EXPECT_NEAR(G.row[j], (shift_of(law, up) - shift_of(law, down)) / 2e-7, 1e-5);
      }
      EXPECT_NEAR(G.g, norm_of(w + 1, law.tangent_dim()), 1e-14);
    }
  }
}

TEST(Law, KnowsItsThreeRegions) {
  const Law law = Law::coulomb(3, 0.5);
  const double stick[3] = {2, 0.6, 0.8}, apart[3] = {-2, 3, 0}, slide[3] = {1, 3, 4};
  EXPECT_EQ(projection_derivative(law, stick).region, ConeRegion::Stick);
  EXPECT_EQ(projection_derivative(law, apart).region, ConeRegion::Separate);
  EXPECT_EQ(projection_derivative(law, slide).region, ConeRegion::Slide);
  // λ_n = (z_n + μ|z_t|)/(1 + μ²) = 3.5/1.25.
  double p[3];
  project(law, slide, p);
  EXPECT_NEAR(p[0], 2.8, 1e-15);
  EXPECT_NEAR(p[1], 0.84, 1e-15);
  EXPECT_NEAR(p[2], 1.12, 1e-15);
}

TEST(Law, RefusesDataThatMeansNothing) {
  EXPECT_NO_THROW(validate(Law::coulomb(3, 0), "here"));
  EXPECT_THROW(validate(Law::coulomb(3, -0.1), "here"), Error);
  EXPECT_THROW(validate(Law::coulomb(4, 0.1), "here"), Error);
  EXPECT_THROW(validate(Law::coulomb(3, std::nan("")), "here"), Error);
  EXPECT_THROW(validate(Law::rolling(5, 0.1, -1), "here"), Error);
  EXPECT_THROW(validate(Law::box(1, 0), "here"), Error);
}

}  // namespace
}  // namespace orthant
