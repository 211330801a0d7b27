// SPDX-License-Identifier: Apache-2.0
// io/run/recorder.hpp: frames gathered in memory => segments of a trajectory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/run/growing_bodies.hpp"
#include "orthant/io/scene.hpp"
#include "orthant/io/trajectory.hpp"

namespace orthant::io {

inline constexpr int kTrajectoryVersion = 1;

/// "run/trajectory/000012.h5".
std::string segment_path(const std::string& folder, std::int64_t segment);
/// Numbers of the segments that are there, ascending.
std::vector<std::int64_t> segments_of(const std::string& folder);

class Recorder {
 public:
  Recorder(const LoadedScene& scene, const GrowingBodies& growing, std::string folder);

  /// Appends a frame. `record`: of the step that led here; null: no contacts.
  void add(const State& state, const WarmStart& warm, const StepReport& report,
           const StepRecord* record);
  std::int64_t frame_count() const { return open_.frames.frame_count(); }
  std::size_t bytes() const;
  /// Puts what was gathered aside, to be written while new frames are added.
  void close_segment();
  /// Writes what was put aside as one segment and forgets it.
  void write_segment(std::int64_t segment);

 private:
  void add_bodies(const State& state);
  void add_nodes(const State& state);
  void add_contacts(const WarmStart& warm, const StepRecord* record);
  /// Of a body, for the whole run.
  std::int32_t number_of(BodyId id) const;
  void add_contact(std::int32_t a, std::int32_t b, const Vec3& point, const Vec3& normal,
                   double gap, const Vec3* impulse, ContactState set);

  /// Frames as a file holds them. Where bodies grow, those of frame t are rows
  /// body_offset[t] … body_offset[t + 1] − 1 of pose, velocity and length.
  struct Segment {
    Trajectory frames;
    std::vector<std::int64_t> body_offset;
    std::vector<std::int32_t> uid;
    Lineage lineage;
    std::size_t body_count = 0;  // where they do not grow
  };

  const LoadedScene& scene_;
  const GrowingBodies& growing_;
  std::string folder_;
  Segment open_, closed_;
  Trajectory& frames_ = open_.frames;
};

}  // namespace orthant::io
