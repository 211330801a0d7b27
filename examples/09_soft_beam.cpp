// SPDX-License-Identifier: Apache-2.0
// 09_soft_beam: a soft beam lies across two rigid rollers under its own weight, frictionless. The
// rollers must carry what it weighs, it must come to rest, and nothing may overlap.
//
// Prints: the rollers carry 196.2 of 196.2 N, nothing moves: yes, overlap below 1e-8 m
#include <cmath>
#include <cstdio>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

int main() {
  using namespace orthant;
  ModelBuilder builder;
  builder.add_material({.name = "slippery", .friction = 0});
  for (const double x : {0.2, 0.8})
    builder.add_body({.name = x < 0.5 ? "left" : "right",
                      .motion = Motion::Fixed,
                      .position = Vec3(x, 0.1, -0.03),
                      .orientation = {std::sqrt(0.5), 0, 0, std::sqrt(0.5)},  // along y
                      .shapes = {{.shape = Shape::capsule(0.03, 0.2), .material = "slippery"}}});
  builder.add_flexible({.name = "beam",
                        .mesh = box_mesh(Vec3(1, 0.2, 0.1), 10, 2, 2),
                        .young = 2e5,
                        .poisson = 0.3,
                        .density = 1000,
                        .damping_mass = 3,
                        .damping_stiffness = 0.01,
                        .material = "slippery"});
  const Model model = builder.build();
  const Parameters parameters = model.default_parameters();
  const StepSettings settings{.h = 0.02};
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  double overlap = 0, load = 0;
  for (int i = 0; i < 200; ++i) {
    const StepReport report = step(model, parameters, settings, {}, state, warm, workspace);
    overlap = std::max(overlap, report.deepest);
  }
  // Impulses are those on the beam at a node, on the roller at a face.
  for (const WarmStart::Entry& contact : warm.contacts)
    load += (contact.key.shape_b == 1 ? -1 : 1) * contact.impulse_W[2] / settings.h;
  const double weight = 1000 * 0.02 * 9.81, fastest = state.v.cwiseAbs().maxCoeff();
  std::printf("the rollers carry %.1f of %.1f N, nothing moves: %s, overlap %s 1e-8 m\n", load,
              weight, fastest < 1e-6 ? "yes" : "no", overlap < 1e-8 ? "below" : "above");
}
