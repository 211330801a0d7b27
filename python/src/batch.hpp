// SPDX-License-Identifier: Apache-2.0
// python/src/batch.hpp: B worlds of one model: who gets which state, parameters and controls.
// A leading batch dimension everywhere; one row of parameters or controls serves all worlds.
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "common.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/model/model.hpp"

namespace orthant::python {

struct BatchInput {
  /// `u`: (B or 1, steps * control_count) or none. Throws Error on shapes.
  BatchInput(const Model& model, const Parameters& names, nb::handle parameters, nb::handle q,
             nb::handle v, nb::handle u, double t, std::int64_t steps);

  const Model& model;
  std::shared_ptr<const ParameterTable> table;
  RowMatX q, v, parameters, controls;
  double t;
  std::int64_t steps;
  std::size_t worlds = 0;

  Parameters parameters_of(std::size_t world) const;
  State state_of(std::size_t world) const;
  /// Step after step, null: none.
  const double* controls_of(std::size_t world) const;
};

/// ctrl-C during a batch: the calling thread looks for it, all threads stop.
class Interrupts {
 public:
  Interrupts();
  bool stop();
  void rethrow();  ///< with the GIL

 private:
  std::thread::id main_;
  Timer since_;
  std::atomic<bool> stopped_{false};
  std::optional<nb::python_error> error_;
};

/// The number of threads for one call; negative: as it is.
class ThreadGuard {
 public:
  explicit ThreadGuard(int threads);
  ~ThreadGuard();
  ThreadGuard(const ThreadGuard&) = delete;
  ThreadGuard& operator=(const ThreadGuard&) = delete;

 private:
  int before_;
};

/// Throws unless 0 <= steps and all counts of steps and controls fit into an Index.
void check_steps(const Model& model, std::int64_t steps);

/// Throws unless the parameters are those of this model.
void check_numbers(const Model& model, const Parameters& parameters);

}  // namespace orthant::python
