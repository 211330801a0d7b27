// SPDX-License-Identifier: Apache-2.0
// model/model_builder.cpp: gathers specs; build() walks them stage by stage.
#include "orthant/model/model_builder.hpp"

#include <algorithm>
#include <utility>

#include "model/build.hpp"
#include "model/rules.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

namespace {

/// Places by name; throws Error on a name given twice.
template <class Item>
std::vector<Index> sort_names(std::span<const Item> items, const char* kind) {
  std::vector<Index> sorted(items.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<Index>(i);
  std::sort(sorted.begin(), sorted.end(),
            [&](Index i, Index j) { return items[i].name < items[j].name; });
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i)
    if (items[sorted[i]].name == items[sorted[i + 1]].name)
      throw Error(std::string(kind) + " '" + items[sorted[i]].name + "'",
                  "the name is given twice; names must be unique");
  return sorted;
}

/// Places by uid; throws Error on one given twice.
std::vector<Index> sort_uids(std::span<const Body> bodies) {
  std::vector<Index> sorted(bodies.size());
  for (std::size_t i = 0; i < sorted.size(); ++i) sorted[i] = static_cast<Index>(i);
  const auto before = [&](Index i, Index j) { return bodies[i].uid < bodies[j].uid; };
  if (!std::is_sorted(sorted.begin(), sorted.end(), before))
    std::stable_sort(sorted.begin(), sorted.end(), before);
  for (std::size_t i = 0; i + 1 < sorted.size(); ++i) {
    const Body &one = bodies[sorted[i]], &next = bodies[sorted[i + 1]];
    if (one.uid == next.uid)
      throw Error("body '" + next.name + "'", "the uid must be unique, got " +
                                                  std::to_string(next.uid) +
                                                  ", which is that of '" + one.name + "'");
  }
  return sorted;
}

}  // namespace

ModelBuilder::ModelBuilder() : specs_(std::make_unique<Specs>()) {}
ModelBuilder::~ModelBuilder() = default;
ModelBuilder::ModelBuilder(const ModelBuilder& other)
    : specs_(std::make_unique<Specs>(*other.specs_)) {}
ModelBuilder& ModelBuilder::operator=(const ModelBuilder& other) {
  if (this != &other) *specs_ = *other.specs_;
  return *this;
}

MaterialId ModelBuilder::add_material(MaterialSpec spec) {
  specs_->materials.push_back(std::move(spec));
  return MaterialId{static_cast<Index>(specs_->materials.size()) - 1};
}
ModelBuilder& ModelBuilder::add_material_pair(MaterialPairSpec spec) {
  specs_->pairs.push_back(std::move(spec));
  return *this;
}
BodyId ModelBuilder::add_body(BodySpec spec) {
  specs_->bodies.push_back(std::move(spec));
  return BodyId{static_cast<Index>(specs_->bodies.size()) - 1};
}
JointId ModelBuilder::add_joint(JointSpec spec) {
  specs_->joints.push_back(std::move(spec));
  return JointId{static_cast<Index>(specs_->joints.size()) - 1};
}
Index ModelBuilder::add_flexible(FlexibleSpec spec) {
  specs_->flexible.push_back(std::move(spec));
  return static_cast<Index>(specs_->flexible.size()) - 1;
}
ModelBuilder& ModelBuilder::add_force(NodeForceSpec spec) {
  specs_->node_forces.push_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_force(BodyForceSpec spec) {
  specs_->forces.emplace_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_force(PointForceSpec spec) {
  specs_->forces.emplace_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_force(SpringSpec spec) {
  specs_->forces.emplace_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_force(CallbackSpec spec) {
  specs_->forces.emplace_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_actuator(JointActuatorSpec spec) {
  specs_->actuators.emplace_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_actuator(BodyActuatorSpec spec) {
  specs_->actuators.emplace_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_actuator(ServoActuatorSpec spec) {
  specs_->actuators.emplace_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::add_frame(FrameSpec spec) {
  specs_->frames.push_back(std::move(spec));
  return *this;
}
ModelBuilder& ModelBuilder::exclude(std::string a, std::string b) {
  specs_->exclusions.emplace_back(std::move(a), std::move(b));
  return *this;
}
ModelBuilder& ModelBuilder::set_gravity(const Vec3& gravity) {
  specs_->gravity = gravity;
  return *this;
}
ModelBuilder& ModelBuilder::set_law(LawOfMotion law) {
  specs_->law = law;
  return *this;
}

const std::vector<BodySpec>& ModelBuilder::bodies() const { return specs_->bodies; }
void ModelBuilder::set_bodies(std::vector<BodySpec> specs) noexcept {
  specs_->bodies = std::move(specs);
}

Model ModelBuilder::build() const {
  Build b(*specs_);
  b.m.law_ = specs_->law;
  b.materials();
  b.m.material_by_name_ = sort_names(b.m.materials(), "material");
  b.material_pairs();
  b.bodies();
  b.m.body_by_name_ = sort_names(b.m.bodies(), "body");
  b.m.body_by_uid_ = sort_uids(b.m.bodies());
  b.m.shape_by_name_ = sort_names(b.m.shapes(), "shape");
  b.flexible();
  (void)sort_names(b.m.flexible_parts(), "flexible part");
  b.gravity();
  b.joints();
  b.m.joint_by_name_ = sort_names(b.m.joints(), "joint");
  b.followers();
  b.exclusions();
  b.frames();
  (void)sort_names(b.m.frames(), "frame");
  b.forces();
  (void)sort_names(b.m.forces(), "force");
  b.node_forces();
  b.actuators();
  (void)sort_names(b.m.actuators(), "actuator");
  b.table->seal();
  b.m.table_ = std::move(b.table);
  return std::move(b.m);
}

std::string ModelBuilder::Build::say(const char* kind, const std::string& name) {
  return std::string(kind) + " '" + name + "'";
}

BodyId ModelBuilder::Build::find(const std::string& name, const std::string& where) const {
  try {
    return m.find_body(name);
  } catch (const Error& error) {
    throw Error(where, error.what());  // say who asked
  }
}

ParameterTable::Fields ModelBuilder::Build::shared_fields(const std::string& key,
                                                          const std::vector<ParameterField>& list) {
  Fields& f = fields[key];
  if (!f) f = std::make_shared<const std::vector<ParameterField>>(list);
  return f;
}

Index ModelBuilder::Build::frame(const std::string& object, const std::string& prefix, bool planar,
                                 const Pose& X) {
  std::vector<ParameterField> names{{prefix + ".x", "m"}, {prefix + ".y", "m"}};
  if (planar) {
    names.push_back({prefix + ".theta", "rad"});
    const double values[] = {X.x[0], X.x[1], 2 * std::atan2(X.p.z, X.p.w)};
    return table->add(object, shared_fields(prefix + "/2", names), values);
  }
  names.push_back({prefix + ".z", "m"});
  for (const char* part : {".qw", ".qx", ".qy", ".qz"}) names.push_back({prefix + part, ""});
  const double values[] = {X.x[0], X.x[1], X.x[2], X.p.w, X.p.x, X.p.y, X.p.z};
  return table->add(object, shared_fields(prefix + "/3", names), values);
}

TimeTable ModelBuilder::Build::time_table(const std::string& object, const std::string& prefix,
                                          const std::vector<double>& times,
                                          const std::vector<double>& values,
                                          const std::string& unit, const std::string& where) {
  TimeTable result;
  if (times.size() != values.size())
    throw Error(where, "a time table needs as many values as times, got " +
                           std::to_string(values.size()) + " and " + std::to_string(times.size()));
  std::vector<ParameterField> names;
  for (std::size_t i = 0; i < times.size(); ++i) {
    internal::need_finite(where, "a time of the table", times[i]);
    internal::need_finite(where, "a value of the table", values[i]);
    if (i > 0 && !(times[i] > times[i - 1]))
      internal::refuse(where, "the times of a table", "ascending, after " + to_text(times[i - 1]),
                       times[i]);
    names.push_back({prefix + "/" + std::to_string(i), unit});
  }
  if (times.empty()) return result;
  result.times = times;
  result.value_begin = table->add(
      object, std::make_shared<const std::vector<ParameterField>>(std::move(names)), values.data());
  return result;
}

}  // namespace orthant
