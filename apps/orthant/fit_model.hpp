// SPDX-License-Identifier: Apache-2.0
// orthant/fit_model.hpp: what a person names as a model => a model and how its data are written.
#pragma once

#include <string>

#include "orthant/learn/trajectory.hpp"
#include "orthant/step/step.hpp"

namespace orthant::app {

struct FitModel {
  Model model;
  Parameters parameters;
  StepSettings settings;
  TrajectoryCsvOptions csv;  ///< defaults for its files
};

/// A scene file; "cube": the wooden cube of the measured tosses; any other name: a built-in scene.
FitModel load_fit_model(const std::string& name);
std::string fit_model_help();

}  // namespace orthant::app
