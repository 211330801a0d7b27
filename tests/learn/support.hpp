// SPDX-License-Identifier: Apache-2.0
// learn/support.hpp: small worlds and motions simulated in them, as if measured.
#pragma once

#include <string>
#include <utility>

#include "orthant/learn/trajectory.hpp"
#include "orthant/model/model_builder.hpp"
#include "orthant/step/step.hpp"

namespace orthant::testing {

/// A planar block on a floor; both of one material.
inline Model sliding_block(double friction, double restitution = 0) {
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = friction, .restitution = restitution});
  b.add_body({.name = "floor",
              .motion = Motion::Fixed,
              .planar = true,
              .shapes = {{.shape = Shape::half_plane(), .material = "wood"}}});
  b.add_body({.name = "block",
              .motion = Motion::Planar,
              .position = Vec3(0, 0.1, 0),
              .shapes = {{.shape = Shape::rectangle(0.2, 0.1), .material = "wood"}},
              .mass = 2});
  return b.build();
}

/// A cube on a table.
inline Model cube(double friction, double restitution) {
  ModelBuilder b;
  b.add_material({.name = "wood", .friction = friction, .restitution = restitution});
  b.add_body({.name = "table",
              .motion = Motion::Fixed,
              .shapes = {{.shape = Shape::half_space(), .material = "wood"}}});
  b.add_body({.name = "cube",
              .position = Vec3(0, 0, 0.5),
              .shapes = {{.shape = Shape::box(0.1, 0.1, 0.1), .material = "wood"}},
              .mass = 0.4});
  return b.build();
}

inline constexpr double kTossInterval = 0.006756756756756757;
inline TrajectoryCsvOptions toss_options() {
  TrajectoryCsvOptions options;
  options.dt = kTossInterval;
  options.angular = AngularAxes::Body;
  options.backward_velocity = true;
  return options;
}

/// `steps` steps from `state`, every one a sample.
inline MeasuredMotion simulate(const Model& model, const Parameters& parameters,
                               const StepSettings& settings, State state, Index steps,
                               std::string name) {
  MeasuredMotion out;
  out.name = std::move(name);
  out.dt = settings.h;
  out.q.resize(model.q_size(), steps + 1);
  out.v.resize(model.v_size(), steps + 1);
  out.q.col(0) = state.q;
  out.v.col(0) = state.v;
  WarmStart warm;
  StepWorkspace workspace;
  for (Index i = 1; i <= steps; ++i) {
    (void)step(model, parameters, settings, VecX(), state, warm, workspace);
    out.q.col(i) = state.q;
    out.v.col(i) = state.v;
  }
  return out;
}

/// A block thrown along the floor at each of the speeds.
inline TrajectoryData thrown(const Model& model, const Parameters& parameters,
                             const StepSettings& settings, std::initializer_list<double> speeds,
                             Index steps) {
  TrajectoryData data;
  data.source = "simulated";
  for (const double speed : speeds) {
    State state = model.rest_state();
    state.v[0] = speed;
    data.trajectories.push_back(simulate(model, parameters, settings, state, steps,
                                         std::to_string(data.trajectories.size())));
  }
  return data;
}

}  // namespace orthant::testing
