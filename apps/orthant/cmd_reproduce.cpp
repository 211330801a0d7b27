// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_reproduce.cpp: orthant reproduce [NAME…|all] [-o DIR] [--quick] => tables, checks;
// with a folder also DIR/index.html, DIR/NAME/ with files and runs. A folder is continued:
// experiments that are in it are not made again, checkpoints are resumed.
// The progress bar goes to the standard error, and only to a terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "command.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/process.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/io/output.hpp"
#include "orthant/io/run.hpp"
#include "reproduce_page.hpp"
#if defined(ORTHANT_HAS_MPI)
#include "orthant/distributed/distributed.hpp"
#include "run_counts.hpp"
#endif

namespace orthant::app {
namespace {

struct ReproduceOptions {
  std::vector<std::string> names;
  std::string directory;
  int size = 0, threads = 1;
  std::int64_t steps = 0;
  bool quick = false, list = false, again = false, fast_sums = false;

  std::string form() const {
    return (quick ? "quick" : "full") + (size > 0 ? ", size " + std::to_string(size) : "");
  }
};

void print_table(const reproduce::Table& table) {
  std::vector<std::size_t> width;
  width.reserve(table.columns.size());
  for (const std::string& column : table.columns) width.push_back(column.size());
  for (const auto& row : table.rows)
    for (std::size_t j = 0; j < row.size(); ++j) width[j] = std::max(width[j], row[j].size());
  fmt::print("\n{}\n", table.title);
  const auto line = [&](const std::vector<std::string>& cells) {
    for (std::size_t j = 0; j < cells.size(); ++j) fmt::print("  {:>{}}", cells[j], width[j]);
    fmt::print("\n");
  };
  line(table.columns);
  for (const auto& row : table.rows) line(row);
}

std::string clock_text(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s < 90) return fmt::format("{} s", s);
  if (s < 5400) return fmt::format("{} min", (s + 30) / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// Time left of a list of experiments. Each has an expected time, measured elsewhere; what was done
/// so far says how fast this machine is, and the share of the running one counts from a twentieth
/// on.
class Progress {
 public:
  explicit Progress(std::vector<double> expected)
      : expected_(std::move(expected)), on_(isatty(STDERR_FILENO) != 0) {}

  void begin(std::size_t i) {
    now_ = i;
    began_ = timer_.seconds();
  }
  void skip(std::size_t i) { expected_[i] = 0; }
  void end() {
    const double took = timer_.seconds() - began_;
    known_ += expected_[now_];
    taken_ += took;
    clear();
  }
  double left(double share) const {
    const double took = timer_.seconds() - began_;
    const double rate = known_ > 0 ? taken_ / known_ : 1;
    double seconds = rate * expected_[now_] * (1 - share);
    if (share > 0.05) seconds = took * (1 - share) / share;
    for (std::size_t i = now_ + 1; i < expected_.size(); ++i) seconds += rate * expected_[i];
    return seconds;
  }
  void show(double share, std::string_view what) {
    if (!on_ || (shown_ && since_.seconds() < 0.2)) return;
    shown_ = true;
    since_.restart();
    share = std::clamp(share, 0.0, 1.0);
    double all = 0, done = share * expected_[now_];
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      all += expected_[i];
      done += i < now_ ? expected_[i] : 0;
    }
    constexpr std::size_t kWidth = 24;
    const auto filled = static_cast<std::size_t>(kWidth * (all > 0 ? done / all : share));
    fmt::print(stderr, "\r\033[K[{:#<{}}{:.<{}}] {}/{} {:.44} {:3.0f} %, {} left", "", filled, "",
               kWidth - filled, now_ + 1, expected_.size(), what, 100 * share,
               clock_text(left(share)));
    std::fflush(stderr);
  }
  void clear() {
    if (on_ && shown_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::vector<double> expected_;
  bool on_, shown_ = false;
  std::size_t now_ = 0;
  double began_ = 0, known_ = 0, taken_ = 0;
  Timer timer_, since_;
};

/// The processes that make the experiments together: one, or the ranks of MPI.
#if defined(ORTHANT_HAS_MPI)
class Together {
 public:
  explicit Together(const ReproduceOptions& options) {
    if (!MpiSession::launched()) return;
    mpi_.emplace();
    team_.emplace(options.fast_sums);
    if (!writes() && std::freopen("/dev/null", "w", stdout) == nullptr)
      throw Error("standard output", "cannot be closed");
  }
  ~Together() {
    if (!began_ || !writes()) return;
    fmt::print("{}\n", counts_text(team_->counts(), mpi_->size()));
    std::fflush(stdout);
  }
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  bool writes() const { return !mpi_ || mpi_->rank() == 0; }
  void meet() const {
    if (mpi_) (void)mpi_->first(false);
  }
  /// Steps within it are shared out.
  void run(const std::function<void()>& work) {
    if (!mpi_) return work();
    began_ = true;
    team_->together(work);
  }
  bool many() const { return mpi_ && mpi_->size() > 1; }
  /// What goes wrong in it on one of many ranks ends all: others may wait for this one.
  void guard(const std::function<void()>& work) const {
    if (!many()) return work();
    try {
      work();
    } catch (const std::exception& error) {
      fmt::print(stderr, "orthant: {} (rank {})\n", error.what(), mpi_->rank());
      std::fflush(nullptr);
      mpi_->abort(kBadInput);
    }
  }

 private:
  std::optional<MpiSession> mpi_;
  std::optional<RankTeam> team_;
  bool began_ = false;
};
#else
struct Together {
  explicit Together(const ReproduceOptions&) {}
  static bool writes() { return true; }
  static void meet() {}
  static bool many() { return false; }
  template <class Work>
  static void run(const Work& work) {
    work();
  }
  template <class Work>
  static void guard(const Work& work) {
    work();
  }
};
#endif

/// Plays the scenes of an experiment: run folder, viewer page, files for ParaView.
void play(const ReproduceOptions& options, Progress& progress, ExperimentRecord& record) {
  for (const reproduce::Scene& scene : record.result.scenes) {
    const std::string inside = record.name + "/" + scene.name;
    const std::string folder = options.directory + "/" + inside;
    const std::string text = options.directory + "/" + inside + ".yaml";
    write_file(text, scene.yaml);
    SceneRun run(load_scene(text), folder, {.overwrite = true});
    while (!run.done()) {
      (void)run.step();
      progress.show(1, "recording " + scene.name);
    }
    run.save();
    const Trajectory trajectory = read_trajectory(folder);
    write_file(folder + "/view.html", view_page(view_json(trajectory, folder)));
    write_vtk(trajectory, folder, folder + "/paraview");
    record.runs.push_back({scene.what, inside + "/", inside + "/view.html",
                           inside + "/paraview/shapes.pvd", inside + ".yaml"});
  }
}

ExperimentRecord make(const reproduce::Experiment& experiment, const ReproduceOptions& options,
                      Together& together, Progress& progress) {
  ExperimentRecord record{.name = std::string(experiment.name), .form = options.form()};
  const bool files = !options.directory.empty();
  const reproduce::Options run{
      .directory = files ? options.directory + "/" + record.name : std::string(),
      .quick = options.quick,
      .size = options.size,
      .resume = files && !options.again,
      .steps = options.steps,
      .progress = [&](double share, std::string_view what) { progress.show(share, what); },
      .writes = together.writes(),
      .meet = [&] { together.meet(); }};
  if (files) std::filesystem::create_directories(run.directory);
  const double start = processor_seconds();
  together.run([&] { record.result = experiment.run(run); });
  record.seconds = processor_seconds() - start;
  if (files && record.result.finished && together.writes()) play(options, progress, record);
  return record;
}

void print_record(const reproduce::Experiment& experiment, const ExperimentRecord& record) {
  fmt::print("{}: {}\n", experiment.name, experiment.what);
  if (!record.error.empty()) {
    fmt::print("did not end: {}\n", record.error);
    return;
  }
  for (const reproduce::Table& table : record.result.tables) print_table(table);
  fmt::print("\n");
  for (const reproduce::Check& check : record.result.checks)
    fmt::print("  {:<56} {:>10.3e} <= {:>9.2e}  {}\n", check.name, check.measured, check.bound,
               check.pass() ? "holds" : "FAILS");
  for (const std::string& note : record.result.notes) fmt::print("note: {}\n", note);
  for (const std::string& file : record.result.files) fmt::print("wrote {}\n", file);
  fmt::print("{} of {} checks hold, {:.3g} CPU s\n\n", record.held(), record.result.checks.size(),
             record.seconds);
}

std::vector<const reproduce::Experiment*> chosen(const ReproduceOptions& options) {
  std::vector<const reproduce::Experiment*> list;
  const auto add = [&](const reproduce::Experiment& e) {
    if (std::find(list.begin(), list.end(), &e) == list.end()) list.push_back(&e);
  };
  for (const std::string& name : options.names)
    if (name == "all")
      for (const reproduce::Experiment& e : reproduce::experiments()) add(e);
    else
      add(reproduce::find_experiment(name));
  return list;
}

/// => whether all checks hold.
bool make_all(const std::vector<const reproduce::Experiment*>& list,
              const ReproduceOptions& options, Together& together) {
  const bool files = !options.directory.empty();
  const auto path_of = [&](std::string_view name) {
    return fmt::format("{}/{}/result.json", options.directory, name);
  };
  std::vector<double> expected;
  for (const reproduce::Experiment* e : list)
    expected.push_back(options.quick ? e->quick_seconds : e->full_seconds);
  Progress progress(expected);
  std::vector<std::optional<ExperimentRecord>> records(list.size());
  for (std::size_t i = 0; files && !options.again && i < list.size(); ++i)
    if ((records[i] = read_record(path_of(list[i]->name), options.form()))) progress.skip(i);
  together.meet();
  bool passed = true;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const reproduce::Experiment& e = *list[i];
    if (records[i]) {
      fmt::print("{}: in the folder already, not made again (--again)\n", e.name);
    } else {
      progress.begin(i);
      progress.show(0, e.name);
      try {
        records[i] = make(e, options, together, progress);
      } catch (const Error& error) {
        if (list.size() == 1 || together.many()) throw;
        records[i] = ExperimentRecord{
            .name = std::string(e.name), .form = options.form(), .error = error.what()};
      }
      progress.end();
      print_record(e, *records[i]);
      if (files && together.writes() && records[i]->error.empty() && records[i]->result.finished)
        write_file(path_of(e.name), to_json(*records[i]));
    }
    passed = passed && records[i]->passed();
    if (!files || !together.writes()) continue;
    // Page by page, so that one can look while the others run; with what earlier sessions left.
    std::vector<ExperimentRecord> known;
    for (const reproduce::Experiment& any : reproduce::experiments()) {
      const auto at = std::find(list.begin(), list.end(), &any);
      const auto index = static_cast<std::size_t>(at - list.begin());
      if (at != list.end() && records[index])
        known.push_back(*records[index]);
      else if (auto old = read_record(path_of(any.name), options.form()))
        known.push_back(std::move(*old));
    }
    std::filesystem::create_directories(options.directory);
    write_file(options.directory + "/index.html", reproduce_page(known));
  }
  if (files) fmt::print("{}/index.html\n", options.directory);
  return passed;
}

int reproduce_command(const ReproduceOptions& options) {
  Together together(options);
  if (options.list || options.names.empty()) {
    for (const reproduce::Experiment& e : reproduce::experiments())
      fmt::print("{:<12} {}\n", e.name, e.what);
    return kSuccess;
  }
  std::vector<const reproduce::Experiment*> list;
  try {
    list = chosen(options);
  } catch (const Error& error) {
    // Alike on all ranks. One tells it, before any of them ends: the launcher then stops the rest.
    if (together.writes()) fmt::print(stderr, "orthant: {}\n", error.what());
    return kBadInput;
  }
  set_thread_count(options.threads);
  bool passed = false;
  together.guard([&] { passed = make_all(list, options, together); });
  return passed ? kSuccess : kNotConverged;
}

}  // namespace

void add_reproduce(Program& program) {
  const auto options = std::make_shared<ReproduceOptions>();
  Command command =
      program.command("reproduce", "Run experiments of the literature, beside their numbers");
  command.option("name", options->names, "which, or all; none: the list").value_name("NAME");
  command
      .option("-o,--output", options->directory,
              "folder for the page, figures, data and runs; what it holds already is "
              "continued")
      .value_name("DIR");
  command.flag("--quick", options->quick, "small forms: seconds each, minutes for all");
  command.option("--size", options->size, "bodies, cells or rings per side; default as published")
      .value_name("N")
      .not_negative();
  command.flag("--again", options->again, "run again what the folder holds already");
  command
      .option("--steps", options->steps,
              "end after so many steps, with a checkpoint; default when the run is over")
      .value_name("N")
      .not_negative();
  command.option("--threads", options->threads, "threads; 0: all cores")
      .value_name("N")
      .not_negative();
#if defined(ORTHANT_HAS_MPI)
  command.flag("--fast-sums", options->fast_sums,
               "add up rank by rank: faster, other bits for another number of ranks");
#endif
  command.flag("--list", options->list, "name the experiments and end");
  command.footer(
      "Example:\n  orthant reproduce all --quick -o report\n  orthant reproduce colony --size 1024 "
      "-o report\n");
  command.run([options] { return reproduce_command(*options); });
}

}  // namespace orthant::app
