// SPDX-License-Identifier: Apache-2.0
// reproduce/chainmail.cpp: interlaced rings pulled apart by a radial field (ReLCP paper, 4.4).
// The paper does not give its lattice. Two are run, tori (1.0, 0.1) in both:
//   joined       n x n flat rings on a square grid of spacing 2.6, each joined to its neighbours by
//                an upright ring halfway, which passes through both: 2 n (n - 1) of them
//   four in one  n rows of n rings 2.5 apart, rows 0.6 apart and every other one shifted by half a
//                ring; tilted by 0.7 to one side and the other, each ring holds four of the next
//                rows
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

constexpr double kMajor = 1, kMinor = 0.1, kStep = 1e-3;

class Mail {
 public:
  Mail() {
    builder_.set_law(LawOfMotion::Overdamped);
    builder_.set_gravity(Vec3::Zero());
    builder_.add_material({.name = "smooth", .friction = 0});
  }
  void ring(double x, double y, const Vec3& turn) {
    BodySpec body;
    body.name = "r" + std::to_string(count_++);
    body.position = Vec3(x, y, 0);
    body.orientation = exp_rotation(turn);
    body.shapes.push_back({.shape = Shape::torus(kMajor, kMinor), .material = "smooth"});
    body.drag = 1;
    body.length = 2 * (kMajor + kMinor);
    builder_.add_body(body);
  }
  Model build() {
    builder_.add_force(
        CallbackSpec{.name = "field", .body = "r0", .callback = std::make_shared<RadialField>(1)});
    return builder_.build();
  }

 private:
  ModelBuilder builder_;
  int count_ = 0;
};

Model joined(int n) {
  constexpr double kSpacing = 2.6, kQuarter = 0.5 * std::numbers::pi;
  Mail mail;
  const auto ring = [&](double i, double j, const Vec3& turn) {
    mail.ring(kSpacing * (i - 0.5 * (n - 1)), kSpacing * (j - 0.5 * (n - 1)), turn);
  };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      ring(i, j, Vec3::Zero());
      if (i + 1 < n) ring(i + 0.5, j, Vec3(kQuarter, 0, 0));  // its plane holds x and z
      if (j + 1 < n) ring(i, j + 0.5, Vec3(0, kQuarter, 0));  // y and z
    }
  return mail.build();
}

Model four_in_one(int n) {
  constexpr double kAlong = 2.5, kRows = 0.6, kTilt = 0.7;
  Mail mail;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i)
      mail.ring(kAlong * (i - 0.5 * (n - 1) + 0.5 * (j % 2) - 0.25), kRows * (j - 0.5 * (n - 1)),
                Vec3(j % 2 == 0 ? kTilt : -kTilt, 0, 0));
  return mail.build();
}

struct Run {
  std::vector<double> time, overlap, extent, wide, high;
  double deepest = 0, failed = 0, solves = 0, rows = 0, seconds = 0;
  double since = 0;  // deepest since the last sample
  int most_solves = 0, steps = 0;

  void visit(Archive& a) {
    a(time, overlap, extent, wide, high, deepest, failed, solves, rows, seconds, since, most_solves,
      steps);
  }
};

constexpr ConstraintScheme kSchemes[] = {ConstraintScheme::Relcp, ConstraintScheme::Single,
                                         ConstraintScheme::Multisphere};

constexpr int kLattices = 2, kMethods = 3;
constexpr int kEvery = 20;       // steps per sample of the figures
constexpr double kFloor = 1e-9;  // of the overlap in the figure, whose axis is logarithmic

/// The runs of all methods in both lattices, one after another.
struct Progress {
  std::vector<Run> runs = std::vector<Run>(kLattices * kMethods);
  int at = 0;  // the one that runs
  State x;
  WarmStart warm;

  void visit(Archive& a) { a(runs, at, x, warm); }
};

/// Steps of one method from where it stands. False when the session ends first.
bool simulate(const Model& model, int steps, const Options& options, Session& session,
              Progress& progress) {
  StepSettings settings;
  settings.h = kStep;
  settings.constraints = kSchemes[progress.at % kMethods];
  settings.sub_spheres = 32;
  settings.overlap_tolerance = 1e-5 / kMinor;
  settings.contact_margin = 0.5;
  settings.solver.tolerance = 1e-9;
  const Parameters parameters = model.default_parameters();
  StepWorkspace work;
  Run& run = progress.runs[static_cast<std::size_t>(progress.at)];
  while (run.steps < steps) {
    const double start = processor_seconds();
    const StepReport r = step(model, parameters, settings, {}, progress.x, progress.warm, work);
    run.seconds += processor_seconds() - start;
    run.deepest = std::max(run.deepest, r.deepest);
    run.since = std::max(run.since, r.deepest);
    run.failed += r.outcome != Outcome::Converged;
    run.solves += r.recursions + 1;
    run.rows += r.constraints;
    run.most_solves = std::max(run.most_solves, r.recursions + 1);
    if (run.steps++ % kEvery == 0 || run.steps == steps) {
      run.time.push_back(progress.x.t);
      run.overlap.push_back(std::max(run.since, kFloor));
      run.since = 0;
      double reach = 0, wide = 0, high = 0;
      for (const BodyId id : model.dynamic_bodies()) {
        const Vec3 x = progress.x.q.segment<3>(model.body(id).q_begin);
        reach = std::max(reach, x.norm());
        wide = std::max(wide, std::abs(x[0]));
        high = std::max(high, std::abs(x[1]));
      }
      run.extent.push_back(reach);
      run.wide.push_back(wide);
      run.high.push_back(high);
      if (options.progress)
        options.progress(
            (progress.at + static_cast<double>(run.steps) / steps) / (kLattices * kMethods),
            "chainmail, t = " + number(progress.x.t, 4));
    }
    if (session.ends_after_step(progress)) return false;
  }
  return true;
}

/// scenes/yaml/chainmail.yaml, as large as asked for.
std::string scene(int n) {
  return R"(orthant: 1
name: chainmail, four in one
description: interlaced rings pulled apart
parameters: {n: )" +
         std::to_string(n) + R"(}
world: {law: overdamped, gravity: [0, 0, 0]}
materials: [{name: smooth, friction: 0}]
populations:
  - type: grid
    name: ring
    count: [$(n), $(n)]
    spacing: [2.5, 0.6, 0]
    position: [$(-1.25*(n - 0.5)), $(-0.3*(n - 1)), 0]
    body:
      position: [$(1.25*(j - 2*floor(j/2))), 0, 0]
      rotation: [$(0.7*(1 - 2*(j - 2*floor(j/2)))), 0, 0]
      drag: 1
      length: 2.2
      shapes: {type: torus, major: 1, minor: 0.1, material: smooth}
forces:
  - {type: field, name: pull, formula: "x*(r - sin(r))/r^2"}
step: {h: 1.0e-3, constraints: relcp, contact_margin: 0.5, overlap_tolerance: 1.0e-4, solver: {tolerance: 1.0e-9}}
run: {time: 5}
record: {every: 50}
)";
}

/// Table, plot and checks of one lattice.
void report(const Options& options, const std::string& name, const Model& model, int steps,
            const Run* runs, bool over, Result& result) {
  const Run &relcp = runs[0], &single = runs[1], &spheres = runs[2];
  Table table{"Chainmail, " + name + ", " + std::to_string(model.dynamic_count()) +
                  " rings, dt = 0.001, " + std::to_string(steps) + " steps",
              {"method", "steps", "mean rows", "deepest overlap", "of the minor radius",
               "mean solves", "most solves", "half width, first to last",
               "half height, first to last", "CPU s", "published overlap"},
              {}};
  const auto add = [&](const char* method, const Run& r, const char* published) {
    if (r.steps == 0) return;
    table.rows.push_back({method, std::to_string(r.steps), number(r.rows / r.steps, 4),
                          number(r.deepest), number(r.deepest / kMinor), number(r.solves / r.steps),
                          std::to_string(r.most_solves),
                          number(r.wide.front(), 4) + " to " + number(r.wide.back(), 4),
                          number(r.high.front(), 4) + " to " + number(r.high.back(), 4),
                          number(r.seconds), published});
  };
  add("ReLCP", relcp, "<= 1e-5");
  add("single", single, "above the minor radius at times");
  add("multisphere 32", spheres, "about 60 % of the minor radius");
  result.tables.push_back(std::move(table));
  result.checks.push_back({name + ": ReLCP overlap at every step", relcp.deepest, 1.0001e-5});
  result.checks.push_back({name + ": ReLCP steps not converged", relcp.failed, 0});
  if (!over) return;
  // The baselines must show what they are known for, or the comparison says nothing; a few rings
  // are not enough for that.
  if (!options.quick)
    result.checks.push_back({name + ": minor radius over the true overlap of sub-spheres",
                             kMinor / std::max(spheres.deepest, 1e-12), 5});
  result.checks.push_back({name + ": the mail spread: extent before over after",
                           relcp.extent.front() / relcp.extent.back(), 0.95});
  if (name != "joined")
    result.checks.push_back({name + ": overlap of ReLCP over that of one constraint per pair",
                             relcp.deepest / std::max(single.deepest, 1e-12), 0.1});
  const std::string file = name == "joined" ? "chainmail_joined" : "chainmail_four_in_one";
  const Curve curves[] = {{"ReLCP", relcp.time, relcp.overlap},
                          {"single", single.time, single.overlap},
                          {"32 spheres", spheres.time, spheres.overlap}};
  write_file(options, file + ".svg",
             plot_svg("Figure 6c, " + name + ": true overlap", "t", "overlap", curves, false, true),
             result);
  const Curve extents[] = {{"ReLCP, width", relcp.time, relcp.wide},
                           {"ReLCP, height", relcp.time, relcp.high},
                           {"spheres, width", spheres.time, spheres.wide},
                           {"spheres, height", spheres.time, spheres.high}};
  write_file(options, file + "_extent.svg", plot_svg("Half extents, " + name, "t", "", extents),
             result);
  const std::string names[] = {"t", "relcp", "single", "multisphere"};
  const std::vector<double> columns[] = {relcp.time, relcp.overlap, single.overlap,
                                         spheres.overlap};
  write_file(options, file + ".csv", to_csv(names, columns), result);
}

}  // namespace

Result run_chainmail(const Options& options) {
  Result result;
  const int n = options.size > 0 ? options.size : options.quick ? 2 : 8;
  const int m = options.quick ? 4 : n + 1;
  const Model models[kLattices] = {joined(n), four_in_one(m)};
  // Taut when the upright rings reach the wires: the spacing may grow by 1. Time for the corner.
  const int whole = static_cast<int>((4 + 1.5 * n) / kStep);
  const int steps[kLattices] = {options.quick ? 2500 : whole, options.quick ? 6000 : whole};
  Session session(options, "chainmail", std::to_string(n) + (options.quick ? " quick" : ""));
  Progress progress;
  bool resumed = session.resume(progress), over = true;
  while (over && progress.at < kLattices * kMethods) {
    const Model& model = models[progress.at / kMethods];
    if (!resumed) {
      progress.x = model.rest_state();
      progress.warm = {};
    }
    resumed = false;
    over = simulate(model, steps[progress.at / kMethods], options, session, progress);
    if (over) ++progress.at;
  }
  if (over)
    session.finish();
  else
    session.tell_unfinished(result);
  report(options, "joined", models[0], steps[0], progress.runs.data(), over, result);
  report(options, "four in one", models[1], steps[1], progress.runs.data() + kMethods, over,
         result);
  result.scenes.push_back({"chainmail_run", "flat 4-in-1, ReLCP", scene(m)});
  result.notes.push_back(
      "the paper does not give its lattice; where a ring is pulled along one line (joined) one "
      "constraint per pair does as well as the recursion");
  return result;
}

}  // namespace orthant::reproduce
