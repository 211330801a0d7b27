// SPDX-License-Identifier: Apache-2.0
// solver/lcp_test.cpp: LCP and MLCP: Lemke and Newton against enumeration, and problems from
// outside.
#include <gtest/gtest.h>

#include <algorithm>

#include "orthant/problem_io/problem_file.hpp"
#include "orthant/solver/solve.hpp"
#include "solver/enumeration.hpp"
#include "support/problem_bank.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

MatX random_matrix(SplitMix& rng, Index n, Index m) {
  MatX A(n, m);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < m; ++j) A(i, j) = rng.normal();
  }
  return A;
}

VecX random_vector(SplitMix& rng, Index n) { return random_matrix(rng, n, 1).col(0); }

bool is_listed(const VecX& lambda, const std::vector<VecX>& list) {
  return std::any_of(list.begin(), list.end(),
                     [&](const VecX& x) { return (x - lambda).norm() <= 1e-7 * (1 + x.norm()); });
}

TEST(Enumeration, FindsAllSolutionsOfAKnownProblem) {
  // M = −1, q = 1: z = 0 (w = 1) and z = 1 (w = 0).
  const CanonicalProblem p = make_lcp(MatX::Constant(1, 1, -1.0), testing::vector_of({1}));
  const AllSolutions all = enumerate_all(p, scale_of(p));
  ASSERT_EQ(all.lambda.size(), 2u);
  EXPECT_NEAR(all.lambda[0][0], 0, 1e-15);
  EXPECT_NEAR(all.lambda[1][0], 1, 1e-15);
  EXPECT_FALSE(all.continuum);
}

TEST(Enumeration, SeesAContinuumAndAnEmptySet) {
  // Every z with z₁ + z₂ = 1 solves it.
  const CanonicalProblem many = make_lcp(MatX::Ones(2, 2), testing::vector_of({-1, -1}));
  EXPECT_TRUE(enumerate_all(many, scale_of(many)).continuum);
  MatX M(2, 2);
  M << 1, -1, -1, 1;
  const CanonicalProblem none = make_lcp(M, testing::vector_of({-1, -1}));
  EXPECT_TRUE(enumerate_all(none, scale_of(none)).lambda.empty());
}

/// P-matrix: one solution, which every method must find.
TEST(Lcp, MethodsAgreeWithEnumerationOnPMatrices) {
  SplitMix rng(1);
  for (int i = 0; i < 200; ++i) {
    const Index n = 1 + rng.index(8);
    const MatX A = random_matrix(rng, n, n), K = random_matrix(rng, n, n);
    // Positive definite plus skew: a P-matrix, unsymmetric.
    const MatX M = A * A.transpose() + 0.1 * MatX::Identity(n, n) + (K - K.transpose());
    const CanonicalProblem p = make_lcp(M, random_vector(rng, n));
    const AllSolutions all = enumerate_all(p, scale_of(p));
    ASSERT_EQ(all.lambda.size(), 1u);
    for (const Method method : {Method::Automatic, Method::Lemke}) {
      Solution x;
      const SolveReport report = solve(p, {.method = method, .tolerance = 1e-10}, x);
      EXPECT_EQ(report.outcome, Outcome::Converged) << i << " " << name_of(method);
      EXPECT_TRUE(is_listed(x.lambda, all.lambda)) << i << " " << name_of(method);
    }
  }
}

TEST(Lcp, LemkeSolvesSemidefiniteProblemsExactlyWhenTheyHaveASolution) {
  SplitMix rng(2);
  int solvable = 0;
  for (int i = 0; i < 300; ++i) {
    const Index n = 2 + rng.index(6), rank = 1 + rng.index(static_cast<int>(n) - 1);
    const MatX A = random_matrix(rng, n, rank);
    // Half of them with q in the range of M plus a non-negative part: solvable for certain.
    VecX q = random_vector(rng, n);
    if (i % 2 == 0) q = A * random_vector(rng, rank) + q.cwiseAbs();
    const CanonicalProblem p = make_lcp(A * A.transpose(), q);
    const bool exists = !enumerate_all(p, scale_of(p)).lambda.empty();
    EXPECT_TRUE(exists || i % 2 == 1) << i;
    solvable += exists;
    Solution x;
    const SolveReport report = solve(p, {.method = Method::Lemke}, x);
    EXPECT_EQ(report.outcome, exists ? Outcome::Converged : Outcome::RayTermination) << i;
  }
  EXPECT_GT(solvable, 150);
  EXPECT_LT(solvable, 300);
}

/// The friction pyramid is copositive: with b_n ≥ 0 (the body may move apart) Lemke always ends in
/// a solution.
TEST(Lcp, LemkeSolvesFrictionPyramids) {
  SplitMix rng(3);
  for (int i = 0; i < 100; ++i) {
    const int contacts = 1 + rng.index(4);
    const Index n = 4 * contacts;
    const MatX D = random_matrix(rng, 2 * contacts, 3);
    const MatX N = D * D.transpose();
    const double mu = rng.uniform(0, 1.5);
    MatX M = MatX::Zero(n, n);
    VecX q = VecX::Zero(n);
    const VecX v = random_vector(rng, 3);
    for (int a = 0; a < contacts; ++a) {
      // Rows: normal, +tangent, −tangent, sliding speed.
      for (int b = 0; b < contacts; ++b) {
        const double sign[3] = {1, 1, -1};
        for (int r = 0; r < 3; ++r) {
          for (int c = 0; c < 3; ++c) {
            M(4 * a + r, 4 * b + c) = sign[r] * sign[c] * N(2 * a + (r > 0), 2 * b + (c > 0));
          }
        }
      }
      M(4 * a + 1, 4 * a + 3) = M(4 * a + 2, 4 * a + 3) = 1;
      M(4 * a + 3, 4 * a) = mu;
      M(4 * a + 3, 4 * a + 1) = M(4 * a + 3, 4 * a + 2) = -1;
      q[4 * a] = D.row(2 * a).dot(v) + rng.uniform(0, 0.1);
      q[4 * a + 1] = D.row(2 * a + 1).dot(v);
      q[4 * a + 2] = -q[4 * a + 1];
    }
    const CanonicalProblem p = make_lcp(M, q);
    Solution x;
    const SolveReport report = solve(p, {.method = Method::Lemke}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged) << i << " " << describe(report.residual, p);
  }
}

TEST(Lcp, LemkeTakesBoxesAndPlanarFriction) {
  SplitMix rng(4);
  for (int i = 0; i < 100; ++i) {
    const Index n = 2 + rng.index(5);
    const MatX A = random_matrix(rng, n, n);
    CanonicalProblem p =
        make_lcp(A * A.transpose() + 0.1 * MatX::Identity(n, n), 3 * random_vector(rng, n));
    for (Law& law : p.laws) {
      const double inf = std::numeric_limits<double>::infinity();
      const int kind = rng.index(5);
      law = kind == 0   ? Law::box(-0.5, 0.7)
            : kind == 1 ? Law::box(-inf, 0.3)
            : kind == 2 ? Law::box(-0.2, inf)
            : kind == 3 ? Law::box(-inf, inf)
                        : Law::box(0.1, 0.1);
    }
    Solution lemke, path;
    EXPECT_EQ(solve(p, {.method = Method::Lemke}, lemke).outcome, Outcome::Converged) << i;
    EXPECT_EQ(solve(p, {.method = Method::InteriorPoint, .tolerance = 1e-11}, path).outcome,
              Outcome::Converged)
        << i;
    EXPECT_LE((lemke.lambda - path.lambda).norm(), 1e-7 * (1 + lemke.lambda.norm())) << i;
    const CanonicalProblem planar =
        random_contacts(rng, {.bodies = 3, .contacts = 4, .dim = 2}).problem;
    EXPECT_EQ(solve(planar, {.method = Method::Lemke}, lemke).outcome, Outcome::Converged) << i;
  }
}

TEST(Lcp, LemkeNeedsNoInverseOfTheEquations) {
  // The equation's own block is zero: u can only be found together with v.
  MatX M(2, 2);
  M << 0, 1, -1, 0;
  const SparseMatrix S = M.sparseView();
  const CanonicalProblem p = make_mlcp(S, testing::vector_of({-2, 3}), 1);
  Solution x;  // v − 2 = 0, −u + 3 = w ⊥ v = 2: u = 3
  EXPECT_EQ(solve(p, {.method = Method::Lemke}, x).outcome, Outcome::Converged);
  EXPECT_NEAR(x.lambda[0], 3, 1e-12);
  EXPECT_NEAR(x.lambda[1], 2, 1e-12);
  // 0 = 1 is a contradiction.
  SparseMatrix zero(2, 2);
  const CanonicalProblem contradiction = make_mlcp(zero, testing::vector_of({1, 1}), 1);
  EXPECT_EQ(solve(contradiction, {.method = Method::Lemke}, x).outcome, Outcome::Infeasible);
}

TEST(Lcp, LemkeDoesNotCycleOnTies) {
  // Every ratio ties at every pivot: all q equal and M symmetric in its indices.
  for (const Index n : {3, 8, 20}) {
    MatX M = 2 * MatX::Identity(n, n) - MatX::Ones(n, n) / n;
    const CanonicalProblem p = make_lcp(M, VecX::Constant(n, -1.0));
    Solution x;  // all z equal: (2 − 1) z = 1
    EXPECT_EQ(solve(p, {.method = Method::Lemke}, x).outcome, Outcome::Converged);
    EXPECT_LE((x.lambda - VecX::Ones(n)).norm(), 1e-12);
  }
}

struct Sample {
  const char* name;
  bool unique;  ///< one solution (P-matrix or checked by enumeration)
};
constexpr Sample kSamples[] = {
    {"lcp/lcp_CPS_1.dat", false},
    {"lcp/lcp_CPS_3.dat", false},
    {"lcp/lcp_CPS_4.dat", false},
    {"lcp/lcp_CPS_5.dat", false},
    {"lcp/lcp_Pang_isolated_sol.dat", false},
    {"lcp/lcp_deudeu.dat", true},
    {"lcp/lcp_deudeu_block.dat", true},
    {"lcp/lcp_exp_murty.dat", true},
    {"lcp/lcp_mmc.dat", true},
    {"lcp/lcp_ortiz.dat", true},
    {"lcp/lcp_ortiz_block.dat", true},
    {"lcp/lcp_trivial.dat", true},
    {"lcp/lcp_trivial_block.dat", true},
    {"mlcp/Buck2_mlcp.dat", false},
    {"mlcp/BuckFirstStep_mlcp.dat", false},
    {"mlcp/PD_mlcp.dat", false},
    {"mlcp/RCD_mlcp.dat", true},
    {"mlcp/RLCD_mlcp.dat", true},
    {"mlcp/deltasigma_mlcp.dat", false},
    {"mlcp/deudeu_mlcp.dat", true},
    {"mlcp/diodeBridge40_mlcp.dat", false},
    {"mlcp/diodeBridge_mlcp.dat", false},
    {"mlcp/m2n1_mlcp.dat", true},
    {"mlcp/relay3_mlcp.dat", false},
};

TEST(LcpSamples, EverySolvableOneIsSolved) {
  int found = 0;
  for (const Sample& sample : kSamples) {
    const std::string path = testing::sample(sample.name);
    if (path.empty()) continue;
    ++found;
    SCOPED_TRACE(sample.name);
    const CanonicalProblem p = to_problem(read_problem(path));
    Solution x;
    const SolveReport report = solve(p, {.siconos_too = true}, x);
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(report.residual.siconos, 1e-8);
    for (Index i = 0; i < p.row_count(); ++i) {
      if (p.laws[i].kind != LawKind::Orthant) continue;
      EXPECT_GE(x.lambda[i], -1e-10);
      EXPECT_GE(x.w[i], -1e-10);
    }
    if (!sample.unique) continue;
    Solution y;
    const SolveReport other = solve(p, {.method = Method::Lemke, .tolerance = 1e-11}, y);
    EXPECT_EQ(other.outcome, Outcome::Converged);
    EXPECT_LE((x.lambda - y.lambda).cwiseAbs().maxCoeff(),
              1e-7 * (1 + x.lambda.cwiseAbs().maxCoeff()));
  }
  EXPECT_GT(found, 0);
}

TEST(LcpSamples, TheUnsolvableOneIsSaidToBe) {
  const std::string path = testing::sample("lcp/lcp_Pang_isolated_sol_perturbed.dat");
  ASSERT_FALSE(path.empty()) << "tests/data/lcp has a copy";
  const CanonicalProblem p = to_problem(read_problem(path));
  Solution x;
  EXPECT_EQ(solve(p, {}, x).outcome, Outcome::Infeasible);
  EXPECT_EQ(solve(p, {.method = Method::Lemke}, x).outcome, Outcome::RayTermination);
  EXPECT_TRUE(enumerate_all(p, scale_of(p)).lambda.empty());
}

}  // namespace
}  // namespace orthant
