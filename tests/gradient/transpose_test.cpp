// SPDX-License-Identifier: Apache-2.0
// Backwards contacts, joints and bodies are pulled back by hand, forwards they go through the
// kernels: ḡ·(J d) = (Jᵀḡ)·d for one step compares the two, to rounding and in every direction.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <tuple>

#include "orthant/gradient/step.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

/// Both sides of the equation in the directions of a generator.
void expect_transposed(const Model& model, const StepSettings& settings, const StepRecord& record,
                       testing::SplitMix& random) {
  const auto draw = [&](Index count) {
    VecX out(count);
    for (Index k = 0; k < count; ++k) out[k] = random.uniform(-1, 1);
    return out;
  };
  const Parameters parameters = model.default_parameters();
  StepGradient gradient(model, parameters, settings, record);
  const Index n = model.v_size();
  const StepTangent d{draw(n), draw(n), {}, draw(model.parameter_table().size())};
  const StateCotangent by{draw(n), draw(n)};
  const StateTangent forward = gradient.push_forward(d);
  const StepCotangent back = gradient.pull_back(by);
  const double terms[] = {back.q.dot(d.q), back.v.dot(d.v), back.parameters.dot(d.parameters)};
  const double left = by.q.dot(forward.q) + by.v.dot(forward.v);
  EXPECT_NEAR(left, terms[0] + terms[1] + terms[2],
              1e-9 * (1 + std::abs(terms[0]) + std::abs(terms[1]) + std::abs(terms[2])));
}

using Touch = std::tuple<ShapeKind, ShapeKind, FeatureKind>;

/// Steps a model and compares at each; what has touched on the way.
std::set<Touch> compare(const Model& model, StepSettings settings, int steps) {
  settings.solver.tolerance = 1e-12;
  std::set<Touch> seen;
  testing::SplitMix random{11};
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  for (int i = 0; i < steps; ++i) {
    const StepReport report =
        step(model, model.default_parameters(), settings, {}, x, warm, work, &record);
    EXPECT_EQ(report.outcome, Outcome::Converged) << i;
    if (report.outcome != Outcome::Converged) break;
    expect_transposed(model, settings, record, random);
    for (const SolveRecord& solve : record.solves)
      for (const Contact& c : solve.contacts.contacts)
        seen.insert({model.shape(c.shape_a).shape.kind(), model.shape(c.shape_b).shape.kind(),
                     c.feature.kind});
  }
  return seen;
}

bool has(const std::set<Touch>& seen, ShapeKind a, ShapeKind b, FeatureKind kind) {
  return seen.contains({a, b, kind}) || seen.contains({b, a, kind});
}

// Tips of all kinds over a face, tips that meet tips; a shape off its body's centre.
TEST(Transpose, ContactsByHand) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4, .restitution = 0.3});
  b.add_material({.name = "n", .friction = 0.2, .combine = CombineRule::Geometric});
  b.add_body({.name = "table",
              .motion = Motion::Kinematic,
              .orientation = exp_rotation(Vec3(0.02, -0.03, 0.2)),
              .velocity = {0.1, 0, 0.05},
              .angular_velocity = {0.1, 0, 0.2},
              .shapes = {{.shape = Shape::box(2, 2, 0.1), .material = "n"}}});
  const Vec3 points[] = {{0.2, 0, 0}, {-0.1, 0.15, 0}, {-0.1, -0.15, 0.02}, {0, 0, 0.25}};
  const auto drop = [&](const Vec3& at, const Vec3& turn, const Shape& shape) {
    b.add_body({.position = at,
                .orientation = exp_rotation(turn),
                .velocity = {0.2, 0.1, -1},
                .angular_velocity = {0.5, 1, -0.3},
                .shapes = {{.shape = shape, .material = "m"}}});
  };
  drop({0, 0, 0.4}, {0.6, 0.5, 0.1}, Shape::box(0.1, 0.12, 0.14));
  drop({1, 0, 0.5}, {0.1, 1.2, 0.3}, Shape::capsule(0.1, 0.2));
  drop({-1, 0, 0.3}, {2.8, 0.3, 0}, Shape::hull(points));
  drop({0, 1, 0.3}, {0.2, 0.1, 0}, Shape::sphere(0.1));
  for (const double side : {-1.0, 1.0})
    b.add_body({.position = {0.35 * side, -1 + 0.02 * side, 1.5},
                .orientation = exp_rotation(Vec3(0, 0.05 * side, 0.1)),
                .velocity = {-1.5 * side, 0, 0},
                .angular_velocity = {0.3, 0.2 * side, 0},
                .shapes = {{.shape = Shape::capsule(0.1, 0.2), .material = "m"}}});
  const std::set<Touch> seen = compare(b.build(), {}, 40);
  for (const ShapeKind tip :
       {ShapeKind::Box, ShapeKind::Capsule, ShapeKind::Hull, ShapeKind::Sphere})
    EXPECT_TRUE(has(seen, ShapeKind::Box, tip, FeatureKind::VertexFace)) << static_cast<int>(tip);
  EXPECT_TRUE(has(seen, ShapeKind::Capsule, ShapeKind::Capsule, FeatureKind::VertexVertex));
}

/// A chain with every kind of row, led by its first body.
Model chain(bool planar) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0});
  const Shape shape = planar ? Shape::rectangle(0.1, 0.05) : Shape::box(0.1, 0.05, 0.07);
  const auto body = [&](int i) {
    const double x = 0.4 * i, y = 0.1 * std::sin(2.0 * i);
    BodySpec spec{.name = "body" + std::to_string(i),
                  .motion = planar ? Motion::Planar : Motion::Spatial,
                  .position = {x, y, planar ? 0 : 0.5 * y},
                  .velocity = {0, 0.3 * std::cos(x), planar ? 0 : 0.2},
                  .shapes = {{.shape = shape, .material = "m"}}};
    if (i == 0) spec.motion = Motion::Kinematic;
    if (i == 0) spec.planar = planar;
    if (planar) {
      spec.angle = 0.3 * x;
      spec.angular_velocity = {0, 0, 0.4};
    } else {
      spec.orientation = exp_rotation(Vec3(0.2, 0.3 * x, -0.1));
      spec.angular_velocity = {0.4, -0.2, 0.5 * x};
    }
    b.add_body(spec);
  };
  const JointKind kinds[] = {JointKind::Revolute, JointKind::Prismatic,   JointKind::Distance,
                             JointKind::Weld,     JointKind::Ball,        JointKind::LockX,
                             JointKind::LockY,    JointKind::LockRotation};
  body(0);
  for (int i = 0; i < 8; ++i) {
    body(i + 1);
    Vec3 axis = planar ? Vec3(0, 0, 1) : Vec3(0.1, 0.2, 1);
    if (planar && kinds[i] == JointKind::Prismatic) axis = {1, 0.2, 0};
    b.add_joint({.kind = planar && kinds[i] == JointKind::Ball ? JointKind::Revolute : kinds[i],
                 .a = "body" + std::to_string(i + 1),
                 .b = "body" + std::to_string(i),
                 .anchor = {0.4 * i + 0.2, 0.05, 0},
                 .axis = axis});
  }
  return b.build();
}

// Between bodies and from a body that is led; corrected after the step, or in it.
TEST(Transpose, JointsByHand) {
  for (const bool planar : {false, true})
    for (const Stabilisation kind : {Stabilisation::Projection, Stabilisation::Baumgarte}) {
      StepSettings settings;
      settings.stabilisation = kind;
      compare(chain(planar), settings, 8);
    }
}

// What was differentiated before leaves memory behind, and no number.
TEST(Transpose, MemoryOfOthersDoesNotShow) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.4});
  b.add_body(
      {.motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space(), .material = "m"}}});
  for (int i = 0; i < 3; ++i)
    b.add_body({.position = {0.19 * i, 0, 0.1},
                .velocity = {0.1, 0.2 * i, 0},
                .shapes = {{.shape = Shape::sphere(0.1), .material = "m"}}});
  const Model model = b.build();
  const Parameters parameters = model.default_parameters();
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord first, second;
  (void)step(model, parameters, {}, {}, x, warm, work, &first);
  (void)step(model, parameters, {}, {}, x, warm, work, &second);
  const VecX ones = VecX::Ones(model.v_size());
  const auto pull = [&](const StepRecord& record) {
    return StepGradient(model, parameters, {}, record).pull_back({ones, ones});
  };
  const StepCotangent alone = pull(first);
  for (int i = 0; i < 6; ++i) (void)pull(second);
  const StepCotangent after = pull(first);
  EXPECT_EQ(alone.q, after.q);
  EXPECT_EQ(alone.v, after.v);
  EXPECT_EQ(alone.parameters, after.parameters);
}

}  // namespace
}  // namespace orthant
