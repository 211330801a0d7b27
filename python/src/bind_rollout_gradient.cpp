// SPDX-License-Identifier: Apache-2.0
// python/src/bind_rollout_gradient.cpp: B recorded rollouts and their reverse walk; one step.
// The library's derivatives by q are by tangents (as State.v). Python's are by the numbers of
// State.q, because autograd has no other: with θ the world rotation vector, p = (w, u),
//   dp = ½ (0, θ) p      θ = 2 vec(dp p*)
// The second is the derivative of the normalised quaternion, so a layer may be called with any.
#include <nanobind/stl/string.h>

#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/robot/step_jacobian.hpp"
#include "settings.hpp"
#include "state.hpp"

namespace orthant::python {

void fields(Tag<StepGradientSettings>, auto&& field) {
  using S = StepGradientSettings;
  field("solution", &S::solution, "Element at kinks, tolerances.");
  field("by_parameters", &S::by_parameters, "False: no derivative by parameters; cheaper.");
  field("allow_unconverged", &S::allow_unconverged,
        "Differentiate steps that did not converge, too; the certificate says so.");
}

void fields(Tag<RolloutCertificate>, auto&& field) {
  using C = RolloutCertificate;
  field("exact", &C::exact, "Nothing was held fixed.");
  field("reason", &C::reason, "First reason not to be exact, with its step.");
  field("steps", &C::steps, "Differentiated.");
  field("failed_steps", &C::failed_steps, "That did not converge (only with allow_unconverged).");
  field("inexact_steps", &C::inexact_steps, "Where something was held fixed.");
  field("floating_steps", &C::floating_steps, "With a contact on a border.");
  field("floating", &C::floating, "Rows on a border, all steps: one-sided derivatives only.");
  field("margin", &C::margin, "Smallest distance to a border [-].");
  field("weakest_step", &C::weakest_step, "Where the margin is attained.");
  field("reciprocal_condition", &C::reciprocal_condition, "Worst linear system.");
  field("solve_error", &C::solve_error, "Worst linear solve, relative.");
  field("residual", &C::residual, "Worst answer differentiated.");
  field("impacts", &C::impacts, "Located, their times differentiated.");
  field("kinks", &C::kinks, "Of the data in all steps, and of the initial state.");
  field("kink", &C::kink, "The first of them, with its step.");
  field("edges", &C::edges, "Parameters with one side only, by place.");
  field("open", &C::open, "Inputs by which the number is no two-sided derivative.");
}

void fields(Tag<EdgeParameter>, auto&& field) {
  field("place", &EdgeParameter::place, "In Parameters.values.");
  field("given", &EdgeParameter::given,
        "The number is the derivative from inside the range; False: there is none.");
  field("opens", &EdgeParameter::opens, "More of it opens a contact.");
}

void fields(Tag<OpenInput>, auto&& field) {
  field("kind", &OpenInput::kind, "Of the input.");
  field("place", &OpenInput::place,
        "In the tangent of q, in v, of a control, in Parameters.values.");
  field("step", &OpenInput::step, "Of a control: counted from the start of the rollout.");
  field("reason", &OpenInput::reason, "Why there is no such number.");
}

void fields(Tag<StepCertificate>, auto&& field) {
  using C = StepCertificate;
  field("contacts", &C::contacts, "Of all impacts and intervals of the step, in order.");
  field("converged", &C::converged, "The step met its tolerance.");
  field("exact", &C::exact, "Nothing was held fixed.");
  field("reason", &C::reason, "First reason not to be exact.");
  field("floating", &C::floating, "Rows on a border: one-sided derivatives only.");
  field("margin", &C::margin, "Smallest distance to a border [-].");
  field("reciprocal_condition", &C::reciprocal_condition, "Of the linear systems.");
  field("solve_error", &C::solve_error, "Worst linear solve, relative.");
  field("residual", &C::residual, "Worst answer differentiated.");
  field("element", &C::element, "The choice taken at floating rows.");
  field("impacts", &C::impacts, "Located, their times differentiated.");
  field("kinks", &C::kinks, "Of the data: springs at rest length, flush faces.");
  field("start_kinks", &C::start_kinks, "Of the state before: contacts and limits just closed.");
  field("kink", &C::kink, "The first of both, in words.");
  field("edges", &C::edges, "Parameters with one side only, by place.");
  field("rests", &C::rests,
        "A contact that pushes overlaps within the tolerance: no input of earlier steps opens it.");
  field("open", &C::open,
        "Inputs by which the number is no two-sided derivative; after a pull_back.");
}

namespace {

/// visit(place in q, place in v or -1: fixed, dimension) for every node of the flexible parts.
template <class Visit>
void for_each_node(const Model& model, Visit&& visit) {
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index i = 0; i < part.node_count; ++i)
      visit(part.q_begin + part.dim * i, part.v_begin[static_cast<std::size_t>(i)],
            Index{part.dim});
}

/// Derivative by the tangent of q from that by the numbers of q; adds to `out`.
void add_tangent(const Model& model, const double* q, const double* by_q, VecX& out) {
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const double* g = by_q + body.q_begin;
    double* t = out.data() + body.v_begin;
    for (int i = 0; i < 3; ++i) t[i] += g[i];  // planar: x, y, theta
    if (body.planar) continue;
    const double w = q[body.q_begin + 3];
    const Vec3 u = Vec3::Map(q + body.q_begin + 4), gu = Vec3::Map(g + 4);
    Vec3::Map(t + 3) += 0.5 * (w * gu - g[3] * u + u.cross(gu));
  }
  for_each_node(model, [&](Index at, Index v, Index dim) {
    for (Index i = 0; i < dim && v >= 0; ++i) out[v + i] += by_q[at + i];
  });
}

/// Derivative by the numbers of q from that by its tangent.
void numbers_from_tangent(const Model& model, const double* q, const VecX& tangent, double* out) {
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const double* t = tangent.data() + body.v_begin;
    double* g = out + body.q_begin;
    for (int i = 0; i < 3; ++i) g[i] += t[i];
    if (body.planar) continue;
    const double w = q[body.q_begin + 3];
    const Vec3 u = Vec3::Map(q + body.q_begin + 4), turn = Vec3::Map(t + 3);
    g[3] += -2 * u.dot(turn);
    Vec3::Map(g + 4) += 2 * (w * turn + turn.cross(u));
  }
  for_each_node(model, [&](Index at, Index v, Index dim) {
    for (Index i = 0; i < dim && v >= 0; ++i) out[at + i] += tangent[v + i];
  });
}

/// Numbers of fixed bodies and nodes pass through a rollout unchanged.
void pass_fixed(const Model& model, const double* by_q, double* out) {
  for (const Body& body : model.bodies()) {
    if (body.v_begin != kNone) continue;
    for (Index i = 0; i < body.q_size; ++i) out[body.q_begin + i] += by_q[body.q_begin + i];
  }
  for_each_node(model, [&](Index q, Index v, Index dim) {
    for (Index i = 0; i < dim && v < 0; ++i) out[q + i] += by_q[q + i];
  });
}

/// Change of the numbers of q from a tangent there: dp = ½ (0, θ) p. Adds to `out`.
void push_numbers(const Model& model, const double* q, const double* tangent, double* out) {
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const double* t = tangent + body.v_begin;
    double* d = out + body.q_begin;
    for (int i = 0; i < 3; ++i) d[i] += t[i];
    if (body.planar) continue;
    const double w = q[body.q_begin + 3];
    const Vec3 u = Vec3::Map(q + body.q_begin + 4), turn = Vec3::Map(t + 3);
    d[3] += -0.5 * turn.dot(u);
    Vec3::Map(d + 4) += 0.5 * (w * turn + turn.cross(u));
  }
  for_each_node(model, [&](Index at, Index v, Index dim) {
    for (Index i = 0; i < dim && v >= 0; ++i) out[at + i] += tangent[v + i];
  });
}

/// The tangent of a change of the numbers of q: θ = 2 vec(dp p*).
VecX tangent_of_numbers(const Model& model, const double* q, const double* change) {
  VecX out = VecX::Zero(model.v_size());
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const double* d = change + body.q_begin;
    double* t = out.data() + body.v_begin;
    for (int i = 0; i < 3; ++i) t[i] = d[i];
    if (body.planar) continue;
    const double w = q[body.q_begin + 3];
    const Vec3 u = Vec3::Map(q + body.q_begin + 4), du = Vec3::Map(d + 4);
    Vec3::Map(t + 3) = 2 * (w * du - d[3] * u + u.cross(du));
  }
  for_each_node(model, [&](Index at, Index v, Index dim) {
    for (Index i = 0; i < dim && v >= 0; ++i) out[v + i] = change[at + i];
  });
  return out;
}

/// B tapes of one model. Keeps the model's Python object alive.
class TapeBatch {
 public:
  TapeBatch(nb::object model, const Parameters& names, const StepSettings& settings,
            nb::handle parameters, nb::handle q, nb::handle v, nb::handle u, double t,
            std::int64_t steps, bool store_records, int threads)
      : keep_(std::move(model)), model_(nb::cast<const Model&>(keep_)) {
    if (steps < 1) throw Error("steps", "must be >= 1, got " + std::to_string(steps));
    const BatchInput in(model_, names, parameters, q, v, u, t, steps);
    steps_ = static_cast<Index>(steps);
    parameter_count_ = static_cast<std::size_t>(in.parameters.cols());
    tapes_.resize(in.worlds);
    errors_.resize(in.worlds);
    start_.resize(in.worlds);
    Interrupts interrupts;
    {
      const nb::gil_scoped_release release;
      const ThreadGuard guard(threads);
      parallel_for(in.worlds, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t w = begin; w < end && !interrupts.stop(); ++w)
          record(in, settings, store_records, w);
      });
    }
    interrupts.rethrow();
  }

  nb::dict states() const {
    const std::size_t B = tapes_.size(), frames = static_cast<std::size_t>(steps_) + 1,
                      nq = static_cast<std::size_t>(model_.q_size()),
                      nv = static_cast<std::size_t>(model_.v_size());
    std::vector<double> q(B * frames * nq), v(B * frames * nv), outcome(B), failed(B);
    for (std::size_t w = 0; w < B; ++w) {
      if (!errors_[w].empty()) {  // never ran: its start, repeated
        for (std::size_t i = 0; i < frames; ++i) {
          std::copy_n(start_[w].q.data(), nq, q.data() + (w * frames + i) * nq);
          std::copy_n(start_[w].v.data(), nv, v.data() + (w * frames + i) * nv);
        }
        outcome[w] = static_cast<double>(Outcome::NotFinite);
        continue;
      }
      // Columns are states, so a tape is already frame after frame.
      std::copy_n(tapes_[w].q.data(), frames * nq, q.data() + w * frames * nq);
      std::copy_n(tapes_[w].v.data(), frames * nv, v.data() + w * frames * nv);
      outcome[w] = static_cast<double>(tapes_[w].report.outcome);
      failed[w] = static_cast<double>(tapes_[w].report.failed_steps);
    }
    nb::dict d;
    d["q"] = to_numpy(std::move(q), {B, frames, nq});
    d["v"] = to_numpy(std::move(v), {B, frames, nv});
    d["outcome"] = to_numpy(std::move(outcome), {B});
    d["failed_steps"] = to_numpy(std::move(failed), {B});
    d["errors"] = nb::cast(errors_);
    return d;
  }

  nb::dict pull_back(nb::handle given_q, nb::handle given_v, const StepGradientSettings& settings,
                     int threads) const {
    const std::size_t B = tapes_.size(), frames = static_cast<std::size_t>(steps_) + 1,
                      nq = static_cast<std::size_t>(model_.q_size()),
                      nv = static_cast<std::size_t>(model_.v_size()),
                      nu = static_cast<std::size_t>(model_.control_count()),
                      T = static_cast<std::size_t>(steps_);
    const auto rows = static_cast<Index>(B);
    const RowMatX by_q = to_matrix(given_q, "by_q", rows, static_cast<Index>(frames * nq)),
                  by_v = to_matrix(given_v, "by_v", rows, static_cast<Index>(frames * nv));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    std::vector<double> q(B * nq), v(B * nv), u(B * T * nu), parameters(B * parameter_count_);
    std::vector<RolloutCertificate> certificates(B);
    std::vector<std::string> errors = errors_;
    Interrupts interrupts;
    const auto one = [&](std::size_t w) {
      double* out_q = q.data() + w * nq;
      double* out_v = v.data() + w * nv;
      double* out_u = u.data() + w * T * nu;
      double* out_p = parameters.data() + w * parameter_count_;
      try {
        if (!errors[w].empty()) throw Error("world", errors[w]);
        const RolloutTape& tape = tapes_[w];
        const double* gq = by_q.row(static_cast<Eigen::Index>(w)).data();
        const double* gv = by_v.row(static_cast<Eigen::Index>(w)).data();
        RolloutCotangent loss;
        loss.q = MatX::Zero(model_.v_size(), steps_ + 1);
        loss.v = Eigen::Map<const MatX>(gv, model_.v_size(), steps_ + 1);
        VecX column(model_.v_size());
        for (Index i = 0; i <= steps_; ++i) {
          column.setZero();
          add_tangent(model_, tape.q.col(i).data(), gq + static_cast<std::size_t>(i) * nq, column);
          loss.q.col(i) = column;
          pass_fixed(model_, gq + static_cast<std::size_t>(i) * nq, out_q);
        }
        const RolloutGradient g = rollout_gradient(tape, loss, settings);
        numbers_from_tangent(model_, tape.q.col(0).data(), g.q, out_q);
        std::copy_n(g.v.data(), nv, out_v);
        if (g.u.size() != 0) std::copy_n(g.u.data(), T * nu, out_u);
        std::copy_n(g.parameters.data(), parameter_count_, out_p);
        certificates[w] = g.certificate;
      } catch (const std::exception& e) {
        const nb::gil_scoped_acquire gil;
        errors[w] = e.what();  // no gradient: say so in every number of this world
        std::fill_n(out_q, nq, nan);
        std::fill_n(out_v, nv, nan);
        std::fill_n(out_u, T * nu, nan);
        std::fill_n(out_p, parameter_count_, nan);
        certificates[w].exact = false;
        certificates[w].reason = errors[w];
      }
    };
    {
      const nb::gil_scoped_release release;
      const ThreadGuard guard(threads);
      parallel_for(B, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t w = begin; w < end && !interrupts.stop(); ++w) one(w);
      });
    }
    interrupts.rethrow();
    nb::dict d;
    d["q"] = to_numpy(std::move(q), {B, nq});
    d["v"] = to_numpy(std::move(v), {B, nv});
    d["u"] = to_numpy(std::move(u), {B, T, nu});
    d["parameters"] = to_numpy(std::move(parameters), {B, parameter_count_});
    d["errors"] = nb::cast(errors);
    d["certificates"] = nb::cast(certificates);
    return d;
  }

  /// One change for all worlds, of the numbers of q as pull_back() has them; frames of dq and dv,
  /// (B, steps + 1, q_size) and (B, steps + 1, v_size).
  nb::tuple push_forward(nb::handle dq, nb::handle dv, nb::handle du, nb::handle dp,
                         const StepGradientSettings& settings, int threads) const {
    const auto get = [](nb::handle x, const char* name, Index size) {
      return x.is_none() ? VecX() : to_vector(x, name, size);
    };
    const VecX numbers = get(dq, "q", model_.q_size());
    const StepTangent given{VecX(), get(dv, "v", model_.v_size()), VecX(),
                            get(dp, "parameters", static_cast<Index>(parameter_count_))};
    MatX controls;
    if (!du.is_none()) controls = to_matrix(du, "u", steps_, model_.control_count()).transpose();
    const std::size_t B = tapes_.size(), frames = static_cast<std::size_t>(steps_) + 1,
                      nq = static_cast<std::size_t>(model_.q_size()),
                      nv = static_cast<std::size_t>(model_.v_size());
    std::vector<double> q(B * frames * nq), v(B * frames * nv);
    std::vector<std::string> errors = errors_;
    Interrupts interrupts;
    {
      const nb::gil_scoped_release release;
      const ThreadGuard guard(threads);
      parallel_for(B, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t w = begin; w < end && !interrupts.stop(); ++w) {
          try {
            if (!errors[w].empty()) throw Error("world", errors[w]);
            const RolloutTape& tape = tapes_[w];
            StepTangent change = given;
            if (numbers.size() > 0)
              change.q = tangent_of_numbers(model_, tape.q.col(0).data(), numbers.data());
            const RolloutTangent d = rollout_tangent(tape, change, controls, settings);
            for (Index i = 0; i <= steps_; ++i) {
              double* to = q.data() + (w * frames + static_cast<std::size_t>(i)) * nq;
              push_numbers(model_, tape.q.col(i).data(), d.q.col(i).data(), to);
              if (numbers.size() > 0) pass_fixed(model_, numbers.data(), to);
            }
            std::copy_n(d.v.data(), frames * nv, v.data() + w * frames * nv);
          } catch (const std::exception& e) {
            const nb::gil_scoped_acquire gil;
            errors[w] = e.what();
            const double nan = std::numeric_limits<double>::quiet_NaN();
            std::fill_n(q.data() + w * frames * nq, frames * nq, nan);
            std::fill_n(v.data() + w * frames * nv, frames * nv, nan);
          }
        }
      });
    }
    interrupts.rethrow();
    return nb::make_tuple(to_numpy(std::move(q), {B, frames, nq}),
                          to_numpy(std::move(v), {B, frames, nv}), errors);
  }

 private:
  void record(const BatchInput& in, const StepSettings& settings, bool store_records,
              std::size_t w) {
    start_[w] = in.state_of(w);
    try {
      const double* rows = in.controls_of(w);
      MatX controls;
      if (rows != nullptr) controls = Eigen::Map<const MatX>(rows, model_.control_count(), steps_);
      const Parameters p = in.parameters_of(w);
      if (!p.values.allFinite()) validate(model_, p);
      tapes_[w] = record_rollout(model_, p, settings, start_[w], controls, steps_,
                                 {.store_records = store_records});
    } catch (const std::exception& e) {
      const nb::gil_scoped_acquire gil;
      errors_[w] = e.what();
    }
  }

  nb::object keep_;
  const Model& model_;
  Index steps_ = 0;
  std::size_t parameter_count_ = 0;
  std::vector<RolloutTape> tapes_;
  std::vector<State> start_;
  std::vector<std::string> errors_;
};

/// Owns copies of what StepGradient only refers to.
class StepGradientHolder {
 public:
  StepGradientHolder(nb::object model, const Parameters& parameters, const StepSettings& settings,
                     const StepRecord& record, const StepGradientSettings& gradient)
      : keep_(std::move(model)),
        data_(std::make_unique<Data>(Data{parameters, record})),
        gradient_(nb::cast<const Model&>(keep_), data_->parameters, settings, data_->record,
                  gradient) {}
  StepGradient& get() { return gradient_; }
  const Model& model() const { return nb::cast<const Model&>(keep_); }
  const Parameters& parameters() const { return data_->parameters; }
  const State& before() const { return data_->record.before; }

 private:
  struct Data {
    Parameters parameters;
    StepRecord record;
  };
  nb::object keep_;
  std::unique_ptr<Data> data_;
  StepGradient gradient_;
};

nb::dict step_pull_back(StepGradientHolder& g, nb::object q, nb::object v) {
  const Index n = g.model().v_size();
  const StateCotangent after{q.is_none() ? VecX() : to_vector(q, "q", n),
                             v.is_none() ? VecX() : to_vector(v, "v", n)};
  StepCotangent d;
  {
    const nb::gil_scoped_release release;
    d = g.get().pull_back(after);
  }
  nb::dict out;
  out["q"] = to_numpy(std::move(d.q));
  out["v"] = to_numpy(std::move(d.v));
  out["u"] = to_numpy(std::move(d.u));
  out["parameters"] = to_numpy(std::move(d.parameters));
  return out;
}

nb::tuple step_push_forward(StepGradientHolder& g, nb::object q, nb::object v, nb::object u,
                            nb::object parameters) {
  const Model& m = g.model();
  const auto get = [](nb::handle x, const char* name, Index size) {
    return x.is_none() ? VecX() : to_vector(x, name, size);
  };
  const StepTangent change{get(q, "q", m.v_size()), get(v, "v", m.v_size()),
                           get(u, "u", m.control_count()),
                           get(parameters, "parameters", m.parameter_table().size())};
  StateTangent d;
  {
    const nb::gil_scoped_release release;
    d = g.get().push_forward(change);
  }
  return nb::make_tuple(to_numpy(std::move(d.q)), to_numpy(std::move(d.v)));
}

void bind_step_gradient(nb::module_& m) {
  nb::class_<StepGradientHolder>(
      m, "StepGradient",
      "The derivative of one recorded step. q means its tangent here: v_size numbers, world axes.")
      .def(
          "__init__",
          [](StepGradientHolder* self, nb::object model, const Parameters& parameters,
             const StepSettings& settings, const StepRecord& record,
             const StepGradientSettings* gradient) {
            if (!nb::isinstance<Model>(model)) throw nb::type_error("model: expected a Model");
            check_numbers(nb::cast<const Model&>(model), parameters);
            new (self) StepGradientHolder(model, parameters, settings, record,
                                          gradient != nullptr ? *gradient : StepGradientSettings{});
          },
          nb::arg("model"), nb::arg("parameters"), nb::arg("settings"), nb::arg("record"),
          nb::arg("gradient").none() = nb::none(),
          nb::sig(
              "def __init__(self, model: Model, parameters: Parameters, settings: StepSettings, "
              "record: StepRecord, gradient: StepGradientSettings | None = None) -> None"))
      .def("pull_back", &step_pull_back, nb::arg("q") = nb::none(), nb::arg("v") = nb::none(),
           nb::sig("def pull_back(self, q: object | None = None, v: object | None = None) -> "
                   "dict[str, NDArray[numpy.float64]]"),
           "Derivative of a scalar by the state after in; by q, v, u and parameters before out.")
      .def("push_forward", &step_push_forward, nb::arg("q") = nb::none(), nb::arg("v") = nb::none(),
           nb::arg("u") = nb::none(), nb::arg("parameters") = nb::none(),
           nb::sig("def push_forward(self, q: object | None = None, v: object | None = None, u: "
                   "object | None = None, parameters: object | None = None) -> "
                   "tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
           "A change of what the step reads in; of q and v after out.")
      .def(
          "jacobian",
          [](StepGradientHolder& g) {
            StepJacobian j;
            {
              const nb::gil_scoped_release release;
              j = g.get().jacobian();
            }
            return nb::make_tuple(to_numpy(RowMatX(j.A)), to_numpy(RowMatX(j.B)));
          },
          nb::sig("def jacobian(self) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
          "A (2 v_size square) and B (2 v_size, control_count): d(q, v) = A d(q, v) + B du.")
      .def(
          "joint_jacobian",
          [](StepGradientHolder& g, const Articulation& tree, const StateHolder& after) {
            validate(g.model(), after.get());
            if (tree.model().v_size() != g.model().v_size())
              throw nb::value_error("tree: of another model");
            StepJacobian j;
            {
              const nb::gil_scoped_release release;
              j = step_jacobian(tree, g.parameters(), g.before(), after.get(), g.get());
            }
            return nb::make_tuple(to_numpy(RowMatX(j.A)), to_numpy(RowMatX(j.B)));
          },
          nb::arg("tree"), nb::arg("after"),
          nb::sig("def joint_jacobian(self, tree: Articulation, after: State) -> "
                  "tuple[NDArray[numpy.float64], NDArray[numpy.float64]]"),
          "The same in joint coordinates: A is 2 u_size square; `after`: the state the step led "
          "to.")
      .def_prop_ro(
          "certificate", [](StepGradientHolder& g) { return g.get().certificate(); },
          "What is known about the derivative.");
}

nb::tuple entry_state(const StepCertificate::Entry& x) {
  const ContactKey& k = x.key;
  return nb::make_tuple(k.body_a, k.body_b, k.shape_a, k.shape_b, k.feature, k.image, x.state,
                        x.impact);
}

void bind_certified_contact(nb::module_& m) {
  using Entry = StepCertificate::Entry;
  nb::class_<Entry>(m, "CertifiedContact", "The set one contact of a differentiated step is in.")
      .def_ro("state", &Entry::state, "Stick, slide, separate, or on a border.")
      .def_ro("impact", &Entry::impact, "Of a located impact, not of the interval.")
      .def_prop_ro(
          "bodies", [](const Entry& x) { return nb::make_tuple(x.key.body_a, x.key.body_b); },
          nb::sig("def bodies(self) -> tuple[int, int]"), "Their uids.")
      .def_prop_ro(
          "feature", [](const Entry& x) { return x.key.feature; },
          "Tells contacts of a pair apart.")
      .def("__getstate__", &entry_state)
      .def("__setstate__",
           [](Entry& x, const nb::tuple& d) {
             Entry made;
             made.key = {nb::cast<BodyUid>(d[0]),       nb::cast<BodyUid>(d[1]),
                         nb::cast<std::uint16_t>(d[2]), nb::cast<std::uint16_t>(d[3]),
                         nb::cast<std::uint32_t>(d[4]), nb::cast<std::array<std::int8_t, 3>>(d[5])};
             made.state = nb::cast<ContactState>(d[6]);
             made.impact = nb::cast<bool>(d[7]);
             new (&x) Entry(made);
           })
      .def(
          "__eq__",
          [](const Entry& a, nb::object b) {
            return nb::isinstance<Entry>(b) &&
                   entry_state(a).equal(entry_state(nb::cast<const Entry&>(b)));
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const Entry& x) {
        return "CertifiedContact(bodies=(" + std::to_string(x.key.body_a) + ", " +
               std::to_string(x.key.body_b) + "), feature=" + std::to_string(x.key.feature) +
               ", state=" + std::string(name_of(x.state)) + (x.impact ? ", impact)" : ")");
      });
}

}  // namespace

void bind_rollout_gradient(nb::module_& m) {
  bind_settings<StepGradientSettings>(m, "StepGradientSettings", "How to differentiate a step.");
  bind_certified_contact(m);
  const auto compare = []<class T>(nb::class_<T> bound) {
    bound.def(
        "__eq__",
        [](const T& a, nb::object b) { return nb::isinstance<T>(b) && a == nb::cast<const T&>(b); },
        nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  };
  compare(bind_report<EdgeParameter>(m, "EdgeParameter",
                                     "A parameter with one side only: at its edge."));
  nb::enum_<InputKind>(m, "InputKind", "What a derivative is by.")
      .value("Configuration", InputKind::Configuration)
      .value("Velocity", InputKind::Velocity)
      .value("Control", InputKind::Control)
      .value("Parameter", InputKind::Parameter);
  nb::enum_<OpenReason>(m, "OpenReason", "Why a number is no two-sided derivative.")
      .value("Kink", OpenReason::Kink, "The derivative has two sides.")
      .value("Ambiguous", OpenReason::Ambiguous,
             "Redundant contacts: it depends on which of several impulses were found.")
      .value(
          "Neither", OpenReason::Neither,
          "It may be of neither side: at a border; contacts close as others open, or contradict.")
      .value("Near", OpenReason::Near, "A kink is so near that differences of steps meet it.");
  compare(bind_report<OpenInput>(m, "OpenInput",
                                 "An input by which the number is no two-sided derivative."));
  bind_report<StepCertificate>(m, "StepCertificate",
                               "What is known about the derivative of a step.");
  bind_report<RolloutCertificate>(m, "RolloutCertificate", "The certificates of all steps in one.");
  bind_step_gradient(m);
  nb::class_<TapeBatch>(m, "TapeBatch", "Recorded rollouts; the package wraps it as RolloutTape.")
      .def(
          "__init__",
          [](TapeBatch* self, nb::object model, const Parameters& names,
             const StepSettings& settings, nb::object parameters, nb::object q, nb::object v,
             nb::object u, double t, std::int64_t steps, bool store_records, int threads) {
            if (!nb::isinstance<Model>(model)) throw nb::type_error("model: expected a Model");
            new (self) TapeBatch(model, names, settings, parameters, q, v, u, t, steps,
                                 store_records, threads);
          },
          nb::arg("model"), nb::arg("names"), nb::arg("settings"), nb::arg("parameters"),
          nb::arg("q"), nb::arg("v"), nb::arg("u").none(), nb::arg("t"), nb::arg("steps"),
          nb::arg("store_records"), nb::arg("threads"))
      .def("states", &TapeBatch::states, nb::sig("def states(self) -> dict[str, typing.Any]"))
      .def("pull_back", &TapeBatch::pull_back, nb::arg("by_q"), nb::arg("by_v"),
           nb::arg("settings"), nb::arg("threads"),
           nb::sig("def pull_back(self, by_q: object, by_v: object, settings: "
                   "StepGradientSettings, threads: int) -> dict[str, typing.Any]"))
      .def("push_forward", &TapeBatch::push_forward, nb::arg("q").none(), nb::arg("v").none(),
           nb::arg("u").none(), nb::arg("parameters").none(), nb::arg("settings"),
           nb::arg("threads"),
           nb::sig("def push_forward(self, q: object, v: object, u: object, parameters: object, "
                   "settings: StepGradientSettings, threads: int) -> tuple[typing.Any, ...]"));
}

}  // namespace orthant::python
