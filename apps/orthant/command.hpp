// SPDX-License-Identifier: Apache-2.0
// orthant/command.hpp: what a command of `orthant` is.
// A command lives in cmd_<name>.cpp, adds its options to the parser and stores in `run` what to do
// when it was chosen. To add one: write the file, declare it here, add it to the table in main.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace orthant::app {

/// Exit codes of every command.
enum ExitCode : int {
  kSuccess = 0,
  kNotConverged = 1,   ///< the work was done, an answer missed its tolerance
  kBadInput = 2,       ///< a file, option or method that is not allowed
  kInternalError = 3,  ///< ours
  kInterrupted = 4,    ///< ctrl-C: stopped at a step, everything kept
};

using Run = std::function<int()>;

void add_bench(CLI::App& root, Run& run);
void add_check(CLI::App& root, Run& run);
void add_convert(CLI::App& root, Run& run);
void add_completion(CLI::App& root, Run& run);
void add_export(CLI::App& root, Run& run);
void add_fit(CLI::App& root, Run& run);
void add_grad(CLI::App& root, Run& run);
void add_info(CLI::App& root, Run& run);
void add_new(CLI::App& root, Run& run);
void add_plot(CLI::App& root, Run& run);
void add_run(CLI::App& root, Run& run);
void add_reproduce(CLI::App& root, Run& run);
void add_solve(CLI::App& root, Run& run);
void add_validate(CLI::App& root, Run& run);
void add_view(CLI::App& root, Run& run);

}  // namespace orthant::app
