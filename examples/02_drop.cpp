// SPDX-License-Identifier: Apache-2.0
// 02_drop: build a world, drop a cube from 1 m, look at it: it lands flat and rests at half its
// height.
//
// Prints: after 1.00 s: height 0.500000 m, speed 0.000000 m/s, overlap below 1e-9 m: yes
#include <cstdio>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

int main() {
  using namespace orthant;
  ModelBuilder builder;
  builder.add_material({.name = "wood", .friction = 0.5});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .shapes = {{.shape = Shape::half_space(), .material = "wood"}}});
  builder.add_body({.name = "cube",
                    .position = Vec3(0, 0, 1.5),
                    .shapes = {{.shape = Shape::box(0.5, 0.5, 0.5), .material = "wood"}}});
  const Model model = builder.build();  // checked once, const ever after
  const Parameters parameters = model.default_parameters();

  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  StepReport report;
  for (int i = 0; i < 100; ++i)
    report = step(model, parameters, StepSettings{.h = 0.01}, {}, x, warm, workspace);

  const Body& cube = model.body(model.find_body("cube"));
  std::printf("after %.2f s: height %.6f m, speed %.6f m/s, overlap below 1e-9 m: %s\n", x.t,
              x.q[cube.q_begin + 2], x.v.segment<3>(cube.v_begin).norm(),
              report.deepest < 1e-9 ? "yes" : "no");
}
