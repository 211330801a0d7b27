// SPDX-License-Identifier: Apache-2.0
// math/block_lu_test.cpp: against a dense LU, mixed block sizes, rows that are only a diagonal.
#include "math/block_lu.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include "support/splitmix.hpp"

namespace orthant {
namespace {

/// Random sparse blocks with a dominant diagonal; unsymmetric in values, nearly so in pattern.
BlockRows random_matrix(testing::SplitMix& rng, const std::vector<Index>& dims, double density,
                        MatX& dense) {
  std::vector<Index> offset{0};
  for (const Index d : dims) offset.push_back(offset.back() + d);
  dense = MatX::Zero(offset.back(), offset.back());
  BlockRows A;
  const auto n = static_cast<Index>(dims.size());
  for (Index i = 0; i < n; ++i) {
    A.begin_row(dims[i]);
    for (Index j = 0; j < n; ++j) {
      if (i != j && !rng.chance(density)) continue;
      double* a = A.add(j, offset[j], dims[j]);
      for (Index t = 0; t < dims[i] * dims[j]; ++t) a[t] = rng.normal();
      if (i == j) {
        for (Index r = 0; r < dims[i]; ++r) a[r * dims[i] + r] += 20;
      }
      for (Index r = 0; r < dims[i]; ++r) {
        for (Index c = 0; c < dims[j]; ++c)
          dense(offset[i] + r, offset[j] + c) = a[r * dims[j] + c];
      }
    }
  }
  return A;
}

void expect_same_as_dense(const BlockRows& A, const MatX& dense, testing::SplitMix& rng) {
  BlockLu lu;
  lu.analyze(A);
  ASSERT_TRUE(lu.factorize(A));
  VecX b(dense.rows()), x;
  for (Index i = 0; i < b.size(); ++i) b[i] = rng.normal();
  lu.solve(b, x);
  const VecX expected = dense.partialPivLu().solve(b);
  EXPECT_LE((x - expected).norm(), 1e-12 * expected.norm());
  constexpr Index kColumns = 11;  // one strip of eight and what is left
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> many(b.size(), kColumns);
  for (Index i = 0; i < many.size(); ++i) many.data()[i] = rng.normal();
  const MatX all = dense.partialPivLu().solve(MatX(many));
  lu.solve_many(many.data(), kColumns);
  EXPECT_LE((many - all).norm(), 1e-12 * all.norm());
}

TEST(BlockLu, AgreesWithDense) {
  testing::SplitMix rng(1);
  for (const Index d : {1, 2, 3, 4, 5}) {
    MatX dense;
    const BlockRows A = random_matrix(rng, std::vector<Index>(30, d), 0.1, dense);
    expect_same_as_dense(A, dense, rng);
  }
}

TEST(BlockLu, MixedSizes) {
  testing::SplitMix rng(2);
  std::vector<Index> dims;
  for (int i = 0; i < 40; ++i) dims.push_back(1 + rng.index(6));
  MatX dense;
  const BlockRows A = random_matrix(rng, dims, 0.08, dense);
  expect_same_as_dense(A, dense, rng);
}

TEST(BlockLu, RowsThatAreOnlyADiagonal) {
  testing::SplitMix rng(3);
  MatX dense;
  BlockRows A = random_matrix(rng, std::vector<Index>(20, 3), 0.3, dense);
  for (Index i = 0; i < 20; i += 2) {
    double* a = A.values(i);
    for (const auto& entry : A.entries(i)) {
      for (Index t = 0; t < 9; ++t) a[t] = entry.block == i && t % 4 == 0 ? 1.0 : 0.0;
      a += 9;
    }
    dense.middleRows(3 * i, 3).setZero();
    dense.block(3 * i, 3 * i, 3, 3).setIdentity();
  }
  expect_same_as_dense(A, dense, rng);
}

TEST(BlockLu, PivotsInsideADiagonalBlock) {
  BlockRows A;
  A.begin_row(2);
  double* a = A.add(0, 0, 2);
  a[1] = 2, a[2] = 4;  // zeros on the diagonal
  BlockLu lu;
  lu.analyze(A);
  ASSERT_TRUE(lu.factorize(A));
  VecX x;
  lu.solve(Vec2(2, 4), x);
  EXPECT_DOUBLE_EQ(x[0], 1);
  EXPECT_DOUBLE_EQ(x[1], 1);
}

TEST(BlockLu, SingularBlockIsReported) {
  BlockRows A;
  A.begin_row(2);
  double* a = A.add(0, 0, 2);
  a[0] = a[1] = a[2] = a[3] = 1;
  BlockLu lu;
  lu.analyze(A);
  EXPECT_FALSE(lu.factorize(A));
}

}  // namespace
}  // namespace orthant
