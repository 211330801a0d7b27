// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_bench.cpp: orthant bench NAME… => ms per step, residual, contacts, memory of scenes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/process.hpp"
#include "orthant/base/thread_scope.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/io/scene.hpp"
#include "report.hpp"
#include "scenes/scenes.hpp"

namespace orthant::app {
namespace {

/// Scenes of every kind that together take a few seconds.
const std::vector<std::string> kDefault = {"drop",      "stack",       "pyramid", "card_house",
                                           "arch",      "dominoes",    "incline", "newtons_cradle",
                                           "billiards", "elastic_gas", "chain",   "slider_crank"};

struct BenchCommand {
  std::vector<std::string> names;
  std::string json_path;
  Index steps = 0;
  int threads = 1;
  bool list = false;
};

struct BenchScene {
  Model model;
  Parameters parameters;
  State state;
  StepSettings settings;
  std::int64_t steps = 0;
  std::vector<ControlTable> controls = {};
};

struct BenchResult {
  std::string name;
  std::int64_t steps = 0, failed = 0, most_contacts = 0;
  Index bodies = 0;
  double seconds = 0, cpu = 0, slowest = 0, residual = 0, deepest = 0, contacts = 0, memory = 0;
  double beyond = 0;  // memory besides the model and the state [MB]
  double collision = 0, assembly = 0, solve = 0, projection = 0;
};

bool is_file(const std::string& name) {
  for (const char* ending : {".yaml", ".yml", ".urdf", ".xml"})
    if (name.ends_with(ending)) return true;
  return false;
}

BenchScene load(const std::string& name) {
  if (is_file(name)) {
    LoadedScene s = load_scene(name);
    need_plain_steps(s, "a benchmark");
    return {std::move(s.model),   std::move(s.parameters), std::move(s.state), s.settings, s.steps,
            std::move(s.controls)};
  }
  scenes::Scene s = scenes::make_scene(name);
  return {std::move(s.model), std::move(s.parameters), std::move(s.state), s.settings, s.steps};
}

BenchResult measure(const std::string& name, const BenchCommand& c, int threads) {
  const ThreadScope scope(threads);
  reset_peak_memory();
  BenchScene scene = load(name);
  BenchResult r;
  reset_peak_memory();
  const double loaded = peak_memory();
  r.name = name;
  r.bodies = scene.model.dynamic_count();
  r.steps = c.steps > 0 ? c.steps : scene.steps;
  StepWorkspace workspace;
  WarmStart warm;
  VecX u(static_cast<Index>(scene.controls.size()));
  const Timer all;
  const double cpu = processor_seconds();
  for (std::int64_t i = 0; i < r.steps; ++i) {
    for (Index k = 0; k < u.size(); ++k)
      u[k] = scene.controls[static_cast<std::size_t>(k)].at(scene.state.t);
    const Timer one;
    const StepReport report =
        step(scene.model, scene.parameters, scene.settings, u, scene.state, warm, workspace);
    r.slowest = std::max(r.slowest, one.seconds());
    r.failed += report.outcome == Outcome::Converged ? 0 : 1;
    r.residual = std::max(r.residual, report.residual);
    r.deepest = std::max(r.deepest, report.deepest);
    r.contacts += static_cast<double>(report.contacts);
    r.most_contacts = std::max<std::int64_t>(r.most_contacts, report.contacts);
    r.collision += report.seconds_collision;
    r.assembly += report.seconds_assembly;
    r.solve += report.seconds_solve;
    r.projection += report.seconds_projection;
  }
  r.seconds = all.seconds();
  r.cpu = processor_seconds() - cpu;
  r.memory = peak_memory() / 1048576;
  r.beyond = (peak_memory() - loaded) / 1048576;
  r.contacts /= std::max<double>(static_cast<double>(r.steps), 1);
  return r;
}

/// One more run in one thread, every loop timed: what threads could be worth.
ParallelMeter::Result meter(const std::string& name, const BenchCommand& c) {
  BenchScene scene = load(name);
  StepWorkspace workspace;
  WarmStart warm;
  VecX u(static_cast<Index>(scene.controls.size()));
  ParallelMeter meter;
  const std::int64_t steps = c.steps > 0 ? c.steps : scene.steps;
  for (std::int64_t i = 0; i < steps; ++i) {
    for (Index k = 0; k < u.size(); ++k)
      u[k] = scene.controls[static_cast<std::size_t>(k)].at(scene.state.t);
    (void)step(scene.model, scene.parameters, scene.settings, u, scene.state, warm, workspace);
  }
  return meter.read();
}

/// Amdahl's share of what does not get faster, from the speed-up with n threads.
double serial_share(double speedup, int n) {
  return std::clamp((1 / speedup - 1.0 / n) / (1 - 1.0 / n), 0.0, 1.0);
}

Json print_scaling(const std::string& name, const BenchCommand& c, bool quiet) {
  const BenchResult one = measure(name, c, 1), many = measure(name, c, c.threads);
  const ParallelMeter::Result path = meter(name, c);
  const double ms = 1e3 / static_cast<double>(one.steps);
  Json stages = Json::array();
  if (!quiet)
    fmt::print("  {:<12} {:>10} {:>10} {:>9} {:>13}\n", "stage", "1 thread",
               fmt::format("{} threads", c.threads), "speed-up", "serial share");
  const auto stage = [&](const char* what, double a, double b) {
    if (!(a > 0 && b > 0)) return;
    stages.push_back(
        {{"stage", what}, {"ms_one", ms * a}, {"ms_many", ms * b}, {"speedup", a / b}});
    if (!quiet)
      fmt::print("  {:<12} {:>7.3f} ms {:>7.3f} ms {:>9.2f} {:>11.1f} %\n", what, ms * a, ms * b,
                 a / b, 100 * serial_share(a / b, c.threads));
  };
  stage("collision", one.collision, many.collision);
  stage("assembly", one.assembly, many.assembly);
  stage("solve", one.solve, many.solve);
  stage("projection", one.projection, many.projection);
  const auto rest = [](const BenchResult& r) {
    return r.seconds - r.collision - r.assembly - r.solve - r.projection;
  };
  stage("other", rest(one), rest(many));
  stage("in all", one.seconds, many.seconds);
  Json paths = Json::array();
  if (!quiet)
    fmt::print("  memory beyond the model: {:.1f} MB, {:.2f} kB per body\n", one.beyond,
               1048.576 * one.beyond / static_cast<double>(std::max<Index>(one.bodies, 1)));
  if (!quiet)
    fmt::print(
        "  by processor time of every chunk: {:.3f} ms per step, {:.1f} % serial, {:.0f} "
        "loops; critical path\n   ",
        ms * path.seconds, 100 * (1 - path.parallel / path.seconds),
        static_cast<double>(path.loops) / static_cast<double>(one.steps));
  for (std::size_t p = 1; p < path.path.size(); ++p) {
    const double speedup = path.path[0] / path.path[p];
    paths.push_back({{"threads", 1 << p}, {"speedup", speedup}});
    if (!quiet)
      fmt::print(" {} threads {:.2f}x{}", 1 << p, speedup, p + 1 < path.path.size() ? "," : "\n");
  }
  return {{"name", name},
          {"threads", c.threads},
          {"stages", stages},
          {"cpu_ms", ms * path.seconds},
          {"serial_share", 1 - path.parallel / path.seconds},
          {"critical_path", paths}};
}

Json to_json(const BenchResult& r) {
  return {{"name", r.name},
          {"bodies", r.bodies},
          {"steps", r.steps},
          {"failed_steps", r.failed},
          {"seconds", r.seconds},
          {"cpu_seconds", r.cpu},
          {"ms_per_step", 1e3 * r.seconds / static_cast<double>(r.steps)},
          {"slowest_ms", 1e3 * r.slowest},
          {"contacts", r.contacts},
          {"most_contacts", r.most_contacts},
          {"residual", r.residual},
          {"deepest", r.deepest},
          {"memory_mb", r.memory},
          {"memory_beyond_mb", r.beyond},
          {"seconds_collision", r.collision},
          {"seconds_assembly", r.assembly},
          {"seconds_solve", r.solve},
          {"seconds_projection", r.projection}};
}

int run_bench(const BenchCommand& c) {
  if (c.list) {
    for (const scenes::SceneEntry& entry : scenes::registry())
      fmt::print("{:<18} {}\n", entry.name, entry.about);
    return kSuccess;
  }
  const int threads = c.threads == 0 ? ThreadScope::all_cores() : c.threads;
  const std::vector<std::string>& names = c.names.empty() ? kDefault : c.names;
  for (const std::string& name : names)
    if (!is_file(name)) (void)scenes::make_scene(name);  // misspelt: say so before any is run
  const bool quiet = c.json_path == "-";
  if (!quiet)
    fmt::print("{:<20} {:>6} {:>6} {:>9} {:>9} {:>9} {:>8} {:>9} {:>6} {:>8}\n", "scene", "bodies",
               "steps", "ms/step", "cpu ms", "slowest", "contacts", "residual", "missed", "MB");
  Json report = Json::array();
  bool good = true;
  for (const std::string& name : names) {
    const BenchResult r = measure(name, c, threads);
    report.push_back(to_json(r));
    good = good && r.failed == 0;
    if (quiet) continue;
    const double count = static_cast<double>(r.steps);
    fmt::print("{:<20} {:>6} {:>6} {:>9.4f} {:>9.4f} {:>9.3f} {:>8.1f} {:>9.1e} {:>6} {:>8.1f}\n",
               name, r.bodies, r.steps, 1e3 * r.seconds / count, 1e3 * r.cpu / count,
               1e3 * r.slowest, r.contacts, r.residual, r.failed, r.memory);
    std::fflush(stdout);
  }
  if (threads > 1) {
    BenchCommand many = c;
    many.threads = threads;
    for (const std::string& name : names) {
      if (!quiet) fmt::print("{}\n", name);
      report.push_back(print_scaling(name, many, quiet));
      std::fflush(stdout);
    }
  }
  write_report(c.json_path, report.text());
  return good ? kSuccess : kNotConverged;
}

}  // namespace

void add_bench(Program& program) {
  const auto o = std::make_shared<BenchCommand>();
  Command command = program.command("bench", "Time the steps of scenes on this machine");
  command
      .option("name", o->names,
              "built-in scenes (--list) or scene files; default: a dozen small ones")
      .value_name("NAME");
  command.option("--steps", o->steps, "instead of the scene's own").value_name("N").positive();
  command
      .option(
          "--threads", o->threads,
          "threads; 0: all cores. More than one: speed-up and serial share of each stage as well")
      .value_name("N")
      .not_negative();
  command.flag("--list", o->list, "the built-in scenes");
  command.option("--json", o->json_path, "report as JSON to a file, or to standard output (-)")
      .value_name("FILE|-");
  command.footer(
      "Example:\n  orthant bench stack dominoes\n  orthant bench my_scene.yaml --threads 2 --json "
      "bench.json\n");
  command.run([o] { return run_bench(*o); });
}

}  // namespace orthant::app
