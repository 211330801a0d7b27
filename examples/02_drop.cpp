// SPDX-License-Identifier: Apache-2.0
// 02_drop: build a world, drop a cube from 1 m, look at it: it lands flat and rests at half its
// height, and the floor carries its 1000 kg.
//
// Prints: after 1.00 s: height 0.500000 m, speed 0.000000 m/s, the floor carries 9810.0 N
#include <cstdio>

#include "orthant/orthant.hpp"

int main() {
  orthant::World world;
  world.add_floor();
  const orthant::BodyId cube = world.add_box("cube", {0.5, 0.5, 0.5}, {.position = {0, 0, 1.5}});

  orthant::Simulation sim(world.build(), {.h = 0.01});
  const orthant::RolloutReport report = sim.run(100);
  if (report.failed_steps > 0) return 1;

  double load = 0;
  for (const orthant::ContactForce& contact : sim.contacts()) load -= contact.force.z();
  std::printf("after %.2f s: height %.6f m, speed %.6f m/s, the floor carries %.1f N\n", sim.time(),
              sim.position(cube).z(), sim.velocity(cube).norm(), load);
}
