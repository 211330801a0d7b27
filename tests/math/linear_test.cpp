// SPDX-License-Identifier: Apache-2.0
// math/linear_test.cpp: block rows, the three forms of H and rotations against plain algebra.
#include <gtest/gtest.h>

#include <Eigen/LU>
#include <cmath>

#include "orthant/math/block_rows.hpp"
#include "orthant/math/rotation_kernel.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

VecX random_vector(SplitMix& rng, Index n) {
  VecX x(n);
  for (Index i = 0; i < n; ++i) x[i] = rng.normal();
  return x;
}

struct RandomRows {
  BlockRows rows;
  MatX dense;
};

/// Row blocks of 1…6 rows with one to four of the column blocks each.
RandomRows random_rows(SplitMix& rng, Index row_blocks, std::span<const Index> columns) {
  RandomRows out;
  const auto blocks = static_cast<int>(columns.size()) - 1;
  std::vector<Index> dims;
  Index total = 0;
  for (Index i = 0; i < row_blocks; ++i) dims.push_back(1 + rng.index(6)), total += dims.back();
  out.dense = MatX::Zero(total, columns.back());
  Index at = 0;
  for (const Index dim : dims) {
    out.rows.begin_row(dim);
    const int first = rng.index(blocks), count = 1 + rng.index(std::min(4, blocks - first));
    for (int j = first; j < first + count; ++j) {
      const Index width = columns[j + 1] - columns[j];
      double* a = out.rows.add(j, columns[j], width);
      for (Index r = 0; r < dim; ++r) {
        for (Index c = 0; c < width; ++c) {
          a[r * width + c] = out.dense(at + r, columns[j] + c) = rng.normal();
        }
      }
    }
    at += dim;
  }
  return out;
}

TEST(BlockRows, MultiplyLikeADenseMatrix) {
  SplitMix rng(1);
  const Index columns[] = {0, 3, 9, 10, 12, 18, 21};
  for (int round = 0; round < 50; ++round) {
    const RandomRows A = random_rows(rng, 1 + rng.index(10), columns);
    const VecX x = random_vector(rng, 21), f = random_vector(rng, A.rows.rows());
    VecX y;
    A.rows.multiply(x, y);
    EXPECT_LE((y - A.dense * x).norm(), 1e-13);
    A.rows.multiply_add(-2, x, y);
    EXPECT_LE((y + A.dense * x).norm(), 1e-12);
    VecX t = x;
    A.rows.multiply_transpose_add(0.5, f, t);
    EXPECT_LE((t - x - 0.5 * A.dense.transpose() * f).norm(), 1e-12);
    for (Index i = 0; i < A.rows.row_block_count(); ++i) {
      for (const auto& entry : A.rows.entries(i)) {
        const double* a = A.rows.find(i, entry.block);
        ASSERT_NE(a, nullptr);
        EXPECT_EQ(a[0], A.dense(A.rows.row_begin(i), entry.column));
      }
      EXPECT_EQ(A.rows.find(i, 99), nullptr);
    }
  }
}

TEST(BlockRows, OldRowsStayWhenNewOnesAreAppended) {
  SplitMix rng(2);
  const Index columns[] = {0, 6, 12};
  RandomRows A = random_rows(rng, 4, columns);
  const VecX x = random_vector(rng, 12);
  VecX before, after;
  A.rows.multiply(x, before);
  A.rows.begin_row(1);
  A.rows.add(1, 6, 6)[2] = 5;
  A.rows.multiply(x, after);
  EXPECT_EQ(after.head(before.size()), before);
  EXPECT_EQ(after[before.size()], 5 * x[8]);
}

/// Symmetric positive definite n x n, entries of mixed size as mass and inertia have.
MatX random_inertia(SplitMix& rng, Index n) {
  MatX A(n, n);
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) A(i, j) = rng.normal();
  }
  VecX scale(n);
  for (Index i = 0; i < n; ++i) scale[i] = rng.log_uniform(1e-4, 1e4);
  const MatX B =
      scale.asDiagonal() * (A * A.transpose() + MatX::Identity(n, n)) * scale.asDiagonal();
  return 0.5 * (B + B.transpose());  // symmetric to the last bit
}

TEST(VelocitySolver, SolvesAllFormsOfH) {
  SplitMix rng(3);
  VelocityMatrix blocks;
  MatX dense = MatX::Zero(16, 16);
  Index at = 0;
  for (const Index n : {6, 3, 1, 6}) {
    const MatX B = random_inertia(rng, n);
    double* a = blocks.add_block(n);
    for (Index r = 0; r < n; ++r) {
      for (Index c = 0; c < n; ++c) a[r * n + c] = B(r, c);
    }
    dense.block(at, at, n, n) = B;
    at += n;
  }
  const VecX y = random_vector(rng, 16);
  VelocitySolver solver;
  VecX x;
  ASSERT_TRUE(solver.factorize(blocks));
  solver.solve(y, x);
  VecX back;
  blocks.multiply(x, back);
  EXPECT_LE((back - y).norm(), 1e-9 * y.norm());

  // Sparse and unsymmetric.
  MatX coupled = dense;
  for (Index i = 0; i + 1 < 16; ++i) {
    coupled(i, i + 1) += 0.1 * std::sqrt(dense(i, i) * dense(i + 1, i + 1));
  }
  const SparseMatrix S = coupled.sparseView();
  const VelocityMatrix sparse = VelocityMatrix::sparse(S, {0, 6, 9, 10, 16});
  EXPECT_FALSE(sparse.is_symmetric());
  EXPECT_TRUE(blocks.is_symmetric());
  ASSERT_TRUE(solver.factorize(sparse));
  solver.solve(y, x);
  sparse.multiply(x, back);
  EXPECT_LE((back - y).norm(), 1e-9 * y.norm());
  solver.solve_transpose(y, x);
  EXPECT_LE((coupled.transpose() * x - y).norm(), 1e-9 * y.norm());
}

/// A tree of blocks of several sizes (block i hangs on (i − 1)/2), positive definite; `loop`: the
/// last one also on block 1.
VelocityMatrix random_tree(SplitMix& rng, Index count, bool loop, MatX& dense) {
  std::vector<Index> offsets{0};
  for (Index i = 0; i < count; ++i) offsets.push_back(offsets.back() + (i % 3 == 2 ? 3 : 6));
  const Index n = offsets.back();
  dense = MatX::Zero(n, n);
  const auto size = [&](Index i) { return offsets[i + 1] - offsets[i]; };
  for (Index i = 0; i < count; ++i)
    dense.block(offsets[i], offsets[i], size(i), size(i)) = random_inertia(rng, size(i));
  // As a damper does: a square of one row over two bodies.
  const auto couple = [&](Index i, Index j) {
    VecX row = VecX::Zero(n);
    row.segment(offsets[i], size(i)) = random_vector(rng, size(i));
    row.segment(offsets[j], size(j)) = random_vector(rng, size(j));
    dense += row * row.transpose();
  };
  for (Index i = 1; i < count; ++i) couple(i, (i - 1) / 2);
  if (loop) couple(count - 1, 1);
  return VelocityMatrix::sparse(dense.sparseView(), offsets);
}

TEST(VelocitySolver, BlocksThatCoupleAsATreeOrNot) {
  SplitMix rng(8);
  VelocitySolver solver;
  for (int round = 0; round < 12; ++round) {
    SCOPED_TRACE(round);
    MatX dense;
    const VelocityMatrix H = random_tree(rng, 2 + round, round % 3 == 2 && round > 4, dense);
    ASSERT_TRUE(H.is_symmetric());
    ASSERT_TRUE(solver.factorize(H));
    const VecX y = random_vector(rng, H.rows());
    VecX x, back, scratch;
    solver.solve(y, x);
    // Entries differ by eight orders of magnitude: rounding is that of the terms.
    const double terms = (dense.cwiseAbs() * x.cwiseAbs() + y.cwiseAbs()).norm();
    EXPECT_LE((dense * x - y).norm(), 1e-13 * terms);
    solver.solve_transpose(y, back);
    EXPECT_EQ(x, back);
    VecX row = VecX::Zero(H.rows());
    row[H.rows() - 1] = 2;
    row[0] = 1;
    const double expected = row.dot(dense.ldlt().solve(row));
    EXPECT_NEAR(solver.inverse_square(row, scratch), expected, 1e-9 * expected);
  }
}

TEST(VelocitySolver, ATreeThatIsNotPositiveDefiniteIsSolvedAllTheSame) {
  MatX dense = MatX::Identity(12, 12);
  dense(0, 6) = dense(6, 0) = 3;  // eigenvalues 4 and -2
  const VelocityMatrix H = VelocityMatrix::sparse(dense.sparseView(), {0, 6, 12});
  VelocitySolver solver;
  ASSERT_TRUE(solver.factorize(H));
  VecX x;
  const VecX y = VecX::LinSpaced(12, 1, 12);
  solver.solve(y, x);
  EXPECT_LE((dense * x - y).norm(), 1e-12 * y.norm());
}

TEST(VelocityMatrix, SymmetryIsSeenEntryByEntry) {
  SplitMix rng(9);
  MatX dense;
  EXPECT_TRUE(random_tree(rng, 5, true, dense).is_symmetric());
  MatX value = dense, pattern = dense;
  const std::vector<Index> offsets{0, static_cast<Index>(dense.rows())};
  value(0, 7) *= 1 + 1e-15;
  pattern(0, 7) = 0;
  EXPECT_FALSE(VelocityMatrix::sparse(value.sparseView(), offsets).is_symmetric());
  EXPECT_FALSE(VelocityMatrix::sparse(pattern.sparseView(), offsets).is_symmetric());
  pattern = dense;
  pattern(7, 0) = 0;
  EXPECT_FALSE(VelocityMatrix::sparse(pattern.sparseView(), offsets).is_symmetric());
}

TEST(VelocitySolver, SaysWhenABlockIsSingular) {
  VelocityMatrix H;
  H.add_block(3)[0] = 1;
  VelocitySolver solver;
  EXPECT_FALSE(solver.factorize(H));
}

TEST(Rotation, TurnsLikeItsMatrix) {
  SplitMix rng(4);
  for (int round = 0; round < 200; ++round) {
    const Vec3 theta = random_vector(rng, 3) * (round % 2 ? 1.0 : 1e-6), a = random_vector(rng, 3);
    const Quat q = exp_rotation(theta);
    EXPECT_NEAR(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z, 1, 1e-15);
    const Mat3 R = matrix_of(q);
    EXPECT_LE((R * R.transpose() - Mat3::Identity()).norm(), 1e-14);
    EXPECT_NEAR(R.determinant(), 1, 1e-14);
    EXPECT_LE((rotate(q, a) - R * a).norm(), 1e-14 * a.norm() * 10);
    // Rodrigues' formula, an independent route.
    const double angle = theta.norm();
    const Vec3 u = theta / angle;
    const Vec3 expected =
        a * std::cos(angle) + u.cross(a) * std::sin(angle) + u * u.dot(a) * (1 - std::cos(angle));
    EXPECT_LE((R * a - expected).norm(), 1e-13);
    EXPECT_LE((log_rotation(q) - (angle <= M_PI ? theta : Vec3(theta - 2 * M_PI * u))).norm(),
              1e-12);
  }
}

TEST(Rotation, BoxplusAndItsJacobianAgree) {
  SplitMix rng(5);
  for (int round = 0; round < 100; ++round) {
    const Quat p = exp_rotation(Vec3(random_vector(rng, 3)));
    const Vec3 theta = random_vector(rng, 3), d = random_vector(rng, 3);
    EXPECT_LE((boxminus(boxplus(p, theta), p) -
               (theta.norm() <= M_PI ? theta : Vec3(theta * (1 - 2 * M_PI / theta.norm()))))
                  .norm(),
              1e-12);
    const double h = 1e-6;
    const Vec3 moved = boxminus(boxplus(p, Vec3(theta + h * d)), boxplus(p, Vec3(theta - h * d)));
    EXPECT_LE((moved / (2 * h) - left_jacobian(theta) * d).norm(), 1e-8 * (1 + d.norm()));
  }
}

}  // namespace
}  // namespace orthant
