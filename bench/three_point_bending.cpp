// SPDX-License-Identifier: Apache-2.0
// Three-point bending: a soft beam on two cylinders, a third one driven down, with hard contact in
// the step and, for comparison, with penalty contact. Prints force against deflection for three
// steps and three meshes, iterations a step, and the largest step at which each contact is stable.
//   beam 1.3 × 0.6 × 0.15 m, E = 1e7 Pa, ν = 0.3, 1000 kg/m³; cylinders ⌀ 0.05 m, supports 1 m
//   apart; driven 0.2 m at 1 m/s, then held to t = 1 s; frictionless unless asked
// Usage: bench_three_point_bending [--quick]
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant {
namespace {

constexpr double kRadius = 0.025, kStroke = 0.2, kSpeed = 1, kEnd = 1;
const Vec3 kSize(1.3, 0.6, 0.15);

/// Cells: nx × ny × nz. `hard`: contact in the step; else every surface node has a force of its
/// own.
Model bending(Index nx, Index ny, Index nz, double friction, bool hard) {
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = friction});
  const Eigen::Quaterniond turn = Eigen::Quaterniond::FromTwoVectors(Vec3::UnitX(), Vec3::UnitY());
  const Quat along_y{turn.w(), turn.x(), turn.y(), turn.z()};
  const Vec3 places[3] = {
      {0.15, 0.3, -kRadius}, {1.15, 0.3, -kRadius}, {0.65, 0.3, kSize[2] + kRadius}};
  for (int i = 0; i < 3; ++i)
    builder.add_body({.name = i == 2 ? "ram" : "support" + std::to_string(i),
                      .motion = i == 2 ? Motion::Kinematic : Motion::Fixed,
                      .position = places[i],
                      .orientation = along_y,
                      .shapes = {{.shape = Shape::capsule(kRadius, 0.4), .material = "surface"}}});
  const Mesh mesh = box_mesh(kSize, nx, ny, nz);
  builder.add_flexible({.name = "beam",
                        .mesh = mesh,
                        .young = 1e7,
                        .poisson = 0.3,
                        .density = 1000,
                        .contact = hard,
                        .material = "surface"});
  if (!hard) {
    const Model whole = builder.build();
    for (const Index node : whole.flexible_parts()[0].surface_nodes)
      builder.add_force(
          NodeForceSpec{.name = "n" + std::to_string(node), .part = "beam", .nodes = {node}});
  }
  return builder.build();
}

struct Outcome3 {
  bool stable = false;
  double force_at_stroke = 0, force_at_end = 0, deepest = 0;  // [N, N, m]
  double iterations = 0;                                      // mean a step
  int failed = 0, cuts = 0;
  std::vector<std::pair<double, double>> curve;  // deflection, force
};

/// The ram's way after t.
double way(double t) { return std::min(kStroke, kSpeed * t); }

bool sound(const Model& model, const State& x) {
  return x.q.allFinite() &&
         x.q.tail(x.q.size() - model.flexible_parts()[0].q_begin).cwiseAbs().maxCoeff() < 3;
}

Outcome3 run_hard(const Model& model, double h, int newton) {
  Outcome3 out;
  const Parameters parameters = model.default_parameters();
  StepSettings settings{.h = h, .newton_iterations = newton, .newton_tolerance = 1e-6};
  settings.solver.tolerance = 1e-9;
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  const Body& ram = model.body(model.find_body("ram"));
  const int steps = static_cast<int>(std::ceil(kEnd / h - 1e-9));
  out.stable = true;
  for (int i = 0; i < steps; ++i) {
    x.v[ram.v_begin + 2] = -(way(x.t + h) - way(x.t)) / h;
    const StepReport report = step(model, parameters, settings, {}, x, warm, work);
    out.iterations += static_cast<double>(report.iterations) / steps;
    out.failed += report.outcome != Outcome::Converged;
    out.cuts += report.cuts;
    out.deepest = std::max(out.deepest, report.deepest);
    double force = 0;
    for (const WarmStart::Entry& e : warm.contacts)
      if (e.key.body_a == ram.uid)  // on the ram where a face bears on it, on the beam at a node
        force += (e.key.shape_b == 1 ? 1 : -1) * e.impulse_W[2] / h;
    out.curve.emplace_back(way(x.t), force);
    if (out.force_at_stroke == 0 && way(x.t) > kStroke - 1e-9) out.force_at_stroke = force;
    out.force_at_end = force;
    if (!sound(model, x)) {
      out.stable = false;
      break;
    }
  }
  // Held for most of a second, the beam must have come to rest under a steady force.
  out.stable = out.stable && x.v.cwiseAbs().maxCoeff() < 1;
  return out;
}

/// Penalty: k times the overlap of each surface node with each cylinder, at the start of the step.
Outcome3 run_penalty(const Model& model, double h, double stiffness) {
  Outcome3 out;
  Parameters parameters = model.default_parameters();
  const StepSettings settings{.h = h};
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  const FlexiblePart& part = model.flexible_parts()[0];
  const Body& ram = model.body(model.find_body("ram"));
  const int steps = static_cast<int>(std::ceil(kEnd / h - 1e-9));
  out.stable = true;
  for (int i = 0; i < steps && out.stable; ++i) {
    x.v[ram.v_begin + 2] = -(way(x.t + h) - way(x.t)) / h;
    double force = 0;
    for (const NodeForce& load : model.node_forces()) {
      const Vec3 p = node_position(part, x.q, load.nodes[0]);
      Vec3 push = Vec3::Zero();
      for (const Body& body : model.bodies()) {
        const Vec3 c = x.q.segment<3>(body.q_begin);
        const Vec3 d(p[0] - c[0], 0, p[2] - c[2]);
        const double overlap = kRadius - d.norm();
        if (overlap <= 0) continue;
        out.deepest = std::max(out.deepest, overlap);
        push += stiffness * overlap * d.normalized();
        if (&body == &ram) force -= stiffness * overlap * d[2] / d.norm();
      }
      for (int a = 0; a < 3; ++a) parameters.values[load.parameter_begin + a] = push[a];
    }
    (void)step(model, parameters, settings, {}, x, warm, work);
    out.force_at_end = force;
    out.stable = sound(model, x);
  }
  out.stable = out.stable && x.v.cwiseAbs().maxCoeff() < 1;
  return out;
}

void print(const char* what, double h, const Outcome3& o) {
  std::printf(
      "%-22s h %-6g stable %d  force at stroke %8.1f N, at 1 s %8.1f N  iterations/step "
      "%5.1f  failed %d  cuts %d  deepest %.1e m\n",
      what, h, o.stable, o.force_at_stroke, o.force_at_end, o.iterations, o.failed, o.cuts,
      o.deepest);
  std::fflush(stdout);
}

}  // namespace

int bending_main(bool quick) {
  const Model coarse = bending(26, 12, 3, 0, true);
  std::printf("hard contact, mesh 26 x 12 x 3\n");
  const std::vector<double> hard_steps =
      quick ? std::vector<double>{0.1, 0.06} : std::vector<double>{0.1, 0.06, 0.05, 0.02, 0.01};
  for (const double h : hard_steps) {
    const Outcome3 o = run_hard(coarse, h, 1);
    print("linearly implicit", h, o);
    if (h == 0.02) {
      for (const auto& [deflection, force] : o.curve)
        if (deflection < kStroke) std::printf("    %.3f m  %8.1f N\n", deflection, force);
    }
  }
  print("newton 5", 0.05, run_hard(coarse, 0.05, 5));
  print("friction 0.5", 0.05, run_hard(bending(26, 12, 3, 0.5, true), 0.05, 1));
  if (!quick) {
    std::printf("meshes at h = 0.02\n");
    print("13 x 6 x 2", 0.02, run_hard(bending(13, 6, 2, 0, true), 0.02, 1));
    print("26 x 12 x 3", 0.02, run_hard(coarse, 0.02, 1));
    print("39 x 12 x 5", 0.02, run_hard(bending(39, 12, 5, 0, true), 0.02, 1));
  }
  std::printf("penalty contact, 2e5 N/m a node\n");
  const Model soft = bending(26, 12, 3, 0, false);
  const std::vector<double> penalty_steps =
      quick ? std::vector<double>{0.02} : std::vector<double>{0.05, 0.02, 0.01, 0.005};
  for (const double h : penalty_steps) print("penalty", h, run_penalty(soft, h, 2e5));
  return 0;
}

}  // namespace orthant

int main(int argc, char** argv) {
  return orthant::bending_main(argc > 1 && std::strcmp(argv[1], "--quick") == 0);
}
