// SPDX-License-Identifier: Apache-2.0
// Each way of writing a block that falls or slides: its answer by hand, or its known failure.
#include "orthant/learn/formulations.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/learn/identify.hpp"
#include "orthant/problem/special_cases.hpp"
#include "solver/enumeration.hpp"
#include "solver/lemke.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using formulations::Block;
using formulations::solve_z;

/// Coulomb by hand: the velocity without friction, brought towards zero by at most dt μ g.
double slide_by_hand(const Block& b, double v, double u) {
  const double p = v + b.dt * u, grip = b.dt * b.mu * b.g;
  return std::abs(p) <= grip ? 0 : p - std::copysign(grip, p);
}

TEST(Formulations, FallingBlockLandsAndStays) {
  const double g = 9.81, dt = 0.01;
  double x = 1, v = 0;
  bool landed = false;
  for (int k = 0; k < 100; ++k) {
    const double next = solve_z(formulations::falling_block(x, v, g, dt))[0];
    const double free = x + dt * v - g * dt * dt;
    EXPECT_NEAR(next, std::max(0.0, free), 1e-12);
    v = (next - x) / dt;
    x = next;
    landed = landed || x == 0;
  }
  EXPECT_TRUE(landed);
  EXPECT_EQ(x, 0);
}

TEST(Formulations, SlidesForwards) {
  const Block b{.mu = 0.4, .g = 9.81, .dt = 0.05};
  for (const double v : {0.0, 0.1, 0.19, 0.3, 2.0})
    for (const double u : {0.0, 1.0, 3.9, 5.0})
      EXPECT_NEAR(solve_z(formulations::sliding_forward(b, v, u))[0], slide_by_hand(b, v, u),
                  1e-12);
  EXPECT_ANY_THROW((void)formulations::sliding_forward(b, -1, 0));
}

TEST(Formulations, ComplementaryVelocitiesOver30000RandomSteps) {
  testing::SplitMix rng(30000);
  const Block b{.mu = 0.3, .g = 9.81, .dt = 0.02};
  double plus = 0, minus = 0;
  int turns = 0, rests = 0;
  for (int k = 0; k < 30000; ++k) {
    const double u = 12 * rng.normal(), v = plus - minus;
    const VecX z = solve_z(formulations::sliding_direct(b, plus, minus, u));
    ASSERT_EQ(z[0] * z[1], 0) << "step " << k;
    ASSERT_NEAR(z[0] - z[1], slide_by_hand(b, v, u), 1e-11) << "step " << k;
    turns += v * (z[0] - z[1]) < 0;
    rests += z[0] == 0 && z[1] == 0;
    plus = z[0];
    minus = z[1];
  }
  EXPECT_GT(turns, 100);  // the walk has seen every case
  EXPECT_GT(rests, 100);
}

TEST(Formulations, DirectFormulation2HasNoSolution) {
  const Block b;
  for (const auto& [v, u] : {std::pair{1.0, 0.0}, {0.0, 0.5}, {-2.0, 0.3}, {0.0, -4.0}}) {
    const CanonicalProblem p = formulations::sliding_direct2(b, v, u);
    EXPECT_TRUE(enumerate_all(p, scale_of(p)).lambda.empty());
    SolveReport report;
    (void)solve_z(p, &report);
    EXPECT_NE(report.outcome, Outcome::Converged);
  }
  // Only where nothing has to happen it has one.
  SolveReport report;
  EXPECT_EQ(solve_z(formulations::sliding_direct2(b, 1, -1), &report).norm(), 0);
  EXPECT_EQ(report.outcome, Outcome::Converged);
}

TEST(Formulations, TraditionalAndMixedAgreeWithCoulomb) {
  testing::SplitMix rng(7);
  for (int k = 0; k < 300; ++k) {
    const Block b{.mu = rng.uniform(0.1, 2), .g = rng.uniform(0.5, 3)};
    const double v = 3 * rng.normal(), u = 2 * rng.normal();
    const VecX z = solve_z(formulations::sliding_traditional(b, v, u));
    const double next = v + z[0] - z[1] + u;
    EXPECT_NEAR(next, slide_by_hand(b, v, u), 1e-10);
    EXPECT_NEAR(z[2], std::abs(next), 1e-10);  // γ is the speed
    const VecX mixed = solve_z(formulations::sliding_mixed(b, v, u));
    EXPECT_NEAR(mixed[0], slide_by_hand(b, v, u), 1e-10);
  }
}

TEST(Formulations, TraditionalIsNotAPMatrix) {
  // The notes expect unique λ; a sticking block has a continuum of (λ⁺, λ⁻) with one difference.
  const MatX M = formulations::traditional_matrix();
  EXPECT_EQ(M(0, 0) * M(1, 1) - M(0, 1) * M(1, 0), 0);
  const CanonicalProblem p = formulations::sliding_traditional({}, 0, 0.5);
  for (const double common : {0.0, 0.1, 0.25}) {
    const VecX z = (VecX(3) << common, 0.5 + common, 0).finished();
    const VecX w = M * z + p.b;
    EXPECT_GE(w.minCoeff(), -1e-15);
    EXPECT_NEAR(w.dot(z), 0, 1e-15);
  }
}

TEST(Formulations, PointMassWithFriction) {
  testing::SplitMix rng(11);
  int flying = 0, sticking = 0, sliding = 0;
  for (int k = 0; k < 300; ++k) {
    const Block b{.mu = rng.uniform(0.1, 1), .m = rng.uniform(0.5, 2), .g = 9.81, .dt = 0.1};
    const Vec2 v(rng.normal(), rng.normal()), u(5 * rng.normal(), 5 * rng.normal());
    const VecX z = solve_z(formulations::point_mass(b, v, u));
    const Vec2 free = v + b.dt * (u / b.m - Vec2(0, b.g));
    Vec2 hand = free;
    if (free.y() < 0) {
      hand.y() = 0;
      const double grip = b.mu * -free.y();
      hand.x() = std::abs(free.x()) <= grip ? 0 : free.x() - std::copysign(grip, free.x());
    }
    EXPECT_NEAR((z.head(2) - hand).norm(), 0, 1e-10);
    (free.y() >= 0 ? flying : hand.x() == 0 ? sticking : sliding) += 1;
  }
  EXPECT_GT(std::min({flying, sticking, sliding}), 20);
  // Restitution: n·v⁺ = ε |v_n|, as the constant the notes mention.
  const VecX z =
      solve_z(formulations::point_mass({.mu = 0, .g = 0}, Vec2(1, -2), Vec2::Zero(), -1));
  EXPECT_NEAR(z[1], 1, 1e-12);
}

TEST(Formulations, PlanarDirectFormFindsTheDirectionOfSliding) {
  testing::SplitMix rng(13);
  int sliding = 0;
  for (int k = 0; k < 200; ++k) {
    const Block b{.mu = 0.5, .g = 9.81, .dt = 0.05};
    const Vec2 v(rng.normal(), rng.normal()), u(4 * rng.normal(), 4 * rng.normal());
    const Vec2 p = v + b.dt * u;
    const double grip = b.dt * b.mu * b.g;
    const Vec2 hand = p.norm() <= grip ? Vec2(Vec2::Zero()) : Vec2(p * (1 - grip / p.norm()));
    for (const int directions : {4, 8, 16}) {
      const auto step = formulations::planar_direct(b, v, u, directions);
      if (!step.converged) continue;
      EXPECT_NEAR((step.v - hand).norm(), 0, 1e-8) << v.transpose() << " " << u.transpose();
      sliding += hand.norm() > 0;
    }
  }
  EXPECT_GT(sliding, 300);
}

TEST(Formulations, SmallErrorOfQMakesARestingBlockCreep) {
  // v = γ = ε/2. The notes' λ⁺ = μmg, λ⁻ = 0 does not solve their system; both λ must act.
  for (const double epsilon : {1e-4, 1e-2, 0.3}) {
    VecX q = formulations::traditional_vector({}, 0, 0);
    q[0] -= epsilon;
    const CanonicalProblem p = make_lcp(formulations::traditional_matrix(), q);
    const AllSolutions all = enumerate_all(p, scale_of(p));
    ASSERT_FALSE(all.lambda.empty());
    for (const VecX& z : all.lambda) {
      EXPECT_NEAR(z[0] - z[1], epsilon / 2, 1e-12);
      EXPECT_NEAR(z[2], epsilon / 2, 1e-12);
      EXPECT_NEAR(z[0] + z[1], 1, 1e-12);
    }
  }
}

TEST(Formulations, UnequalWeightsOfTheInputLoseSticking) {
  const double u = 0.2;
  for (const auto& [a1, a2] : {std::pair{0.9, 1.1}, {1.1, 0.9}, {1.0, 1.0}, {0.8, 0.9}}) {
    VecX q(3);
    q << a1 * u, -a2 * u, 1;
    const VecX z = solve_z(make_lcp(formulations::traditional_matrix(), q));
    const double v = u + z[0] - z[1];
    if (a2 > a1) {  // γ = (α₂ − α₁)u/2: the block is thought to slide
      EXPECT_NEAR(z[2], (a2 - a1) * u / 2, 1e-12);
      EXPECT_NEAR(v, u * (1 - (a1 + a2) / 2), 1e-12);
    } else {  // sticks, but for the error of α₂
      EXPECT_NEAR(z[2], 0, 1e-12);
      EXPECT_NEAR(v, u * (1 - a2), 1e-12);
    }
  }
}

}  // namespace
}  // namespace orthant
