// SPDX-License-Identifier: Apache-2.0
// optimise/linear_motion.cpp: products of the steps, and the basis of what can come about.
#include "optimise/linear_motion.hpp"

#include <Eigen/QR>
#include <algorithm>

#include "orthant/base/parallel.hpp"

namespace orthant::internal {

namespace {

/// A direction counts unless it is this small a share of the largest: rounding of the products.
constexpr double kNothing = 1e-9;
/// Products made with one factorisation of a step; fixed, so that bits do not depend on threads.
constexpr std::size_t kProducts = 24;
/// Time of a product forwards over that of one backwards.
constexpr double kForwards = 1.1;

StepGradientSettings settings_for(const TrajectoryProblem& p, const StepGradientSettings& given) {
  StepGradientSettings settings = given;
  settings.by_parameters = !p.varied.empty();
  settings.allow_unconverged =
      true;  // a step that missed its tolerance by little still says where to go
  return settings;
}

/// Rows [begin, end) of the Jacobian of a step, pulled back.
void pull_rows(const TrajectoryProblem& p, StepGradient& gradient, Index begin, Index end,
               StepLinear& out) {
  const Index n = p.model->v_size();
  StateCotangent unit{VecX::Zero(n), VecX::Zero(n)};
  StepCotangent g;
  for (Index row = begin; row < end; ++row) {
    double& one = row < n ? unit.q[row] : unit.v[row - n];
    one = 1;
    gradient.pull_back(unit, {}, g);
    one = 0;
    out.A.row(row) << g.q.transpose(), g.v.transpose();
    if (out.B.cols() > 0) out.B.row(row) = g.u.transpose();
    for (std::size_t j = 0; j < p.varied.size(); ++j)
      out.P(row, static_cast<Index>(j)) = g.parameters[p.varied[j].place];
  }
}

void resize(const TrajectoryProblem& p, StepLinear& x) {
  const Index n = p.model->v_size();
  x.A.resize(2 * n, 2 * n);
  x.B.resize(2 * n, p.model->control_count());
  x.P.resize(2 * n, static_cast<Index>(p.varied.size()));
}

/// Controls of a step that may vary.
std::vector<Index> free_controls(const TrajectoryProblem& p, Index step) {
  std::vector<Index> out;
  for (Index c = 0; c < p.model->control_count() && p.vary_controls; ++c)
    if (p.u_lower.size() == 0 || p.u_lower(c, step) < p.u_upper(c, step)) out.push_back(c);
  return out;
}

/// [A Z  B  P] of step k, columns of the controls that are free.
MatX images(const TrajectoryProblem& p, const Motion& m, const StepGradientSettings& settings,
            std::size_t k, const MatX& Z, const std::vector<Index>& controls) {
  const Model& model = *p.model;
  const Index n = model.v_size();
  const auto r = static_cast<Index>(Z.cols()), free = static_cast<Index>(controls.size()),
             np = static_cast<Index>(p.varied.size()), count = r + free + np;
  MatX out(2 * n, count);
  if (kForwards * static_cast<double>(count) >= 2.0 * n) {
    StepLinear all;
    resize(p, all);
    parallel_for(static_cast<std::size_t>(2 * n), kProducts,
                 [&](std::size_t begin, std::size_t end) {
                   StepGradient gradient(model, m.parameters, p.settings, m.records[k], settings);
                   pull_rows(p, gradient, static_cast<Index>(begin), static_cast<Index>(end), all);
                 });
    out.leftCols(r) = all.A * Z;
    for (Index j = 0; j < free; ++j)
      out.col(r + j) = all.B.col(controls[static_cast<std::size_t>(j)]);
    out.rightCols(np) = all.P;
    return out;
  }
  parallel_for(static_cast<std::size_t>(count), kProducts, [&](std::size_t begin, std::size_t end) {
    StepGradient gradient(model, m.parameters, p.settings, m.records[k], settings);
    for (auto c = static_cast<Index>(begin); c < static_cast<Index>(end); ++c) {
      StepTangent change;
      if (c < r) {
        change.q = Z.col(c).head(n);
        change.v = Z.col(c).tail(n);
      } else if (c < r + free) {
        change.u = VecX::Unit(model.control_count(), controls[static_cast<std::size_t>(c - r)]);
      } else {
        change.parameters = VecX::Unit(m.parameters.values.size(),
                                       p.varied[static_cast<std::size_t>(c - r - free)].place);
      }
      const StateTangent after = gradient.push_forward(change);
      out.col(c) << after.q, after.v;
    }
  });
  return out;
}

/// Orthonormal columns that span those of M. Columns from `first` on have units of their own (a
/// control, a parameter, a defect) and count whatever their size.
MatX span_of(const MatX& M, Index first) {
  MatX scaled = M;
  for (Index c = first; c < scaled.cols(); ++c)
    if (const double size = scaled.col(c).norm(); size > 0) scaled.col(c) /= size;
  Eigen::ColPivHouseholderQR<MatX> qr(scaled);
  const auto most = static_cast<Index>(std::min(M.rows(), M.cols()));
  Index rank = 0;
  const double largest = most > 0 ? std::abs(qr.matrixR()(0, 0)) : 0;
  while (rank < most && std::abs(qr.matrixR()(rank, rank)) > kNothing * largest) ++rank;
  MatX out = MatX::Identity(M.rows(), rank);
  out.applyOnTheLeft(qr.householderQ());
  return out;
}

/// The initial numbers that vary, one unit vector each.
MatX first_basis(const TrajectoryProblem& p) {
  const Index n = p.model->v_size();
  const std::vector<QNumber> numbers = q_numbers(*p.model);
  MatX out = MatX::Zero(2 * n, static_cast<Index>(p.initial.size()));
  for (std::size_t i = 0; i < p.initial.size(); ++i) {
    const InitialVariable& x = p.initial[i];
    const Index row = x.velocity ? n + x.place : numbers[static_cast<std::size_t>(x.place)].v;
    out(row, static_cast<Index>(i)) = 1;
  }
  return out;
}

}  // namespace

void step_jacobians(const TrajectoryProblem& p, const Motion& m, const StepGradientSettings& given,
                    std::vector<StepLinear>& out) {
  const StepGradientSettings settings = settings_for(p, given);
  out.resize(m.records.size());
  parallel_for(out.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      resize(p, out[k]);
      StepGradient gradient(*p.model, m.parameters, p.settings, m.records[k], settings);
      pull_rows(p, gradient, 0, 2 * p.model->v_size(), out[k]);
    }
  });
}

Index LinearMotion::size() const {
  Index most = 0;
  for (const MatX& Z : basis) most = std::max(most, static_cast<Index>(Z.cols()));
  return most;
}

void linearise(const TrajectoryProblem& p, const Motion& m, const StepGradientSettings& given,
               LinearMotion& out) {
  const StepGradientSettings settings = settings_for(p, given);
  const Index nu = p.model->control_count();
  const auto np = static_cast<Index>(p.varied.size());
  const auto T = static_cast<std::size_t>(p.steps);
  const bool nodes = m.defect.size() != 0;
  out.basis.resize(T + 1);
  out.steps.resize(T);
  out.defect.assign(nodes ? T : 0, {});
  out.basis[0] = first_basis(p);
  for (std::size_t k = 0; k < T; ++k) {
    const auto i = static_cast<Index>(k);
    const std::vector<Index> controls = free_controls(p, i);
    const auto r = static_cast<Index>(out.basis[k].cols()),
               free = static_cast<Index>(controls.size());
    MatX M = images(p, m, settings, k, out.basis[k], controls);
    if (nodes) {
      M.conservativeResize(Eigen::NoChange, M.cols() + 1);
      M.rightCols<1>() = m.defect.col(i);
    }
    const MatX Z = span_of(M, r);
    const MatX y = Z.transpose() * M;
    StepLinear& step = out.steps[k];
    step.A = y.leftCols(r);
    step.B = MatX::Zero(Z.cols(), nu);
    for (Index j = 0; j < free; ++j)
      step.B.col(controls[static_cast<std::size_t>(j)]) = y.col(r + j);
    step.P = y.middleCols(r + free, np);
    if (nodes) out.defect[k] = y.rightCols<1>();
    out.basis[k + 1] = Z;
  }
}

std::vector<StageExpansion> in_coordinates(const LinearMotion& linear,
                                           const std::vector<StageExpansion>& stages) {
  std::vector<StageExpansion> out(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const StageExpansion& from = stages[i];
    const MatX& Z = linear.basis[i];
    const Index r = static_cast<Index>(Z.cols()), nx = static_cast<Index>(Z.rows()),
                nu = static_cast<Index>(from.gradient.size()) - nx;
    StageExpansion& to = out[i];
    to.value = from.value;
    to.gradient.resize(r + nu);
    to.gradient << Z.transpose() * from.gradient.head(nx), from.gradient.tail(nu);
    to.hessian.resize(r + nu, r + nu);
    to.hessian.topLeftCorner(r, r) = Z.transpose() * from.hessian.topLeftCorner(nx, nx) * Z;
    to.hessian.bottomLeftCorner(nu, r) = from.hessian.bottomLeftCorner(nu, nx) * Z;
    to.hessian.topRightCorner(r, nu) = to.hessian.bottomLeftCorner(nu, r).transpose();
    to.hessian.bottomRightCorner(nu, nu) = from.hessian.bottomRightCorner(nu, nu);
  }
  return out;
}

}  // namespace orthant::internal
