// SPDX-License-Identifier: Apache-2.0
// The types everything leans on, used the way their hardest consumers use them: a recursion that
// appends rows, an impact inside a step, a contact with four bodies, a batch of parameters, a dense
// local problem, a reverse walk over a record.
#include <gtest/gtest.h>

#include <algorithm>

#include "orthant/gradient/solution.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/problem/special_cases.hpp"
#include "orthant/solver/solve.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

/// A unit mass with one velocity, pushed down by 1 onto floors given by appended rows.
CanonicalProblem falling_mass() {
  CanonicalProblem p;
  *p.H.add_block(1) = 1;
  p.k = VecX::Constant(1, -1);
  return p;
}

void append_floor(CanonicalProblem& p, double gap_rate) {
  p.laws.push_back(Law::orthant());
  p.D.begin_row(1);
  *p.D.add(0, 0, 1) = 1;
  p.b.conservativeResize(p.b.size() + 1);
  p.b[p.b.size() - 1] = gap_rate;
}

TEST(Contracts, RecursionAppendsRowsAndKeepsTheOldOnes) {
  CanonicalProblem p = falling_mass();
  append_floor(p, 0.5);
  SolveWorkspace work;
  Solution x = zero_solution(p);
  ASSERT_EQ(solve(p, {}, work, x).outcome, Outcome::Converged);
  EXPECT_NEAR(x.v[0], -0.5, 1e-9);
  const std::vector<double> first(p.D.all_values().begin(), p.D.all_values().end());
  append_floor(p, 0.2);  // found at the trial configuration: nearer
  EXPECT_TRUE(std::equal(first.begin(), first.end(), p.D.all_values().begin()));
  x.lambda.conservativeResize(2);  // warm start: last λ, zero for the new row
  x.lambda[1] = 0;
  x.w.resize(2);
  ASSERT_EQ(solve(p, {}, work, x).outcome, Outcome::Converged);
  EXPECT_NEAR(x.v[0], -0.2, 1e-9);
  EXPECT_NEAR(x.lambda.sum(), 0.8, 1e-9);
}

TEST(Contracts, ImpactInsideAStepIsTwoSolvesOfOneRecord) {
  StepRecord record;
  const double h = 0.01, impact_at = 0.004;
  record.solves.resize(2);
  record.solves[0].kind = SolveKind::Impact;
  record.solves[0].duration = impact_at;
  record.solves[1].kind = SolveKind::Step;
  record.solves[1].duration = h - impact_at;
  double covered = 0;
  for (auto it = record.solves.rbegin(); it != record.solves.rend(); ++it) covered += it->duration;
  EXPECT_DOUBLE_EQ(covered, h);
}

TEST(Contracts, NodeOnFaceHasFourBlocks) {
  CanonicalProblem p;
  for (int node = 0; node < 4; ++node) {
    double* m = p.H.add_block(3);
    m[0] = m[4] = m[8] = 1;
  }
  p.k = VecX::Zero(12);
  p.k[2] = -1;  // node 0 pushed down onto the face of nodes 1, 2, 3
  p.laws = {Law::coulomb(3, 0.4)};
  p.D.begin_row(3);
  const double weight[4] = {1, -0.5, -0.3, -0.2};  // barycentric
  for (int node = 0; node < 4; ++node) {
    double* d = p.D.add(node, 3 * node, 3);
    d[2] = d[3] = d[7] = weight[node];  // normal z, tangents x and y
  }
  p.b = VecX::Zero(3);
  Solution x;
  ASSERT_EQ(solve(p, {}, x).outcome, Outcome::Converged);
  EXPECT_NEAR(x.lambda[0], 1 / (1 + 0.25 + 0.09 + 0.04), 1e-8);  // 1 / Σ weight²
  EXPECT_NEAR(x.v[2] + weight[1] * x.v[5] + weight[2] * x.v[8] + weight[3] * x.v[11], 0, 1e-9);
}

TEST(Contracts, BatchOfParametersNeverRebuildsTheModel) {
  ModelBuilder builder;
  BodySpec ball;
  ball.name = "ball";
  ball.shapes.push_back(ShapeSpec{Shape::sphere(0.1)});
  ball.mass = 1.0;
  builder.add_body(ball);
  const Model model = builder.build();
  std::vector<Parameters> batch(3, model.default_parameters());
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i].set("body/ball.mass", 1.0 + i);
  EXPECT_EQ(batch[0].table.get(), batch[2].table.get());
  EXPECT_EQ(batch[0].get("body/ball.mass"), 1);
  EXPECT_EQ(batch[2].get("body/ball.mass"), 3);
}

TEST(Contracts, DenseLocalProblemIsAllF) {
  MatX M(3, 3);
  M << 2, 1, 0, 0.5, 2, 1, 0, 0.3, 2;  // unsymmetric
  const VecX q = VecX::Constant(3, -1);
  const CanonicalProblem p = make_lcp(M, q);
  EXPECT_TRUE(p.is_local());
  Solution x;
  ASSERT_EQ(solve(p, {}, x).outcome, Outcome::Converged);
  EXPECT_LT((M * x.lambda + q - x.w).norm(), 1e-12);
  // The gradient needs the problem and the answer, not the solver that found it.
  SolutionGradient gradient(p, scale_of(p), x);
  Solution by;
  by.lambda = VecX::Unit(3, 0);
  EXPECT_EQ(gradient.pull_back(by).F.size(), p.F.all_values().size());
}

TEST(Contracts, ContactKeysOrderContactsWhateverTheirArrayPlace) {
  ContactKey a;
  a.body_a = 1;
  a.body_b = 7;
  ContactKey b = a, image = a;
  b.feature = 2;
  image.image = {1, 0, 0};
  EXPECT_LT(a, b);
  EXPECT_NE(a, image);
}

}  // namespace
}  // namespace orthant
