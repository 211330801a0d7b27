// SPDX-License-Identifier: Apache-2.0
// model/model.hpp: the const topology of a world: who moves how, what is fixed to what, and where
// every number lies in Parameters and State.
// Built and checked once by ModelBuilder (model/model_builder.hpp), const ever after. All numbers
// one may change without rebuilding (masses, radii, friction, anchors, stiffness) are parameters: a
// Model keeps their places, never their values.
#pragma once

#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/base/ids.hpp"
#include "orthant/math/pose_kernel.hpp"
#include "orthant/math/types.hpp"
#include "orthant/model/flexible.hpp"
#include "orthant/model/force_callback.hpp"
#include "orthant/model/parameters.hpp"
#include "orthant/model/state.hpp"
#include "orthant/shape/shape.hpp"

namespace ORTHANT_EXPORT orthant {

/// Place of something that is not there.
inline constexpr Index kNone = -1;
/// The world frame as a partner of joints and springs: a body that is always there and never moves.
inline constexpr BodyId kWorld{-1};

enum class Motion : std::uint8_t {
  Fixed,      ///< has a pose, no velocity
  Planar,     ///< dynamic, q = (x, y, theta), v = (vx, vy, omega)
  Spatial,    ///< dynamic, q = (x, p), v = (linear, angular)
  Kinematic,  ///< moves with the velocity found in State::v, whatever pushes it
};

enum class LawOfMotion : std::uint8_t { Inertial, Overdamped };

struct Body {
  std::string name;
  BodyUid uid = 0;
  Motion motion = Motion::Fixed;
  bool planar = false;
  Index q_begin = 0, q_size = 0;  ///< 3 planar, 7 spatial
  /// Place in State::v. Dynamic bodies come first, in body order, so the velocities of the
  /// canonical problem are the head of State::v and a body's columns start at v_begin in both.
  /// kNone: fixed.
  Index v_begin = kNone, v_size = 0;
  Index dynamic = kNone;  ///< velocity block of H; kNone unless dynamic
  Index mass = kNone;     ///< parameter [kg]; dynamic bodies only
  /// First parameter of the inertia about the centre of mass in body axes [kg m^2]: planar 1,
  /// spatial 6 in the order xx, yy, zz, xy, xz, yz (xy is the matrix entry, not the product of
  /// inertia).
  Index inertia = kNone;
  /// Overdamped law only: drag [kg/(m s)] and length [m], mobility (1/drag) diag(1/l, 12/l^3).
  Index drag = kNone, length = kNone;
  Index shape_begin = 0, shape_end = 0;  ///< its shapes in Model::shapes()

  bool is_dynamic() const { return dynamic != kNone; }
};

/// A shape on a body. Its sizes and its place X_BS are parameters.
struct ShapeInstance {
  ShapeId id{};
  BodyId body{};
  std::uint16_t ordinal = 0;  ///< on its body
  Shape shape;                ///< kind and topology; numbers at build time
  Index parameter_begin = 0;  ///< shape.parameter_count() numbers
  Index offset_begin = 0;     ///< X_BS: planar x, y, theta; spatial x, y, z, qw, qx, qy, qz
  MaterialId material{};
  std::uint32_t group = 1, mask = ~std::uint32_t{0};
  double bounding_radius = 0;  ///< about the shape's own origin, at build time [m]
  std::string name = {};       ///< "shape/<name>.radius" is its radius

  bool planar() const { return shape.dim() == 2; }
  /// The shape with the numbers of a parameter vector, in any scalar.
  template <class T>
  ShapeView<T> view(const T* parameters) const {
    return shape.view(parameters + parameter_begin);
  }
};

/// How the coefficients of two surfaces become one. Where two materials name different rules the
/// later one in this list holds.
enum class CombineRule : std::uint8_t { Average, Geometric, Min, Max };

struct Material {
  std::string name;
  Index friction = 0, restitution = 0;  ///< parameters [-]
  Index rolling_friction = 0;           ///< parameter [m]
  Index compliance = 0;                 ///< parameter, normal direction [m/N], 0 = hard
  CombineRule combine = CombineRule::Average;
};

/// Coefficients given for two named materials together; these win over any rule.
struct MaterialPair {
  MaterialId a{}, b{};  ///< a <= b
  Index friction = kNone, restitution = kNone, rolling_friction = kNone, compliance = kNone;
};

/// Joints hold frame Ja of body A and frame Jb of body B together, all but the freedom named.
/// Between planar bodies the same kinds act in the plane.
enum class JointKind : std::uint8_t {
  Weld,          ///< no freedom: 6 rows, planar 3
  Revolute,      ///< turns about z of the frames: 5 rows, planar 2
  Prismatic,     ///< slides along x of frame Jb: 5 rows, planar 2
  Ball,          ///< turns freely: 3 rows (planar: the same as Revolute)
  Distance,      ///< anchors stay `length` apart: 1 row; 0 rows with limits or a spring (a rope)
  Planar,        ///< slides across z of frame Jb and turns about it: 3 rows, spatial only
  LockX,         ///< (anchor A - anchor B).x = 0, world axes: 1 row
  LockY,         ///< the same for y
  LockZ,         ///< the same for z, spatial only
  LockRotation,  ///< the frames keep their relative turn: 3 rows, planar 1
  Pin = Revolute,
  Slider = Prismatic,
};

/// A value that changes with time, linear between the entries and constant outside; values are
/// parameters.
struct TimeTable {
  std::vector<double> times;  ///< ascending [s]; empty: no table
  Index value_begin = kNone;
  bool empty() const { return times.empty(); }
};

enum class MotorKind : std::uint8_t {
  None,
  Velocity,  ///< rate of the joint coordinate = velocity + table(t)
  Position,  ///< joint coordinate = target + velocity t + table(t)
  /// force = stiffness (target - coordinate) + damping (speed - rate), both at the end of the step,
  /// cut at max_force inside the contact problem; target as Position, speed its slope. Controls
  /// add to both.
  Servo,
};

/// Acts along the joint's coordinate: the angle of a Revolute, the path of a Prismatic, the length
/// of a Distance; A relative to B.
struct Motor {
  MotorKind kind = MotorKind::None;
  Index target = kNone, velocity = kNone;    ///< parameters
  Index max_force = kNone;                   ///< parameter [N, N m]; kNone: as strong as it takes
  Index stiffness = kNone, damping = kNone;  ///< Servo: parameters
  TimeTable table;
  /// Servo: actuators whose control adds to the target and to the speed; kNone: none.
  Index target_control = kNone, speed_control = kNone;

  /// Acts by a block of its own, within limits of its force.
  bool has_block() const { return kind == MotorKind::Servo || max_force != kNone; }
};

/// Couples two joints, as gears or the fingers of a gripper:
///   coordinate = ratio x coordinate of the leader + offset
struct Follow {
  JointId leader{kNone};
  Index ratio = kNone, offset = kNone;  ///< parameters
  Index row = kNone;  ///< bilateral row, after those of the motors; kNone: the joint follows none
};

struct Joint {
  std::string name;
  JointKind kind = JointKind::Weld;
  BodyId a{}, b{};  ///< either may be kWorld
  bool planar = false;
  /// Frames X_AJ, then X_BJ (each as ShapeInstance::offset_begin).
  Index parameter_begin = 0;
  Index length = kNone;                   ///< Distance: parameter [m]
  Index row_begin = 0, row_count = 0;     ///< bilateral rows of the joint itself, model order
  Index lower = kNone, upper = kNone;     ///< limits of the coordinate: parameters [m, rad]
  Index stiffness = kNone, rest = kNone;  ///< spring along the coordinate: parameters
  Index damping = kNone;                  ///< parameter [N s/m, N m s/rad]
  Index dry_friction = kNone;             ///< parameter [N, N m]
  Index armature = kNone;  ///< inertia of the coordinate itself: parameter [kg, kg m^2]
  double middle = 0;       ///< a hinge in space: its angle is within half a turn of this [rad]
  Motor motor;
  Index motor_row = kNone;  ///< bilateral row of an unlimited motor, after the rows of all joints
  Follow follow;

  /// Adds to H along its coordinate.
  bool has_spring() const { return stiffness != kNone || damping != kNone || armature != kNone; }
  /// Has one coordinate that limits, motors, springs and actuators act along.
  bool has_coordinate() const {
    return kind == JointKind::Prismatic || kind == JointKind::Distance ||
           kind == JointKind::Revolute;
  }
};

enum class ForceKind : std::uint8_t {
  Body,   ///< force and torque at the centre of mass: fx, fy, fz, tx, ty, tz; planar fx, fy, torque
  Point,  ///< force at a point of the body: point, force; planar 2 + 2 numbers, spatial 3 + 3
  Spring,    ///< between two points: point_a, point_b, stiffness, damping, rest
  Callback,  ///< the user's own
};

/// An applied force. Gravity is not among them: see Model::gravity().
struct Force {
  std::string name;
  ForceKind kind = ForceKind::Body;
  BodyId a{}, b = kWorld;     ///< b: Spring only
  bool body_axes = false;     ///< Body, Point: the force turns with the body
  Index parameter_begin = 0;  ///< in the order of ForceKind
  TimeTable table;            ///< Body, Point: factor on the force
  std::shared_ptr<const ForceCallback> callback;
};

enum class ActuatorKind : std::uint8_t {
  Joint,   ///< generalised force gear u along a joint's coordinate, cut at max_force
  Target,  ///< gear u is added to the target of a joint's servo
  Speed,   ///< gear u is added to the speed of a joint's servo
  Body,    ///< u times a fixed wrench on a body: direction as ForceKind::Body
};

struct Actuator {
  std::string name;
  ActuatorKind kind = ActuatorKind::Joint;
  JointId joint{};
  BodyId body{};
  bool body_axes = false;
  Index parameter_begin = 0;  ///< Joint, Target, Speed: gear; Body: the wrench of u = 1
  Index max_force = kNone;    ///< Joint: parameter [N, N m]
  double lower = -std::numeric_limits<double>::infinity();  ///< u is cut to this range
  double upper = std::numeric_limits<double>::infinity();
};

/// A named place that moves with a body: a sensor, a tool, a link that is part of another.
struct Frame {
  std::string name;
  BodyId body = kWorld;
  Pose X_BF;  ///< in the body's frame, whose origin is the centre of mass; world: in the world
};

class Model {
 public:
  std::span<const Body> bodies() const { return bodies_; }
  std::span<const ShapeInstance> shapes() const { return shapes_; }
  std::span<const Material> materials() const { return materials_; }
  std::span<const MaterialPair> material_pairs() const { return material_pairs_; }
  std::span<const Joint> joints() const { return joints_; }
  std::span<const Force> forces() const { return forces_; }
  std::span<const Actuator> actuators() const { return actuators_; }
  std::span<const Frame> frames() const { return frames_; }
  std::span<const FlexiblePart> flexible_parts() const { return flexible_parts_; }
  std::span<const Tie> ties() const { return ties_; }  ///< of nodes to bodies that move
  std::span<const NodeForce> node_forces() const { return node_forces_; }

  const Body& body(BodyId id) const { return bodies_[static_cast<std::size_t>(id)]; }
  const ShapeInstance& shape(ShapeId id) const { return shapes_[static_cast<std::size_t>(id)]; }
  const Material& material(MaterialId id) const { return materials_[static_cast<std::size_t>(id)]; }
  const Joint& joint(JointId id) const { return joints_[static_cast<std::size_t>(id)]; }

  // By name; throw Error with the nearest spelling. find_body("world") is kWorld.
  BodyId find_body(std::string_view name) const;
  BodyId find_uid(BodyUid uid) const;  ///< throws Error where no body has it
  ShapeId find_shape(std::string_view name) const;
  MaterialId find_material(std::string_view name) const;
  JointId find_joint(std::string_view name) const;
  Index find_actuator(std::string_view name) const;
  Index find_frame(std::string_view name) const;  ///< place in frames()
  Index find_part(std::string_view name) const;   ///< place in flexible_parts()

  Index q_size() const { return q_size_; }
  Index v_size() const { return v_size_; }                  ///< with kinematic bodies
  Index dynamic_v_size() const { return dynamic_v_size_; }  ///< velocities of the problem
  Index dynamic_count() const { return static_cast<Index>(dynamic_bodies_.size()); }
  /// The body of each velocity block of H.
  std::span<const BodyId> dynamic_bodies() const { return dynamic_bodies_; }
  /// Velocity blocks of H: dynamic bodies, then the free nodes of flexible parts.
  Index velocity_block_count() const { return dynamic_count() + free_node_count_; }
  Index control_count() const { return static_cast<Index>(actuators_.size()); }
  Index bilateral_count() const { return bilateral_count_; }  ///< of joints, motors, couplings
  Index tie_row_count() const { return tie_row_count_; }      ///< rows of ties, after those

  LawOfMotion law() const { return law_; }
  /// All bodies and flexible parts are planar (and there is at least one).
  bool planar() const { return planar_; }
  /// First of the three parameters of gravity [m/s^2]; planar bodies feel x and y.
  Index gravity() const { return gravity_; }

  /// True where two shapes never touch: same body, neither of them dynamic, bodies joined directly
  /// or excluded, groups and masks. A pair is looked at when each one's mask has a bit of the
  /// other's group.
  bool excluded(ShapeId a, ShapeId b) const;
  /// The same for a flexible part and a shape: groups and masks, planar and spatial, attached.
  bool excluded(const FlexiblePart& part, ShapeId shape) const;

  Parameters default_parameters() const;
  /// The configuration and velocities the bodies were given.
  State rest_state() const { return initial_; }
  const ParameterTable& parameter_table() const { return *table_; }

 private:
  friend class ModelBuilder;
  Model() = default;

  std::vector<Body> bodies_;
  std::vector<ShapeInstance> shapes_;
  std::vector<Material> materials_;
  std::vector<MaterialPair> material_pairs_;  // sorted by (a, b)
  std::vector<Joint> joints_;
  std::vector<Force> forces_;
  std::vector<Actuator> actuators_;
  std::vector<Frame> frames_;
  std::vector<FlexiblePart> flexible_parts_;
  std::vector<Tie> ties_;
  std::vector<NodeForce> node_forces_;
  std::vector<std::pair<BodyUid, BodyId>> attached_;  // part and body, sorted
  std::vector<BodyId> dynamic_bodies_;
  std::vector<std::pair<BodyId, BodyId>> joined_;  // or excluded; sorted, first < second
  std::vector<Index> body_by_name_, body_by_uid_, shape_by_name_, material_by_name_, joint_by_name_;
  Index q_size_ = 0, v_size_ = 0, dynamic_v_size_ = 0, bilateral_count_ = 0, gravity_ = kNone;
  Index free_node_count_ = 0, tie_row_count_ = 0;
  LawOfMotion law_ = LawOfMotion::Inertial;
  bool planar_ = false;
  std::shared_ptr<const ParameterTable> table_;
  State initial_;
};

/// World pose of a body from its configuration numbers; q is the whole configuration.
template <class T>
PoseT<T> body_pose(const Body& body, const T* q) {
  const T* x = q + body.q_begin;
  if (body.planar) return planar_pose(x[0], x[1], x[2]);
  return {Vec3T<T>(x[0], x[1], x[2]), {x[3], x[4], x[5], x[6]}};
}

/// A frame stored as parameters: (x, y, theta) or (x, y, z, qw, qx, qy, qz). The quaternion is
/// normalised here, so each of its numbers may be varied by itself.
template <class T>
PoseT<T> frame_pose(bool planar, const T* x) {
  if (planar) return planar_pose(x[0], x[1], x[2]);
  return {Vec3T<T>(x[0], x[1], x[2]), normalized(QuatT<T>{x[3], x[4], x[5], x[6]})};
}

/// X_WS of a shape.
template <class T>
PoseT<T> shape_pose(const Body& body, const ShapeInstance& shape, const T* q, const T* parameters) {
  return compose(body_pose(body, q), frame_pose(body.planar, parameters + shape.offset_begin));
}

/// out = q boxplus delta, delta laid out as State::v (a tangent vector, e.g. h v). `out` may be q.
void boxplus(const Model& model, const VecX& q, const VecX& delta, VecX& out);
/// delta with from boxplus delta = to.
void boxminus(const Model& model, const VecX& to, const VecX& from, VecX& delta);

/// Throws Error unless sizes agree, every number is finite and quaternions are unit to 1e-6.
void validate(const Model& model, const State& state, std::string_view where = "state");
/// Throws Error when a value breaks the rules the builder enforces: mass, inertia, friction, sizes.
void validate(const Model& model, const Parameters& parameters,
              std::string_view where = "parameters");

/// What two surfaces share.
template <class T>
struct ContactMaterialT {
  T friction{0}, restitution{0}, rolling_friction{0}, compliance{0};
};
using ContactMaterial = ContactMaterialT<double>;

/// The coefficients of a contact between two materials, by rule or as given for the pair.
/// Compliances add (springs in series). model/material_kernel.hpp has the formulas in any scalar.
ContactMaterial contact_material(const Model& model, const Parameters& parameters, MaterialId a,
                                 MaterialId b);

}  // namespace orthant
