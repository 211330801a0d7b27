// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_run.cpp: orthant run SCENE -o DIR => a run directory; bar, ctrl-C, summary.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>

#include "command.hpp"
#include "names.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/io/run.hpp"
#include "orthant/problem_io/problem_file.hpp"
#include "orthant/step/step.hpp"
#include "report.hpp"
#include "run_folder.hpp"
#if defined(ORTHANT_HAS_MPI)
#include "orthant/distributed/distributed.hpp"
#include "run_counts.hpp"
#endif

namespace orthant::app {
namespace {

struct RunCommandOptions {
  std::string scene, folder, json;
  SceneOptions scene_options;
  RunOptions run;
  int explain = 0;       // a step; 0: none
  std::string problems;  // folder for the problems of that step
  int threads = 1;
  bool quiet = false, fast_sums = false;
};

/// A line on standard error, redrawn a few times per second; only on a terminal.
class Progress {
 public:
  Progress(bool on, std::int64_t first, std::int64_t end)
      : on_(on && isatty(STDERR_FILENO)), first_(first), end_(end) {}
  ~Progress() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::int64_t step, const StepReport& report) {
    if (!on_ || (shown_ && since_.seconds() < 0.1)) return;
    since_.restart();
    shown_ = true;
    const double rate = static_cast<double>(step - first_) / std::max(timer_.seconds(), 1e-9);
    const double left = static_cast<double>(end_ - step) / std::max(rate, 1e-9);
    const int filled =
        static_cast<int>(kWidth * static_cast<double>(step) / static_cast<double>(end_));
    fmt::print(
        stderr,
        "\r\033[K[{:#<{}}{:.<{}}] {}/{}  {:.0f} steps/s  {} contacts  residual {:.0e}  {} left", "",
        filled, "", kWidth - filled, step, end_, rate, report.contacts, report.residual,
        clock_text(left));
    std::fflush(stderr);
  }

 private:
  static constexpr int kWidth = 24;
  bool on_, shown_ = false;
  std::int64_t first_, end_;
  Timer timer_, since_;
};

void print_summary(const SceneRun& run, const std::string& folder, bool stopped) {
  const RunTotals& t = run.totals();
  const double known = t.seconds_collision + t.seconds_assembly + t.seconds_solve +
                       t.seconds_projection + t.seconds_record;
  fmt::print("{}: step {} of {}, t = {:.6g} s{}\n", folder, run.state().step, run.end_step(),
             run.state().t, stopped ? ", stopped; --resume goes on" : "");
  fmt::print(
      "  {} of {} steps missed the tolerance; worst residual {:.1e}, deepest {:.1e} m, joint error "
      "{:.1e}\n",
      t.failed_steps, t.steps, t.residual, t.deepest, t.joint_error);
  if (t.cut_steps > 0 || t.inverted_steps > 0)
    fmt::print(
        "  {} steps cut, {} halvings, because an element would invert; {} ended with inverted "
        "elements\n",
        t.cut_steps, t.cuts, t.inverted_steps);
  const auto stage = [&](const char* name, double seconds) {
    fmt::print("  {:<11}{:>9.3f} s {:>5.1f} %\n", name, seconds,
               100 * seconds / std::max(t.seconds, 1e-9));
  };
  stage("collision", t.seconds_collision);
  stage("assembly", t.seconds_assembly);
  stage("solve", t.seconds_solve);
  stage("projection", t.seconds_projection);
  stage("record", t.seconds_record);
  stage("other", std::max(t.seconds - known, 0.0));
  fmt::print("  {:<11}{:>9.3f} s\n", "in all", t.seconds);
}

/// Before anything is written.
void check_options(const RunCommandOptions& options) {
  if (options.folder.empty()) throw Error("-o", "expected a folder for the run");
  if (options.scene.empty() && !options.run.resume)
    throw Error("run", "expected a scene (or --resume with the folder of a run)");
  if (options.run.steps && options.run.time) throw Error("run", "give either --steps or --time");
  if (options.run.time && !std::isfinite(*options.run.time))
    throw Error("--time", "must be finite, found " + to_text(*options.run.time));
}

LoadedScene scene_of(const RunCommandOptions& options) {
  return options.scene.empty() ? scene_of_run(options.folder)
                               : load_scene(options.scene, options.scene_options);
}

int run_steps(const RunCommandOptions& options, LoadedScene scene, const RunOptions& run_options) {
  refuse_foreign_files(options.folder);
  const FolderLock lock(options.folder);
  if (!options.quiet)
    for (const std::string& note : scene.notes) fmt::print(stderr, "note: {}\n", note);
  catch_stop();  // from the first file on disk on, a stop is a clean one
  SceneRun run(std::move(scene), options.folder, run_options);
  {
    Progress progress(!options.quiet, run.state().step, run.end_step());
    while (!run.done() && !stop_requested()) {
      const StepReport report = run.step();
      progress.show(run.state().step, report);
    }
  }
  run.save();
  const bool stopped = !run.done();
  write_report(options.json, run.report());
  if (!options.quiet && options.json != "-") print_summary(run, options.folder, stopped);
  if (stopped) return kInterrupted;
  return run.totals().failed_steps > 0 ? kNotConverged : kSuccess;
}

int run_scene(const RunCommandOptions& options) {
  check_options(options);
  set_thread_count(options.threads);
  // Before anything is written: a scene that is wrong or a wrong folder leaves nothing behind.
  return run_steps(options, scene_of(options), options.run);
}

#if defined(ORTHANT_HAS_MPI)

/// Runs `work` on every rank; what goes wrong is told once, by the first rank on which it did.
template <class Work>
bool agree(const MpiSession& mpi, Work&& work) {
  std::string why;
  bool good = true;
  try {
    work();
  } catch (const std::exception& error) {
    good = false;
    why = error.what();
  }
  const int first = mpi.first(!good);
  if (first == mpi.rank()) fmt::print(stderr, "orthant: {}\n", why);
  return first < 0;
}

/// Every rank makes the run, and what costs most in a step is shared out.
int run_together(const MpiSession& mpi, const RunCommandOptions& options, LoadedScene scene,
                 const std::string& what) {
  RankTeam ranks(options.fast_sums);
  const bool first = mpi.rank() == 0, tells = first && !options.quiet;
  if (tells && mpi.size() > 1)
    fmt::print(stderr,
               "note: every rank holds the whole scene, which has {}; contacts and solves are "
               "shared out\n",
               what);
  std::optional<FolderLock> lock;
  std::unique_ptr<SceneRun> run;
  const bool ready = agree(mpi, [&] {
    if (first) refuse_foreign_files(options.folder);
    if (first) lock.emplace(options.folder);
  });
  if (!ready) return kBadInput;
  if (tells)
    for (const std::string& note : scene.notes) fmt::print(stderr, "note: {}\n", note);
  catch_stop();
  RunOptions run_options = options.run;
  run_options.team = ranks.team();
  if (!agree(mpi, [&] {
        run = std::make_unique<SceneRun>(std::move(scene), options.folder, run_options);
      }))
    return kBadInput;
  try {
    Progress progress(tells, run->state().step, run->end_step());
    while (!run->done() && mpi.first(stop_requested()) < 0) {
      const StepReport report = run->step();
      progress.show(run->state().step, report);
    }
    run->save();
  } catch (const std::exception& error) {  // others may wait for this rank
    fmt::print(stderr, "orthant: {} (rank {})\n", error.what(), mpi.rank());
    std::fflush(nullptr);
    mpi.abort(kBadInput);
  }
  const bool stopped = !run->done();
  if (first) write_report(options.json, run->report());
  if (tells && options.json != "-") {
    print_summary(*run, options.folder, stopped);
    fmt::print("  {}\n", counts_text(ranks.counts(), mpi.size()));
  }
  if (stopped) return kInterrupted;
  return run->totals().failed_steps > 0 ? kNotConverged : kSuccess;
}

/// The same on many ranks: rank 0 records.
int run_ranks(const RunCommandOptions& options) {
  const MpiSession mpi;
  std::optional<LoadedScene> scene;
  std::unique_ptr<DistributedRun> ranks;
  std::string what;
  const bool ready = agree(mpi, [&] {
    check_options(options);
    set_thread_count(options.threads);
    scene = scene_of(options);
    what = DistributedRun::why_not(*scene);
    if (what.empty()) ranks = std::make_unique<DistributedRun>(*scene);
  });
  if (!ready) {
    if (ranks) ranks->cancel();
    return kBadInput;
  }
  if (!what.empty()) return run_together(mpi, options, std::move(*scene), what);
  try {
    if (mpi.rank() != 0) {
      ranks->serve();
      return kSuccess;
    }
    if (scene->record.contacts && !options.quiet)
      fmt::print(stderr, "note: contacts are not recorded on ranks\n");
    RunOptions run_options = options.run;
    run_options.stepper = &ranks->stepper();
    const int code = run_steps(options, *scene, run_options);
    if (!options.quiet && options.json != "-")
      fmt::print("  {}\n", counts_text(ranks->counts(), mpi.size()));
    return code;
  } catch (const std::exception& error) {
    // Others may wait for this rank in the middle of a step.
    fmt::print(stderr, "orthant: {}{}\n", error.what(),
               mpi.rank() == 0 ? "" : fmt::format(" (rank {})", mpi.rank()));
    std::fflush(nullptr);
    if (ranks->counts().steps > 0) mpi.abort(kBadInput);
    return kBadInput;
  }
}

#else

/// Said by the first of several processes that a launcher of MPI started, none of which knows the
/// others.
void note_on_ranks() {
  const auto number = [](std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (const char* value = std::getenv(name)) return std::atoi(value);
    return 0;
  };
  const int size = number({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  if (size > 1 && number({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}) == 0)
    fmt::print(
        stderr,
        "note: each of the {} ranks makes a run of its own; orthant-mpi (ORTHANT_MPI) shares "
        "one out\n",
        size);
}

#endif

/// Steps the scene up to `explain`, records nothing, and tells of every solve of that step.
int explain_step(const RunCommandOptions& options) {
  if (options.scene.empty()) throw Error("--explain", "expected a scene");
  set_thread_count(options.threads);
  const LoadedScene scene = load_scene(options.scene, options.scene_options);
  need_plain_steps(scene, "--explain");
  State state = scene.state;
  WarmStart warm;
  StepWorkspace workspace;
  StepSettings settings = scene.settings;
  SolveTrace trace;
  trace.explain = true;
  trace.keep_problems = !options.problems.empty();
  StepReport report;
  for (int i = 1; i <= options.explain; ++i) {
    if (i == options.explain) settings.solver.trace = &trace;
    VecX u;
    scene.controls_at(state.t, u);
    report = step(scene.model, scene.parameters, settings, u, state, warm, workspace);
  }
  fmt::print("step {}, t = {:.6g} s: {} contacts, {} solves, {}, residual {:.1e}\n",
             options.explain, state.t, report.contacts, trace.solves.size(),
             name_of(report.outcome), report.residual);
  int number = 0;
  for (const SolveTrace::Solve& solve : trace.solves) {
    fmt::print("solve {}: {}", ++number, explanation_of(solve));
    if (options.problems.empty()) continue;
    std::filesystem::create_directories(options.problems);
    const std::string name = std::filesystem::path(options.scene).stem().string();
    save_problem(fmt::format("{}/{}-{}-{}.h5", options.problems, name, options.explain, number),
                 solve.problem);
  }
  return report.outcome == Outcome::Converged ? kSuccess : kNotConverged;
}

#if defined(ORTHANT_HAS_MPI)

/// On ranks the first one tells, of the step as one process makes it: the same numbers.
int explain_once(const RunCommandOptions& options) {
  const MpiSession mpi;
  return mpi.rank() == 0 ? explain_step(options) : kSuccess;
}

#endif

}  // namespace

void add_run(Program& program) {
  const auto options = std::make_shared<RunCommandOptions>();
  Command command = program.command("run", "Step a scene and record it in a folder");
  command
      .option("scene", options->scene, "scene: .yaml, .urdf or .xml (MJCF); not needed to resume")
      .value_name("SCENE");
  command.option("-o,--output", options->folder, "folder of the run").value_name("DIR");
  command.option("--steps", options->run.steps, "end after this step")
      .value_name("N")
      .not_negative();
  command.option("--time", options->run.time, "end at this time [s]")
      .value_name("S")
      .not_negative();
  command.option("--threads", options->threads, "threads; 0: all cores")
      .value_name("N")
      .not_negative();
  command
      .option("--set", options->scene_options.set,
              "key=value: a parameter of the scene, or a setting such as step.h")
      .value_name("KEY=VALUE")
      .one_value();
#if defined(ORTHANT_HAS_MPI)
  command.flag("--fast-sums", options->fast_sums,
               "add up rank by rank: faster, other bits for another number of ranks");
#endif
  command.flag("--resume", options->run.resume, "go on from the last checkpoint");
  command.flag("--overwrite", options->run.overwrite, "replace the run that is there");
  command.flag("--quiet", options->quiet, "no bar, no summary");
  command
      .option("--explain", options->explain,
              "record nothing; tell which methods solved this step, and why they ended")
      .value_name("STEP")
      .not_negative();
  command.option("--problems", options->problems, "with --explain: save its problems here")
      .value_name("DIR");
  command.option("--json", options->json, "report as JSON to a file, or to standard output (-)")
      .value_name("FILE|-");
  command.footer(
      "Example:\n  orthant run scene.yaml -o run --time 5 --set slope=0.4\n"
      "  orthant run --resume -o run\n");
  command.run([options] {
#if defined(ORTHANT_HAS_MPI)
    if (options->explain > 0 && MpiSession::launched()) return explain_once(*options);
#endif
    if (options->explain > 0) return explain_step(*options);
#if defined(ORTHANT_HAS_MPI)
    if (MpiSession::launched()) return run_ranks(*options);
#else
    note_on_ranks();
#endif
    return run_scene(*options);
  });
}

}  // namespace orthant::app
