// SPDX-License-Identifier: Apache-2.0
// Sparse factorisations against dense ones, over sizes that reach every path of the panels.
#include "orthant/math/factorisation.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>
#include <vector>

#include "support/no_alloc.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

/// Grid n x n x depth with its neighbours coupled, `dofs` unknowns per node; values drawn at
/// random, the diagonal strong enough for elimination in any order. `skew` makes the values
/// unsymmetric.
SparseMatrix grid(SplitMix& rng, int n, int depth, int dofs, double skew) {
  std::vector<Eigen::Triplet<double>> t;
  const auto node = [&](int i, int j, int k) { return ((k * n) + j) * n + i; };
  const auto couple = [&](int a, int b) {
    for (int r = 0; r < dofs; ++r) {
      for (int c = 0; c < dofs; ++c) {
        const double value = rng.normal();
        t.emplace_back(a * dofs + r, b * dofs + c, value);
        t.emplace_back(b * dofs + c, a * dofs + r, value + skew * rng.normal());
      }
    }
  };
  for (int k = 0; k < depth; ++k) {
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        if (i + 1 < n) couple(node(i, j, k), node(i + 1, j, k));
        if (j + 1 < n) couple(node(i, j, k), node(i, j + 1, k));
        if (k + 1 < depth) couple(node(i, j, k), node(i, j, k + 1));
        for (int r = 0; r < dofs; ++r) {
          t.emplace_back(node(i, j, k) * dofs + r, node(i, j, k) * dofs + r, 12.0 * dofs);
        }
      }
    }
  }
  SparseMatrix A(n * n * depth * dofs, n * n * depth * dofs);
  A.setFromTriplets(t.begin(), t.end());
  return A;
}

VecX random_vector(SplitMix& rng, Index n) {
  VecX b(n);
  for (Index i = 0; i < n; ++i) b[i] = rng.normal();
  return b;
}

constexpr Ordering kOrderings[] = {Ordering::Automatic, Ordering::MinimumDegree,
                                   Ordering::NestedDissection, Ordering::Natural};

TEST(SparseLdlt, SolvesGridsInEveryOrdering) {
  SplitMix rng(1);
  for (const Ordering ordering : kOrderings) {
    for (const int dofs : {1, 3}) {
      for (const int n : {1, 2, 7, 12}) {
        const SparseMatrix A = grid(rng, n, 3, dofs, 0);
        const VecX b = random_vector(rng, static_cast<Index>(A.rows()));
        const SparseMatrix upper = A.triangularView<Eigen::Upper>();
        SparseLdlt ldlt;
        ldlt.analyze(upper, ordering);
        ASSERT_TRUE(ldlt.factorize(upper));
        VecX x;
        ldlt.solve(b, x);
        EXPECT_LE((A * x - b).norm(), 1e-12 * b.norm()) << n << ' ' << dofs;
        EXPECT_EQ(ldlt.replaced_pivots(), 0);
      }
    }
  }
}

TEST(SparseLdlt, FactorisesQuasiDefiniteSaddlePoints) {
  SplitMix rng(2);
  const SparseMatrix H = grid(rng, 6, 2, 2, 0);
  const Index n = static_cast<Index>(H.rows()), m = 40;
  std::vector<Eigen::Triplet<double>> t;
  for (Index c = 0; c < n; ++c) {
    for (SparseMatrix::InnerIterator it(H, c); it; ++it) t.emplace_back(it.row(), c, it.value());
  }
  for (Index i = 0; i < m; ++i) {
    for (int k = 0; k < 4; ++k) t.emplace_back(rng.index(n), n + i, rng.normal());
    t.emplace_back(n + i, n + i, -1e-6);
  }
  SparseMatrix upper(n + m, n + m);
  upper.setFromTriplets(t.begin(), t.end());
  const SparseMatrix A = upper.selfadjointView<Eigen::Upper>();
  std::vector<signed char> signs(static_cast<std::size_t>(n + m), 1);
  std::fill(signs.begin() + n, signs.end(), static_cast<signed char>(-1));
  const VecX b = random_vector(rng, n + m);
  for (const Ordering ordering : kOrderings) {
    SparseLdlt ldlt;
    ldlt.analyze(SparseMatrix(upper.triangularView<Eigen::Upper>()), ordering);
    ASSERT_TRUE(ldlt.factorize(SparseMatrix(upper.triangularView<Eigen::Upper>()), signs, 1e-14));
    EXPECT_EQ(ldlt.replaced_pivots(), 0);
    VecX x;
    ldlt.solve(b, x);
    EXPECT_LE((A * x - b).norm(), 1e-7 * b.norm());
  }
}

TEST(SparseLdlt, ReplacesPivotsOfTheWrongSignAndRefusesZeros) {
  SparseMatrix A(3, 3);
  A.insert(0, 0) = 2;
  A.insert(1, 1) = -1e-30;  // expected positive
  A.insert(2, 2) = 4;
  A.makeCompressed();
  SparseLdlt ldlt;
  ldlt.analyze(A);
  EXPECT_TRUE(ldlt.factorize(A, {1, 1, 1}, 1e-8));
  EXPECT_EQ(ldlt.replaced_pivots(), 1);
  A.coeffRef(1, 1) = 0;
  EXPECT_FALSE(ldlt.factorize(A));
  A.coeffRef(1, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(ldlt.factorize(A, {1, 1, 1}, 1e-8));
}

TEST(SparseLdlt, CountsWorkOfADenseMatrix) {
  // Dense n x n: n(n² − 1)/6 multiply-adds of the products plus n(n − 1)/2 divisions.
  const Index n = 30;
  const MatX dense = MatX::Ones(n, n) + n * MatX::Identity(n, n);
  const SparseMatrix A = MatX(dense.triangularView<Eigen::Upper>()).sparseView();
  SparseLdlt ldlt;
  ldlt.analyze(A);
  EXPECT_EQ(ldlt.nonzeros(), n * (n + 1) / 2);
  EXPECT_NEAR(ldlt.flops(), n * (n * n - 1) / 6.0 + n * (n - 1) / 2.0, 1e-6);
}

TEST(SparseLdlt, WideDensePanelsAgreeWithEigen) {
  SplitMix rng(3);
  for (const Index n : {5, 17, 97, 230}) {
    MatX G(n, n);
    for (Index i = 0; i < G.size(); ++i) G.data()[i] = rng.normal();
    const MatX dense = G * G.transpose() + MatX::Identity(n, n);
    const SparseMatrix A = MatX(dense.triangularView<Eigen::Upper>()).sparseView();
    const VecX b = random_vector(rng, n);
    SparseLdlt ldlt;
    ldlt.analyze(A);
    ASSERT_TRUE(ldlt.factorize(A));
    VecX x;
    ldlt.solve(b, x);
    EXPECT_LE((dense * x - b).norm(), 1e-9 * b.norm());
  }
}

TEST(SparsePanelLu, SolvesUnsymmetricValuesBothWays) {
  SplitMix rng(4);
  for (const Ordering ordering : kOrderings) {
    for (const int dofs : {1, 3}) {
      for (const int n : {1, 3, 9, 13}) {
        const SparseMatrix A = grid(rng, n, 3, dofs, 0.5);
        const VecX b = random_vector(rng, static_cast<Index>(A.rows()));
        SparsePanelLu lu;
        lu.analyze(A, ordering);
        ASSERT_TRUE(lu.factorize(A));
        VecX x;
        lu.solve(b, x);
        EXPECT_LE((A * x - b).norm(), 1e-12 * b.norm()) << n << ' ' << dofs;
        lu.solve_transpose(b, x);
        EXPECT_LE((A.transpose() * x - b).norm(), 1e-12 * b.norm()) << n << ' ' << dofs;
      }
    }
  }
}

TEST(SparsePanelLu, TakesPatternsThatAreNotSymmetric) {
  SplitMix rng(5);
  std::vector<Eigen::Triplet<double>> t;
  const Index n = 150;
  for (Index i = 0; i < n; ++i) t.emplace_back(i, i, 10.0);
  for (int k = 0; k < 500; ++k) t.emplace_back(rng.index(n), rng.index(n), rng.normal());
  SparseMatrix A(n, n);
  A.setFromTriplets(t.begin(), t.end());
  const VecX b = random_vector(rng, n);
  SparsePanelLu lu;
  lu.analyze(A);
  ASSERT_TRUE(lu.factorize(A));
  VecX x;
  lu.solve(b, x);
  EXPECT_LE((A * x - b).norm(), 1e-11 * b.norm());
}

TEST(SparseLu, PivotsWhereTheDiagonalIsZero) {
  SplitMix rng(6);
  const Index n = 40;
  MatX dense = MatX::Zero(n, n);
  for (int k = 0; k < 300; ++k) dense(rng.index(n), rng.index(n)) = rng.normal();
  for (Index i = 0; i < n; ++i) dense(i, (i + 1) % n) += 5;
  dense.diagonal().setZero();
  SparseMatrix A = dense.sparseView();
  A.makeCompressed();
  const VecX b = random_vector(rng, n);
  SparseLu lu;
  lu.analyze(A);
  ASSERT_TRUE(lu.factorize(A));
  VecX x;
  lu.solve(b, x);
  EXPECT_LE((dense * x - b).norm(), 1e-10 * b.norm());
  lu.solve_transpose(b, x);
  EXPECT_LE((dense.transpose() * x - b).norm(), 1e-10 * b.norm());
  EXPECT_GT(lu.nonzeros(), n);
}

TEST(SparseLdlt, RefactorisesWithoutAllocating) {
  SplitMix rng(7);
  const SparseMatrix A = grid(rng, 9, 4, 3, 0);
  const SparseMatrix upper = A.triangularView<Eigen::Upper>();
  const VecX b = random_vector(rng, static_cast<Index>(A.rows()));
  VecX x = b;
  SparseLdlt ldlt;
  ldlt.analyze(upper);
  ASSERT_TRUE(ldlt.factorize(upper));
  bool done = false;
  {
    const testing::NoAlloc guard;
    done = ldlt.factorize(upper);
    ldlt.solve(b, x);
  }
  EXPECT_TRUE(done);
  EXPECT_LE((A * x - b).norm(), 1e-12 * b.norm());
}

}  // namespace
}  // namespace orthant
