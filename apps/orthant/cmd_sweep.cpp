// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_sweep.cpp: orthant sweep SCENE --set mu=0.1:0.9:9 -o DIR => a run for every line of a
// table, in processes of their own, and sweep.csv. A line that is done has a row.csv in the folder
// of its run and is not done again; one that was stopped goes on from its checkpoint.
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "command.hpp"
#include "loss.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/io/run.hpp"
#include "run_folder.hpp"
#include "sweep_table.hpp"

namespace orthant::app {
namespace {

namespace fs = std::filesystem;

struct SweepCommand {
  std::string scene, folder;
  std::vector<std::string> set, observe;
  RunOptions run;
  int jobs = 1, threads = 1;
  bool overwrite = false, quiet = false;
};

class Sweep {
 public:
  Sweep(const SweepCommand& command, SweepTable table)
      : command_(command), table_(std::move(table)), rows_(table_.size()) {}

  int run();

 private:
  std::string folder_of(std::size_t line) const {
    return fmt::format("{}/runs/{:06}", command_.folder, line);
  }
  std::string row_path(std::size_t line) const { return folder_of(line) + "/row.csv"; }
  SceneOptions options_of(std::size_t line) const { return {.set = table_.settings(line)}; }
  std::string plan() const;
  void begin();
  int make(std::size_t line) const;
  std::string row_of(const SceneRun& run, std::size_t line) const;
  std::string failed_row(std::size_t line, const std::string& why) const;
  void start(std::size_t line);
  void collect();
  void write_table() const;
  void show() const;

  const SweepCommand& command_;
  SweepTable table_;
  std::vector<std::string> rows_;      // by line; empty: not done
  std::map<pid_t, std::size_t> busy_;  // line of each process
  std::size_t done_ = 0, kept_ = 0, missed_ = 0, failed_ = 0;
  Timer timer_;
};

/// What makes two sweeps the same: the folder of one is no place for another.
std::string Sweep::plan() const {
  std::string out = "scene: " + fs::absolute(command_.scene).lexically_normal().string() + "\n";
  for (const std::string& set : command_.set) out += "set: " + set + "\n";
  for (const std::string& text : command_.observe) out += "observe: " + text + "\n";
  if (command_.run.steps) out += fmt::format("steps: {}\n", *command_.run.steps);
  if (command_.run.time) out += fmt::format("time: {}\n", *command_.run.time);
  return out;
}

void Sweep::begin() {
  const std::string path = command_.folder + "/sweep.txt";
  std::error_code error;
  if (fs::exists(path, error)) {
    if (command_.overwrite)
      fs::remove_all(command_.folder + "/runs");
    else if (read_file(path) != plan())
      throw Error(command_.folder, "holds another sweep (sweep.txt); --overwrite begins anew");
  } else if (fs::exists(command_.folder + "/runs", error) || is_run(command_.folder)) {
    throw Error(command_.folder, "holds files that are not of a sweep; choose another folder");
  }
  fs::create_directories(command_.folder + "/runs", error);
  if (error) throw Error(command_.folder, "cannot be made: " + error.message());
  write_file(path, plan());
  for (std::size_t i = 0; i < table_.size(); ++i)
    if (fs::is_regular_file(row_path(i), error)) rows_[i] = read_file(row_path(i));
  done_ = kept_ = static_cast<std::size_t>(
      std::count_if(rows_.begin(), rows_.end(), [](const auto& row) { return !row.empty(); }));
  for (const std::string& row : rows_) missed_ += row.find(",missed,") != std::string::npos;
}

std::string Sweep::row_of(const SceneRun& run, std::size_t line) const {
  const RunTotals& t = run.totals();
  std::vector<std::string> fields = {fmt::format("{}", line)};
  for (const std::string& value : table_.values(line)) fields.push_back(value);
  fields.insert(fields.end(),
                {t.failed_steps > 0 ? "missed" : "converged", fmt::format("{}", run.state().step),
                 fmt::format("{}", run.state().t), fmt::format("{}", t.failed_steps),
                 fmt::format("{:.3e}", t.residual), fmt::format("{:.3e}", t.deepest),
                 fmt::format("{:.3f}", t.seconds), fmt::format("{:016x}", run.hash())});
  for (const std::string& text : command_.observe)
    fields.push_back(fmt::format(
        "{}", evaluate_loss(text, run.scene().model, run.scene().parameters, run.state()).value));
  fields.emplace_back();  // no message
  return csv_line(fields);
}

std::string Sweep::failed_row(std::size_t line, const std::string& why) const {
  std::vector<std::string> fields = {fmt::format("{}", line)};
  for (const std::string& value : table_.values(line)) fields.push_back(value);
  fields.emplace_back("failed");
  fields.resize(fields.size() + 7 + command_.observe.size());
  fields.push_back(why);
  return csv_line(fields);
}

/// In a process of its own: the run of one line. What goes wrong is left in error.txt.
int Sweep::make(std::size_t line) const {
  const std::string folder = folder_of(line);
  try {
    set_thread_count(command_.threads);
    fs::create_directories(folder);
    fs::remove(folder + "/error.txt");
    RunOptions options = command_.run;
    options.resume = true;
    SceneRun run(load_scene(command_.scene, options_of(line)), folder, options);
    while (!run.done() && !stop_requested()) (void)run.step();
    run.save();
    if (!run.done()) return kInterrupted;
    write_file(row_path(line), row_of(run, line));
    return kSuccess;
  } catch (const std::exception& error) {
    write_file(folder + "/error.txt", error.what());
    return kBadInput;
  }
}

void Sweep::start(std::size_t line) {
  std::fflush(nullptr);  // nothing twice
  const pid_t child = ::fork();
  if (child < 0) throw Error("sweep", "the system allows no more processes");
  if (child == 0) {
    int code = kInternalError;
    try {
      code = make(line);
    } catch (...) {  // not even the message could be written
    }
    ::_exit(code);
  }
  busy_[child] = line;
}

void Sweep::collect() {
  int status = 0;
  const pid_t child = ::waitpid(-1, &status, 0);
  if (child < 0) return;  // a signal came
  const auto found = busy_.find(child);
  if (found == busy_.end()) return;
  const std::size_t line = found->second;
  busy_.erase(found);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kInterrupted) return;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSuccess) {
    rows_[line] = read_file(row_path(line));
    missed_ += rows_[line].find(",missed,") != std::string::npos;
  } else {
    std::error_code error;
    const std::string note = folder_of(line) + "/error.txt";
    rows_[line] =
        failed_row(line, WIFSIGNALED(status) ? fmt::format("ended by signal {}", WTERMSIG(status))
                         : fs::exists(note, error) ? read_file(note)
                                                   : "ended without a word");
    ++failed_;
  }
  ++done_;
  write_table();
  if (!command_.quiet) {
    if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
    fmt::print("{}", rows_[line]);
    std::fflush(stdout);
  }
}

void Sweep::write_table() const {
  std::vector<std::string> names = {"run"};
  for (const SweepAxis& axis : table_.axes()) names.push_back(axis.name);
  for (const char* name : {"outcome", "steps", "time", "failed_steps", "worst_residual", "deepest",
                           "seconds", "state_hash"})
    names.emplace_back(name);
  for (const std::string& text : command_.observe) names.push_back(text);
  names.emplace_back("message");
  std::string text = csv_line(names);
  for (const std::string& row : rows_) text += row;
  write_file(command_.folder + "/sweep.csv", text);
}

void Sweep::show() const {
  if (command_.quiet || !isatty(STDERR_FILENO)) return;
  constexpr std::size_t kWidth = 24;
  const std::size_t filled = kWidth * done_ / table_.size();
  const double each =
      timer_.seconds() / static_cast<double>(std::max<std::size_t>(done_ - kept_, 1));
  const std::string left =
      done_ > kept_ ? clock_text(each * static_cast<double>(table_.size() - done_)) + " left" : "";
  fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}/{} runs  {} at work  {}", "", filled, "",
             kWidth - filled, done_, table_.size(), busy_.size(), left);
  std::fflush(stderr);
}

int Sweep::run() {
  begin();
  catch_stop();
  write_table();
  std::size_t next = 0;
  bool told = false;
  while (!busy_.empty() || next < table_.size()) {
    if (stop_requested()) {
      if (busy_.empty()) break;
      for (const auto& [child, line] : busy_)
        if (!told) ::kill(child, SIGTERM);
      told = true;
    } else {
      while (next < table_.size() && busy_.size() < static_cast<std::size_t>(command_.jobs)) {
        if (rows_[next].empty()) start(next);
        ++next;
      }
      if (busy_.empty()) continue;
    }
    show();
    collect();
  }
  if (!command_.quiet) {
    if (isatty(STDERR_FILENO)) fmt::print(stderr, "\r\033[K");
    fmt::print("{}/sweep.csv: {} of {} runs, {} missed the tolerance in some step, {} failed{}\n",
               command_.folder, done_, table_.size(), missed_, failed_,
               done_ < table_.size() ? "; stopped, the same command goes on" : "");
  }
  if (done_ < table_.size()) return kInterrupted;
  return failed_ > 0 ? kBadInput : missed_ > 0 ? kNotConverged : kSuccess;
}

int run_sweep(const SweepCommand& command) {
  if (command.folder.empty()) throw Error("-o", "expected a folder for the sweep");
  std::vector<SweepAxis> axes;
  for (const std::string& text : command.set) axes.push_back(parse_axis(text));
  SweepTable table(std::move(axes));
  {  // misspelt names, before anything is written
    const LoadedScene scene = load_scene(command.scene, {.set = table.settings(0)});
    for (const std::string& text : command.observe)
      (void)evaluate_loss(text, scene.model, scene.parameters, scene.state);
  }
  const FolderLock lock(command.folder);
  Sweep sweep(command, std::move(table));
  return sweep.run();
}

}  // namespace

void add_sweep(Program& program) {
  const auto o = std::make_shared<SweepCommand>();
  Command command = program.command("sweep", "Run a scene for every line of a table of settings");
  command.option("scene", o->scene, "scene: .yaml, .urdf or .xml (MJCF)")
      .value_name("SCENE")
      .required();
  command.option("-o,--output", o->folder, "folder of the sweep: sweep.csv, runs/")
      .value_name("DIR");
  command
      .option(
          "--set", o->set,
          "name=first:last:count, name=x,y,z or name=value: as --set of run; several are combined")
      .value_name("NAME=VALUES")
      .one_value();
  command
      .option("--observe", o->observe,
              "a column: a formula over the last state, as --loss of grad: 'position(crate).z'")
      .value_name("FORMULA")
      .one_value();
  command.option("--steps", o->run.steps, "end every run after this step")
      .value_name("N")
      .not_negative();
  command.option("--time", o->run.time, "end every run at this time [s]")
      .value_name("S")
      .not_negative();
  command.option("--jobs", o->jobs, "runs at the same time, a process each")
      .value_name("N")
      .positive();
  command.option("--threads", o->threads, "threads of each run; 0: all cores")
      .value_name("N")
      .not_negative();
  command.flag("--overwrite", o->overwrite, "begin anew where a sweep is there");
  command.flag("--quiet", o->quiet, "no bar, no lines");
  command.footer(
      "A sweep that was stopped or killed goes on with the same command. Example:\n"
      "  orthant sweep heap.yaml --set mu=0.1:0.9:9 --observe 'position(crate).z' -o sweep --jobs "
      "4\n");
  command.run([o] { return run_sweep(*o); });
}

}  // namespace orthant::app
