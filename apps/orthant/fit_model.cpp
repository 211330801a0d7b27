// SPDX-License-Identifier: Apache-2.0
// orthant/fit_model.cpp: the cube of the measured tosses, and built-in scenes.
#include "fit_model.hpp"

#include <utility>

#include "orthant/io/scene.hpp"
#include "orthant/model/model_builder.hpp"
#include "scenes/scenes.hpp"

namespace orthant::app {
namespace {

/// Lengths in half-edges, as in the data; friction and restitution start from a guess.
FitModel toss_cube() {
  ModelBuilder b;
  b.set_gravity(Vec3(0, 0, -187.2137));
  b.add_material({.name = "wood", .friction = 0.3, .restitution = 0.3});
  b.add_body({.name = "table",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "wood"}}});
  const Mat3 inertia = 0.2950003 * Mat3::Identity();
  b.add_body({.name = "cube",
              .position = Vec3(0, 0, 2),
              .shapes = {{.shape = Shape::box(1, 1, 1), .material = "wood"}},
              .mass = 0.37,
              .inertia = inertia});
  Model model = b.build();
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
