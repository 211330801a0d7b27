// SPDX-License-Identifier: Apache-2.0
// optimise/riccati.cpp: the backward sweep.
#include "optimise/riccati.hpp"

#include "optimise/box_qp.hpp"

namespace orthant::internal {

namespace {

/// H + damping (diag H + their mean): scale free, and positive where one number has no cost.
MatX damped(const MatX& H, double damping) {
  MatX out = H;
  const VecX diagonal = H.diagonal().cwiseAbs();
  const double mean = diagonal.size() == 0 ? 0 : diagonal.mean();
  out.diagonal() += damping * (diagonal.array() + mean).matrix();
  out.diagonal().array() += 1e-14 * mean + 1e-300;
  return out;
}

}  // namespace

RiccatiSweep riccati(const TrajectoryProblem& p, const StageCosts& costs, const Motion& m,
                     const LinearMotion& linear, const std::vector<StageExpansion>& stages,
                     double damping) {
  const Index nu = p.model->control_count();
  const auto np = static_cast<Index>(p.varied.size());
  const bool vary = p.vary_controls && nu > 0;
  RiccatiSweep out;
  const auto count = static_cast<std::size_t>(p.steps);
  const auto coordinates = [&](std::size_t i) {
    return static_cast<Index>(linear.basis[i].cols());
  };
  out.k.assign(count, VecX::Zero(nu));
  out.K.resize(count);
  out.slope.resize(count + 1);
  out.curve.resize(count + 1);
  const Index last = coordinates(count);
  out.slope[count] = VecX::Zero(last + np);
  out.slope[count].head(last) = stages[count].gradient.head(last);
  out.curve[count] = MatX::Zero(last + np, last + np);
  out.curve[count].topLeftCorner(last, last) = stages[count].hessian.topLeftCorner(last, last);
  MatX A, B;
  for (std::size_t i = count; i-- > 0;) {
    const auto column = static_cast<Index>(i);
    const StageExpansion& stage = stages[i];
    const Index nx = coordinates(i), next = coordinates(i + 1);
    A = MatX::Zero(next + np, nx + np);
    A.topLeftCorner(next, nx) = linear.steps[i].A;
    A.topRightCorner(next, np) = linear.steps[i].P;
    A.bottomRightCorner(np, np).setIdentity();
    B = MatX::Zero(next + np, nu);
    B.topRows(next) = linear.steps[i].B;
    out.K[i] = MatX::Zero(nu, nx + np);
    VecX after = out.slope[i + 1];
    if (!linear.defect.empty()) after += out.curve[i + 1].leftCols(next) * linear.defect[i];
    const MatX VA = out.curve[i + 1] * A;
    VecX Qz = A.transpose() * after;
    Qz.head(nx) += stage.gradient.head(nx);
    MatX Qzz = A.transpose() * VA;
    Qzz.topLeftCorner(nx, nx) += stage.hessian.topLeftCorner(nx, nx);
    if (vary) {
      const VecX Qu = B.transpose() * after + stage.gradient.tail(nu);
      MatX Quz = B.transpose() * VA;
      Quz.leftCols(nx) += stage.hessian.bottomLeftCorner(nu, nx);
      const MatX Quu =
          B.transpose() * (out.curve[i + 1] * B) + stage.hessian.bottomRightCorner(nu, nu);
      const MatX safe = damped(0.5 * (Quu + Quu.transpose()), damping);
      VecX lower = VecX::Constant(nu, -kNoBound), upper = VecX::Constant(nu, kNoBound);
      if (p.u_lower.size() != 0) {
        lower = p.u_lower.col(column) - m.u.col(column);
        upper = p.u_upper.col(column) - m.u.col(column);
      }
      const BoxMinimum best = box_qp(safe, Qu, lower, upper);
      if (!best.ok) return out;
      out.k[i] = best.d;
      out.K[i] = solve_free(safe, best.free, Quz);
      if (!out.k[i].allFinite() || !out.K[i].allFinite()) return out;
      out.promised -= Qu.dot(best.d);
      Qz += out.K[i].transpose() * (Quu * out.k[i] + Qu) + Quz.transpose() * out.k[i];
      const MatX cross = out.K[i].transpose() * Quz;
      Qzz += out.K[i].transpose() * Quu * out.K[i] + cross + cross.transpose();
    }
    out.slope[i] = std::move(Qz);
    out.curve[i] = 0.5 * (Qzz + Qzz.transpose());
  }
  // z_0 is made of what varies at the start alone.
  const auto free = static_cast<Index>(out.slope[0].size());
  out.start = VecX::Zero(free);
  if (free > 0) {
    VecX g = out.slope[0], lower(free), upper(free), slope, curvature;
    MatX H = out.curve[0];
    costs.parameter_terms(m.parameters.values, slope, curvature);
    g.tail(np) += slope;
    H.diagonal().tail(np) += curvature;
    Index at = 0;
    for (const InitialVariable& x : p.initial) {
      const double now = x.velocity ? m.start.v[x.place] : m.start.q[x.place];
      lower[at] = x.lower - now;
      upper[at++] = x.upper - now;
    }
    for (const ParameterVariable& x : p.varied) {
      lower[at] = x.lower - m.parameters.values[x.place];
      upper[at++] = x.upper - m.parameters.values[x.place];
    }
    const BoxMinimum best = box_qp(damped(H, damping), g, lower, upper);
    if (!best.ok) return out;
    out.start = best.d;
    out.promised -= g.dot(best.d);
  }
  out.ok = true;
  return out;
}

}  // namespace orthant::internal
