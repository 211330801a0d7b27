// SPDX-License-Identifier: Apache-2.0
// reproduce/capsules.cpp: three capsules that overlap at first (ReLCP paper, figure 2). One
// constraint at the deepest point leaves the turn about it free: the bodies jitter from step to
// step. The recursion adds rows until nothing overlaps.
#include <algorithm>
#include <cmath>

#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kRadius = 0.5, kHalf = 2, kStep = 1;
// The lowest is held, the others are pressed on it.
constexpr double kHeights[] = {0, 0.9, 1.8}, kAngles[] = {0, 0.03, -0.02}, kPush[] = {0, -1, -1};

struct Jitter {
  double overlap_first = 0, overlap_late = 0;  // after the first step; the largest of the last half
  double turn = 0;                             // mean |change of angle| per step, last half [rad]
  int flips = 0;                               // of the sense of turning, last half
  double solves = 0, failed = 0;
  Curve overlap, angle;
};

Jitter run(ConstraintScheme scheme, const char* name, int steps) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  for (int i = 0; i < 3; ++i) {
    BodySpec body;
    body.name = "capsule" + std::to_string(i);
    body.motion = i == 0 ? Motion::Fixed : Motion::Planar;
    body.planar = true;
    body.position = Vec3(0.1 * i, kHeights[i], 0);
    body.angle = kAngles[i];
    body.shapes.push_back({.shape = Shape::stadium(kRadius, kHalf), .material = "smooth"});
    body.drag = 1;
    body.length = 2 * (kHalf + kRadius);
    builder.add_body(body);
    if (kPush[i] != 0)
      builder.add_force(BodyForceSpec{
          .name = body.name + "_push", .body = body.name, .force = Vec3(0, kPush[i], 0)});
  }
  const Model model = builder.build();
  const Parameters parameters = model.default_parameters();
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  StepSettings settings;
  settings.h = kStep;
  settings.constraints = scheme;
  settings.solver.tolerance = 1e-12;
  const Index middle = model.body(model.find_body("capsule1")).q_begin + 2;
  Jitter out;
  out.overlap.name = out.angle.name = name;
  double before = 0;
  for (int i = 0; i < steps; ++i) {
    const double angle = x.q[middle];
    const StepReport r = step(model, parameters, settings, {}, x, warm, work);
    const double turn = x.q[middle] - angle;
    out.failed += r.outcome != Outcome::Converged;
    out.solves += static_cast<double>(r.recursions + 1) / steps;
    if (i == 0) out.overlap_first = r.deepest;
    if (2 * i >= steps) {
      out.overlap_late = std::max(out.overlap_late, r.deepest);
      out.turn += 2 * std::abs(turn) / steps;
      out.flips += turn * before < 0;
    }
    before = turn;
    out.overlap.x.push_back(i + 1);
    out.overlap.y.push_back(std::max(r.deepest, 1e-9));
    out.angle.x.push_back(i + 1);
    out.angle.y.push_back(x.q[middle]);
  }
  return out;
}

std::string scene(const char* scheme) {
  std::string text = std::string("orthant: 1\nname: three capsules, ") + scheme +
                     "\ndescription: pressed together, overlapping at first\nworld: {planar: true, "
                     "law: overdamped, gravity: [0, 0]}\nmaterials: [{name: smooth, friction: "
                     "0}]\nbodies:\n";
  std::string forces = "forces:\n";
  for (int i = 0; i < 3; ++i) {
    const std::string name = "capsule" + std::to_string(i);
    text += "  - {name: " + name + (i == 0 ? ", motion: fixed" : "") + ", position: [" +
            number(0.1 * i) + ", " + number(kHeights[i]) + "], angle: " + number(kAngles[i]) +
            ", drag: 1, length: " + number(2 * (kHalf + kRadius)) +
            ", shapes: {type: stadium, radius: " + number(kRadius) +
            ", half_length: " + number(kHalf) + ", material: smooth}}\n";
    if (kPush[i] != 0)
      forces += "  - {type: body, name: push" + std::to_string(i) + ", body: " + name +
                ", force: [0, " + number(kPush[i]) + "]}\n";
  }
  return text + forces + "step: {h: " + number(kStep) + ", constraints: " + scheme +
         "}\nrun: {steps: 100}\n";
}

}  // namespace

Result run_capsules(const Options& options) {
  Result result;
  const int steps = 100;
  const Jitter single = run(ConstraintScheme::Single, "single", steps),
               relcp = run(ConstraintScheme::Relcp, "ReLCP", steps);
  Table table{
      "Three capsules pressed together, dt = 1, 100 steps (figure 2)",
      {"method", "overlap after a step", "largest overlap, last 50 steps",
       "mean turn of the middle one [rad]", "changes of its sense", "mean solves", "published"},
      {}};
  const auto add = [&](const char* name, const Jitter& j, const char* published) {
    table.rows.push_back({name, number(j.overlap_first), number(j.overlap_late), number(j.turn),
                          std::to_string(j.flips), number(j.solves), published});
  };
  add("single", single, "jitters from step to step");
  add("ReLCP", relcp, "free of overlap within one step");
  result.tables.push_back(std::move(table));
  result.checks.push_back({"ReLCP overlap after the first step", relcp.overlap_first, 1e-5});
  result.checks.push_back({"ReLCP overlap later", relcp.overlap_late, 1e-5});
  result.checks.push_back({"ReLCP steps not converged", relcp.failed, 0});
  result.checks.push_back(
      {"ReLCP: changes of sense over those of the single constraint",
       (relcp.turn < 1e-9 ? 0.0 : relcp.flips) / std::max(1.0, 1.0 * single.flips), 0.1});
  result.checks.push_back({"overlap of ReLCP over that of the single constraint",
                           relcp.overlap_late / single.overlap_late, 1e-2});
  const Curve overlaps[] = {single.overlap, relcp.overlap}, angles[] = {single.angle, relcp.angle};
  write_file(options, "capsules_overlap.svg",
             plot_svg("Figure 2: overlap", "step", "overlap", overlaps, false, true), result);
  write_file(options, "capsules_angle.svg",
             plot_svg("Figure 2: angle of the middle capsule", "step", "rad", angles), result);
  result.scenes.push_back({"single_run", "one constraint per pair", scene("single")});
  result.scenes.push_back({"relcp_run", "the recursion", scene("relcp")});
  result.notes.push_back(
      "the paper gives neither sizes nor forces of its three capsules: radius 0.5, length 5, "
      "pressed "
      "on the lowest by unit forces, 0.1 too near at first");
  return result;
}

}  // namespace orthant::reproduce
