// SPDX-License-Identifier: Apache-2.0
// io/output/parts.hpp: nodes of a trajectory and the scene of its run => displacement and stress.
#pragma once

#include <string>
#include <vector>

#include "orthant/io/scene.hpp"
#include "orthant/io/trajectory.hpp"

namespace orthant::io {

/// Flexible parts of a run, frame by frame. Stress is worked out here, not stored: it follows from
/// the nodes.
class PartFrames {
 public:
  /// `run`: the folder the trajectory was read from; its scene is read where there are parts.
  PartFrames(const Trajectory& trajectory, const std::string& run);

  std::size_t count() const { return trajectory_.parts.size(); }
  const FlexiblePart& part(std::size_t p) const;
  /// Positions of the nodes in a frame, 3 per node.
  const double* nodes(std::size_t frame, std::size_t p) const;
  /// Displacement of node i from where it was built [m].
  Vec3 displacement(std::size_t frame, std::size_t p, Index node) const;
  /// Von Mises stress of the elements of a part [Pa].
  std::vector<double> stress(std::size_t frame, std::size_t p);
  /// The same at the nodes: mean of the elements around, by volume.
  std::vector<double> node_stress(std::size_t frame, std::size_t p);

 private:
  const Trajectory& trajectory_;
  std::vector<LoadedScene> scene_;  // one, or none: no parts
  VecX q_;
};

}  // namespace orthant::io
