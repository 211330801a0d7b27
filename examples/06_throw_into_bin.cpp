// SPDX-License-Identifier: Apache-2.0
// 06_throw_into_bin: throw a ball so that it bounces off a wall and is in the bin one second later.
// Impacts are located within the step and their time is differentiated: off a smooth wall the place
// after one second is then linear in the throw, and Newton meets the bin in one round.
//
// Prints: thrown at (2.8875, 4.2050), in the bin after 1 rounds
#include <cstdio>

#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

int main() {
  using namespace orthant;
  ModelBuilder b;
  b.add_material({.name = "rubber", .friction = 0, .restitution = 0.8});
  b.add_body({.name = "wall",
              .motion = Motion::Fixed,
              .planar = true,
              .position = {2, 0, 0},
              .angle = 1.5707963267948966,  // its outside looks to −x
              .shapes = {{.shape = Shape::half_plane(), .material = "rubber"}}});
  b.add_body({.name = "ball",
              .motion = Motion::Planar,
              .position = {0, 1, 0},
              .velocity = {2.5, 3.5, 0},
              .shapes = {{.shape = Shape::disc(0.05), .material = "rubber"}}});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.impact_events = true;
  const Vec2 bin(1.2, 0.3);

  State start = model.rest_state();
  const Index ball = model.bodies()[1].v_begin, q = model.bodies()[1].q_begin;
  int round = 0;
  for (;; ++round) {
    const RolloutTape tape = record_rollout(model, parameters, settings, start, {}, 100);
    const Vec2 miss = tape.final_state.q.segment<2>(q) - bin;
    std::printf("round %d: thrown at (%.4f, %.4f), misses by %.2e m\n", round, start.v[ball],
                start.v[ball + 1], miss.norm());
    if (miss.norm() < 1e-9 || round == 10) break;
    Mat2 J;  // of the place after one second by the throw
    for (int i = 0; i < 2; ++i)
      J.row(i) =
          rollout_gradient(tape, at_end(tape, VecX::Unit(3, ball + i), {})).v.segment<2>(ball);
    start.v.segment<2>(ball) -= J.inverse() * miss;
  }
  std::printf("thrown at (%.4f, %.4f), in the bin after %d rounds\n", start.v[ball],
              start.v[ball + 1], round);
}
