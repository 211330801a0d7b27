// SPDX-License-Identifier: Apache-2.0
// io/scene/tables.cpp: every field of a scene file, once.
#include "io/scene/tables.hpp"

#include "orthant/solver/solve_fields.hpp"
#include "orthant/step/step_fields.hpp"

namespace orthant::io {
namespace {

/// The library's own list of the settings, less what would make a scene depend on the machine.
template <class S>
Table<S> settings_table(const char* noun, const char* doc) {
  Table<S> table(noun, doc);
  visit_settings(std::type_identity<S>{}, [&](const char* name, auto member, const char* what,
                                              const SettingRule& rule) {
    if (!rule.reproducible) return;
    table.add(name, member, what,
              {.unit = rule.unit, .lo = rule.lo, .hi = rule.hi, .positive = rule.positive});
  });
  return table;
}

}  // namespace

template <>
const Table<WorldDescription>& table_of<WorldDescription>() {
  using T = WorldDescription;
  static const Table<T> table =
      Table<T>("world", "What holds for all bodies.")
          .add("planar", &T::planar,
               "bodies move in the plane x, y and use the sections z = 0 of their shapes")
          .add("gravity", &T::gravity, "default (0, 0, -9.81), planar (0, -9.81)",
               {.unit = "m/s^2"})
          .add("law", &T::law, "`overdamped`: velocity = mobility x force, no inertia")
          .add("viscosity", &T::viscosity,
               "of a fluid through which bodies move each other, as spheres whose own drag is "
               "theirs (Rotne, Prager, Yamakawa); overdamped law; default: no such fluid",
               {.unit = "Pa s", .lo = 0})
          .add("mobility_tolerance", &T::mobility_tolerance,
               "error of the flow of many bodies, of the largest velocity",
               {.unit = "-", .lo = 1e-15, .hi = 0.1});
  return table;
}

template <>
const Table<MaterialDescription>& table_of<MaterialDescription>() {
  using T = MaterialDescription;
  static const Table<T> table =
      Table<T>("material", "A surface.")
          .add("name", &T::name, "by which shapes refer to it", {.required = true})
          .add("friction", &T::friction, "Coulomb's coefficient", {.unit = "-", .lo = 0})
          .add("restitution", &T::restitution, "0: no bounce", {.unit = "-", .lo = 0, .hi = 1})
          .add("rolling_friction", &T::rolling_friction, "lever of the rolling torque",
               {.unit = "m", .lo = 0})
          .add("compliance", &T::compliance, "0: hard", {.unit = "m/N", .lo = 0})
          .add("combine", &T::combine,
               "how two surfaces become one; of two rules the later in this list holds");
  return table;
}

template <>
const Table<MaterialPairDescription>& table_of<MaterialPairDescription>() {
  using T = MaterialPairDescription;
  static const Table<T> table =
      Table<T>("material_pair", "Coefficients of two materials together; they win over any rule.")
          .add("a", &T::a, "a material", {.required = true})
          .add("b", &T::b, "a material", {.required = true})
          .add("friction", &T::friction, "default: by the rule", {.unit = "-", .lo = 0})
          .add("restitution", &T::restitution, "default: by the rule",
               {.unit = "-", .lo = 0, .hi = 1})
          .add("rolling_friction", &T::rolling_friction, "default: by the rule",
               {.unit = "m", .lo = 0})
          .add("compliance", &T::compliance, "default: the sum", {.unit = "m/N", .lo = 0});
  return table;
}

template <>
const Table<ShapeDescription>& table_of<ShapeDescription>() {
  using T = ShapeDescription;
  static const Table<T> table =
      Table<T>("shape", "A shape on a body; all but torus, mesh and height field are convex.")
          .by_type(&T::type,
                   "`capsule`, `stadium` and `cylinder` lie along x, a `cone` has its tip there; "
                   "`half_space` is below z = 0, `half_plane` below y = 0; `mesh` and "
                   "`height_field` need a body that is fixed or kinematic")
          .add("radius", &T::radius, "",
               {.unit = "m",
                .positive = true,
                .required = true,
                .only = "sphere capsule cylinder cone rounded_hull disc stadium"})
          .add("half_length", &T::half_length,
               "of the axis, without the caps; half the height of a cylinder or cone",
               {.unit = "m",
                .positive = true,
                .required = true,
                .only = "capsule stadium cylinder cone"})
          .add("half", &T::half,
               "half the edges: 3 numbers, a rectangle or the ground of a height field 2",
               {.unit = "m",
                .positive = true,
                .required = true,
                .only = "box rectangle height_field"})
          .add("semi_axes", &T::semi_axes, "3 numbers, an ellipse 2",
               {.unit = "m",
                .positive = true,
                .required = true,
                .only = "ellipsoid super_ellipsoid ellipse"})
          .add("exponents", &T::exponents,
               "e1 (towards z) and e2 (around z): 1 is an ellipsoid, less is squarer",
               {.unit = "-", .lo = 0.4, .hi = 1, .required = true, .only = "super_ellipsoid"})
          .add("major", &T::major, "radius of the ring, about z",
               {.unit = "m", .positive = true, .required = true, .only = "torus"})
          .add("minor", &T::minor, "radius of the tube",
               {.unit = "m", .positive = true, .required = true, .only = "torus"})
          .add("points", &T::points, "their convex hull is the shape; of a mesh the corners",
               {.unit = "m", .only = "hull polygon rounded_hull mesh"})
          .add("triangles", &T::triangles,
               "numbers of their corners, 3 per triangle, counter-clockwise from outside",
               {.lo = 0, .only = "mesh"})
          .add("rows", &T::rows, "of heights, the first at the smallest y",
               {.lo = 2, .required = true, .only = "height_field"})
          .add("heights", &T::heights, "row after row, each along x",
               {.unit = "m", .required = true, .only = "height_field"})
          .add("file", &T::file,
               "STL, OBJ or COLLADA instead of points; its convex hull is the shape. A mesh: its "
               "triangles, STL or OBJ",
               {.only = "hull rounded_hull mesh"})
          .add("scale", &T::scale, "factor on the coordinates of the file",
               {.positive = true, .only = "hull rounded_hull mesh"})
          .add("position", &T::position, "in the frame of the body", {.unit = "m"})
          .add("orientation", &T::orientation, "in the frame of the body")
          .add("rotation", &T::rotation, "rotation vector instead of a quaternion", {.unit = "rad"})
          .add("angle", &T::angle, "planar bodies", {.unit = "rad"})
          .add("density", &T::density, "planar bodies: kg/m^2",
               {.unit = "kg/m^3", .positive = true})
          .add("material", &T::material, "default: friction 0.5, no bounce")
          .add("group", &T::group,
               "bits; two shapes may touch when each one's mask has a bit of the "
               "other's group",
               {.lo = 0, .hi = 4294967295.0})
          .add("mask", &T::mask, "bits", {.lo = 0, .hi = 4294967295.0})
          .add("name", &T::name, "default: the body's");
  return table;
}

template <>
const Table<BodyDescription>& table_of<BodyDescription>() {
  using T = BodyDescription;
  static const Table<T> table =
      Table<T>("body", "A rigid body.")
          .add("name", &T::name, "default: body and its number")
          .add("motion", &T::motion, "`kinematic` keeps the velocity it is given")
          .add("planar", &T::planar, "default: as the world")
          .add("position", &T::position, "of the body's frame", {.unit = "m"})
          .add("orientation", &T::orientation, "of the body's frame")
          .add("rotation", &T::rotation, "rotation vector instead of a quaternion", {.unit = "rad"})
          .add("angle", &T::angle, "planar bodies", {.unit = "rad"})
          .add("velocity", &T::velocity, "of the centre of mass", {.unit = "m/s"})
          .add("angular_velocity", &T::angular_velocity, "world axes",
               {.unit = "rad/s", .scalar_is_z = true})
          .add("shapes", &T::shapes, "one or several")
          .add("mass", &T::mass, "default: from the densities", {.unit = "kg", .positive = true})
          .add("inertia", &T::inertia, "about the centre of mass; default: from the shapes",
               {.unit = "kg m^2"})
          .add("center_of_mass", &T::center_of_mass, "default: from the shapes", {.unit = "m"})
          .add("drag", &T::drag, "overdamped law only", {.unit = "kg/(m s)", .positive = true})
          .add("length", &T::length, "overdamped law only; default: twice the bounding radius",
               {.unit = "m", .positive = true})
          .add("colour", &T::colour, "in the viewer");
  return table;
}

template <>
const Table<PopulationDescription>& table_of<PopulationDescription>() {
  using T = PopulationDescription;
  static const Table<T> table =
      Table<T>(
          "population",
          "Many bodies of one kind. In `body` and `joint`, `$(...)` may use the running number "
          "`n`, the places `i`, `j`, `k` in the grid, the position `x`, `y`, `z`, and the text "
          "`name` and `previous`.")
          .by_type(&T::type, "how they are placed")
          .add("name", &T::name, "members are called name and number", {.required = true})
          .add("body", &T::body, "the fields of every member; `position` is added to its place",
               {.unit = "body", .required = true})
          .add("joint", &T::joint,
               "a joint a member; `a` defaults to the member, `b` to the previous one. Without `b` "
               "the first member gets none",
               {.unit = "joint"})
          .add("count", &T::count, "of members, along x, y, z; a random one: in all",
               {.required = true})
          .add("spacing", &T::spacing, "from member to member", {.unit = "m", .only = "grid"})
          .add("lattice", &T::lattice, "", {.only = "lattice"})
          .add("distance", &T::distance, "between nearest neighbours; a random one: at least",
               {.unit = "m", .positive = true, .required = true, .only = "lattice random"})
          .add("position", &T::position, "of the first member",
               {.unit = "m", .only = "grid lattice"})
          .add("lower", &T::lower, "corner of the box that holds the centres",
               {.unit = "m", .required = true, .only = "random"})
          .add("upper", &T::upper, "the opposite corner",
               {.unit = "m", .required = true, .only = "random"})
          .add("jitter", &T::jitter, "random shift along each axis, at most",
               {.unit = "m", .lo = 0})
          .add("random_orientation", &T::random_orientation, "turn every member at random")
          .add("seed", &T::seed, "of the random numbers", {.lo = 0});
  return table;
}

template <>
const Table<GrowthDescription>& table_of<GrowthDescription>() {
  using T = GrowthDescription;
  static const Table<T> table =
      Table<T>("growth",
               "Rods (bodies of one capsule or stadium) that grow and divide while a run plays. A "
               "daughter of `cell` is called `cell/` and her number, and grows as her mother did.")
          .add("bodies", &T::bodies,
               "bodies, or populations for all of their members; default: all rods that move")
          .add("rate", &T::rate,
               "of the length l from tip to tip: dl/dt = rate l; negative: shrink",
               {.unit = "1/s", .lo = -1e6, .hi = 1e6, .required = true})
          .add("divide_at", &T::divide_at,
               "length from tip to tip at which a rod becomes two of half that length; default: "
               "they do not divide",
               {.unit = "m", .positive = true})
          .add("jitter", &T::jitter, "turn of a daughter, to a random side",
               {.unit = "rad", .lo = 0, .hi = 1})
          .add("seed", &T::seed, "of the sides", {.lo = 0});
  return table;
}

template <>
const Table<ServoDescription>& table_of<ServoDescription>() {
  using T = ServoDescription;
  static const Table<T> table =
      Table<T>("robot_servo", "Servos of a robot's joints, which hold its posture.")
          .add("joints", &T::joints, "names in the file; default: all that follow no other")
          .add("stiffness", &T::stiffness, "of the posture", {.unit = "N/m, N m/rad", .lo = 0})
          .add("damping", &T::damping, "", {.unit = "N s/m, N m s/rad", .lo = 0})
          .add("max_force", &T::max_force, "default: the limit in the file, where it has one",
               {.unit = "N, N m", .lo = 0})
          .add("armature", &T::armature,
               "inertia of the coordinate: rotor times gear squared; default: as in the file",
               {.unit = "kg, kg m^2", .lo = 0})
          .add(
              "control", &T::control,
              "an actuator `target` by the name of the joint, whose control starts at the posture; "
              "without stiffness one of type `speed`, which starts at 0");
  return table;
}

template <>
const Table<RobotDescription>& table_of<RobotDescription>() {
  using T = RobotDescription;
  static const Table<T> table =
      Table<T>("robot", "A robot from a file of another format; docs/robots.md has the rules.")
          .add("file", &T::file, "", {.required = true})
          .add("prefix", &T::prefix, "put before the names of links and joints")
          .add("position", &T::position, "of the root link", {.unit = "m"})
          .add("orientation", &T::orientation, "of the root link")
          .add("rotation", &T::rotation, "rotation vector instead of a quaternion", {.unit = "rad"})
          .add("stand", &T::stand, "z of `position` is that of its lowest point")
          .add("fixed", &T::fixed, "the root link does not move")
          .add("posture", &T::posture,
               "joint coordinates at the start; default: 0, or the middle of limits without 0",
               {.unit = "m, rad"})
          .add("servos", &T::servos, "of a joint named twice the later one holds")
          .add("srdf", &T::srdf, "a file with pairs of links that never touch, and postures")
          .add("state", &T::state, "the posture (`group_state`) of the SRDF to start from")
          .add("self_collision", &T::self_collision,
               "its links touch each other, all but those joined directly")
          .add("keep_fixed", &T::keep_fixed,
               "links on fixed joints stay bodies, welded, instead of parts of their parent")
          .add("strict", &T::strict, "refuse what would be repaired")
          .add("skip_meshes", &T::skip_meshes, "leave out meshes whose file is not there")
          .add("pieces", &T::pieces,
               "URDF: each object of an OBJ mesh is a hull of its own, not one hull for the mesh")
          .add("density", &T::density,
               "of links that move and have shapes and no mass; default: refused",
               {.unit = "kg/m^3", .positive = true})
          .add("packages", &T::packages, "folders where `package://` is looked up first")
          .add("material", &T::material, "of all its shapes");
  return table;
}

template <>
const Table<FrameDescription>& table_of<FrameDescription>() {
  using T = FrameDescription;
  static const Table<T> table =
      Table<T>("frame", "A named place that moves with a body: a sensor, a tool.")
          .add("name", &T::name, "", {.required = true})
          .add("body", &T::body, "a body or `world`")
          .add("position", &T::position, "in the frame of the body", {.unit = "m"})
          .add("orientation", &T::orientation, "in the frame of the body")
          .add("rotation", &T::rotation, "rotation vector instead of a quaternion",
               {.unit = "rad"});
  return table;
}

template <>
const Table<ExclusionDescription>& table_of<ExclusionDescription>() {
  using T = ExclusionDescription;
  static const Table<T> table = Table<T>("exclusion", "Two bodies that never touch.")
                                    .add("a", &T::a, "a body", {.required = true})
                                    .add("b", &T::b, "another", {.required = true});
  return table;
}

template <>
const Table<MotorSpec>& table_of<MotorSpec>() {
  using T = MotorSpec;
  static const Table<T> table =
      Table<T>("motor", "Drives the coordinate of a joint.")
          .add("kind", &T::kind,
               "what is prescribed; `servo`: stiffness (target - coordinate) + damping (speed - "
               "rate) at the end of the step, cut at max_force inside the contact problem",
               {.required = true})
          .add("target", &T::target, "position at t = 0", {.unit = "m, rad"})
          .add("velocity", &T::velocity, "", {.unit = "m/s, rad/s"})
          .add("max_force", &T::max_force, "default: as strong as it takes",
               {.unit = "N, N m", .lo = 0})
          .add("stiffness", &T::stiffness, "of a servo", {.unit = "N/m, N m/rad", .lo = 0})
          .add("damping", &T::damping, "of a servo", {.unit = "N s/m, N m s/rad", .lo = 0})
          .add("times", &T::times, "of a table that is added", {.unit = "s"})
          .add("values", &T::values, "of the table");
  return table;
}

template <>
const Table<FollowSpec>& table_of<FollowSpec>() {
  using T = FollowSpec;
  static const Table<T> table =
      Table<T>("follow", "Couples the coordinate of a joint to that of another: gears, grippers.")
          .add("joint", &T::joint,
               "the leader; a hinge in space needs both limits, or a hinge that follows with a "
               "whole ratio",
               {.required = true})
          .add("ratio", &T::ratio, "coordinate = ratio x that of the leader + offset",
               {.unit = "-, m/rad, rad/m"})
          .add("offset", &T::offset, "", {.unit = "m, rad"});
  return table;
}

template <>
const Table<JointDescription>& table_of<JointDescription>() {
  using T = JointDescription;
  static const Table<T> table =
      Table<T>("joint", "Holds two bodies together; `b` may be `world`.")
          .by_type(&T::kind,
                   "revolute = pin, prismatic = slider; planar: moves in the plane across `axis` "
                   "and turns about it")
          .add("name", &T::name, "default: joint and its number")
          .add("a", &T::a, "a body", {.required = true})
          .add("b", &T::b, "a body or `world`")
          .add("anchor", &T::anchor, "in the world, as built", {.unit = "m"})
          .add("axis", &T::axis, "of turn or sliding, in the world, as built")
          .add("anchor_a", &T::anchor_a, "in the frame of a, instead of `anchor`", {.unit = "m"})
          .add("anchor_b", &T::anchor_b, "in the frame of b", {.unit = "m"})
          .add("length", &T::length, "default: as built",
               {.unit = "m", .positive = true, .only = "distance"})
          .add("start", &T::start, "coordinate as built; distance: its length",
               {.unit = "m, rad", .only = "revolute prismatic"})
          .add("lower", &T::lower, "limit of the coordinate",
               {.unit = "m, rad", .only = "revolute prismatic distance"})
          .add("upper", &T::upper, "", {.unit = "m, rad", .only = "revolute prismatic distance"})
          .add("stiffness", &T::stiffness, "spring along the coordinate",
               {.unit = "N/m, N m/rad", .lo = 0, .only = "revolute prismatic distance"})
          .add("damping", &T::damping, "",
               {.unit = "N s/m, N m s/rad", .lo = 0, .only = "revolute prismatic distance"})
          .add("rest", &T::rest, "of the spring; distance: 0 means as built",
               {.unit = "m, rad", .only = "revolute prismatic distance"})
          .add("dry_friction", &T::dry_friction, "force or torque it resists",
               {.unit = "N, N m", .lo = 0, .only = "revolute prismatic distance"})
          .add("armature", &T::armature, "inertia of the coordinate itself, as of a geared rotor",
               {.unit = "kg, kg m^2", .lo = 0, .only = "revolute prismatic distance"})
          .add("motor", &T::motor, "", {.only = "revolute prismatic distance"})
          .add("follow", &T::follow, "", {.only = "revolute prismatic distance"})
          .add("collide", &T::collide, "the joined bodies do touch");
  return table;
}

template <>
const Table<ForceDescription>& table_of<ForceDescription>() {
  using T = ForceDescription;
  static const Table<T> table =
      Table<T>("force", "A force that is always there.")
          .by_type(
              &T::type,
              "at the centre of mass, at a point, between two points, on nodes, by a formula of "
              "the place; `flow`: the drag of a medium that moves (overdamped law); `pair`: by a "
              "formula of the place relative to each of the others")
          .add("name", &T::name, "", {.required = true})
          .add("body", &T::body, "that it acts on", {.required = true, .only = "body point"})
          .add("part", &T::part, "a flexible part", {.required = true, .only = "nodes"})
          .add("lower", &T::lower, "corner of the box that holds the nodes; mesh frame",
               {.unit = "m", .only = "nodes"})
          .add("upper", &T::upper, "the opposite corner", {.unit = "m", .only = "nodes"})
          .add("force", &T::force, "of nodes: in all, spread evenly",
               {.unit = "N", .only = "body point nodes"})
          .add("torque", &T::torque, "", {.unit = "N m", .scalar_is_z = true, .only = "body"})
          .add("point", &T::point, "in the frame of the body", {.unit = "m", .only = "point"})
          .add("body_axes", &T::body_axes, "it turns with the body", {.only = "body point"})
          .add("times", &T::times, "of a table of factors", {.unit = "s", .only = "body point"})
          .add("factors", &T::factors, "on force and torque", {.only = "body point"})
          .add("a", &T::a, "a body", {.required = true, .only = "spring"})
          .add("b", &T::b, "a body or `world`", {.only = "spring"})
          .add("point_a", &T::point_a, "in the frame of a", {.unit = "m", .only = "spring"})
          .add("point_b", &T::point_b, "in the frame of b", {.unit = "m", .only = "spring"})
          .add("stiffness", &T::stiffness, "", {.unit = "N/m", .lo = 0, .only = "spring"})
          .add("damping", &T::damping, "", {.unit = "N s/m", .lo = 0, .only = "spring"})
          .add("rest", &T::rest, "default: as built", {.unit = "m", .lo = 0, .only = "spring"})
          .add(
              "formula", &T::formula,
              "force [N], or velocity of the flow [m/s], of x, y, z, r (distance from the origin), "
              "vx, vy, vz, t; one formula serves all components, x is then the component",
              {.required = true, .only = "field flow pair"})
          .add("aspect", &T::aspect, "length of the bodies along x over their width: strain turns",
               {.lo = 1e-3, .hi = 1e3, .only = "flow"})
          .add("bodies", &T::bodies, "that it acts on; default: all that move",
               {.only = "field flow pair"});
  return table;
}

template <>
const Table<ActuatorDescription>& table_of<ActuatorDescription>() {
  using T = ActuatorDescription;
  static const Table<T> table =
      Table<T>("actuator", "A control u(t) and what it pushes.")
          .by_type(&T::type,
                   "a force along a joint's coordinate, a wrench on a body, or added to the target "
                   "or the speed of a joint's servo")
          .add("name", &T::name, "", {.required = true})
          .add("joint", &T::joint, "", {.required = true, .only = "joint target speed"})
          .add("gear", &T::gear, "force, torque, target or speed of u = 1",
               {.only = "joint target speed"})
          .add("max_force", &T::max_force, "at which it is cut",
               {.unit = "N, N m", .lo = 0, .only = "joint"})
          .add("lower", &T::lower, "least u; others are cut to it", {.only = "joint target speed"})
          .add("upper", &T::upper, "largest u", {.only = "joint target speed"})
          .add("body", &T::body, "", {.required = true, .only = "body"})
          .add("force", &T::force, "of u = 1", {.unit = "N", .only = "body"})
          .add("torque", &T::torque, "of u = 1",
               {.unit = "N m", .scalar_is_z = true, .only = "body"})
          .add("body_axes", &T::body_axes, "it turns with the body", {.only = "body"})
          .add("control", &T::control, "u, constant")
          .add("times", &T::times, "of a table of u, linear in between", {.unit = "s"})
          .add("values", &T::values, "of the table");
  return table;
}

template <>
const Table<PlanSettings>& table_of<PlanSettings>() {
  static const Table<PlanSettings> table =
      settings_table<PlanSettings>("thresholds", "Which methods solve the problem of a step.");
  return table;
}

template <>
const Table<SolveSettings>& table_of<SolveSettings>() {
  static const Table<SolveSettings> table =
      settings_table<SolveSettings>("solver", "Of the contact problem of a step.");
  return table;
}

template <>
const Table<StepSettings>& table_of<StepSettings>() {
  static const Table<StepSettings> table =
      settings_table<StepSettings>("step", "How a step is made.");
  return table;
}

template <>
const Table<PeriodicBox>& table_of<PeriodicBox>() {
  using T = PeriodicBox;
  static const Table<T> table =
      Table<T>("periodic", "Bodies meet across the sides of a box; positions are not wrapped.")
          .add("directions", &T::active, "in which the world repeats", {.required = true})
          .add("lower", &T::lo, "corner of the box", {.unit = "m", .required = true})
          .add("upper", &T::hi, "the opposite corner", {.unit = "m", .required = true});
  return table;
}

template <>
const Table<RunDescription>& table_of<RunDescription>() {
  using T = RunDescription;
  static const Table<T> table =
      Table<T>("run", "How long; `orthant run` may say otherwise.")
          .add("steps", &T::steps, "default 500", {.lo = 0})
          .add("time", &T::time, "instead of `steps`", {.unit = "s", .lo = 0})
          .add("seed", &T::seed, "of Brownian kicks", {.lo = 0});
  return table;
}

template <>
const Table<RecordSettings>& table_of<RecordSettings>() {
  using T = RecordSettings;
  static const Table<T> table =
      Table<T>("record", "What a run writes down.")
          .add("every", &T::every, "steps from frame to frame", {.lo = 1})
          .add("velocities", &T::velocities, "of all bodies")
          .add("contacts", &T::contacts, "points, normals, impulses, stick or slide")
          .add("checkpoint_every", &T::checkpoint_every, "steps from checkpoint to checkpoint",
               {.lo = 1});
  return table;
}

template <>
const Table<SceneDescription>& table_of<SceneDescription>() {
  using T = SceneDescription;
  static const Table<T> table =
      Table<T>("scene", "The file.")
          .add("orthant", &T::format, "version of this format",
               {.lo = 1, .hi = 1, .required = true})
          .add("name", &T::name, "default: the name of the file")
          .add("description", &T::description, "a sentence")
          .add("include", &T::include,
               "files that come first: maps are merged, lists joined, this file has the last word")
          .add("parameters", &T::parameters,
               "names for `$(...)`, each with its default; `--set name=value` changes one")
          .add("world", &T::world, "")
          .add("materials", &T::materials, "")
          .add("material_pairs", &T::material_pairs, "")
          .add("bodies", &T::bodies, "")
          .add("populations", &T::populations, "")
          .add("growth", &T::growth, "")
          .add("flexible", &T::flexible, "")
          .add("urdf", &T::urdf, "robots from URDF files")
          .add("mjcf", &T::mjcf, "robots, or all bodies, from MJCF files (MuJoCo's XML)")
          .add("joints", &T::joints, "")
          .add("frames", &T::frames, "")
          .add("exclusions", &T::exclusions, "")
          .add("forces", &T::forces, "")
          .add("actuators", &T::actuators, "")
          .add("step", &T::step, "")
          .add("run", &T::run, "")
          .add("record", &T::record, "");
  return table;
}

std::vector<const ObjectInfo*> all_tables() {
  return {&table_of<SceneDescription>().info(),
          &table_of<WorldDescription>().info(),
          &table_of<MaterialDescription>().info(),
          &table_of<MaterialPairDescription>().info(),
          &table_of<BodyDescription>().info(),
          &table_of<ShapeDescription>().info(),
          &table_of<PopulationDescription>().info(),
          &table_of<GrowthDescription>().info(),
          &table_of<FlexibleDescription>().info(),
          &table_of<RegionDescription>().info(),
          &table_of<AttachmentDescription>().info(),
          &table_of<RobotDescription>().info(),
          &table_of<ServoDescription>().info(),
          &table_of<JointDescription>().info(),
          &table_of<MotorSpec>().info(),
          &table_of<FollowSpec>().info(),
          &table_of<FrameDescription>().info(),
          &table_of<ExclusionDescription>().info(),
          &table_of<ForceDescription>().info(),
          &table_of<ActuatorDescription>().info(),
          &table_of<StepSettings>().info(),
          &table_of<PeriodicBox>().info(),
          &table_of<SolveSettings>().info(),
          &table_of<PlanSettings>().info(),
          &table_of<RunDescription>().info(),
          &table_of<RecordSettings>().info()};
}

}  // namespace orthant::io
