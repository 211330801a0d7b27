// SPDX-License-Identifier: Apache-2.0
// The derivative of steps with flexible parts against central differences: by the state, material,
// loads and friction, in flight, in contact, tied to a body; a modulus found again by its gradient.
#include <gtest/gtest.h>

#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/model/model_builder.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

struct Case {
  Model model;
  StepSettings settings;
  int lead = 0;  // steps before the one that is differentiated
};

/// ℓ = a·(q⁺ ⊟ q_ref) + b·v⁺ with fixed random weights; q_ref is q⁺ of the step differentiated.
double loss(const Case& c, const Parameters& p, const State& start, const VecX& q_ref,
            const VecX& a, const VecX& b) {
  State x = start;
  WarmStart warm;
  StepWorkspace work;
  (void)step(c.model, p, c.settings, {}, x, warm, work);
  VecX d;
  boxminus(c.model, x.q, q_ref, d);
  return a.dot(d) + b.dot(x.v);
}

/// `faces`: contacts on faces that must push, so that the case is what it says.
void check(Case c, const std::vector<std::string>& names, double tolerance, int faces = 0) {
  c.settings.solver.tolerance = 1e-13;
  const Parameters p = c.model.default_parameters();
  State start = c.model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  for (int i = 0; i < c.lead; ++i) (void)step(c.model, p, c.settings, {}, start, warm, work);
  SplitMix random(4);
  VecX a(c.model.v_size()), b(c.model.v_size());
  for (Index i = 0; i < a.size(); ++i) a[i] = random.uniform(-1, 1), b[i] = random.uniform(-1, 1);
  a *= 10;
  State x = start;
  StepRecord record;
  warm = {};
  (void)step(c.model, p, c.settings, {}, x, warm, work, &record);
  int pushing = 0;
  for (const FlexibleContact& contact : record.solves[0].contacts.flexible)
    for (const WarmStart::Entry& entry : warm.contacts)
      pushing += !contact.has_feature && contact.key == entry.key && entry.impulse_W.norm() > 0;
  EXPECT_GE(pushing, faces);
  StepGradientSettings settings;
  settings.allow_unconverged = true;
  StepGradient gradient(c.model, p, c.settings, record, settings);
  EXPECT_TRUE(gradient.certificate().exact) << gradient.certificate().reason;
  const StepCotangent g = gradient.pull_back({a, b});
  const auto agree = [&](double ours, double numeric, double scale, const std::string& what) {
    EXPECT_NEAR(ours, numeric, tolerance * (std::abs(numeric) + scale)) << what;
  };
  for (const std::string& name : names) {
    const Index place = p.table->find(name);
    const double step = 1e-5 * std::max(1e-3, std::abs(p[place]));
    Parameters lo = p, hi = p;
    lo.values[place] -= step;
    hi.values[place] += step;
    const double numeric =
        (loss(c, hi, start, x.q, a, b) - loss(c, lo, start, x.q, a, b)) / (2 * step);
    agree(g.parameters[place], numeric, 1e-9 / std::max(1e-3, std::abs(p[place])), name);
  }
  for (Index i = 0; i < c.model.v_size(); i += 1 + c.model.v_size() / 12) {
    VecX d = VecX::Zero(c.model.v_size());
    d[i] = 1e-6;
    State lo = start, hi = start;
    boxplus(c.model, start.q, d, hi.q);
    boxplus(c.model, start.q, VecX(-d), lo.q);
    agree(g.q[i], (loss(c, p, hi, x.q, a, b) - loss(c, p, lo, x.q, a, b)) / 2e-6, 1e-2,
          "q " + std::to_string(i));
    lo = hi = start;
    hi.v[i] += 1e-6;
    lo.v[i] -= 1e-6;
    agree(g.v[i], (loss(c, p, hi, x.q, a, b) - loss(c, p, lo, x.q, a, b)) / 2e-6, 1e-2,
          "v " + std::to_string(i));
  }
  // Forward and reverse are the same map.
  StepTangent change;
  change.q = VecX::Constant(c.model.v_size(), 0.1);
  change.v = b;
  change.parameters = VecX::Zero(p.values.size());
  for (const std::string& name : names) change.parameters[p.table->find(name)] = p.get(name);
  const StateTangent forward = gradient.push_forward(change);
  const double left = a.dot(forward.q) + b.dot(forward.v);
  const double right = g.q.dot(change.q) + g.v.dot(change.v) + g.parameters.dot(change.parameters);
  EXPECT_NEAR(left, right, 1e-9 * (std::abs(left) + 1));
}

const std::vector<std::string> kMaterial = {"fe/part.young", "fe/part.poisson", "fe/part.density",
                                            "fe/part.damping_mass", "fe/part.damping_stiffness"};

std::vector<std::string> with(std::vector<std::string> more) {
  more.insert(more.begin(), kMaterial.begin(), kMaterial.end());
  return more;
}

FlexibleSpec part(Mesh mesh) {
  return {.name = "part",
          .mesh = std::move(mesh),
          .young = 2e4,
          .poisson = 0.25,
          .damping_mass = 0.4,
          .damping_stiffness = 0.01};
}

TEST(FlexibleGradient, SwingingBeamWithALoad) {
  for (const int dim : {2, 3}) {
    ModelBuilder builder;
    const Mesh mesh =
        dim == 2 ? rectangle_mesh(1, 0.2, 5, 1) : box_mesh(Vec3(1, 0.2, 0.2), 3, 1, 1);
    FlexibleSpec spec = part(mesh);
    spec.consistent_mass = dim == 2;
    spec.fixed = nodes_where(mesh, [](const Vec3& x) { return x[0] == 0; });
    spec.driven = nodes_where(mesh, [](const Vec3& x) { return x[0] == 1 && x[1] == 0; });
    spec.driven_velocity = Vec3(0, 0.2, 0);
    builder.add_flexible(spec);
    builder.add_force(NodeForceSpec{.name = "load",
                                    .part = "part",
                                    .nodes = {mesh.node_count() - 1},
                                    .force = Vec3(1, -20, 0)});
    check({builder.build(), {.h = 0.02}, 5},
          with({"force/load.force.y", dim == 2 ? "force/gravity.y" : "force/gravity.z"}), 1e-5);
  }
}

TEST(FlexibleGradient, BlockThatSlidesOnAPlaneAndOverABall) {
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = 0.3});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .planar = true,
                    .shapes = {{.shape = Shape::half_plane(), .material = "surface"}}});
  FlexibleSpec spec = part(rectangle_mesh(0.6, 0.2, 3, 1));
  spec.velocity = Vec3(1.5, 0, 0);
  spec.material = "surface";
  builder.add_flexible(spec);
  check({builder.build(), {.h = 0.01}, 4}, with({"material/surface.friction"}), 1e-5);
}

TEST(FlexibleGradient, CubeThatLandsOnARigidBox) {
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = 0.4});
  builder.add_body({.name = "plate",
                    .position = Vec3(0.11, 0.08, -0.1 - 1e-4),
                    .shapes = {{.shape = Shape::box(0.3, 0.3, 0.1), .material = "surface"}}});
  FlexibleSpec spec = part(box_mesh(Vec3(0.2, 0.2, 0.2), 2, 2, 2));
  spec.material = "surface";
  spec.velocity = Vec3(0.1, 0.2, -0.5);
  builder.add_flexible(spec);
  check({builder.build(), {.h = 0.005}, 0},
        with({"material/surface.friction", "shape/plate.half_z", "body/plate.mass"}), 2e-5);
}

TEST(FlexibleGradient, BeamTiedToASpinningHub) {
  ModelBuilder builder;
  const Mesh mesh = box_mesh(Vec3(0.6, 0.2, 0.2), 3, 1, 1);
  builder.add_body({.name = "hub",
                    .angular_velocity = Vec3(0.4, 1, -0.3),
                    .shapes = {{.shape = Shape::box(0.1, 0.12, 0.14)}}});
  FlexibleSpec spec = part(mesh);
  spec.position = Vec3(0.1, -0.1, -0.1);
  spec.attachments = {{"hub", nodes_where(mesh, [](const Vec3& x) { return x[0] == 0; })}};
  builder.add_flexible(spec);
  check({builder.build(), {.h = 0.01}, 3}, with({"body/hub.mass", "force/gravity.z"}), 1e-5);
}

/// A round or sharp body that falls into a face, far from its nodes, spinning and sideways.
void check_on_a_mat(const Shape& shape, const Vec3& at, const Vec3& turn,
                    std::vector<std::string> names, int faces) {
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = 0.3});
  const Mesh mesh = box_mesh(Vec3(0.6, 0.6, 0.2), 2, 2, 1);
  builder.add_body({.name = "body",
                    .position = at,
                    .orientation = exp_rotation(turn),
                    .velocity = Vec3(0.3, 0.1, -0.8),
                    .angular_velocity = Vec3(0.5, -1, 0.7),
                    .shapes = {{.shape = shape, .material = "surface"}}});
  FlexibleSpec spec = part(mesh);
  spec.material = "surface";
  spec.fixed = nodes_where(mesh, [](const Vec3& x) { return x[2] == 0; });
  builder.add_flexible(spec);
  names.insert(names.begin(), {"material/surface.friction", "body/body.mass"});
  // The gap is open and closes within the step: at Φ = 0 a central difference sees both sides.
  check({builder.build(), {.h = 0.01}, 0}, with(names), 2e-5, faces);
}

TEST(FlexibleGradient, BallOnAFace) {
  check_on_a_mat(Shape::sphere(0.1), Vec3(0.22, 0.13, 0.302), Vec3::Zero(), {"shape/body.radius"},
                 1);
}

TEST(FlexibleGradient, RollerAcrossEdges) {
  check_on_a_mat(Shape::capsule(0.05, 0.2), Vec3(0.27, 0.31, 0.252), Vec3(0.01, -0.005, 1.1),
                 {"shape/body.radius", "shape/body.half_length"}, 2);
}

TEST(FlexibleGradient, CornerOfABoxOnAFace) {
  check_on_a_mat(Shape::box(0.1, 0.12, 0.14), Vec3(0.22, 0.13, 0.415), Vec3(0.7, 0.6, 0.2),
                 {"shape/body.half_x", "shape/body.half_y", "shape/body.half_z"}, 1);
}

TEST(FlexibleGradient, DiscOnASideOfAStrip) {
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = 0.3});
  const Mesh mesh = rectangle_mesh(1, 0.2, 4, 1);
  builder.add_body({.name = "disc",
                    .motion = Motion::Planar,
                    .position = Vec3(0.35, 0.301, 0),
                    .velocity = Vec3(0.4, -0.6, 0),
                    .shapes = {{.shape = Shape::disc(0.1), .material = "surface"}}});
  FlexibleSpec spec = part(mesh);
  spec.material = "surface";
  spec.fixed = nodes_where(mesh, [](const Vec3& x) { return x[0] == 0 || x[0] == 1; });
  builder.add_flexible(spec);
  check({builder.build(), {.h = 0.01}, 0}, with({"material/surface.friction", "shape/disc.radius"}),
        2e-5, 1);
}

TEST(FlexibleGradient, NodesOnFacesOfAnotherPart) {
  for (const int dim : {2, 3}) {
    ModelBuilder builder;
    builder.add_material({.name = "surface", .friction = 0.3});
    const Mesh below =
        dim == 2 ? rectangle_mesh(0.6, 0.2, 3, 1) : box_mesh(Vec3(0.6, 0.6, 0.2), 2, 2, 1);
    const Mesh above =
        dim == 2 ? rectangle_mesh(0.25, 0.2, 1, 1) : box_mesh(Vec3(0.25, 0.21, 0.2), 1, 1, 1);
    FlexibleSpec spec = part(below);
    spec.material = "surface";
    spec.fixed = nodes_where(below, [&](const Vec3& x) { return x[dim - 1] == 0; });
    builder.add_flexible(spec);
    FlexibleSpec other = part(above);
    other.name = "block";
    other.material = "surface";
    other.position = dim == 2 ? Vec3(0.13, 0.202, 0) : Vec3(0.13, 0.11, 0.202);
    other.velocity = dim == 2 ? Vec3(0.3, -0.5, 0) : Vec3(0.3, 0.1, -0.5);
    builder.add_flexible(other);
    check({builder.build(), {.h = 0.01}, 0},
          with({"material/surface.friction", "fe/block.young", "fe/block.density"}), 2e-5, 1);
  }
}

TEST(FlexibleGradient, NewtonStepsAreRefused) {
  ModelBuilder builder;
  builder.add_flexible(part(box_mesh(Vec3::Ones(), 1, 1, 1)));
  const Model model = builder.build();
  const Parameters p = model.default_parameters();
  const StepSettings settings{.newton_iterations = 2};
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepRecord record;
  (void)step(model, p, settings, {}, x, warm, work, &record);
  EXPECT_THROW(StepGradient(model, p, settings, record), Error);
}

/// Modulus and friction of a beam that lies across two rollers, loaded in its middle and thrown
/// along them, from its observed motion: Gauss–Newton on the two by derivatives of every step,
/// chained forward. Its sides touch the rollers between their nodes.
TEST(FlexibleGradient, ModulusAndFrictionOfABentBeamAreFoundAgain) {
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = 0.35});
  for (const double x : {0.16, 0.87})
    builder.add_body({.name = x < 0.5 ? "left" : "right",
                      .motion = Motion::Fixed,
                      .planar = true,
                      .position = Vec3(x, -0.05, 0),
                      .shapes = {{.shape = Shape::disc(0.05), .material = "surface"}}});
  const Mesh mesh = rectangle_mesh(1, 0.1, 16, 2);
  FlexibleSpec spec = part(mesh);
  spec.young = 2e6;
  spec.velocity = Vec3(0.5, 0, 0);
  spec.material = "surface";
  builder.add_flexible(spec);
  builder.add_force(NodeForceSpec{
      .name = "load",
      .part = "part",
      .nodes = nodes_where(mesh, [](const Vec3& x) { return x[0] == 0.5 && x[1] > 0.09; }),
      .force = Vec3(0, -300, 0)});
  const Model model = builder.build();
  const StepSettings settings{.h = 0.01};
  const int steps = 25;
  const std::string names[2] = {"fe/part.young", "material/surface.friction"};
  // Runs `steps`; J: derivative of all positions by the logarithms of the two numbers.
  const auto run = [&](const Parameters& p, std::vector<VecX>& q, std::vector<MatX>* J) {
    State x = model.rest_state();
    WarmStart warm;
    StepWorkspace work;
    MatX dq = MatX::Zero(model.v_size(), 2), dv = dq;
    q.clear();
    for (int i = 0; i < steps; ++i) {
      StepRecord record;
      (void)step(model, p, settings, {}, x, warm, work, &record);
      q.push_back(x.q.tail(model.v_size()));
      if (J == nullptr) continue;
      StepGradientSettings force;
      force.allow_unconverged = true;
      StepGradient gradient(model, p, settings, record, force);
      for (int k = 0; k < 2; ++k) {
        StepTangent change{dq.col(k), dv.col(k), {}, VecX::Zero(p.values.size())};
        change.parameters[p.table->find(names[k])] = p.get(names[k]);
        const StateTangent out = gradient.push_forward(change);
        dq.col(k) = out.q;
        dv.col(k) = out.v;
      }
      J->push_back(dq);
    }
  };
  std::vector<VecX> seen, now;
  run(model.default_parameters(), seen, nullptr);
  Parameters p = model.default_parameters();
  p.set(names[0], 6e5);
  p.set(names[1], 0.15);
  for (int round = 0; round < 15; ++round) {
    std::vector<MatX> J;
    run(p, now, &J);
    Mat2 A = Mat2::Zero();
    Vec2 g = Vec2::Zero();
    for (int i = 0; i < steps; ++i) {
      A += J[i].transpose() * J[i];
      g += J[i].transpose() * (seen[i] - now[i]);
    }
    const Vec2 change = A.inverse() * g;
    for (int k = 0; k < 2; ++k)
      p.set(names[k], p.get(names[k]) * std::exp(std::clamp(change[k], -0.7, 0.7)));
  }
  EXPECT_NEAR(p.get(names[0]), 2e6, 2e4);
  EXPECT_NEAR(p.get(names[1]), 0.35, 0.0035);
}

}  // namespace
}  // namespace orthant
