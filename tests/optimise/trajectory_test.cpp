// SPDX-License-Identifier: Apache-2.0
// Motions with known optima: a free mass (the linear-quadratic regulator in closed form), bounds, a
// throw, a mass that is inferred; every method, the same bits for any number of threads, errors.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/optimise/optimise.hpp"

namespace orthant {
namespace {

/// A planar disc of 2 kg without gravity, pushed along x; a floor far below, or under it.
Model disc_world(bool on_floor) {
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = 0.3});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .position = {0, on_floor ? 0.0 : -10.0, 0},
              .shapes = {{.shape = Shape::half_plane(), .material = "wood"}}});
  b.add_body({.name = "disc",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "wood"}},
              .mass = 2.0});
  b.add_joint({.name = "upright", .kind = JointKind::LockRotation, .a = "disc"});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "disc", .force = {1, 0, 0}});
  if (!on_floor) b.set_gravity({0, 0, 0});
  return b.build();
}

TrajectoryProblem push_problem(const Model& model, Index steps) {
  TrajectoryProblem p;
  p.model = &model;
  p.parameters = model.default_parameters();
  p.settings.h = 0.05;
  p.settings.solver.tolerance = 1e-13;
  p.start = model.rest_state();
  p.steps = steps;
  const Index x = model.body(model.find_body("disc")).q_begin;
  p.cost.q_weight = MatX::Zero(model.q_size(), steps + 1);
  p.cost.q_target = p.cost.q_weight;
  p.cost.q_weight(x, steps) = 100;
  p.cost.q_target(x, steps) = 1;
  p.cost.v_weight = MatX::Zero(model.v_size(), steps + 1);
  p.cost.v_target = p.cost.v_weight;
  p.cost.v_weight(0, steps) = 10;
  p.cost.u_weight = MatX::Constant(1, steps, 0.01);
  p.cost.u_target = MatX::Zero(1, steps);
  return p;
}

/// The optimum of push_problem for a free mass: linear least squares in the controls.
VecX least_squares(Index steps, double h, double mass) {
  MatX A = MatX::Zero(steps + 2, steps);
  VecX b = VecX::Zero(steps + 2);
  for (Index j = 0; j < steps; ++j) {
    A(j, j) = std::sqrt(0.01);
    // A body with a joint moves by h v⁺, v⁺ = v + h u/m.
    A(steps, j) = std::sqrt(100.0) * h * h / mass * (steps - j);
    A(steps + 1, j) = std::sqrt(10.0) * h / mass;
  }
  b[steps] = std::sqrt(100.0);
  return A.colPivHouseholderQr().solve(b);
}

const ShootingMethod kAll[] = {ShootingMethod::Lbfgs, ShootingMethod::GaussNewton,
                               ShootingMethod::Ilqr, ShootingMethod::MultipleShooting};

TEST(Trajectory, EveryMethodFindsTheLinearQuadraticOptimum) {
  const Model model = disc_world(false);
  const TrajectoryProblem p = push_problem(model, 20);
  const VecX best = least_squares(20, 0.05, 2.0);
  for (const ShootingMethod method : kAll) {
    const TrajectoryResult r =
        optimise(p, {.method = method, .max_iterations = 300, .tolerance = 1e-13});
    EXPECT_LT((r.controls.row(0).transpose() - best).cwiseAbs().maxCoeff(),
              method == ShootingMethod::Lbfgs ? 1e-3 : 1e-6)
        << name_of(method) << " " << name_of(r.stop) << " after " << r.iterations;
    if (method != ShootingMethod::Lbfgs) {
      EXPECT_LE(r.iterations, 4) << name_of(method);
    }
  }
}

TEST(Trajectory, FrictionIsPaidFor) {
  const Model model = disc_world(true);
  TrajectoryProblem p = push_problem(model, 20);
  p.controls = MatX::Constant(1, 20, 8.0);  // slides: friction holds 5.9 N
  double cost = 0;
  for (const ShootingMethod method : kAll) {
    const TrajectoryResult r = optimise(p, {.method = method, .max_iterations = 200});
    if (cost == 0) cost = r.cost;
    EXPECT_NEAR(r.cost, cost, 1e-5 * cost) << name_of(method) << " " << name_of(r.stop);
    EXPECT_LT(r.cost, 0.5 * r.history.front().cost) << name_of(method);
    EXPECT_GT(r.q(model.body(model.find_body("disc")).q_begin, 20), 0.9) << name_of(method);
  }
}

TEST(Trajectory, BoundsOfControlsHoldAtEveryIterate) {
  const Model model = disc_world(false);
  TrajectoryProblem p = push_problem(model, 20);
  p.u_lower = MatX::Constant(1, 20, -3.0);
  p.u_upper = MatX::Constant(1, 20, 3.0);
  double cost = 0;
  for (const ShootingMethod method : kAll) {
    const TrajectoryResult r =
        optimise(p, {.method = method, .max_iterations = 500, .tolerance = 1e-12});
    EXPECT_LE(r.controls.maxCoeff(), 3.0);
    EXPECT_GE(r.controls.minCoeff(), -3.0);
    EXPECT_NEAR(r.controls.maxCoeff(), 3.0, 1e-9) << name_of(method);  // it does bind
    if (cost == 0) cost = r.cost;
    EXPECT_NEAR(r.cost, cost, 1e-4 * cost) << name_of(method) << " " << name_of(r.stop);
  }
}

TEST(Trajectory, BoundsOfStatesAreMet) {
  const Model model = disc_world(false);
  TrajectoryProblem p = push_problem(model, 20);
  p.bounds.v_lower = MatX::Constant(model.v_size(), 21, -kNoBound);
  p.bounds.v_upper = MatX::Constant(model.v_size(), 21, kNoBound);
  p.bounds.v_upper.row(0).setConstant(1.2);  // unbounded it reaches 1.5 m/s
  const TrajectoryResult free = optimise(push_problem(model, 20));
  ASSERT_GT(free.v.row(0).maxCoeff(), 1.3);
  for (const ShootingMethod method :
       {ShootingMethod::GaussNewton, ShootingMethod::Ilqr, ShootingMethod::MultipleShooting}) {
    const TrajectoryResult r = optimise(p, {.method = method, .max_iterations = 200});
    EXPECT_EQ(r.stop, TrajectoryStop::Converged) << name_of(method);
    EXPECT_LE(r.v.row(0).maxCoeff(), 1.2 + 1e-6) << name_of(method);
    EXPECT_GT(r.cost, free.cost);
  }
}

TEST(Trajectory, AThrowHitsItsPoint) {
  ModelBuilder b;
  b.add_body({.name = "ball",
              .motion = Motion::Planar,
              .position = {0, 1, 0},
              .shapes = {{.shape = Shape::disc(0.1)}}});
  const Model model = b.build();
  TrajectoryProblem p;
  p.model = &model;
  p.parameters = model.default_parameters();
  p.settings.h = 0.02;
  p.start = model.rest_state();
  p.steps = 50;
  p.vary_controls = false;
  p.initial = {{.velocity = true, .place = 0}, {.velocity = true, .place = 1}};
  p.cost.q_weight = MatX::Zero(3, 51);
  p.cost.q_target = MatX::Zero(3, 51);
  p.cost.q_weight(0, 50) = p.cost.q_weight(1, 50) = 1;
  p.cost.q_target(0, 50) = 3;
  p.cost.q_target(1, 50) = 0.5;
  for (const ShootingMethod method : kAll) {
    const TrajectoryResult r = optimise(p, {.method = method, .tolerance = 1e-14});
    EXPECT_NEAR(r.start.v[0], 3.0, 1e-5) << name_of(method);  // 1 s of flight
    EXPECT_NEAR(r.start.v[1], -0.5 + 0.5 * 9.81, 1e-5) << name_of(method);
  }
}

TEST(Trajectory, AMassIsFoundFromAMotion) {
  const Model model = disc_world(false);
  TrajectoryProblem p = push_problem(model, 20);
  p.controls = MatX::Constant(1, 20, 4.0);
  Parameters truth = model.default_parameters();
  truth.set("body/disc.mass", 3.0);
  const RolloutTape seen =
      record_rollout(model, truth, p.settings, model.rest_state(), p.controls, 20);
  p.cost = {};
  p.cost.q_weight = MatX::Ones(model.q_size(), 21);
  p.cost.q_target = seen.q;
  p.vary_controls = false;
  const Index mass = model.parameter_table().find("body/disc.mass");
  p.varied = {{.place = mass, .lower = 0.5, .upper = 10}};
  for (const ShootingMethod method : kAll) {
    const TrajectoryResult r =
        optimise(p, {.method = method, .max_iterations = 60, .tolerance = 1e-13});
    EXPECT_NEAR(r.parameters.values[mass], 3.0, 1e-5) << name_of(method);
  }
}

TEST(Trajectory, SameBitsForAnyNumberOfThreads) {
  const Model model = disc_world(true);
  TrajectoryProblem p = push_problem(model, 15);
  p.controls = MatX::Constant(1, 15, 8.0);
  for (const ShootingMethod method : kAll) {
    MatX first;
    for (const int threads : {1, 2, 3}) {
      set_thread_count(threads);
      const TrajectoryResult r = optimise(p, {.method = method, .max_iterations = 12});
      if (first.size() == 0) first = r.controls;
      EXPECT_TRUE((first.array() == r.controls.array()).all()) << name_of(method);
    }
  }
  set_thread_count(1);
}

TEST(Trajectory, StopsWhenAskedWithTheBestSoFar) {
  const Model model = disc_world(true);
  TrajectoryProblem p = push_problem(model, 15);
  p.controls = MatX::Constant(1, 15, 8.0);
  TrajectoryOptions options{.method = ShootingMethod::Lbfgs};
  options.progress = [](int iteration, const TrajectoryIteration&) { return iteration < 2; };
  const TrajectoryResult r = optimise(p, options);
  EXPECT_EQ(r.stop, TrajectoryStop::Interrupted);
  EXPECT_EQ(r.iterations, 2);
  EXPECT_LT(r.cost, r.history.front().cost);
}

/// The text of the Error that a change of the problem leads to.
template <class Change>
std::string refusal(Change&& change, const TrajectoryOptions& options = {}) {
  const Model model = disc_world(false);
  TrajectoryProblem p = push_problem(model, 10);
  change(p);
  try {
    optimise(p, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Trajectory, ErrorsNameWhatIsWrong) {
  using P = TrajectoryProblem;
  EXPECT_EQ(refusal([](P& p) { p.controls = MatX::Zero(1, 9); }),
            "controls: expected 1 x 10 numbers, got 1 x 9");
  EXPECT_EQ(refusal([](P& p) { p.cost.u_weight(0, 3) = -1; }),
            "cost of u: a weight must be >= 0, got -1");
  EXPECT_EQ(refusal([](P& p) {
              p.u_lower = MatX::Constant(1, 10, 2.0);
              p.u_upper = MatX::Constant(1, 10, 1.0);
            }),
            "bounds of the controls: are empty at step 0, number 0: 2 … 1");
  EXPECT_EQ(refusal([](P& p) {
              p.u_lower = MatX::Constant(1, 10, 1.0);
              p.u_upper = MatX::Constant(1, 10, 2.0);
            }),
            "control 'push' at step 0: the start 0 is outside of 1 … 2");
  EXPECT_EQ(refusal([](P& p) { p.initial = {{.velocity = true, .place = 9}}; }),
            "initial v[9]: there are 3 numbers");
  EXPECT_EQ(refusal([](P& p) { p.initial = {{.velocity = false, .place = 0}}; }),
            "initial q[0]: belongs to what never moves");
  EXPECT_EQ(refusal([](P& p) { p.vary_controls = false; }),
            "problem: nothing varies: no controls, initial numbers or parameters");
  EXPECT_EQ(refusal([](P& p) {
              p.more = [](const MatX&, const MatX&, const MatX&, bool,
                          std::vector<StageExpansion>& stages) { stages[3].value += NAN; };
            }),
            "cost: is not finite at the first guess: stage 3 of 10 costs nan");
}

TEST(Trajectory, CostsOfOnesOwnCount) {
  const Model model = disc_world(false);
  TrajectoryProblem p = push_problem(model, 20);
  TrajectoryProblem same = p;
  same.cost.u_weight.resize(0, 0);
  same.cost.u_target.resize(0, 0);
  same.more = [](const MatX&, const MatX&, const MatX& u, bool derivatives,
                 std::vector<StageExpansion>& stages) {
    for (Index i = 0; i < u.cols(); ++i) {
      StageExpansion& s = stages[static_cast<std::size_t>(i)];
      s.value += 0.005 * u(0, i) * u(0, i);
      if (!derivatives) continue;
      s.gradient[s.gradient.size() - 1] += 0.01 * u(0, i);
      s.hessian(s.gradient.size() - 1, s.gradient.size() - 1) += 0.01;
    }
  };
  const TrajectoryResult a = optimise(p), b = optimise(same);
  EXPECT_NEAR(a.cost, b.cost, 1e-12);
  EXPECT_LT((a.controls - b.controls).cwiseAbs().maxCoeff(), 1e-9);
}

/// A block at the limit of friction: the derivative by the push is 0 if it sticks and h/m if it
/// slides, and a loss that wants it to move needs the second.
TEST(LossAware, TakesTheElementAlongWhichTheLossFalls) {
  const Model model = disc_world(true);
  TrajectoryProblem p = push_problem(model, 1);
  p.controls = MatX::Constant(1, 1, 0.3 * 2.0 * 9.81);
  p.cost.q_weight.setZero();
  p.cost.u_weight.setZero();
  p.cost.v_weight(0, 1) = 1;
  p.cost.v_target(0, 1) = 1;  // wants it to move
  const TrajectoryGradient usual = trajectory_gradient(p);
  ASSERT_GT(usual.certificate.floating, 0);
  EXPECT_NEAR(usual.controls(0, 0), 0, 1e-12);
  const TrajectoryGradient aware =
      trajectory_gradient(p, {.method = ShootingMethod::Lbfgs, .loss_aware = true});
  EXPECT_NEAR(aware.controls(0, 0), -0.05 / 2.0, 1e-9);  // (v − 1) h/m
  // The other way round nothing is gained by letting go: pushing less leaves it where it is.
  p.cost.v_target(0, 1) = -1;
  const TrajectoryGradient held =
      trajectory_gradient(p, {.method = ShootingMethod::Lbfgs, .loss_aware = true});
  EXPECT_NEAR(held.controls(0, 0), 0, 1e-9);
}

/// Two blocks at the limit of friction in one step; the loss wants one to go forwards and the other
/// back. One element for both would promise a fall for the second that does not come.
TEST(LossAware, ChoosesContactByContact) {
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = 0.3});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "wood"}}});
  for (const auto& [name, x] : {std::pair{"first", 0.0}, std::pair{"second", 1.0}}) {
    b.add_body({.name = name,
                .motion = Motion::Planar,
                .position = {x, 0.1, 0},
                .shapes = {{.shape = Shape::disc(0.1), .material = "wood"}},
                .mass = 2.0});
    b.add_joint(
        {.name = std::string("upright ") + name, .kind = JointKind::LockRotation, .a = name});
    b.add_actuator(
        BodyActuatorSpec{.name = std::string("push ") + name, .body = name, .force = {1, 0, 0}});
  }
  const Model model = b.build();
  TrajectoryProblem p;
  p.model = &model;
  p.parameters = model.default_parameters();
  p.settings.h = 0.05;
  p.settings.solver.tolerance = 1e-13;
  p.start = model.rest_state();
  p.steps = 1;
  p.controls = MatX::Constant(2, 1, 0.3 * 2.0 * 9.81);
  p.cost.v_weight = p.cost.v_target = MatX::Zero(model.v_size(), 2);
  const Index first = model.body(model.find_body("first")).v_begin,
              second = model.body(model.find_body("second")).v_begin;
  p.cost.v_weight(first, 1) = p.cost.v_weight(second, 1) = 1;
  p.cost.v_target(first, 1) = 1;
  p.cost.v_target(second, 1) = -1;
  const TrajectoryOptions options{.method = ShootingMethod::Lbfgs, .loss_aware = true};
  const TrajectoryGradient aware = trajectory_gradient(p, options);
  ASSERT_GE(aware.certificate.floating, 2);
  EXPECT_NEAR(aware.controls(0, 0), -0.05 / 2.0, 1e-9);
  EXPECT_NEAR(aware.controls(1, 0), 0, 1e-9);
}

}  // namespace
}  // namespace orthant
