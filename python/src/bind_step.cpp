// SPDX-License-Identifier: Apache-2.0
// python/src/bind_step.cpp: step() and rollout(), without the GIL.
// A rollout looks for ctrl-C about ten times per second.
#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/step/step_fields.hpp"
#include "run.hpp"
#include "settings.hpp"
#include "state.hpp"
#include "workspace_pool.hpp"

namespace orthant::python {

void fields(Tag<StepReport>, auto&& field) {
  using R = StepReport;
  field("outcome", &R::outcome, "Of the worst solve.");
  field("method", &R::method, "That found the answer.");
  field("solves", &R::solves, "In this step.");
  field("iterations", &R::iterations, "Of all solves.");
  field("events", &R::events, "Impacts located.");
  field("events_exhausted", &R::events_exhausted, "max_events was reached.");
  field("contacts", &R::contacts, "Found at the start.");
  field("recursions", &R::recursions, "Relcp: rounds that added rows.");
  field("constraints", &R::constraints, "Contacts with rows in the last solve.");
  field("newton_iterations", &R::newton_iterations, "Linearisations of flexible parts.");
  field("cuts", &R::cuts, "Times an interval was halved: an element would invert.");
  field("inverted", &R::inverted, "Elements inverted after the step all the same.");
  field("accuracy", &R::accuracy, "The law that the step was solved by.");
  field("residual", &R::residual, "The judge's, worst solve [-]; crowds: velocity over g h.");
  field("deepest", &R::deepest, "Deepest penetration after the step [m].");
  field("joint_error", &R::joint_error, "Largest position error of a joint [m, rad].");
  field("kinetic", &R::kinetic, "Energy after the step [J].");
  field("potential", &R::potential, "Energy after the step, soft contacts included [J].");
  field("seconds_collision", &R::seconds_collision, "Wall clock [s].");
  field("seconds_assembly", &R::seconds_assembly, "Wall clock [s].");
  field("seconds_solve", &R::seconds_solve, "Wall clock [s].");
  field("seconds_projection", &R::seconds_projection, "Wall clock [s].");
}

namespace {

StepReport python_step(const Model& model, const Parameters& parameters,
                       const StepSettings& settings, StateHolder& state, WarmStart* warm,
                       nb::object u, StepRecord* record) {
  const VecX controls = u.is_none() ? VecX() : to_vector(u, "u", model.control_count());
  check_numbers(model, parameters);
  WorkspaceLease lease;
  lease.state() = state.get();
  WarmStart fresh;
  StepReport report;
  {
    const nb::gil_scoped_release release;
    report = step(model, parameters, settings, controls, lease.state(),
                  warm != nullptr ? *warm : fresh, lease.workspace(), record);
  }
  state.set(lease.state());
  return report;
}

struct Rows {
  std::vector<double> time, residual, deepest, joint_error, kinetic, potential, contacts,
      iterations, outcome;
  void reserve(std::size_t n) {
    for (auto* x : {&residual, &deepest, &joint_error, &kinetic, &potential, &contacts, &iterations,
                    &outcome})
      x->reserve(n);
  }
  void add(const StepReport& r) {
    residual.push_back(r.residual);
    deepest.push_back(r.deepest);
    joint_error.push_back(r.joint_error);
    kinetic.push_back(r.kinetic);
    potential.push_back(r.potential);
    contacts.push_back(r.contacts);
    iterations.push_back(r.iterations);
    outcome.push_back(static_cast<double>(r.outcome));
  }
};

nb::dict python_rollout(const Model& model, const Parameters& parameters,
                        const StepSettings& settings, const StateHolder& state, std::int64_t steps,
                        nb::object u, WarmStart* given_warm, nb::object callback,
                        std::int64_t every, nb::object progress) {
  check_steps(model, steps);
  if (every < 1) throw Error("every", "must be >= 1, got " + std::to_string(every));
  check_numbers(model, parameters);
  RowMatX controls;
  if (!u.is_none()) controls = to_matrix(u, "u", static_cast<Index>(steps), model.control_count());
  const Controls rows{u.is_none() ? nullptr : controls.data(), model.control_count()};
  State x = state.get();
  validate(model, x);
  WarmStart fresh;
  WarmStart& warm = given_warm != nullptr ? *given_warm : fresh;

  Rows out;
  out.reserve(static_cast<std::size_t>(std::min<std::int64_t>(steps, 1 << 20)));
  std::vector<double> q(x.q.begin(), x.q.end()), v(x.v.begin(), x.v.end());
  out.time.push_back(x.t);
  const auto keep = [&](const State& s) {
    q.insert(q.end(), s.q.begin(), s.q.end());
    v.insert(v.end(), s.v.begin(), s.v.end());
    out.time.push_back(s.t);
  };
  std::int64_t done = 0;
  {
    const nb::gil_scoped_release release;
    Timer since;
    int skip = 0, skipped = 0;  // looking at the clock costs as much as a small step
    done = run(model, parameters, settings, rows, x, warm, steps,
               [&](std::int64_t i, const State& s, const StepReport& report) {
                 out.add(report);
                 if ((i + 1) % every == 0 || i + 1 == steps) keep(s);
                 if (!callback.is_none()) {
                   const nb::gil_scoped_acquire gil;
                   check_signals();
                   const nb::object answer = callback(i, StateHolder(s), report);
                   if (!answer.is_none() && !nb::cast<bool>(answer)) {
                     if ((i + 1) % every != 0 && i + 1 != steps) keep(s);
                     return false;
                   }
                 }
                 if (skipped++ < skip) return true;
                 skipped = 0;
                 const double spent = since.seconds();
                 skip = spent < 0.05 ? std::min(skip + 1, 15) : 0;
                 if (spent > 0.1) {
                   const nb::gil_scoped_acquire gil;
                   check_signals();
                   if (!progress.is_none()) progress(i + 1);
                   since.restart();
                 }
                 return true;
               });
  }
  const std::size_t frames = out.time.size(), n = out.residual.size();
  nb::dict d;
  d["t"] = to_numpy(std::move(out.time), {frames});
  d["q"] = to_numpy(std::move(q), {frames, static_cast<std::size_t>(x.q.size())});
  d["v"] = to_numpy(std::move(v), {frames, static_cast<std::size_t>(x.v.size())});
  d["outcome"] = to_numpy(std::move(out.outcome), {n});
  d["residual"] = to_numpy(std::move(out.residual), {n});
  d["deepest"] = to_numpy(std::move(out.deepest), {n});
  d["joint_error"] = to_numpy(std::move(out.joint_error), {n});
  d["kinetic"] = to_numpy(std::move(out.kinetic), {n});
  d["potential"] = to_numpy(std::move(out.potential), {n});
  d["contacts"] = to_numpy(std::move(out.contacts), {n});
  d["iterations"] = to_numpy(std::move(out.iterations), {n});
  d["steps"] = done;
  d["final_state"] = StateHolder(std::move(x));
  return d;
}

nb::tuple box_state(const PeriodicBox& b) {
  return nb::make_tuple(b.active, std::array<double, 3>{b.lo[0], b.lo[1], b.lo[2]},
                        std::array<double, 3>{b.hi[0], b.hi[1], b.hi[2]});
}

void bind_periodic_box(nb::module_& m) {
  nb::class_<PeriodicBox>(m, "PeriodicBox", "A box whose opposite sides are one, by direction.")
      .def(
          "__init__",
          [](PeriodicBox* self, std::array<bool, 3> active, nb::object lo, nb::object hi) {
            new (self)
                PeriodicBox{active, to_vec3(lo, "PeriodicBox.lo"), to_vec3(hi, "PeriodicBox.hi")};
          },
          nb::arg("active") = std::array<bool, 3>{}, nb::arg("lo") = nb::make_tuple(0.0, 0.0, 0.0),
          nb::arg("hi") = nb::make_tuple(0.0, 0.0, 0.0), "lo, hi: corners [m].")
      .def_prop_ro(
          "active", [](const PeriodicBox& b) { return b.active; }, "By direction.")
      .def_prop_ro(
          "lo", [](const PeriodicBox& b) { return to_numpy(VecX(b.lo)); }, nb::rv_policy::move,
          "[m]")
      .def_prop_ro(
          "hi", [](const PeriodicBox& b) { return to_numpy(VecX(b.hi)); }, nb::rv_policy::move,
          "[m]")
      .def("__getstate__", &box_state)
      .def("__setstate__",
           [](PeriodicBox& b, const nb::tuple& d) {
             new (&b) PeriodicBox{nb::cast<std::array<bool, 3>>(d[0]), to_vec3(d[1], "lo"),
                                  to_vec3(d[2], "hi")};
           })
      .def(
          "__eq__",
          [](const PeriodicBox& a, nb::object b) {
            return nb::isinstance<PeriodicBox>(b) &&
                   box_state(a).equal(box_state(nb::cast<const PeriodicBox&>(b)));
          },
          nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const PeriodicBox& b) {
        return "PeriodicBox" + nb::cast<std::string>(nb::repr(box_state(b)));
      });
}

void bind_enums(nb::module_& m) {
  nb::enum_<FrictionModel>(m, "FrictionModel", "The law of friction.")
      .value("Coulomb", FrictionModel::Coulomb, "exact: a sliding contact stays closed")
      .value("Cone", FrictionModel::Cone, "convex: a sliding contact opens")
      .value("Pyramid", FrictionModel::Pyramid, "linear complementarity");
  nb::enum_<Accuracy>(m, "Accuracy", "How exactly the contacts of a crowd are solved.")
      .value("Exact", Accuracy::Exact, "the rigid law, by the judge")
      .value("Standard", Accuracy::Standard, "a little compliance, to 1e-3 of g h")
      .value("Fast", Accuracy::Fast, "less compliance, a fixed number of sweeps");
  nb::enum_<ConstraintScheme>(m, "ConstraintScheme", "Which contacts become rows.")
      .value("Manifold", ConstraintScheme::Manifold, "face manifolds, positions projected")
      .value("Single", ConstraintScheme::Single, "one row per pair, solved once")
      .value("Relcp", ConstraintScheme::Relcp, "more rows until nothing overlaps")
      .value("Multisphere", ConstraintScheme::Multisphere, "rows of inscribed spheres");
  nb::enum_<Stabilisation>(m, "Stabilisation", "How errors of position are undone.")
      .value("Projection", Stabilisation::Projection)
      .value("Baumgarte", Stabilisation::Baumgarte)
      .value("None_", Stabilisation::None);
  nb::enum_<RestitutionLaw>(m, "RestitutionLaw", "What a located impact makes of restitution.")
      .value("EnergyBounded", RestitutionLaw::EnergyBounded,
             "restitution scaled down where the impact would gain energy")
      .value("Newton", RestitutionLaw::Newton, "restitution as it is");
  nb::enum_<Integrator>(m, "Integrator", "How velocities become positions.")
      .value("Euler", Integrator::Euler)
      .value("Rattle", Integrator::Rattle);
}

}  // namespace

void bind_step(nb::module_& m) {
  bind_enums(m);
  bind_periodic_box(m);
  bind_settings<StepSettings>(m, "StepSettings", "How to step; plain values with defaults.");
  bind_report<StepReport>(m, "StepReport", "What a step did.");
  nb::class_<StepRecord>(m, "StepRecord", "All that the gradient of one step needs.")
      .def(nb::init<>())
      .def("__len__", [](const StepRecord& r) { return r.solves.size(); });
  m.def(
      "step", &python_step, nb::arg("model"), nb::arg("parameters"), nb::arg("settings"),
      nb::arg("state"), nb::arg("warm").none() = nb::none(), nb::arg("u") = nb::none(),
      nb::arg("record").none() = nb::none(),
      nb::sig("def step(model: Model, parameters: Parameters, settings: StepSettings, state: "
              "State, warm: WarmStart | None = None, u: object | None = None, record: StepRecord "
              "| None = None) -> StepReport"),
      "Advances `state` by settings.h, in place. `warm`: last impulses, in and out; `u`: controls "
      "of the actuators; `record`: overwritten with what the gradient needs.");
  m.def(
      "rollout", &python_rollout, nb::arg("model"), nb::arg("parameters"), nb::arg("settings"),
      nb::arg("state"), nb::arg("steps"), nb::arg("u") = nb::none(),
      nb::arg("warm").none() = nb::none(), nb::arg("callback") = nb::none(), nb::arg("every") = 1,
      nb::arg("progress") = nb::none(),
      nb::sig("def rollout(model: Model, parameters: Parameters, settings: StepSettings, state: "
              "State, steps: int, u: object | None = None, warm: WarmStart | None = None, "
              "callback: object | None = None, every: int = 1, progress: object | None = None) -> "
              "dict[str, typing.Any]"));
}

}  // namespace orthant::python
