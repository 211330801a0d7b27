// SPDX-License-Identifier: Apache-2.0
// io/scene/description.hpp: what a scene file says, before a Model is made of it.
// Plain structs; the tables in tables.cpp name every field once.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scene/yaml_tree.hpp"
#include "orthant/io/scene.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant::io {

enum class MotionWord : unsigned char { Dynamic, Fixed, Kinematic };
enum class ShapeWord : unsigned char {
  Sphere,
  Capsule,
  Box,
  Hull,
  HalfSpace,
  Ellipsoid,
  SuperEllipsoid,
  Cylinder,
  Cone,
  Torus,
  RoundedHull,
  Mesh,
  HeightField,
  Disc,
  Stadium,
  Rectangle,
  Polygon,
  HalfPlane,
  Ellipse
};
enum class ForceWord : unsigned char { Body, Point, Spring, Nodes, Field, Flow, Pair };
enum class FlexibleWord : unsigned char { Box, Cylinder, Ball, Rectangle, Disc, File, Mesh };
enum class ActuatorWord : unsigned char { Joint, Body, Target, Speed };
enum class PopulationWord : unsigned char { Grid, Lattice, Random };
enum class LatticeWord : unsigned char { Cubic, Hexagonal, Bcc, Fcc };

/// Directions x, y, z.
using Directions = std::array<bool, 3>;

/// "#rrggbb".
struct Colour {
  std::string text;
};

/// One to three counts, the others 1.
struct Counts {
  std::array<int, 3> n = {1, 1, 1};
};

/// Formulas of the components of a vector (force/formula.hpp), and where the first one stands.
struct FormulaList {
  std::vector<std::string> texts;
  Where where;
};

/// Names and values, in the order of the file.
struct ParameterList {
  std::vector<std::pair<std::string, std::string>> values;
};

/// Names and numbers, in the order of the file.
struct NumberMap {
  std::vector<std::pair<std::string, double>> values;
};

struct ShapeDescription {
  ShapeWord type = ShapeWord::Sphere;
  double radius = 0, half_length = 0;
  std::vector<double> semi_axes = {}, exponents = {};
  double major = 0, minor = 0;
  std::vector<double> half = {};
  std::vector<Vec3> points = {};
  std::vector<double> triangles = {};  ///< corners of a mesh, 3 per triangle
  int rows = 0;
  std::vector<double> heights = {};
  std::string file = {};
  double scale = 1;
  Vec3 position = Vec3::Zero();
  std::optional<Quat> orientation = {};
  std::optional<Vec3> rotation = {};
  double angle = 0;
  double density = 1000;
  std::string material = {};
  std::int64_t group = 1, mask = 0xffffffff;
  std::string name = {};
  Where where = {};
};

/// Seen, not touched: a shape, or the triangles of a file.
struct VisualDescription {
  ShapeDescription shape = {};  ///< with `file` set only its place counts
  Vec3 scale = Vec3::Ones();    ///< of the file
  Colour colour = {};
};

struct BodyDescription {
  std::string name = {};
  MotionWord motion = MotionWord::Dynamic;
  std::optional<bool> planar = {};
  Vec3 position = Vec3::Zero();
  std::optional<Quat> orientation = {};
  std::optional<Vec3> rotation = {};
  double angle = 0;
  Vec3 velocity = Vec3::Zero(), angular_velocity = Vec3::Zero();
  std::vector<ShapeDescription> shapes = {};
  std::optional<double> mass = {};
  std::optional<Mat3> inertia = {};
  std::optional<Vec3> center_of_mass = {};
  double drag = 1;
  std::optional<double> length = {};
  Colour colour = {};
  std::vector<VisualDescription> visuals = {};  ///< of robots; not in scene files
  Where where = {};
};

struct MaterialDescription : MaterialSpec {
  Where where = {};
};
struct MaterialPairDescription : MaterialPairSpec {
  Where where = {};
};
struct JointDescription : JointSpec {
  Where where = {};
};

/// Nodes of a flexible part: those in a box of its mesh frame.
struct RegionDescription {
  std::optional<Vec3> lower = {}, upper = {};  ///< not given: no bound
  Where where = {};
};
struct AttachmentDescription {
  std::string body = {};
  std::optional<Vec3> lower = {}, upper = {};
  Where where = {};
};

struct FlexibleDescription {
  FlexibleWord type = FlexibleWord::Box;
  std::string name = {};
  std::vector<double> size = {};
  double radius = 0, length = 0;
  Counts cells = {};
  std::string file = {};
  double scale = 1;
  std::vector<Vec3> nodes = {};
  std::vector<double> elements = {};  ///< corners, 4 an element, in the plane 3
  double young = 1e6, poisson = 0.3, density = 1000;
  double damping_mass = 0, damping_stiffness = 0;
  bool consistent_mass = false, plane_strain = false;
  Vec3 position = Vec3::Zero();
  std::optional<Quat> orientation = {};
  std::optional<Vec3> rotation = {};
  Vec3 velocity = Vec3::Zero();
  std::vector<RegionDescription> fixed = {}, driven = {};
  Vec3 driven_velocity = Vec3::Zero();
  std::vector<AttachmentDescription> attach = {};
  bool contact = true;
  std::string material = {};
  std::int64_t group = 1, mask = 0xffffffff;
  Where where = {};
};

struct ForceDescription {
  ForceWord type = ForceWord::Body;
  std::string name = {}, body = {}, a = {}, b = "world", part = {};
  std::optional<Vec3> lower = {}, upper = {};
  Vec3 force = Vec3::Zero(), torque = Vec3::Zero(), point = Vec3::Zero();
  Vec3 point_a = Vec3::Zero(), point_b = Vec3::Zero();
  bool body_axes = false;
  std::vector<double> times = {}, factors = {};
  double stiffness = 0, damping = 0;
  std::optional<double> rest = {};
  FormulaList formula = {};
  double aspect = 1;
  std::vector<std::string> bodies = {};
  Where where = {};
};

struct ActuatorDescription {
  ActuatorWord type = ActuatorWord::Joint;
  std::string name = {}, joint = {}, body = {};
  double gear = 1;
  std::optional<double> max_force = {}, lower = {}, upper = {};
  Vec3 force = Vec3::Zero(), torque = Vec3::Zero();
  bool body_axes = false;
  double control = 0;
  std::vector<double> times = {}, values = {};
  Where where = {};
};

struct PopulationDescription {
  PopulationWord type = PopulationWord::Grid;
  std::string name = {};
  YamlPtr body = {}, joint = {};
  Counts count = {};
  Vec3 spacing = Vec3::Zero();
  LatticeWord lattice = LatticeWord::Cubic;
  double distance = 0;
  Vec3 position = Vec3::Zero(), lower = Vec3::Zero(), upper = Vec3::Zero();
  double jitter = 0;
  bool random_orientation = false;
  std::int64_t seed = 1;
  Where where = {};
};

/// Rods that grow and divide.
struct GrowthDescription {
  std::vector<std::string> bodies = {};  ///< bodies or populations; empty: all rods that move
  double rate = 0;
  std::optional<double> divide_at = {};
  double jitter = DivisionSettings{}.jitter;
  std::int64_t seed = 0;
  Where where = {};
};

/// A frame that moves with a body: a sensor, a tool, a link that is part of another.
struct FrameDescription {
  std::string name = {}, body = "world";
  Vec3 position = Vec3::Zero();
  std::optional<Quat> orientation = {};
  std::optional<Vec3> rotation = {};
  Where where = {};
};

/// Two bodies that never touch.
struct ExclusionDescription {
  std::string a = {}, b = {};
  Where where = {};
};

/// Servos of some joints of a robot.
struct ServoDescription {
  std::vector<std::string> joints = {};  ///< empty: all
  double stiffness = 0, damping = 0;
  std::optional<double> max_force = {}, armature = {};
  bool control = false;
  Where where = {};
};

/// A robot from a file of another format.
struct RobotDescription {
  std::string file = {}, prefix = {};
  Vec3 position = Vec3::Zero();
  std::optional<Quat> orientation = {};
  std::optional<Vec3> rotation = {};
  bool fixed = false, stand = false;
  NumberMap posture = {};
  std::vector<ServoDescription> servos = {};
  std::string srdf = {}, state = {};
  bool self_collision = false, keep_fixed = false, strict = false, skip_meshes = false,
       pieces = false;
  std::optional<double> density = {};
  std::vector<std::string> packages = {};
  std::string material = {};
  Where where = {};
};

struct WorldDescription {
  bool planar = false;
  std::optional<Vec3> gravity = {};
  LawOfMotion law = LawOfMotion::Inertial;
  double viscosity = 0, mobility_tolerance = Fluid{}.tolerance;
};

struct RunDescription {
  std::optional<std::int64_t> steps = {};
  std::optional<double> time = {};
  std::int64_t seed = 0;
};

struct SceneDescription {
  int format = 1;
  std::string name = {}, description = {};
  std::vector<std::string> include = {};
  ParameterList parameters = {};
  WorldDescription world = {};
  std::vector<MaterialDescription> materials = {};
  std::vector<MaterialPairDescription> material_pairs = {};
  std::vector<BodyDescription> bodies = {};
  std::vector<PopulationDescription> populations = {};
  std::vector<GrowthDescription> growth = {};
  std::vector<FlexibleDescription> flexible = {};
  std::vector<RobotDescription> urdf = {}, mjcf = {};
  std::vector<JointDescription> joints = {};
  std::vector<FrameDescription> frames = {};
  std::vector<ExclusionDescription> exclusions = {};
  std::vector<ForceDescription> forces = {};
  std::vector<ActuatorDescription> actuators = {};
  StepSettings step = {};
  RunDescription run = {};
  RecordSettings record = {};
  Where where = {};
};

}  // namespace orthant::io
