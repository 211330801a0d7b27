// SPDX-License-Identifier: Apache-2.0
// Motion on terrain and of cylinders: what rolls over a flat mesh rolls on a plane, what stands
// stands still, and steps know the derivative by the height of the ground.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

constexpr double kPi = std::numbers::pi;

template <class F>
Shape field(int n, double half, F&& z) {
  std::vector<double> heights;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      heights.push_back(z(half * (2.0 * j / (n - 1) - 1), half * (2.0 * i / (n - 1) - 1)));
  return Shape::height_field(heights, n, n, half, half);
}

Model on_ground(const Shape& ground, BodySpec body) {
  ModelBuilder b;
  b.add_material({.name = "m", .friction = 0.6});
  b.add_body({.name = "ground",
              .motion = Motion::Fixed,
              .shapes = {{.shape = ground, .material = "m", .name = "ground"}}});
  for (ShapeSpec& s : body.shapes) s.material = "m";
  b.add_body(std::move(body));
  return b.build();
}

/// Where the second body is; the ground is the first.
Vec3 place(const State& x, const Model& model) {
  return x.q.segment<3>(model.body(BodyId{1}).q_begin);
}

State run(const Model& model, int steps, StepSettings settings = {}, double* lowest = nullptr) {
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  for (int i = 0; i < steps; ++i) {
    const StepReport report =
        step(model, model.default_parameters(), settings, {}, x, warm, work, nullptr);
    EXPECT_EQ(report.outcome, Outcome::Converged) << i;
    if (lowest != nullptr) *lowest = std::min(*lowest, place(x, model)[2]);
  }
  return x;
}

TEST(Terrain, BallOverTenThousandFlatTrianglesIsTheBallOnAPlane) {
  const Shape mesh = field(72, 5, [](double, double) { return 0.0; });
  EXPECT_GE(mesh.topology().mesh->triangles.size(), 10000u);
  const auto ball = [](const Shape& ground) {
    return on_ground(ground, {.position = {-2, -1, 0.1},
                              .velocity = {1.3, 0.7, 0},
                              .angular_velocity = {0, 0, 3},
                              .shapes = {{.shape = Shape::sphere(0.1)}}});
  };
  const State plane = run(ball(Shape::half_space()), 300), on_mesh = run(ball(mesh), 300);
  EXPECT_GT(place(plane, ball(mesh))[0], 0.5);  // over many seams
  EXPECT_LT((plane.q - on_mesh.q).lpNorm<Eigen::Infinity>(), 1e-9);
  EXPECT_LT((plane.v - on_mesh.v).lpNorm<Eigen::Infinity>(), 1e-9);
}

TEST(Terrain, BoxSlidesOverSeamsAsOnAPlane) {
  const Shape mesh = field(30, 3, [](double, double) { return 0.0; });
  const auto box = [](const Shape& ground) {
    return on_ground(ground, {.position = {-1, 0.03, 0.1},
                              .orientation = exp_rotation(Vec3(0, 0, 0.4)),
                              .velocity = {2.5, 0.3, 0},
                              .shapes = {{.shape = Shape::box(0.2, 0.15, 0.1)}}});
  };
  const State plane = run(box(Shape::half_space()), 80), on_mesh = run(box(mesh), 80);
  EXPECT_GT(place(plane, box(mesh))[0], -0.6);
  EXPECT_LT((plane.q - on_mesh.q).lpNorm<Eigen::Infinity>(), 2e-3);  // other points of the face
  EXPECT_NEAR(place(on_mesh, box(mesh))[2], 0.1, 1e-8);
}

TEST(Terrain, ShapesComeToRestInARuggedBowl) {
  const Shape bowl = field(25, 2, [](double x, double y) {
    return 0.2 * (x * x + y * y) + 0.03 * std::cos(5 * x) * std::cos(4 * y);
  });
  for (const Shape& s :
       {Shape::sphere(0.1), Shape::box(0.15, 0.1, 0.08), Shape::capsule(0.08, 0.12),
        Shape::cylinder(0.1, 0.1), Shape::cone(0.12, 0.1)}) {
    SCOPED_TRACE(static_cast<int>(s.kind()));
    const Model model = on_ground(bowl, {.position = {0.3, 0.2, 0.5},
                                         .orientation = exp_rotation(Vec3(0.3, 0.5, 0.1)),
                                         .shapes = {{.shape = s}}});
    double lowest = 1;
    const State x = run(model, 300, {}, &lowest);
    EXPECT_GT(lowest, -0.2);  // not through it
    EXPECT_LT(place(x, model).head<2>().lpNorm<Eigen::Infinity>(), 2);
    ContactSet found;
    CollisionWorkspace work;
    find_contacts(model, model.default_parameters(), x.q, {}, {.margin = 0}, work, found);
    EXPECT_LT(deepest_penetration(found), 1e-6);
  }
}

TEST(Terrain, AMeshNeedsABodyThatStands) {
  ModelBuilder b;
  b.add_body({.shapes = {{.shape = field(3, 1, [](double, double) { return 0.0; })}}});
  EXPECT_THROW(b.build(), Error);
}

TEST(Cylinder, StandsStillAndRollsStraight) {
  const double c = std::sqrt(0.5);
  const Model standing =
      on_ground(Shape::half_space(), {.position = {0, 0, 0.3},
                                      .orientation = {c, 0, -c, 0},
                                      .shapes = {{.shape = Shape::cylinder(0.1, 0.3)}}});
  const State still = run(standing, 500);
  EXPECT_LT((still.q - standing.rest_state().q).lpNorm<Eigen::Infinity>(), 1e-9);
  EXPECT_LT(still.v.lpNorm<Eigen::Infinity>(), 1e-9);
  // Rolling without sliding along y: v = w r for good.
  const Model rolling =
      on_ground(Shape::half_space(), {.position = {0, 0, 0.1},
                                      .velocity = {0, 1, 0},
                                      .angular_velocity = {-10, 0, 0},
                                      .shapes = {{.shape = Shape::cylinder(0.1, 0.3)}}});
  const State x = run(rolling, 300);
  EXPECT_LT((place(x, rolling) - Vec3(0, 3, 0.1)).norm(), 1e-7);
  EXPECT_NEAR(x.v[1], 1, 1e-7);
}

TEST(Cylinder, StacksStand) {
  ModelBuilder b;
  b.add_body({.motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  const double c = std::sqrt(0.5);
  for (int i = 0; i < 4; ++i)
    b.add_body({.position = {0.005 * (i % 2), 0, 0.1 + 0.2 * i},
                .orientation = {c, 0, -c, 0},
                .shapes = {{.shape = Shape::cylinder(0.1, 0.1)}}});
  const Model model = b.build();
  const State x = run(model, 200);
  EXPECT_LT((x.q - model.rest_state().q).lpNorm<Eigen::Infinity>(), 1e-7);
}

/// One number after a step as the parameter moves, against the derivative of the step.
void expect_derivative(const Model& model, const std::string& name, int steps) {
  const Index index = model.parameter_table().find(name);
  StepSettings settings;
  settings.solver.tolerance = 1e-12;
  State start = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  Parameters parameters = model.default_parameters();
  for (int i = 0; i < steps; ++i)
    (void)step(model, parameters, settings, {}, start, warm, work, nullptr);
  StepRecord record;
  const auto after = [&](double change, StepRecord* to) {
    Parameters moved = parameters;
    moved.values[index] += change;
    State x = start;
    WarmStart none;
    (void)step(model, moved, settings, {}, x, none, work, to);
    return x;
  };
  const State middle = after(0, &record);
  StepGradient gradient(model, parameters, settings, record);
  StepTangent d{VecX::Zero(model.v_size()),
                VecX::Zero(model.v_size()),
                {},
                VecX::Zero(model.parameter_table().size())};
  d.parameters[index] = 1;
  const StateTangent exact = gradient.push_forward(d);
  const double h = 1e-6;
  const State up = after(h, nullptr), down = after(-h, nullptr);
  const VecX by_v = (up.v - down.v) / (2 * h);
  EXPECT_GT(exact.v.norm() + exact.q.norm(), 1e-3) << name;
  EXPECT_LT((exact.v - by_v).norm(), 1e-4 * (1 + by_v.norm())) << name;
  EXPECT_LT((exact.q.head<3>() - (place(up, model) - place(down, model)) / (2 * h)).norm(),
            1e-4 * (1 + exact.q.norm()))
      << name;
}

TEST(Terrain, StepKnowsTheDerivativeByTheHeightOfTheGround) {
  const Shape slope = field(9, 2, [](double x, double y) { return 0.1 * x + 0.05 * y + 0.3; });
  const Model ball = on_ground(slope, {.position = {0.31, 0.17, 0.48},
                                       .velocity = {0.5, 0, -1},
                                       .shapes = {{.shape = Shape::sphere(0.1)}}});
  expect_derivative(ball, "shape/ground.scale_z", 3);  // the step in which it lands
}

TEST(Cylinder, StepKnowsTheDerivativeByRadiusAndLength) {
  const Model tilted = on_ground(
      Shape::half_space(), {.position = {0, 0, 0.35},
                            .orientation = exp_rotation(Vec3(0.1, 0.8, 0.2)),
                            .velocity = {0.3, 0.1, -1.5},
                            .shapes = {{.shape = Shape::cylinder(0.1, 0.3), .name = "drum"}}});
  for (const char* name : {"shape/drum.radius", "shape/drum.half_length"})
    expect_derivative(tilted, name, 8);
}

}  // namespace
}  // namespace orthant
