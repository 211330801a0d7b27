// SPDX-License-Identifier: Apache-2.0
// reproduce/chainmail.cpp: interlaced rings pulled apart by a radial field (ReLCP paper, 4.4).
// Lattice: n x n flat rings on a square grid of spacing 2.6, each joined to its neighbours by an
// upright ring halfway, which passes through both: 2 n (n - 1) of them. Tori (1.0, 0.1).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/base/process.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/field.hpp"
#include "reproduce/session.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kMajor = 1, kMinor = 0.1, kSpacing = 2.6, kStep = 1e-3;

Model chainmail(int n) {
  ModelBuilder builder;
  builder.set_law(LawOfMotion::Overdamped);
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "smooth", .friction = 0});
  int count = 0;
  const auto ring = [&](double i, double j, const Vec3& turn) {
    BodySpec body;
    body.name = "r" + std::to_string(count++);
    body.position = kSpacing * Vec3(i - 0.5 * (n - 1), j - 0.5 * (n - 1), 0);
    body.orientation = exp_rotation(turn);
    body.shapes.push_back({.shape = Shape::torus(kMajor, kMinor), .material = "smooth"});
    body.drag = 1;
    body.length = 2 * (kMajor + kMinor);
    builder.add_body(body);
  };
  const double quarter = 0.5 * std::numbers::pi;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      ring(i, j, Vec3::Zero());
      if (i + 1 < n) ring(i + 0.5, j, Vec3(quarter, 0, 0));  // its plane holds x and z
      if (j + 1 < n) ring(i, j + 0.5, Vec3(0, quarter, 0));  // y and z
    }
  builder.add_force(
      CallbackSpec{.name = "field", .body = "r0", .callback = std::make_shared<RadialField>(1)});
  return builder.build();
}

struct Run {
  std::vector<double> time, overlap, extent;
  double deepest = 0, failed = 0, solves = 0, rows = 0, seconds = 0;
  int most_solves = 0, steps = 0;

  void visit(Archive& a) {
    a(time, overlap, extent, deepest, failed, solves, rows, seconds, most_solves, steps);
  }
};

constexpr ConstraintScheme kSchemes[] = {ConstraintScheme::Relcp, ConstraintScheme::Single,
                                         ConstraintScheme::Multisphere};

/// The runs of all methods, one after another.
struct Progress {
  std::vector<Run> runs = std::vector<Run>(3);
  int method = 0;  // the one that runs
  State x;
  WarmStart warm;

  void visit(Archive& a) { a(runs, method, x, warm); }
};

/// Steps of one method from where it stands. False when the session ends first.
bool simulate(const Model& model, int steps, const Options& options, Session& session,
              Progress& progress) {
  StepSettings settings;
  settings.h = kStep;
  settings.constraints = kSchemes[progress.method];
  settings.sub_spheres = 32;
  settings.overlap_tolerance = 1e-5 / kMinor;
  settings.contact_margin = 0.5;
  settings.solver.tolerance = 1e-9;
  const Parameters parameters = model.default_parameters();
  StepWorkspace work;
  Run& run = progress.runs[static_cast<std::size_t>(progress.method)];
  while (run.steps < steps) {
    const double start = processor_seconds();
    const StepReport r = step(model, parameters, settings, {}, progress.x, progress.warm, work);
    run.seconds += processor_seconds() - start;
    run.deepest = std::max(run.deepest, r.deepest);
    run.failed += r.outcome != Outcome::Converged;
    run.solves += r.recursions + 1;
    run.rows += r.constraints;
    run.most_solves = std::max(run.most_solves, r.recursions + 1);
    if (run.steps++ % 20 == 0) {
      run.time.push_back(progress.x.t);
      run.overlap.push_back(std::max(r.deepest, 1e-9));
      double reach = 0;
      for (const BodyId id : model.dynamic_bodies())
        reach = std::max(reach, progress.x.q.segment<3>(model.body(id).q_begin).norm());
      run.extent.push_back(reach);
      if (options.progress)
        options.progress((progress.method + static_cast<double>(run.steps) / steps) / 3,
                         "chainmail, t = " + number(progress.x.t, 4));
    }
    if (session.ends_after_step(progress)) return false;
  }
  return true;
}

}  // namespace

Result run_chainmail(const Options& options) {
  Result result;
  const int n = options.size > 0 ? options.size : options.quick ? 2 : 8;
  const Model model = chainmail(n);
  // Taut when the upright rings reach the wires: the spacing may grow by 1. Time for the corner.
  const int steps = options.quick ? 2500 : static_cast<int>((4 + 1.5 * n) / kStep);
  Session session(options, "chainmail", std::to_string(n) + (options.quick ? " quick" : ""));
  Progress progress;
  bool resumed = session.resume(progress), over = true;
  while (over && progress.method < 3) {
    if (!resumed) {
      progress.x = model.rest_state();
      progress.warm = {};
    }
    resumed = false;
    over = simulate(model, steps, options, session, progress);
    if (over) ++progress.method;
  }
  if (over)
    session.finish();
  else
    result.notes.push_back(session.unfinished());
  const Run &relcp = progress.runs[0], &single = progress.runs[1], &spheres = progress.runs[2];
  Table table{"Chainmail of " + std::to_string(model.dynamic_count()) + " rings, dt = 0.001, " +
                  std::to_string(steps) + " steps",
              {"method", "steps", "mean rows", "deepest overlap", "of the minor radius",
               "mean solves", "most solves", "extent", "CPU s", "published"},
              {}};
  const auto add = [&](const char* name, const Run& r, const char* published) {
    if (r.steps == 0) return;
    table.rows.push_back({name, std::to_string(r.steps), number(r.rows / r.steps, 4),
                          number(r.deepest), number(r.deepest / kMinor), number(r.solves / r.steps),
                          std::to_string(r.most_solves), number(r.extent.back(), 4),
                          number(r.seconds), published});
  };
  add("ReLCP", relcp, "<= 1e-5");
  add("single", single, "above the minor radius at times");
  add("multisphere 32", spheres, "about 60 % of the minor radius");
  result.tables.push_back(std::move(table));
  result.checks.push_back({"ReLCP overlap at every step", relcp.deepest, 1.0001e-5});
  result.checks.push_back({"ReLCP steps not converged", relcp.failed, 0});
  if (!over) return result;
  // The baselines must show what they are known for, or the comparison says nothing; four rings are
  // not enough for that.
  if (!options.quick)
    result.checks.push_back({"sub-spheres: minor radius over true overlap",
                             kMinor / std::max(spheres.deepest, 1e-12), 5});
  result.checks.push_back({"the mail spread: extent before over after",
                           relcp.extent.front() / relcp.extent.back(), 0.95});
  const Curve curves[] = {{"ReLCP", relcp.time, relcp.overlap},
                          {"single", single.time, single.overlap},
                          {"32 spheres", spheres.time, spheres.overlap}};
  write_file(options, "chainmail.svg",
             plot_svg("Chainmail: true overlap", "t", "overlap", curves, false, true), result);
  const std::string names[] = {"t", "relcp", "single", "multisphere"};
  const std::vector<double> columns[] = {relcp.time, relcp.overlap, single.overlap,
                                         spheres.overlap};
  write_file(options, "chainmail.csv", to_csv(names, columns), result);
  return result;
}

}  // namespace orthant::reproduce
