// SPDX-License-Identifier: Apache-2.0
// The implicit loss: zero on the laws, positive off them, its envelope derivative against
// differences of re-solved losses.
#include "orthant/learn/implicit_loss.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "learn/support.hpp"
#include "orthant/base/error.hpp"

namespace orthant {
namespace {

ImplicitWeights sharp() {
  ImplicitWeights weights;
  weights.max_iterations = 200000;
  weights.tolerance = 1e-13;
  return weights;
}

/// A tumbling cube that lands and slides.
MeasuredMotion tumbling(const Model& model, Index steps = 60) {
  State state = model.rest_state();
  state.v << 1.5, 0.3, -1, 3, 2, 1;
  return testing::simulate(model, model.default_parameters(), {}, state, steps, "0");
}

TEST(ImplicitLoss, IsZeroWhereTheStepIsSolved) {
  const Model model = testing::cube(0.3, 0.2);
  const MeasuredMotion t = tumbling(model);
  const Parameters p = model.default_parameters();
  ImplicitLoss loss(model, {}, {}, sharp());
  Index pushing = 0;
  double wrong = 0;
  Parameters other = p;
  other.set("material/wood.friction", 0.6);
  for (Index i = 0; i + 1 < t.samples(); ++i) {
    const TransitionLoss right = loss(p, t.q.col(i), t.v.col(i), t.v.col(i + 1), 0, t.dt, nullptr);
    EXPECT_NEAR(right.value, 0, 1e-7) << "step " << i;
    pushing += right.pushing;
    wrong += loss(other, t.q.col(i), t.v.col(i), t.v.col(i + 1), 0, t.dt, nullptr).value;
  }
  EXPECT_GT(pushing, 20);
  EXPECT_GT(wrong, 1e-3);
}

TEST(ImplicitLoss, EnvelopeDerivativeAgainstDifferences) {
  const Model model = testing::cube(0.3, 0.2);
  const MeasuredMotion t = tumbling(model);
  Parameters p = model.default_parameters();
  p.set("material/wood.friction", 0.4);  // off the truth, so that all terms are alive
  p.set("material/wood.restitution", 0.35);
  const std::vector<std::string> names = {"material/wood.friction", "material/wood.restitution",
                                          "body/cube.mass", "force/gravity.z"};
  std::vector<Index> places;
  for (const std::string& name : names) places.push_back(p.table->find(name));
  ImplicitLoss loss(model, {}, places, sharp());
  std::vector<double> seen(names.size(), 0.0);
  for (Index i = 0; i + 1 < t.samples(); i += 2) {
    double g[4];
    const VecX q = t.q.col(i), v = t.v.col(i), next = t.v.col(i + 1);
    (void)loss(p, q, v, next, 0, t.dt, g);
    for (std::size_t k = 0; k < names.size(); ++k) {
      const double step = 1e-5 * std::abs(p.values[places[k]]);
      double side[2];
      for (int s = 0; s < 2; ++s) {
        Parameters changed = p;
        changed.values[places[k]] += s == 0 ? -step : step;
        side[s] = loss(changed, q, v, next, 0, t.dt, nullptr).value;
      }
      const double difference = (side[1] - side[0]) / (2 * step);
      EXPECT_NEAR(g[k], difference, 1e-4 * std::abs(difference) + 1e-6) << names[k] << " " << i;
      seen[k] = std::max(seen[k], std::abs(difference));
    }
  }
  for (std::size_t k = 0; k < names.size(); ++k) EXPECT_GT(seen[k], 1e-4) << names[k];
}

TEST(ImplicitLoss, PartsMeanWhatTheySay) {
  const Model model = testing::sliding_block(0.5);
  const Parameters p = model.default_parameters();
  ImplicitLoss loss(model, {}, {}, sharp());
  const State rest = model.rest_state();
  const double h = 0.01;
  // At rest: explained by the floor.
  EXPECT_NEAR(loss(p, rest.q, rest.v, rest.v, 0, h, nullptr).value, 0, 1e-9);
  // Speeds up without cause: ½ m Δv², friction could only have slowed it down.
  VecX v = rest.v, next = rest.v;
  v[0] = 1;
  next[0] = 1.5;
  const TransitionLoss faster = loss(p, rest.q, v, next, 0, h, nullptr);
  EXPECT_GT(faster.value, 0.5 * 2 * 0.5 * 0.5);
  // Sinks into the floor at 1 m/s: prediction is right only if the floor pulled; penetration
  // speaks.
  next = rest.v;
  next[1] = -1;
  EXPECT_GT(loss(p, rest.q, rest.v, next, 0, h, nullptr).penetration, 0.1);
}

TEST(ImplicitLoss, RefusesThePyramid) {
  StepSettings settings;
  settings.friction = FrictionModel::Pyramid;
  EXPECT_THROW(ImplicitLoss(testing::sliding_block(0.5), settings, {}), Error);
}

}  // namespace
}  // namespace orthant
