// SPDX-License-Identifier: Apache-2.0
// model/division.cpp: (builder, model, parameters, state, rods) => those of the divided model.
// Mass goes with length, not with volume: two halves have two caps more than the whole, and a body
// that kept its density through growth or division would not come back to the mass it began with.
#include "orthant/model/division.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "model/rules.hpp"
#include "orthant/base/assert.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/mix.hpp"

namespace orthant {
namespace {

std::string say(const Body& body) { return "body '" + body.name + "'"; }

/// Throws unless every body is there, once.
void need_each_once(const Model& model, std::span<const BodyId> bodies) {
  std::vector<char> seen(model.bodies().size(), 0);
  for (const BodyId id : bodies) {
    if (index_of(id) < 0 || static_cast<std::size_t>(index_of(id)) >= seen.size())
      throw Error("body number " + std::to_string(index_of(id)),
                  "the model has " + std::to_string(seen.size()) + " bodies");
    char& twice = seen[static_cast<std::size_t>(id)];
    if (twice != 0) throw Error(say(model.body(id)), "must be named once, is named twice");
    twice = 1;
  }
}

/// A dynamic body of one centred capsule, with the numbers of a parameter vector.
struct Rod {
  const Body& body;
  const ShapeInstance& shape;
  double radius, half_length;  // of the core
  Pose X_BS;

  double length() const { return 2 * (half_length + radius); }
  /// Half the core of a rod `factor` as long.
  double half_length_at(double factor) const { return factor * (half_length + radius) - radius; }
};

Rod rod_of(const Model& model, const Parameters& parameters, BodyId id) {
  const Body& body = model.body(id);
  if (!body.is_dynamic())
    throw Error(say(body), "only a dynamic body grows and divides, this one is fixed or kinematic");
  if (body.shape_end - body.shape_begin != 1)
    throw Error(say(body), "a body that grows or divides has one shape, this one has " +
                               std::to_string(body.shape_end - body.shape_begin));
  const ShapeInstance& shape = model.shapes()[static_cast<std::size_t>(body.shape_begin)];
  if (shape.shape.kind() != ShapeKind::Capsule)
    throw Error(say(body),
                "a body that grows or divides is a capsule or a stadium, this one is a " +
                    shape.shape.name());
  const double* x = parameters.values.data();
  const Rod rod{body, shape, x[shape.parameter_begin], x[shape.parameter_begin + 1],
                frame_pose(body.planar, x + shape.offset_begin)};
  const double off = rod.X_BS.x.norm();
  if (!(off <= 1e-9 * rod.length()))
    internal::refuse(say(body), "the distance of its shape from its centre of mass", "0", off);
  return rod;
}

/// Mass and inertia in the body's axes of a uniform rod.
MassProperties uniform(const Rod& rod, double half_length, double mass) {
  const double sizes[] = {rod.radius, half_length};
  MassProperties m = mass_properties(rod.shape.shape.view(sizes), 1.0);
  m.inertia *= mass / m.mass;
  m.mass = mass;
  return transform(Pose{Vec3::Zero(), rod.X_BS.p}, m);
}

std::uint64_t drawn_bits(const DivisionSettings& settings, BodyUid uid) {
  return mix_bits((uid * kGoldenRatio) ^ mix_bits(settings.key));
}

/// The turn of a daughter, world axes [rad].
Vec3 jitter_of(const DivisionSettings& settings, BodyUid uid, bool planar, const Pose& X_WS) {
  if (planar) return {0, 0, planar_turn(settings, uid)};
  const std::uint64_t bits = drawn_bits(settings, uid);
  const double around = 2 * std::numbers::pi * 0x1p-53 * static_cast<double>(bits >> 11);
  return settings.jitter * rotate(X_WS.p, Vec3(0, std::cos(around), std::sin(around)));
}

/// "cell" => "cell/<uid>", and so for a mother who is called that herself.
std::string daughter_name(const std::string& mother, BodyUid mother_uid, BodyUid uid) {
  const std::size_t slash = mother.rfind('/');
  const bool born = slash != std::string::npos && slash > 0 &&
                    mother.compare(slash + 1, std::string::npos, std::to_string(mother_uid)) == 0;
  std::string name = born ? mother.substr(0, slash) : mother;
  name += '/';
  name += std::to_string(uid);
  return name;
}

BodySpec daughter_of(const Rod& rod, const Parameters& parameters, const State& x, BodySpec spec,
                     int side, BodyUid uid, const DivisionSettings& settings) {
  const Body& body = rod.body;
  const Pose X_WB = body_pose(body, x.q.data());
  const Pose X_WS = compose(X_WB, rod.X_BS);
  const Vec3 arm = rotate(X_WS.p, Vec3((side == 0 ? -0.25 : 0.25) * rod.length(), 0, 0));
  const Vec3 turn = jitter_of(settings, uid, body.planar, X_WS);
  const double* v = x.v.data() + body.v_begin;

  spec.uid = uid;
  spec.name = daughter_name(body.name, body.uid, uid);
  spec.position = X_WB.x + arm;
  if (body.planar) {
    spec.angle = x.q[body.q_begin + 2] + turn[2];
    spec.angular_velocity = {0, 0, v[2]};
    spec.velocity = {v[0], v[1], 0};
  } else {
    spec.orientation = boxplus(X_WB.p, turn);
    spec.angular_velocity = {v[3], v[4], v[5]};
    spec.velocity = {v[0], v[1], v[2]};
  }
  spec.velocity += spec.angular_velocity.cross(arm);

  const double half = rod.half_length_at(0.5);
  ShapeSpec& shape = spec.shapes[0];
  if (!shape.name.empty()) shape.name = daughter_name(shape.name, body.uid, uid);
  const std::string& kind = rod.shape.shape.name();
  shape.shape =
      body.planar ? Shape::stadium(rod.radius, half, kind) : Shape::capsule(rod.radius, half, kind);
  shape.offset = {Vec3::Zero(), rod.X_BS.p};
  const MassProperties mass = uniform(rod, half, 0.5 * parameters[body.mass]);
  spec.mass = mass.mass;
  spec.inertia = mass.inertia;
  spec.center_of_mass = Vec3::Zero();
  if (body.drag != kNone) {
    spec.drag = parameters[body.drag];
    spec.length = 0.5 * parameters[body.length];
  }
  return spec;
}

/// Throws where something else than contact holds one of the marked bodies.
void need_free(const Model& model, const std::vector<char>& divides) {
  const auto check = [&](BodyId id, const char* kind, const std::string& name) {
    if (id != kWorld && divides[static_cast<std::size_t>(id)] != 0)
      throw Error(say(model.body(id)),
                  "cannot divide, the " + std::string(kind) + " '" + name + "' refers to it");
  };
  for (const Joint& j : model.joints())
    for (const BodyId id : {j.a, j.b}) check(id, "joint", j.name);
  for (const Force& f : model.forces())
    for (const BodyId id : {f.a, f.b}) check(id, "force", f.name);
  for (const Actuator& a : model.actuators())
    if (a.kind == ActuatorKind::Body) check(a.body, "actuator", a.name);
  for (const Tie& tie : model.ties())
    check(tie.body, "flexible part",
          model.flexible_parts()[static_cast<std::size_t>(tie.part)].name);
}

/// The specs of the bodies with all that they leave to their place: another place must not change
/// it.
std::vector<BodySpec> named_specs(const ModelBuilder& builder, const Model& model) {
  std::vector<BodySpec> specs = builder.bodies();
  const auto bodies = model.bodies();
  const auto same = [](const BodySpec& s, const Body& b) {
    return (s.name.empty() || s.name == b.name) && s.uid.value_or(b.uid) == b.uid &&
           s.motion == b.motion &&
           static_cast<Index>(s.shapes.size()) == b.shape_end - b.shape_begin;
  };
  if (!std::equal(specs.begin(), specs.end(), bodies.begin(), bodies.end(), same))
    throw Error("division", "the model is not the one that the builder describes");
  for (std::size_t i = 0; i < specs.size(); ++i) {
    specs[i].name = bodies[i].name;
    specs[i].uid = bodies[i].uid;
  }
  return specs;
}

/// visit(place in x, place in y, count) for all parameters of a body that is in two models.
template <class Visit>
void for_each_run(const Model& in_x, const Body& x, const Model& in_y, const Body& y,
                  Visit&& visit) {
  if (x.is_dynamic()) visit(x.mass, y.mass, x.planar ? 2 : 7);
  if (x.drag != kNone) visit(x.drag, y.drag, 2);
  for (Index k = 0; k < x.shape_end - x.shape_begin; ++k) {
    const ShapeInstance& s = in_x.shapes()[static_cast<std::size_t>(x.shape_begin + k)];
    const ShapeInstance& t = in_y.shapes()[static_cast<std::size_t>(y.shape_begin + k)];
    visit(s.parameter_begin, t.parameter_begin, s.shape.parameter_count());
    visit(s.offset_begin, t.offset_begin, x.planar ? 3 : 7);
  }
}

/// Where the parameters of the bodies lie: all together, between those of the surfaces and the
/// rest.
std::pair<Index, Index> body_parameters(const Model& model) {
  Index begin = model.parameter_table().size(), end = 0;
  for (const Body& body : model.bodies())
    for_each_run(model, body, model, body, [&](Index first, Index, Index count) {
      begin = std::min(begin, first);
      end = std::max(end, first + count);
    });
  return {std::min(begin, end), end};
}

/// Survivors and all that is no body keep their values; daughters have theirs from the spec.
void keep_parameters(const Model& from, const Parameters& before, const Model& to,
                     std::span<const BodyId> survivors, Parameters& after) {
  const auto [begin, end] = body_parameters(from);
  const auto [new_begin, new_end] = body_parameters(to);
  const Index rest = static_cast<Index>(before.values.size()) - end;
  ORTHANT_ASSERT(begin == new_begin && rest == after.values.size() - new_end);
  after.values.head(begin) = before.values.head(begin);
  after.values.tail(rest) = before.values.tail(rest);
  for (std::size_t i = 0; i < survivors.size(); ++i)
    for_each_run(from, from.body(survivors[i]), to, to.bodies()[i],
                 [&](Index old_place, Index place, Index count) {
                   after.values.segment(place, count) = before.values.segment(old_place, count);
                 });
}

/// The same for a state.
void keep_state(const Model& from, const State& before, const Model& to,
                std::span<const BodyId> survivors, State& after) {
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    const Body &old = from.body(survivors[i]), &body = to.bodies()[i];
    after.q.segment(body.q_begin, body.q_size) = before.q.segment(old.q_begin, old.q_size);
    if (body.v_size > 0)
      after.v.segment(body.v_begin, body.v_size) = before.v.segment(old.v_begin, old.v_size);
  }
  for (std::size_t p = 0; p < to.flexible_parts().size(); ++p) {
    const FlexiblePart &old = from.flexible_parts()[p], &part = to.flexible_parts()[p];
    const Index count = part.dim * part.node_count;
    after.q.segment(part.q_begin, count) = before.q.segment(old.q_begin, count);
    for (std::size_t n = 0; n < part.v_begin.size(); ++n)
      if (part.v_begin[n] >= 0)
        after.v.segment(part.v_begin[n], part.dim) = before.v.segment(old.v_begin[n], part.dim);
  }
  after.t = before.t;
  after.step = before.step;
  after.rng = before.rng;
}

}  // namespace

void grow(const Model& model, std::span<const BodyId> bodies, double factor,
          Parameters& parameters) {
  internal::need_positive("growth", "factor", factor);
  if (parameters.values.size() != model.parameter_table().size())
    internal::refuse("growth", "the number of parameters",
                     std::to_string(model.parameter_table().size()),
                     static_cast<double>(parameters.values.size()));
  need_each_once(model, bodies);
  for (const BodyId id : bodies) {
    const Rod rod = rod_of(model, parameters, id);
    const double half = rod.half_length_at(factor);
    if (!(half > 0) || !std::isfinite(half))
      internal::refuse(say(rod.body), "its new length",
                       "finite and more than its width, " + to_text(2 * rod.radius),
                       factor * rod.length());
  }
  VecX& x = parameters.values;
  for (const BodyId id : bodies) {
    const Rod rod = rod_of(model, parameters, id);
    const double half = rod.half_length_at(factor);
    const MassProperties m = uniform(rod, half, factor * x[rod.body.mass]);
    const Mat3& I = m.inertia;
    x[rod.shape.parameter_begin + 1] = half;
    x[rod.body.mass] = m.mass;
    double* to = x.data() + rod.body.inertia;
    if (rod.body.planar) {
      to[0] = I(2, 2);
    } else {
      const double six[] = {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
      std::copy(std::begin(six), std::end(six), to);
    }
    if (rod.body.length != kNone) x[rod.body.length] *= factor;
  }
}

Divided divide(ModelBuilder& builder, const Model& model, const Parameters& parameters,
               const State& state, std::span<const BodyId> bodies,
               const DivisionSettings& settings) {
  internal::need_finite("division", "jitter", settings.jitter);
  validate(model, parameters, "division, parameters");
  validate(model, state, "division, state");
  std::vector<BodySpec> specs = named_specs(builder, model);
  need_each_once(model, bodies);
  std::vector<BodyId> mothers(bodies.begin(), bodies.end());
  std::sort(mothers.begin(), mothers.end(),
            [&](BodyId a, BodyId b) { return model.body(a).uid < model.body(b).uid; });
  std::vector<char> divides(specs.size(), 0);
  for (const BodyId id : mothers) divides[static_cast<std::size_t>(id)] = 1;
  need_free(model, divides);

  std::vector<BodyId> survivors;
  std::vector<BodySpec> next;
  BodyUid uid = 0;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    uid = std::max(uid, model.bodies()[i].uid + 1);
    if (divides[i] != 0) continue;
    survivors.push_back(BodyId{static_cast<Index>(i)});
    next.push_back(std::move(specs[i]));
  }
  std::vector<Division> map;
  for (const BodyId id : mothers) {
    const Rod rod = rod_of(model, parameters, id);
    if (!(rod.half_length_at(0.5) > 0))
      internal::refuse(say(rod.body), "half its length",
                       "more than its width, " + to_text(2 * rod.radius), 0.5 * rod.length());
    map.push_back({rod.body.uid, {uid, uid + 1}});
    for (int side = 0; side < 2; ++side, ++uid)
      next.push_back(daughter_of(rod, parameters, state, specs[static_cast<std::size_t>(id)], side,
                                 uid, settings));
  }

  ModelBuilder edited = builder;
  edited.set_bodies(next);
  Model made = edited.build();
  Parameters made_parameters = made.default_parameters();
  State made_state = made.rest_state();
  keep_parameters(model, parameters, made, survivors, made_parameters);
  keep_state(model, state, made, survivors, made_state);
  builder.set_bodies(std::move(next));  // nothing can fail from here on
  return {std::move(made), std::move(made_parameters), std::move(made_state), std::move(map)};
}

double planar_turn(const DivisionSettings& settings, BodyUid uid) {
  return (drawn_bits(settings, uid) >> 63) != 0 ? settings.jitter : -settings.jitter;
}

double rod_length(const Model& model, const Parameters& parameters, BodyId body) {
  return rod_of(model, parameters, body).length();
}

void set_descendants(ModelBuilder& builder, std::span<const Descendant> bodies) {
  const std::vector<BodySpec>& scene = builder.bodies();
  std::vector<BodySpec> specs;
  specs.reserve(bodies.size());
  for (const Descendant& d : bodies) {
    if (d.ancestor < 0 || static_cast<std::size_t>(d.ancestor) >= scene.size())
      throw Error("body " + std::to_string(d.uid), "comes from body " + std::to_string(d.ancestor) +
                                                       " of " + std::to_string(scene.size()));
    BodySpec spec = scene[static_cast<std::size_t>(d.ancestor)];
    const std::string where = "body '" + spec.name + "'";
    const auto uid = static_cast<BodyUid>(d.ancestor);
    if (d.length != 0) {
      if (spec.shapes.size() != 1 || spec.shapes[0].shape.kind() != ShapeKind::Capsule)
        throw Error(where, "is no rod and cannot have divided");
      ShapeSpec& shape = spec.shapes[0];
      const double radius = shape.shape.parameters()[0], half = 0.5 * d.length - radius;
      internal::need_positive(where, "half the length of a daughter's core", half);
      const std::string kind = shape.shape.name();
      shape.shape = shape.shape.dim() == 2 ? Shape::stadium(radius, half, kind)
                                           : Shape::capsule(radius, half, kind);
      if (!shape.name.empty()) shape.name = daughter_name(shape.name, uid, d.uid);
      spec.name = daughter_name(spec.name, uid, d.uid);
    }
    spec.uid = d.uid;
    specs.push_back(std::move(spec));
  }
  builder.set_bodies(std::move(specs));
}

}  // namespace orthant
