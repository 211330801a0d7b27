// SPDX-License-Identifier: Apache-2.0
// Joints alone as a canonical problem: solved, redundant or not, and against a dense second solver.
#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "orthant/constraint/joint_rows.hpp"
#include "orthant/force/force.hpp"
#include "orthant/solver/solve.hpp"
#include "scenes/scenes.hpp"

namespace orthant::scenes {
namespace {

constexpr double kStep = 0.01;

CanonicalProblem problem_of(const Scene& s) {
  CanonicalProblem p;
  Dynamics dynamics;
  assemble_dynamics(s.model, s.parameters, s.state.q, s.state.v, 0, {}, kStep, dynamics, p.H, p.k);
  p.b.resize(joint_block_count(s.model));
  append_joint_rows(s.model, s.parameters, s.state.q, s.state.v, 0, kStep, 0, p, 0);
  return p;
}

/// v of min ½vᵀHv − kᵀv subject to Cv + e = 0, by a complete orthogonal decomposition:
/// rank-revealing, so that redundant rows do no harm.
VecX dense_velocity(const CanonicalProblem& p) {
  const Index n = p.velocity_count(), m = p.bilateral_count();
  MatX K = MatX::Zero(n + m, n + m);
  VecX column;
  for (Index i = 0; i < n; ++i) {
    p.H.multiply(VecX::Unit(n, i), column);
    K.block(0, i, n, 1) = column;
    VecX c = VecX::Zero(m);
    p.C.multiply_add(1, VecX::Unit(n, i), c);
    K.block(n, i, m, 1) = c;
    K.block(i, n, 1, m) = -c.transpose();
  }
  VecX y(n + m);
  y << p.k, -p.e;
  return K.completeOrthogonalDecomposition().solve(y).head(n);
}

class Mechanism : public ::testing::TestWithParam<const char*> {};

TEST_P(Mechanism, AgreesWithADenseSolver) {
  const Scene s = make_scene(GetParam());
  const CanonicalProblem p = problem_of(s);
  Solution x;
  const SolveReport report = solve(p, {.tolerance = 1e-10}, x);
  EXPECT_EQ(report.outcome, Outcome::Converged);
  const VecX wanted = dense_velocity(p);
  EXPECT_LT((x.v - wanted).norm(), 1e-9 * (1 + wanted.norm()));
  EXPECT_GT(wanted.norm(), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Joints, Mechanism,
                         ::testing::Values("four_bar", "slider_crank", "chain", "pendulum",
                                           "mass_ratio_stack"));

// A chain is a tree: the work grows with its links, not with their square.
TEST(Mechanism, LongChainIsOneFactorisation) {
  const Scene s = chain(2000);
  const CanonicalProblem p = problem_of(s);
  Solution x;
  const SolveReport report = solve(p, {.tolerance = 1e-10}, x);
  EXPECT_EQ(report.outcome, Outcome::Converged);
  EXPECT_LE(report.iterations, 5);
}

}  // namespace
}  // namespace orthant::scenes
