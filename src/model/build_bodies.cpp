// SPDX-License-Identifier: Apache-2.0
// model/build_bodies.cpp: material, body and shape specs => places in Parameters and State.
// The body frame is the spec's frame moved to the centre of mass, axes kept: q is then the pose of
// the centre of mass and the linear and angular parts of M do not mix.
#include <algorithm>
#include <cmath>
#include <set>

#include "model/build.hpp"
#include "model/rules.hpp"

namespace orthant {

using internal::need_finite;
using internal::need_fraction;
using internal::need_not_negative;
using internal::need_positive;

namespace {

void need_planar(const std::string& where, const BodySpec& s) {
  const auto zero = [&](const char* what, double x) {
    if (x != 0) internal::refuse(where, what, "0 for a planar body", x);
  };
  zero("position z", s.position[2]);
  zero("velocity z", s.velocity[2]);
  zero("angular velocity x", s.angular_velocity[0]);
  zero("angular velocity y", s.angular_velocity[1]);
  zero("orientation x (a planar body takes `angle`)", s.orientation.x);
  zero("orientation y (a planar body takes `angle`)", s.orientation.y);
  zero("orientation z (a planar body takes `angle`)", s.orientation.z);
}

Quat unit(const std::string& where, const Quat& p) {
  const double norm = std::sqrt(p.w * p.w + p.x * p.x + p.y * p.y + p.z * p.z);
  if (!(norm > 0) || !std::isfinite(norm))
    internal::refuse(where, "|orientation|", "finite and > 0", norm);
  // Already unit to rounding: keep the bits, so that writing and reading a scene is exact.
  if (std::abs(norm - 1) <= 4e-16) return p;
  return {p.w / norm, p.x / norm, p.y / norm, p.z / norm};
}

}  // namespace

void ModelBuilder::Build::materials() {
  std::vector<MaterialSpec> list = specs.materials;
  const auto named = [&](const std::string& name) {
    return std::any_of(list.begin(), list.end(), [&](const auto& s) { return s.name == name; });
  };
  bool want_default = false;
  for (const BodySpec& b : specs.bodies)
    for (const ShapeSpec& s : b.shapes) want_default |= s.material.empty();
  for (const FlexibleSpec& s : specs.flexible) want_default |= s.material.empty();
  if (want_default && !named("default")) list.push_back({.name = "default"});

  const Fields four = shared_fields(
      "material",
      {{"friction", ""}, {"restitution", ""}, {"rolling_friction", "m"}, {"compliance", "m/N"}});
  for (const MaterialSpec& s : list) {
    const std::string where = say("material", s.name);
    if (s.name.empty()) throw Error("material", "the name must not be empty");
    internal::need_friction(where, "friction", s.friction);
    need_fraction(where, "restitution", s.restitution);
    need_not_negative(where, "rolling_friction", s.rolling_friction);
    need_not_negative(where, "compliance", s.compliance);
    const double values[] = {s.friction, s.restitution, s.rolling_friction, s.compliance};
    const Index p = table->add("material/" + s.name, four, values);
    m.materials_.push_back({s.name, p, p + 1, p + 2, p + 3, s.combine});
  }
}

void ModelBuilder::Build::material_pairs() {
  for (const MaterialPairSpec& s : specs.pairs) {
    const std::string where = say("material pair", s.a + "+" + s.b);
    MaterialPair pair;
    try {
      pair.a = m.find_material(s.a);
      pair.b = m.find_material(s.b);
    } catch (const Error& error) {
      throw Error(where, error.what());
    }
    const auto add = [&](const char* name, const std::optional<double>& x, const char* unit) {
      if (!x) return kNone;
      need_not_negative(where, name, *x);
      return table->add("pair/" + s.a + "+" + s.b, name, *x, unit);
    };
    pair.friction = add("friction", s.friction, "");
    if (s.restitution) need_fraction(where, "restitution", *s.restitution);
    if (s.friction) internal::need_friction(where, "friction", *s.friction);
    pair.restitution = add("restitution", s.restitution, "");
    pair.rolling_friction = add("rolling_friction", s.rolling_friction, "m");
    pair.compliance = add("compliance", s.compliance, "m/N");
    if (pair.b < pair.a) std::swap(pair.a, pair.b);
    m.material_pairs_.push_back(pair);
  }
  const auto key = [](const MaterialPair& p) { return std::pair(p.a, p.b); };
  std::sort(m.material_pairs_.begin(), m.material_pairs_.end(),
            [&](const auto& x, const auto& y) { return key(x) < key(y); });
  for (std::size_t i = 0; i + 1 < m.material_pairs_.size(); ++i) {
    const MaterialPair& p = m.material_pairs_[i];
    if (key(p) == key(m.material_pairs_[i + 1]))
      throw Error(say("material pair", m.material(p.a).name + "+" + m.material(p.b).name),
                  "the pair is given twice");
  }
}

MassProperties ModelBuilder::Build::mass_of(const BodySpec& s, const std::string& where) const {
  const bool planar = s.motion == Motion::Planar;
  if (s.mass) need_positive(where, "mass", *s.mass);
  MassProperties total;
  const bool given = s.mass && s.inertia;
  if (!given || !s.center_of_mass) {
    for (const ShapeSpec& part : s.shapes) {
      if (is_ground(part.shape.kind())) continue;
      need_not_negative(where, "density", part.density);
      if (part.density == 0) continue;  // a shape that touches and weighs nothing
      const Shape shape = planar ? part.shape.section() : part.shape;
      const MassProperties local = mass_properties(shape, part.density);
      total = combine(total, transform(part.offset, local), planar ? 2 : 3);
    }
  }
  if (s.center_of_mass && !s.inertia) {
    throw Error(where, "a given center_of_mass needs a given inertia (about that centre)");
  }
  if (!(total.mass > 0) && !given) {
    throw Error(where,
                std::string("a dynamic body needs mass and inertia: shapes with density > 0, "
                            "or `mass` and `inertia`; the shapes weigh ") +
                    to_text(total.mass) + " kg");
  }
  if (s.center_of_mass) {
    need_finite(where, "center_of_mass", *s.center_of_mass);
    total.center = *s.center_of_mass;
  }
  if (s.mass) {
    if (total.mass > 0) total.inertia *= *s.mass / total.mass;
    total.mass = *s.mass;
  }
  if (s.inertia) total.inertia = *s.inertia;
  if (planar) {
    need_positive(where, "inertia", total.inertia(2, 2));
  } else {
    internal::need_inertia(where, total.inertia);
  }
  return total;
}

void ModelBuilder::Build::check_shapes(const BodySpec& spec, bool planar,
                                       const std::string& body) const {
  const bool dynamic = spec.motion == Motion::Planar || spec.motion == Motion::Spatial;
  for (const ShapeSpec& s : spec.shapes) {
    const std::string where = s.name.empty() ? body : say("shape", s.name) + " of " + body;
    if (!planar && s.shape.dim() == 2)
      throw Error(where, "a planar shape needs a planar body, got " + s.shape.name());
    if (dynamic && s.shape.kind() == ShapeKind::HalfSpace)
      throw Error(where, "a half-space has no mass: it needs a fixed or kinematic body");
    if (dynamic && s.shape.kind() == ShapeKind::Mesh)
      throw Error(where, "a mesh has no mass: it needs a fixed or kinematic body");
    need_finite(where, "offset", s.offset.x);
    if (planar && (s.offset.x[2] != 0 || s.offset.p.x != 0 || s.offset.p.y != 0))
      throw Error(where, "the offset on a planar body must stay in the plane: z = 0, turn about z");
  }
}

MaterialId ModelBuilder::Build::surface_material(const std::string& name,
                                                 const std::string& where) const {
  const std::string material = name.empty() ? "default" : name;
  const auto it = std::find_if(m.materials_.begin(), m.materials_.end(),
                               [&](const Material& x) { return x.name == material; });
  if (it == m.materials_.end()) {
    std::vector<std::string_view> known;
    known.reserve(m.materials_.size());
    for (const Material& x : m.materials_) known.push_back(x.name);
    const std::string near = nearest_spelling(material, known.data(), known.size());
    throw Error(where, "there is no material '" + material + "'" +
                           (near.empty() ? "" : " (did you mean '" + near + "'?)"));
  }
  return MaterialId{static_cast<Index>(it - m.materials_.begin())};
}

void ModelBuilder::Build::shapes(const BodySpec& spec, const Body& body, BodyId id) {
  for (std::size_t k = 0; k < spec.shapes.size(); ++k) {
    const ShapeSpec& s = spec.shapes[k];
    std::string name = !s.name.empty()           ? s.name
                       : spec.shapes.size() == 1 ? body.name
                                                 : body.name + "#" + std::to_string(k);
    const std::string where = say("shape", name) + " of " + say("body", body.name);
    const Pose offset{s.offset.x - center[index_of(id)], unit(where, s.offset.p)};
    ShapeInstance shape{.shape = body.planar ? s.shape.section() : s.shape};
    shape.id = ShapeId{static_cast<Index>(m.shapes_.size())};
    shape.body = id;
    shape.ordinal = static_cast<std::uint16_t>(k);
    shape.group = s.group;
    shape.mask = s.mask;
    shape.bounding_radius = bounding_radius(shape.shape);

    const int count = shape.shape.parameter_count();
    std::vector<ParameterField> names;
    names.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) names.push_back({shape.shape.parameter_name(i), "m"});
    const std::string key = std::to_string(static_cast<int>(shape.shape.kind())) + "/" +
                            std::to_string(shape.shape.dim()) + "/" + std::to_string(count);
    shape.parameter_begin =
        table->add("shape/" + name, shared_fields(key, names), shape.shape.parameters().data());
    shape.offset_begin = frame("shape/" + name, "offset", body.planar, offset);

    shape.material = surface_material(s.material, where);
    shape.name = std::move(name);
    m.shapes_.push_back(std::move(shape));
  }
}

void ModelBuilder::Build::bodies() {
  const bool drag = specs.law == LawOfMotion::Overdamped;
  const Fields planar_fields = shared_fields("body/2", {{"mass", "kg"}, {"inertia", "kg m^2"}});
  const Fields spatial_fields = shared_fields("body/3", {{"mass", "kg"},
                                                         {"inertia.xx", "kg m^2"},
                                                         {"inertia.yy", "kg m^2"},
                                                         {"inertia.zz", "kg m^2"},
                                                         {"inertia.xy", "kg m^2"},
                                                         {"inertia.xz", "kg m^2"},
                                                         {"inertia.yz", "kg m^2"}});
  const Fields drag_fields = shared_fields("drag", {{"drag", "kg/(m s)"}, {"length", "m"}});

  std::vector<double> q;
  Index kinematic_v = 0;
  for (std::size_t n = 0; n < specs.bodies.size(); ++n) {
    const BodySpec& s = specs.bodies[n];
    Body body;
    body.name = s.name.empty() ? "body" + std::to_string(n) : s.name;
    body.uid = s.uid.value_or(static_cast<BodyUid>(n));
    body.motion = s.motion;
    body.planar = s.planar || s.motion == Motion::Planar;
    const std::string where = say("body", body.name);
    if (body.uid >= kFirstPartUid)
      internal::refuse(where, "the uid", "below " + std::to_string(kFirstPartUid), body.uid);
    if (body.name == "world") throw Error(where, "the name 'world' means the world frame");
    if (s.planar && s.motion == Motion::Spatial)
      throw Error(where, "planar = true contradicts Motion::Spatial");
    need_finite(where, "position", s.position);
    need_finite(where, "velocity", s.velocity);
    need_finite(where, "angular_velocity", s.angular_velocity);
    need_finite(where, "angle", s.angle);
    if (body.planar) need_planar(where, s);
    if (!body.planar && s.angle != 0)
      internal::refuse(where, "angle", "0 (a spatial body takes `orientation`)", s.angle);
    if (s.motion == Motion::Fixed && (s.velocity.norm() > 0 || s.angular_velocity.norm() > 0))
      internal::refuse(where, "the velocity of a fixed body", "0",
                       std::max(s.velocity.norm(), s.angular_velocity.norm()));

    check_shapes(s, body.planar, where);

    const bool dynamic = s.motion == Motion::Planar || s.motion == Motion::Spatial;
    Vec3 shift = Vec3::Zero();
    if (dynamic) {
      body.dynamic = static_cast<Index>(m.dynamic_bodies_.size());
      m.dynamic_bodies_.push_back(BodyId{static_cast<Index>(n)});
      const MassProperties mass = mass_of(s, where);
      const Mat3& I = mass.inertia;
      const double values[] = {
          mass.mass, body.planar ? I(2, 2) : I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
      body.mass =
          table->add("body/" + body.name, body.planar ? planar_fields : spatial_fields, values);
      body.inertia = body.mass + 1;
      shift = mass.center;
    }
    center.push_back(shift);
    const Pose X_WS = body.planar ? planar_pose(s.position[0], s.position[1], s.angle)
                                  : Pose{s.position, unit(where, s.orientation)};
    const Pose X_WB{transform(X_WS, shift), X_WS.p};
    initial.push_back(X_WB);

    body.q_begin = static_cast<Index>(q.size());
    body.q_size = body.planar ? 3 : 7;
    if (body.planar) {
      q.insert(q.end(), {X_WB.x[0], X_WB.x[1], s.angle});
    } else {
      q.insert(q.end(), {X_WB.x[0], X_WB.x[1], X_WB.x[2], X_WB.p.w, X_WB.p.x, X_WB.p.y, X_WB.p.z});
    }
    body.v_size = s.motion == Motion::Fixed ? 0 : body.planar ? 3 : 6;
    Index& next = dynamic ? m.dynamic_v_size_ : kinematic_v;
    if (body.v_size > 0) {
      body.v_begin = next;
      next += body.v_size;
    }
    body.shape_begin = static_cast<Index>(m.shapes_.size());
    shapes(s, body, BodyId{static_cast<Index>(n)});
    body.shape_end = static_cast<Index>(m.shapes_.size());
    if (drag && dynamic) {
      double reach = 0;
      for (Index k = body.shape_begin; k < body.shape_end; ++k) {
        const ShapeSpec& part = s.shapes[static_cast<std::size_t>(k - body.shape_begin)];
        reach = std::max(reach, (part.offset.x - shift).norm() + m.shapes_[k].bounding_radius);
      }
      const double values[] = {s.drag, s.length.value_or(2 * reach)};
      need_positive(where, "drag", values[0]);
      need_positive(where, "length", values[1]);
      body.drag = table->add("body/" + body.name, drag_fields, values);
      body.length = body.drag + 1;
    }
    m.bodies_.push_back(std::move(body));
  }

  m.q_size_ = static_cast<Index>(q.size());
  m.v_size_ = m.dynamic_v_size_ + kinematic_v;
  m.initial_.q = Eigen::Map<const VecX>(q.data(), m.q_size_);
  m.initial_.v = VecX::Zero(m.v_size_);
  m.planar_ = !m.bodies_.empty();
  for (std::size_t n = 0; n < m.bodies_.size(); ++n) {
    Body& body = m.bodies_[n];
    m.planar_ = m.planar_ && body.planar;
    if (body.v_begin == kNone) continue;
    if (!body.is_dynamic()) body.v_begin += m.dynamic_v_size_;
    const BodySpec& s = specs.bodies[n];
    double* v = m.initial_.v.data() + body.v_begin;
    for (int i = 0; i < 3; ++i) v[i] = s.velocity[i];
    if (body.planar) {
      v[2] = s.angular_velocity[2];
    } else {
      for (int i = 0; i < 3; ++i) v[3 + i] = s.angular_velocity[i];
    }
  }
  refuse_mixed_contact();
}

void ModelBuilder::Build::refuse_mixed_contact() const {
  // Few distinct (group, mask) pairs exist, so the test over all pairs of shapes is cheap.
  std::map<std::pair<std::uint32_t, std::uint32_t>, const ShapeInstance*> planar, spatial;
  for (const ShapeInstance& s : m.shapes_)
    (s.planar() ? planar : spatial).try_emplace({s.group, s.mask}, &s);
  for (const auto& [f, a] : planar)
    for (const auto& [g, b] : spatial) {
      if ((f.first & g.second) == 0 || (g.first & f.second) == 0) continue;
      throw Error(say("shape", a->name), "a planar shape cannot touch the spatial shape '" +
                                             b->name + "': keep them apart by group and mask");
    }
}

}  // namespace orthant
