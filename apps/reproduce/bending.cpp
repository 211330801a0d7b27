// SPDX-License-Identifier: Apache-2.0
// reproduce/bending.cpp: three-point bending of a soft beam, hard contact against penalty contact.
//   beam 1.3 × 0.6 × 0.15 m, E = 1e7 Pa, ν = 0.3, 1000 kg/m³; cylinders ⌀ 0.05 m, supports 1 m
//   apart; the middle one is driven down at 1 m/s for 0.2 m, then held to t = 1 s
// Stable: nothing inverts or leaves, while the ram is held the energy does not rise (supports at
// rest do no work), and the ram bears on the beam as in the hard run. The penalty force, a spring a
// surface node, is taken at the start of a step; the elements are implicit in both. Slender limit:
// F = 48 E I w / L³.
#include <algorithm>
#include <cmath>

#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::reproduce {
namespace {

constexpr double kRadius = 0.025, kStroke = 0.2, kSpeed = 1, kEnd = 1, kWindow = 0.04;
constexpr double kPublishedHard = 0.06;

struct Cells {
  Index x, y, z;
  std::string name() const {
    return std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z);
  }
};
constexpr Cells kPublished{26, 12, 3};

/// `hard`: contact in the step; else every surface node has a force of its own.
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
  if (!hard) {
    const Model whole = builder.build();
    for (const Index node : whole.flexible_parts()[0].surface_nodes)
      builder.add_force(
          NodeForceSpec{.name = "n" + std::to_string(node), .part = "beam", .nodes = {node}});
  }
  return builder.build();
}

struct Bent {
  bool stable = false;
  double force_end = 0;   // on the ram at t = 1 s [N]
  double mean = 0;        // of that force over the last half second [N]
  double spread = 0;      // largest deviation from it there [-]
  double deepest = 0;     // overlap left after a step [m]
  double iterations = 0;  // mean a solve
  double solves = 0;      // mean a step
  int failed = 0, cuts = 0;
  Curve curve;                  // way of the ram, force on it
  std::vector<double> windows;  // mean force over each kWindow of way [N]
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
  }

  template <class Before, class After>
  Bent run(Before&& before, After&& after, const Options& options, const std::string& what) {
    Bent out;
    const int steps = static_cast<int>(std::ceil(kEnd / settings.h - 1e-9));
    const double start = potential_energy(model, parameters, state.q, 0);
    double at_stop = start, end = 0;
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
      out.cuts += report.cuts;
      out.deepest = std::max(out.deepest, report.deepest);
      const Reading reading = after();
      const double f = reading.force;
      out.curve.x.push_back(to);
      out.curve.y.push_back(f);
      impulse += f * settings.h;
      const auto window = static_cast<std::size_t>(std::lround(to / kWindow));
      if (std::abs(to - static_cast<double>(window) * kWindow) < 1e-9 &&
          out.windows.size() < window && out.windows.size() < 5) {
        out.windows.push_back(impulse * kSpeed / kWindow);
        impulse = 0;
      }
      end = report.kinetic + report.potential + reading.energy;
      if (to > kStroke - 1e-9 && !stopped) at_stop = end, stopped = true;
      if (state.t > 0.5 * kEnd) late.push_back(f);
      out.force_end = f;
      if (!state.q.allFinite() || state.q.cwiseAbs().maxCoeff() > 3) return out;
      out.stable = report.inverted == 0;
    }
    for (const double f : late) out.mean += f / static_cast<double>(late.size());
    for (const double f : late) out.spread = std::max(out.spread, std::abs(f / out.mean - 1));
    out.iterations = static_cast<double>(iterations) / std::max(1, solves);
    out.solves = static_cast<double>(solves) / steps;
    out.stable = out.stable && end - start <= 1.01 * (at_stop - start);
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

/// A spring of `stiffness` [N/m] a surface node that is inside a cylinder. Nodes only: the cylinder
/// can slip between two rows of them.
/// `bears`: the mean force of the hard run.
Bent run_penalty(double stiffness, double h, double bears, const Options& options) {
  Drive drive(kPublished, 0, false, h);
  const FlexiblePart& part = drive.model.flexible_parts()[0];
  double force = 0, deepest = 0;
  /// visit(load, overlap, direction, on the ram) for every node inside a cylinder.
  const auto each_overlap = [&](auto&& visit) {
    for (const NodeForce& load : drive.model.node_forces()) {
      const Vec3 p = node_position(part, drive.state.q, load.nodes[0]);
      for (const Body& body : drive.model.bodies()) {
        const Vec3 c = drive.state.q.segment<3>(body.q_begin);
        const Vec3 d(p[0] - c[0], 0, p[2] - c[2]);
        if (d.norm() < kRadius)
          visit(load, kRadius - d.norm(), Vec3(d.normalized()), &body == &drive.ram);
      }
    }
  };
  const auto push = [&] {
    force = 0;
    double* values = drive.parameters.values.data();
    for (const NodeForce& load : drive.model.node_forces())
      std::fill_n(values + load.parameter_begin, 3, 0.0);
    each_overlap([&](const NodeForce& load, double overlap, const Vec3& n, bool on_ram) {
      deepest = std::max(deepest, overlap);
      for (int a = 0; a < 3; ++a) values[load.parameter_begin + a] += stiffness * overlap * n[a];
      if (on_ram) force -= stiffness * overlap * n[2];
    });
  };
  const auto read = [&] {
    Reading out{force, 0};
    each_overlap([&](const NodeForce&, double overlap, const Vec3&, bool) {
      out.energy += 0.5 * stiffness * overlap * overlap;
    });
    // The report takes the loads for dead weights: springs are counted instead.
    for (const NodeForce& load : drive.model.node_forces())
      for (int a = 0; a < 3; ++a)
        out.energy += drive.parameters[load.parameter_begin + a] *
                      node_position(part, drive.state.q, load.nodes[0])[a];
    return out;
  };
  Bent out = drive.run(push, read, options, "penalty, " + number(stiffness) + " N/m");
  out.deepest = deepest;
  out.stable = out.stable && std::abs(out.mean / bears - 1) < 0.2;
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
  return {std::move(first),          number(h),
          b.stable ? "yes" : "no",   number(b.force_end, 5),
          number(100 * b.spread, 2), number(b.iterations),
          number(b.solves),          std::to_string(b.failed),
          std::to_string(b.cuts),    number(b.deepest, 2)};
}

const std::vector<std::string> kColumns = {"what",
                                           "h [s]",
                                           "stable",
                                           "force at 1 s [N]",
                                           "+- in 0.5 s [%]",
                                           "iterations a solve",
                                           "solves a step",
                                           "failed",
                                           "cuts",
                                           "overlap [m]"};

/// The largest step that is stable with hard contact, and the force the ram bears with.
struct Hard {
  double largest = 0, bears = 0;
};

Hard check_steps(Result& result, const std::vector<double>& steps, const Options& options) {
  Hard hard;
  Table table{"Hard contact (published: mesh 26 x 12 x 3, stable to 0.06 s)", kColumns, {}};
  for (const double h : steps) {
    const Bent b = run_hard(kPublished, 0, h, options);
    table.rows.push_back(row(kPublished.name(), h, b));
    if (b.stable) hard.largest = std::max(hard.largest, h);
    hard.bears = b.mean;
    if (h == 0.1 || h == kPublishedHard)
      result.checks.push_back(
          {"unstable with hard contact at h = " + number(h), b.stable ? 0.0 : 1.0, 0});
    result.checks.push_back(
        {"steps not converged at h = " + number(h), static_cast<double>(b.failed), 0});
  }
  // Friction in the same cones: no more than half as many iterations again.
  const Cells cells = options.quick ? Cells{13, 6, 2} : kPublished;
  const double h = options.quick ? 0.1 : 0.05;
  const Bent smooth = run_hard(cells, 0, h, options), rough = run_hard(cells, 0.5, h, options);
  table.rows.push_back(row(cells.name(), h, smooth));
  table.rows.push_back(row(cells.name() + ", friction 0.5", h, rough));
  result.checks.push_back(
      {"iterations a solve with friction over without", rough.iterations / smooth.iterations, 1.5});
  result.checks.push_back({"unstable with friction", rough.stable ? 0.0 : 1.0, 0});
  result.tables.push_back(std::move(table));
  return hard;
}

void check_penalty(Result& result, const Hard& hard, const Options& options) {
  Table table{
      "Penalty contact, down to the first stable step (published: below 0.005 s)", kColumns, {}};
  const std::vector<double> stiffness =
      options.quick ? std::vector<double>{1e6} : std::vector<double>{1e5, 1e6, 1e7};
  const std::vector<double> steps =
      options.quick ? std::vector<double>{0.05}
                    : std::vector<double>{0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};
  for (const double k : stiffness) {
    double largest = 0;
    for (const double h : steps) {
      const Bent b = run_penalty(k, h, hard.bears, options);
      table.rows.push_back(row(number(k) + " N/m a node", h, b));
      if (!b.stable) continue;
      largest = h;
      break;
    }
    result.notes.push_back("largest stable step: hard contact " + number(hard.largest) +
                           " s, penalty of " + number(k) + " N/m a node " +
                           (largest > 0 ? number(largest) : "below " + number(steps.back())) +
                           " s");
  }
  result.tables.push_back(std::move(table));
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

}  // namespace

Result run_bending(const Options& options) {
  Result result;
  const Hard hard = check_steps(
      result, options.quick ? std::vector<double>{0.1} : std::vector<double>{0.2, 0.1, 0.06, 0.05},
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
