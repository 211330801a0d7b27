// SPDX-License-Identifier: Apache-2.0
// reproduce/packing.cpp: all methods from dilute to packed (ReLCP paper, figure 4), at both steps
// of the paper and at sizes that fit a session. The recursion makes the way; at moments along it
// every method takes a few steps from the same state. Sub-spheres are timed by the solver we would
// use and by plain projected gradients over all rows, as published (plain_gradients.hpp).
#include <algorithm>
#include <cmath>

#include "orthant/base/process.hpp"
#include "reproduce/compaction.hpp"
#include "reproduce/plain_gradients.hpp"

namespace orthant::reproduce {
namespace {

constexpr int kMoments = 8;

/// A method by a number: 0 the recursion, n > 0 so many sub-spheres, n < 0 hulls of -n corners.
std::string name_of(int method) {
  return method == 0  ? "ReLCP"
         : method > 0 ? std::to_string(method) + " sub-spheres"
                      : "hulls of " + std::to_string(-method) + " corners";
}

struct Moment {
  double time = 0;
  std::vector<PackingSample> own = {}, plain = {};  // by method; the recursion first
};

struct Way {
  std::vector<Moment> moments;
  double deepest = 0, failed = 0, solves = 0, contact_steps = 0, seconds = 0;
  int steps = 0, most_solves = 0;
  double rows = 0;
};

constexpr int kSteps = 3;

StepSettings settings_of(int method, double h) {
  StepSettings s = compaction_settings(method == 0  ? ConstraintScheme::Relcp
                                       : method > 0 ? ConstraintScheme::Multisphere
                                                    : ConstraintScheme::Manifold,
                                       h, std::max(1, method));
  if (method < 0)
    s.stabilisation = Stabilisation::None;  // as the others: positions are not corrected
  return s;
}

/// What the method moves: the ellipsoids, or the same bodies tessellated.
Model model_of(const Model& ellipsoids, int method) {
  return method < 0 ? suspension(ellipsoids.dynamic_count(), -method) : ellipsoids;
}

PackingSample measure_by(const Model& model, const State& x, int method, double h) {
  if (method >= 0) return measure(model, x, settings_of(method, h), kSteps);
  State end;
  PackingSample s = measure(model_of(model, method), x, settings_of(method, h), kSteps, &end);
  s.deepest = deepest_overlap(model, end.q);
  return s;
}

/// The steps of `own` with the time that plain projected gradients take for the same problems in
/// place of ours.
PackingSample by_plain_gradients(const Model& model, const State& x, int method, double h,
                                 const PackingSample& own) {
  SolveTrace trace;
  trace.explain = trace.keep_problems = true;
  StepSettings settings = settings_of(method, h);
  settings.solver.trace = &trace;
  (void)measure(model_of(model, method), x, settings, kSteps);
  PackingSample s = own;
  s.failed = 0;
  const double start = processor_seconds();
  for (const SolveTrace::Solve& solve : trace.solves)
    s.failed += !solve_by_plain_gradients(solve.problem, settings.solver.tolerance);
  // What is not solving: of processor time, the solver's of the clock, so no less than nothing.
  s.seconds =
      std::max(0.0, own.seconds - own.seconds_solve) + (processor_seconds() - start) / kSteps;
  return s;
}

Way compact(int count, double h, const std::vector<int>& methods, const Options& options,
            double share_from, double share_to) {
  const Model model = suspension(count);
  const Parameters parameters = model.default_parameters();
  const StepSettings settings = compaction_settings(ConstraintScheme::Relcp, h, 1);
  State x = model.rest_state();
  WarmStart warm;
  StepWorkspace work;
  Way way;
  const double end = longest_compaction(count);
  bool packed = false;
  for (int moment = 0; moment <= kMoments && !packed;) {
    const double start = processor_seconds();
    const StepReport r = step(model, parameters, settings, {}, x, warm, work);
    way.seconds += processor_seconds() - start;
    way.deepest = std::max(way.deepest, r.deepest);
    way.failed += r.outcome != Outcome::Converged;
    way.most_solves = std::max(way.most_solves, r.recursions + 1);
    if (r.constraints > 0) {
      way.solves += r.recursions + 1;
      ++way.contact_steps;
    }
    way.rows = static_cast<double>(r.constraints);
    ++way.steps;
    packed = is_packed(model, x) || x.t >= end;
    if (options.progress && way.steps % 20 == 0)
      options.progress(
          share_from + (share_to - share_from) * x.t / end,
          "packing, dt = " + number(h) + ", " + std::to_string(r.constraints) + " rows");
    if (x.t < end * moment / kMoments && !packed) continue;
    ++moment;
    if (r.constraints == 0) continue;
    Moment m{.time = x.t};
    for (const int method : methods) {
      m.own.push_back(measure_by(model, x, method, h));
      m.plain.push_back(by_plain_gradients(model, x, method, h, m.own.back()));
    }
    way.moments.push_back(std::move(m));
  }
  return way;
}

}  // namespace

Result run_packing(const Options& options) {
  Result result;
  const int count = options.size > 0 ? options.size : options.quick ? 40 : 500;
  const std::vector<int> methods =
      options.quick ? std::vector{0, 3, 7, -42} : std::vector{0, 3, 7, 13, 17, 23, -42, -162};
  struct Published {
    int spheres;
    const char *rows, *fine, *coarse;
  };
  static constexpr Published kPublished[] = {{0, "1", "1", "1"},      {3, "2", "0.8", "1.9"},
                                             {7, "9.3", "7", "28"},   {13, "34", "39", "174"},
                                             {17, "59", "67", "402"}, {23, "103", "215", "642"}};
  double share = 0;
  for (const double h : {0.1, 0.01}) {
    const double next = h == 0.1 ? 0.15 : 1;
    const Way way = compact(count, h, methods, options, share, next);
    share = next;
    const std::string step = "dt = " + number(h);
    Table run{"Compaction of " + std::to_string(count) + " ellipsoids by ReLCP at " + step,
              {"steps", "rows at the end", "rows per body", "mean solves", "most solves",
               "deepest overlap", "CPU s", "reference solves, mean and most"},
              {{std::to_string(way.steps), number(way.rows, 6), number(way.rows / count),
                number(way.solves / std::max(1.0, way.contact_steps)),
                std::to_string(way.most_solves), number(way.deepest), number(way.seconds),
                h == 0.1 ? "2 to 3, at most 6 (200 to 1000 bodies)" : "1, always"}}};
    result.tables.push_back(std::move(run));
    result.checks.push_back({"overlap at every step, " + step, way.deepest, 1e-5});
    result.checks.push_back({"steps not converged, " + step, way.failed, 0});
    if (h == 0.01)
      result.checks.push_back({"mean solves, " + step + ", beyond 1",
                               way.solves / std::max(1.0, way.contact_steps) - 1, 0.01});
    if (way.moments.empty()) continue;
    const Moment& last = way.moments.back();
    Table table{"At the end of it, three steps of each method at " + step + " (table 2)",
                {"method", "rows", "rows / ReLCP", "published ratio", "time / ReLCP",
                 "time / ReLCP, plain projected gradients", "published speed-up",
                 "not converged, plain", "true overlap"},
                {}};
    std::vector<Curve> rows, times, plain;
    for (std::size_t m = 0; m < methods.size(); ++m) {
      const PackingSample &a = last.own[m], &b = last.plain[m];
      const auto* published =
          std::find_if(std::begin(kPublished), std::end(kPublished),
                       [&](const Published& p) { return p.spheres == methods[m]; });
      const bool known = published != std::end(kPublished);
      const std::string name = name_of(methods[m]);
      table.rows.push_back({name, number(a.constraints, 6),
                            number(a.constraints / last.own[0].constraints),
                            known ? published->rows : "-", number(a.seconds / last.own[0].seconds),
                            number(b.seconds / last.plain[0].seconds),
                            !known     ? "-"
                            : h < 0.05 ? published->fine
                                       : published->coarse,
                            number(b.failed), number(a.deepest)});
      result.checks.push_back({name + ": steps not converged, " + step, a.failed, 0});
      Curve r{name, {}, {}}, t = r, p = r;
      for (const Moment& moment : way.moments) {
        for (Curve* c : {&r, &t, &p}) c->x.push_back(moment.time);
        r.y.push_back(moment.own[m].constraints / count);
        t.y.push_back(moment.own[m].seconds / moment.own[0].seconds);
        p.y.push_back(moment.plain[m].seconds / moment.plain[0].seconds);
      }
      rows.push_back(std::move(r));
      times.push_back(std::move(t));
      plain.push_back(std::move(p));
    }
    result.tables.push_back(std::move(table));
    const std::string tag = h == 0.1 ? "coarse" : "fine";
    write_file(
        options, "packing_rows_" + tag + ".svg",
        plot_svg("Figure 4: rows per body, " + step, "t", "rows per body", rows, false, true),
        result);
    write_file(options, "packing_time_" + tag + ".svg",
               plot_svg("Figure 4: time over ReLCP's, " + step, "t", "", times, false, true),
               result);
    write_file(options, "packing_time_plain_" + tag + ".svg",
               plot_svg("The same by plain projected gradients", "t", "", plain, false, true),
               result);
  }
  result.notes.push_back(
      "the published sub-spheres are solved by projected gradients over all rows, ours work on the "
      "few rows that push: the two columns of times show what that is worth");
  result.notes.push_back(
      "hulls: corners on the surface of the ellipsoid, face manifolds of at most four points per "
      "pair; the true overlap is that of the ellipsoids they stand for, which hulls allow by what "
      "they lack");
  result.notes.push_back("published with 10000 bodies; ratios of rows need a cut-off, 0.4 here");
  return result;
}

}  // namespace orthant::reproduce
