// SPDX-License-Identifier: Apache-2.0
// 03_stack: ten cubes of 1000 kg on top of each other, each a little aside, stand for 5 s. Drift is
// how far any of them has moved.
//
// Prints: 10 cubes stand, drift below 1e-6 m
#include <algorithm>
#include <cstdio>
#include <vector>

#include "orthant/orthant.hpp"
#include "scenes/scenes.hpp"

int main() {
  using namespace orthant;
  scenes::Scene scene = scenes::stack(10);
  Simulation sim(scene.model, scene.parameters, scene.settings, scene.state);
  const auto& cubes = sim.model().dynamic_bodies();
  std::vector<Vec3> start;
  for (const BodyId cube : cubes) start.push_back(sim.position(cube));
  double drift = 0;
  for (int i = 0; i < 500; ++i) {
    (void)sim.step();
    for (std::size_t c = 0; c < cubes.size(); ++c)
      drift = std::max(drift, (sim.position(cubes[c]) - start[c]).norm());
  }
  std::printf("%zu cubes %s, drift %s 1e-6 m\n", cubes.size(), drift < 0.1 ? "stand" : "fell",
              drift < 1e-6 ? "below" : "above");
}
