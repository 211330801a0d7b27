// SPDX-License-Identifier: Apache-2.0
// Parameters found again from motions that were simulated with them; and what data cannot tell.
#include "orthant/learn/fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "learn/support.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "scenes/toss_cube.hpp"
#include "support/sample_files.hpp"

namespace orthant {
namespace {

using testing::sliding_block;
using testing::thrown;

FitOptions options_for(std::initializer_list<const char*> names) {
  FitOptions options;
  for (const char* name : names) {
    FitParameter parameter;
    parameter.name = name;
    options.parameters.push_back(parameter);
  }
  return options;
}

template <class Call>
std::string message_of(Call&& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

TEST(Optimise, CurvedValleyWithAndWithoutBounds) {
  // Rosenbrock as residuals (1 − x, 10(y − x²)): minimum (1, 1); with x <= 0.5: (0.5, 0.25).
  const CostFunction f = [](const VecX& x, bool) {
    const Vec2 r(1 - x[0], 10 * (x[1] - x[0] * x[0]));
    Mat2 J;
    J << -1, 0, -20 * x[0], 10;
    CostValue out;
    out.cost = 0.5 * r.squaredNorm();
    out.gradient = J.transpose() * r;
    out.curvature = J.transpose() * J;
    return out;
  };
  const VecX lower = Vec2(-2, -2), start = Vec2(-1.2, 1);
  OptimiserSettings settings;
  settings.max_iterations = 500;
  settings.x_tolerance = 1e-10;
  settings.gradient_tolerance = 1e-14;
  for (const double bound : {2.0, 0.5}) {
    const VecX upper = Vec2(bound, 2);
    const Vec2 want(std::min(1.0, bound), std::min(1.0, bound * bound));
    EXPECT_LT((levenberg_marquardt(f, lower, upper, start, settings).x - want).norm(), 1e-5);
    EXPECT_LT((projected_bfgs(f, lower, upper, start, settings).x - want).norm(), 1e-4);
  }
  // A cost with a ripple that gradients cannot cross: |x − 0.3| + |y − 0.7|, rough below 1e-3.
  const CostFunction rough = [](const VecX& x, bool) {
    CostValue out;
    out.cost = std::abs(x[0] - 0.3) + std::abs(x[1] - 0.7) + 1e-3 * std::sin(400 * (x[0] + x[1]));
    return out;
  };
  settings.x_tolerance = 1e-4;
  EXPECT_LT((pattern_search(rough, Vec2(0, 0), Vec2(1, 1), Vec2(0.9, 0.1), 0.1, settings).x -
             Vec2(0.3, 0.7))
                .norm(),
            0.01);
  EXPECT_NE(
      message_of([&] { (void)levenberg_marquardt(f, lower, Vec2(-3, 2), start); }).find("empty"),
      std::string::npos);
}

TEST(Fit, FrictionThroughTheSimulator) {
  const Model model = sliding_block(0.37);
  const StepSettings settings;
  const TrajectoryData data = thrown(model, model.default_parameters(), settings, {1, 2, 3}, 40);
  FitOptions options = options_for({"material/wood.friction"});
  options.parameters[0].start = 1.5;
  options.starts = 2;
  const FitResult r = fit(model, model.default_parameters(), settings, data, options);
  EXPECT_NEAR(r.estimates[0].value, 0.37, 1e-4);
  EXPECT_TRUE(r.identified());
  EXPECT_GT(r.sliding, 0);
  EXPECT_LT(score(model, r.parameters, settings, data).median_position, 1e-4);
  // A block simulated for 4 samples from each measured start says the same.
  options.horizon = 4;
  EXPECT_NEAR(fit(model, model.default_parameters(), settings, data, options).estimates[0].value,
              0.37, 1e-4);
}

TEST(Fit, FrictionWithoutSimulation) {
  const Model model = sliding_block(0.37);
  const StepSettings settings;
  const TrajectoryData data = thrown(model, model.default_parameters(), settings, {1, 2, 3}, 40);
  FitOptions options = options_for({"material/wood.friction"});
  options.method = FitMethod::Implicit;
  options.parameters[0].start = 1.2;
  const FitResult r = fit(model, model.default_parameters(), settings, data, options);
  EXPECT_NEAR(r.estimates[0].value, 0.37, 1e-3);
  EXPECT_TRUE(r.identified());
}

TEST(Fit, RestitutionOfABouncingCube) {
  const Model model = testing::cube(0.3, 0.6);
  StepSettings settings;
  settings.impact_events = true;
  TrajectoryData data;
  for (int k = 0; k < 3; ++k) {
    State state = model.rest_state();
    state.v[0] = 0.3 * k;
    state.v[4] = 1.0 + k;
    data.trajectories.push_back(testing::simulate(model, model.default_parameters(), settings,
                                                  state, 45, std::to_string(k)));
  }
  FitOptions options = options_for({"material/wood.restitution"});
  options.parameters[0].start = 0.3;
  options.starts = 4;
  const FitResult r = fit(model, model.default_parameters(), settings, data, options);
  EXPECT_NEAR(r.estimates[0].value, 0.6, 2e-3);
}

TEST(Fit, StickingHidesFriction) {
  const Model model = sliding_block(0.8);
  const StepSettings settings;
  // At rest on the floor, and pulled sideways by less than friction holds.
  Parameters parameters = model.default_parameters();
  parameters.set("force/gravity.x", 2.0);
  const TrajectoryData data = thrown(model, parameters, settings, {0, 0}, 20);
  for (const FitMethod method : {FitMethod::Simulate, FitMethod::Implicit}) {
    FitOptions options = options_for({"material/wood.friction"});
    options.method = method;
    options.parameters[0].lower = 0.5;
    const FitResult r = fit(model, parameters, settings, data, options);
    EXPECT_FALSE(r.identified()) << name_of(method);
    ASSERT_FALSE(r.notes.empty());
    EXPECT_EQ(r.notes[0],
              "friction cannot be seen in these data: every contact sticks "
              "(material/wood.friction)");
    EXPECT_EQ(r.estimates[0].lower95, 0.5);  // all of its range
    EXPECT_EQ(r.estimates[0].upper95, 2.0);
  }
}

TEST(Fit, TwoParametersThatOnlyActTogether) {
  // Average rule: only the sum of the two materials' friction acts.
  ModelBuilder b;
  b.add_material({.name = "a", .friction = 0.2});
  b.add_material({.name = "b", .friction = 0.4});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "a"}}});
  b.add_body({.name = "block",
              .motion = Motion::Planar,
              .position = Vec3(0, 0.1, 0),
              .shapes = {{.shape = Shape::rectangle(0.2, 0.1), .material = "b"}},
              .mass = 2});
  const Model model = b.build();
  const StepSettings settings;
  const TrajectoryData data = thrown(model, model.default_parameters(), settings, {1, 2}, 20);
  FitOptions options = options_for({"material/a.friction", "material/b.friction"});
  const FitResult r = fit(model, model.default_parameters(), settings, data, options);
  EXPECT_FALSE(r.identified());
  ASSERT_FALSE(r.notes.empty());
  EXPECT_NE(r.notes[0].find("only a combination of material/a.friction, material/b.friction"),
            std::string::npos)
      << r.notes[0];
  EXPECT_NEAR(r.estimates[0].value + r.estimates[1].value, 0.6, 1e-3);
}

TEST(Fit, BadInputIsNamed) {
  const Model model = sliding_block(0.5);
  const Parameters parameters = model.default_parameters();
  const TrajectoryData data = thrown(model, parameters, {}, {1}, 10);
  const auto said = [&](const FitOptions& options, const TrajectoryData& d) {
    return message_of([&] { (void)fit(model, parameters, {}, d, options); });
  };
  EXPECT_NE(said({}, data).find("nothing to fit"), std::string::npos);
  EXPECT_NE(said(options_for({"material/wood.fricton"}), data).find("material/wood.friction"),
            std::string::npos);
  FitOptions empty = options_for({"material/wood.friction"});
  empty.parameters[0].lower = 0.4;
  empty.parameters[0].upper = 0.3;
  EXPECT_NE(said(empty, data).find("bounds are empty: 0.4 … 0.3"), std::string::npos);
  EXPECT_NE(said(options_for({"body/block.mass", "body/block.mass"}), data).find("twice"),
            std::string::npos);
  EXPECT_NE(said(options_for({"body/block.mass"}), {}).find("no motions"), std::string::npos);
  // Thrown up from 5 m: it never lands.
  TrajectoryData flying;
  State high = model.rest_state();
  high.q[model.bodies()[1].q_begin + 1] = 5;
  flying.trajectories.push_back(testing::simulate(model, parameters, {}, high, 10, "0"));
  EXPECT_NE(said(options_for({"material/wood.friction"}), flying).find("nothing ever touches"),
            std::string::npos);
}

TEST(Fit, SameBitsForAnyNumberOfThreads) {
  const Model model = sliding_block(0.37);
  const TrajectoryData data = thrown(model, model.default_parameters(), {}, {1, 2, 3, 4}, 20);
  for (const FitMethod method : {FitMethod::Simulate, FitMethod::Implicit}) {
    FitOptions options = options_for({"material/wood.friction"});
    options.method = method;
    options.parameters[0].start = 0.9;
    options.starts = 1;
    double reference = 0;
    for (const int threads : {1, 3}) {
      set_thread_count(threads);
      const double found =
          fit(model, model.default_parameters(), {}, data, options).estimates[0].value;
      if (threads == 1) reference = found;
      EXPECT_EQ(found, reference);
    }
    set_thread_count(1);
  }
}

TEST(Tosses, ExcerptIsPredictedFarBetterThanByFlight) {
  const Model model = scenes::toss_cube(0.18, 0.125);
  const TrajectoryData data = read_trajectories(
      testing::source_dir() + "/tests/data/tosses/tosses.csv", model, testing::toss_options());
  ASSERT_EQ(data.trajectories.size(), 8U);
  StepSettings settings;
  settings.impact_events = true;
  const Parameters authors = model.default_parameters();
  const PredictionScore simulated = score(model, authors, settings, data);
  const PredictionScore flown = score(model, authors, settings, data, 1, Predictor::Ballistic);
  EXPECT_LT(simulated.median_position, 0.5);  // a quarter of the cube
  EXPECT_GT(flown.median_position, 5);
  // The first five samples are flight: both agree with the measurement to a hundredth.
  const MatX q = predict(model, authors, settings, data, 0);
  const Index at = model.bodies()[1].q_begin;
  for (Index i = 0; i < 5; ++i)
    EXPECT_LT((q.block(at, i, 3, 1) - data.trajectories[0].q.block(at, i, 3, 1)).norm(), 0.02);
}

TEST(LongTosses, FrictionAndRestitutionOfTwentyTosses) {
  const std::string path = testing::source_dir() + "/../shared/data/tosses/tosses.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "all tosses are not here";
  const Model model = scenes::toss_cube(0.3, 0.3);
  const TrajectoryData data = read_trajectories(path, model, testing::toss_options());
  StepSettings settings;
  settings.impact_events = true;
  FitOptions options = options_for({"material/wood.friction", "material/wood.restitution"});
  options.parameters[0].upper = 1;
  set_thread_count(0);
  const FitResult r =
      fit(model, model.default_parameters(), settings, subset(data, 0, 20), options);
  set_thread_count(1);
  // The authors of the data found 0.18 and 0.125.
  EXPECT_NEAR(r.estimates[0].value, 0.18, 0.03);
  EXPECT_LT(r.estimates[1].value, 0.3);
}

}  // namespace
}  // namespace orthant
