// SPDX-License-Identifier: Apache-2.0
// problem/problem_test.cpp: the judge, the reduced form and the checks of a canonical problem.
#include "orthant/problem/problem.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/problem/residual.hpp"
#include "orthant/problem/special_cases.hpp"
#include "support/problem_bank.hpp"

namespace orthant {
namespace {

using testing::KnownProblem;
using testing::SplitMix;

MatX dense_of(const BlockRows& A, Index columns) {
  MatX out = MatX::Zero(A.rows(), columns);
  for (Index j = 0; j < columns; ++j) {
    VecX y;
    A.multiply(VecX::Unit(columns, j), y);
    if (A.rows() > 0) out.col(j) = y;
  }
  return out;
}

MatX dense_of(const VelocityMatrix& H) {
  MatX out(H.rows(), H.rows());
  VecX y;
  for (Index j = 0; j < H.rows(); ++j) {
    H.multiply(VecX::Unit(H.rows(), j), y);
    out.col(j) = y;
  }
  return out;
}

TEST(Judge, AcceptsAnswersThatAreKnownToBeRight) {
  SplitMix rng(1);
  for (const int dim : {2, 3, 5}) {
    for (int i = 0; i < 30; ++i) {
      const KnownProblem known = random_contacts(
          rng, {.bodies = 5, .contacts = 8, .dim = dim, .mass_ratio = 1e6, .joints = i % 3});
      EXPECT_LE(judge(known.problem, known.answer).value, 1e-11);
    }
  }
}

TEST(Judge, FailsEveryPerturbedAnswer) {
  SplitMix rng(2);
  for (int i = 0; i < 30; ++i) {
    const KnownProblem known =
        random_contacts(rng, {.bodies = 4, .contacts = 6, .dim = 3, .mass_ratio = 1e6});
    const CanonicalProblem& p = known.problem;
    // A relative error of 1e-4 in any contact's impulse or any body's velocity is seen, however
    // light the body.
    for (Index c = 0; c < p.block_count(); ++c) {
      Solution x = known.answer;
      if (x.lambda[3 * c] == 0) continue;
      x.lambda.segment(3 * c, 3) *= 1 + 1e-4;
      EXPECT_GT(judge(p, x).value, 1e-8) << "block " << c;
    }
    for (Index j = 0; j < p.velocity_count(); ++j) {
      Solution x = known.answer;
      x.v[j] += 1e-4 * x.v.segment(j / 6 * 6, 6).norm();
      EXPECT_GT(judge(p, x).value, 1e-8) << "v " << j;
    }
    Solution x = known.answer;
    x.lambda[0] = std::nan("");
    EXPECT_TRUE(std::isinf(judge(p, x).value));
    x.lambda.resize(1);
    EXPECT_TRUE(std::isinf(judge(p, x).value));
  }
  KnownProblem jointed = random_contacts(rng, {.bodies = 3, .contacts = 2, .dim = 3, .joints = 1});
  jointed.answer.gamma[1] += 1e-4;
  EXPECT_GT(judge(jointed.problem, jointed.answer).value, 1e-8);
}

TEST(Judge, NamesTheBlockThatFails) {
  SplitMix rng(3);
  KnownProblem known = random_contacts(rng, {.bodies = 3, .contacts = 5, .dim = 3});
  // A velocity asked for that block 3 does not have.
  known.problem.b[known.problem.D.row_begin(3)] -= 10;
  const Residual r = judge(known.problem, known.answer);
  EXPECT_EQ(r.worst_block, 3);
  EXPECT_EQ(r.value, r.complementarity);
  EXPECT_NE(describe(r, known.problem).find("block 3"), std::string::npos);
}

TEST(Judge, ReportsTheErrorOfSiconosByItsFormula) {
  // One contact, W = 2I, q = (−1, 0.5, 0), μ = 0.3, r = (0.5, 0, 0):
  // u = (0, 0.5, 0), u~ = (0.15, 0.5, 0), r − u~ = (0.35, −0.5, 0), slides:
  // Π_n = (0.35 + 0.3·0.5)/1.09, Π_t = −0.3 Π_n.
  const MatX W = 2 * MatX::Identity(3, 3);
  const SparseMatrix S = W.sparseView();
  const CanonicalProblem p =
      make_local_friction(S, testing::vector_of({-1, 0.5, 0}), {3, {0.3}, {}, true});
  Solution x = zero_solution(p);
  x.lambda[0] = 0.5;
  const double n = 0.5 / 1.09;
  const double error = std::hypot(0.5 - n, 0.3 * n);
  const Residual r = judge(p, x);
  EXPECT_NEAR(r.siconos, error / std::sqrt(1.25), 1e-15);
  EXPECT_GT(r.siconos_scale_free, 0.1);
}

TEST(Reduce, IsTheSchurComplement) {
  SplitMix rng(4);
  for (int i = 0; i < 20; ++i) {
    const KnownProblem known =
        random_contacts(rng, {.bodies = 4, .contacts = 5, .dim = 3, .joints = i % 3});
    CanonicalProblem p = known.problem;
    if (i % 2) {
      // The same with a sparse H that couples bodies.
      MatX H = dense_of(p.H);
      H(0, 7) = H(7, 0) = 0.1;
      const SparseMatrix S = H.sparseView();
      p.H = VelocityMatrix::sparse(S, {0, 6, 12, 18, 24});
    }
    const Index n = p.velocity_count(), bilateral = p.bilateral_count();
    MatX R(bilateral + p.row_count(), n);
    R << dense_of(p.C, n), dense_of(p.D, n);
    const MatX H = dense_of(p.H);
    const Eigen::PartialPivLU<MatX> lu(H);
    const MatX N = R * lu.solve(MatX(R.transpose()));
    VecX c(bilateral + p.row_count());
    c << p.e, p.b;
    const VecX q = R * lu.solve(p.k) + c;
    const CanonicalProblem local = reduce(p);
    ASSERT_TRUE(local.is_local());
    EXPECT_LE((dense_of(local.F, local.row_count()) - N).norm(), 1e-12 * N.norm());
    EXPECT_LE((local.b - q).norm(), 1e-12 * (1 + q.norm()));
    // And back: v from the impulses, w = D v + b.
    Solution reduced = zero_solution(local), x;
    for (Index j = 0; j < reduced.lambda.size(); ++j) reduced.lambda[j] = rng.normal();
    expand(p, reduced, x);
    EXPECT_LE((H * x.v - p.k - R.transpose() * reduced.lambda).norm(), 1e-10);
    EXPECT_LE((x.w - (N * reduced.lambda + q).tail(p.row_count())).norm(), 1e-10);
    EXPECT_EQ(x.gamma, reduced.lambda.head(bilateral));
  }
}

TEST(Reduce, GivesTheSameFromUsedMemory) {
  SplitMix rng(5);
  ReduceWorkspace work;
  CanonicalProblem out;
  for (int i = 0; i < 5; ++i) {
    const CanonicalProblem p =
        random_contacts(rng, {.bodies = 6 - i, .contacts = 3 + i, .dim = 2, .joints = i % 2})
            .problem;
    reduce(p, work, out);
    const CanonicalProblem fresh = reduce(p);
    EXPECT_TRUE(out.F == fresh.F);
    EXPECT_EQ(out.b, fresh.b);
    EXPECT_TRUE(out.laws == fresh.laws);
  }
}

TEST(SpecialCases, KeepTheMatrixTheyAreGiven) {
  MatX M(3, 3);
  M << 1, 2, 0, 0, 3, 4, 5, 0, 6;  // unsymmetric
  const VecX q = testing::vector_of({-1, 2, -3});
  const CanonicalProblem p = make_lcp(M, q);
  EXPECT_EQ(dense_of(p.F, 3), M);
  EXPECT_EQ(p.b, q);
  const SparseMatrix S = M.sparseView();
  const CanonicalProblem mixed = make_mlcp(S, q, 2);
  EXPECT_EQ(mixed.laws[1].kind, LawKind::Free);
  EXPECT_EQ(mixed.laws[2].kind, LawKind::Orthant);
  EXPECT_THROW((void)make_local_friction(S, q, {3, {0.1, 0.2}, {}, true}), Error);
}

TEST(Problem, RefusesSizesAndNumbersThatDisagree) {
  const CanonicalProblem good = testing::box_on_plane(1, 1, 0.3, 0);
  EXPECT_NO_THROW(validate(good));
  CanonicalProblem p = good;
  p.b.conservativeResize(11);
  EXPECT_THROW(validate(p), Error);
  p = good;
  p.k[2] = std::numeric_limits<double>::infinity();
  EXPECT_THROW(validate(p), Error);
  p = good;
  p.D.begin_row(3);
  EXPECT_THROW(validate(p), Error);
  p = good;
  p.D.values(0)[1] = std::nan("");
  EXPECT_THROW(validate(p), Error);
}

}  // namespace
}  // namespace orthant
