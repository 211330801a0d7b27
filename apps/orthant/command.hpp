// SPDX-License-Identifier: Apache-2.0
// orthant/command.hpp: what a command of `orthant` is.
// A command lives in cmd_<name>.cpp, says what options it has and what to do when it was chosen. To
// add one: write the file, declare it here, add it to the table in main.cpp.
#pragma once

#include "options.hpp"

namespace orthant::app {

/// Exit codes of every command.
enum ExitCode : int {
  kSuccess = 0,
  kNotConverged = 1,   ///< the work was done, an answer missed its tolerance
  kBadInput = 2,       ///< a file, option or method that is not allowed
  kInternalError = 3,  ///< ours
  kInterrupted = 4,    ///< ctrl-C: stopped at a step, everything kept
};

void add_bench(Program& program);
void add_check(Program& program);
void add_completion(Program& program);
void add_convert(Program& program);
void add_export(Program& program);
void add_fit(Program& program);
void add_grad(Program& program);
void add_info(Program& program);
void add_new(Program& program);
void add_plot(Program& program);
void add_reproduce(Program& program);
void add_run(Program& program);
void add_solve(Program& program);
void add_sweep(Program& program);
void add_validate(Program& program);
void add_view(Program& program);

}  // namespace orthant::app
