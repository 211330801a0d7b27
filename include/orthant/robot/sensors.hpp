// SPDX-License-Identifier: Apache-2.0
// robot/sensors.hpp: a recorded step => what the sensors of a robot read in it.
// Forces are means over the step: impulses of all its intervals over its length. Everything follows
// from the record, so that a reading never changes a run.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/problem/contact_state.hpp"
#include "orthant/robot/articulation.hpp"
#include "orthant/step/step.hpp"

namespace ORTHANT_EXPORT orthant {

/// One contact of a step.
struct ContactReading {
  std::string body_a, body_b;    ///< bodies or flexible parts; the normal points to A
  std::string shape_a, shape_b;  ///< empty: a flexible part
  Vec3 point = Vec3::Zero(), normal = Vec3::Zero();  ///< world axes [m, -]
  Vec3 impulse = Vec3::Zero();                       ///< on A over `duration`, world axes [N s]
  Vec3 torque = Vec3::Zero();                        ///< rolling torque impulse on A [N m s]
  double gap = 0;                                    ///< at the start; negative: overlap [m]
  double duration = 0;                               ///< time the impulse acted [s]; 0: an impact
  double friction = 0;                               ///< coefficient [-]
  double sliding_speed = 0;                          ///< of A over B at the end [m/s]
  ContactState state = ContactState::Separate;
  bool impact = false;  ///< of a located impact, not of the interval
};

/// All contacts of a recorded step, impacts first where they happened. Throws Error for an empty
/// one.
std::vector<ContactReading> read_contacts(const Model& model, const Parameters& parameters,
                                          const StepRecord& record);

/// What presses on a shape: the sum of its contacts.
struct TouchReading {
  Vec3 force = Vec3::Zero();  ///< on the shape, world axes, mean over the step [N]
  int contacts = 0;           ///< that press
  bool sliding = false;       ///< one of them at least
  bool touches() const { return contacts > 0; }
};
TouchReading read_touch(const std::vector<ContactReading>& contacts, std::string_view shape,
                        double duration);

/// A joint at the end of a step, and the efforts along its coordinate, means over it [N, N m].
struct JointReading {
  double position = 0, velocity = 0;  ///< of joints with a coordinate [m, rad; per s]
  double motor = 0;                   ///< servo or motor, within its limit
  double actuator = 0;                ///< gear times control of its actuators, cut at their limits
  double limit = 0;                   ///< of the stops, positive away from the lower one
  double friction = 0;                ///< dry friction
};
/// One for every joint of the model.
std::vector<JointReading> read_joints(const Model& model, const Parameters& parameters,
                                      const StepRecord& record);

/// Pose and velocity of a frame in a state, world axes.
struct FrameReading {
  Pose pose;
  Vec3 velocity = Vec3::Zero(), angular_velocity = Vec3::Zero();
};
FrameReading read_frame(const Model& model, const State& state, const FrameRef& frame);

/// An inertial measurement unit: both in the frame's own axes, at the end of the step.
struct ImuReading {
  Vec3 acceleration =
      Vec3::Zero();  ///< of its origin against free fall, mean over the step [m/s^2]
  Vec3 angular_velocity = Vec3::Zero();  ///< [rad/s]
};
ImuReading read_imu(const Model& model, const Parameters& parameters, const StepRecord& record,
                    const FrameRef& frame);

/// The first shape that a ray o + t d meets from outside; nothing within reach: no body.
struct RayReading {
  BodyId body = {};
  ShapeId shape{kNone};
  double distance = std::numeric_limits<double>::infinity();  ///< t [m]
  Vec3 point = Vec3::Zero(), normal = Vec3::Zero();           ///< world axes
  bool hits() const { return index_of(shape) != kNone; }
};
struct RaySettings {
  double reach = std::numeric_limits<double>::infinity();  ///< [m]
  std::span<const BodyId> blind = {};                      ///< bodies that are not seen
};
/// Rays from `origin` along `direction` (of any length but 0), world axes. Flexible parts are not
/// seen.
RayReading cast_ray(const Model& model, const Parameters& parameters, const State& state,
                    const Vec3& origin, const Vec3& direction, const RaySettings& settings = {});
/// Rays from a frame's origin, directions in its own axes: a range finder or lidar. The frame's own
/// body is not seen.
std::vector<RayReading> read_rays(const Model& model, const Parameters& parameters,
                                  const State& state, const FrameRef& frame,
                                  std::span<const Vec3> directions,
                                  double reach = std::numeric_limits<double>::infinity());

}  // namespace orthant
