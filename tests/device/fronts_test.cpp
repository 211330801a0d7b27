// SPDX-License-Identifier: Apache-2.0
// The multifrontal Cholesky on the host back end against Eigen's dense one, for graphs of points in
// the plane; the tree: each body in one front, a place for each pair.
#include "device/fronts_kernel.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numeric>

#include "device/host_teams.hpp"
#include "orthant/base/parallel.hpp"
#include "support/splitmix.hpp"

namespace orthant::device {
namespace {

struct Graph {
  std::vector<double> xy;
  std::vector<std::array<int, 2>> pairs;
  std::size_t size() const { return xy.size() / 2; }
};

/// Points of a square, paired up to a distance of 1.
Graph scattered(int n, double width) {
  testing::SplitMix random(7);
  Graph g;
  for (int i = 0; i < 2 * n; ++i) g.xy.push_back(width * random.uniform());
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) {
      const auto at = [&](int i, int k) { return g.xy[static_cast<std::size_t>(2 * i + k)]; };
      if (std::hypot(at(a, 0) - at(b, 0), at(a, 1) - at(b, 1)) < 1) g.pairs.push_back({a, b});
    }
  return g;
}
/// All in one place, all paired.
Graph clump(int n) {
  Graph g;
  g.xy.assign(static_cast<std::size_t>(2 * n), 0.5);
  for (int a = 0; a < n; ++a)
    for (int b = a + 1; b < n; ++b) g.pairs.push_back({b, a});
  return g;
}

/// A matrix of these blocks, positive definite: Σ over pairs of w wᵀ, and a share of the identity.
Eigen::MatrixXd matrix_of(const Graph& g) {
  testing::SplitMix random(11);
  const auto n = static_cast<Eigen::Index>(3 * g.size());
  Eigen::MatrixXd A = 0.1 * Eigen::MatrixXd::Identity(n, n);
  for (const auto& [a, b] : g.pairs) {
    Eigen::Matrix<double, 6, 1> w;
    for (double& x : w) x = random.uniform() - 0.5;
    const Eigen::Matrix<double, 6, 6> block = w * w.transpose();
    A.block<3, 3>(3 * a, 3 * a) += block.topLeftCorner<3, 3>();
    A.block<3, 3>(3 * b, 3 * b) += block.bottomRightCorner<3, 3>();
    A.block<3, 3>(3 * a, 3 * b) += block.topRightCorner<3, 3>();
    A.block<3, 3>(3 * b, 3 * a) += block.bottomLeftCorner<3, 3>();
  }
  return A;
}

struct DiagonalOf {
  const Eigen::MatrixXd* A;
  const Diagonal* at = nullptr;
  double* matrix = nullptr;
  void operator()(std::size_t k) const {
    for (int j = 0; j < 3; ++j)
      for (int i = j; i < 3; ++i)
        matrix[at[k].at + static_cast<std::size_t>(i + j * at[k].stride)] =
            (*A)(3 * static_cast<int>(k) + i, 3 * static_cast<int>(k) + j);
  }
};
struct OffDiagonalOf {
  const Eigen::MatrixXd* A;
  const Slot* slot = nullptr;
  double* matrix = nullptr;
  void operator()(std::size_t k) const {
    const Slot& s = slot[k];
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 3; ++i)
        matrix[s.at + static_cast<std::size_t>(i + j * s.stride)] =
            (*A)(3 * s.later + i, 3 * s.first + j);
  }
};

std::vector<double> solve(const Graph& g, const Eigen::MatrixXd& A, const Eigen::VectorXd& b) {
  HostTeams host;
  Fronts<HostTeams> fronts(host);
  fronts.build(g.xy, g.pairs);
  fronts.factor(DiagonalOf{&A}, OffDiagonalOf{&A});
  std::vector<double> x(3 * g.size());
  fronts.solve(b.data(), x.data());
  return x;
}

TEST(Fronts, SolveAsADenseFactorDoes) {
  for (const Graph& g : {scattered(1, 1), scattered(33, 3), scattered(200, 40), scattered(400, 12),
                         scattered(900, 18), clump(70)}) {
    const Eigen::MatrixXd A = matrix_of(g);
    const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(A.rows(), -1, 2);
    const Eigen::VectorXd expected = A.llt().solve(b);
    const std::vector<double> x = solve(g, A, b);
    double most = 0;
    for (Eigen::Index i = 0; i < A.rows(); ++i)
      most = std::max(most, std::abs(x[static_cast<std::size_t>(i)] - expected[i]));
    EXPECT_LT(most, 1e-11 * expected.cwiseAbs().maxCoeff()) << g.size() << " bodies";
  }
}

TEST(Fronts, HaveTheSameBitsForAnyNumberOfThreads) {
  const Graph g = scattered(900, 18);
  const Eigen::MatrixXd A = matrix_of(g);
  const Eigen::VectorXd b = Eigen::VectorXd::LinSpaced(A.rows(), -1, 2);
  const std::vector<double> one = solve(g, A, b);
  set_thread_count(3);
  EXPECT_EQ(solve(g, A, b), one);
  set_thread_count(1);
}

TEST(Fronts, HoldEachBodyOnceAndAPlaceForEachPair) {
  const Graph g = scattered(900, 18);
  Dissection tree;
  tree.build(g.xy, g.pairs);
  std::vector<int> owned(g.size(), 0);
  for (const Front& f : tree.front)
    for (int i = 0; i < f.own; ++i)
      ++owned[static_cast<std::size_t>(tree.bodies[static_cast<std::size_t>(f.bodies + i)])];
  EXPECT_EQ(owned, std::vector<int>(g.size(), 1));
  EXPECT_EQ(tree.slot.size(), g.pairs.size());
  for (const auto& [a, b] : g.pairs) {
    EXPECT_TRUE(tree.covers(a, b));
    EXPECT_TRUE(tree.covers(b, a));
  }
  EXPECT_FALSE(tree.covers(0, 0));
  EXPECT_EQ(tree.level.back().count, 1);
  EXPECT_EQ(tree.front.back().bound, 0);
  // Few keep the halves apart: about as many as pairs across a line of 18 places of 2.8 each.
  EXPECT_LT(tree.front.back().own, 60);
}

}  // namespace
}  // namespace orthant::device
