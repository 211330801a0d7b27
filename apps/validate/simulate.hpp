// SPDX-License-Identifier: Apache-2.0
// validate/simulate.hpp: a model being stepped, and the few readings the checks need.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>

#include "orthant/base/error.hpp"
#include "orthant/force/force.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant::validation {

inline constexpr double kGravity = 9.81;

class Simulation {
 public:
  explicit Simulation(Model built, const StepSettings& with = {})
      : model(std::move(built)),
        parameters(model.default_parameters()),
        settings(with),
        state(model.rest_state()) {}

  const StepReport& step() {
    report = orthant::step(model, parameters, settings, {}, state, warm, workspace);
    deepest = std::max(deepest, report.deepest);
    joint_error = std::max(joint_error, report.joint_error);
    failed += report.outcome != Outcome::Converged;
    return report;
  }
  void run(double seconds) {
    const int count = static_cast<int>(std::lround(seconds / settings.h));
    for (int i = 0; i < count; ++i) (void)step();
  }

  Vec3 position(const std::string& name) const {
    const Body& body = model.body(model.find_body(name));
    const double* q = state.q.data() + body.q_begin;
    return {q[0], q[1], body.planar ? 0 : q[2]};
  }
  Vec3 velocity(const std::string& name) const {
    const Body& body = model.body(model.find_body(name));
    const double* v = state.v.data() + body.v_begin;
    return {v[0], v[1], body.planar ? 0 : v[2]};
  }
  double energy() const { return report.kinetic + report.potential; }

  Model model;
  Parameters parameters;
  StepSettings settings;
  State state;
  WarmStart warm;
  StepWorkspace workspace;
  StepReport report;
  double deepest = 0, joint_error = 0;  // worst so far
  int failed = 0;                       // steps whose outcome was not Converged
};

/// Orientation that turns z into the unit vector n the shortest way.
inline Quat z_to(const Vec3& n) {
  const Eigen::Quaterniond q = Eigen::Quaterniond::FromTwoVectors(Vec3::UnitZ(), n);
  return {q.w(), q.x(), q.y(), q.z()};
}

inline BodySpec floor_body(const std::string& material) {
  return {.name = "floor",
          .motion = Motion::Fixed,
          .shapes = {{.shape = Shape::half_space(), .material = material}}};
}

}  // namespace orthant::validation
