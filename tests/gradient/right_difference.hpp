// SPDX-License-Identifier: Apache-2.0
// gradient/right_difference.hpp: worlds (model, settings, steps) => a loss of their end and its
// one-sided differences.
#pragma once

#include <cmath>

#include "orthant/gradient/rollout.hpp"

namespace orthant {

inline VecX weights(Index n, double phase) {
  VecX w(n);
  for (Index i = 0; i < n; ++i) w[i] = 0.5 + std::cos(phase + 1.7 * i);
  return w;
}

template <class World>
RolloutTape record(const World& w, const Parameters& p) {
  return record_rollout(w.model, p, w.settings, w.model.rest_state(), {}, w.steps);
}

/// (4 f(e) − f(2e))/2e of the same loss, from the right.
template <class World>
double right_difference(const World& w, Index place, double e = 1e-6) {
  const Parameters p = w.model.default_parameters();
  const RolloutTape base = record(w, p);
  const Index n = w.model.v_size();
  const auto change = [&](double by) {
    Parameters moved = p;
    moved.values[place] += by;
    const RolloutTape tape = record(w, moved);
    VecX d;
    boxminus(w.model, tape.final_state.q, base.final_state.q, d);
    return weights(n, 1).dot(d) + weights(n, 2).dot(tape.final_state.v - base.final_state.v);
  };
  return (4 * change(e) - change(2 * e)) / (2 * e);
}

}  // namespace orthant
