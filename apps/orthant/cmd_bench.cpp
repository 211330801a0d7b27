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
    return {std::move(s.model),   std::move(s.parameters), std::move(s.state), s.settings, s.steps,
            std::move(s.controls)};
  }
  scenes::Scene s = scenes::make_scene(name);
  return {std::move(s.model), std::move(s.parameters), std::move(s.state), s.settings, s.steps};
}

BenchResult measure(const std::string& name, const BenchCommand& c) {
  reset_peak_memory();
  BenchScene scene = load(name);
  BenchResult r;
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
  r.contacts /= std::max<double>(static_cast<double>(r.steps), 1);
  return r;
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
  set_thread_count(c.threads);
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
    const BenchResult r = measure(name, c);
    report.push_back(to_json(r));
    good = good && r.failed == 0;
    if (quiet) continue;
    const double count = static_cast<double>(r.steps);
    fmt::print("{:<20} {:>6} {:>6} {:>9.4f} {:>9.4f} {:>9.3f} {:>8.1f} {:>9.1e} {:>6} {:>8.1f}\n",
               name, r.bodies, r.steps, 1e3 * r.seconds / count, 1e3 * r.cpu / count,
               1e3 * r.slowest, r.contacts, r.residual, r.failed, r.memory);
    std::fflush(stdout);
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
  command.option("--threads", o->threads, "threads; 0: all cores").value_name("N");
  command.flag("--list", o->list, "the built-in scenes");
  command.option("--json", o->json_path, "report as JSON to a file, or to standard output (-)")
      .value_name("FILE|-");
  command.footer(
      "Example:\n  orthant bench stack dominoes\n  orthant bench my_scene.yaml --threads 2 --json "
      "bench.json\n");
  command.run([o] { return run_bench(*o); });
}

}  // namespace orthant::app
