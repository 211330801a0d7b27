// SPDX-License-Identifier: Apache-2.0
// The judge on joints: rounding across the motion is none of its business, real errors are.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/problem/residual.hpp"

namespace orthant {
namespace {

/// Two bodies of 6 velocities, masses m and M, pulled by k; each guided: four rows per body keep
/// its velocity along z. The guides are off by rounding, as rows from rotated frames are.
CanonicalProblem guided(double m, double M, double length = 1) {
  CanonicalProblem p;
  for (const double mass : {m, M}) {
    double* H = p.H.add_block(6);
    for (int i = 0; i < 3; ++i) H[7 * i] = mass;
    for (int i = 3; i < 6; ++i) H[7 * i] = 0.1 * mass * length * length;
  }
  p.k = VecX::Zero(12);
  p.k[2] = -9.81 * m * length;
  p.k[8] = -9.81 * M * length;
  for (Index body = 0; body < 2; ++body) {
    p.C.begin_row(4);
    double* c = p.C.add(body, 6 * body, 6);
    c[0] = -1;
    c[2] = 2.2e-16;
    c[7] = 1;
    c[8] = 1e-12;
    c[6 * 2 + 3] = 1;
    c[6 * 3 + 4] = 1;
  }
  p.e = VecX::Zero(8);
  return p;
}

Solution answer(const CanonicalProblem& p) {
  Solution x = zero_solution(p);
  for (const Index at : {0, 6}) {
    const double speed = p.k[at + 2] / p.H.block(at / 6)[14];
    x.v[at + 2] = speed;
    x.v[at] = 2.2e-16 * speed;
    x.v[at + 1] = -1e-12 * speed;
  }
  return x;
}

TEST(BilateralResidual, RoundingAcrossTheMotionCountsAsRounding) {
  const CanonicalProblem p = guided(1, 1e6);
  Solution x = answer(p);
  EXPECT_LT(judge(p, x).bilateral, 1e-15);
  x.v[0] += 1e-17;  // far below the last bit of the speed
  x.v[1] -= 3e-17;
  x.v[3] = 1e-18;
  EXPECT_LT(judge(p, x).bilateral, 1e-15);
  EXPECT_GT(judge(p, x).bilateral, 0);
}

TEST(BilateralResidual, MotionThatUnderflowsIsNone) {
  // What is left of a turn after many steps of a joint that forbids it; its square is no number.
  CanonicalProblem p = guided(1, 1);
  p.k[3] = 4.7e-170;
  p.k[4] = -5e-310;
  EXPECT_EQ(judge(p, answer(p)).value, judge(guided(1, 1), answer(guided(1, 1))).value);
  Solution x = answer(p);
  x.v[3] = 1e-3;  // a turn that is no rounding of the motion along
  EXPECT_GT(judge(p, x).balance, 1e-3);
}

TEST(BilateralResidual, SeesARealError) {
  const CanonicalProblem p = guided(1, 1e6);
  for (const Index i : {0, 1, 3, 4, 6, 9}) {
    Solution x = answer(p);
    x.v[i] += 1e-6;
    EXPECT_GT(judge(p, x).bilateral, 1e-8) << i;
    EXPECT_EQ(judge(p, x).worst_joint, i / 6);  // of the light body as of the heavy one
  }
}

TEST(BilateralResidual, JudgeUpToATolerance) {
  const CanonicalProblem p = guided(1, 1e6);
  const ProblemScale scale = scale_of(p);
  JudgeWorkspace work;
  const Solution right = answer(p);
  EXPECT_EQ(judge_up_to(1e-8, p, scale, right, work), judge(p, right).value);
  for (const Index i : {0, 3, 6, 9}) {
    Solution x = right;
    x.v[i] += 1e-6;
    const double all = judge(p, x).value;
    EXPECT_EQ(judge_up_to(1, p, scale, x, work), all);
    const double part = judge_up_to(1e-14, p, scale, x, work);
    EXPECT_GT(part, 1e-14);
    EXPECT_LE(part, all);
  }
  Solution x = right;
  x.v[0] = NAN;
  EXPECT_TRUE(std::isinf(judge_up_to(1, p, scale, x, work)));
}

TEST(BilateralResidual, HasNoUnits) {
  Solution x = answer(guided(1, 1e6));
  x.v[0] += 1e-5;
  x.v[3] += 2e-5;
  const double in_metres = judge(guided(1, 1e6), x).bilateral;
  // The same world in millimetres and grams.
  CanonicalProblem p = guided(1e3, 1e9, 1e3);
  for (const Index i : {0, 1, 2, 6, 7, 8}) x.v[i] *= 1e3;
  EXPECT_NEAR(judge(p, x).bilateral, in_metres, 1e-12 * in_metres);
}

}  // namespace
}  // namespace orthant
