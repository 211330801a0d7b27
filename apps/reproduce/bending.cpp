// SPDX-License-Identifier: Apache-2.0
// reproduce/bending.cpp: three-point bending of a soft beam, hard contact against penalty contact.
//   beam 1.3 × 0.6 × 0.15 m, E = 1e7 Pa, ν = 0.3, 1000 kg/m³; cylinders ⌀ 0.05 m, supports 1 m
//   apart; the middle one is driven down at 1 m/s for 0.2 m, then held to t = 1 s
// Stable, for both methods alike, with no step cut shorter: no element inverts and nothing leaves;
// while the ram is held the energy (springs counted) never rises above that at the stop by more
// than 5 % of the work done until then (supports at rest do none); and the mean force on the ram in
// the last half second is within 10 % of that with hard contact at the shortest step.
// Slender limit: F = 48 E I w / L³.
#include <algorithm>
#include <cmath>

#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/interior_point_study.hpp"
#include "reproduce/penalty.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kRadius = 0.025, kStroke = 0.2, kSpeed = 1, kEnd = 1, kWindow = 0.04;
constexpr double kPublishedHard = 0.06;
constexpr double kGoal = 10;  // iterations of a cold solve without friction, as for the balls
constexpr double kMayRise = 0.05, kMayMiss = 0.1;  // of the energy, of the force held

struct Cells {
  Index x, y, z;
  std::string name() const {
    return std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z);
  }
};
constexpr Cells kPublished{26, 12, 3};

/// `hard`: contact in the step; else every surface node has a load of its own.
Model bending(const Cells& cells, double friction, bool hard) {
  const Vec3 size(1.3, 0.6, 0.15);
  ModelBuilder builder;
  builder.add_material({.name = "surface", .friction = friction});
  const Quat along_y{std::sqrt(0.5), 0, 0, std::sqrt(0.5)};
  const Vec3 places[3] = {
      {0.15, 0.3, -kRadius}, {1.15, 0.3, -kRadius}, {0.65, 0.3, size[2] + kRadius}};
  for (int i = 0; i < 3; ++i)
    builder.add_body({.name = i == 2 ? "ram" : "support" + std::to_string(i),
                      .motion = i == 2 ? Motion::Kinematic : Motion::Fixed,
                      .position = places[i],
                      .orientation = along_y,
                      .shapes = {{.shape = Shape::capsule(kRadius, 0.4), .material = "surface"}}});
  builder.add_flexible({.name = "beam",
                        .mesh = box_mesh(size, cells.x, cells.y, cells.z),
                        .young = 1e7,
                        .poisson = 0.3,
                        .density = 1000,
                        .contact = hard,
                        .material = "surface"});
  if (!hard) add_penalty_loads(builder, builder.build().flexible_parts()[0]);
  return builder.build();
}

struct Bent {
  std::string trouble;    // why it is not stable; empty: nothing found
  double force_end = 0;   // on the ram at t = 1 s [N]
  double mean = 0;        // of that force over the last half second [N]
  double spread = 0;      // largest deviation from it there [-]
  double rise = 0;        // of the energy while held, of the work until the stop [-]
  double deepest = 0;     // overlap left after a step [m]
  double iterations = 0;  // mean a solve
  double solves = 0;      // mean a step
  int failed = 0;
  Curve curve;                  // way of the ram, force on it
  std::vector<double> time;     // of the points of that curve [s]
  std::vector<double> windows;  // mean force over each kWindow of way [N]

  bool stable() const { return trouble.empty(); }
  void judge_force(double bears) {
    if (stable() && !(std::abs(mean / bears - 1) <= kMayMiss)) trouble = "force";
  }
};

double way(double t) { return std::min(kStroke, kSpeed * t); }

struct Reading {
  double force = 0;   // on the ram [N]
  double energy = 0;  // to be added to the report's: of contacts [J]
};

/// One run: the caller says before each step what acts on the beam, and reads after it.
class Drive {
 public:
  Drive(const Cells& cells, double friction, bool hard, double h)
      : model(bending(cells, friction, hard)),
        parameters(model.default_parameters()),
        state(model.rest_state()),
        ram(model.body(model.find_body("ram"))) {
    settings.h = h;
    settings.solver.tolerance = 1e-9;
    settings.max_cuts = 0;  // a step is as long as it says
  }

  template <class Before, class After>
  Bent run(Before&& before, After&& after, const Options& options, const std::string& what) {
    Bent out;
    const int steps = static_cast<int>(std::ceil(kEnd / settings.h - 1e-9));
    const double start = potential_energy(model, parameters, state.q, 0);
    double at_stop = start, highest = start;
    bool stopped = false;
    std::vector<double> late;
    double impulse = 0;
    int solves = 0, iterations = 0;
    for (int i = 0; i < steps; ++i) {
      if (options.progress && i % 5 == 0)
        options.progress(static_cast<double>(i) / steps, what + ", h = " + number(settings.h));
      const double from = way(state.t), to = way(state.t + settings.h);
      state.v[ram.v_begin + 2] = -(to - from) / settings.h;
      before();
      const StepReport report = step(model, parameters, settings, {}, state, warm, workspace);
      iterations += report.iterations;
      solves += report.solves;
      out.failed += report.outcome != Outcome::Converged;
      out.deepest = std::max(out.deepest, report.deepest);
      const Reading reading = after();
      const double f = reading.force;
      out.curve.x.push_back(to);
      out.curve.y.push_back(f);
      out.time.push_back(state.t);
      impulse += f * settings.h;
      const auto window = static_cast<std::size_t>(std::lround(to / kWindow));
      if (std::abs(to - static_cast<double>(window) * kWindow) < 1e-9 &&
          out.windows.size() < window && out.windows.size() < 5) {
        out.windows.push_back(impulse * kSpeed / kWindow);
        impulse = 0;
      }
      const double energy = report.kinetic + report.potential + reading.energy;
      if (to > kStroke - 1e-9 && !stopped) at_stop = highest = energy, stopped = true;
      highest = std::max(highest, energy);
      if (state.t > 0.5 * kEnd) late.push_back(f);
      out.force_end = f;
      if (report.inverted > 0) out.trouble = "inverts";
      if (!state.q.allFinite() || state.q.cwiseAbs().maxCoeff() > 3) out.trouble = "leaves";
      if (!out.stable()) return out;
    }
    for (const double f : late) out.mean += f / static_cast<double>(late.size());
    for (const double f : late) out.spread = std::max(out.spread, std::abs(f / out.mean - 1));
    out.iterations = static_cast<double>(iterations) / std::max(1, solves);
    out.solves = static_cast<double>(solves) / steps;
    out.rise = (highest - at_stop) / (at_stop - start);
    if (out.rise > kMayRise) out.trouble = "energy";
    return out;
  }

  Model model;
  Parameters parameters;
  StepSettings settings;
  State state;
  WarmStart warm;
  StepWorkspace workspace;
  const Body& ram;
};

Bent run_hard(const Cells& cells, double friction, double h, const Options& options) {
  Drive drive(cells, friction, true, h);
  const auto read = [&] {
    Reading out;
    for (const WarmStart::Entry& e : drive.warm.contacts)
      if (e.key.body_a == drive.ram.uid)  // impulse on the ram at a face, on the beam at a node
        out.force += (e.key.shape_b == 1 ? 1 : -1) * e.impulse_W[2] / h;
    return out;
  };
  return drive.run([] {}, read, options, "hard, " + cells.name());
}

/// Springs of `stiffness` [N/m] and dashpots of `dashpot` [N s/m] per contact.
/// `bears`: the mean force of the hard run.
Bent run_penalty(double stiffness, double dashpot, double h, double bears, const Options& options) {
  Drive drive(kPublished, 0, false, h);
  Penalty penalty(bending(kPublished, 0, true), drive.model, drive.model.find_body("ram"),
                  stiffness, dashpot);
  double deepest = 0;
  const auto push = [&] { penalty.push(drive.state, drive.parameters); };
  const auto read = [&] {
    const double energy = penalty.energy(drive.state, drive.parameters);
    deepest = std::max(deepest, penalty.deepest());
    return Reading{penalty.force()[2], energy};
  };
  Bent out = drive.run(push, read, options, "penalty, " + number(stiffness) + " N/m");
  out.deepest = deepest;
  out.judge_force(bears);
  return out;
}

/// Force of a slender planar beam (span over thickness 20) on two discs over 48 E I w / L³.
double slender(Index layers) {
  const double span = 1, thickness = 0.05, overhang = 0.05, radius = 0.0125, young = 1e7, w = 1e-3;
  ModelBuilder builder;
  builder.set_gravity(Vec3::Zero());
  builder.add_material({.name = "surface", .friction = 0});
  const Vec3 places[3] = {{overhang, -radius, 0},
                          {overhang + span, -radius, 0},
                          {overhang + 0.5 * span, thickness + radius, 0}};
  for (int i = 0; i < 3; ++i)
    builder.add_body({.name = i == 2 ? "ram" : "support" + std::to_string(i),
                      .motion = i == 2 ? Motion::Kinematic : Motion::Fixed,
                      .planar = true,
                      .position = places[i],
                      .shapes = {{.shape = Shape::disc(radius), .material = "surface"}}});
  builder.add_flexible({.name = "beam",
                        .mesh = rectangle_mesh(span + 2 * overhang, thickness, 22 * layers, layers),
                        .young = young,
                        .poisson = 0,
                        .density = 1000,
                        .material = "surface"});
  const Model model = builder.build();
  const Body& ram = model.body(model.find_body("ram"));
  State state = model.rest_state();
  WarmStart warm;
  StepWorkspace workspace;
  const StepSettings settings{.h = 1};
  double force = 0;
  for (int i = 0; i < 4; ++i) {  // two to push, two to settle: steps far longer than any period
    state.v.setZero();
    if (i < 2) state.v[ram.v_begin + 1] = -0.5 * w / settings.h;
    (void)step(model, model.default_parameters(), settings, {}, state, warm, workspace);
    force = 0;
    for (const WarmStart::Entry& e : warm.contacts)
      if (e.key.body_a == ram.uid)
        force += (e.key.shape_b == 1 ? 1 : -1) * e.impulse_W[1] / settings.h;
  }
  const double moment = thickness * thickness * thickness / 12;
  return force / (48 * young * moment * w / (span * span * span));
}

std::vector<std::string> row(std::string first, double h, const Bent& b) {
  std::vector<std::string> cells = {std::move(first), number(h), b.stable() ? "yes" : b.trouble};
  // What has inverted or left was not run to the end.
  const bool whole = b.iterations > 0 || b.solves > 0;
  for (const double x : {b.mean, 100 * b.spread, 100 * b.rise, b.iterations, b.solves})
    cells.push_back(whole ? number(x, x == b.mean ? 5 : 3) : "-");
  cells.push_back(std::to_string(b.failed));
  cells.push_back(number(b.deepest, 2));
  return cells;
}

const std::vector<std::string> kColumns = {"what",
                                           "h [s]",
                                           "stable, or what is wrong",
                                           "mean force, last 0.5 s [N]",
                                           "+- [%]",
                                           "energy rise while held [%]",
                                           "iterations per solve",
                                           "solves per step",
                                           "failed",
                                           "overlap [m]"};

/// Of hard contact: the largest stable step, the next longer one, that is not (0: none was tried),
/// and the run that bears the force to compare with.
struct Hard {
  double largest = 0, unstable = 0;
  Bent shortest;
};

/// Runs of falling steps, each judged by the force of the last.
std::vector<Bent> run_steps(const Cells& cells, double friction, const std::vector<double>& steps,
                            Result& result, Table& table, const Options& options) {
  const std::string name = cells.name() + (friction > 0 ? ", friction " + number(friction) : "");
  std::vector<Bent> runs;
  runs.reserve(steps.size());
  for (const double h : steps) runs.push_back(run_hard(cells, friction, h, options));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double h = steps[i];
    runs[i].judge_force(runs.back().mean);
    table.rows.push_back(row(name, h, runs[i]));
    const std::string where = name + ", h = " + number(h);
    if (h == 0.1 || h == kPublishedHard)
      result.checks.push_back({"unstable: " + where, runs[i].stable() ? 0.0 : 1.0, 0});
    result.checks.push_back(
        {"steps not converged: " + where, static_cast<double>(runs[i].failed), 0});
  }
  return runs;
}

Hard check_steps(Result& result, const std::vector<double>& steps, const Options& options) {
  Table table{"Hard contact (published: mesh 26 x 12 x 3, stable to 0.06 s)", kColumns, {}};
  const std::vector<Bent> runs = run_steps(kPublished, 0, steps, result, table, options);
  Hard hard{0, 0, runs.back()};
  for (std::size_t i = steps.size(); i-- > 0 && hard.unstable == 0;)
    (runs[i].stable() ? hard.largest : hard.unstable) = steps[i];
  // Friction in the same cones: no more than half as many iterations again as the goal without, a
  // number that stands still when the count without friction falls.
  const Cells cells = options.quick ? Cells{13, 6, 2} : kPublished;
  const std::vector<Bent> smooth =
      options.quick ? run_steps(cells, 0, steps, result, table, options) : runs;
  const std::vector<Bent> rough = run_steps(cells, 0.5, steps, result, table, options);
  double most = 0, ratio = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    most = std::max(most, rough[i].iterations);
    ratio = std::max(ratio, rough[i].iterations / smooth[i].iterations);
  }
  result.checks.push_back(
      {"iterations per solve with friction over the goal without, " + number(kGoal), most / kGoal,
       1.5});
  result.notes.push_back("iterations per solve with friction over those without: at most " +
                         number(ratio, 3) + " (goal of the check: over " + number(kGoal) + ")");
  result.tables.push_back(std::move(table));
  return hard;
}

struct Springs {
  double stiffness, dashpot;  // a contact
  std::string name() const {
    return number(stiffness) + " N/m" + (dashpot > 0 ? ", " + number(dashpot) + " N s/m" : "");
  }
};

/// The first stable step of a list that falls by factors of two, then the one between the last
/// two: known to a factor of sqrt(2).
struct Bracket {
  double stable = 0, unstable = 0;
  Bent run;  // the stable one
};

Bracket find_largest(const Springs& springs, double bears, Table& table, const Options& options) {
  Bracket out;
  const auto try_step = [&](double h) {
    Bent b = run_penalty(springs.stiffness, springs.dashpot, h, bears, options);
    table.rows.push_back(row(springs.name(), h, b));
    (b.stable() ? out.stable : out.unstable) = h;
    if (b.stable()) out.run = std::move(b);
  };
  constexpr double kShortest = 5e-4;  // 2000 steps and more a run below it
  for (double h = 0.1; h > kShortest && out.stable == 0; h *= 0.5) try_step(h);
  if (out.stable > 0 && out.unstable > 0) try_step(std::sqrt(0.5) * out.unstable);
  return out;
}

void check_penalty(Result& result, const Hard& hard, const Options& options) {
  Table table{
      "Penalty contact, a spring a contact (published: needs steps below 0.005 s)", kColumns, {}};
  const double bears = hard.shortest.mean;
  if (options.quick) {
    const double h = 0.0125;
    const Bent b = run_penalty(1e5, 0, h, bears, options);
    table.rows.push_back(row(Springs{1e5, 0}.name(), h, b));
    result.checks.push_back(
        {"penalty contact stable at h = " + number(h), b.stable() ? 1. : 0., 0});
    result.tables.push_back(std::move(table));
    return;
  }
  // Softer than the first the cylinder sinks in by more than its radius. The dashpot is a tenth of
  // the critical one of a node.
  std::vector<Curve> curves;
  double best = 0;
  for (const Springs& springs :
       {Springs{3e4, 0}, Springs{1e5, 0}, Springs{1e5, 22}, Springs{1e6, 0}}) {
    const Bracket found = find_largest(springs, bears, table, options);
    best = std::max(best, found.stable);
    std::string note = "largest stable step: hard contact " + number(hard.largest) + " s" +
                       (hard.unstable > 0 ? " (not " + number(hard.unstable) + " s)" : "") +
                       ", penalty of " + springs.name();
    note += found.stable > 0 ? " " + number(found.stable) + " s (not " + number(found.unstable) +
                                   " s), overlap " + number(1e3 * found.run.deepest) +
                                   " mm, force swings by " + number(100 * found.run.spread) + " %"
                             : " below " + number(found.unstable) + " s";
    result.notes.push_back(std::move(note));
    if (found.stable > 0 && springs.dashpot == 0)
      curves.push_back({number(springs.stiffness) + ", " + number(1e3 * found.stable, 2) + " ms",
                        found.run.time, found.run.curve.y});
  }
  std::reverse(curves.begin(), curves.end());  // drawn in order: what swings least comes last
  curves.push_back({"hard, 50 ms", hard.shortest.time, hard.shortest.curve.y});
  result.checks.push_back(
      {"largest stable step: penalty over hard contact", best / hard.largest, 0.1});
  result.tables.push_back(std::move(table));
  write_file(options, "bending_penalty.svg",
             plot_svg("Springs [N/m] at their largest stable step, and hard contact", "time [s]",
                      "force on the ram [N]", curves),
             result);
}

/// Force–deflection for a family of runs, and how fast it settles.
void converge(Result& result, const std::string& title, const std::string& file,
              const std::vector<std::pair<std::string, Bent>>& runs, const Options& options) {
  Table table{
      title, {"", "0-0.04 m", "0.04-0.08", "0.08-0.12", "0.12-0.16", "0.16-0.2", "at 1 s"}, {}};
  std::vector<Curve> curves;
  for (const auto& [name, bent] : runs) {
    std::vector<std::string> cells = {name};
    for (const double f : bent.windows) cells.push_back(number(f, 5));
    cells.push_back(number(bent.force_end, 5));
    table.rows.push_back(std::move(cells));
    Curve curve = bent.curve;
    curve.name = name;
    const auto held =
        std::find_if(curve.x.begin(), curve.x.end(), [](double x) { return x > kStroke - 1e-9; });
    const auto count = static_cast<std::size_t>(held - curve.x.begin()) + 1;
    curve.x.resize(std::min(count, curve.x.size()));
    curve.y.resize(curve.x.size());
    curves.push_back(std::move(curve));
  }
  // Differences of the held force from run to run must shrink, and so must those on the way.
  const auto difference = [&](std::size_t i) {
    double sum = 0;
    const Bent &a = runs[i].second, &b = runs[i + 1].second;
    for (std::size_t k = 1; k < std::min(a.windows.size(), b.windows.size()); ++k)
      sum = std::max(sum, std::abs(a.windows[k] - b.windows[k]) / std::abs(b.windows[k]));
    return sum;
  };
  if (runs.size() >= 3) {
    result.checks.push_back({file + ": last change of the force on the way over the one before",
                             difference(1) / difference(0), 0.8});
    const double before = std::abs(runs[1].second.force_end / runs[0].second.force_end - 1);
    const double last = std::abs(runs[2].second.force_end / runs[1].second.force_end - 1);
    // Where the step hardly matters both changes are small: no ratio of noise.
    result.checks.push_back(
        {file + ": last change of the held force", last, std::max(0.8 * before, 0.005)});
  }
  result.tables.push_back(std::move(table));
  write_file(options, file + ".svg",
             plot_svg("Three-point bending", "way of the ram [m]", "force [N]", curves), result);
}

/// The residual of the interior point, iteration by iteration, in the last of some steps.
void trace(Result& result, const Cells& cells, const Options& options) {
  std::vector<Curve> curves;
  Table table{"The problems of the bending, from nothing, mesh " + cells.name() + ", dt = 0.05",
              {"friction", "velocities", "rows", "steps", "iterations per solve", "not converged"},
              {}};
  for (const double friction : {0.0, 0.5}) {
    const Model model = bending(cells, friction, true);
    State state = model.rest_state();
    state.v[model.body(model.find_body("ram")).v_begin + 2] = -kSpeed;
    const Study s =
        study(model, model.default_parameters(), state,
              {.h = 0.05, .friction = FrictionModel::Coulomb, .calls = 4, .all_starts = false},
              options.progress);
    table.rows.push_back({number(friction), number(s.velocities, 6), number(s.rows, 6),
                          std::to_string(s.calls), number(s.mean(kJudge, kCold)),
                          std::to_string(s.failed[kJudge][kCold])});
    result.checks.push_back({"interior point, friction " + number(friction) + ": not converged",
                             static_cast<double>(s.failed[kJudge][kCold]), 0});
    Curve c{"friction " + number(friction), {}, {}};
    for (std::size_t i = 0; i < s.history.size(); ++i) {
      c.x.push_back(static_cast<double>(i));
      c.y.push_back(s.history[i]);
    }
    curves.push_back(std::move(c));
  }
  result.tables.push_back(std::move(table));
  write_file(options, "bending_convergence.svg",
             plot_svg("Bending: residual by iteration, dt = 0.05 (figure 5.4)", "iteration",
                      "residual", curves, false, true),
             result);
}

/// The way of the ram, for `orthant run`.
std::string bending_scene(const Cells& cells) {
  return R"(orthant: 1
name: three-point bending
description: a soft beam on two cylinders, bent by a third that is driven down
materials: [{name: surface, friction: 0}]
bodies:
  - {name: left, motion: fixed, position: [0.15, 0.3, -0.025], rotation: [0, 0, 90 deg], shapes: {type: capsule, radius: 0.025, half_length: 0.4, material: surface}}
  - {name: right, motion: fixed, position: [1.15, 0.3, -0.025], rotation: [0, 0, 90 deg], shapes: {type: capsule, radius: 0.025, half_length: 0.4, material: surface}}
  - {name: ram, motion: kinematic, position: [0.65, 0.3, 0.175], rotation: [0, 0, 90 deg], velocity: [0, 0, -1], shapes: {type: capsule, radius: 0.025, half_length: 0.4, material: surface}}
flexible:
  - {type: box, name: beam, size: [1.3, 0.6, 0.15], cells: [)" +
         std::to_string(cells.x) + ", " + std::to_string(cells.y) + ", " + std::to_string(cells.z) +
         R"(], young: 1.0e+7, poisson: 0.3, density: 1000, material: surface}
step: {h: 0.01}
run: {time: 0.2}
)";
}

}  // namespace

Result run_bending(const Options& options) {
  Result result;
  const Hard hard = check_steps(
      result,
      options.quick ? std::vector<double>{0.1} : std::vector<double>{0.4, 0.2, 0.1, 0.06, 0.05},
      options);
  check_penalty(result, hard, options);
  if (!options.quick) {
    std::vector<std::pair<std::string, Bent>> runs;
    for (const double h : {0.02, 0.01, 0.005})
      runs.emplace_back("h = " + number(h), run_hard(kPublished, 0, h, options));
    const Bent middle = runs[0].second;
    converge(result, "Mean force [N] over ways of the ram, mesh 26 x 12 x 3", "bending_steps", runs,
             options);
    runs.clear();
    for (const Cells& cells : {Cells{13, 6, 2}, kPublished, Cells{39, 18, 5}})
      runs.emplace_back(cells.name(),
                        cells.x == kPublished.x ? middle : run_hard(cells, 0, 0.02, options));
    converge(result, "Mean force [N] over ways of the ram, h = 0.02 s", "bending_meshes", runs,
             options);
  }
  const Cells shown = options.quick ? Cells{13, 6, 2} : kPublished;
  trace(result, shown, options);
  result.scenes.push_back(
      {"bending_run", "the beam while the ram comes down (figure 5.3)", bending_scene(shown)});
  Table thin{"Slender beam (span over thickness 20), planar, force over 48 E I w / L^3",
             {"layers", "ratio"},
             {}};
  for (const Index layers :
       options.quick ? std::vector<Index>{16} : std::vector<Index>{5, 10, 20}) {
    const double ratio = slender(layers);
    thin.rows.push_back({std::to_string(layers), number(ratio, 5)});
    if (layers >= 16)
      result.checks.push_back({"slender beam against Euler-Bernoulli", std::abs(ratio - 1), 0.02});
  }
  result.tables.push_back(std::move(thin));
  result.notes.push_back(
      "not given by the source, chosen here: cubes of 0.05 m, gravity 9.81 m/s^2, no friction, no "
      "damping; starts touching, driven 0.2 m, held to 1 s");
  return result;
}

}  // namespace orthant::reproduce
