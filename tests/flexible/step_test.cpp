// SPDX-License-Identifier: Apache-2.0
// Flexible parts in a step: equilibria that are known exactly, momentum, prescribed and tied nodes,
// contact and friction, refusals.
#include "orthant/step/step.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>

#include "force/corotational_kernel.hpp"
#include "orthant/base/error.hpp"
#include "orthant/constraint/flexible_rows.hpp"
#include "orthant/force/flexible.hpp"
#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/energy.hpp"
#include "support/splitmix.hpp"

namespace orthant {
namespace {

using testing::SplitMix;

struct Trial {
  explicit Trial(Model built, StepSettings with = {})
      : model(std::move(built)),
        parameters(model.default_parameters()),
        settings(with),
        x(model.rest_state()) {}
  StepReport step() { return orthant::step(model, parameters, settings, {}, x, warm, work); }
  const FlexiblePart& part(Index i = 0) const { return model.flexible_parts()[i]; }
  Vec3 at(Index node, Index i = 0) const { return node_position(part(i), x.q, node); }
  Vec3 momentum() const {
    Vec3 sum = Vec3::Zero();
    for (const FlexiblePart& p : model.flexible_parts())
      for (Index i = 0; i < p.node_count; ++i)
        sum += parameters[p.density] * p.node_volume[i] * node_velocity(p, x.v, i);
    return sum;
  }
  Model model;
  Parameters parameters;
  StepSettings settings;
  State x;
  WarmStart warm;
  StepWorkspace work;
};

bool on_border(const Vec3& x, const Vec3& size, int dim) {
  for (int a = 0; a < dim; ++a)
    if (x[a] < 1e-9 || x[a] > size[a] - 1e-9) return true;
  return false;
}

/// A uniform strain at the border gives the same strain inside, whatever the mesh.
void patch_test(Mesh mesh, const Vec3& size) {
  SplitMix random(1);
  for (Vec3& x : mesh.nodes)
    if (!on_border(x, size, mesh.dim))
      for (int a = 0; a < mesh.dim; ++a) x[a] += random.uniform(-0.02, 0.02);
  const std::vector<Index> border =
      nodes_where(mesh, [&](const Vec3& x) { return on_border(x, size, mesh.dim); });
  ASSERT_LT(static_cast<Index>(border.size()), mesh.node_count());
  Mat3 A;
  A << 1e-2, 4e-3, -2e-3, 4e-3, -8e-3, 1e-3, -2e-3, 1e-3, 5e-3;
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_flexible({.name = "patch", .mesh = mesh, .young = 1e5, .driven = border});
  Trial run(builder.build(), {.h = 1e4});
  for (const Index node : border) {
    Vec3 x = mesh.nodes[node];
    for (int a = 0; a < mesh.dim; ++a)
      run.x.v[run.part().v_begin[node] + a] = (A * x)[a] / run.settings.h;
  }
  // One long step moves the border; the second, with the border at rest, leaves no inertia behind.
  const StepReport report = run.step();
  EXPECT_EQ(report.outcome, Outcome::Converged);
  run.x.v.setZero();
  (void)run.step();
  for (Index i = 0; i < mesh.node_count(); ++i) {
    const Vec3 x = mesh.nodes[i];
    Vec3 expected = x + A * x;
    if (mesh.dim == 2) expected = x + Vec3((A * x)[0], (A * x)[1], 0);
    EXPECT_LT((run.at(i) - expected).norm(), 1e-12) << i;
  }
  const std::vector<double> stress = element_stress_norms(run.model, run.parameters, run.x.q, 0);
  for (const double s : stress) EXPECT_NEAR(s, stress[0], 1e-10 * stress[0]);
}
TEST(FlexibleStep, PatchTestInSpace) { patch_test(box_mesh(Vec3(1, 1, 1), 3, 3, 3), Vec3::Ones()); }
TEST(FlexibleStep, PatchTestInThePlane) { patch_test(rectangle_mesh(1, 1, 5, 4), Vec3(1, 1, 0)); }

/// A block pressed into a soft slope takes the energy of its contacts, and gains no more.
TEST(FlexibleStep, PressedIntoASoftFloorGainsNothing) {
  ModelBuilder builder;
  builder.add_material({.name = "skin", .friction = 0.3, .compliance = 1e-6});
  builder.add_body({.name = "floor",
                    .motion = Motion::Fixed,
                    .orientation = exp_rotation(Vec3(0.3, 0, 0)),
                    .shapes = {{.shape = Shape::half_space(), .material = "skin"}}});
  builder.add_flexible({.name = "block",
                        .mesh = box_mesh(Vec3(0.4, 0.2, 0.2), 2, 1, 1),
                        .young = 3e4,
                        .position = Vec3(0, 0, -0.03),
                        .material = "skin"});
  Trial run(builder.build(), {.h = 0.005, .impact_events = true});
  double last = energy_of(run.model, run.parameters, run.settings, run.x).total(), fastest = 0;
  for (int i = 0; i < 100; ++i) {
    const StepReport report = run.step();
    EXPECT_EQ(report.outcome, Outcome::Converged);
    EXPECT_LE(report.kinetic + report.potential, last + 1e-9 * std::abs(last)) << i;
    last = report.kinetic + report.potential;
    fastest = std::max(fastest, report.kinetic);
  }
  EXPECT_GT(fastest, 10);  // the floor has thrown it off
}

/// H v⁺ − k of the assembled step equals the sum of the element balances in the kernel.
TEST(FlexibleStep, AssemblyIsTheSumOfElementBalances) {
  for (const bool consistent : {false, true}) {
    const Mesh mesh = box_mesh(Vec3(1, 0.5, 0.5), 2, 1, 1);
    ModelBuilder builder;
    builder.add_body({.name = "ball", .shapes = {{.shape = Shape::sphere(0.1)}}});
    builder.add_flexible({.name = "block",
                          .mesh = mesh,
                          .young = 700,
                          .poisson = 0.2,
                          .damping_mass = 0.3,
                          .damping_stiffness = 0.01,
                          .consistent_mass = consistent,
                          .position = Vec3(0, 0, 1),
                          .fixed = {0},
                          .driven = {1}});
    const Model model = builder.build();
    const Parameters p = model.default_parameters();
    const FlexiblePart& part = model.flexible_parts()[0];
    SplitMix random(9);
    VecX q = model.rest_state().q, v = VecX::Zero(model.v_size()), at = v, next = v;
    for (Index i = part.q_begin; i < q.size(); ++i) q[i] += random.uniform(-0.05, 0.05);
    for (Index i = 0; i < v.size(); ++i) {
      v[i] = random.uniform(-1, 1);
      next[i] = random.uniform(-1, 1);
      at[i] = random.uniform(-1, 1);
    }
    const Index driven = part.v_begin[1];
    next.segment<3>(driven) = v.segment<3>(driven);
    at.segment<3>(driven) = v.segment<3>(driven);
    const double h = 0.02;
    Dynamics dynamics;
    VelocityMatrix H;
    VecX k, Hv;
    assemble_dynamics_at(model, p, q, v, at, 0, {}, h, dynamics, H, k);
    ASSERT_TRUE(H.is_symmetric());
    H.multiply(next.head(model.dynamic_v_size()), Hv);
    VecX sum = VecX::Zero(model.v_size());
    const double* g = p.values.data() + model.gravity();
    const FlexibleMaterialT<double> material{p[part.young], p[part.poisson], p[part.density],
                                             p[part.damping_mass], p[part.damping_stiffness]};
    for (Index e = 0; e < part.element_count(); ++e) {
      double x[4][3], u[4][3], a[4][3], w[4][3], out[4][3] = {};
      for (int c = 0; c < 4; ++c) {
        const Index node = part.elements[e][c];
        for (int i = 0; i < 3; ++i) {
          const Vec3 velocity = node_velocity(part, at, node);
          a[c][i] = velocity[i];
          x[c][i] = node_position(part, q, node)[i] + h * velocity[i];
          u[c][i] = node_velocity(part, v, node)[i];
          w[c][i] = node_velocity(part, next, node)[i];
        }
      }
      ElementRestT<3> rest;
      const double* stored = part.rest.data() + 13 * e;
      std::copy(stored, stored + 12, &rest.gradient[0][0]);
      rest.volume = stored[12];
      add_element_balance<3>(rest, material, false, consistent, x, u, a, w, g, h, out);
      for (int c = 0; c < 4; ++c) {
        const Index place = part.v_begin[part.elements[e][c]];
        for (int i = 0; i < 3 && place >= 0; ++i) sum[place + i] += out[c][i];
      }
    }
    for (const Index node : part.free_nodes)
      for (int i = 0; i < 3; ++i) {
        const Index place = part.v_begin[node] + i;
        EXPECT_NEAR(Hv[place] - k[place], sum[place], 1e-10);
      }
  }
}

TEST(FlexibleStep, MomentumIsKept) {
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_flexible(
      {.name = "ball", .mesh = ball_mesh(0.5, 6), .young = 1e4, .velocity = Vec3(1, 2, -0.5)});
  Trial run(builder.build(), {.h = 0.01});
  SplitMix random(2);
  for (Index i = 0; i < run.x.v.size(); ++i) run.x.v[i] += random.uniform(-1, 1);
  const Vec3 before = run.momentum();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(run.step().outcome, Outcome::Converged);
  EXPECT_LT((run.momentum() - before).norm(), 1e-10 * before.norm());
}

TEST(FlexibleStep, NewtonReachesTheImplicitStep) {
  // M (v⁺ − v) = h f(q + h v⁺) must hold at the end, although K leaves out how R turns.
  ModelBuilder builder;
  const Mesh mesh = box_mesh(Vec3(1, 0.25, 0.25), 4, 1, 1);
  builder.add_flexible(
      {.name = "beam", .mesh = mesh, .young = 2e4, .fixed = nodes_where(mesh, [](const Vec3& x) {
                                                     return x[0] == 0;
                                                   })});
  Trial run(builder.build(), {.h = 0.2, .newton_iterations = 60, .newton_tolerance = 1e-13});
  const VecX v = run.x.v;
  (void)run.step();
  VecX f;
  applied_force(run.model, run.parameters, run.x.q, run.x.v, 0, {}, f);
  VelocityMatrix M;
  assemble_mass(run.model, run.parameters, run.x.q, M);
  VecX lhs;
  M.multiply(run.x.v - v, lhs);
  EXPECT_LT((lhs - run.settings.h * f).norm(), 1e-8 * lhs.norm());
}

TEST(FlexibleStep, FallsLikeAStoneAndRestsOnTheFloor) {
  ModelBuilder builder;
  builder.add_body(
      {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  builder.add_flexible({.name = "block",
                        .mesh = box_mesh(Vec3(0.4, 0.4, 0.4), 2, 2, 2),
                        .young = 1e5,
                        .damping_mass = 2,
                        .damping_stiffness = 0.01,
                        .position = Vec3(0, 0, 0.05)});
  Trial run(builder.build(), {.h = 0.01});
  for (int i = 0; i < 300; ++i) {
    const StepReport report = run.step();
    ASSERT_EQ(report.outcome, Outcome::Converged) << i;
    ASSERT_LT(report.deepest, 1e-8);
  }
  EXPECT_LT(run.x.v.norm(), 1e-4);
  double load = 0;
  for (const WarmStart::Entry& entry : run.warm.contacts) load += entry.impulse_W[2];
  const double weight = 1000 * 0.064 * 9.81;
  EXPECT_NEAR(load / run.settings.h, weight, 1e-3 * weight);
}

TEST(FlexibleStep, PlanarBlockSticksBelowTheFrictionAngleAndSlidesAbove) {
  for (const double degrees : {20.0, 32.0}) {
    const double angle = degrees * M_PI / 180, mu = 0.5;
    ModelBuilder builder;
    builder.add_material({.name = "surface", .friction = mu});
    builder.set_gravity(9.81 * Vec3(std::sin(angle), -std::cos(angle), 0));
    builder.add_body({.name = "floor",
                      .motion = Motion::Fixed,
                      .planar = true,
                      .shapes = {{.shape = Shape::half_plane(), .material = "surface"}}});
    builder.add_flexible({.name = "block",
                          .mesh = rectangle_mesh(0.6, 0.2, 6, 2),
                          .young = 1e6,
                          .damping_mass = 0,
                          .damping_stiffness = 0.005,
                          .material = "surface"});
    Trial run(builder.build(), {.h = 0.01});
    for (int i = 0; i < 100; ++i) ASSERT_EQ(run.step().outcome, Outcome::Converged) << i;
    const double mass = 1000 * 0.12, speed = run.momentum()[0] / mass;
    const double a = 9.81 * (std::sin(angle) - mu * std::cos(angle));
    if (a < 0) {
      EXPECT_LT(std::abs(speed), 1e-3);
    } else {
      EXPECT_NEAR(speed, a, 2e-3 * a);
    }
  }
}

TEST(FlexibleStep, TiedNodesFollowTheirBody) {
  ModelBuilder builder;
  const Mesh mesh = box_mesh(Vec3(1, 0.2, 0.2), 5, 1, 1);
  builder.set_gravity(Vec3::Zero());
  builder.add_body({.name = "hub",
                    .velocity = Vec3(0, 0, 0.3),
                    .angular_velocity = Vec3(0, 0.5, 0),
                    .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1)}}});
  builder.add_flexible(
      {.name = "beam",
       .mesh = mesh,
       .young = 1e6,
       .position = Vec3(0.1, -0.1, -0.1),
       .attachments = {{"hub", nodes_where(mesh, [](const Vec3& x) { return x[0] == 0; })}}});
  Trial run(builder.build(), {.h = 0.005});
  EXPECT_EQ(run.model.tie_row_count(), 12);
  const Body& hub = run.model.body(BodyId{0});
  const auto total = [&] {
    return Vec3(run.momentum() + run.parameters[hub.mass] * run.x.v.segment<3>(hub.v_begin));
  };
  const Vec3 before = total();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(run.step().outcome, Outcome::Converged) << i;
    ASSERT_LT(largest_tie_error(run.model, run.x.q), 1e-4);
  }
  EXPECT_LT((total() - before).norm(), 1e-9 * before.norm());
}

TEST(FlexibleStep, PartsRestOnEachOther) {
  ModelBuilder builder;
  builder.add_body(
      {.name = "floor", .motion = Motion::Fixed, .shapes = {{.shape = Shape::half_space()}}});
  for (int i = 0; i < 2; ++i)
    builder.add_flexible({.name = "block" + std::to_string(i),
                          .mesh = box_mesh(Vec3(0.4, 0.4, 0.2), 2, 2, 1),
                          .young = 1e5,
                          .damping_mass = 5,
                          .damping_stiffness = 0.01,
                          .position = Vec3(0.05 * i, 0.07 * i, 0.205 * i)});
  Trial run(builder.build(), {.h = 0.01});
  for (int i = 0; i < 200; ++i) ASSERT_EQ(run.step().outcome, Outcome::Converged) << i;
  EXPECT_LT(run.x.v.norm(), 1e-3);
  // Nodes of one part bear on faces of the other: four blocks per row.
  double load = 0;
  for (const WarmStart::Entry& e : run.warm.contacts)
    if (e.key.body_a == run.model.flexible_parts()[0].uid)
      load += (e.key.shape_a == 1 ? 1 : -1) * e.impulse_W[2];
  const double weight = 1000 * 0.032 * 9.81;
  EXPECT_NEAR(load / run.settings.h, weight, 2e-3 * weight);
}

TEST(FlexibleStep, RigidBallLiesOnASoftMat) {
  // The ball touches the mat inside a face, far from its nodes.
  ModelBuilder builder;
  const Mesh mesh = box_mesh(Vec3(1, 1, 0.2), 2, 2, 1);
  builder.add_body({.name = "ball",
                    .position = Vec3(0.3, 0.2, 0.1 + 0.2),
                    .shapes = {{.shape = Shape::sphere(0.1), .density = 500}}});
  builder.add_flexible({.name = "mat",
                        .mesh = mesh,
                        .young = 1e6,
                        .damping_mass = 5,
                        .damping_stiffness = 0.005,
                        .fixed = nodes_where(mesh, [](const Vec3& x) { return x[2] == 0; })});
  Trial run(builder.build(), {.h = 0.01});
  for (int i = 0; i < 150; ++i) {
    const StepReport report = run.step();
    ASSERT_EQ(report.outcome, Outcome::Converged) << i;
    ASSERT_LT(report.deepest, 1e-8);
  }
  EXPECT_NEAR(run.x.q[2], 0.3, 2e-3);
  Vec3 push = Vec3::Zero();
  for (const WarmStart::Entry& e : run.warm.contacts) push += e.impulse_W / run.settings.h;
  const double weight = run.parameters.get("body/ball.mass") * 9.81;
  EXPECT_NEAR(push[2], weight, 0.02 * weight);
}

TEST(FlexibleStep, BeamOnRollersComesToRest) {
  // The rollers touch the faces along lines; with one point per face the beam rocked on them for
  // ever.
  for (const double friction : {0.0, 0.3}) {
    ModelBuilder builder;
    builder.add_material({.name = "surface", .friction = friction});
    for (const double x : {0.2, 0.8})
      builder.add_body({.name = x < 0.5 ? "left" : "right",
                        .motion = Motion::Fixed,
                        .position = Vec3(x, 0.1, -0.03),
                        .orientation = {std::sqrt(0.5), 0, 0, std::sqrt(0.5)},  // along y
                        .shapes = {{.shape = Shape::capsule(0.03, 0.2), .material = "surface"}}});
    builder.add_flexible({.name = "beam",
                          .mesh = box_mesh(Vec3(1, 0.2, 0.1), 10, 2, 2),
                          .young = 2e5,
                          .damping_mass = 3,
                          .damping_stiffness = 0.01,
                          .material = "surface"});
    Trial run(builder.build(), {.h = 0.02});
    StepReport report;
    for (int i = 0; i < 200; ++i) {
      report = run.step();
      ASSERT_EQ(report.outcome, Outcome::Converged) << i;
      ASSERT_LT(report.deepest, 1e-9);
    }
    EXPECT_LT(run.x.v.cwiseAbs().maxCoeff(), 1e-6);
    double load = 0;  // impulses are those on the beam at a node, on the roller at a face
    for (const WarmStart::Entry& e : run.warm.contacts)
      load += (e.key.shape_b == 1 ? -1 : 1) * e.impulse_W[2] / run.settings.h;
    EXPECT_NEAR(load, 1000 * 0.02 * 9.81, 1e-4);
  }
}

TEST(FlexibleStep, AnElementThatWouldInvertCutsTheStep) {
  ModelBuilder builder;
  const Mesh mesh = box_mesh(Vec3(0.1, 0.1, 0.1), 1, 1, 1);
  builder.set_gravity(Vec3::Zero());
  builder.add_flexible(
      {.name = "cube", .mesh = mesh, .young = 1e3, .fixed = nodes_where(mesh, [](const Vec3& x) {
                                                     return x[2] == 0;
                                                   })});
  Trial run(builder.build(), {.h = 0.05});
  for (const Index node : run.part().free_nodes) run.x.v[run.part().v_begin[node] + 2] = -8;
  const StepReport report = run.step();
  EXPECT_GT(report.cuts, 0);
  EXPECT_EQ(report.inverted, inverted_elements(run.model, run.x.q));
  EXPECT_NEAR(run.x.t, 0.05, 1e-15);
  EXPECT_TRUE(run.x.q.allFinite());
}

TEST(FlexibleStep, BadInputIsNamed) {
  const Mesh mesh = box_mesh(Vec3::Ones(), 1, 1, 1);
  const auto message = [](FlexibleSpec spec) {
    ModelBuilder builder;
    builder.add_flexible(std::move(spec));
    try {
      (void)builder.build();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({.name = "a", .mesh = mesh}), "");
  EXPECT_EQ(message({.name = "a", .mesh = mesh, .young = 0}),
            "flexible part 'a': young must be finite and > 0, got 0");
  EXPECT_NE(message({.name = "a", .mesh = mesh, .poisson = 0.5}).find("poisson"),
            std::string::npos);
  EXPECT_NE(message({.name = "a", .mesh = mesh, .density = -1}).find("density"), std::string::npos);
  EXPECT_NE(message({.name = "a", .mesh = mesh, .fixed = {8}}).find("`fixed`"), std::string::npos);
  EXPECT_NE(message({.name = "a", .mesh = mesh, .material = "rubber"}).find("rubber"),
            std::string::npos);
  EXPECT_NE(message({.name = "a", .mesh = mesh, .attachments = {{"wall", {0}}}}).find("wall"),
            std::string::npos);
  ModelBuilder builder;
  builder.add_flexible({.name = "a", .mesh = mesh});
  Trial run(builder.build(), {.integrator = Integrator::Rattle});
  EXPECT_THROW((void)run.step(), Error);
  Parameters bad = run.parameters;
  bad.set("fe/a.poisson", 0.7);
  EXPECT_THROW(validate(run.model, bad), Error);
}

// A crate that slides, turning, while a block hangs far away: further Newton steps of the block are
// none of the crate's, whose spin stays held (impact_events).
TEST(FlexibleStep, NewtonStepsLeaveAnotherBodyAlone) {
  State end[2];
  for (const int newton : {1, 4}) {
    ModelBuilder builder;
    builder.add_material({.name = "surface", .friction = 0.3});
    builder.add_body({.name = "floor",
                      .motion = Motion::Fixed,
                      .shapes = {{.shape = Shape::half_space(), .material = "surface"}}});
    builder.add_body({.name = "crate",
                      .position = Vec3(0, 0, 0.45),
                      .orientation = exp_rotation(Vec3(0.4, 0.7, 0.2)),
                      .velocity = Vec3(1, 0, -1),
                      .angular_velocity = Vec3(3, 5, -4),
                      .shapes = {{.shape = Shape::box(0.1, 0.2, 0.3), .material = "surface"}}});
    const Mesh mesh = box_mesh(Vec3(0.2, 0.2, 0.2), 1, 1, 1);
    builder.add_flexible({.name = "block",
                          .mesh = mesh,
                          .young = 2e4,
                          .poisson = 0.25,
                          .position = Vec3(50, 0, 5),
                          .fixed = nodes_where(mesh, [](const Vec3& x) { return x[2] == 0; })});
    Trial trial(builder.build(), {.h = 0.01, .impact_events = true, .newton_iterations = newton});
    trial.settings.solver.tolerance = 1e-13;
    trial.settings.newton_tolerance = 1e-15;
    for (int i = 0; i < 20; ++i) (void)trial.step();
    end[newton > 1] = trial.x;
  }
  const VecX v = end[0].v.head(6);
  EXPECT_LT((end[1].v.head(6) - v).norm(), 1e-7 * v.norm());
}

}  // namespace
}  // namespace orthant
