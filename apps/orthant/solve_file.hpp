// SPDX-License-Identifier: Apache-2.0
// orthant/solve_file.hpp: a problem file and settings => answer, report, JSON.
#pragma once

#include <optional>
#include <string>

#include "orthant/problem_io/problem_file.hpp"
#include "orthant/solver/solve.hpp"
#include "report.hpp"

namespace orthant::app {

struct FileSettings {
  std::optional<ProblemKind> kind;
  bool exact_friction = true;
  bool keep_trace = false;
  bool explain = false;  ///< fill SolveTrace::solves
  int repeat = 1;        ///< solves of the same file; the fastest is the one timed
  SolveSettings solve;
};

struct SolvedFile {
  std::string path;
  std::string error;  ///< not empty: bad input, nothing below is meant
  ProblemFile file;
  CanonicalProblem problem;
  Solution solution;
  SolveReport report;
  SolveTrace trace;
  double seconds = 0;            ///< of the solve alone
  double processor_seconds = 0;  ///< the same without what else the machine does
};

/// Never throws for bad input: that is in `error`.
SolvedFile solve_file(const std::string& path, const FileSettings& settings);

/// One object of `orthant solve --json`.
Json to_json(const SolvedFile& solved, bool with_solution);

}  // namespace orthant::app
