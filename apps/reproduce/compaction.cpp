// SPDX-License-Identifier: Apache-2.0
// reproduce/compaction.cpp: a dilute suspension of ellipsoids drawn into a packing (ReLCP
// paper, 4.2, table 2); from the packed state each method takes the same few steps and is compared.
// One search cut-off (0.4 of the minor radius) and one tolerance for all methods.
#include <algorithm>
#include <cmath>

#include "orthant/base/process.hpp"
#include "reproduce/compaction.hpp"

namespace orthant::reproduce {
namespace {

/// Methods compared so far: with many bodies one of them takes hours.
struct Comparison {
  std::vector<PackingSample> done;

  void visit(Archive& a) { a(done); }
};

/// All of the way to the packed state.
struct Progress {
  State x;
  WarmStart warm;
  int steps = 0, most_solves = 0;
  double deepest = 0, failed = 0, contact_solves = 0, contact_steps = 0, seconds = 0;
  std::vector<double> time, radius, constraints, solves;

  bool packed(const Model& model) const { return steps > 0 && is_packed(model, x); }
  void visit(Archive& a) {
    a(x, warm, steps, most_solves, deepest, failed, contact_solves, contact_steps, seconds, time,
      radius, constraints, solves);
  }
};

void compact(const Options& options, const Model& model, int steps, Session& session,
             Progress& run) {
  const Parameters parameters = model.default_parameters();
  const StepSettings settings = compaction_settings(ConstraintScheme::Relcp, 0.1, 1);
  StepWorkspace work;
  while (run.steps < steps && !run.packed(model)) {
    const double start = processor_seconds();
    const StepReport r = step(model, parameters, settings, {}, run.x, run.warm, work);
    run.seconds += processor_seconds() - start;
    run.deepest = std::max(run.deepest, r.deepest);
    run.failed += r.outcome != Outcome::Converged;
    if (r.constraints > 0) {
      run.contact_solves += r.recursions + 1;
      ++run.contact_steps;
    }
    run.most_solves = std::max(run.most_solves, r.recursions + 1);
    if (run.steps++ % 20 == 0) {
      run.time.push_back(run.x.t);
      run.radius.push_back(mean_radius(model, run.x));
      run.constraints.push_back(r.constraints);
      run.solves.push_back(r.recursions + 1);
      if (options.progress)
        options.progress(0.9 * std::pow(static_cast<double>(run.steps) / steps, 2),
                         "compaction, t = " + number(run.x.t, 5) + ", " +
                             std::to_string(r.constraints) + " rows");
    }
    if (session.ends_after_step(run)) return;
  }
}

const char* const kScene = R"(orthant: 1
name: compaction
description: ellipsoids drawn together by a smooth radial field
parameters: {n: 60, edge: $((4*pi/3*2*n/0.0025)^0.33333333333333333)}
world: {law: overdamped, gravity: [0, 0, 0]}
materials: [{name: smooth, friction: 0}]
populations:
  - type: random
    name: e
    count: $(n)
    lower: [$(-edge/2), $(-edge/2), $(-edge/2)]
    upper: [$(edge/2), $(edge/2), $(edge/2)]
    distance: 4
    random_orientation: true
    body: {drag: 1, length: 4, shapes: {type: ellipsoid, semi_axes: [2, 1, 1], material: smooth}}
forces:
  - {type: field, name: pull, formula: "-x*(r - sin(r))/r^2"}
step: {h: 0.1, constraints: relcp, contact_margin: 0.4, solver: {tolerance: 4.0e-6}}
run: {time: 150}
record: {every: 10}
)";

}  // namespace

Result run_compaction(const Options& options) {
  Result result;
  const int count = options.size > 0 ? options.size : options.quick ? 24 : 10000;
  const Model model = suspension(count);
  Progress run;
  run.x = model.rest_state();
  Session session(options, "compaction", std::to_string(count));
  (void)session.resume(run);
  // At most the way from a corner, and some time to settle.
  const int steps = static_cast<int>(10 * longest_compaction(count));
  compact(options, model, steps, session, run);
  const State& x = run.x;
  const std::vector<double>&time = run.time, &constraints = run.constraints, &solves = run.solves;
  result.checks.push_back({"overlap at every ReLCP step", run.deepest, 1e-5});
  result.checks.push_back({"steps not converged", run.failed, 0});
  // Packed: within a quarter of the radius of a ball at 60 % (an upper bound on how dense).
  const double ball = packed_radius(count);
  const bool packed = run.steps >= steps || run.packed(model);
  if (packed)
    result.checks.push_back(
        {"mean radius over that of a ball at 60 %", mean_radius(model, x) / ball, 1.35});
  result.tables.push_back(
      {"Compaction of " + std::to_string(count) + " ellipsoids at dt = 0.1, cut-off " +
           number(kCutOff),
       {"steps", "mean radius", "rows at the end", "rows per body", "mean solves", "most solves",
        "deepest overlap", "CPU s"},
       {{std::to_string(run.steps), number(mean_radius(model, x)), number(constraints.back(), 6),
         number(constraints.back() / count),
         number(run.contact_solves / std::max(1.0, run.contact_steps)),
         std::to_string(run.most_solves), number(run.deepest), number(run.seconds, 4)}}});

  if (!packed) {
    session.tell_unfinished(result);
    return result;
  }
  run.warm = {};
  session.save(run);  // the packed state: resumed from it, only what follows is done again
  const int few = options.quick ? 5 : 20;
  Session methods(options, "compaction_methods", std::to_string(count));
  Comparison comparison;
  (void)methods.resume(comparison);
  std::size_t next = 0;
  const auto sample = [&](ConstraintScheme scheme, double h, int spheres) {
    if (next == comparison.done.size()) {
      if (options.progress) options.progress(0.9 + 0.008 * next, "comparing methods");
      comparison.done.push_back(measure(model, x, compaction_settings(scheme, h, spheres), few));
      methods.save(comparison);
    }
    return comparison.done[next++];
  };
  for (const double h : {0.01, 0.1}) {
    Table table{"From the packed state, " + std::to_string(few) + " steps of dt = " + number(h),
                {"method", "rows", "rows / ReLCP", "solves", "iterations", "CPU ms per step",
                 "ns per row update", "time / ReLCP", "true overlap", "published rows ratio",
                 "published speed-up"},
                {}};
    const PackingSample base = sample(ConstraintScheme::Relcp, h, 1);
    double failed = 0;
    const auto add = [&](const std::string& name, const PackingSample& s, const char* rows,
                         const char* speed) {
      failed += s.failed;
      table.rows.push_back(
          {name, number(s.constraints, 6), number(s.constraints / base.constraints),
           number(s.solves), number(s.iterations), number(1e3 * s.seconds),
           number(1e9 * s.seconds_solve / std::max(1.0, s.iterations * s.constraints)),
           number(s.seconds / base.seconds), number(s.deepest), rows, speed});
    };
    add("ReLCP", base, "1", "1");
    result.checks.push_back(
        {"ReLCP overlap from the packed state, dt = " + number(h), base.deepest, 1e-5});
    add("single", sample(ConstraintScheme::Single, h, 1), "-", "-");
    struct Published {
      int spheres;
      const char *rows, *fine, *coarse;
    };
    static constexpr Published kPublished[] = {{3, "2", "0.8", "1.9"},
                                               {7, "9.3", "7", "28"},
                                               {13, "34", "39", "174"},
                                               {17, "59", "67", "402"},
                                               {23, "103", "215", "642"}};
    // With the many spheres of the last, ten thousand bodies have six million rows.
    constexpr int kMostBodies = 3000;
    for (const Published& p : kPublished) {
      if ((options.quick && p.spheres > 7) || (p.spheres > 17 && count > kMostBodies)) continue;
      add("multisphere " + std::to_string(p.spheres),
          sample(ConstraintScheme::Multisphere, h, p.spheres), p.rows,
          h < 0.05 ? p.fine : p.coarse);
    }
    result.checks.push_back({"steps of any method not converged, dt = " + number(h), failed, 0});
    result.tables.push_back(std::move(table));
  }
  methods.finish();
  result.scenes.push_back({"compaction_run", "60 ellipsoids (figure 4e)", kScene});
  const std::string names[] = {"t", "mean_radius", "rows", "solves"};
  const std::vector<double> columns[] = {time, run.radius, constraints, solves};
  write_file(options, "compaction.csv", to_csv(names, columns), result);
  const Curve curves[] = {{"rows per body", time, {}}, {"solves per step", time, solves}};
  std::vector<Curve> plotted(std::begin(curves), std::end(curves));
  for (const double c : constraints) plotted[0].y.push_back(c / count);
  write_file(options, "compaction.svg", plot_svg("Compaction", "t", "", plotted), result);
  std::vector<std::vector<double>> state(7);
  for (const BodyId id : model.dynamic_bodies())
    for (std::size_t k = 0; k < 7; ++k)
      state[k].push_back(x.q[model.body(id).q_begin + static_cast<Index>(k)]);
  const std::string state_names[] = {"x", "y", "z", "qw", "qx", "qy", "qz"};
  write_file(options, "compaction_packed.csv", to_csv(state_names, state), result);
  return result;
}

}  // namespace orthant::reproduce
