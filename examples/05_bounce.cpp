// SPDX-License-Identifier: Apache-2.0
// 05_bounce: a ball dropped from 1 m with restitution 0.8; impacts are located within the step, so
// every bounce is 0.8^2 = 0.64 as high as the last one, at any step length.
//
// Prints: heights 0.6400 0.4096 0.2621 0.1678
#include <cstdio>
#include <vector>

#include "orthant/orthant.hpp"
#include "scenes/scenes.hpp"

int main() {
  using namespace orthant;
  scenes::Scene scene = scenes::bouncing_ball(1, 0.8);
  Simulation sim(scene.model, scene.parameters, scene.settings, scene.state);
  const BodyId ball = sim.body("ball");
  // Between impacts the ball flies freely: its highest point follows from any height and speed.
  std::vector<double> heights;
  double speed = 0;
  while (heights.size() < 4 && sim.time() < 5) {
    (void)sim.step();
    const double now = sim.velocity(ball).z();
    if (speed < 0 && now > 0)
      heights.push_back(sim.position(ball).z() - 0.1 + now * now / (2 * 9.81));
    speed = now;
  }
  std::printf("heights");
  for (const double height : heights) std::printf(" %.4f", height);
  std::printf("\n");
}
