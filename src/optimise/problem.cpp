// SPDX-License-Identifier: Apache-2.0
// optimise/problem.cpp: rules of a problem; where a number of q lies in the tangent.
#include "orthant/optimise/problem.hpp"

#include <cmath>

#include "optimise/numbers.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

namespace internal {

std::vector<QNumber> q_numbers(const Model& model) {
  std::vector<QNumber> out(static_cast<std::size_t>(model.q_size()));
  for (const Body& body : model.bodies()) {
    for (Index i = 0; i < body.q_size; ++i) {
      QNumber& number = out[static_cast<std::size_t>(body.q_begin + i)];
      if (body.v_begin == kNone) continue;
      if (i < 3) {
        number = {QNumber::Kind::Plain, body.v_begin + i, 0, 0};
      } else {
        number = {QNumber::Kind::Quaternion, body.v_begin + 3, body.q_begin + 3, i - 3};
      }
    }
  }
  for (const FlexiblePart& part : model.flexible_parts()) {
    for (Index node = 0; node < part.node_count; ++node) {
      const Index v = part.v_begin[static_cast<std::size_t>(node)];
      if (v < 0) continue;
      for (Index k = 0; k < part.dim; ++k)
        out[static_cast<std::size_t>(part.q_begin + part.dim * node + k)] = {QNumber::Kind::Plain,
                                                                             v + k, 0, 0};
    }
  }
  return out;
}

int QNumber::row(const VecX& q, double out[3]) const {
  if (kind == Kind::Fixed) return 0;
  if (kind == Kind::Plain) {
    out[0] = 1;
    return 1;
  }
  // dp = ½ (0, θ) p, p = (w, u):  dw = −½ u·θ,  du = ½ (w θ − u × θ)
  const double w = q[quaternion];
  const Vec3 u = q.segment<3>(quaternion + 1);
  if (part == 0) {
    for (int j = 0; j < 3; ++j) out[j] = -0.5 * u[j];
    return 3;
  }
  const int i = static_cast<int>(part) - 1;
  for (int j = 0; j < 3; ++j) {
    const Vec3 turned = u.cross(Vec3::Unit(j));
    out[j] = 0.5 * ((i == j ? w : 0.0) - turned[i]);
  }
  return 3;
}

}  // namespace internal

MatX tangent_map(const Model& model, const VecX& q) {
  MatX map = MatX::Zero(model.q_size(), model.v_size());
  const std::vector<internal::QNumber> numbers = internal::q_numbers(model);
  for (Index i = 0; i < model.q_size(); ++i) {
    double row[3];
    const internal::QNumber& number = numbers[static_cast<std::size_t>(i)];
    const int count = number.row(q, row);
    for (int k = 0; k < count; ++k) map(i, number.v + k) = row[k];
  }
  return map;
}

namespace {

std::string shape_text(Index rows, Index cols) {
  return std::to_string(rows) + " x " + std::to_string(cols);
}

void check_matrix(const MatX& x, Index rows, Index cols, const char* where, bool finite = true) {
  if (x.size() == 0) return;
  if (x.rows() != rows || x.cols() != cols)
    throw Error(where, "expected " + shape_text(rows, cols) + " numbers, got " +
                           shape_text(static_cast<Index>(x.rows()), static_cast<Index>(x.cols())));
  if (finite ? !x.allFinite() : x.array().isNaN().any()) throw Error(where, "must be finite");
}

void check_pair(const MatX& weight, const MatX& target, Index rows, Index cols, const char* where) {
  check_matrix(weight, rows, cols, where);
  check_matrix(target, rows, cols, where);
  if (weight.size() != target.size()) throw Error(where, "weights and targets must come together");
  if (weight.size() != 0 && weight.minCoeff() < 0)
    throw Error(where, "a weight must be >= 0, got " + to_text(weight.minCoeff()));
}

void check_bounds(const MatX& lower, const MatX& upper, Index rows, Index cols,
                  const std::string& where) {
  check_matrix(lower, rows, cols, where.c_str(), false);
  check_matrix(upper, rows, cols, where.c_str(), false);
  if (lower.size() != upper.size()) throw Error(where, "lower and upper bounds must come together");
  for (Index j = 0; j < lower.cols(); ++j)
    for (Index i = 0; i < lower.rows(); ++i)
      if (!(lower(i, j) <= upper(i, j)))
        throw Error(where, "are empty at step " + std::to_string(j) + ", number " +
                               std::to_string(i) + ": " + to_text(lower(i, j)) + " … " +
                               to_text(upper(i, j)));
}

void check_within(double x, double lower, double upper, const std::string& where) {
  if (!(lower <= upper))
    throw Error(where, "bounds are empty: " + to_text(lower) + " … " + to_text(upper));
  if (!(x >= lower && x <= upper))
    throw Error(where, "the start " + to_text(x) + " is outside of " + to_text(lower) + " … " +
                           to_text(upper));
}

std::string name_of(const InitialVariable& x) {
  return std::string("initial ") + (x.velocity ? "v[" : "q[") + std::to_string(x.place) + "]";
}

void check_initial(const TrajectoryProblem& p, const InitialVariable& x,
                   const std::vector<internal::QNumber>& numbers) {
  const std::string where = name_of(x);
  const Index size = x.velocity ? p.model->v_size() : p.model->q_size();
  if (x.place < 0 || x.place >= size)
    throw Error(where, "there are " + std::to_string(size) + " numbers");
  if (!x.velocity) {
    const auto kind = numbers[static_cast<std::size_t>(x.place)].kind;
    if (kind == internal::QNumber::Kind::Fixed) throw Error(where, "belongs to what never moves");
    if (kind == internal::QNumber::Kind::Quaternion)
      throw Error(where, "is a number of a quaternion, which are not free one by one");
  }
  check_within(x.velocity ? p.start.v[x.place] : p.start.q[x.place], x.lower, x.upper, where);
}

}  // namespace

void validate(const TrajectoryProblem& p) {
  if (p.model == nullptr) throw Error("problem", "has no model");
  const Model& model = *p.model;
  if (p.steps < 1) throw Error("steps", "must be >= 1, got " + std::to_string(p.steps));
  const Index nq = model.q_size(), nv = model.v_size(), nu = model.control_count(), T = p.steps;
  if (p.parameters.values.size() != model.parameter_table().size())
    throw Error("parameters", "belong to another model");
  validate(model, p.parameters);
  validate(model, p.start);
  check_matrix(p.controls, nu, T, "controls");
  check_bounds(p.u_lower, p.u_upper, nu, T, "bounds of the controls");
  if (p.u_lower.size() != 0) {
    const MatX u = p.controls.size() != 0 ? p.controls : MatX(MatX::Zero(nu, T));
    for (Index j = 0; j < T; ++j)
      for (Index i = 0; i < nu; ++i)
        check_within(u(i, j), p.u_lower(i, j), p.u_upper(i, j),
                     "control '" + model.actuators()[static_cast<std::size_t>(i)].name +
                         "' at step " + std::to_string(j));
  }
  const std::vector<internal::QNumber> numbers = internal::q_numbers(model);
  for (std::size_t i = 0; i < p.initial.size(); ++i) {
    const InitialVariable& x = p.initial[i];
    check_initial(p, x, numbers);
    for (std::size_t j = 0; j < i; ++j)
      if (p.initial[j].velocity == x.velocity && p.initial[j].place == x.place)
        throw Error(name_of(x), "varies twice");
  }
  for (const ParameterVariable& x : p.varied) {
    if (x.place < 0 || x.place >= p.parameters.values.size())
      throw Error("parameter " + std::to_string(x.place), "does not exist");
    const std::string where = "parameter '" + model.parameter_table().name(x.place) + "'";
    check_within(p.parameters.values[x.place], x.lower, x.upper, where);
    for (const ParameterVariable* other = p.varied.data(); other != &x; ++other)
      if (other->place == x.place) throw Error(where, "varies twice");
    if (!(x.weight >= 0) || !std::isfinite(x.target))
      throw Error(where, "its weight must be >= 0 and its target finite");
  }
  check_pair(p.cost.q_weight, p.cost.q_target, nq, T + 1, "cost of q");
  check_pair(p.cost.v_weight, p.cost.v_target, nv, T + 1, "cost of v");
  check_pair(p.cost.u_weight, p.cost.u_target, nu, T, "cost of u");
  check_bounds(p.bounds.q_lower, p.bounds.q_upper, nq, T + 1, "bounds of q");
  check_bounds(p.bounds.v_lower, p.bounds.v_upper, nv, T + 1, "bounds of v");
  check_bounds(p.path.lower, p.path.upper, static_cast<Index>(p.path.lower.rows()), T + 1,
               "bounds of the path");
  if (p.path.lower.size() != 0 && !p.path.function)
    throw Error("bounds of the path", "there is no function that they bound");
  check_matrix(p.q_guess, nq, T + 1, "guess of q");
  check_matrix(p.v_guess, nv, T + 1, "guess of v");
  if ((p.q_guess.size() == 0) != (p.v_guess.size() == 0))
    throw Error("guess of the states", "q and v must come together");
  const bool controls_vary = p.vary_controls && nu > 0;
  if (!controls_vary && p.initial.empty() && p.varied.empty())
    throw Error("problem", "nothing varies: no controls, initial numbers or parameters");
}

}  // namespace orthant
