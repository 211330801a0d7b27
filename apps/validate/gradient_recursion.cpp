// SPDX-License-Identifier: Apache-2.0
// validate/gradient_recursion.cpp: gradients through steps that found their rows on the way
// (ReLCP).
//   two ellipsoids pushed past each other, 440 steps of 0.1, and 16 rods that springs draw together
// Rods that lie flush have two deepest points, and the motion jumps where they change places: such
// inputs are compared with the differences of the side they are on.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "orthant/gradient/checker.hpp"
#include "scenes/overdamped.hpp"
#include "validate/gradients.hpp"

namespace orthant::validation {
namespace {

constexpr double kBound = 1e-5;

/// In four rows of four, none like another.
Model sixteen_rods(bool planar) {
  std::vector<scenes::RodPlace> places(16);
  for (int i = 0; i < 16; ++i) {
    const double x = std::sin(1.0 + 2.4 * i), y = std::sin(2.0 + 1.7 * i);
    const int row = i / 4, column = i % 4;
    scenes::RodPlace& rod = places[static_cast<std::size_t>(i)];
    rod.position = {2.6 * (column - 1.5) + 0.15 * x, 1.3 * (row - 1.5) + 0.1 * y,
                    planar ? 0 : 0.1 * x * y};
    rod.angle = 0.3 * std::sin(3.0 + 5.1 * i);
    rod.tilt = 0.05 * x;
  }
  return scenes::drawn_rods(planar, places);
}

struct Run {
  State end;
  Index recursed = 0;
};

Run simulate(const Model& model, const StepSettings& settings, const State& from, Index steps) {
  Run run{from};
  const Parameters parameters = model.default_parameters();
  WarmStart warm;
  StepWorkspace work;
  for (Index i = 0; i < steps; ++i)
    run.recursed +=
        step(model, parameters, settings, {}, run.end, warm, work).recursions > 0 ? 1 : 0;
  return run;
}

/// The worst error of the rows whose name has a part in it; infinite where there is none.
double worst_of(const GradientCheck& check, const char* part) {
  double worst = -1;
  for (const GradientCheckRow& row : check.rows)
    if (row.name.find(part) != std::string::npos &&
        (row.status == CheckStatus::Compared || row.status == CheckStatus::OneSide))
      worst = std::max(worst, row.error);
  return worst < 0 ? std::numeric_limits<double>::infinity() : worst;
}

GradientCheck compare(const Model& model, const StepSettings& settings, const State& from,
                      Index steps) {
  GradientChecker checker(model, model.default_parameters(), settings, from, steps);
  checker.check_v = false;  // the overdamped law has no memory of it
  std::erase_if(checker.parameters_checked, [&](Index i) {
    const std::string name = model.parameter_table().name(i);
    for (const char* part : {"semi_", "radius", "half_length", "drag", ".length", "push.force"})
      if (name.find(part) != std::string::npos) return false;
    return true;
  });
  GradientCheckSettings with;
  with.difference = 1e-6;
  with.compare_one_side = true;
  return checker.run(with);
}

void ellipsoids(Checks& out) {
  const Model model = scenes::passing_ellipsoids();
  StepSettings settings;
  settings.h = 0.1;
  settings.constraints = ConstraintScheme::Relcp;
  settings.solver.tolerance = 1e-13;
  constexpr Index kSteps = 440;
  const std::string name = "gradients/relcp/ellipsoids/";
  const Run run = simulate(model, settings, model.rest_state(), kSteps);
  out.push_back({name + "recursed_steps_short_of_50",
                 std::max(0.0, 50.0 - static_cast<double>(run.recursed)), 0, "steps"});
  const GradientCheck check = compare(model, settings, model.rest_state(), kSteps);
  out.push_back({name + "offset", worst_of(check, "q/"), kBound, "relative"});
  out.push_back({name + "drag", worst_of(check, "drag"), kBound, "relative"});
  out.push_back({name + "semi_axes", worst_of(check, "semi_"), kBound, "relative"});
  out.push_back({name + "all", check.worst, kBound, "relative"});
  out.push_back({name + "not_compared", 1 - check.share(), 0.05, "share"});
}

/// `before`: steps after which the rods lie in a heap.
void rods(const char* title, bool planar, Index before, Index steps, double drag_ratio,
          Checks& out) {
  const Model model = sixteen_rods(planar);
  StepSettings settings;
  settings.h = 0.02;
  settings.constraints = ConstraintScheme::Relcp;
  settings.contact_margin = 0.4;
  settings.drag_ratio = drag_ratio;
  settings.solver.tolerance = 1e-13;
  const State from = simulate(model, settings, model.rest_state(), before).end;
  const std::string name = std::string(title) + "/";
  out.push_back({name + "steps_without_recursion",
                 static_cast<double>(steps - simulate(model, settings, from, steps).recursed), 0,
                 "steps"});
  const GradientCheck check = compare(model, settings, from, steps);
  out.push_back({name + "error", check.worst, kBound, "relative"});
  out.push_back({name + "not_compared", 1 - check.share(), 0.05, "share"});
  out.push_back({name + "from_one_side",
                 static_cast<double>(check.from_one_side) / static_cast<double>(check.compared),
                 0.2, "share"});
}

}  // namespace

void gradient_recursion(Checks& out) {
  ellipsoids(out);
  rods("gradients/relcp/rods_2d", true, 100, 3, 1, out);
}

void gradient_recursion_long(Checks& out) {
  rods("gradients_long/relcp/rods_2d", true, 150, 20, 1, out);
  rods("gradients_long/relcp/slender_rods_2d", true, 150, 10, 2, out);
  rods("gradients_long/relcp/rods_3d", false, 100, 10, 1, out);
}

}  // namespace orthant::validation
