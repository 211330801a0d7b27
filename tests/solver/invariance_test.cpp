// SPDX-License-Identifier: Apache-2.0
// solver/invariance_test.cpp: units must not matter, nor the number of threads.
// Lengths × a, masses × m, times × t: the answer scales along and takes as many iterations.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/parallel.hpp"
#include "orthant/solver/solve.hpp"
#include "support/random_problems.hpp"

namespace orthant {
namespace {

using testing::KnownProblem;
using testing::SplitMix;

struct Units {
  double length, mass, time;
};

/// Factor of a velocity entry (linear: length/time, angular: 1/time) and of an impulse row.
double speed_factor(const Units& u, bool angular) { return (angular ? 1.0 : u.length) / u.time; }
double impulse_factor(const Units& u, bool angular) {
  return u.mass * u.length / u.time * (angular ? u.length : 1.0);
}

/// The same bodies and contacts in other units. nv 3: planar (2 linear), 6: spatial (3 linear).
CanonicalProblem in_units(const CanonicalProblem& p, int nv, const Units& u) {
  CanonicalProblem out = p;
  const int linear = nv == 3 ? 2 : 3;
  const auto angular = [&](Index i) { return i % nv >= linear; };
  for (Index b = 0; b < out.H.block_count(); ++b) {
    for (int r = 0; r < nv; ++r) {
      for (int c = 0; c < nv; ++c)
        out.H.block(b)[r * nv + c] *= impulse_factor(u, angular(r)) / speed_factor(u, angular(c));
    }
  }
  for (Index i = 0; i < out.k.size(); ++i) out.k[i] *= impulse_factor(u, angular(i));
  for (Index i = 0; i < out.D.row_block_count(); ++i) {
    Law& law = out.laws[static_cast<std::size_t>(i)];
    double* d = out.D.values(i);
    const auto torque = [&](Index r) { return r > law.tangent_dim(); };
    for (const auto& entry : out.D.entries(i)) {
      for (Index r = 0; r < law.dim; ++r) {
        for (Index c = 0; c < entry.width; ++c)
          d[r * entry.width + c] *= speed_factor(u, torque(r)) / speed_factor(u, angular(c));
      }
      d += static_cast<std::ptrdiff_t>(law.dim) * entry.width;
    }
    for (Index r = 0; r < law.dim; ++r) out.b[out.D.row_begin(i) + r] *= speed_factor(u, torque(r));
    law.mu_r *= u.length;
  }
  return out;
}

SolveReport run(const CanonicalProblem& p, Solution& x) {
  SolveSettings settings;
  settings.tolerance = 1e-10;
  return solve(p, settings, x);
}

TEST(Invariance, UnitsDoNotMatter) {
  int changed = 0, compared = 0;
  for (const int dim : {2, 3, 5}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      SplitMix rng(seed);
      // Fewer rows than velocities, so that the answer is one.
      const KnownProblem known =
          random_contacts(rng, {.bodies = 6, .contacts = dim == 5 ? 4 : 7, .dim = dim});
      Solution x;
      const SolveReport before = run(known.problem, x);
      ASSERT_EQ(before.outcome, Outcome::Converged);
      for (const Units& u :
           {Units{1e6, 1, 1}, Units{1e-6, 1, 1}, Units{1, 1e6, 1}, Units{1, 1e-6, 1},
            Units{1, 1, 1e6}, Units{1, 1, 1e-6}, Units{1e-6, 1e6, 1e-6}}) {
        // The judge's step of a rolling block mixes forces and torques, so lengths matter to it.
        if (dim == 5 && u.length != 1) continue;
        SCOPED_TRACE(::testing::Message() << "dim " << dim << ", seed " << seed << ", units "
                                          << u.length << " " << u.mass << " " << u.time);
        const int nv = dim == 2 ? 3 : 6;
        Solution y;
        const SolveReport after = run(in_units(known.problem, nv, u), y);
        EXPECT_EQ(after.outcome, Outcome::Converged);
        EXPECT_LE(std::abs(after.iterations - before.iterations), 0.2 * before.iterations);
        changed += after.iterations != before.iterations;
        ++compared;
        for (Index i = 0; i < x.v.size(); ++i)
          y.v[i] /= speed_factor(u, i % nv >= (nv == 3 ? 2 : 3));
        for (Index i = 0; i < x.lambda.size(); ++i) y.lambda[i] /= impulse_factor(u, i % dim >= 3);
        EXPECT_LE((y.v - x.v).norm(), 1e-7 * x.v.norm());
        EXPECT_LE((y.lambda - x.lambda).norm(), 1e-7 * x.lambda.norm());
      }
    }
  }
  std::printf("  iterations changed in %d of %d\n", changed, compared);
}

TEST(Invariance, ThreadsDoNotMatter) {
  const int before = thread_count();
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    // One island, and hundreds that threads share out.
    for (const testing::ContactProblemSpec& spec :
         {testing::ContactProblemSpec{.bodies = 60, .contacts = 150},
          testing::ContactProblemSpec{.bodies = 2000, .contacts = 800}}) {
      SplitMix rng(seed);
      const KnownProblem known = random_contacts(rng, spec);
      Solution reference;
      SolveReport first;
      for (const int threads : {1, 2, 3, 8}) {
        set_thread_count(threads);
        Solution x;
        const SolveReport report = run(known.problem, x);
        if (threads == 1) {
          reference = x;
          first = report;
        }
        EXPECT_EQ(x.lambda, reference.lambda) << threads;
        EXPECT_EQ(x.v, reference.v) << threads;
        EXPECT_EQ(report.iterations, first.iterations) << threads;
        EXPECT_EQ(report.method, first.method) << threads;
        EXPECT_EQ(report.attempts.size(), first.attempts.size()) << threads;
      }
      EXPECT_GT(first.island_count, spec.bodies > 60 ? 200 : 0);
    }
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace orthant
