// SPDX-License-Identifier: Apache-2.0
// learn/trajectory.hpp: measured motions of a model's bodies, and the CSV files they come in.
// One row per sample; columns by name, in any order:
//   toss | trajectory | run   which motion a row belongs to (none: one motion)
//   t | time                  [s], evenly spaced within a motion; or `dt` in the options
//   x, y, z, qw, qx, qy, qz, vx, vy, vz, wx, wy, wz     a spatial body
//   x, y, theta, vx, vy, omega                          a planar body
// with the body's name in front ("ball.x") where a model has several that move. Velocities may be
// missing: they are then taken from the positions, backwards.
#pragma once

#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/model.hpp"

namespace ORTHANT_EXPORT orthant {

/// One motion, evenly sampled. Columns are samples.
struct MeasuredMotion {
  std::string name;
  double dt = 0;  ///< [s]
  MatX q;         ///< q_size() x samples
  MatX v;         ///< v_size() x samples, world axes

  Index samples() const { return static_cast<Index>(q.cols()); }
};

struct TrajectoryData {
  std::string source;  ///< file, or what the caller says
  std::vector<MeasuredMotion> trajectories;
  /// v[k] is the mean velocity from sample k − 1 to k (a backward difference), not that at k.
  bool backward_velocity = false;
};

enum class AngularAxes : std::uint8_t { World, Body };

struct TrajectoryCsvOptions {
  double dt = 0;                             ///< [s]; 0: the file has a column of times
  AngularAxes angular = AngularAxes::World;  ///< of wx, wy, wz
  bool backward_velocity = false;            ///< see TrajectoryData
  Index min_samples = 3;                     ///< of a motion
};

/// Reads a file of measured motions. Throws Error naming file, line and column for columns that are
/// missing, numbers that are none, times that are not even, quaternions that are not unit to 1e-3
/// (nearer ones are normalised), motions with too few samples.
TrajectoryData read_trajectories(const std::string& path, const Model& model,
                                 const TrajectoryCsvOptions& options = {});
/// The same from text; `name` stands for the file in messages.
TrajectoryData parse_trajectories(const std::string& text, const std::string& name,
                                  const Model& model, const TrajectoryCsvOptions& options = {});

/// Throws Error unless every motion fits the model and is finite.
void validate(const Model& model, const TrajectoryData& data, Index min_samples = 2);

/// Motions [begin, end) of a data set.
TrajectoryData subset(const TrajectoryData& data, std::size_t begin, std::size_t end);

/// The state at a sample, with the velocity at that instant (see backward_velocity).
State state_at(const Model& model, const TrajectoryData& data, std::size_t trajectory,
               Index sample);

}  // namespace orthant
