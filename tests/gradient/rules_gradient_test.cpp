// SPDX-License-Identifier: Apache-2.0
// Kinks, certificates, refusals, checkpoints: what the gradient promises besides its numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "orthant/base/error.hpp"
#include "orthant/gradient/rollout.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant {
namespace {

/// A block on a planar floor, pushed by a force in x; weight m g = 9.81.
Model pushed_block(double friction = 0.5) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = friction});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "m"}}});
  b.add_body({.name = "ball",
              .motion = Motion::Planar,
              .position = {0, 0.1, 0},
              .shapes = {{.shape = Shape::disc(0.1), .material = "m"}},
              .mass = 1});
  b.add_joint({.name = "upright", .kind = JointKind::LockRotation, .a = "ball"});
  b.add_actuator(BodyActuatorSpec{.name = "push", .body = "ball", .force = {1, 0, 0}});
  return b.build();
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

StepRecord recorded(const Model& model, const StepSettings& settings, double push,
                    StepReport* out = nullptr) {
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  const StepReport report =
      step(model, model.default_parameters(), settings, VecX::Constant(model.control_count(), push),
           x, warm, work, &record);
  if (out != nullptr) *out = report;
  return record;
}

// One step: v⁺ = max(0, u − μ m g) h. At the threshold both one-sided derivatives are offered.
TEST(GradientRules, StickSlipThresholdHasTwoSides) {
  const Model model = pushed_block();
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.solver.tolerance = 1e-13;
  const double threshold = 0.5 * 9.81;
  const auto slope = [&](double push, KinkChoice kink, ContactState* state) {
    const StepRecord record = recorded(model, settings, push);
    StepGradientSettings with;
    with.solution.kink = kink;
    StepGradient gradient(model, parameters, settings, record, with);
    if (state != nullptr) *state = gradient.certificate().contacts.at(0).state;
    return gradient.pull_back({VecX(), VecX::Unit(3, 0)}).u[0];
  };
  ContactState state;
  EXPECT_NEAR(slope(threshold - 1, KinkChoice::Clamp, &state), 0, 1e-12);
  EXPECT_EQ(state, ContactState::Stick);
  EXPECT_NEAR(slope(threshold + 1, KinkChoice::Clamp, &state), settings.h, 1e-10);
  EXPECT_EQ(state, ContactState::Slide);
  EXPECT_NEAR(slope(threshold, KinkChoice::Clamp, &state), 0, 1e-9);
  EXPECT_EQ(state, ContactState::Floating);
  EXPECT_NEAR(slope(threshold, KinkChoice::Separate, nullptr), settings.h, 1e-9);
}

// A ball that just fails to touch: v⁺ = max(−Φ/h, v − g h).
TEST(GradientRules, GrazingContactHasTwoSides) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  const double h = 0.01;
  b.add_body({.name = "ball",
              .position = {0, 0, 0.1 + 9.81 * h * h},
              .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.h = h;
  const StepRecord record = recorded(model, settings, 0);
  for (const auto& [kink, by_height, by_speed] :
       {std::tuple{KinkChoice::Clamp, -1 / h, 0.0}, std::tuple{KinkChoice::Separate, 0.0, 1.0}}) {
    StepGradientSettings with;
    with.solution.kink = kink;
    StepGradient gradient(model, parameters, settings, record, with);
    const StepCotangent g = gradient.pull_back({VecX(), VecX::Unit(6, 2)});
    EXPECT_EQ(gradient.certificate().contacts.at(0).state, ContactState::Floating);
    EXPECT_EQ(gradient.certificate().element, kink);
    EXPECT_NEAR(g.q[2], by_height, 1e-5);
    EXPECT_NEAR(g.v[2], by_speed, 1e-7);
  }
}

TEST(GradientRules, BoxOnFourContactsIsFiniteAndRight) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  b.add_body({.name = "box",
              .position = {0, 0, 0.1},
              .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1), .material = "m"}}});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  const StepSettings settings;
  const StepRecord record = recorded(model, settings, 0);
  StepGradient gradient(model, parameters, settings, record);
  const StepJacobian J = gradient.jacobian();
  ASSERT_TRUE(J.A.allFinite());
  EXPECT_EQ(gradient.certificate().contacts.size(), 4u);
  EXPECT_TRUE(gradient.certificate().exact) << gradient.certificate().reason;
  // At rest on the floor nothing that is done to the box outlasts the step but where it stands.
  MatX expected = MatX::Zero(12, 12);
  for (const int i : {0, 1, 5}) expected(i, i) = 1;
  // A gap opened by dz or by a tilt is closed within the step: v⁺ = −dΦ/h, and the position with
  // it.
  for (const int i : {2, 3, 4}) expected(6 + i, i) = -1 / settings.h;
  // While a tilt is closed the base sticks, 0.1 below the centre: v = −ω × r, ω = −dθ/h.
  expected(0, 4) = -0.1, expected(6, 4) = -0.1 / settings.h;
  expected(1, 3) = 0.1, expected(7, 3) = 0.1 / settings.h;
  EXPECT_LE((J.A - expected).cwiseAbs().maxCoeff(), 1e-6);
}

TEST(GradientRules, ImpulsesAndGapsAreOutputs) {
  const Model model = pushed_block();
  const Parameters parameters = model.default_parameters();
  const StepSettings settings;
  const StepRecord record = recorded(model, settings, 1);  // sticks
  StepGradient gradient(model, parameters, settings, record);
  std::vector<SolveCotangent> by(record.solves.size());
  by[0].impulse_W = MatX::Zero(3, 1);
  by[0].impulse_W(0, 0) = 1;  // on body A, which is the floor: + u h
  const double sign =
      model.body(record.solves[0].contacts.contacts[0].body_a).is_dynamic() ? -1 : 1;
  EXPECT_NEAR(gradient.pull_back({}, by).u[0], sign * settings.h, 1e-9);
  by[0].impulse_W(0, 0) = 0;
  by[0].impulse_W(1, 0) = -1;  // the weight it carries
  EXPECT_NEAR(gradient.pull_back({}, by).parameters[model.parameter_table().find("body/ball.mass")],
              sign * 9.81 * settings.h, 1e-9);
  by[0].impulse_W.resize(0, 0);
  by[0].gap = VecX::Ones(1);
  EXPECT_NEAR(gradient.pull_back({}, by).q[1], 1, 1e-12);
  EXPECT_NEAR(
      gradient.pull_back({}, by).parameters[model.parameter_table().find("shape/ball.radius")], -1,
      1e-12);
}

TEST(GradientRules, CheckpointsOfAPileLeadWhereTheirReplayDoes) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.5});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  for (int i = 0; i < 100; ++i)
    b.add_body({.position = {0.201 * (i % 10), 0.201 * (i / 10), 0.1},
                .velocity = {0.3 * std::sin(2.0 * i), 0.3 * std::cos(3.0 * i), 0},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  const Model model = b.build();
  const auto record = [&](bool store) {
    return record_rollout(model, model.default_parameters(), {}, model.rest_state(), {}, 12,
                          {.store_records = store});
  };
  const RolloutTape stored = record(true), kept = record(false);
  EXPECT_EQ(stored.q, kept.q);
  const VecX ones = VecX::Ones(model.v_size());
  const StepGradientSettings with{.allow_unconverged = true};
  const RolloutGradient a = rollout_gradient(stored, at_end(stored, ones, ones), with),
                        c = rollout_gradient(kept, at_end(kept, ones, ones), with);
  EXPECT_EQ(a.q, c.q);
  EXPECT_EQ(a.v, c.v);
  EXPECT_EQ(a.parameters, c.parameters);
}

TEST(GradientRules, CheckpointsGiveTheSameGradientAndRecordingTheSameMotion) {
  const Model model = pushed_block();
  const Parameters parameters = model.default_parameters();
  const StepSettings settings;
  MatX push(1, 30);
  for (Index i = 0; i < 30; ++i) push(0, i) = 3 + 4 * std::sin(0.4 * i);
  const RolloutTape stored =
      record_rollout(model, parameters, settings, model.rest_state(), push, 30);
  const RolloutTape kept = record_rollout(model, parameters, settings, model.rest_state(), push, 30,
                                          {.store_records = false});
  EXPECT_TRUE(kept.records.empty());
  EXPECT_LE(kept.checkpoints.size(), 7u);
  EXPECT_EQ(stored.final_state.q, kept.final_state.q);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  for (Index i = 0; i < 30; ++i)
    (void)step(model, parameters, settings, push.col(i), x, warm, work);
  EXPECT_EQ(x.q, stored.final_state.q);
  EXPECT_EQ(x.v, stored.final_state.v);
  const RolloutCotangent loss = at_end(stored, VecX::Ones(3), VecX::Ones(3));
  const RolloutGradient a = rollout_gradient(stored, loss), b = rollout_gradient(kept, loss);
  EXPECT_EQ(a.u, b.u);
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.q, b.q);
}

TEST(GradientRules, LossOnStatesOnTheWay) {
  const Model model = pushed_block(0);
  const RolloutTape tape = record_rollout(model, model.default_parameters(), {}, model.rest_state(),
                                          MatX::Zero(1, 4), 4);
  RolloutCotangent loss;
  loss.q = MatX::Zero(3, 5);
  loss.q.row(0).setOnes();  // Σ x_i, x_i = x + i h v
  const RolloutGradient g = rollout_gradient(tape, loss);
  EXPECT_NEAR(g.q[0], 5, 1e-12);
  EXPECT_NEAR(g.v[0], 0.01 * (1 + 2 + 3 + 4), 1e-12);
  EXPECT_NEAR(g.u(0, 3), 1e-4, 1e-12);
}

TEST(GradientRules, BadInputIsRefusedByName) {
  const Model model = pushed_block();
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  const StepRecord record = recorded(model, settings, 1);
  StepGradient gradient(model, parameters, settings, record);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(message_of([&] { gradient.pull_back({VecX::Constant(3, nan), {}}); }).find("finite"),
            std::string::npos);
  EXPECT_NE(message_of([&] { gradient.pull_back({VecX::Zero(2), {}}); }).find("expected 3"),
            std::string::npos);
  const std::string names[] = {"material/m.frction"};
  EXPECT_NE(message_of([&] { (void)find_parameters(model, names); }).find("material/m.friction"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              StepGradient(model, parameters, settings, StepRecord{});
            }).find("not recorded"),
            std::string::npos);
  EXPECT_NE(message_of([&] {
              (void)record_rollout(model, parameters, settings, model.rest_state(), {}, 0);
            }).find("got 0"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)rollout_gradient({}, {}); }).find("empty"), std::string::npos);
  StepRecord failed = record;
  failed.outcome = Outcome::IterationLimit;
  EXPECT_NE(message_of([&] { StepGradient(model, parameters, settings, failed); }).find("converge"),
            std::string::npos);
  StepGradientSettings force;
  force.allow_unconverged = true;
  const StepGradient forced(model, parameters, settings, failed, force);
  EXPECT_FALSE(forced.certificate().converged);
  EXPECT_FALSE(forced.certificate().exact);
  settings.integrator = Integrator::Rattle;
  EXPECT_NE(message_of([&] { StepGradient(model, parameters, settings, record); }).find("Rattle"),
            std::string::npos);
}

TEST(GradientRules, HalvingIsCertifiedInexact) {
  const Model model = pushed_block();
  const Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.max_halvings = 3;
  const StepRecord record = recorded(model, settings, 1);
  const StepGradient gradient(model, parameters, settings, record);
  EXPECT_FALSE(gradient.certificate().exact);
  EXPECT_NE(gradient.certificate().reason.find("halved"), std::string::npos);
}

}  // namespace
}  // namespace orthant
