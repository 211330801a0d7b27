// SPDX-License-Identifier: Apache-2.0
// optimise/riccati.cpp: the backward sweep.
#include "optimise/riccati.hpp"

#include "optimise/box_qp.hpp"

namespace orthant::internal {

namespace {

/// Where the unknowns of the start are in z.
std::vector<Index> start_places(const TrajectoryProblem& p) {
  const Index n = p.model->v_size();
  const std::vector<QNumber> numbers = q_numbers(*p.model);
  std::vector<Index> out;
  for (const InitialVariable& x : p.initial)
    out.push_back(x.velocity ? n + x.place : numbers[static_cast<std::size_t>(x.place)].v);
  for (std::size_t i = 0; i < p.varied.size(); ++i) out.push_back(2 * n + static_cast<Index>(i));
  return out;
}

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

VecX start_tangent(const TrajectoryProblem& p, const VecX& change) {
  VecX z = VecX::Zero(2 * p.model->v_size() + static_cast<Index>(p.varied.size()));
  const std::vector<Index> places = start_places(p);
  for (std::size_t i = 0; i < places.size(); ++i) z[places[i]] = change[static_cast<Index>(i)];
  return z;
}

RiccatiSweep riccati(const TrajectoryProblem& p, const StageCosts& costs, const Motion& m,
                     const std::vector<StepLinear>& steps,
                     const std::vector<StageExpansion>& stages, double damping) {
  const Index n = p.model->v_size(), nx = 2 * n, nu = p.model->control_count(), T = p.steps;
  const auto np = static_cast<Index>(p.varied.size());
  const Index nz = nx + np;
  const bool vary = p.vary_controls && nu > 0;
  RiccatiSweep out;
  const auto count = static_cast<std::size_t>(T);
  out.k.assign(count, VecX::Zero(nu));
  out.K.assign(count, MatX::Zero(nu, nz));
  out.slope.resize(count + 1);
  out.curve.resize(count + 1);
  out.slope[count] = VecX::Zero(nz);
  out.slope[count].head(nx) = stages[count].gradient.head(nx);
  out.curve[count] = MatX::Zero(nz, nz);
  out.curve[count].topLeftCorner(nx, nx) = stages[count].hessian.topLeftCorner(nx, nx);
  MatX A = MatX::Identity(nz, nz), B = MatX::Zero(nz, nu);
  for (std::size_t i = count; i-- > 0;) {
    const auto column = static_cast<Index>(i);
    const StageExpansion& stage = stages[i];
    A.topLeftCorner(nx, nx) = steps[i].A;
    A.topRightCorner(nx, np) = steps[i].P;
    B.topRows(nx) = steps[i].B;
    VecX after = out.slope[i + 1];
    if (m.defect.size() != 0) after += out.curve[i + 1].leftCols(nx) * m.defect.col(column);
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
  const std::vector<Index> places = start_places(p);
  const auto free = static_cast<Index>(places.size());
  out.start = VecX::Zero(free);
  if (free > 0) {
    VecX g(free), lower(free), upper(free);
    MatX H(free, free);
    for (Index a = 0; a < free; ++a) {
      g[a] = out.slope[0][places[static_cast<std::size_t>(a)]];
      for (Index b = 0; b < free; ++b)
        H(a, b) =
            out.curve[0](places[static_cast<std::size_t>(a)], places[static_cast<std::size_t>(b)]);
    }
    VecX slope, curvature;
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
