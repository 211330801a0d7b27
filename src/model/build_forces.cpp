// SPDX-License-Identifier: Apache-2.0
// model/build_forces.cpp: gravity, force and actuator specs => parameters in the order of
// ForceKind.
#include "model/build.hpp"
#include "model/rules.hpp"

namespace orthant {

using internal::need_finite;
using internal::need_not_negative;

namespace {

/// x, y (and z in space) of `a` under the names prefix.x, …
void put(bool planar, const std::string& prefix, const Vec3& a, const char* unit,
         std::vector<ParameterField>& names, std::vector<double>& values) {
  const char* const axis[] = {".x", ".y", ".z"};
  for (int i = 0; i < (planar ? 2 : 3); ++i) {
    names.push_back({prefix + axis[i], unit});
    values.push_back(a[i]);
  }
}

void need_in_plane(const std::string& where, bool planar, const char* what, const Vec3& a) {
  need_finite(where, what, a);
  if (planar && a[2] != 0)
    internal::refuse(where, std::string(what) + " z", "0 for a planar body", a[2]);
}

}  // namespace

void ModelBuilder::Build::gravity() {
  const Vec3 usual = m.planar_ ? Vec3(0, -9.81, 0) : Vec3(0, 0, -9.81);
  const Vec3 g = specs.gravity.value_or(usual);
  need_finite("gravity", "gravity", g);
  const double values[] = {g[0], g[1], g[2]};
  m.gravity_ = table->add(
      "force/gravity", shared_fields("gravity", {{"x", "m/s^2"}, {"y", "m/s^2"}, {"z", "m/s^2"}}),
      values);
}

Index ModelBuilder::Build::wrench(const std::string& object, bool planar, const Vec3& force,
                                  const Vec3& torque, const std::string& where) {
  need_in_plane(where, planar, "force", force);
  need_finite(where, "torque", torque);
  if (planar && (torque[0] != 0 || torque[1] != 0))
    internal::refuse(where, "the torque on a planar body", "about z",
                     torque[0] != 0 ? torque[0] : torque[1]);
  std::vector<ParameterField> names;
  std::vector<double> values;
  put(planar, "force", force, "N", names, values);
  if (planar) {
    names.push_back({"torque", "N m"});
    values.push_back(torque[2]);
  } else {
    put(false, "torque", torque, "N m", names, values);
  }
  return table->add(object, shared_fields(planar ? "wrench/2" : "wrench/3", names), values.data());
}

void ModelBuilder::Build::forces() {
  for (const auto& any : specs.forces) {
    Force f;
    f.name = std::visit([](const auto& s) { return s.name; }, any);
    if (f.name.empty()) f.name = "force" + std::to_string(m.forces_.size());
    const std::string where = say("force", f.name), object = "force/" + f.name;
    if (f.name == "gravity") throw Error(where, "the name 'gravity' is taken: use set_gravity()");
    const auto target = [&](const std::string& name) {
      const BodyId id = find(name, where);
      if (!is_dynamic(id)) throw Error(where, "a force needs a dynamic body, got '" + name + "'");
      return id;
    };

    if (const auto* s = std::get_if<BodyForceSpec>(&any)) {
      f.kind = ForceKind::Body;
      f.a = target(s->body);
      f.body_axes = s->body_axes;
      f.parameter_begin = wrench(object, m.body(f.a).planar, s->force, s->torque, where);
      f.table = time_table(object, "table", s->times, s->factors, "", where);
    } else if (const auto* p = std::get_if<PointForceSpec>(&any)) {
      f.kind = ForceKind::Point;
      f.a = target(p->body);
      f.body_axes = p->body_axes;
      const bool planar = m.body(f.a).planar;
      need_in_plane(where, planar, "point", p->point);
      need_in_plane(where, planar, "force", p->force);
      std::vector<ParameterField> names;
      std::vector<double> values;
      put(planar, "point", body_point(f.a, p->point), "m", names, values);
      put(planar, "force", p->force, "N", names, values);
      f.parameter_begin =
          table->add(object, shared_fields(planar ? "point/2" : "point/3", names), values.data());
      f.table = time_table(object, "table", p->times, p->factors, "", where);
    } else if (const auto* k = std::get_if<SpringSpec>(&any)) {
      f.kind = ForceKind::Spring;
      f.a = find(k->a, where);
      f.b = find(k->b, where);
      if (f.a == f.b)
        throw Error(where, "a spring needs two different bodies, got '" + k->a + "' twice");
      if (!is_dynamic(f.a) && !is_dynamic(f.b))
        throw Error(where, "a spring needs a dynamic body, got '" + k->a + "' and '" + k->b + "'");
      const bool planar = m.body(f.a != kWorld ? f.a : f.b).planar;
      if (f.a != kWorld && f.b != kWorld && m.body(f.a).planar != m.body(f.b).planar)
        throw Error(where, "a spring cannot join a planar and a spatial body, got '" + k->a +
                               "' and '" + k->b + "'");
      need_in_plane(where, planar, "point_a", k->point_a);
      need_in_plane(where, planar, "point_b", k->point_b);
      need_not_negative(where, "stiffness", k->stiffness);
      need_not_negative(where, "damping", k->damping);
      const Vec3 a = body_point(f.a, k->point_a), b = body_point(f.b, k->point_b);
      const double built = (transform(pose(f.a), a) - transform(pose(f.b), b)).norm();
      const double rest = k->rest.value_or(built);
      need_not_negative(where, "rest", rest);
      std::vector<ParameterField> names;
      std::vector<double> values;
      put(planar, "point_a", a, "m", names, values);
      put(planar, "point_b", b, "m", names, values);
      names.insert(names.end(), {{"stiffness", "N/m"}, {"damping", "N s/m"}, {"rest", "m"}});
      values.insert(values.end(), {k->stiffness, k->damping, rest});
      f.parameter_begin =
          table->add(object, shared_fields(planar ? "spring/2" : "spring/3", names), values.data());
    } else {
      const auto& c = std::get<CallbackSpec>(any);
      f.kind = ForceKind::Callback;
      f.a = target(c.body);
      if (!c.callback) throw Error(where, "the callback must not be null");
      f.callback = c.callback;
    }
    m.forces_.push_back(std::move(f));
  }
}

void ModelBuilder::Build::control_range(const std::optional<double>& lower,
                                        const std::optional<double>& upper, Actuator& a,
                                        const std::string& where) const {
  a.lower = lower.value_or(a.lower);
  a.upper = upper.value_or(a.upper);
  if (!(a.lower <= a.upper))
    internal::refuse(where, "the lower end of controls", "at most the upper one", a.lower);
}

void ModelBuilder::Build::joint_actuator(const JointActuatorSpec& s, Actuator& a,
                                         const std::string& where) {
  a.kind = ActuatorKind::Joint;
  try {
    a.joint = m.find_joint(s.joint);
  } catch (const Error& error) {
    throw Error(where, error.what());
  }
  if (!m.joint(a.joint).has_coordinate())
    throw Error(where, "joint '" + s.joint + "' has no coordinate to push along");
  need_finite(where, "gear", s.gear);
  const std::string object = "actuator/" + a.name;
  a.parameter_begin = table->add(object, "gear", s.gear, "N");
  if (s.max_force) {
    need_not_negative(where, "max_force", *s.max_force);
    a.max_force = table->add(object, "max_force", *s.max_force, "N");
  }
  control_range(s.lower, s.upper, a, where);
}

void ModelBuilder::Build::servo_actuator(const ServoActuatorSpec& s, Actuator& a,
                                         const std::string& where) {
  a.kind = s.speed ? ActuatorKind::Speed : ActuatorKind::Target;
  try {
    a.joint = m.find_joint(s.joint);
  } catch (const Error& error) {
    throw Error(where, error.what());
  }
  Motor& motor = m.joints_[static_cast<std::size_t>(a.joint)].motor;
  if (motor.kind != MotorKind::Servo)
    throw Error(where, "joint '" + s.joint + "' has no servo to drive");
  Index& control = s.speed ? motor.speed_control : motor.target_control;
  if (control != kNone)
    throw Error(where, "the servo of joint '" + s.joint + "' is driven by '" +
                           m.actuators_[static_cast<std::size_t>(control)].name + "' already");
  control = static_cast<Index>(m.actuators_.size());
  need_finite(where, "gear", s.gear);
  a.parameter_begin = table->add("actuator/" + a.name, "gear", s.gear, "");
  control_range(s.lower, s.upper, a, where);
}

void ModelBuilder::Build::actuators() {
  for (const auto& any : specs.actuators) {
    Actuator a;
    a.name = std::visit([](const auto& s) { return s.name; }, any);
    if (a.name.empty()) a.name = "actuator" + std::to_string(m.actuators_.size());
    const std::string where = say("actuator", a.name), object = "actuator/" + a.name;
    if (const auto* s = std::get_if<JointActuatorSpec>(&any)) {
      joint_actuator(*s, a, where);
    } else if (const auto* servo = std::get_if<ServoActuatorSpec>(&any)) {
      servo_actuator(*servo, a, where);
    } else {
      const auto& b = std::get<BodyActuatorSpec>(any);
      a.kind = ActuatorKind::Body;
      a.body = find(b.body, where);
      if (!is_dynamic(a.body))
        throw Error(where, "an actuator needs a dynamic body, got '" + b.body + "'");
      a.body_axes = b.body_axes;
      a.parameter_begin = wrench(object, m.body(a.body).planar, b.force, b.torque, where);
    }
    m.actuators_.push_back(std::move(a));
  }
}

}  // namespace orthant
