// SPDX-License-Identifier: Apache-2.0
// math/velocity_system_test.cpp: the saddle-point system against a dense LU; work linear in the
// links; redundant rows; no allocation after the analysis.
#include "math/velocity_system.hpp"

#include <gtest/gtest.h>

#include <Eigen/LU>

#include "support/linkage.hpp"
#include "support/no_alloc.hpp"

namespace orthant {
namespace {

using testing::linkage;
using testing::LinkageSpec;
using testing::SplitMix;

/// Rows of A as a dense matrix.
MatX dense_of(const BlockRows& A, Index columns) {
  MatX out = MatX::Zero(A.rows(), columns);
  for (Index i = 0; i < A.row_block_count(); ++i) {
    const double* a = A.values(i);
    for (const BlockRows::Entry& entry : A.entries(i))
      for (Index r = 0; r < A.dim(i); ++r)
        for (Index c = 0; c < entry.width; ++c) out(A.row_begin(i) + r, entry.column + c) += *a++;
  }
  return out;
}

/// A weight per row block of D, unsymmetric, every third one zero.
std::vector<double> random_weights(SplitMix& rng, const BlockRows& D) {
  std::vector<double> weights;
  for (Index c = 0; c < D.row_block_count(); ++c)
    for (Index i = 0; i < D.dim(c) * D.dim(c); ++i)
      weights.push_back(c % 3 == 0 ? 0 : rng.normal() + (i % (D.dim(c) + 1) == 0 ? 4 : 0));
  return weights;
}

MatX dense_system(const CanonicalProblem& p, const VecX& delta, const std::vector<double>& W) {
  const Index n = p.velocity_count(), m = p.bilateral_count();
  MatX A = MatX::Zero(n + m, n + m), weight = MatX::Zero(p.D.rows(), p.D.rows());
  Index at = 0;
  std::size_t next = 0;
  for (Index c = 0; c < p.D.row_block_count(); ++c) {
    for (Index r = 0; r < p.D.dim(c); ++r)
      for (Index k = 0; k < p.D.dim(c); ++k) weight(at + r, at + k) = W[next++];
    at += p.D.dim(c);
  }
  const MatX C = dense_of(p.C, n), D = dense_of(p.D, n);
  const double* h = p.H.all_values().data();
  p.H.for_each_entry([&](Index r, Index c) { A(r, c) += *h++; });
  A.topLeftCorner(n, n) += D.transpose() * weight * D;
  A.topRightCorner(n, m) = -C.transpose();
  A.bottomLeftCorner(m, n) = C;
  A.bottomRightCorner(m, m).diagonal() = delta;
  return A;
}

void expect_same_as_dense(const CanonicalProblem& p, SplitMix& rng, double tolerance) {
  const VecX delta = VecX::Constant(p.bilateral_count(), 1e-7);
  const std::vector<double> W = random_weights(rng, p.D);
  VelocitySystem system;
  system.analyze(p.H, p.C, p.D);
  const std::span<const double> d(delta.data(), static_cast<std::size_t>(delta.size()));
  ASSERT_TRUE(system.factorize(p.H, p.C, d, p.D, W));
  const MatX A = dense_system(p, delta, W);
  VecX right(A.rows()), x;
  for (Index i = 0; i < right.size(); ++i) right[i] = rng.normal();
  system.solve(right, x);
  EXPECT_LE((A * x - right).norm(), tolerance * (A.norm() * x.norm()));
  const VecX expected = A.partialPivLu().solve(right);
  EXPECT_LE((x - expected).norm(), 1e-6 * expected.norm());
  system.solve_transpose(right, x);
  EXPECT_LE((A.transpose() * x - right).norm(), tolerance * (A.norm() * x.norm()));
}

TEST(VelocitySystem, AgreesWithDense) {
  SplitMix rng(1);
  for (const bool planar : {false, true})
    for (const int branches : {1, 2, 5})
      for (const bool closed : {false, true}) {
        SCOPED_TRACE(branches * 100 + planar * 10 + closed);
        const CanonicalProblem p = linkage(rng, {.links = 12,
                                                 .branches = branches,
                                                 .planar = planar,
                                                 .fixed = branches == 2,
                                                 .closed = closed,
                                                 .contacts = 4});
        // Pivots are chosen inside blocks alone: around a loop some digits are left to refinement.
        expect_same_as_dense(p, rng, closed ? 1e-11 : 1e-13);
      }
}

TEST(VelocitySystem, SparseVelocityMatrix) {
  SplitMix rng(2);
  CanonicalProblem p = linkage(rng, {.links = 8, .contacts = 3});
  // Springs between every link and the next but one.
  std::vector<Eigen::Triplet<double, Index>> numbers;
  const double* h = p.H.all_values().data();
  p.H.for_each_entry([&](Index r, Index c) { numbers.emplace_back(r, c, *h++); });
  for (Index i = 0; i + 2 < p.H.block_count(); ++i)
    for (Index k = 0; k < 3; ++k) {
      const Index a = p.H.block_begin(i) + k, b = p.H.block_begin(i + 2) + k;
      for (const auto& [r, c, s] : {std::tuple{a, a, 1.0}, {b, b, 1.0}, {a, b, -1.0}, {b, a, -1.0}})
        numbers.emplace_back(r, c, 0.3 * s);
    }
  SparseMatrix H(p.velocity_count(), p.velocity_count());
  H.setFromTriplets(numbers.begin(), numbers.end());
  p.H = VelocityMatrix::sparse(H, {p.H.offsets().begin(), p.H.offsets().end()});
  expect_same_as_dense(p, rng, 1e-13);
}

/// From the leaves to the root: each hinge follows its child at once, nothing fills in.
TEST(VelocitySystem, WorkIsLinearInTheLinks) {
  for (const bool planar : {false, true})
    for (const int branches : {1, 3}) {
      double per_link[2] = {};
      for (const int k : {0, 1}) {
        SplitMix rng(3);
        const int links = k == 0 ? 30 : 1000;
        const CanonicalProblem p =
            linkage(rng, {.links = links, .branches = branches, .planar = planar, .contacts = 6});
        VelocitySystem system;
        system.analyze(p.H, p.C, p.D);
        per_link[k] = system.flops() / links;
      }
      EXPECT_NEAR(per_link[1], per_link[0], 0.1 * per_link[0]) << branches << planar;
      // Six velocities, five rows: factors and products of 6 x 6 and 5 x 6 blocks, the limit's rows
      // beside those of the hinge.
      EXPECT_LE(per_link[1], planar ? 250 : 2300);
    }
}

TEST(VelocitySystem, OneLoopAddsTheRowsOfOneHinge) {
  SplitMix rng(4);
  const CanonicalProblem open = linkage(rng, {.links = 200, .limits = 0});
  const CanonicalProblem closed = linkage(rng, {.links = 200, .closed = true, .limits = 0});
  VelocitySystem a, b;
  a.analyze(open.H, open.C, open.D);
  b.analyze(closed.H, closed.C, closed.D);
  EXPECT_LE(b.flops(), 4 * a.flops());
}

TEST(VelocitySystem, RowsOfJointsWaitForTheirBodies) {
  SplitMix rng(5);
  const CanonicalProblem p =
      linkage(rng, {.links = 40, .branches = 3, .fixed = true, .closed = true, .contacts = 5});
  VelocitySystem system;
  system.analyze(p.H, p.C, p.D);
  const Index n = p.H.block_count();
  std::vector<Index> rank(system.order().size());
  for (std::size_t k = 0; k < rank.size(); ++k) rank[system.order()[k]] = static_cast<Index>(k);
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    Index later = 0;
    for (const BlockRows::Entry& entry : p.C.entries(i)) later += rank[entry.block] > rank[n + i];
    EXPECT_LE(later, p.C.entries(i).size() > 1 ? 1 : 0) << i;
  }
}

TEST(VelocitySystem, DoesNotAllocateOnceAnalysed) {
  SplitMix rng(6);
  const CanonicalProblem p = linkage(rng, {.links = 30, .branches = 2, .contacts = 4});
  const VecX delta = VecX::Constant(p.bilateral_count(), 1e-9);
  const std::span<const double> d(delta.data(), static_cast<std::size_t>(delta.size()));
  const std::vector<double> W = random_weights(rng, p.D);
  VelocitySystem system;
  system.analyze(p.H, p.C, p.D);
  VecX right = VecX::Ones(p.velocity_count() + p.bilateral_count()), x = right;
  testing::NoAlloc guard;
  system.analyze(p.H, p.C, p.D);
  ASSERT_TRUE(system.factorize(p.H, p.C, d, p.D, W));
  system.solve(right, x);
}

}  // namespace
}  // namespace orthant
