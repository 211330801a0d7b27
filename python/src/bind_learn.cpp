// SPDX-License-Identifier: Apache-2.0
// python/src/bind_learn.cpp: fit(), score() and predict() of measured motions, without the GIL.
// A motion is (samples, q_size) in Python and q_size x samples by columns in C++: the same memory.
#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/learn/fit.hpp"
#include "settings.hpp"

namespace orthant::python {

void fields(Tag<ImplicitWeights>, auto&& field) {
  using W = ImplicitWeights;
  field("complementarity", &W::complementarity, "Of impulse times opening speed [-].");
  field("dissipation", &W::dissipation, "Of friction that does not oppose sliding [-].");
  field("penetration", &W::penetration, "Of closing speed that is left [-].");
  field("regularisation", &W::regularisation, "Of the inner problem's diagonal [-].");
  field("max_iterations", &W::max_iterations, "Of the inner problem.");
  field("tolerance", &W::tolerance, "Of the inner problem [-].");
}

void fields(Tag<FitOptions>, auto&& field) {
  using O = FitOptions;
  field("horizon", &O::horizon, "Samples simulated from one measured start; 0: the whole motion.");
  field("substeps", &O::substeps, "Steps a sample: h = dt / substeps.");
  field("huber", &O::huber, "Error where the cost turns linear [m; implicit sqrt(J)]; 0: chosen.");
  field("starts", &O::starts, "Points of the box tried first, besides the given start.");
  field("motions_first", &O::motions_first, "Motions that the starts are judged by.");
  field("polish", &O::polish, "Simulate: pattern search at the end, for rough costs.");
  field("max_iterations", &O::max_iterations, "Of the descent.");
  field("sensitivity_limit", &O::sensitivity_limit,
        "Samples that the box moves by more body sizes are left out of the curvature.");
  field("implicit", &O::implicit, "Weights of the implicit loss.");
}

void fields(Tag<Estimate>, auto&& field) {
  using E = Estimate;
  field("name", &E::name, "As in Parameters.");
  field("value", &E::value, "In the parameter's unit.");
  field("deviation", &E::deviation, "Standard deviation; infinite: cannot be told.");
  field("lower95", &E::lower95, "95 % interval, cut to the bounds.");
  field("upper95", &E::upper95, "95 % interval, cut to the bounds.");
  field("lower", &E::lower, "Bound.");
  field("upper", &E::upper, "Bound.");
  field("start", &E::start, "Where the search began.");
  field("identified", &E::identified, "False: the data cannot tell it.");
  field("at_bound", &E::at_bound, "The best value lies on a bound.");
}

void fields(Tag<FitResult>, auto&& field) {
  using R = FitResult;
  field("estimates", &R::estimates, "In the order asked for.");
  field("parameters", &R::parameters, "All of them, the estimates in place.");
  field("notes", &R::notes, "What the data cannot tell, and why.");
  field("method", &R::method, "Through the simulator or implicit.");
  field("cost", &R::cost, "At the estimates.");
  field("start_cost", &R::start_cost, "At the start.");
  field("huber", &R::huber, "Error where the cost turned linear [m; implicit sqrt(J)].");
  field("evaluations", &R::evaluations, "Of the cost.");
  field("iterations", &R::iterations, "Of the descents.");
  field("stop", &R::stop, "Why the last descent ended.");
  field("motions", &R::motions, "Fitted.");
  field("windows", &R::windows, "Simulated, or transitions judged.");
  field("samples", &R::samples, "Compared.");
  field("touching", &R::touching, "Contacts with an impulse, at the estimates.");
  field("sticking", &R::sticking, "Of these.");
  field("sliding", &R::sliding, "Of these.");
}

void fields(Tag<PredictionScore>, auto&& field) {
  using S = PredictionScore;
  field("position", &S::position, "Mean error of each motion [m].");
  field("rotation", &S::rotation, "Mean error of each motion [rad].");
  field("final_position", &S::final_position, "Error at the end of each motion [m].");
  field("median_position", &S::median_position, "Over motions [m].");
  field("median_rotation", &S::median_rotation, "Over motions [rad].");
  field("median_final", &S::median_final, "Over motions [m].");
  field("mean_position", &S::mean_position, "Over motions [m].");
  field("mean_rotation", &S::mean_rotation, "Over motions [rad].");
}

namespace {

Array matrix_view(MatX& x, nb::handle owner) {
  const std::size_t shape[2] = {static_cast<std::size_t>(x.cols()),
                                static_cast<std::size_t>(x.rows())};
  return Array(x.data(), 2, shape, owner);
}

FitResult python_fit(const Model& model, const Parameters& parameters, const StepSettings& settings,
                     const TrajectoryData& data, FitOptions options,
                     const std::vector<std::string>& names, nb::object bounds, FitMethod method,
                     int threads, nb::object progress) {
  check_numbers(model, parameters);
  const RowMatX box = to_matrix(bounds, "bounds", static_cast<Index>(names.size()), 3);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto row = static_cast<Eigen::Index>(i);
    options.parameters.push_back({names[i], box(row, 0), box(row, 1), box(row, 2)});
  }
  options.method = method;
  options.progress = [&](std::string_view stage, int evaluations, const VecX& best, double cost) {
    const nb::gil_scoped_acquire gil;
    check_signals();
    if (progress.is_none()) return true;
    const nb::object answer = progress(std::string(stage), evaluations, to_numpy(VecX(best)), cost);
    return answer.is_none() || nb::cast<bool>(answer);
  };
  const nb::gil_scoped_release release;
  const ThreadGuard guard(threads);
  return fit(model, parameters, settings, data, options);
}

void bind_motions(nb::module_& m) {
  nb::class_<MeasuredMotion>(m, "MeasuredMotion", "One motion, evenly sampled.")
      .def(
          "__init__",
          [](MeasuredMotion* self, nb::object q, nb::object v, double dt, const std::string& name) {
            const RowMatX positions = to_matrix(q, "q"),
                          speeds = to_matrix(v, "v", static_cast<Index>(positions.rows()));
            new (self) MeasuredMotion{name, dt, positions.transpose(), speeds.transpose()};
          },
          nb::arg("q"), nb::arg("v"), nb::arg("dt"), nb::arg("name") = "",
          nb::sig("def __init__(self, q: object, v: object, dt: float, name: str = '') -> None"),
          "q: (samples, q_size), v: (samples, v_size) in world axes, dt [s].")
      .def_ro("name", &MeasuredMotion::name, "As in the file.")
      .def_ro("dt", &MeasuredMotion::dt, "[s]")
      .def_prop_ro(
          "q",
          [](nb::handle_t<MeasuredMotion> self) {
            return matrix_view(nb::cast<MeasuredMotion&>(self).q, self);
          },
          "(samples, q_size), a view [m, rad, unit quaternions].")
      .def_prop_ro(
          "v",
          [](nb::handle_t<MeasuredMotion> self) {
            return matrix_view(nb::cast<MeasuredMotion&>(self).v, self);
          },
          "(samples, v_size), a view [m/s, rad/s].")
      .def("__len__", &MeasuredMotion::samples)
      .def("__repr__", [](const MeasuredMotion& t) {
        return "MeasuredMotion('" + t.name + "', " + std::to_string(t.samples()) + " samples)";
      });
  nb::class_<TrajectoryData>(m, "TrajectoryData", "Measured motions of one model.")
      .def(
          "__init__",
          [](TrajectoryData* self, std::vector<MeasuredMotion> motions, bool backward,
             const std::string& source) {
            new (self) TrajectoryData{source, std::move(motions), backward};
          },
          nb::arg("motions"), nb::arg("backward_velocity") = false, nb::arg("source") = "motions",
          "backward_velocity: v[k] is the mean from sample k - 1 to k, not that at k.")
      .def_ro("source", &TrajectoryData::source, "The file.")
      .def_ro("backward_velocity", &TrajectoryData::backward_velocity,
              "v[k] is the mean from sample k - 1 to k.")
      .def("__len__", [](const TrajectoryData& d) { return d.trajectories.size(); })
      .def(
          "__getitem__",
          [](const TrajectoryData& d, nb::slice range) {
            const auto [start, stop, step, count] = range.compute(d.trajectories.size());
            TrajectoryData out{d.source, {}, d.backward_velocity};
            for (std::size_t i = 0; i < count; ++i)
              out.trajectories.push_back(d.trajectories[static_cast<std::size_t>(
                  start + static_cast<Py_ssize_t>(i) * step)]);
            return out;
          },
          "Some of the motions, copied.")
      .def(
          "__getitem__",
          [](const TrajectoryData& d, Py_ssize_t i) {
            const auto n = static_cast<Py_ssize_t>(d.trajectories.size());
            if (i < -n || i >= n) throw nb::index_error("no such motion");
            return d.trajectories[static_cast<std::size_t>(i < 0 ? i + n : i)];
          },
          "One motion, copied.")
      .def("__repr__", [](const TrajectoryData& d) {
        return "TrajectoryData('" + d.source + "', " + std::to_string(d.trajectories.size()) +
               " motions)";
      });
  m.def(
      "read_trajectories",
      [](const std::string& path, const Model& model, double dt, AngularAxes angular,
         bool backward) {
        const nb::gil_scoped_release release;
        return read_trajectories(path, model,
                                 {.dt = dt, .angular = angular, .backward_velocity = backward});
      },
      nb::arg("path"), nb::arg("model"), nb::arg("dt") = 0.0,
      nb::arg("angular") = AngularAxes::World, nb::arg("backward_velocity") = false);
}

void bind_results(nb::module_& m) {
  bind_report<Estimate>(m, "Estimate", "A parameter found.");
  bind_report<FitResult>(m, "FitResult", "What measured motions say about parameters.")
      .def_prop_ro("identified", &FitResult::identified, "The data tell all of them.")
      .def_prop_ro(
          "unidentified",
          [](const FitResult& r) {
            std::vector<std::string> names;
            for (const Estimate& e : r.estimates)
              if (!e.identified) names.push_back(e.name);
            return names;
          },
          "Names of parameters that the data cannot tell; `notes` says why.")
      .def(
          "__getitem__",
          [](const FitResult& r, const std::string& name) {
            for (const Estimate& e : r.estimates)
              if (e.name == name) return e;
            throw UnknownName("'" + name + "' was not fitted");
          },
          nb::arg("name"), "The estimate of one parameter.")
      .def("__str__", [](const FitResult& r) {
        std::string out;
        for (const Estimate& e : r.estimates)
          out += e.name + " = " + to_text(e.value) +
                 (e.identified ? " in " + to_text(e.lower95) + " ... " + to_text(e.upper95)
                               : std::string(", not identified")) +
                 "\n";
        for (const std::string& note : r.notes) out += "note: " + note + "\n";
        return out + std::to_string(r.motions) + " motions, " + std::to_string(r.samples) +
               " samples, stopped at " + std::string(name_of(r.stop));
      });
  bind_report<PredictionScore>(m, "PredictionScore",
                               "Errors of motions predicted from their first sample.");
}

}  // namespace

void bind_learn(nb::module_& m) {
  nb::enum_<FitMethod>(m, "FitMethod", "How motions become a cost.")
      .value("Simulate", FitMethod::Simulate, "through the simulator")
      .value("Implicit", FitMethod::Implicit, "how far transitions are from the laws");
  nb::enum_<Predictor>(m, "Predictor", "What predicts a motion.")
      .value("Simulation", Predictor::Simulation)
      .value("Ballistic", Predictor::Ballistic, "parabola and constant spin: nothing ever touches");
  nb::enum_<OptimiserStop>(m, "OptimiserStop", "Why a search ended.")
      .value("SmallStep", OptimiserStop::SmallStep)
      .value("SmallGradient", OptimiserStop::SmallGradient)
      .value("NoDescent", OptimiserStop::NoDescent, "no smaller cost along any direction tried")
      .value("IterationLimit", OptimiserStop::IterationLimit)
      .value("Interrupted", OptimiserStop::Interrupted, "progress() said so")
      .value("NotFinite", OptimiserStop::NotFinite);
  nb::enum_<AngularAxes>(m, "AngularAxes", "Axes of measured angular velocities.")
      .value("World", AngularAxes::World)
      .value("Body", AngularAxes::Body);
  bind_settings<ImplicitWeights>(m, "ImplicitWeights", "Of the implicit loss.");
  bind_settings<FitOptions>(m, "FitOptions", "How to fit; plain values with defaults.");
  bind_motions(m);
  bind_results(m);
  m.def("fit", &python_fit, nb::arg("model"), nb::arg("parameters"), nb::arg("settings"),
        nb::arg("data"), nb::arg("options"), nb::arg("names"), nb::arg("bounds"), nb::arg("method"),
        nb::arg("threads"), nb::arg("progress").none(),
        nb::sig("def fit(model: Model, parameters: Parameters, settings: StepSettings, data: "
                "TrajectoryData, options: FitOptions, names: typing.Sequence[str], bounds: object, "
                "method: FitMethod, threads: int, progress: object | None) -> FitResult"));
  m.def(
      "score",
      [](const Model& model, const Parameters& parameters, const StepSettings& settings,
         const TrajectoryData& data, int substeps, Predictor predictor) {
        check_numbers(model, parameters);
        const nb::gil_scoped_release release;
        return score(model, parameters, settings, data, substeps, predictor);
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("settings"), nb::arg("data"),
      nb::arg("substeps") = 1, nb::arg("predictor") = Predictor::Simulation,
      nb::sig("def score(model: Model, parameters: Parameters, settings: StepSettings, data: "
              "TrajectoryData, substeps: int = 1, predictor: Predictor = ...) -> PredictionScore"),
      "Errors of whole motions predicted from their first sample.");
  m.def(
      "predict",
      [](const Model& model, const Parameters& parameters, const StepSettings& settings,
         const TrajectoryData& data, std::size_t motion, int substeps, Predictor predictor) {
        check_numbers(model, parameters);
        validate(model, data);
        if (motion >= data.trajectories.size())
          throw Error("motion",
                      std::to_string(motion) + " of " + std::to_string(data.trajectories.size()));
        MatX q;
        {
          const nb::gil_scoped_release release;
          q = predict(model, parameters, settings, data, motion, substeps, predictor);
        }
        return to_numpy(RowMatX(q.transpose()));
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("settings"), nb::arg("data"),
      nb::arg("motion"), nb::arg("substeps") = 1, nb::arg("predictor") = Predictor::Simulation,
      nb::sig("def predict(model: Model, parameters: Parameters, settings: StepSettings, data: "
              "TrajectoryData, motion: int, substeps: int = 1, predictor: Predictor = ...) "
              "-> NDArray[numpy.float64]"),
      "The predicted motion, (samples, q_size), sampled as the measured one.");
}

}  // namespace orthant::python
