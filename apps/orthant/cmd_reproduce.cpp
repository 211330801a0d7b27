// SPDX-License-Identifier: Apache-2.0
// orthant/cmd_reproduce.cpp: orthant reproduce NAME [-o DIR] [--quick] => tables, checks, files.
// The progress bar goes to the standard error, and only to a terminal.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "command.hpp"
#include "orthant/base/parallel.hpp"
#include "reproduce/reproduce.hpp"

namespace orthant::app {
namespace {

struct ReproduceOptions {
  std::string name, directory;
  int size = 0, threads = 1;
  std::int64_t steps = 0;
  bool quick = false, list = false, resume = false;
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

void show_progress(double share, std::string_view what) {
  constexpr int kWidth = 40;
  const int done = static_cast<int>(std::clamp(share, 0.0, 1.0) * kWidth);
  fmt::print(stderr, "\r[{:<{}}] {:3.0f} % {:<40.40}",
             std::string(static_cast<std::size_t>(done), '#'), kWidth, 100 * share, what);
  std::fflush(stderr);
}

int reproduce_command(const ReproduceOptions& options) {
  if (options.list || options.name.empty()) {
    for (const reproduce::Experiment& e : reproduce::experiments())
      fmt::print("{:<12} {}\n", e.name, e.what);
    return kSuccess;
  }
  const reproduce::Experiment& experiment = reproduce::find_experiment(options.name);
  set_thread_count(options.threads);
  reproduce::Options run{.directory = options.directory,
                         .quick = options.quick,
                         .size = options.size,
                         .resume = options.resume,
                         .steps = options.steps,
                         .progress = {}};
  const bool terminal = isatty(fileno(stderr)) != 0;
  if (terminal) run.progress = show_progress;
  const reproduce::Result result = experiment.run(run);
  if (terminal) fmt::print(stderr, "\r{:80}\r", "");
  fmt::print("{}: {}\n", experiment.name, experiment.what);
  for (const reproduce::Table& table : result.tables) print_table(table);
  fmt::print("\n");
  std::size_t held = 0;
  for (const reproduce::Check& check : result.checks) {
    held += check.pass();
    fmt::print("  {:<56} {:>10.3e} <= {:>9.2e}  {}\n", check.name, check.measured, check.bound,
               check.pass() ? "holds" : "FAILS");
  }
  for (const std::string& note : result.notes) fmt::print("note: {}\n", note);
  for (const std::string& file : result.files) fmt::print("wrote {}\n", file);
  fmt::print("{} of {} checks hold\n", held, result.checks.size());
  return held == result.checks.size() ? kSuccess : kNotConverged;
}

}  // namespace

void add_reproduce(Program& program) {
  const auto options = std::make_shared<ReproduceOptions>();
  Command command =
      program.command("reproduce", "Run an experiment of the literature, beside its numbers");
  command.option("name", options->name, "which; none: the list");
  command.option("-o,--output", options->directory, "folder for CSV, SVG and saved states");
  command.flag("--quick", options->quick, "a small form that ends within seconds");
  command.option("--size", options->size, "bodies, cells or rings per side; default as published")
      .not_negative();
  command.flag("--resume", options->resume, "go on from the checkpoint in the folder");
  command
      .option("--steps", options->steps,
              "end after so many steps, with a checkpoint; default when the run is over")
      .not_negative();
  command.option("--threads", options->threads, "threads; 0: all cores").value_name("N");
  command.flag("--list", options->list, "name the experiments and end");
  command.run([options] { return reproduce_command(*options); });
}

}  // namespace orthant::app
