// SPDX-License-Identifier: Apache-2.0
// io/scene/tables.hpp: which objects of a scene have a table, and the words of their enums.
#pragma once

#include "io/scene/field_table.hpp"

namespace orthant::io {

#define ORTHANT_TABLE(T)                  \
  template <>                             \
  struct HasTable<T> : std::true_type {}; \
  template <>                             \
  const Table<T>& table_of<T>()
ORTHANT_TABLE(ShapeDescription);
ORTHANT_TABLE(BodyDescription);
ORTHANT_TABLE(MaterialDescription);
ORTHANT_TABLE(MaterialPairDescription);
ORTHANT_TABLE(MotorSpec);
ORTHANT_TABLE(FollowSpec);
ORTHANT_TABLE(JointDescription);
ORTHANT_TABLE(RegionDescription);
ORTHANT_TABLE(AttachmentDescription);
ORTHANT_TABLE(FlexibleDescription);
ORTHANT_TABLE(ForceDescription);
ORTHANT_TABLE(ActuatorDescription);
ORTHANT_TABLE(PopulationDescription);
ORTHANT_TABLE(GrowthDescription);
ORTHANT_TABLE(ServoDescription);
ORTHANT_TABLE(RobotDescription);
ORTHANT_TABLE(FrameDescription);
ORTHANT_TABLE(ExclusionDescription);
ORTHANT_TABLE(WorldDescription);
ORTHANT_TABLE(PlanSettings);
ORTHANT_TABLE(SolveSettings);
ORTHANT_TABLE(StepSettings);
ORTHANT_TABLE(PeriodicBox);
ORTHANT_TABLE(RunDescription);
ORTHANT_TABLE(RecordSettings);
ORTHANT_TABLE(SceneDescription);
#undef ORTHANT_TABLE

template <>
struct Choices<MotionWord> {
  static constexpr std::pair<std::string_view, MotionWord> list[] = {
      {"dynamic", MotionWord::Dynamic},
      {"fixed", MotionWord::Fixed},
      {"kinematic", MotionWord::Kinematic}};
};
template <>
struct Choices<ShapeWord> {
  static constexpr std::pair<std::string_view, ShapeWord> list[] = {
      {"sphere", ShapeWord::Sphere},
      {"capsule", ShapeWord::Capsule},
      {"box", ShapeWord::Box},
      {"hull", ShapeWord::Hull},
      {"half_space", ShapeWord::HalfSpace},
      {"ellipsoid", ShapeWord::Ellipsoid},
      {"super_ellipsoid", ShapeWord::SuperEllipsoid},
      {"cylinder", ShapeWord::Cylinder},
      {"cone", ShapeWord::Cone},
      {"torus", ShapeWord::Torus},
      {"rounded_hull", ShapeWord::RoundedHull},
      {"mesh", ShapeWord::Mesh},
      {"height_field", ShapeWord::HeightField},
      {"disc", ShapeWord::Disc},
      {"stadium", ShapeWord::Stadium},
      {"rectangle", ShapeWord::Rectangle},
      {"polygon", ShapeWord::Polygon},
      {"half_plane", ShapeWord::HalfPlane},
      {"ellipse", ShapeWord::Ellipse}};
};
template <>
struct Choices<ForceWord> {
  static constexpr std::pair<std::string_view, ForceWord> list[] = {
      {"body", ForceWord::Body},   {"point", ForceWord::Point}, {"spring", ForceWord::Spring},
      {"nodes", ForceWord::Nodes}, {"field", ForceWord::Field}, {"flow", ForceWord::Flow},
      {"pair", ForceWord::Pair}};
};
template <>
struct Choices<FlexibleWord> {
  static constexpr std::pair<std::string_view, FlexibleWord> list[] = {
      {"box", FlexibleWord::Box},   {"cylinder", FlexibleWord::Cylinder},
      {"ball", FlexibleWord::Ball}, {"rectangle", FlexibleWord::Rectangle},
      {"disc", FlexibleWord::Disc}, {"file", FlexibleWord::File},
      {"mesh", FlexibleWord::Mesh}};
};
template <>
struct Choices<ActuatorWord> {
  static constexpr std::pair<std::string_view, ActuatorWord> list[] = {
      {"joint", ActuatorWord::Joint},
      {"body", ActuatorWord::Body},
      {"target", ActuatorWord::Target},
      {"speed", ActuatorWord::Speed}};
};
template <>
struct Choices<PopulationWord> {
  static constexpr std::pair<std::string_view, PopulationWord> list[] = {
      {"grid", PopulationWord::Grid},
      {"lattice", PopulationWord::Lattice},
      {"random", PopulationWord::Random}};
};
template <>
struct Choices<LatticeWord> {
  static constexpr std::pair<std::string_view, LatticeWord> list[] = {
      {"cubic", LatticeWord::Cubic},
      {"hexagonal", LatticeWord::Hexagonal},
      {"bcc", LatticeWord::Bcc},
      {"fcc", LatticeWord::Fcc}};
};
template <>
struct Choices<JointKind> {
  static constexpr std::pair<std::string_view, JointKind> list[] = {
      {"weld", JointKind::Weld},           {"revolute", JointKind::Revolute},
      {"prismatic", JointKind::Prismatic}, {"ball", JointKind::Ball},
      {"distance", JointKind::Distance},   {"planar", JointKind::Planar},
      {"lock_x", JointKind::LockX},        {"lock_y", JointKind::LockY},
      {"lock_z", JointKind::LockZ},        {"lock_rotation", JointKind::LockRotation}};
};
template <>
struct Choices<MotorKind> {
  static constexpr std::pair<std::string_view, MotorKind> list[] = {
      {"none", MotorKind::None},
      {"velocity", MotorKind::Velocity},
      {"position", MotorKind::Position},
      {"servo", MotorKind::Servo}};
};
template <>
struct Choices<CombineRule> {
  static constexpr std::pair<std::string_view, CombineRule> list[] = {
      {"average", CombineRule::Average},
      {"geometric", CombineRule::Geometric},
      {"min", CombineRule::Min},
      {"max", CombineRule::Max}};
};
template <>
struct Choices<LawOfMotion> {
  static constexpr std::pair<std::string_view, LawOfMotion> list[] = {
      {"inertial", LawOfMotion::Inertial}, {"overdamped", LawOfMotion::Overdamped}};
};
template <>
struct Choices<FrictionModel> {
  static constexpr std::pair<std::string_view, FrictionModel> list[] = {
      {"coulomb", FrictionModel::Coulomb},
      {"cone", FrictionModel::Cone},
      {"pyramid", FrictionModel::Pyramid}};
};
template <>
struct Choices<Stabilisation> {
  static constexpr std::pair<std::string_view, Stabilisation> list[] = {
      {"projection", Stabilisation::Projection},
      {"baumgarte", Stabilisation::Baumgarte},
      {"none", Stabilisation::None}};
};
template <>
struct Choices<Accuracy> {
  static constexpr std::pair<std::string_view, Accuracy> list[] = {
      {"exact", Accuracy::Exact}, {"standard", Accuracy::Standard}, {"fast", Accuracy::Fast}};
};
template <>
struct Choices<ConstraintScheme> {
  static constexpr std::pair<std::string_view, ConstraintScheme> list[] = {
      {"manifold", ConstraintScheme::Manifold},
      {"single", ConstraintScheme::Single},
      {"relcp", ConstraintScheme::Relcp},
      {"multisphere", ConstraintScheme::Multisphere}};
};
template <>
struct Choices<RestitutionLaw> {
  static constexpr std::pair<std::string_view, RestitutionLaw> list[] = {
      {"energy_bounded", RestitutionLaw::EnergyBounded}, {"newton", RestitutionLaw::Newton}};
};
template <>
struct Choices<Integrator> {
  static constexpr std::pair<std::string_view, Integrator> list[] = {
      {"euler", Integrator::Euler}, {"rattle", Integrator::Rattle}};
};
template <>
struct Choices<Method> {  // the library's own list
  static constexpr auto list = [] {
    std::array<std::pair<std::string_view, Method>, kMethods.size()> words;
    for (std::size_t i = 0; i < words.size(); ++i)
      words[i] = {kMethods[i].name, kMethods[i].method};
    return words;
  }();
};

/// All tables in the order of the documents.
std::vector<const ObjectInfo*> all_tables();

}  // namespace orthant::io
