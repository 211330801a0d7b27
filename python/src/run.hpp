// SPDX-License-Identifier: Apache-2.0
// python/src/run.hpp: many steps of one world, frames copied out as they come.
#pragma once

#include <algorithm>

#include "workspace_pool.hpp"

namespace orthant::python {

/// Rows of a (steps, controls) matrix, or none.
struct Controls {
  const double* values = nullptr;
  Index count = 0;
  void get(std::int64_t i, VecX& u) const {
    if (values != nullptr) u = Eigen::Map<const VecX>(values + i * count, count);
  }
};

/// What a world leaves behind, frame by frame (states) and step by step (reports).
struct Track {
  double* q = nullptr;
  double* v = nullptr;
  void put(std::int64_t frame, const State& x) const {
    std::copy_n(x.q.data(), x.q.size(), q + frame * x.q.size());
    std::copy_n(x.v.data(), x.v.size(), v + frame * x.v.size());
  }
};

/// Steps until after(step, state, report) says no; returns steps done.
template <class AfterStep>
std::int64_t run(const Model& model, const Parameters& parameters, const StepSettings& settings,
                 const Controls& controls, State& x, WarmStart& warm, std::int64_t steps,
                 AfterStep&& after) {
  WorkspaceLease lease;
  VecX u;
  for (std::int64_t i = 0; i < steps; ++i) {
    controls.get(i, u);
    const StepReport report = step(model, parameters, settings, u, x, warm, lease.workspace());
    if (!after(i, x, report)) return i + 1;
  }
  return steps;
}

}  // namespace orthant::python
