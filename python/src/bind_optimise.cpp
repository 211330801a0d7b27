// SPDX-License-Identifier: Apache-2.0
// python/src/bind_optimise.cpp: a problem as a dictionary of arrays => the optimised motion.
// The package's orthant.optimise makes the dictionary; matrices are (steps, numbers) there and
// (numbers, steps) in the library. ctrl-C ends the search with the best found.
#include <nanobind/stl/tuple.h>

#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/optimise/node_steps.hpp"
#include "orthant/optimise/optimise.hpp"
#include "settings.hpp"
#include "state.hpp"

namespace orthant::python {

void fields(Tag<TrajectoryOptions>, auto&& field) {
  using O = TrajectoryOptions;
  field("method", &O::method, "Of ShootingMethod.");
  field("max_iterations", &O::max_iterations, "In all rounds together.");
  field("tolerance", &O::tolerance, "Promised decrease over the cost that ends the search [-].");
  field("feasibility", &O::feasibility, "Largest defect and violation of bounds of states.");
  field("max_rounds", &O::max_rounds, "Of the augmented Lagrangian.");
  field("time_limit", &O::time_limit, "Of the wall clock [s]; 0: none.");
  field("memory", &O::memory, "lbfgs: pairs kept.");
  field("gradient", &O::gradient, "How steps are differentiated: exact or smoothed.");
  field("loss_aware", &O::loss_aware, "lbfgs: the element at kinks is chosen by the loss.");
  field("probe", &O::probe, "loss_aware: size of the change tried [-].");
}

namespace {

/// (frames, numbers) or None => (numbers, frames).
MatX transposed(const nb::dict& d, const char* name, Index rows, Index cols) {
  const nb::object x = nb::borrow(d[name]);
  if (x.is_none()) return {};
  return to_matrix(x, name, cols, rows).transpose();
}

/// Derivatives by the numbers of (q, v, u) added to a stage by tangents.
void add_by_numbers(const Model& model, const VecX& q, const VecX& gradient, const MatX* hessian,
                    StageExpansion& stage) {
  const Index nq = model.q_size(), nv = model.v_size(), nu = model.control_count();
  MatX J = MatX::Zero(nq + nv + nu, 2 * nv + nu);
  J.topLeftCorner(nq, nv) = tangent_map(model, q);
  J.bottomRightCorner(nv + nu, nv + nu).setIdentity();
  stage.gradient += J.transpose() * gradient;
  if (hessian != nullptr) stage.hessian += J.transpose() * *hessian * J;
}

/// cost(q, v, u, derivatives) => values, or (values, gradient, hessian or None) by the numbers.
StageCost cost_of(const Model& model, nb::object callable, Index steps) {
  return [&model, callable, steps](const MatX& q, const MatX& v, const MatX& u, bool derivatives,
                                   std::vector<StageExpansion>& stages) {
    const nb::gil_scoped_acquire gil;
    const Index frames = steps + 1, m = model.q_size() + model.v_size() + model.control_count();
    const nb::object out =
        callable(to_numpy(RowMatX(q.transpose())), to_numpy(RowMatX(v.transpose())),
                 to_numpy(RowMatX(u.transpose())), derivatives);
    if (!derivatives) {
      const VecX values = to_vector(out, "cost", frames);
      for (Index i = 0; i < frames; ++i) stages[static_cast<std::size_t>(i)].value += values[i];
      return;
    }
    const nb::tuple parts = nb::cast<nb::tuple>(out);
    const VecX values = to_vector(parts[0], "cost", frames);
    const RowMatX gradient = to_matrix(parts[1], "gradient of the cost", frames, m);
    RowMatX hessian;
    if (!parts[2].is_none()) hessian = to_matrix(parts[2], "hessian of the cost", frames, m * m);
    for (Index i = 0; i < frames; ++i) {
      stages[static_cast<std::size_t>(i)].value += values[i];
      MatX H;
      if (hessian.size() != 0) H = Eigen::Map<const MatX>(hessian.row(i).data(), m, m);
      add_by_numbers(model, q.col(i), gradient.row(i).transpose(),
                     hessian.size() != 0 ? &H : nullptr, stages[static_cast<std::size_t>(i)]);
    }
  };
}

/// path(q, v, u, derivatives) => values (frames, rows), or these and their derivatives by the
/// numbers of (q, v, u), (frames, rows * numbers).
PathConstraint path_of(const Model& model, const nb::dict& d, Index steps) {
  const nb::object callable = nb::borrow(d["path"]);
  PathConstraint out;
  if (callable.is_none()) return out;
  const Index frames = steps + 1;
  out.lower = to_matrix(nb::borrow(d["path_lower"]), "path_lower", frames, kAny).transpose();
  out.upper = to_matrix(nb::borrow(d["path_upper"]), "path_upper", frames, kAny).transpose();
  const auto rows = static_cast<Index>(out.lower.rows());
  out.function = [&model, callable, frames, rows](const MatX& q, const MatX& v, const MatX& u,
                                                  bool derivatives, MatX& value,
                                                  std::vector<MatX>& jacobian) {
    const nb::gil_scoped_acquire gil;
    const Index nq = model.q_size(), nv = model.v_size(), nu = model.control_count(),
                m = nq + nv + nu;
    const nb::object given =
        callable(to_numpy(RowMatX(q.transpose())), to_numpy(RowMatX(v.transpose())),
                 to_numpy(RowMatX(u.transpose())), derivatives);
    if (!derivatives) {
      value = to_matrix(given, "path", frames, rows).transpose();
      return;
    }
    const nb::tuple parts = nb::cast<nb::tuple>(given);
    value = to_matrix(parts[0], "path", frames, rows).transpose();
    const RowMatX by = to_matrix(parts[1], "derivative of the path", frames, rows * m);
    for (Index i = 0; i < frames; ++i) {
      const Eigen::Map<const RowMatX> J(by.row(i).data(), rows, m);
      MatX& out_i = jacobian[static_cast<std::size_t>(i)];
      out_i.leftCols(nv) = J.leftCols(nq) * tangent_map(model, q.col(i));
      out_i.rightCols(nv + nu) = J.rightCols(nv + nu);
    }
  };
  return out;
}

TrajectoryProblem problem_of(const Model& model, const Parameters& parameters,
                             const StepSettings& settings, const StateHolder& state, Index steps,
                             const nb::dict& d) {
  check_numbers(model, parameters);
  check_steps(model, steps);
  const Index nq = model.q_size(), nv = model.v_size(), nu = model.control_count();
  TrajectoryProblem p;
  p.model = &model;
  p.parameters = parameters;
  p.settings = settings;
  p.start = state.get();
  p.steps = steps;
  p.controls = transposed(d, "controls", nu, steps);
  p.vary_controls = nb::cast<bool>(d["vary_controls"]);
  p.u_lower = transposed(d, "u_lower", nu, steps);
  p.u_upper = transposed(d, "u_upper", nu, steps);
  using Initial = std::tuple<bool, Index, double, double>;
  for (const auto& [velocity, place, lower, upper] : nb::cast<std::vector<Initial>>(d["initial"]))
    p.initial.push_back({velocity, place, lower, upper});
  using Varied = std::tuple<Index, double, double, double, double>;
  for (const auto& [place, lower, upper, weight, target] :
       nb::cast<std::vector<Varied>>(d["varied"]))
    p.varied.push_back({place, lower, upper, weight, target});
  p.cost.q_weight = transposed(d, "q_weight", nq, steps + 1);
  p.cost.q_target = transposed(d, "q_target", nq, steps + 1);
  p.cost.v_weight = transposed(d, "v_weight", nv, steps + 1);
  p.cost.v_target = transposed(d, "v_target", nv, steps + 1);
  p.cost.u_weight = transposed(d, "u_weight", nu, steps);
  p.cost.u_target = transposed(d, "u_target", nu, steps);
  p.bounds.q_lower = transposed(d, "q_lower", nq, steps + 1);
  p.bounds.q_upper = transposed(d, "q_upper", nq, steps + 1);
  p.bounds.v_lower = transposed(d, "v_lower", nv, steps + 1);
  p.bounds.v_upper = transposed(d, "v_upper", nv, steps + 1);
  p.q_guess = transposed(d, "q_guess", nq, steps + 1);
  p.v_guess = transposed(d, "v_guess", nv, steps + 1);
  const nb::object more = nb::borrow(d["cost"]);
  if (!more.is_none()) p.more = cost_of(model, more, steps);
  p.path = path_of(model, d, steps);
  return p;
}

nb::dict python_optimise(const Model& model, const Parameters& parameters,
                         const StepSettings& settings, const StateHolder& state, Index steps,
                         const nb::dict& spec, const TrajectoryOptions& given, nb::object progress,
                         int threads) {
  const TrajectoryProblem p = problem_of(model, parameters, settings, state, steps, spec);
  TrajectoryOptions options = given;
  options.progress = [&](int iteration, const TrajectoryIteration& now) {
    const nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) {  // ctrl-C: the best so far is the answer
      if (PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) == 0) nb::raise_python_error();
      PyErr_Clear();
      return false;
    }
    if (progress.is_none()) return true;
    const nb::object answer = progress(iteration, now.cost, now.defect, now.violation);
    return answer.is_none() || nb::cast<bool>(answer);
  };
  TrajectoryResult r;
  {
    const nb::gil_scoped_release release;
    const ThreadGuard guard(threads);
    r = optimise(p, options);
  }
  RowMatX history(static_cast<Index>(r.history.size()), 5);
  for (Index i = 0; i < history.rows(); ++i) {
    const TrajectoryIteration& x = r.history[static_cast<std::size_t>(i)];
    history.row(i) << x.cost, x.violation, x.defect, x.step, x.damping;
  }
  nb::dict d;
  d["start"] = StateHolder(std::move(r.start));
  d["parameters"] = std::move(r.parameters);
  d["u"] = to_numpy(RowMatX(r.controls.transpose()));
  d["q"] = to_numpy(RowMatX(r.q.transpose()));
  d["v"] = to_numpy(RowMatX(r.v.transpose()));
  d["cost"] = r.cost;
  d["violation"] = r.violation;
  d["defect"] = r.defect;
  d["iterations"] = r.iterations;
  d["evaluations"] = r.evaluations;
  d["failed_steps"] = r.failed_steps;
  d["stop"] = r.stop;
  d["history"] = to_numpy(std::move(history));
  return d;
}

nb::tuple python_gradient(const Model& model, const Parameters& parameters,
                          const StepSettings& settings, const StateHolder& state, Index steps,
                          const nb::dict& spec, const TrajectoryOptions& options) {
  const TrajectoryProblem p = problem_of(model, parameters, settings, state, steps, spec);
  TrajectoryGradient g;
  {
    const nb::gil_scoped_release release;
    g = trajectory_gradient(p, options);
  }
  return nb::make_tuple(g.cost, to_numpy(std::move(g.initial)), to_numpy(std::move(g.parameters)),
                        to_numpy(RowMatX(g.controls.transpose())), g.certificate);
}

/// q, v: (steps + 1, numbers), u: (steps, controls) => next states (steps, numbers of q and v), and
/// None or the Jacobians (steps, rows, columns) by (q, v), u and the parameters varied.
nb::tuple python_node_steps(const Model& model, const Parameters& parameters,
                            const StepSettings& settings, const StateHolder& state, Index steps,
                            const nb::dict& spec, nb::object q, nb::object v, nb::object u,
                            bool jacobians, const StepGradientSettings& gradient, int threads) {
  const TrajectoryProblem p = problem_of(model, parameters, settings, state, steps, spec);
  const Index nq = model.q_size(), nv = model.v_size(), nu = model.control_count();
  const MatX Q = to_matrix(q, "q", steps + 1, nq).transpose(),
             V = to_matrix(v, "v", steps + 1, nv).transpose(),
             U = nu > 0 ? MatX(to_matrix(u, "u", steps, nu).transpose()) : MatX(0, steps);
  std::vector<NodeStep> out;
  {
    const nb::gil_scoped_release release;
    const ThreadGuard guard(threads);
    out = node_steps(p, Q, V, U, jacobians, gradient);
  }
  const auto T = static_cast<std::size_t>(steps), rows = static_cast<std::size_t>(nq + nv);
  RowMatX next(steps, nq + nv);
  for (Index i = 0; i < steps; ++i) {
    const NodeStep& x = out[static_cast<std::size_t>(i)];
    next.row(i) << x.q.transpose(), x.v.transpose();
  }
  if (!jacobians) return nb::make_tuple(to_numpy(std::move(next)), nb::none());
  const auto stacked = [&](const MatX NodeStep::* member) {
    const auto cols = static_cast<std::size_t>((out[0].*member).cols());
    std::vector<double> all(T * rows * cols);
    for (std::size_t i = 0; i < T; ++i)
      Eigen::Map<RowMatX>(all.data() + i * rows * cols, nq + nv, static_cast<Index>(cols)) =
          out[i].*member;
    return to_numpy(std::move(all), {T, rows, cols});
  };
  return nb::make_tuple(
      to_numpy(std::move(next)),
      nb::make_tuple(stacked(&NodeStep::A), stacked(&NodeStep::B), stacked(&NodeStep::P)));
}

}  // namespace

void bind_optimise(nb::module_& m) {
  nb::enum_<ShootingMethod>(m, "ShootingMethod", "How a motion is optimised.")
      .value("Lbfgs", ShootingMethod::Lbfgs, "single shooting from gradients alone")
      .value("GaussNewton", ShootingMethod::GaussNewton, "single shooting, second order")
      .value("Ilqr", ShootingMethod::Ilqr, "the same with feedback in the rollout")
      .value("MultipleShooting", ShootingMethod::MultipleShooting, "states are unknowns too");
  nb::enum_<TrajectoryStop>(m, "TrajectoryStop", "Why an optimisation ended.")
      .value("Converged", TrajectoryStop::Converged)
      .value("NoDescent", TrajectoryStop::NoDescent, "no shorter step lowers the cost")
      .value("IterationLimit", TrajectoryStop::IterationLimit)
      .value("TimeLimit", TrajectoryStop::TimeLimit)
      .value("Interrupted", TrajectoryStop::Interrupted, "by ctrl-C or the progress function")
      .value("NotFeasible", TrajectoryStop::NotFeasible, "bounds of states or defects not met");
  bind_settings<TrajectoryOptions>(m, "TrajectoryOptions", "How to optimise a motion.");
  m.def("optimise", &python_optimise, nb::arg("model"), nb::arg("parameters"), nb::arg("settings"),
        nb::arg("state"), nb::arg("steps"), nb::arg("spec"), nb::arg("options"),
        nb::arg("progress").none(), nb::arg("threads"),
        nb::sig("def optimise(model: Model, parameters: Parameters, settings: StepSettings, state: "
                "State, steps: int, spec: dict[str, typing.Any], options: TrajectoryOptions, "
                "progress: object | None, threads: int) -> dict[str, typing.Any]"));
  m.def("trajectory_gradient", &python_gradient, nb::arg("model"), nb::arg("parameters"),
        nb::arg("settings"), nb::arg("state"), nb::arg("steps"), nb::arg("spec"),
        nb::arg("options"),
        nb::sig("def trajectory_gradient(model: Model, parameters: Parameters, settings: "
                "StepSettings, state: State, steps: int, spec: dict[str, typing.Any], options: "
                "TrajectoryOptions) -> tuple[typing.Any, ...]"));
  m.def("node_steps", &python_node_steps, nb::arg("model"), nb::arg("parameters"),
        nb::arg("settings"), nb::arg("state"), nb::arg("steps"), nb::arg("spec"), nb::arg("q"),
        nb::arg("v"), nb::arg("u"), nb::arg("jacobians"), nb::arg("gradient"), nb::arg("threads"),
        nb::sig("def node_steps(model: Model, parameters: Parameters, settings: StepSettings, "
                "state: State, steps: int, spec: dict[str, typing.Any], q: object, v: object, u: "
                "object, jacobians: bool, gradient: StepGradientSettings, threads: int) -> "
                "tuple[typing.Any, ...]"));
}

}  // namespace orthant::python
