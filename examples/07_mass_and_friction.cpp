// SPDX-License-Identifier: Apache-2.0
// 07_mass_and_friction: watch a block that is pushed while it slides; infer its mass and friction
// from guesses five times off. Two unknowns: two directions of forward mode per round, least
// squares by Levenberg and Marquardt in their logarithms.
//
// Prints: mass 2.0000 kg, friction 0.3000
#include <cmath>
#include <cstdio>

#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

int main() {
  using namespace orthant;
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = 0.3});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "wood"}}});
  b.add_body({.name = "block",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .velocity = {3, 0, 0},
              .shapes = {{.shape = Shape::rectangle(0.2, 0.1), .material = "wood"}},
              .mass = 2});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "block", .force = {1, 0, 0}});
  const Model model = b.build();
  const Index steps = 50, block = model.bodies()[1].q_begin;
  MatX push(1, steps);
  for (Index i = 0; i < steps; ++i) push(0, i) = 6 + 4 * std::sin(0.3 * i);
  const auto run = [&](const Parameters& with) {
    return record_rollout(model, with, {}, model.rest_state(), push, steps);
  };
  Parameters guess = model.default_parameters();
  const VecX seen = run(guess).q.row(block).transpose();

  const Index unknown[2] = {guess.table->find("body/block.mass"),
                            guess.table->find("material/wood.friction")};
  guess.values[unknown[0]] *= 5;
  guess.values[unknown[1]] /= 5;
  double damping = 1e-3;
  RolloutTape tape = run(guess);
  VecX error = tape.q.row(block).transpose() - seen;
  for (int round = 0; round < 30 && error.norm() > 1e-9; ++round) {
    std::printf("round %d: mass %.4f, friction %.4f, error %.2e m\n", round,
                guess.values[unknown[0]], guess.values[unknown[1]], error.norm());
    MatX J(steps + 1, 2);
    for (int k = 0; k < 2; ++k) {
      StepTangent change;
      change.parameters = guess.values[unknown[k]] *
                          VecX::Unit(static_cast<Index>(guess.values.size()), unknown[k]);
      J.col(k) = rollout_tangent(tape, change).q.row(model.bodies()[1].v_begin).transpose();
    }
    Mat2 normal = J.transpose() * J;
    normal.diagonal() *= 1 + damping;
    const Vec2 delta = -normal.inverse() * (J.transpose() * error);
    Parameters next = guess;
    for (int k = 0; k < 2; ++k) next.values[unknown[k]] *= std::exp(delta[k]);
    RolloutTape trial = run(next);
    const VecX left = trial.q.row(block).transpose() - seen;
    const bool better = left.norm() < error.norm();
    damping = better ? damping / 10 : damping * 10;
    if (!better) continue;
    guess = next;
    tape = std::move(trial);
    error = left;
  }
  std::printf("mass %.4f kg, friction %.4f\n", guess.values[unknown[0]], guess.values[unknown[1]]);
}
