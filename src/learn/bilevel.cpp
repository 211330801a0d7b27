// SPDX-License-Identifier: Apache-2.0
// learn/bilevel.cpp: friction by the two-level loss.
//   inner  min λᵀ(M + D)λ + (q + b)ᵀλ + β²,  λ >= 0, y: Mλ + q >= 0,   β = v' − v − u
//   outer  dV/dμ = γ − y₃: μ stands in q₃ alone, in the cost (times γ) and in a constraint
// Where it slid, w (μ − f)² more with f = s(λ⁻ − λ⁺), s the sign of v', and its derivative by μ.
// λ⁺ + λ⁻ in place of f would not do: both together fill the cone while their difference sticks.
// The inner problem is solved through its optimality conditions, a monotone complementarity problem
// in (λ, y).
#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/learn/formulations.hpp"
#include "orthant/learn/identify.hpp"
#include "orthant/problem/special_cases.hpp"

namespace orthant {

BilevelValue bilevel_friction(const std::vector<BilevelSample>& samples, double mu,
                              double slide_weight) {
  if (!(mu >= 0) || !std::isfinite(mu)) throw Error("friction", "must be >= 0");
  if (!(slide_weight >= 0) || !std::isfinite(slide_weight))
    throw Error("slide_weight", "must be >= 0, is " + to_text(slide_weight));
  if (samples.empty()) throw Error("samples", "there are none");
  const MatX M = formulations::traditional_matrix();
  MatX D = MatX::Zero(3, 3);
  D.topLeftCorner(2, 2) << 1, -1, -1, 1;
  const MatX Q = M + D;
  MatX K = MatX::Zero(6, 6);
  K.topRightCorner(3, 3) = -M.transpose();
  K.bottomLeftCorner(3, 3) = M;
  BilevelValue out;
  out.converged = true;
  for (const BilevelSample& s : samples) {
    const VecX q = formulations::traditional_vector({.mu = mu}, s.v, s.u);
    const double beta = s.next - s.v - s.u, w = s.next != 0 ? slide_weight : 0;
    const double pull = s.next < 0 ? -2 * w * mu : 2 * w * mu;
    VecX r(6);
    r << q[0] - 2 * beta + pull, q[1] + 2 * beta - pull, q[2], q;
    K.topLeftCorner(3, 3) = Q + Q.transpose() + 2 * w * D;
    SolveReport report;
    const VecX z = formulations::solve_z(make_lcp(K, r), &report);
    out.converged = out.converged && report.outcome == Outcome::Converged;
    const VecX lambda = z.head(3), y = z.tail(3);
    const double force = s.next < 0 ? lambda[0] - lambda[1] : lambda[1] - lambda[0];
    out.value += beta * beta + lambda.dot(Q * lambda) + r.head(3).dot(lambda) +
                 w * (force * force + mu * mu);
    out.gradient += lambda[2] - y[2] + 2 * w * (mu - force);
    out.gamma = std::max(out.gamma, lambda[2]);
  }
  const double size = 1e-9 * static_cast<double>(samples.size());
  out.gradient_zero = std::abs(out.gradient) <= size;
  return out;
}

BilevelFit fit_bilevel_friction(const std::vector<BilevelSample>& samples, double start,
                                double upper, double slide_weight) {
  const CostFunction f = [&](const VecX& x, bool) {
    const BilevelValue v = bilevel_friction(samples, x[0], slide_weight);
    CostValue out;
    out.cost = v.value;
    out.gradient = VecX::Constant(1, v.gradient);
    return out;
  };
  OptimiserSettings settings;
  settings.max_iterations = 200;
  settings.x_tolerance = 1e-9;
  settings.gradient_tolerance = 0;
  const OptimiserResult found = projected_bfgs(f, VecX::Zero(1), VecX::Constant(1, upper),
                                               VecX::Constant(1, start), settings);
  BilevelFit out;
  out.mu = found.x[0];
  out.iterations = found.iterations;
  out.at = bilevel_friction(samples, out.mu, slide_weight);
  if (out.at.gradient_zero && out.at.gamma <= 1e-9 && out.at.value > 1e-9)
    out.note = "the gradient by friction is zero at " + to_text(out.mu) +
               ": no sample slides there (γ = 0), so the data pull in no direction; start lower, "
               "or give a slide_weight";
  return out;
}

}  // namespace orthant
