// SPDX-License-Identifier: Apache-2.0
// optimise/node_steps.cpp: steps from nodes, their Jacobians turned from tangents to numbers.
#include "orthant/optimise/node_steps.hpp"

#include "optimise/linear_motion.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant {

namespace {

void check(const MatX& x, Index rows, Index cols, const char* where) {
  if (x.rows() != rows || x.cols() < cols)
    throw Error(where, "expected " + std::to_string(rows) + " x " + std::to_string(cols) +
                           " numbers, got " + std::to_string(x.rows()) + " x " +
                           std::to_string(x.cols()));
  if (!x.allFinite()) throw Error(where, "must be finite");
}

/// From numbers to tangents: the left inverse of tangent_map(), whose columns are orthogonal.
MatX number_map(const MatX& map) {
  MatX out = map.transpose();
  for (Index i = 0; i < out.rows(); ++i) out.row(i) /= std::max(1e-300, map.col(i).squaredNorm());
  return out;
}

/// Quaternions of a column made unit; what each number was divided by.
VecX normalise(const Model& model, Eigen::Ref<VecX> q) {
  VecX by = VecX::Ones(q.size());
  for (const Body& body : model.bodies()) {
    if (body.q_size != 7) continue;
    auto quaternion = q.segment<4>(body.q_begin + 3);
    const double norm = quaternion.norm();
    if (!(norm > 0)) throw Error("q", "a quaternion of body '" + body.name + "' is zero");
    quaternion /= norm;
    by.segment<4>(body.q_begin + 3).setConstant(norm);
  }
  return by;
}

}  // namespace

std::vector<NodeStep> node_steps(const TrajectoryProblem& problem, const MatX& q, const MatX& v,
                                 const MatX& u, bool jacobians,
                                 const StepGradientSettings& gradient) {
  const Model& model = *problem.model;
  const Index nq = model.q_size(), n = model.v_size(), T = problem.steps;
  check(q, nq, T, "q");
  check(v, n, T, "v");
  check(u, model.control_count(), T, "u");
  TrajectoryProblem p = problem;
  p.more = {};  // no cost is asked for
  p.path = {};
  internal::Motion m = internal::first_guess(p);
  m.q.leftCols(T) = q.leftCols(T);
  MatX norm(nq, T);
  for (Index i = 0; i < T; ++i) norm.col(i) = normalise(model, m.q.col(i));
  m.start.q = m.q.col(0);
  m.start.v = v.col(0);
  m.v.leftCols(T) = v.leftCols(T);
  m.q.col(T) = m.q.col(T - 1);
  m.v.col(T) = m.v.col(T - 1);
  m.u = u.leftCols(T);
  internal::step_from_nodes(p, internal::StageCosts(p), m);
  std::vector<internal::StepLinear> linear;
  if (jacobians) internal::step_jacobians(p, m, gradient, linear);
  std::vector<NodeStep> out(static_cast<std::size_t>(T));
  parallel_for(out.size(), 4, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      NodeStep& x = out[k];
      x.q = m.records[k].after.q;
      x.v = m.records[k].after.v;
      if (!jacobians) continue;
      MatX to = MatX::Zero(nq + n, 2 * n), from = MatX::Zero(2 * n, nq + n);
      to.topLeftCorner(nq, n) = tangent_map(model, x.q);
      from.topLeftCorner(n, nq) = number_map(tangent_map(model, m.q.col(static_cast<Index>(k)))) *
                                  norm.col(static_cast<Index>(k)).cwiseInverse().asDiagonal();
      to.bottomRightCorner(n, n).setIdentity();
      from.bottomRightCorner(n, n).setIdentity();
      x.A = to * linear[k].A * from;
      x.B = to * linear[k].B;
      x.P = to * linear[k].P;
    }
  });
  return out;
}

}  // namespace orthant
