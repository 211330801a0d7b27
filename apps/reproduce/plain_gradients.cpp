// SPDX-License-Identifier: Apache-2.0
// reproduce/plain_gradients.cpp: frictionless problem => λ by spectral steps (Barzilai–Borwein),
// long and short in turn, with the nonmonotone rule of Grippo, Lampariello and Lucidi; the line
// search is exact, the function being quadratic. Rows are scaled to a unit diagonal of N.
#include "reproduce/plain_gradients.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "orthant/problem/residual.hpp"

namespace orthant::reproduce {
namespace {

constexpr int kMaxIterations = 20000, kJudgeEvery = 50;
constexpr std::size_t kMemory = 10;  // steps whose largest value the line search asks for less than

}  // namespace

bool solve_by_plain_gradients(const CanonicalProblem& p, double tolerance) {
  const ProblemScale scale = scale_of(p);
  const VecX s = scale.tau.cwiseSqrt();
  VelocitySolver inverse;
  if (!inverse.factorize(p.H)) return false;
  VecX impulse, motion;
  const auto multiply = [&](const VecX& x, VecX& y) {  // y = S N S x; H⁻¹ Dᵀ S x stays in `motion`
    impulse.setZero(p.velocity_count());
    p.D.multiply_transpose_add(1, s.cwiseProduct(x), impulse);
    inverse.solve(impulse, motion);
    p.D.multiply(motion, y);
    y = y.cwiseProduct(s);
  };
  VecX r = p.b;
  p.D.multiply_add(1, scale.v_free, r);
  r = r.cwiseProduct(s);
  VecX x = VecX::Zero(p.row_count()), g = r, d, Nd;
  JudgeWorkspace judge;
  Solution answer = zero_solution(p);
  std::deque<double> values;
  double alpha = 1;
  for (int k = 1; k <= kMaxIterations; ++k) {
    d = (x - alpha * g).cwiseMax(0.0) - x;
    multiply(d, Nd);
    const double gd = g.dot(d), dNd = d.dot(Nd), dd = d.squaredNorm();
    const double value = 0.5 * (x.dot(g) + x.dot(r));
    values.push_back(value);
    if (values.size() > kMemory) values.pop_front();
    const double reference = *std::max_element(values.begin(), values.end());
    const bool whole = !(dNd > 0) || value + gd + 0.5 * dNd <= reference + 1e-4 * gd;
    const double t = whole ? 1.0 : std::clamp(-gd / dNd, 0.0, 1.0);
    x += t * d;
    g += t * Nd;
    if (dNd > 0) alpha = std::clamp(k % 2 == 0 ? dNd / Nd.squaredNorm() : dd / dNd, 1e-10, 1e10);
    if (dd > 0 && k % kJudgeEvery != 0) continue;
    multiply(x, g);
    g += r;
    answer.lambda = s.cwiseProduct(x);
    answer.v = scale.v_free + motion;
    if (judge_quick(p, scale, answer, judge).value <= tolerance) return true;
    if (dd == 0) return false;
  }
  return false;
}

}  // namespace orthant::reproduce
