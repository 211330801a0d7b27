// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_run.cpp: orthant run SCENE -o DIR => a run directory; bar, ctrl-C, summary.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
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

namespace orthant::app {
namespace {

volatile std::sig_atomic_t stop_requested = 0;

extern "C" void request_stop(int signal_number) {
  stop_requested = 1;
  std::signal(signal_number, SIG_DFL);  // the second one ends at once
}

struct RunCommandOptions {
  std::string scene, folder, json;
  SceneOptions scene_options;
  RunOptions run;
  int explain = 0;       // a step; 0: none
  std::string problems;  // folder for the problems of that step
  int threads = 1;
  bool quiet = false;
};

/// One process per run directory: held while the command runs, released by the system whatever
/// happens.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    fd_ = ::open((folder + "/lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) throw Error(folder, "cannot be written");
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      ::close(fd_);
      throw Error(folder, "is in use by another orthant run");
    }
  }
  ~FolderLock() { ::close(fd_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

std::string clock_text(double seconds) {
  const long long s = std::llround(seconds);
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

/// A line on standard error, redrawn a few times a second; only on a terminal.
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

int run_scene(const RunCommandOptions& options) {
  if (options.folder.empty()) throw Error("-o", "expected a folder for the run");
  if (options.scene.empty() && !options.run.resume)
    throw Error("run", "expected a scene (or --resume with the folder of a run)");
  set_thread_count(options.threads);
  // Before anything is written: a scene that is wrong or a wrong folder leaves nothing behind.
  LoadedScene scene = options.scene.empty() ? scene_of_run(options.folder)
                                            : load_scene(options.scene, options.scene_options);
  refuse_foreign_files(options.folder);
  const FolderLock lock(options.folder);
  if (!options.quiet)
    for (const std::string& note : scene.notes) fmt::print(stderr, "note: {}\n", note);
  struct sigaction action{};  // from the first file on disk on, a stop is a clean one
  action.sa_handler = request_stop;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  SceneRun run(std::move(scene), options.folder, options.run);
  {
    Progress progress(!options.quiet, run.state().step, run.end_step());
    while (!run.done() && stop_requested == 0) {
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

/// Steps the scene up to `explain`, records nothing, and tells of every solve of that step.
int explain_step(const RunCommandOptions& options) {
  if (options.scene.empty()) throw Error("--explain", "expected a scene");
  set_thread_count(options.threads);
  const LoadedScene scene = load_scene(options.scene, options.scene_options);
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

}  // namespace

void add_run(Program& program) {
  const auto options = std::make_shared<RunCommandOptions>();
  Command command = program.command("run", "Step a scene and record it in a folder");
  command.option("scene", options->scene, "scene: .yaml, .urdf or .xml (MJCF); not needed to resume")
      .value_name("SCENE");
  command.option("-o,--output", options->folder, "folder of the run").value_name("DIR");
  command.option("--steps", options->run.steps, "end after this step").value_name("N");
  command.option("--time", options->run.time, "end at this time [s]").value_name("S");
  command.option("--threads", options->threads, "threads; 0: all cores").value_name("N");
  command
      .option("--set", options->scene_options.set,
              "key=value: a parameter of the scene, or a setting such as step.h")
      .value_name("KEY=VALUE")
      .one_value();
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
  command.run(
      [options] { return options->explain > 0 ? explain_step(*options) : run_scene(*options); });
}

}  // namespace orthant::app
