// SPDX-License-Identifier: Apache-2.0
// 03_stack: ten cubes of 1000 kg on top of each other, each a little aside, stand for 5 s. Drift is
// how far any of them has moved.
//
// Prints: 10 cubes stand, drift below 1e-6 m
#include <algorithm>
#include <cstdio>

#include "scenes/scenes.hpp"

int main() {
  using namespace orthant;
  scenes::Scene scene = scenes::stack(10);
  const VecX start = scene.state.q;
  WarmStart warm;
  StepWorkspace workspace;
  double drift = 0;
  for (int i = 0; i < 500; ++i) {
    (void)step(scene.model, scene.parameters, scene.settings, {}, scene.state, warm, workspace);
    for (const BodyId id : scene.model.dynamic_bodies()) {
      const Index x = scene.model.body(id).q_begin;
      drift = std::max(drift, (scene.state.q.segment<3>(x) - start.segment<3>(x)).norm());
    }
  }
  std::printf("%d cubes %s, drift %s 1e-6 m\n", scene.model.dynamic_count(),
              drift < 0.1 ? "stand" : "fell", drift < 1e-6 ? "below" : "above");
}
