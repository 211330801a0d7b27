// SPDX-License-Identifier: Apache-2.0
// 04_pendulum: a rod of 1 m on a pin swings from 10 degrees. Its period is that of small angles,
// 2 pi sqrt(I/(m g l/2)), times 1 + a^2/16 + 11 a^4/3072.
//
// Prints: period 1.641 s, closed form 1.641 s
#include <cmath>
#include <cstdio>
#include <numbers>

#include "orthant/orthant.hpp"
#include "scenes/scenes.hpp"

int main() {
  using namespace orthant;
  scenes::Scene scene = scenes::pendulum(10);
  scene.settings.h = 0.005;
  Simulation sim(scene.model, scene.parameters, scene.settings, scene.state);
  const BodyId rod = sim.body("rod");
  const auto angle_of = [&] { return 2 * std::atan2(sim.pose(rod).p.z, sim.pose(rod).p.w); };
  // Two passages through the vertical in the same direction, each by linear interpolation.
  double first = -1, second = -1;
  while (second < 0 && sim.time() < 10) {
    const double angle = angle_of(), t = sim.time();
    (void)sim.step();
    if (angle > 0 && angle_of() <= 0) {
      const double at = t + sim.settings().h * angle / (angle - angle_of());
      (first < 0 ? first : second) = at;
    }
  }
  const double a = 10 * std::numbers::pi / 180;
  const double mass = sim.parameters().get("body/rod.mass");
  const double inertia = sim.parameters().get("body/rod.inertia") + mass * 0.25;  // about the pin
  const double closed = 2 * std::numbers::pi * std::sqrt(inertia / (mass * 9.81 * 0.5)) *
                        (1 + a * a / 16 + 11 * a * a * a * a / 3072);
  std::printf("period %.3f s, closed form %.3f s\n", second - first, closed);
}
