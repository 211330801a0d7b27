// SPDX-License-Identifier: Apache-2.0
// validate/gradient_memory.cpp: a long rollout of many bodies, differentiated with checkpoints.
//   memory of about √T records instead of T, the same numbers
#include <algorithm>
#include <cmath>

#include "orthant/base/process.hpp"
#include "orthant/gradient/rollout.hpp"
#include "validate/gradients.hpp"
#include "validate/simulate.hpp"

namespace orthant::validation {
namespace {

/// Spheres that roll on a floor into each other.
Model rolling_spheres(int side) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body(floor_body("m"));
  for (int i = 0; i < side * side; ++i) {
    const int row = i / side, column = i % side;
    b.add_body({.position = {0.201 * column, 0.201 * row, 0.1},
                .velocity = {0.3 * std::sin(2.0 * i), 0.3 * std::cos(3.0 * i), 0},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  }
  return b.build();
}

double relative(const VecX& a, const VecX& b) {
  return (a - b).cwiseAbs().maxCoeff() / std::max(1.0, b.cwiseAbs().maxCoeff());
}

}  // namespace

void gradients_long(Checks& out) {
  const Model model = rolling_spheres(10);
  const Parameters parameters = model.default_parameters();
  const VecX ones = VecX::Ones(model.v_size());
  constexpr Index kSteps = 1000;
  const auto gradient = [&](bool store_records) {
    const RolloutTape tape = record_rollout(model, parameters, {}, model.rest_state(), {}, kSteps,
                                            {.store_records = store_records, .keep_states = false});
    StepGradientSettings with;
    with.allow_unconverged = true;
    return rollout_gradient(tape, at_end(tape, ones, ones), with);
  };
  const RolloutGradient kept = gradient(false);  // first: the peak is that of the whole process
  out.push_back({"gradients_long/checkpoints/memory", peak_memory() / 1048576, 2048, "MB"});
  const RolloutGradient stored = gradient(true);
  out.push_back({"gradients_long/checkpoints/difference",
                 std::max({relative(kept.q, stored.q), relative(kept.v, stored.v),
                           relative(kept.parameters, stored.parameters)}),
                 1e-12, "relative"});
  gradient_recursion_long(out);
}

}  // namespace orthant::validation
