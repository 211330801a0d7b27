// SPDX-License-Identifier: Apache-2.0
// model/build.hpp: the specs a builder has gathered, and one pass over them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "orthant/model/model_builder.hpp"

namespace orthant {

struct ModelBuilder::Specs {
  std::vector<MaterialSpec> materials;
  std::vector<MaterialPairSpec> pairs;
  std::vector<BodySpec> bodies;
  std::vector<JointSpec> joints;
  std::vector<FlexibleSpec> flexible;
  std::vector<NodeForceSpec> node_forces;
  std::vector<std::variant<BodyForceSpec, PointForceSpec, SpringSpec, CallbackSpec>> forces;
  std::vector<std::variant<JointActuatorSpec, BodyActuatorSpec, ServoActuatorSpec>> actuators;
  std::vector<FrameSpec> frames;
  std::vector<std::pair<std::string, std::string>> exclusions;
  std::optional<Vec3> gravity;
  LawOfMotion law = LawOfMotion::Inertial;
};

/// Specs => Model, stage by stage; each stage reads what the ones before it left in `m`.
struct ModelBuilder::Build {
  using Fields = ParameterTable::Fields;

  const Specs& specs;
  Model m;
  std::shared_ptr<ParameterTable> table = std::make_shared<ParameterTable>();
  std::vector<Vec3> center;              // of mass in the spec's frame, body by body
  std::vector<Pose> initial;             // X_WB at the start
  std::map<std::string, Fields> fields;  // shared field lists, by a key of the caller's

  explicit Build(const Specs& s) : specs(s) {}

  // build_bodies.cpp
  void materials();
  void material_pairs();
  void bodies();
  void check_shapes(const BodySpec& spec, bool planar, const std::string& body) const;
  void shapes(const BodySpec& spec, const Body& body, BodyId id);
  MassProperties mass_of(const BodySpec& spec, const std::string& where) const;
  void refuse_mixed_contact() const;
  MaterialId surface_material(const std::string& name, const std::string& where) const;
  // build_flexible.cpp
  void flexible();
  void place_nodes(const FlexibleSpec& spec, FlexiblePart& part, std::vector<double>& q);
  void attach(const FlexibleSpec& spec, Index part);
  void number_velocities();
  void node_forces();
  // build_joints.cpp
  void joints();
  void followers();
  void exclusions();
  void frames();
  Joint joint(const JointSpec& spec, std::string name);
  void joint_frames(const JointSpec& spec, Joint& j, const std::string& where);
  void joint_coordinate(const JointSpec& spec, Joint& j, const std::string& where);
  void follow(const JointSpec& spec, Joint& j, const std::string& where);
  // build_forces.cpp
  void gravity();
  void forces();
  void actuators();
  void joint_actuator(const JointActuatorSpec& spec, Actuator& a, const std::string& where);
  void servo_actuator(const ServoActuatorSpec& spec, Actuator& a, const std::string& where);
  void control_range(const std::optional<double>& lower, const std::optional<double>& upper,
                     Actuator& a, const std::string& where) const;
  Index wrench(const std::string& object, bool planar, const Vec3& force, const Vec3& torque,
               const std::string& where);

  /// A body of a spec by name, or kWorld; throws naming `where` otherwise.
  BodyId find(const std::string& name, const std::string& where) const;
  bool is_dynamic(BodyId id) const { return id != kWorld && m.body(id).is_dynamic(); }
  Pose pose(BodyId id) const { return id == kWorld ? Pose{} : initial[index_of(id)]; }
  /// A point of a spec's frame in the body's frame, or of the world as it is.
  Vec3 body_point(BodyId id, const Vec3& point) const {
    return id == kWorld ? point : Vec3(point - center[index_of(id)]);
  }
  Fields shared_fields(const std::string& key, const std::vector<ParameterField>& list);
  Index frame(const std::string& object, const std::string& prefix, bool planar, const Pose& X);
  TimeTable time_table(const std::string& object, const std::string& prefix,
                       const std::vector<double>& times, const std::vector<double>& values,
                       const std::string& unit, const std::string& where);
  /// "kind 'name'", for messages.
  static std::string say(const char* kind, const std::string& name);
};

}  // namespace orthant
