// SPDX-License-Identifier: Apache-2.0
// orthant/fit_model.cpp: the cube of the measured tosses, and built-in scenes.
#include "fit_model.hpp"

#include <utility>

#include "orthant/io/scene.hpp"
#include "scenes/scenes.hpp"
#include "scenes/toss_cube.hpp"

namespace orthant::app {
namespace {

/// Friction and restitution start from a guess.
FitModel toss_cube() {
  Model model = scenes::toss_cube(0.3, 0.3);
  Parameters parameters = model.default_parameters();
  StepSettings settings;
  settings.h = 1.0 / 148;
  settings.impact_events = true;
  TrajectoryCsvOptions csv;
  csv.dt = settings.h;
  csv.angular = AngularAxes::Body;
  csv.backward_velocity = true;
  return {std::move(model), std::move(parameters), settings, csv};
}

}  // namespace

FitModel load_fit_model(const std::string& name) {
  if (name == "cube") return toss_cube();
  for (const char* ending : {".yaml", ".yml", ".urdf", ".xml"}) {
    if (!name.ends_with(ending)) continue;
    LoadedScene loaded = load_scene(name);
    need_plain_steps(loaded, "a fit");
    return {std::move(loaded.model), std::move(loaded.parameters), loaded.settings, {}};
  }
  scenes::Scene scene = scenes::make_scene(name);
  return {std::move(scene.model), std::move(scene.parameters), scene.settings, {}};
}

std::string fit_model_help() {
  return "scene file (.yaml, .urdf, .xml), cube (the measured tosses), or a built-in scene";
}

}  // namespace orthant::app
