// SPDX-License-Identifier: Apache-2.0
// reproduce/rods.cpp: spherocylinders in a periodic box at 30 % volume fraction, driven along their
// axes and kicked by heat: time, memory and overlap of a step at scale.
//   radius 0.5, tip to tip 2; slender-body drag; k_B T = 1, active force 2, dt = 1e-3
// They start parallel on a lattice, tilted at random within their cells, so that nothing touches;
// kicks of 0.03 per step bring them together within a few steps.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/base/process.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/session.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kRadius = 0.5, kHalf = 0.5, kFraction = 0.3, kTolerance = 1e-5, kPush = 2;

struct Suspension {
  Model model;
  PeriodicBox box;
};

/// Along the body axis, the same for all.
class ActiveForce : public ForceCallback {
 public:
  void add_force(const Model& model, const Parameters&, const VecX& q, const VecX&, double,
                 VecX& f) const override {
    for (const BodyId id : model.dynamic_bodies()) {
      const Body& body = model.body(id);
      f.segment<3>(body.v_begin) += kPush * rotate(body_pose(body, q.data()).p, Vec3(1, 0, 0));
    }
  }
};

Suspension suspension(int count) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  const double volume =
      std::numbers::pi * kRadius * kRadius * (2 * kHalf + 4.0 / 3 * kRadius) / kFraction;
  const double a = std::cbrt(volume / 2);  // cells 2a x a x a
  const int nx = std::max(2, static_cast<int>(std::lround(std::cbrt(count / 4.0))));
  const int ny = std::max(3, static_cast<int>(std::lround(std::sqrt(count / double(nx)))));
  const int nz = (count + nx * ny - 1) / (nx * ny);
  for (int i = 0; i < count; ++i) {
    BodySpec body;
    body.name = "r" + std::to_string(i);
    const int x = i % nx, y = i / nx % ny, z = i / nx / ny;
    body.position = a * Vec3(2 * (x + 0.5), y + 0.5, z + 0.5);
    std::uint64_t bits = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15U;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
    const double u = static_cast<double>(bits >> 32) * 0x1p-32 - 0.5;
    const double w = static_cast<double>(bits & 0xffffffffU) * 0x1p-32 - 0.5;
    body.orientation = exp_rotation(Vec3(0, 0.2 * u, 0.2 * w));
    body.shapes.push_back({.shape = Shape::capsule(kRadius, kHalf), .material = "smooth"});
    body.drag = 1;
    body.length = 2 * (kHalf + kRadius);
    builder.add_body(body);
  }
  builder.add_force(
      CallbackSpec{.name = "active", .body = "r0", .callback = std::make_shared<ActiveForce>()});
  PeriodicBox box;
  box.active = {true, true, true};
  box.hi = a * Vec3(2 * nx, ny, nz);
  return {builder.build(), box};
}

StepSettings settings_of(const PeriodicBox& box) {
  StepSettings s;
  s.h = 1e-3;
  s.constraints = ConstraintScheme::Relcp;
  s.overlap_tolerance = kTolerance / kRadius;
  s.contact_margin = 0.1;
  s.solver.tolerance = 1e-7;
  s.periodic = box;
  s.drag_ratio = 2;
  s.thermal_energy = 1;
  return s;
}

/// All of a run but the model.
struct Progress {
  State x;
  WarmStart warm;
  int steps = 0, most_solves = 0;
  double rows = 0, first_rows = 0, solves = 0, iterations = 0, deepest = 0, failed = 0, seconds = 0;
  double last_rows = 0;

  void visit(Archive& a) {
    a(x, warm, steps, most_solves, rows, first_rows, solves, iterations, deepest, failed, seconds,
      last_rows);
  }
};

}  // namespace

Result run_rods(const Options& options) {
  Result result;
  const int count = options.size > 0 ? options.size : options.quick ? 200 : 100000;
  const int steps = options.quick ? 20 : 200;
  const double memory_before = peak_memory();
  const Suspension scene = suspension(count);
  const Parameters parameters = scene.model.default_parameters();
  const double memory_model = peak_memory() - memory_before;
  const StepSettings settings = settings_of(scene.box);
  Progress run;
  run.x = scene.model.rest_state();
  Session session(options, "rods", std::to_string(count) + (options.quick ? " quick" : ""));
  (void)session.resume(run);
  StepWorkspace work;
  bool over = run.steps >= steps;
  while (!over) {
    const double start = processor_seconds();
    const StepReport r = step(scene.model, parameters, settings, {}, run.x, run.warm, work);
    run.seconds += processor_seconds() - start;
    run.rows += r.constraints;
    run.last_rows = r.constraints;
    run.first_rows += r.contacts;
    run.solves += r.recursions + 1;
    run.iterations += r.iterations;
    run.deepest = std::max(run.deepest, r.deepest);
    run.failed += r.outcome != Outcome::Converged;
    run.most_solves = std::max(run.most_solves, r.recursions + 1);
    ++run.steps;
    if (options.progress)
      options.progress(static_cast<double>(run.steps) / steps,
                       "rods, " + std::to_string(r.constraints) + " rows");
    over = session.ends_after_step(run) || run.steps >= steps;
  }
  const double done = run.steps, memory = peak_memory() - memory_before;
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(hash_of(run.x)));
  result.tables.push_back(
      {"Rods in a periodic box at 30 % volume fraction, dt = 0.001",
       {"rods", "steps", "rows at first", "rows at last", "mean solves", "most",
        "iterations per step", "CPU s", "us per rod and step", "deepest overlap", "MB", "state"},
       {{std::to_string(count), number(done), number(run.first_rows / done, 6),
         number(run.rows / done, 6), number(run.solves / done), std::to_string(run.most_solves),
         number(run.iterations / done, 4), number(run.seconds, 4),
         number(1e6 * run.seconds / done / count), number(run.deepest),
         memory > 0 ? number(1e-6 * memory, 4) : "not seen", hash}}});
  if (memory_model > 0)  // the peak does not rise where an earlier experiment took more
    result.notes.push_back(
        number(memory_model / count) +
        " bytes per rod for model, parameters and state; the rest of the memory is " +
        number((memory - memory_model) / std::max(1.0, run.last_rows)) +
        " bytes per constraint of the last step");
  result.checks.push_back({"overlap at every step", run.deepest, 1.0001 * kTolerance});
  result.checks.push_back({"steps not converged", run.failed, 0});
  if (run.steps < steps) {
    session.tell_unfinished(result);
    return result;
  }
  session.finish();
  return result;
}

}  // namespace orthant::reproduce
