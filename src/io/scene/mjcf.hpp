// SPDX-License-Identifier: Apache-2.0
// io/scene/mjcf.hpp: the stages of reading MJCF (MuJoCo's XML).
// mjcf_defaults.cpp writes includes and classes out, so that every element has its attributes;
// mjcf.cpp reads bodies, joints, geoms and sites; mjcf_parts.cpp what refers to them by name.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "io/scene/robot.hpp"

namespace orthant::io {

/// Replaces <include> by the files, and gives every element the attributes of its class.
void resolve_mjcf(tinyxml2::XMLElement& root, const std::string& path, bool read_files,
                  XmlReader& xml);

/// Of <compiler>.
struct MjcfCompiler {
  bool degrees = true, auto_limits = true;
  std::string euler = "xyz", mesh_folder = {};
  int inertia_from_geom = -1;  ///< 1: always, 0: never, -1: where there is no <inertial>
  bool balance_inertia = false;
  double bound_mass = 0, bound_inertia = 0, total_mass = -1;
  double first_group = 0, last_group = 5;  ///< of the geoms that have mass
};

class MjcfReader {
 public:
  MjcfReader(const RobotDescription& options, ReadContext& context, XmlReader& xml)
      : options_(options), context_(context), xml_(xml) {}

  /// The robot; materials, gravity and the step go to the scene where it does not say otherwise.
  Robot read(const std::string& text, SceneDescription& scene);
  /// Joint coordinates of the keyframe that was asked for.
  const std::vector<std::pair<std::string, double>>& posture() const { return posture_; }
  double timestep() const { return timestep_; }

 private:
  using Element = XmlReader::Element;

  struct Geom {  ///< what decides about contacts
    Index link = 0;
    std::size_t shape = 0;  ///< on its link
    std::string name = {};
    std::int64_t type = 1, affinity = 1;
    int condim = 3;
    double friction = 1, rolling = 1e-4;
  };

  // mjcf.cpp
  void read_compiler(const Element& e);
  void read_option(const Element& e, SceneDescription& scene);
  void read_assets(const Element& e);
  void read_height_field(const Element& e);
  void read_children(const Element& e, Index link, const Pose& X);
  void read_body(const Element& e, Index parent, const Pose& X);
  Index read_joints(const Element& e, const std::string& body, Index parent, const Pose& X);
  RobotJoint read_joint(const Element& e, const std::string& body, std::size_t number);
  void read_spring(const Element& e, RobotJoint& joint);
  bool is_planar(const std::vector<RobotJoint>& joints) const;
  void read_inertial(const Element& e, RobotLink& link);
  void read_geom(const Element& e, Index link, const Pose& X, bool weighs);
  bool stands_still(Index link) const;
  bool shape_of(const Element& e, ShapeDescription& shape, bool seen_only = false);
  bool fit_to_mesh(const Element& e, const std::string& type, ShapeDescription& shape,
                   std::vector<double>& size);
  bool mesh_of(const Element& e, ShapeDescription& shape, bool seen_only = false);
  /// The file of a mesh, empty where there is none (an ignored or a listed one).
  std::string mesh_path(const Element& e, const std::string& file, bool needed);
  void add_visual(const Element& e, const ShapeDescription& shape, bool read, const Pose& X,
                  RobotLink& link);
  std::vector<double> rgba_of(const Element& e);
  Colour colour_of(const Element& e);
  void weigh_geom(const Element& e, const ShapeDescription& shape, RobotLink& matter);
  Quat orientation(const Element& e);
  Pose pose(const Element& e);
  double angle(double x) const;
  std::string unique(std::set<std::string>& taken, const Element& e, const char* kind,
                     const std::string& otherwise);
  std::string unique_name(std::set<std::string>& taken, const std::string& name) const;
  void collect_names(const Element& e);
  // mjcf_parts.cpp
  void read_actuators(const Element& e);
  void read_actuator(const Element& e);
  void add_servo(RobotJoint& joint, const std::string& name, const Element& e, double k, double c,
                 double gain, double bias, double gear, const RobotActuator& limits);
  void read_equalities(const Element& e);
  void couple(const Element& e, RobotJoint* one, RobotJoint* other, double a0, double a1);
  void read_contacts(const Element& e);
  void read_tendons(const Element& e);
  void read_keyframes(const Element& e);
  void set_contacts(SceneDescription& scene);
  double inertia_along(const RobotJoint& joint) const;
  RobotJoint* find_joint(const std::string& name);
  Index find_link(const Element& e, const char* attribute);

  const RobotDescription& options_;
  ReadContext& context_;
  XmlReader& xml_;
  Robot robot_;
  MjcfCompiler compiler_;
  double timestep_ = 0.002;
  bool contacts_ = true;  ///< unless <flag contact="disable"/>
  std::map<std::string, std::pair<std::string, Vec3>> mesh_files_;  ///< by name: file, scale
  std::map<std::string, ShapeDescription> height_fields_;           ///< by name
  std::map<std::string, std::vector<Vec3>> mesh_points_;            ///< given in the file itself
  std::map<std::string, Colour> colours_;                           ///< of <material>
  std::set<Index> decorated_;  ///< links with geoms that are only seen
  std::map<std::string, Index> links_;
  std::map<std::string, std::vector<std::pair<std::string, double>>> tendons_;
  std::set<std::string> link_names_, joint_names_, geom_names_, site_names_, actuator_names_;
  std::set<std::string> given_names_;     ///< of all elements: no name is made up that is there
  std::set<std::string> driven_;          ///< joints that actuators and constraints name
  std::vector<std::string> joint_order_;  ///< of qpos; "" for numbers that are not read
  std::vector<Geom> geoms_;
  std::vector<std::pair<std::string, std::string>> pairs_;
  std::vector<std::pair<std::string, double>> posture_;
  std::vector<double> key_control_;
};

/// The rotation with that matrix, and the shortest one that turns unit vector a to b.
Quat quat_of(const Mat3& R);
Quat turn_between(const Vec3& a, const Vec3& b);

/// Attribute that <include> leaves on a <mesh>: the folder of the file that it stands in.
inline constexpr const char* kFolder = "included_from";

/// Attributes of a number of kinds of constraint, which are soft in MuJoCo and hard here.
inline constexpr const char* kSoft =
    "solref solimp solreflimit solimplimit solreffriction solimpfriction solreffix margin gap "
    "solmix";

}  // namespace orthant::io
