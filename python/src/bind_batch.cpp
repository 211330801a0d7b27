// SPDX-License-Identifier: Apache-2.0
// python/src/bind_batch.cpp: rollout_batch(): B worlds in threads.
// Each world has its own workspace and warm start, so the numbers do not depend on the threads; a
// world that fails says so in its place and the others go on.
#include "batch.hpp"

#include <limits>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "run.hpp"

namespace orthant::python {

void check_numbers(const Model& model, const Parameters& parameters) {
  if (parameters.values.size() != model.parameter_table().size())
    throw Error("parameters", "belong to another model: expected " +
                                  std::to_string(model.parameter_table().size()) + " values, got " +
                                  std::to_string(parameters.values.size()));
}

void check_steps(const Model& model, std::int64_t steps) {
  const std::int64_t most = std::numeric_limits<Index>::max() / std::max(model.control_count(), 1);
  if (steps < 0) throw Error("steps", "must be >= 0, got " + std::to_string(steps));
  if (steps > most)
    throw Error("steps",
                "must be <= " + std::to_string(most) + " here, got " + std::to_string(steps));
}

BatchInput::BatchInput(const Model& m, const Parameters& names, nb::handle given_parameters,
                       nb::handle given_q, nb::handle given_v, nb::handle given_u, double time,
                       std::int64_t step_count)
    : model(m), table(names.table), t(time), steps(step_count) {
  check_steps(model, steps);
  q = to_matrix(given_q, "q", kAny, model.q_size());
  worlds = static_cast<std::size_t>(q.rows());
  const auto many = static_cast<Index>(worlds);
  v = to_matrix(given_v, "v", many, model.v_size());
  check_numbers(model, names);
  parameters = to_matrix(given_parameters, "parameters", kAny, model.parameter_table().size());
  if (parameters.rows() != 1 && parameters.rows() != many)
    throw Error("parameters", "expected 1 or " + std::to_string(many) + " rows, got " +
                                  std::to_string(parameters.rows()));
  if (given_u.is_none()) return;
  controls = to_matrix(given_u, "u", kAny, static_cast<Index>(steps) * model.control_count());
  if (controls.rows() != 1 && controls.rows() != many)
    throw Error("u", "expected 1 or " + std::to_string(many) + " worlds, got " +
                         std::to_string(controls.rows()));
}

Parameters BatchInput::parameters_of(std::size_t world) const {
  const auto row = static_cast<Eigen::Index>(parameters.rows() == 1 ? 0 : world);
  return {parameters.row(row).transpose(), table};
}

State BatchInput::state_of(std::size_t world) const {
  const auto row = static_cast<Eigen::Index>(world);
  State x;
  x.q = q.row(row).transpose();
  x.v = v.row(row).transpose();
  x.t = t;
  return x;
}

const double* BatchInput::controls_of(std::size_t world) const {
  if (controls.size() == 0) return nullptr;
  return controls.row(static_cast<Eigen::Index>(controls.rows() == 1 ? 0 : world)).data();
}

Interrupts::Interrupts() : main_(std::this_thread::get_id()) {}

bool Interrupts::stop() {
  if (stopped_.load(std::memory_order_relaxed)) return true;
  if (std::this_thread::get_id() != main_ || since_.seconds() < 0.1) return false;
  const nb::gil_scoped_acquire gil;
  since_.restart();
  if (PyErr_CheckSignals() != 0) {
    error_.emplace();
    stopped_ = true;
  }
  return stopped_;
}

void Interrupts::rethrow() {
  if (error_) throw nb::python_error(std::move(*error_));
}

ThreadGuard::ThreadGuard(int threads) : before_(thread_count()) {
  if (threads >= 0) set_thread_count(threads);
}
ThreadGuard::~ThreadGuard() { set_thread_count(before_); }

namespace {

constexpr double kMostBytes = 1e12;  // more is a slip, not a wish

nb::dict python_rollout_batch(const Model& model, const Parameters& names,
                              const StepSettings& settings, nb::object parameters, nb::object q,
                              nb::object v, nb::object u, double t, std::int64_t steps,
                              std::int64_t every, int threads, nb::object given_warm) {
  if (every < 1) throw Error("every", "must be >= 1, got " + std::to_string(every));
  const BatchInput in(model, names, parameters, q, v, u, t, steps);
  const std::size_t B = in.worlds, nq = static_cast<std::size_t>(model.q_size()),
                    nv = static_cast<std::size_t>(model.v_size()),
                    frames = 1 + static_cast<std::size_t>((steps + every - 1) / every);
  const double bytes =
      8.0 * static_cast<double>(B) * static_cast<double>(frames) * static_cast<double>(nq + nv);
  if (bytes > kMostBytes)
    throw Error("steps", "their states take " + to_text(bytes / 1e9) + " GB; keep fewer (every)");
  std::vector<double> all_q(B * frames * nq), all_v(B * frames * nv), outcome(B, 0), failed(B, 0),
      residual(B, 0), deepest(B, 0);
  std::vector<std::string> errors(B);
  std::vector<WarmStart*> last(B, nullptr);
  if (!given_warm.is_none()) {
    if (nb::len(given_warm) != B)
      throw Error("warm", "expected one per world, " + std::to_string(B) + ", got " +
                              std::to_string(nb::len(given_warm)));
    for (std::size_t w = 0; w < B; ++w) last[w] = nb::cast<WarmStart*>(given_warm[w]);
  }
  Interrupts interrupts;
  const auto one = [&](std::size_t w) {
    const Track track{all_q.data() + w * frames * nq, all_v.data() + w * frames * nv};
    State x = in.state_of(w);
    std::int64_t frame = 0;
    track.put(frame++, x);
    try {
      const Parameters p = in.parameters_of(w);
      if (!p.values.allFinite()) validate(model, p);
      validate(model, x);
      WarmStart fresh;
      WarmStart& warm = last[w] != nullptr ? *last[w] : fresh;
      run(model, p, settings, {in.controls_of(w), model.control_count()}, x, warm, steps,
          [&](std::int64_t i, const State& s, const StepReport& report) {
            outcome[w] = std::max(outcome[w], static_cast<double>(report.outcome));
            failed[w] += report.outcome != Outcome::Converged;
            residual[w] = std::max(residual[w], report.residual);
            deepest[w] = std::max(deepest[w], report.deepest);
            if ((i + 1) % every == 0 || i + 1 == steps) track.put(frame++, s);
            return !interrupts.stop();
          });
    } catch (const std::exception& e) {
      // This world ends here, with its last state repeated; the others go on.
      const nb::gil_scoped_acquire gil;  // what Python raised is released under the GIL
      errors[w] = e.what();
      outcome[w] = static_cast<double>(Outcome::NotFinite);
      while (frame < static_cast<std::int64_t>(frames)) track.put(frame++, x);
    }
  };
  {
    const nb::gil_scoped_release release;
    const ThreadGuard guard(threads);
    parallel_for(B, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t w = begin; w < end; ++w)
        if (!interrupts.stop()) one(w);
    });
  }
  interrupts.rethrow();
  nb::dict d;
  d["q"] = to_numpy(std::move(all_q), {B, frames, nq});
  d["v"] = to_numpy(std::move(all_v), {B, frames, nv});
  d["outcome"] = to_numpy(std::move(outcome), {B});
  d["failed_steps"] = to_numpy(std::move(failed), {B});
  d["residual"] = to_numpy(std::move(residual), {B});
  d["deepest"] = to_numpy(std::move(deepest), {B});
  d["errors"] = nb::cast(errors);
  return d;
}

}  // namespace

void bind_batch(nb::module_& m) {
  m.def("rollout_batch", &python_rollout_batch, nb::arg("model"), nb::arg("names"),
        nb::arg("settings"), nb::arg("parameters"), nb::arg("q"), nb::arg("v"), nb::arg("u").none(),
        nb::arg("t"), nb::arg("steps"), nb::arg("every"), nb::arg("threads"),
        nb::arg("warm").none() = nb::none(),
        nb::sig("def rollout_batch(model: Model, names: Parameters, settings: StepSettings, "
                "parameters: object, q: object, v: object, u: object | None, t: float, steps: int, "
                "every: int, threads: int, warm: list[WarmStart] | None = None) -> dict[str, "
                "typing.Any]"));
}

}  // namespace orthant::python
