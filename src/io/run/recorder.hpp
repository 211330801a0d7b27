// SPDX-License-Identifier: Apache-2.0
// io/run/recorder.hpp: frames gathered in memory => segments of a trajectory.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
  Recorder(const LoadedScene& scene, std::string folder);

  /// Appends a frame. `record`: of the step that led here; null: no contacts.
  void add(const State& state, const WarmStart& warm, const StepReport& report,
           const StepRecord* record);
  std::int64_t frame_count() const { return frames_.frame_count(); }
  std::size_t bytes() const;
  /// Puts what was gathered aside, to be written while new frames are added.
  void close_segment() { std::swap(frames_, closed_); }
  /// Writes what was put aside as one segment and forgets it.
  void write_segment(std::int64_t segment);

 private:
  void add_bodies(const State& state);
  void add_nodes(const State& state);
  void add_contacts(const WarmStart& warm, const StepRecord* record);
  void add_contact(std::int32_t a, std::int32_t b, const Vec3& point, const Vec3& normal,
                   double gap, const Vec3* impulse, ContactState set);

  const LoadedScene& scene_;
  std::string folder_;
  Trajectory frames_, closed_;
};

}  // namespace orthant::io
