// SPDX-License-Identifier: Apache-2.0
// reproduce/colony.cpp: rods that grow and divide in the plane (ReLCP paper, 4.3, table 3).
//   d l/dt = l, division at 2 l0 (model/division.hpp), daughters turned by +- 0.01 deg
// All cells are of one age, so a division doubles the model; between divisions only parameters
// grow. Chaotic: jitter grows some hundredfold a generation, so statistics are compared, not
// places.
#include <algorithm>
#include <cmath>
#include <optional>

#include "orthant/base/process.hpp"
#include "orthant/model/division.hpp"
#include "reproduce/colony.hpp"

namespace orthant::reproduce {
namespace {

constexpr int kFewCells = 256;  // of a colony from which sub-spheres are compared

struct Generation {
  int cells = 0;
  double rows = 0, solves = 0, iterations = 0, seconds = 0, deepest = 0, failed = 0;
  int most_solves = 0, steps = 0;

  void visit(Archive& a) {
    a(cells, rows, solves, iterations, seconds, deepest, failed, most_solves, steps);
  }
};

/// All of a run: the cells as they were born, how far this generation has come, those before.
struct Progress {
  std::vector<Cell> cells = {{1, 0, 0, 0.3}};
  double length = kCellLength;  // now
  double born = kCellLength;    // at the last division
  State x;
  WarmStart warm;
  Generation now;
  std::vector<Generation> history;
  double single_deepest = 0;
  int lost = 0;  // divisions without two daughters a mother

  void visit(Archive& a) { a(cells, length, born, x, warm, now, history, single_deepest, lost); }
};

struct Sample {
  double rows = 0, solves = 0, seconds = 0, deepest = 0;
};

/// Some steps of one method from where the run stands.
Sample sample(ConstraintScheme scheme, int spheres, int steps, const Model& model,
              const Progress& run) {
  State x = run.x;
  WarmStart warm;
  StepWorkspace work;
  Parameters parameters;
  double length = run.length;
  Sample s;
  const double start = processor_seconds();
  for (int i = 0; i < steps; ++i) {
    length *= std::exp(kColonyStep);
    grow_to(length, run.born, model, parameters);
    const StepReport r =
        step(model, parameters, colony_settings(scheme, spheres), {}, x, warm, work);
    s.rows += static_cast<double>(r.constraints) / steps;
    s.solves += static_cast<double>(r.recursions + 1) / steps;
    s.deepest = std::max(s.deepest, r.deepest);
  }
  s.seconds = (processor_seconds() - start) / steps;
  return s;
}

/// Table 3 of the paper. Its mean is that of a run to 131,072 cells; here it is ten steps from
/// where a small colony ends, for 27 sub-spheres have hundreds of rows for one.
Table table_3(const Model& model, const Progress& run) {
  struct Published {
    int spheres;
    const char *rows, *time;
  };
  static constexpr Published kPublished[] = {
      {5, "8.8", "82.2"}, {7, "17", "45.9"}, {17, "101", "20.6"}, {27, "252", "15.3"}};
  Table table{"Sub-spheres, ten steps from the end of " + std::to_string(run.now.cells) + " cells",
              {"method", "rows", "rows / ReLCP", "published", "solves", "us per row and step",
               "published, 64 cores", "true overlap"},
              {}};
  const Sample base = sample(ConstraintScheme::Relcp, 1, 10, model, run);
  const auto add = [&](const std::string& name, const Sample& s, const char* rows,
                       const char* time) {
    table.rows.push_back({name, number(s.rows, 6), number(s.rows / base.rows), rows,
                          number(s.solves), number(1e6 * s.seconds / std::max(1.0, s.rows)), time,
                          number(s.deepest)});
  };
  add("ReLCP", base, "1", "341");
  for (const Published& p : kPublished)
    add(std::to_string(p.spheres) + " sub-spheres",
        sample(ConstraintScheme::Multisphere, p.spheres, 10, model, run), p.rows, p.time);
  return table;
}

/// Share of the work of a colony of `target` cells that is done. The time of a step grows like
/// cells^1.4 (docs/relcp.md), and the last generation has half of the steps.
double work_done(int cells, double share_of_generation, int target) {
  double done = 0, all = 0;
  for (double c = 1; c <= target; c *= 2) {
    const double work = std::pow(c, 1.4) * (2 * c > target ? 0.5 : 1);
    all += work;
    done += c < cells ? work : c == cells ? work * share_of_generation : 0;
  }
  return done / all;
}

/// Steps of one generation from where it stands. False when the session ends first.
bool grow_generation(const Options& options, int target, const Model& model, Session& session,
                     Progress& run) {
  const auto whole = static_cast<int>(std::ceil(std::log(2.0) / kColonyStep));
  // The last generation grows halfway: packed, not yet about to divide.
  const int steps = run.now.cells >= target ? whole / 2 : whole;
  const StepSettings settings = colony_settings(ConstraintScheme::Relcp, 1);
  Parameters parameters = model.default_parameters();
  StepWorkspace work;
  Generation& g = run.now;
  while (g.steps < steps && run.length < 2 * kCellLength) {
    const double start = processor_seconds();
    run.length *= std::exp(kColonyStep);
    grow_to(run.length, run.born, model, parameters);
    const StepReport r = step(model, parameters, settings, {}, run.x, run.warm, work);
    g.seconds += processor_seconds() - start;
    g.rows += r.constraints;
    g.solves += r.recursions + 1;
    g.iterations += r.iterations;
    g.deepest = std::max(g.deepest, r.deepest);
    g.failed += r.outcome != Outcome::Converged;
    g.most_solves = std::max(g.most_solves, r.recursions + 1);
    ++g.steps;
    if (options.progress && g.steps % 10 == 0)
      options.progress(work_done(g.cells, static_cast<double>(g.steps) / steps, target),
                       std::to_string(g.cells) + " cells, step " + std::to_string(g.steps));
    if (session.ends_after_step(run)) return false;
  }
  return true;
}

/// All cells divide. The next generation is built from the list of its cells alone, as it is after
/// a resume.
void divide_all(ModelBuilder& builder, const Model& model, Progress& run) {
  Parameters parameters;
  grow_to(run.length, run.born, model, parameters);
  const Divided next = divide(builder, model, parameters, run.x, model.dynamic_bodies());
  run.lost +=
      next.map.size() != run.cells.size() || next.model.bodies().size() != 2 * run.cells.size();
  run.cells = cells_at(next.model, next.state);
  run.length *= 0.5;
  run.born = run.length;
}

/// How the time of a generation grows with the cells, and what that says of 131,072 of them. The
/// last generation grows halfway, so that its steps count double. A small colony fits the cache and
/// takes one solve per step: it says nothing.
void extrapolate(const std::vector<Generation>& history, Result& result) {
  constexpr int kEnoughToTell = 1024;
  if (history.size() < 3 || history.back().cells < kEnoughToTell) {
    result.notes.push_back(
        "too few cells to say what 131072 would take; runs to 16384 say 1e5 to 2.7e5 CPU s");
    return;
  }
  const auto a_step = [](const Generation& g) { return g.seconds / std::max(1, g.steps); };
  const Generation &first = history[history.size() - 3], &last = history.back();
  const double exponent = std::log(a_step(last) / a_step(first)) /
                          std::log(static_cast<double>(last.cells) / first.cells);
  double total = 0;
  for (const Generation& g : history) total += g.cells < last.cells ? g.seconds : 0;
  for (double cells = last.cells; cells < 131072; cells *= 2)
    total += 693 * a_step(last) * std::pow(cells / last.cells, exponent);
  result.notes.push_back("time per step grows like cells^" + number(exponent) +
                         " over the last generations; 131072 cells would take " + number(total) +
                         " CPU s at that rate");
}

void plot_generations(const Options& options, const std::vector<Generation>& history,
                      Result& result) {
  Curve solves{"solves per step", {}, {}}, rows{"rows per cell", {}, {}},
      factorisations{"iterations per solve", {}, {}}, time{"us per row and step", {}, {}};
  for (const Generation& g : history) {
    if (g.cells < 8) continue;
    for (Curve* c : {&solves, &rows, &factorisations, &time}) c->x.push_back(g.cells);
    solves.y.push_back(g.solves / g.steps);
    rows.y.push_back(g.rows / g.steps / g.cells);
    factorisations.y.push_back(g.iterations / g.solves);
    time.y.push_back(1e6 * g.seconds / std::max(1.0, g.rows));
  }
  const Curve curves[] = {solves, rows, factorisations, time};
  write_file(options, "colony_generations.svg",
             plot_svg("Colony by generation", "cells", "", curves, true, true), result);
}

}  // namespace

Result run_colony(const Options& options) {
  Result result;
  const int target = options.size > 0 ? options.size : options.quick ? 16 : 16384;
  Session session(options, "colony", std::to_string(target));
  Progress run;
  std::vector<Cell> cells;
  std::optional<Table> sub_spheres;
  bool resumed = session.resume(run), over = false;
  while (true) {
    ModelBuilder builder = colony_of(run.cells, run.born);
    const Model model = builder.build();
    if (!resumed) {
      run.x = model.rest_state();
      run.warm = {};
      run.now = {};
      run.now.cells = static_cast<int>(run.cells.size());
    }
    resumed = false;
    over = grow_generation(options, target, model, session, run);
    cells = cells_at(model, run.x);
    if (!over) break;
    run.history.push_back(run.now);
    if (run.now.cells == std::min(target, 128))
      run.single_deepest = sample(ConstraintScheme::Single, 1, 50, model, run).deepest;
    if (run.now.cells >= target) {
      if (run.now.cells <= kFewCells) sub_spheres = table_3(model, run);
      break;
    }
    divide_all(builder, model, run);
  }
  if (over)
    session.finish();
  else
    session.tell_unfinished(result);
  std::vector<Generation> history = run.history;
  if (!over && run.now.steps > 0) history.push_back(run.now);

  Table table{"Colony by generation at dt = 0.001, cut-off 0.1, ReLCP",
              {"cells", "steps", "mean rows", "rows per cell", "mean solves", "most solves",
               "iterations per step", "CPU s", "us per row and step", "deepest overlap"},
              {}};
  double deepest = 0, failed = 0, most = 0, seconds = 0, rows = 0;
  for (const Generation& g : history) {
    table.rows.push_back({std::to_string(g.cells), std::to_string(g.steps),
                          number(g.rows / g.steps, 4), number(g.rows / g.steps / g.cells),
                          number(g.solves / g.steps), std::to_string(g.most_solves),
                          number(g.iterations / g.steps), number(g.seconds),
                          number(1e6 * g.seconds / std::max(1.0, g.rows)), number(g.deepest)});
    deepest = std::max(deepest, g.deepest);
    failed += g.failed;
    most = std::max(most, static_cast<double>(g.most_solves));
    seconds += g.seconds;
    rows += g.rows;
  }
  result.tables.push_back(std::move(table));
  if (sub_spheres) result.tables.push_back(std::move(*sub_spheres));
  result.notes.push_back(
      "published: 341 us per constraint for ReLCP on 64 cores, mean over the run; here " +
      number(1e6 * seconds / std::max(1.0, rows)) + " us");
  result.notes.push_back("one constraint per pair reaches an overlap of " +
                         number(run.single_deepest));
  extrapolate(history, result);
  result.checks.push_back({"overlap at every step", deepest, 1.0001e-5});
  result.checks.push_back({"steps not converged", failed, 0});
  result.checks.push_back({"most solves in a step", most, 12});
  result.checks.push_back({"divisions that lost a cell", static_cast<double>(run.lost), 0});
  write_file(options, "colony.svg", colony_picture(cells, run.length), result);
  plot_generations(options, history, result);
  std::vector<std::vector<double>> columns(4);
  for (const Cell& c : cells) {
    columns[0].push_back(static_cast<double>(c.uid));
    columns[1].push_back(c.x);
    columns[2].push_back(c.y);
    columns[3].push_back(c.angle);
  }
  const std::string names[] = {"uid", "x", "y", "angle"};
  write_file(options, "colony.csv", to_csv(names, columns), result);
  return result;
}

}  // namespace orthant::reproduce
