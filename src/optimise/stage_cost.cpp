// SPDX-License-Identifier: Apache-2.0
// optimise/stage_cost.cpp: weighted squares, the user's function, bounds.
#include "optimise/stage_cost.hpp"

#include <algorithm>
#include <cmath>

namespace orthant::internal {

StageCosts::StageCosts(const TrajectoryProblem& problem)
    : problem_(problem), numbers_(q_numbers(*problem.model)) {
  const auto collect = [&](Of of, const MatX& lower, const MatX& upper) {
    for (Index j = 0; j < lower.cols(); ++j)
      for (Index i = 0; i < lower.rows(); ++i)
        if (std::isfinite(lower(i, j)) || std::isfinite(upper(i, j)))
          bounds_.push_back({of, i, j, lower(i, j), upper(i, j)});
  };
  collect(Of::Position, problem.bounds.q_lower, problem.bounds.q_upper);
  collect(Of::Velocity, problem.bounds.v_lower, problem.bounds.v_upper);
  collect(Of::Path, problem.path.lower, problem.path.upper);
}

void StageCosts::add_number(bool velocity, Index place, const VecX& q, double slope,
                            double curvature, StageExpansion& stage) const {
  const Index n = problem_.model->v_size();
  if (velocity) {
    stage.gradient[n + place] += slope;
    stage.hessian(n + place, n + place) += curvature;
    return;
  }
  const QNumber& number = numbers_[static_cast<std::size_t>(place)];
  double row[3];
  const int count = number.row(q, row);
  for (int a = 0; a < count; ++a) {
    stage.gradient[number.v + a] += slope * row[a];
    for (int b = 0; b < count; ++b)
      stage.hessian(number.v + a, number.v + b) += curvature * row[a] * row[b];
  }
}

double StageCosts::Bound::value(const MatX& q, const MatX& v, const MatX& path) const {
  const MatX& from = of == Of::Path ? path : of == Of::Velocity ? v : q;
  return from(place, stage);
}

void StageCosts::evaluate_path(const MatX& q, const MatX& v, const MatX& u, bool derivatives,
                               MatX& value, std::vector<MatX>& jacobian) const {
  const PathConstraint& path = problem_.path;
  if (path.lower.size() == 0) return;
  const Model& model = *problem_.model;
  value = MatX::Zero(path.lower.rows(), path.lower.cols());
  if (derivatives)
    jacobian.assign(static_cast<std::size_t>(path.lower.cols()),
                    MatX::Zero(path.lower.rows(), 2 * model.v_size() + model.control_count()));
  path.function(q, v, u, derivatives, value, jacobian);
}

CostSum StageCosts::evaluate(const MatX& q, const MatX& v, const MatX& u, const VecX& parameters,
                             std::vector<StageExpansion>* stages) const {
  const Model& model = *problem_.model;
  const Index n = model.v_size(), nu = model.control_count(), T = problem_.steps;
  std::vector<StageExpansion> own;
  const bool derivatives = stages != nullptr;
  std::vector<StageExpansion>& out = derivatives ? *stages : own;
  out.resize(static_cast<std::size_t>(T) + 1);
  for (StageExpansion& stage : out) {
    stage.value = 0;
    if (!derivatives) continue;
    stage.gradient.setZero(2 * n + nu);
    stage.hessian.setZero(2 * n + nu, 2 * n + nu);
  }
  const QuadraticCost& c = problem_.cost;
  VecX column;
  for (Index i = 0; i <= T; ++i) {
    StageExpansion& stage = out[static_cast<std::size_t>(i)];
    if (derivatives) column = q.col(i);
    const auto numbers = [&](bool velocity, const MatX& weight, const MatX& target,
                             const MatX& at) {
      if (weight.size() == 0) return;
      for (Index k = 0; k < weight.rows(); ++k) {
        const double w = weight(k, i);
        if (w == 0) continue;
        const double miss = at(k, i) - target(k, i);
        stage.value += 0.5 * w * miss * miss;
        if (derivatives) add_number(velocity, k, column, w * miss, w, stage);
      }
    };
    numbers(false, c.q_weight, c.q_target, q);
    numbers(true, c.v_weight, c.v_target, v);
    if (i == T || c.u_weight.size() == 0) continue;
    for (Index k = 0; k < nu; ++k) {
      const double w = c.u_weight(k, i), miss = u(k, i) - c.u_target(k, i);
      stage.value += 0.5 * w * miss * miss;
      if (!derivatives) continue;
      stage.gradient[2 * n + k] += w * miss;
      stage.hessian(2 * n + k, 2 * n + k) += w;
    }
  }
  if (problem_.more) problem_.more(q, v, u, derivatives, out);
  CostSum sum;
  for (const StageExpansion& stage : out) sum.cost += stage.value;
  for (const ParameterVariable& x : problem_.varied) {
    const double miss = parameters[x.place] - x.target;
    sum.cost += 0.5 * x.weight * miss * miss;
  }
  sum.augmented = sum.cost;
  MatX path;
  std::vector<MatX> by;
  evaluate_path(q, v, u, derivatives, path, by);
  for (const Bound& bound : bounds_) {
    const double x = bound.value(q, v, path);
    if (!std::isfinite(x)) sum.augmented = std::numeric_limits<double>::quiet_NaN();
    StageExpansion& stage = out[static_cast<std::size_t>(bound.stage)];
    const auto side = [&](double multiplier, double excess, double sign) {
      if (!std::isfinite(excess)) return;
      sum.violation = std::max(sum.violation, excess);
      const double push = multiplier + weight_ * excess;
      sum.augmented -= 0.5 * multiplier * multiplier / weight_;
      if (push <= 0) return;
      sum.augmented += 0.5 * push * push / weight_;
      if (!derivatives) return;
      if (bound.of == Of::Path) {
        const VecX row = by[static_cast<std::size_t>(bound.stage)].row(bound.place).transpose();
        stage.gradient += sign * push * row;
        stage.hessian += weight_ * row * row.transpose();
      } else {
        add_number(bound.of == Of::Velocity, bound.place, q.col(bound.stage), sign * push, weight_,
                   stage);
      }
    };
    side(bound.above, x - bound.upper, 1);
    side(bound.below, bound.lower - x, -1);
  }
  return sum;
}

void StageCosts::parameter_terms(const VecX& parameters, VecX& gradient, VecX& curvature) const {
  const auto count = static_cast<Index>(problem_.varied.size());
  gradient.resize(count);
  curvature.resize(count);
  for (Index i = 0; i < count; ++i) {
    const ParameterVariable& x = problem_.varied[static_cast<std::size_t>(i)];
    curvature[i] = x.weight;
    gradient[i] = x.weight * (parameters[x.place] - x.target);
  }
}

void StageCosts::next_round(const MatX& q, const MatX& v, const MatX& u, double violation) {
  MatX path;
  std::vector<MatX> none;
  evaluate_path(q, v, u, false, path, none);
  for (Bound& bound : bounds_) {
    const double x = bound.value(q, v, path);
    if (std::isfinite(bound.upper))
      bound.above = std::max(0.0, bound.above + weight_ * (x - bound.upper));
    if (std::isfinite(bound.lower))
      bound.below = std::max(0.0, bound.below + weight_ * (bound.lower - x));
  }
  if (violation > 0.25 * last_violation_) weight_ *= 10;
  last_violation_ = violation;
}

}  // namespace orthant::internal
