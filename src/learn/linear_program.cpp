// SPDX-License-Identifier: Apache-2.0
// learn/linear_program.cpp: Mehrotra's predictor–corrector.
//   Gᵀy + Eᵀz = c,  G x − s = h,  E x = f,  s∘y = σμ1
//   (Gᵀ S⁻¹Y G) dx − Eᵀdz = …: unknowns many fewer than rows, so the normal matrix is small
#include "orthant/learn/linear_program.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

double longest(const VecX& x, const VecX& dx) {
  double a = 1;
  for (Index i = 0; i < x.size(); ++i)
    if (dx[i] < 0) a = std::min(a, -x[i] / dx[i]);
  return a;
}

}  // namespace

LinearProgramResult solve_linear_program(const LinearProgram& lp, double tolerance,
                                         int max_iterations) {
  const Index n = static_cast<Index>(lp.c.size()), m = static_cast<Index>(lp.h.size()),
              k = static_cast<Index>(lp.f.size());
  if (lp.G.rows() != m || (m > 0 && lp.G.cols() != n) || lp.E.rows() != k ||
      (k > 0 && lp.E.cols() != n) || m == 0)
    throw Error("linear program", "sizes of c, G, h, E, f do not fit");
  LinearProgramResult out;
  VecX x = VecX::Zero(n), z = VecX::Zero(k), s = VecX::Ones(m), y = VecX::Ones(m);
  const double size_c = 1 + lp.c.lpNorm<Eigen::Infinity>();
  const double size_h =
      1 + lp.h.lpNorm<Eigen::Infinity>() + (k > 0 ? lp.f.lpNorm<Eigen::Infinity>() : 0.0);
  MatX K(n + k, n + k);
  double best = std::numeric_limits<double>::infinity();
  out.x = x;
  for (out.iterations = 0; out.iterations < max_iterations; ++out.iterations) {
    VecX rd = lp.c - lp.G.transpose() * y;
    if (k > 0) rd -= lp.E.transpose() * z;
    const VecX rp = lp.h - lp.G * x + s;
    const VecX re = k > 0 ? VecX(lp.f - lp.E * x) : VecX();
    const double mu = s.dot(y) / m;
    const double objective = lp.c.dot(x), gap = mu * m / (1 + std::abs(objective));
    const double infeasibility =
        std::max({rd.lpNorm<Eigen::Infinity>() / size_c, rp.lpNorm<Eigen::Infinity>() / size_h,
                  k > 0 ? re.lpNorm<Eigen::Infinity>() / size_h : 0.0});
    const double error = std::max(gap, infeasibility);
    if (error < best) {
      best = error;
      out.x = x;
      out.objective = objective;
      out.gap = gap;
      out.infeasibility = infeasibility;
      out.converged = error <= tolerance;
    }
    // Near the end rounding takes over: what comes then is worse.
    if (out.converged || error > 1e3 * best) break;
    const VecX weight = y.cwiseQuotient(s);
    K.setZero();
    K.topLeftCorner(n, n) = lp.G.transpose() * weight.asDiagonal() * lp.G;
    if (k > 0) {
      K.topRightCorner(n, k) = -lp.E.transpose();
      K.bottomLeftCorner(k, n) = lp.E;
    }
    // A direction no row sees stays where it is; refinement takes the regularisation out again.
    MatX R = K;
    R.diagonal().head(n).array() += 1e-13 * std::max(1e-300, K.diagonal().head(n).maxCoeff());
    const Eigen::PartialPivLU<MatX> lu(R);
    VecX dx, dy, dz, ds;
    const auto direction = [&](const VecX& target) {  // target: wanted s∘y change
      // ds = G dx − rp, dy = (target − y∘ds)/s, Gᵀdy + Eᵀdz = rd
      VecX rhs(n + k);
      const VecX t = (target + y.cwiseProduct(rp)).cwiseQuotient(s);
      rhs.head(n) = lp.G.transpose() * t - rd;
      if (k > 0) rhs.tail(k) = re;
      VecX d = lu.solve(rhs);
      for (int refinement = 0; refinement < 3; ++refinement) d += lu.solve(rhs - K * d);
      dx = d.head(n);
      dz = d.tail(k);
      ds = lp.G * dx - rp;
      dy = (target - y.cwiseProduct(ds)).cwiseQuotient(s);
    };
    direction(-s.cwiseProduct(y));
    const double ap = longest(s, ds), ad = longest(y, dy);
    const double ahead = (s + ap * ds).dot(y + ad * dy) / m;
    const double sigma = std::pow(ahead / mu, 3);
    direction(VecX::Constant(m, sigma * mu) - s.cwiseProduct(y) - ds.cwiseProduct(dy));
    const double step_p = std::min(1.0, 0.99 * longest(s, ds));
    const double step_d = std::min(1.0, 0.99 * longest(y, dy));
    if (!dx.allFinite() || !dy.allFinite()) break;
    x += step_p * dx;
    s += step_p * ds;
    y += step_d * dy;
    z += step_d * dz;
  }
  return out;
}

}  // namespace orthant
