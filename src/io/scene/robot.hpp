// SPDX-License-Identifier: Apache-2.0
// io/scene/robot.hpp: a robot as a tree of links, whatever the file it came from.
// The readers (urdf.cpp, mjcf.cpp) fill in what their file says; robot_tree.cpp folds what has no
// motion or no mass of its own, robot_carriers.cpp gives mass where folding would take a joint
// away; robot_scene.cpp makes bodies, joints and frames of the rest.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/scene/scene_reader.hpp"
#include "io/scene/xml_reader.hpp"

namespace orthant::io {

enum class RobotMotion : unsigned char { Fixed, Hinge, Slide, Free, Planar, Ball };

/// How a link hangs on its parent.
struct RobotJoint {
  std::string name = {};
  RobotMotion motion = RobotMotion::Fixed;
  int line = 0;
  Pose X_PL = {};              ///< the link in its parent where the coordinate is zero
  Vec3 axis = Vec3::UnitX();   ///< in the frame of the link; length 1
  Vec3 anchor = Vec3::Zero();  ///< in the frame of the link
  std::optional<double> lower = {}, upper = {};
  double usual = 0;  ///< where it starts unless its limits or a posture say otherwise
  double start = 0;  ///< coordinate of the posture
  double damping = 0, dry_friction = 0, stiffness = 0, rest = 0, armature = 0;
  MotorSpec motor = {};                           ///< of the file
  std::optional<double> effort = {}, speed = {};  ///< limits
  std::string leader = {};  ///< coordinate = ratio x that of the leader + offset
  double ratio = 1, offset = 0;

  bool has_coordinate() const {
    return motion == RobotMotion::Hinge || motion == RobotMotion::Slide;
  }
};

struct RobotLink {
  std::string name = {};
  int line = 0;
  Index parent = kNone;  ///< place in Robot::links; kNone: a root
  RobotJoint joint = {};
  double mass = 0;
  Vec3 center = Vec3::Zero();   ///< of mass, in the frame of the link
  Mat3 inertia = Mat3::Zero();  ///< about the centre, axes of the link
  std::vector<ShapeDescription> shapes = {};
  std::vector<VisualDescription> visuals = {};
  Colour colour = {};
  bool world = false;    ///< a root that is the world
  bool carrier = false;  ///< without mass between two joints: a joint of several coordinates
};

/// A place on a link: a site, or a link that was folded into another.
struct RobotFrame {
  std::string name = {};
  Index link = kNone;
  Pose X_LF = {};
};

/// A joint that closes a loop of links.
struct RobotLoop {
  std::string name = {};
  JointKind kind = JointKind::Ball;
  Index a = kNone, b = kNone;  ///< links
  Vec3 anchor = Vec3::Zero();  ///< in the frame of a
  int line = 0;
};

struct RobotActuator {
  ActuatorWord type = ActuatorWord::Joint;
  std::string name = {}, joint = {};
  double gear = 1, control = 0;
  std::optional<double> max_force = {}, lower = {}, upper = {};
  int line = 0;
};

struct Robot {
  std::vector<RobotLink> links = {};
  std::vector<RobotFrame> frames = {};
  std::vector<RobotLoop> loops = {};
  std::vector<RobotActuator> actuators = {};
  bool world_touches = false;  ///< links that hang on the world touch its shapes all the same
  bool own_groups = false;     ///< shapes have their groups and masks from the file
  bool own_posture = false;    ///< the file has a posture: limits move a joint by the least
  std::vector<std::pair<std::string, std::string>> apart = {};  ///< links that never touch
};

/// Parents before children, each branch together. Problems where parents go round in a circle.
void sort_links(Robot& robot, XmlReader& xml);
/// Starts of all joints: the posture where it names one, else zero where the limits allow it and
/// else the middle of them (own_posture: the nearest one); followers as their leaders say.
void find_starts(Robot& robot, const std::vector<std::pair<std::string, double>>& posture,
                 XmlReader& xml);
/// Inertias made those of bodies, by the least change; fixed, massless and empty links folded.
void fold_links(Robot& robot, const RobotDescription& options, XmlReader& xml);
/// Links without mass that move between two joints get some, as far as possible without changing
/// the motion.
void give_carriers_mass(Robot& robot, XmlReader& xml);
/// X_PL at the start.
Pose link_in_parent(const RobotJoint& joint);
/// All of the above, then bodies, joints, servos, frames and exclusions of the scene.
void add_robot(Robot robot, const std::vector<std::pair<std::string, double>>& posture,
               const RobotDescription& options, std::size_t number, XmlReader& xml,
               ReadContext& context, SceneDescription& scene);

/// The file behind "package://name/rest", "file://…" or a path, from the folder of `robot` upwards
/// and in the folders of packages; empty where there is none.
std::string find_robot_file(const std::string& robot, const std::string& name,
                            const std::vector<std::string>& packages);
/// Pairs that never touch, and the joint positions of the group state `state` (if not empty).
void read_srdf(const std::string& path, const std::string& state, Robot& robot,
               std::vector<std::pair<std::string, double>>& posture);

}  // namespace orthant::io
