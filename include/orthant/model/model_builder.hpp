// SPDX-License-Identifier: Apache-2.0
// model/model_builder.hpp: specs in words => Model, checked once.
// Every rule is checked in build() or while adding, with an Error that names the object, the rule
// and the value. A body may be described in any frame: the builder moves its origin to the centre
// of mass.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/model.hpp"

namespace ORTHANT_EXPORT orthant {

struct MaterialSpec {
  std::string name = {};
  double friction = 0.5;        ///< [-]
  double restitution = 0;       ///< [-], 0 … 1
  double rolling_friction = 0;  ///< [m]
  double compliance = 0;        ///< [m/N], 0 = hard
  CombineRule combine = CombineRule::Average;
};

/// Coefficients of two materials together; what is not given follows the combine rule.
struct MaterialPairSpec {
  std::string a = {}, b = {};
  std::optional<double> friction = {}, restitution = {}, rolling_friction = {}, compliance = {};
};

struct ShapeSpec {
  Shape shape;
  Pose offset = {};           ///< of the shape in the frame of the spec
  double density = 1000;      ///< [kg/m^3], planar [kg/m^2]
  std::string material = {};  ///< empty: "default" (friction 0.5, the rest 0)
  std::uint32_t group = 1, mask = ~std::uint32_t{0};
  std::string name = {};  ///< empty: the body's, with "#ordinal" where it has several
};

struct BodySpec {
  std::string name = {};  ///< empty: "body<number>"
  Motion motion = Motion::Spatial;
  bool planar = false;                   ///< of Fixed and Kinematic bodies; Planar implies it
  Vec3 position = Vec3::Zero();          ///< of the spec's frame [m]; planar: x, y
  Quat orientation = {};                 ///< of the spec's frame; planar bodies use `angle`
  double angle = 0;                      ///< planar [rad]
  Vec3 velocity = Vec3::Zero();          ///< of the centre of mass [m/s]
  Vec3 angular_velocity = Vec3::Zero();  ///< world axes [rad/s]; planar: z
  std::vector<ShapeSpec> shapes = {};
  std::optional<double> mass = {};  ///< [kg]; default: from the shapes' densities
  /// About the centre of mass, axes of the spec's frame [kg m^2]; planar: entry (2, 2). Default:
  /// from the shapes, scaled to `mass` where that is given.
  std::optional<Mat3> inertia = {};
  std::optional<Vec3> center_of_mass = {};  ///< in the spec's frame [m]; default: from the shapes
  double drag = 1;                          ///< overdamped law only
  std::optional<double> length = {};  ///< overdamped law only; default: twice the bounding radius
  /// Unlike any other body's, below kFirstPartUid; default: the place among the bodies.
  std::optional<BodyUid> uid = {};
};

struct MotorSpec {
  MotorKind kind = MotorKind::None;
  double target = 0;                     ///< Position: at t = 0 [m, rad]
  double velocity = 0;                   ///< [m/s, rad/s]
  std::optional<double> max_force = {};  ///< [N, N m]
  double stiffness = 0, damping = 0;     ///< Servo, not both 0 [N/m, N s/m, N m/rad, N m s/rad]
  std::vector<double> times = {}, values = {};
};

/// coordinate = ratio x coordinate of `joint` + offset, whatever it takes (URDF: mimic). The angle
/// of a hinge in space is known up to full turns: such a leader has both limits, or the follower is
/// one, too, and the ratio whole.
struct FollowSpec {
  std::string joint = {};  ///< the leader; empty: none
  double ratio = 1;        ///< [-, m/rad, rad/m]
  double offset = 0;       ///< [m, rad]
};

struct JointSpec {
  std::string name = {};  ///< empty: "joint<number>"
  JointKind kind = JointKind::Weld;
  std::string a = {}, b = "world";
  /// Joint frame in the world at the initial configuration: origin, and the direction of turn
  /// (Revolute) or of sliding (Prismatic), normalised here.
  Vec3 anchor = Vec3::Zero();
  Vec3 axis = Vec3::UnitZ();  ///< a planar Slider lies in the plane: x, y
  /// Anchors in the frames of the two bodies' specs instead of `anchor`; where only one is given
  /// the other meets it as built. Distance: default the centres of mass, `anchor` on the world.
  std::optional<Vec3> anchor_a = {}, anchor_b = {};
  std::optional<double> length = {};  ///< Distance; default: as built
  double start = 0;  ///< coordinate as built: Revolute [rad], Prismatic [m]; Distance: its length
  /// Limits of the coordinate. Of a hinge in space: less than a turn apart; a single one inside
  /// (-pi, pi).
  std::optional<double> lower = {}, upper = {};
  double stiffness = 0, damping = 0;  ///< spring and damper along the coordinate, implicit
  double rest = 0;                    ///< of the spring; Distance: 0 means as built
  double dry_friction = 0;            ///< [N, N m]
  double armature = 0;                ///< inertia of the coordinate itself [kg, kg m^2]
  MotorSpec motor = {};
  FollowSpec follow = {};
  bool collide = false;  ///< joined bodies do touch
};

struct BodyForceSpec {
  std::string name = {}, body = {};
  Vec3 force = Vec3::Zero();   ///< [N]
  Vec3 torque = Vec3::Zero();  ///< [N m]; planar: z
  bool body_axes = false;
  std::vector<double> times = {}, factors = {};  ///< factor on force and torque
};

struct PointForceSpec {
  std::string name = {}, body = {};
  Vec3 point = Vec3::Zero();  ///< in the frame of the body's spec [m]
  Vec3 force = Vec3::Zero();  ///< [N]
  bool body_axes = false;
  std::vector<double> times = {}, factors = {};
};

struct SpringSpec {
  std::string name = {}, a = {}, b = "world";
  Vec3 point_a = Vec3::Zero(),
       point_b = Vec3::Zero();      ///< in the frames of the specs, or world [m]
  double stiffness = 0;             ///< [N/m]
  double damping = 0;               ///< [N s/m]
  std::optional<double> rest = {};  ///< [m]; default: as built
};

struct CallbackSpec {
  std::string name = {}, body = {};
  std::shared_ptr<const ForceCallback> callback = {};
};

struct JointActuatorSpec {
  std::string name = {}, joint = {};
  double gear = 1;                               ///< generalised force of u = 1 [N, N m]
  std::optional<double> max_force = {};          ///< [N, N m]
  std::optional<double> lower = {}, upper = {};  ///< u is cut to this range
};

/// Moves the target, or the speed, of the servo of a joint: by gear u.
struct ServoActuatorSpec {
  std::string name = {}, joint = {};
  bool speed = false;
  double gear = 1;
  std::optional<double> lower = {}, upper = {};  ///< u is cut to this range
};

struct BodyActuatorSpec {
  std::string name = {}, body = {};
  Vec3 force = Vec3::Zero(), torque = Vec3::Zero();  ///< of u = 1, at the centre of mass
  bool body_axes = false;
};

struct FrameSpec {
  std::string name = {}, body = "world";
  Pose pose = {};  ///< in the frame of the body's spec
};

class ModelBuilder {
 public:
  ModelBuilder();
  ~ModelBuilder();
  ModelBuilder(const ModelBuilder&);
  ModelBuilder& operator=(const ModelBuilder&);

  MaterialId add_material(MaterialSpec spec);
  ModelBuilder& add_material_pair(MaterialPairSpec spec);
  BodyId add_body(BodySpec spec);
  JointId add_joint(JointSpec spec);
  /// A flexible part; returns its place in Model::flexible_parts().
  Index add_flexible(FlexibleSpec spec);
  ModelBuilder& add_force(BodyForceSpec spec);
  ModelBuilder& add_force(PointForceSpec spec);
  ModelBuilder& add_force(SpringSpec spec);
  ModelBuilder& add_force(CallbackSpec spec);
  ModelBuilder& add_force(NodeForceSpec spec);
  ModelBuilder& add_actuator(JointActuatorSpec spec);
  ModelBuilder& add_actuator(BodyActuatorSpec spec);
  ModelBuilder& add_actuator(ServoActuatorSpec spec);
  ModelBuilder& add_frame(FrameSpec spec);
  /// Shapes of these two bodies never touch.
  ModelBuilder& exclude(std::string a, std::string b);
  /// Default: (0, 0, -9.81), or (0, -9.81, 0) where all bodies are planar.
  ModelBuilder& set_gravity(const Vec3& gravity);
  ModelBuilder& set_law(LawOfMotion law);
  /// The bodies so far, and others in their place: for edits of a model (model/division.hpp).
  const std::vector<BodySpec>& bodies() const;
  void set_bodies(std::vector<BodySpec> specs) noexcept;

  /// The Model; the builder may go on and build others. Names may refer to what is added later.
  Model build() const;

 private:
  struct Specs;
  struct Build;
  std::unique_ptr<Specs> specs_;
};

}  // namespace orthant
