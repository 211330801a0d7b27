// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_fit.cpp: orthant fit MODEL DATA --params … => estimates with intervals, held-out
// score, fit.yaml, plot.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numbers>
#include <numeric>
#include <string>
#include <vector>

#include "command.hpp"
#include "fit_model.hpp"
#include "fit_plot.hpp"
#include "names.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/learn/fit.hpp"

namespace orthant::app {
namespace {

constexpr double kDegrees = 180 / std::numbers::pi;

struct FitCommand {
  std::string model, data, method = "simulate", out, plot, angular, compare;
  std::vector<std::string> parameters;
  double dt = 0;
  int train = 0, test = -1, horizon = 0, substeps = 1, threads = 0, starts = 16;
  bool backward = false, no_events = false, quiet = false;
};

double number(const std::string& text, const std::string& where) {
  std::size_t used = 0;
  double value = 0;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != text.size()) throw Error(where, "'" + text + "' is not a number");
  return value;
}

/// NAME or NAME=LOWER:UPPER
FitParameter parameter_of(const Model& model, const std::string& text) {
  FitParameter out;
  const std::size_t equals = text.find('=');
  out.name = full_parameter_name(model, text.substr(0, equals));
  if (equals == std::string::npos) return out;
  const std::string range = text.substr(equals + 1);
  const std::size_t colon = range.find(':');
  if (colon == std::string::npos)
    throw Error("--params", "'" + text + "': bounds are written NAME=LOWER:UPPER");
  out.lower = number(range.substr(0, colon), "--params " + out.name);
  out.upper = number(range.substr(colon + 1), "--params " + out.name);
  return out;
}

/// NAME=VALUE,… set on the model's own values.
Parameters compared(const Model& model, const Parameters& start, const std::string& list) {
  Parameters p = start;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    const std::string item = list.substr(at, comma - at);
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) throw Error("--compare", "'" + item + "' is not NAME=VALUE");
    p.set(full_parameter_name(model, item.substr(0, equals)),
          number(item.substr(equals + 1), "--compare"));
    at = comma + 1;
  }
  return p;
}

void print_score(const char* name, const PredictionScore& s) {
  fmt::print("  {:<12} {:>10.4f} {:>10.2f} {:>10.4f} {:>10.4f} {:>10.2f}\n", name,
             s.median_position, s.median_rotation * kDegrees, s.median_final, s.mean_position,
             s.mean_rotation * kDegrees);
}

void yaml_score(std::ofstream& file, const char* name, const PredictionScore& s) {
  file << fmt::format(
      "  {}: {{median_position: {:.6g}, median_rotation_deg: {:.6g}, median_final_position: "
      "{:.6g}, "
      "mean_position: {:.6g}, mean_rotation_deg: {:.6g}}}\n",
      name, s.median_position, s.median_rotation * kDegrees, s.median_final, s.mean_position,
      s.mean_rotation * kDegrees);
}

struct Scores {
  std::vector<std::pair<std::string, PredictionScore>> list;
};

void write_yaml(const FitCommand& c, const FitResult& r, const Scores& scores, Index held,
                double seconds) {
  std::ofstream file(c.out);
  file << fmt::format("format_version: 1\nkind: fit\nmodel: \"{}\"\ndata: \"{}\"\nmethod: {}\n",
                      c.model, c.data, name_of(r.method));
  file << fmt::format("train_motions: {}\nheld_out_motions: {}\nsamples: {}\nseconds: {:.3g}\n",
                      r.motions, held, r.samples, seconds);
  file << fmt::format(
      "cost: {:.9g}\nstart_cost: {:.9g}\nhuber: {:.6g}\nevaluations: {}\nstop: \"{}\"\n", r.cost,
      r.start_cost, r.huber, r.evaluations, name_of(r.stop));
  file << "parameters:\n";
  for (const Estimate& e : r.estimates) {
    file << fmt::format("  \"{}\":\n    value: {:.9g}\n    identified: {}\n", e.name, e.value,
                        e.identified);
    if (std::isfinite(e.deviation)) file << fmt::format("    deviation: {:.6g}\n", e.deviation);
    file << fmt::format("    interval95: [{:.9g}, {:.9g}]\n    bounds: [{:.9g}, {:.9g}]\n",
                        e.lower95, e.upper95, e.lower, e.upper);
  }
  file << fmt::format("contacts: {{touching: {}, sticking: {}, sliding: {}}}\n", r.touching,
                      r.sticking, r.sliding);
  file << "notes:" << (r.notes.empty() ? " []\n" : "\n");
  for (const std::string& note : r.notes) file << fmt::format("  - \"{}\"\n", note);
  if (!scores.list.empty()) file << "held_out:\n";
  for (const auto& [name, score] : scores.list) yaml_score(file, name.c_str(), score);
  if (!file.flush()) throw Error(c.out, "cannot be written");
}

/// The motion whose error is the median, and all errors in order.
void write_plot(const FitCommand& c, const FitModel& m, const Parameters& fitted,
                const TrajectoryData& data, const Scores& scores) {
  const std::vector<double>& errors = scores.list.front().second.position;
  std::vector<std::size_t> order(errors.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return errors[a] < errors[b]; });
  const std::size_t middle = order[order.size() / 2];
  const MeasuredMotion& t = data.trajectories[middle];
  const MatX q = predict(m.model, fitted, m.settings, data, middle, c.substeps);
  const Body& body = m.model.body(m.model.dynamic_bodies().front());
  PlotPanel motion{"motion " + t.name + ": predicted (line), measured (dots)",
                   "time [s]",
                   "position of " + body.name,
                   {}};
  const char* colours[] = {"#c23b22", "#2e7d32", "#1f5fa8"};
  const char* names[] = {"x", "y", "z"};
  for (int k = 0; k < (body.planar ? 2 : 3); ++k) {
    PlotCurve line{names[k], colours[k], {}, {}, false}, dots{"", colours[k], {}, {}, true};
    for (Index i = 0; i < t.samples(); ++i) {
      line.x.push_back(t.dt * i);
      dots.x.push_back(t.dt * i);
      line.y.push_back(q(body.q_begin + k, i));
      dots.y.push_back(t.q(body.q_begin + k, i));
    }
    motion.curves.push_back(std::move(line));
    motion.curves.push_back(std::move(dots));
  }
  PlotPanel spread{"held-out motions below an error", "mean position error", "share", {}};
  std::size_t colour = 0;
  for (const auto& [name, score] : scores.list) {
    if (name == "ballistic") continue;  // its errors would flatten the others
    std::vector<double> sorted = score.position;
    std::sort(sorted.begin(), sorted.end());
    PlotCurve curve{name, colours[colour++ % 3], {}, {}, false};
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      curve.x.push_back(sorted[i]);
      curve.y.push_back(static_cast<double>(i + 1) / static_cast<double>(sorted.size()));
    }
    spread.curves.push_back(std::move(curve));
  }
  write_svg(c.plot, {motion, spread});
}

FitOptions fit_options(const FitCommand& c, const FitModel& m) {
  FitOptions options;
  for (const std::string& text : c.parameters)
    options.parameters.push_back(parameter_of(m.model, text));
  if (c.method != "simulate" && c.method != "implicit")
    throw Error("--method", "'" + c.method + "' is unknown; allowed: simulate, implicit");
  options.method = c.method == "simulate" ? FitMethod::Simulate : FitMethod::Implicit;
  options.horizon = c.horizon;
  options.substeps = c.substeps;
  options.starts = c.starts;
  if (c.quiet) return options;
  options.progress = [](std::string_view stage, int evaluations, const VecX& best, double cost) {
    std::string values;
    for (const double x : best) values += fmt::format(" {:.5g}", x);
    fmt::print(stderr, "{:<14} {:>4}  cost {:<12.6g}{}\n", stage, evaluations, cost, values);
    return true;
  };
  return options;
}

void print_result(const FitResult& r, double seconds) {
  fmt::print("\n{:<32} {:>10} {:>10}  {}\n", "parameter", "estimate", "deviation", "95 % interval");
  for (const Estimate& e : r.estimates)
    fmt::print("{:<32} {:>10.5g} {:>10.3g}  {:.5g} … {:.5g}{}\n", e.name, e.value, e.deviation,
               e.lower95, e.upper95, e.identified ? "" : "  not identified");
  for (const std::string& note : r.notes) fmt::print("note: {}\n", note);
  fmt::print("{} motions, {} samples, {} costs, {:.1f} s, stopped at {}\n", r.motions, r.samples,
             r.evaluations, seconds, name_of(r.stop));
}

int fit_command(const FitCommand& c) {
  set_thread_count(c.threads);
  FitModel m = load_fit_model(c.model);
  m.settings.impact_events = m.settings.impact_events && !c.no_events;
  TrajectoryCsvOptions csv = m.csv;
  if (c.dt != 0) csv.dt = c.dt;
  if (c.backward) csv.backward_velocity = true;
  if (!c.angular.empty() && c.angular != "body" && c.angular != "world")
    throw Error("--angular", "'" + c.angular + "' is unknown; allowed: body, world");
  if (!c.angular.empty())
    csv.angular = c.angular == "body" ? AngularAxes::Body : AngularAxes::World;
  const TrajectoryData all = read_trajectories(c.data, m.model, csv);
  const auto count = static_cast<int>(all.trajectories.size());
  const int train = c.train > 0 ? c.train : count;
  const int test = c.test >= 0 ? c.test : std::min(100, count - train);
  if (train > count) throw Error("--train", fmt::format("{} of {} motions", train, count));
  if (train + test > count)
    throw Error("--test", fmt::format("{} to fit and {} held out, the file has {} motions", train,
                                      test, count));
  const TrajectoryData fitting = subset(all, 0, static_cast<std::size_t>(train));
  const TrajectoryData held =
      subset(all, static_cast<std::size_t>(count - test), static_cast<std::size_t>(count));
  const FitOptions options = fit_options(c, m);
  const Parameters others = compared(m.model, m.parameters, c.compare);  // misspelt: say so now
  const Timer timer;
  const FitResult r = fit(m.model, m.parameters, m.settings, fitting, options);
  const double seconds = timer.seconds();
  print_result(r, seconds);
  Scores scores;
  if (test > 0) {
    scores.list.emplace_back("fit", score(m.model, r.parameters, m.settings, held, c.substeps));
    if (!c.compare.empty())
      scores.list.emplace_back("compared", score(m.model, others, m.settings, held, c.substeps));
    scores.list.emplace_back("ballistic", score(m.model, r.parameters, m.settings, held, c.substeps,
                                                Predictor::Ballistic));
    fmt::print("\n{} held-out motions\n  {:<12} {:>10} {:>10} {:>10} {:>10} {:>10}\n", test, "",
               "position", "rotation °", "final", "mean pos", "mean rot °");
    for (const auto& [name, s] : scores.list) print_score(name.c_str(), s);
  }
  if (!c.out.empty()) write_yaml(c, r, scores, test, seconds);
  if (!c.plot.empty()) {
    if (test == 0) throw Error("--plot", "needs held-out motions (--train, --test)");
    write_plot(c, m, r.parameters, held, scores);
  }
  return r.identified() ? kSuccess : kNotConverged;
}

}  // namespace

void add_fit(Program& program) {
  const auto o = std::make_shared<FitCommand>();
  Command command = program.command("fit", "Find parameters of a model from measured motions");
  command.option("model", o->model, fit_model_help()).value_name("MODEL").required();
  command.option("data", o->data, "CSV of motions, one row per sample (docs/learning.md)")
      .value_name("CSV")
      .required();
  command.option("--params", o->parameters, "what to find, by commas: NAME or NAME=LOWER:UPPER")
      .value_name("NAME,…")
      .required()
      .by_commas();
  command.option("--method", o->method, "simulate (default) or implicit").value_name("NAME");
  command.option("--train", o->train, "fit the first N motions; default: all").value_name("N");
  command.option("--test", o->test, "score the last N motions; default: up to 100 others")
      .value_name("N");
  command.option("--horizon", o->horizon, "samples from one measured start; 0: all")
      .value_name("N");
  command.option("--substeps", o->substeps, "steps per sample").value_name("N");
  command.option("--starts", o->starts, "points of the box tried first").value_name("N");
  command.option("--dt", o->dt, "sampling interval [s] of a file without times").value_name("S");
  command.option("--angular", o->angular, "axes of wx, wy, wz: body or world").value_name("AXES");
  command.flag("--backward", o->backward, "velocities are backward differences");
  command.flag("--no-events", o->no_events, "do not locate impacts within a step");
  command.option("--compare", o->compare, "values to be scored as well").value_name("NAME=VALUE,…");
  command.option("-o,--output", o->out, "write estimates and scores as YAML").value_name("FILE");
  command.option("--plot", o->plot, "write predicted and measured motions as SVG")
      .value_name("FILE");
  command.option("--threads", o->threads, "threads; 0: all cores").value_name("N").not_negative();
  command.flag("-q,--quiet", o->quiet, "no progress");
  command.footer(
      "Example:\n  orthant fit cube tosses.csv --params friction,restitution --train 60 -o "
      "fit.yaml\n");
  command.run([o] { return fit_command(*o); });
}

}  // namespace orthant::app
