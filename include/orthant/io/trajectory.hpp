// SPDX-License-Identifier: Apache-2.0
// io/trajectory.hpp: what a run recorded => arrays, frame by frame. docs/trajectory.md has the
// layout of the files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"
#include "orthant/problem/contact_state.hpp"

namespace ORTHANT_EXPORT orthant {

/// T frames of N bodies, flat and row-major.
struct Trajectory {
  std::string name;
  double h = 0;  ///< step [s]
  bool planar = false;
  std::vector<std::string> bodies;  ///< names, N
  std::vector<double> time;         ///< [s], T
  std::vector<std::int64_t> step;   ///< T
  std::vector<double> pose;         ///< T N 7: x, y, z, then quaternion w, x, y, z
  std::vector<double> velocity;     ///< T N 6: linear, angular, world axes; empty: not recorded
  std::vector<double> axis;         ///< N 3: long axis in the body's frame; 0: none, or fixed

  // Of runs whose bodies grow and divide, empty for others. A body has one number for the whole
  // run; in frames where it is not there its pose is that of the origin and its velocity 0.
  std::vector<std::uint8_t> alive;     ///< T N: 1 where the body is there
  std::vector<double> length;          ///< T N: from tip to tip [m]; 0: of no rod, or not there
  std::vector<std::int32_t> mother;    ///< N; -1: a body of the scene
  std::vector<std::int32_t> ancestor;  ///< N: the body of the scene it comes from
  std::vector<std::int64_t> born;      ///< N: step after which it is there

  /// Nodes of all flexible parts, one part after the other: T M 3, world [m]; empty: no parts.
  std::vector<double> node;
  std::vector<std::string> parts;        ///< names, P
  std::vector<std::int64_t> part_begin;  ///< P + 1: first node of each part, then M

  std::vector<std::int64_t> contact_offset;  ///< T + 1; contacts of frame t: [offset[t], [t + 1])
  std::vector<std::int32_t> contact_a, contact_b;     ///< body; N + p: flexible part p
  std::vector<double> contact_point, contact_normal;  ///< 3 per contact, world; normal from b to a
  std::vector<double> contact_impulse;                ///< 3 per contact, world, on a [N s]
  std::vector<double> contact_gap;                    ///< [m]
  std::vector<std::uint8_t> contact_set;              ///< ContactState

  // Report of the step that led to the frame, T each.
  std::vector<double> kinetic, potential, residual, deepest, joint_error;
  std::vector<std::int64_t> contacts, iterations, outcome;
  std::vector<std::int64_t> constraints, solves;  ///< rows at last, and solves, of the step

  std::int64_t frame_count() const { return static_cast<std::int64_t>(time.size()); }
  Index body_count() const { return static_cast<Index>(bodies.size()); }
  std::int64_t node_count() const { return part_begin.empty() ? 0 : part_begin.back(); }
  bool grows() const { return !mother.empty(); }
  bool is_alive(std::size_t frame, std::size_t body) const {
    return !grows() || alive[frame * bodies.size() + body] != 0;
  }
  bool has_contacts() const { return contact_offset.size() == time.size() + 1; }
};

struct TrajectoryOptions {
  std::int64_t every = 1;  ///< keep every n-th frame
  bool velocities = true, contacts = true;
};

/// Reads the run in `folder`. Throws Error where there is none or a file is damaged.
Trajectory read_trajectory(const std::string& folder, const TrajectoryOptions& options = {});

/// How much a run holds, without reading the frames.
struct TrajectorySize {
  std::int64_t frames = 0, bodies = 0, nodes = 0;
  std::int64_t contacts = 0;  ///< recorded, over all frames
};
TrajectorySize trajectory_size(const std::string& folder);

/// FNV-1a of every number in it: equal hashes, equal bits.
std::uint64_t hash_of(const Trajectory& trajectory);

/// A time series by name: "energy", "contacts", "body/ball.z", "body/ball.speed", ...
struct Signal {
  std::string name, unit;
  std::vector<double> values;  ///< one per frame
};
/// Throws Error with the nearest spelling.
Signal signal_of(const Trajectory& trajectory, std::string_view name);
/// The signals of the whole run; those of bodies come in addition.
std::vector<std::string_view> signal_names();

/// Signals of a run, read segment by segment: memory for the signals alone, however long the run.
struct RunSignals {
  Trajectory frames;  ///< names and times, nothing else
  std::vector<Signal> signals;
};
RunSignals read_signals(const std::string& folder, const std::vector<std::string>& names,
                        std::int64_t every = 1);

}  // namespace orthant
