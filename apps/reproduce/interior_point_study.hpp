// SPDX-License-Identifier: Apache-2.0
// reproduce/interior_point_study.hpp: the problems of a simulation, step after step, each solved by
// the interior point from several starts. The whole problem is solved, not its islands.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "orthant/solver/interior_point.hpp"
#include "orthant/step/step.hpp"

namespace orthant::reproduce {

/// From nothing; from the velocities of the last answer; from its impulses too, contact by contact.
enum Start : std::uint8_t { kCold, kPartial, kFull, kStarts };
/// The judge's residual below the tolerance, relative to the terms of each row; or the absolute
/// exit of the thesis: |r|/n < 1e-10 for balance, joints and rows, and κ < 1e-9, in SI units.
enum Exit : std::uint8_t { kJudge, kThesis, kExits };

struct StudySettings {
  double h = 0.02;
  FrictionModel friction = FrictionModel::Cone;
  double contact_margin = 0.1;  ///< of half the smaller width
  int settle = 0;               ///< steps before the first problem
  int calls = 100;
  bool all_starts = true;             ///< false: cold alone
  double tolerance = 1e-10;           ///< of the judge, for the interior point
  double step_tolerance = 1e-10;      ///< of the steps that lead from one problem to the next
  InteriorPointSettings method = {};  ///< its starts and exits are set by the study
};

struct Study {
  using Counts = std::array<int, kStarts>;
  std::array<Counts, kExits> iterations{};  ///< factorisations; a start that is accepted counts 0
  std::array<Counts, kExits> failed{};      ///< calls that missed the exit
  int calls = 0;
  double velocities = 0, rows = 0;  ///< mean
  double fastest = 0;               ///< largest speed after any step [m/s]
  int steps_failed = 0;             ///< of the simulation itself
  double seconds = 0;               ///< of the cold solves to the judge's exit
  std::vector<double> history;      ///< residual by iteration, cold, judge's exit, of the last call

  double mean(Exit exit, Start start) const {
    return iterations[exit][start] / std::max(1.0, 1.0 * calls);
  }
};

/// What the interior point needs for the problems of `calls` steps.
Study study(const Model& model, const Parameters& parameters, State state,
            const StudySettings& settings,
            const std::function<void(double, std::string_view)>& progress);

}  // namespace orthant::reproduce
