// SPDX-License-Identifier: Apache-2.0
// Unknown complementarity problems found again from their solutions, and what cannot be found.
#include "orthant/learn/identify.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/gradient/solution.hpp"
#include "orthant/learn/formulations.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

/// How the two friction forces of a sticking block are shared: only their difference is physics.
enum class Share { Random, Vertex, AllGrip };

/// Sliding blocks, μ = m = g = 1: (λ⁺, λ⁻, γ) with features (v, u, 1).
LcpSamples sliding_samples(int count, Share share, std::uint64_t seed) {
  SplitMix rng(seed);
  LcpSamples s;
  s.lambda.resize(3, count);
  s.features.resize(3, count);
  s.lambda_names = {"lambda+", "lambda-", "gamma"};
  s.feature_names = {"v", "u", "1"};
  for (int k = 0; k < count; ++k) {
    const double v = 1.5 * rng.normal(), u = rng.normal(), p = v + u;
    Vec3 z;
    if (std::abs(p) > 1) {
      z = Vec3(p < 0 ? 1 : 0, p > 0 ? 1 : 0, std::abs(p) - 1);
    } else {
      const double room = (1 - std::abs(p)) / 2;
      const double common = share == Share::Vertex    ? 0
                            : share == Share::AllGrip ? room
                                                      : rng.uniform(0, room);
      z = Vec3(std::max(0.0, -p) + common, std::max(0.0, p) + common, 0);
    }
    s.lambda.col(k) = z;
    s.features.col(k) << v, u, 1;
  }
  return s;
}

MatX truth() {  // M and W side by side
  MatX A(3, 6);
  A << 1, -1, 1, 1, 1, 0, -1, 1, 1, -1, -1, 0, -1, -1, 0, 0, 0, 1;
  return A;
}

/// Largest deviation from the truth, each row scaled to it.
double row_error(const IdentifiedLcp& found, Index rows = 3) {
  double worst = 0;
  const MatX A = truth();
  for (Index i = 0; i < rows; ++i) {
    VecX row(6);
    row << found.M.row(i).transpose(), found.W.row(i).transpose();
    const VecX want = A.row(i);
    const double scale = row.dot(want) / row.squaredNorm();
    EXPECT_GT(scale, 0);
    worst = std::max(worst, (scale * row - want).lpNorm<Eigen::Infinity>());
  }
  return worst;
}

TEST(Identify, LinearProgramOnAKnownCorner) {
  // min −x − 2y, x + y <= 4, x <= 3, y <= 2, x, y >= 0: (2, 2)
  LinearProgram lp;
  lp.c = Vec2(-1, -2);
  lp.G.resize(5, 2);
  lp.G << -1, -1, -1, 0, 0, -1, 1, 0, 0, 1;
  lp.h.resize(5);
  lp.h << -4, -3, -2, 0, 0;
  lp.E.resize(0, 2);
  const LinearProgramResult r = solve_linear_program(lp);
  EXPECT_TRUE(r.converged);
  EXPECT_NEAR((r.x - Vec2(2, 2)).norm(), 0, 1e-8);
  // With an equation: x + y = 3 moves the corner to (1, 2).
  lp.E = MatX::Ones(1, 2);
  lp.f = VecX::Constant(1, 3);
  EXPECT_NEAR((solve_linear_program(lp).x - Vec2(1, 2)).norm(), 0, 1e-8);
}

TEST(Identify, RecoversMAndQUpToRowScale) {
  for (const int count : {200, 500}) {
    const IdentifiedLcp found = identify_lcp(sliding_samples(count, Share::Random, 42));
    EXPECT_TRUE(found.converged);
    EXPECT_LT(row_error(found), 1e-6) << count << " samples";
    for (const IdentifiedRow& row : found.rows) {
      EXPECT_EQ(row.freedom, 0);
      EXPECT_LT(row.complementarity, 1e-8);
    }
    EXPECT_NE(found.notes.front().find("positive factor"), std::string::npos);
  }
}

TEST(Identify, L1DoesNotSpoilTheRecovery) {
  IdentifyOptions options;
  options.l1 = 1e-6;
  EXPECT_LT(row_error(identify_lcp(sliding_samples(400, Share::Random, 43), options)), 1e-4);
}

TEST(Identify, NamesTheDegeneracyOfTheNotes) {
  // With all grip used when sticking, λ⁺ + λ⁻ = 1 always: a bias cannot be told from both of them.
  const LcpSamples samples = sliding_samples(400, Share::AllGrip, 44);
  const IdentifiedLcp found = identify_lcp(samples);
  EXPECT_EQ(found.rows[0].freedom, 1);
  std::string open;
  for (const std::string& o : found.rows[0].open) open += o + ";";
  for (const char* entry : {"M(lambda+, lambda+)", "M(lambda+, lambda-)", "W(lambda+, 1)"})
    EXPECT_NE(open.find(entry), std::string::npos) << open;
  // Without biases in the first two rows these are found. The third is w = 0 in every sample: no
  // scale can be given to it, and the tool says so.
  IdentifyOptions options;
  options.allowed.setConstant(3, 6, true);
  options.allowed(0, 5) = options.allowed(1, 5) = false;
  const IdentifiedLcp without = identify_lcp(samples, options);
  EXPECT_EQ(without.rows[0].freedom + without.rows[1].freedom, 0);
  EXPECT_LT(row_error(without, 2), 1e-6);
  EXPECT_NE(without.notes.back().find("row of gamma: no row that is not zero"), std::string::npos)
      << without.notes.back();
}

TEST(Identify, NamesWhatVertexSolutionsHide) {
  // A pivoting solver never presses both sides at once: λ⁺ ⊥ λ⁻ fits as well as any physics.
  const IdentifiedLcp found = identify_lcp(sliding_samples(400, Share::Vertex, 45));
  EXPECT_EQ(found.rows[0].freedom, 1);
  ASSERT_EQ(found.rows[0].open.size(), 2U);
  EXPECT_TRUE(found.rows[0].open[0] == "M(lambda+, lambda-)" ||
              found.rows[0].open[1] == "M(lambda+, lambda-)")
      << found.rows[0].open[0] << "; " << found.rows[0].open[1];
  EXPECT_EQ(found.rows[2].freedom, 0);
}

TEST(Identify, StructuredBasisOfTheNotes) {
  // M = φφᵀ + couplings of γ with each λ, q in (v + u) and a grip; one scale for all rows.
  LcpBasis basis;
  const auto term = [&](std::initializer_list<std::array<double, 3>> M,
                        std::initializer_list<std::array<double, 3>> W) {
    MatX m = MatX::Zero(3, 3), w = MatX::Zero(3, 3);
    for (const auto& [i, j, x] : M) m(static_cast<Index>(i), static_cast<Index>(j)) = x;
    for (const auto& [i, j, x] : W) w(static_cast<Index>(i), static_cast<Index>(j)) = x;
    basis.M.push_back(m);
    basis.W.push_back(w);
  };
  term({{0, 0, 1}, {0, 1, -1}, {1, 0, -1}, {1, 1, 1}}, {});
  term({{0, 2, 1}, {2, 0, -1}}, {});
  term({{1, 2, 1}, {2, 1, -1}}, {});
  term({}, {{0, 0, 1}, {1, 0, -1}});
  term({}, {{0, 1, 1}, {1, 1, -1}});
  term({}, {{2, 2, 1}});
  const StructuredLcp found = identify_structured(sliding_samples(60, Share::Random, 46), basis);
  EXPECT_TRUE(found.converged);
  EXPECT_EQ(found.freedom, 0);
  const VecX c = found.coefficients / found.coefficients[0];
  EXPECT_LT((c - VecX::Ones(6)).lpNorm<Eigen::Infinity>(), 1e-6) << c.transpose();
}

TEST(Identify, DirectAndSlackLosses) {
  // x = (v₊, v₋) is affine in (v, u, 1) and the friction; the true maps make both losses vanish.
  SplitMix rng(47);
  const int count = 200;
  LcpSamples direct, slack;
  direct.features = slack.features = MatX(3, count);
  direct.lambda = slack.lambda = MatX(2, count);
  MatX targets(2, count);
  for (int k = 0; k < count; ++k) {
    const double v = rng.normal(), u = rng.normal(), p = v + u;
    direct.features.col(k) << v, u, 1;
    slack.features.col(k) << v, u, 1;
    const double next = std::abs(p) <= 1 ? 0 : p - std::copysign(1.0, p);
    targets.col(k) << std::max(0.0, next), std::max(0.0, -next);
    // v₊ = p − λ⁻, v₋ = −p − λ⁺ solved for (λ⁺, λ⁻); slack is 1 − λ, order exchanged.
    direct.lambda.col(k) << -p - targets(1, k), p - targets(0, k);
    slack.lambda.col(k) << 1 - direct.lambda(1, k), 1 - direct.lambda(0, k);
  }
  VecX right(10), right_slack(10);
  right << 1, 1, 0, -1, -1, 0, /*G*/ 0, -1, -1, 0;
  right_slack << 1, 1, -1, -1, -1, -1, /*G*/ 1, 0, 0, 1;
  EXPECT_NEAR(friction_loss(slack, targets, right_slack).cost, 0, 1e-10);
  const FrictionLossWeights prediction{.prediction = 1, .complementarity = 0, .sign = 0};
  EXPECT_NEAR(friction_loss(direct, targets, right, prediction).cost, 0, 1e-10);
  // Away from kinks the gradient is that of differences.
  VecX x = right_slack;
  for (Index i = 0; i < x.size(); ++i) x[i] += 0.1 * rng.normal();
  const VecX g = friction_loss(slack, targets, x).gradient;
  for (Index i = 0; i < x.size(); ++i) {
    VecX lo = x, hi = x;
    lo[i] -= 1e-7;
    hi[i] += 1e-7;
    const double difference =
        (friction_loss(slack, targets, hi).cost - friction_loss(slack, targets, lo).cost) / 2e-7;
    EXPECT_NEAR(g[i], difference, 1e-4 * (1 + std::abs(difference)));
  }
}

TEST(Identify, BilevelFrictionFromManyStarts) {
  const std::vector<BilevelSample> data = {{.v = 1, .u = 2, .next = 2}};
  for (const double start : {0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.5, 6.9}) {
    const BilevelFit found = fit_bilevel_friction(data, start);
    EXPECT_NEAR(found.mu, 1, 0.01) << "from " << start;
    EXPECT_TRUE(found.note.empty()) << found.note;
  }
  // γ = (7 − μ)/4 between 5/3 and 7; then the gradient is zero, and the tool says so.
  for (const double mu : {2.0, 4.0, 6.9}) {
    const BilevelValue at = bilevel_friction(data, mu);
    EXPECT_NEAR(at.gamma, (7 - mu) / 4, 1e-10);
    EXPECT_NEAR(at.gradient, (7 - mu) / 4, 1e-10);
  }
  for (const double start : {7.0, 8.0, 15.0}) {
    const BilevelFit stuck = fit_bilevel_friction(data, start);
    EXPECT_EQ(stuck.mu, start);
    EXPECT_TRUE(stuck.at.gradient_zero);
    EXPECT_NE(stuck.note.find("gradient by friction is zero"), std::string::npos);
  }
}

TEST(Identify, StickingThatCostsPullsFromAnywhere) {
  const std::vector<BilevelSample> slid = {{.v = 1, .u = 2, .next = 2}};
  for (const double start : {0.1, 3.0, 7.0, 12.0, 19.0}) {
    const BilevelFit found = fit_bilevel_friction(slid, start, 20, 0.1);
    EXPECT_NEAR(found.mu, 1, 0.01) << "from " << start;
    EXPECT_TRUE(found.note.empty()) << found.note;
  }
  for (const double mu : {0.5, 2.3, 6.0, 7.5, 15.0}) {
    const double h = 1e-5, difference = (bilevel_friction(slid, mu + h, 0.1).value -
                                         bilevel_friction(slid, mu - h, 0.1).value) /
                                        (2 * h);
    EXPECT_NEAR(bilevel_friction(slid, mu, 0.1).gradient, difference, 1e-6) << mu;
  }
  // A transition that stuck is no witness of the friction.
  const std::vector<BilevelSample> stuck = {{.v = 0, .u = 0.5, .next = 0}};
  EXPECT_EQ(bilevel_friction(stuck, 2, 0.1).gradient, bilevel_friction(stuck, 2).gradient);
  EXPECT_THROW((void)bilevel_friction(slid, 1, -1), Error);
}

TEST(Identify, GradientThroughTheLcpVanishesWhereItSticks) {
  // Loss (v⁺ − 2)² of v = 1, u = 2: v⁺ = 3 − μ while it slides (μ < 3), 0 beyond.
  const auto slope = [](double mu) {
    const CanonicalProblem p = formulations::sliding_mixed({.mu = mu}, 1, 2);
    Solution x = zero_solution(p);
    const SolveReport report = solve(p, {.tolerance = 1e-12}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    SolutionGradient gradient(p, scale_of(p), x);
    Solution by;
    by.lambda = VecX::Zero(4);
    by.lambda[0] = 2 * (x.lambda[0] - 2);
    return gradient.pull_back(by).b[3];
  };
  for (const double mu : {0.3, 1.0, 2.5}) EXPECT_NEAR(slope(mu), 2 * (mu - 1), 1e-8);
  EXPECT_NEAR(slope(4.0), 0, 1e-8);
  double mu = 0.2;
  for (int k = 0; k < 100; ++k) mu -= 0.2 * slope(mu);
  EXPECT_NEAR(mu, 1, 1e-6);
}

TEST(Identify, BadInputIsNamed) {
  const auto message = [](const LcpSamples& s) {
    try {
      (void)identify_lcp(s);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  LcpSamples few = sliding_samples(4, Share::Random, 1);
  EXPECT_NE(message(few).find("too few"), std::string::npos);
  LcpSamples negative = sliding_samples(50, Share::Random, 1);
  negative.lambda(0, 3) = -1;
  EXPECT_NE(message(negative).find("negative"), std::string::npos);
  LcpSamples never = sliding_samples(50, Share::Random, 1);
  never.lambda.row(0).setZero();
  EXPECT_NE(message(never).find("row of lambda+"), std::string::npos);
}

}  // namespace
}  // namespace orthant
