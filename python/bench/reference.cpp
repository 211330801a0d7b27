// SPDX-License-Identifier: Apache-2.0
// python/bench/reference.cpp: the worlds of overhead.py in plain C++ => microseconds of processor
// time per step, best of five.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace {

using namespace orthant;

Model ball() {
  ModelBuilder b;
  b.add_body({.name = "ball", .shapes = {{.shape = Shape::sphere(0.1)}}});
  return b.build();
}

Model cube() {
  ModelBuilder b;
  b.add_body(
      {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  b.add_body({.name = "cube",
              .position = Vec3(0, 0, 0.5),
              .velocity = Vec3(1, 0, 0),
              .shapes = {{.shape = Shape::box(0.5, 0.5, 0.5)}}});
  return b.build();
}

template <class Work>
double best_of(int repeats, Work&& work) {
  double best = 1e300;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t begin = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

void time_world(const char* name, const Model& model, int steps) {
  const Parameters p = model.default_parameters();
  const StepSettings settings{.h = 1e-3};
  const double stepping = best_of(5, [&] {
    State x = model.rest_state();
    (void)rollout(model, p, settings, x, steps);
  });
  std::printf("%s_step %.4f\n", name, stepping / steps * 1e6);
  const int few = steps / 10;
  const double gradient = best_of(5, [&] {
    const RolloutTape tape = record_rollout(model, p, settings, model.rest_state(), {}, few);
    (void)rollout_gradient(tape,
                           at_end(tape, VecX::Ones(model.v_size()), VecX::Ones(model.v_size())));
  });
  std::printf("%s_gradient %.4f\n", name, gradient / few * 1e6);
}

}  // namespace

int main() {
  time_world("ball", ball(), 20000);
  time_world("cube", cube(), 2000);
}
