// SPDX-License-Identifier: Apache-2.0
// step/simulation.hpp: a world that runs. Owns model, parameters, settings, state, warm start and
// workspace, and calls step(), which stays the pure function of its arguments.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/pose_kernel.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

/// Pose of a body in the world: its centre of mass and orientation.
Pose pose_of(const Model& model, const State& state, BodyId body);
/// Velocity of the centre of mass [m/s]; zero for a fixed body.
Vec3 velocity_of(const Model& model, const State& state, BodyId body);
/// World axes [rad/s]; zero for a fixed body.
Vec3 angular_velocity_of(const Model& model, const State& state, BodyId body);

/// One point where two bodies pressed on each other in the last step.
struct ContactForce {
  std::string_view a, b;  ///< names of the bodies or flexible parts
  Vec3 point;             ///< on A [m]
  Vec3 normal;            ///< unit, from B to A
  Vec3 force;             ///< on A, world axes, mean over the step [N]
};

/// Where bodies pressed on each other in the step of length h that left `warm`, in a fixed order.
/// The names live as long as the model.
std::vector<ContactForce> contact_forces(const Model& model, const WarmStart& warm, double h);

class Simulation {
 public:
  /// Starts at the model's initial state with its default parameters.
  explicit Simulation(Model model, const StepSettings& settings = {});
  /// E.g. of a scene: Simulation(scene.model, scene.parameters, scene.settings, scene.state).
  Simulation(Model model, Parameters parameters, const StepSettings& settings, State state);

  /// One step of settings().h; `u`: controls of the actuators, empty: zero.
  StepReport step(const VecX& u = {});
  /// `steps` steps without controls. The callback is called after each; false ends the run.
  RolloutReport run(std::int64_t steps, const RolloutCallback& callback = {});
  /// Back to the state it started with; forgets the impulses.
  void reset();

  double time() const { return state_.t; }
  /// By name. Throws Error with the nearest spelling.
  BodyId body(std::string_view name) const { return model_.find_body(name); }
  Pose pose(BodyId body) const { return pose_of(model_, state_, body); }
  Vec3 position(BodyId body) const { return pose(body).x; }
  Vec3 velocity(BodyId body) const { return velocity_of(model_, state_, body); }
  Vec3 angular_velocity(BodyId body) const { return angular_velocity_of(model_, state_, body); }
  /// contact_forces() of the last step. The names live as long as the simulation.
  std::vector<ContactForce> contacts() const { return contact_forces(model_, warm_, settings_.h); }

  const Model& model() const { return model_; }
  /// Parameters, settings, state and warm start may be changed between steps.
  Parameters& parameters() { return parameters_; }
  const Parameters& parameters() const { return parameters_; }
  StepSettings& settings() { return settings_; }
  const StepSettings& settings() const { return settings_; }
  State& state() { return state_; }
  const State& state() const { return state_; }
  WarmStart& warm() { return warm_; }
  const WarmStart& warm() const { return warm_; }

 private:
  Model model_;
  Parameters parameters_;
  StepSettings settings_;
  State state_, start_;
  WarmStart warm_;
  StepWorkspace workspace_;
};

}  // namespace orthant
