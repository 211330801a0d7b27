// SPDX-License-Identifier: Apache-2.0
// 08_stop_on_target: twenty pushes that make a block slide, let go, and stop 1 m away. It sticks
// before the push is strong enough and after it has stopped; the gradient by all pushes is one
// reverse walk. The first guess only just moves it.
//
// Prints: stops at 1.0000 m, speed 0.0000
#include <cmath>
#include <cstdio>

#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

int main() {
  using namespace orthant;
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = 0.4});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "wood"}}});
  b.add_body({.name = "block",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .shapes = {{.shape = Shape::rectangle(0.2, 0.1), .material = "wood"}},
              .mass = 2});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "block", .force = {1, 0, 0}});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  const Index steps = 120, pushes = 20;
  MatX push = MatX::Zero(1, steps);
  for (Index i = 0; i < pushes; ++i) push(0, i) = i < 3 ? 4 : 12;  // friction holds 7.85 N
  const double target = 1;
  const Index block = model.bodies()[1].q_begin;
  State end;
  for (int round = 0; round < 40; ++round) {
    const RolloutTape tape = record_rollout(model, parameters, {}, model.rest_state(), push, steps);
    end = tape.final_state;
    const double miss = end.q[block] - target;
    std::printf("round %d: stops at %.6f m\n", round, end.q[block]);
    if (std::abs(miss) < 1e-7) break;
    const RolloutGradient g = rollout_gradient(tape, at_end(tape, VecX::Unit(3, 0), {}));
    // The smallest change of the pushes that would meet the target if all stayed linear, halved
    // while the block changes from sticking to sliding and back.
    const VecX by = g.u.row(0).head(pushes).transpose();
    const double step = miss / by.squaredNorm();
    push.row(0).head(pushes) -= (std::abs(miss) > 0.5 ? 0.5 : 1.0) * step * by.transpose();
  }
  std::printf("stops at %.4f m, speed %.4f\n", end.q[block], std::abs(end.v[0]));
}
