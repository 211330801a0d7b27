// SPDX-License-Identifier: Apache-2.0
// gradient/edges.cpp: one-sided derivatives by coefficients that are 0. See edges.hpp.
#include "gradient/edges.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "gradient/adjoints.hpp"
#include "model/material_kernel.hpp"
#include "orthant/collision/collision.hpp"

namespace orthant::internal {
namespace {

constexpr double kStill = 1e-10;  // of the speeds of a contact: slower does not slide or roll
constexpr double kNoticed =
    1e-7;  // of a number of size 1 with a kink: smaller changes are rounding

/// What a small coefficient would add to a contact: impulse, torque, and the row of its normal.
struct Response {
  Vec3 force = Vec3::Zero(), torque = Vec3::Zero();
  double normal = 0;
};
/// The three coefficients that have rows or biases only where they are > 0.
enum class Coefficient : std::uint8_t { Friction, Restitution, Rolling };
constexpr Coefficient kCoefficients[] = {Coefficient::Friction, Coefficient::Restitution,
                                         Coefficient::Rolling};
struct Responses {
  Response friction, rolling, bounce;
  bool slides = false, rolls = false;

  const Response& of(Coefficient which) const {
    return which == Coefficient::Friction      ? friction
           : which == Coefficient::Restitution ? bounce
                                               : rolling;
  }
};

Index place_of(const Material& m, Coefficient which) {
  return which == Coefficient::Friction      ? m.friction
         : which == Coefficient::Restitution ? m.restitution
                                             : m.rolling_friction;
}
Index place_of(const MaterialPair& m, Coefficient which) {
  return which == Coefficient::Friction      ? m.friction
         : which == Coefficient::Restitution ? m.restitution
                                             : m.rolling_friction;
}
double value_of(const ContactMaterial& m, Coefficient which) {
  return which == Coefficient::Friction      ? m.friction
         : which == Coefficient::Restitution ? m.restitution
                                             : m.rolling_friction;
}

/// One parameter of a combined coefficient, and the slope of it by that parameter from the right.
struct Source {
  Index place = kNone;
  double slope = 0;
  bool given = true, kink = false;
};

/// d combine(x, y)/dx from the right.
Source source_of(CombineRule rule, Index place, double x, double y) {
  switch (rule) {
    case CombineRule::Geometric:
      if (x == 0) return {place, 0, y == 0, false};  // √x has no slope at 0
      return {place, 0.5 * std::sqrt(y / x), true, false};
    case CombineRule::Min:
      return {place, x < y ? 1.0 : 0.0, true, x == y};
    case CombineRule::Max:
      return {place, x >= y ? 1.0 : 0.0, true, x == y};
    case CombineRule::Average:
      break;
  }
  return {place, 0.5, true, false};
}

/// Where a coefficient of two surfaces comes from.
std::vector<Source> sources_of(const Model& model, const Parameters& parameters, MaterialId a,
                               MaterialId b, Coefficient which) {
  if (const MaterialPair* pair = find_material_pair(model, a, b);
      pair != nullptr && place_of(*pair, which) != kNone)
    return {{place_of(*pair, which), 1, true, false}};
  const Index i = place_of(model.material(a), which), j = place_of(model.material(b), which);
  if (i == j) return {{i, 1, true, false}};
  const CombineRule rule = std::max(model.material(a).combine, model.material(b).combine);
  const double x = parameters.values[i], y = parameters.values[j];
  return {source_of(rule, i, x, y), source_of(rule, j, y, x)};
}

Vec3 point_velocity(const Twist& twist, const Vec3& lever) {
  return twist.linear + twist.angular.cross(lever);
}

/// The direction of a pyramid that a contact sliding along s would push in; the plane has two.
Vec3 pyramid_direction(const ContactBlock& block, const Vec3& s, int directions) {
  Vec3 best = Vec3::Zero();
  for (int i = 0; i < directions; ++i) {
    const double angle = 2 * std::numbers::pi * i / directions;
    const Vec3 d = std::cos(angle) * block.frame[1] + std::sin(angle) * block.frame[2];
    if (i == 0 || d.dot(s) < best.dot(s)) best = d;
  }
  return best;
}

/// Rolling friction is 0, and a little of it would act: a pyramid has no rows for it.
bool may_roll(const ContactBlock& block, FrictionModel friction) {
  return block.material.rolling_friction == 0 &&
         (friction != FrictionModel::Pyramid || block.material.friction == 0);
}

/// What coefficients of 0 would add to a contact that pushes with λ_n.
Responses respond(const SolveContext& x, const Contact& contact, const ContactBlock& block,
                  FrictionModel friction, double impulse) {
  Responses out;
  const Body &a = x.model.body(contact.body_a), &b = x.model.body(contact.body_b);
  const auto end = [&](const Body& body) {
    return twist_in(body, body.is_dynamic() ? x.answer.v : x.record.v);
  };
  const Vec3& n = block.frame[0];
  const Twist after_a = end(a), after_b = end(b);
  const Vec3 moving =
      point_velocity(after_a, block.lever_a) - point_velocity(after_b, block.lever_b);
  const double still =
      kStill * (1 + moving.norm() + after_a.angular.norm() + after_b.angular.norm());
  const bool convex = friction != FrictionModel::Coulomb;
  const bool pyramid = friction == FrictionModel::Pyramid;
  const Vec3 slide = moving - n.dot(moving) * n;
  out.slides = slide.norm() > still;
  if (block.material.friction == 0 && block.dim == 1 && out.slides) {
    const bool sides = pyramid && !a.planar;
    out.friction.force =
        impulse * (sides ? pyramid_direction(block, slide, x.record.rows.pyramid_directions)
                         : Vec3(-slide.normalized()));
    // The convex law opens as it slides; the linear one, a pair of rows, does not.
    if (convex && !pyramid) out.friction.normal = -slide.norm();
  }
  Vec3 spin = after_a.angular - after_b.angular;
  if (!a.planar) spin -= n.dot(spin) * n;
  out.rolls = spin.norm() > still;
  if (may_roll(block, friction) && out.rolls) {
    out.rolling.torque = -impulse * spin.normalized();
    if (convex) out.rolling.normal = -spin.norm();
  }
  if (block.material.restitution == 0 && block.material.compliance == 0) {
    const double approach = n.dot(point_velocity(twist_in(a, x.record.v), block.lever_a) -
                                  point_velocity(twist_in(b, x.record.v), block.lever_b));
    const bool impact = x.record.kind == SolveKind::Impact;
    // In a step the bias is min(βΦ/h, ε D_n v): with a gap open it jumps, see find_edges().
    if (approach < 0 && (impact || (x.record.rows.restitution && contact.gap <= 0 &&
                                    x.record.rows.beta == 0 && !x.record.rows.impacts_located &&
                                    approach < -x.record.rows.restitution_threshold)))
      out.bounce.normal = approach;
  }
  return out;
}

/// The inputs that a difference of steps solved to their tolerance would carry over a kink. Of the
/// size of an input, the errors of the tolerance over the difference and of the difference itself
/// are least at the root of the tolerance; two of these are made.
void find_near(const StepCotangent& kink, const Model& model, const Parameters& parameters,
               const StepSettings& settings, const OpenInput& as, std::vector<OpenInput>& open) {
  const double reach = 2 * std::sqrt(settings.solver.tolerance);
  double length = 1;
  for (std::size_t i = 0; i < model.shapes().size(); ++i)
    length = std::min(length, shape_size(model, parameters, ShapeId{static_cast<std::int32_t>(i)}));
  const auto note = [&](InputKind kind, Index i, double by, double size) {
    if (std::abs(by) * size * reach > 1)
      note_open({kind, i, kind == InputKind::Control ? as.step : 0, as.reason}, open);
  };
  for (Index i = 0; i < kink.q.size(); ++i) note(InputKind::Configuration, i, kink.q[i], length);
  for (Index i = 0; i < kink.v.size(); ++i) note(InputKind::Velocity, i, kink.v[i], 1);
  for (Index i = 0; i < kink.u.size(); ++i) note(InputKind::Control, i, kink.u[i], 1);
  for (Index i = 0; i < kink.parameters.size(); ++i) {
    if (kink.parameters[i] == 0) continue;
    const double value = std::abs(parameters.values[i]);
    const std::string& unit = model.parameter_table().unit(i);
    const double size = unit == "m" || unit == "rad" ? std::max(value, length)
                        : value > 0                  ? value
                                                     : 1;
    note(InputKind::Parameter, i, kink.parameters[i], size);
  }
}

/// f(contact's number, contact, block, λ_n) for the rigid contacts of a solve that push, with the
/// impulses found or with these.
template <class F>
void for_each_pushing(const SolveRecord& record, const VecX& lambda,
                      std::span<const ContactBlock> blocks, F&& f) {
  if (record.kind == SolveKind::Projection || record.kind == SolveKind::Newton) return;
  const std::vector<Contact>& contacts = record.contacts.contacts;
  for (std::size_t c = 0; c < contacts.size() && c < blocks.size(); ++c) {
    const double impulse = lambda[blocks[c].row];
    if (std::max(impulse, record.solution.lambda[blocks[c].row]) > 0)
      f(static_cast<Index>(c), contacts[c], blocks[c], impulse);
  }
}

bool has_zero(const ContactMaterial& m) {
  return m.friction == 0 || m.rolling_friction == 0 || m.restitution == 0;
}

}  // namespace

void pull_edges(const SolveContext& x, std::span<const ContactBlock> blocks, FrictionModel friction,
                const SolveOutputs& weights, SolveInputs& in) {
  const VecX& balance = weights.equations.balance;
  for_each_pushing(
      x.record, x.answer.lambda, blocks,
      [&](Index number, const Contact& contact, const ContactBlock& block, double impulse) {
        if (!has_zero(block.material)) return;
        const auto weight = [&](BodyId id) {
          const Body& body = x.model.body(id);
          return body.is_dynamic() ? twist_in(body, balance) : Twist{};
        };
        const Twist a = weight(contact.body_a), b = weight(contact.body_b);
        Vec3 by_force = point_velocity(a, block.lever_a) - point_velocity(b, block.lever_b);
        if (weights.impulse_W.size() > 0) by_force += weights.impulse_W.col(number);
        const Vec3 by_torque = a.angular - b.angular;
        const double by_normal = weights.equations.blocks[block.row];
        const Responses all = respond(x, contact, block, friction, impulse);
        for (const Coefficient which : kCoefficients) {
          if (value_of(block.material, which) > 0) continue;
          const Response& r = all.of(which);
          const double by = r.force.dot(by_force) + r.torque.dot(by_torque) + r.normal * by_normal;
          if (by == 0) continue;
          for (const Source& source :
               sources_of(x.model, x.parameters, x.model.shape(contact.shape_a).material,
                          x.model.shape(contact.shape_b).material, which))
            in.parameters[source.place] += source.slope * by;
        }
      });
}

void push_edges(const SolveContext& x, std::span<const ContactBlock> blocks, FrictionModel friction,
                const SolveInputs& direction, SolveOutputs& changes) {
  VecX& balance = changes.equations.balance;
  for_each_pushing(
      x.record, x.answer.lambda, blocks,
      [&](Index, const Contact& contact, const ContactBlock& block, double impulse) {
        if (!has_zero(block.material)) return;
        const Responses all = respond(x, contact, block, friction, impulse);
        Vec3 force = Vec3::Zero(), torque = Vec3::Zero();
        for (const Coefficient which : kCoefficients) {
          if (value_of(block.material, which) > 0) continue;
          double change = 0;
          for (const Source& source :
               sources_of(x.model, x.parameters, x.model.shape(contact.shape_a).material,
                          x.model.shape(contact.shape_b).material, which))
            change += source.slope * direction.parameters[source.place];
          const Response& r = all.of(which);
          force += change * r.force;
          torque += change * r.torque;
          changes.equations.blocks[block.row] += change * r.normal;
        }
        const auto put = [&](BodyId id, const Vec3& lever, double sign) {
          const Body& body = x.model.body(id);
          if (body.is_dynamic())
            add_twist(body, sign * force, sign * (lever.cross(force) + torque), balance);
        };
        put(contact.body_a, block.lever_a, 1);
        put(contact.body_b, block.lever_b, -1);
      });
}

void note_open(const OpenInput& one, std::vector<OpenInput>& open) {
  const auto at = std::ranges::lower_bound(open, one);
  if (at == open.end() || *at != one) open.insert(at, one);
}

void find_open(const StepCotangent& kink, const Model& model, const Parameters& parameters,
               const StepSettings& settings, const OpenInput& as, std::vector<OpenInput>& open) {
  if (as.reason == OpenReason::Near) return find_near(kink, model, parameters, settings, as, open);
  const auto note = [&](InputKind kind, const VecX& by, double noticed) {
    for (Index i = 0; i < by.size(); ++i)
      if (std::abs(by[i]) > noticed)
        note_open({kind, i, kind == InputKind::Control ? as.step : 0, as.reason}, open);
  };
  // A velocity moves bodies by h, a force by about h².
  note(InputKind::Configuration, kink.q, kNoticed);
  note(InputKind::Velocity, kink.v, kNoticed * settings.h);
  note(InputKind::Control, kink.u, kNoticed * settings.h * settings.h);
  for (Index i = 0; i < kink.parameters.size(); ++i) {
    const double value = std::abs(parameters.values[i]);
    if (std::abs(kink.parameters[i]) * (value == 0 ? 1 : value) > kNoticed)
      note_open({InputKind::Parameter, i, 0, as.reason}, open);
  }
}

void StillContacts::settle(std::vector<EdgeParameter>& edges) {
  const auto acts = [](const Use& use) { return use.acts; };
  if (std::ranges::all_of(uses_, acts) || std::ranges::none_of(uses_, acts)) return;
  for (const Joint& joint : model_.joints()) join(joint.a, joint.b);
  for (const Force& force : model_.forces())
    if (force.kind == ForceKind::Spring) join(force.a, force.b);
  for (Use& use : uses_) use.root = bodies_.root(model_, use.body);
  const auto island = [](const Use& use) { return std::pair(use.place, use.root); };
  std::ranges::sort(uses_, {}, island);
  for (auto begin = uses_.begin(); begin != uses_.end();) {
    const auto end = std::find_if(begin, uses_.end(),
                                  [&](const Use& use) { return island(use) != island(*begin); });
    if (std::any_of(begin, end, acts) && !std::all_of(begin, end, acts)) {
      const EdgeParameter edge{begin->place, false};
      merge_edges({&edge, 1}, edges);
    }
    begin = end;
  }
}

void merge_edges(std::span<const EdgeParameter> from, std::vector<EdgeParameter>& to) {
  for (const EdgeParameter& edge : from) {
    const auto at = std::ranges::lower_bound(to, edge.place, {}, &EdgeParameter::place);
    if (at == to.end() || at->place != edge.place) {
      to.insert(at, edge);
    } else {
      at->given = at->given && edge.given;
      at->opens = at->opens || edge.opens;
    }
  }
}

void find_edges(const SolveContext& at, std::span<const ContactBlock> blocks, const VecX& v_free,
                double tolerance, std::vector<EdgeParameter>& edges, StillContacts& still) {
  const auto& [model, parameters, record] = std::tie(at.model, at.parameters, at.record);
  const VecX& x = parameters.values;
  const auto note = [&](Index place, bool given) {
    const EdgeParameter one{place, given};
    merge_edges({&one, 1}, edges);
  };
  // A ball about its centre of mass that rolls stays closed whatever it does; off the centre it
  // would dig in one way and lift off the other.
  const auto note_ball = [&](ShapeId id) {
    const ShapeInstance& shape = model.shape(id);
    if (shape.shape.kind() != ShapeKind::Sphere || !model.body(shape.body).is_dynamic()) return;
    const Index numbers = shape.planar() ? 2 : 3;
    for (Index i = 0; i < numbers; ++i)
      if (x[shape.offset_begin + i] != 0) return;
    for (Index i = 0; i < numbers; ++i) note(shape.offset_begin + i, false);
  };
  const bool pyramid = record.rows.friction == FrictionModel::Pyramid;
  // `rows`: friction 0 has rows all the same, those of rolling; two equal ones have no slope there.
  const auto note_all = [&](MaterialId a, MaterialId b, bool rigid, bool jumps, bool rows,
                            const Responses& responses = {}) {
    for (const Coefficient which : kCoefficients)
      for (const Source& source : sources_of(model, parameters, a, b, which)) {
        const bool zero = x[source.place] == 0;
        const bool one = which == Coefficient::Restitution && x[source.place] == 1;
        // A pyramid has no rows for rolling: with friction 0 they are there, with a little not.
        const bool other_rows = rows && (source.kink || pyramid);
        const bool given = rigid && source.given && !(jumps && which == Coefficient::Restitution) &&
                           !(other_rows && which == Coefficient::Friction);
        if (zero) {
          const EdgeParameter edge{source.place, given, responses.of(which).normal != 0};
          merge_edges({&edge, 1}, edges);
        }
        if (one) note(source.place, true);
        if (source.kink && !zero) note(source.place, false);
      }
  };
  // A hard contact is another law than a soft one, which has rows even where the hard one has none.
  MaterialId last_a{-1}, last_b{-1};
  const auto note_hard = [&](MaterialId a, MaterialId b) {
    if (a == last_a && b == last_b) return;
    last_a = a;
    last_b = b;
    const MaterialPair* pair = find_material_pair(model, a, b);
    for (const Index place : {pair != nullptr ? pair->compliance : kNone,
                              model.material(a).compliance, model.material(b).compliance})
      if (place != kNone && x[place] == 0) note(place, false);
  };
  // With impact events a hard contact has rows where it touches only, a soft one wherever it is.
  if (record.rows.impacts_located)
    for (const Material& material : model.materials())
      if (x[material.compliance] == 0) note(material.compliance, false);
  for (const Contact& contact : record.contacts.contacts)
    note_hard(model.shape(contact.shape_a).material, model.shape(contact.shape_b).material);
  for (const FlexibleContact& contact : record.contacts.flexible)
    note_hard(contact.material_a, contact.material_b);
  for_each_pushing(
      record, record.solution.lambda, blocks,
      [&](Index, const Contact& contact, const ContactBlock& block, double impulse) {
        const bool may_open =
            record.rows.friction != FrictionModel::Coulomb || block.material.restitution == 0;
        // A bounce would leave a gap open that is closed without one.
        // In overlap min(βΦ/h, ε D_n v) is 0 to rounding either way where β = 0; else, as for soft
        // contacts, either asks for more where the gap is 0 to the tolerance.
        const bool either = (record.rows.beta > 0 || block.material.compliance > 0) &&
                            contact.gap >= -tolerance * contact.size;
        const bool jumps = record.kind != SolveKind::Impact && block.material.restitution == 0 &&
                           (contact.gap > 0 || either) && record.rows.restitution &&
                           !record.rows.impacts_located;
        const Responses all = has_zero(block.material)
                                  ? respond(at, contact, block, record.rows.friction, impulse)
                                  : Responses{};
        note_all(model.shape(contact.shape_a).material, model.shape(contact.shape_b).material, true,
                 jumps, block.material.friction == 0 && block.dim > 1,
                 may_open ? all : Responses{});
        const bool moves = model.body(contact.body_a).is_dynamic();
        still.join(contact.body_a, contact.body_b);
        const auto note_use = [&](Coefficient which, bool acts) {
          for (const Source& source :
               sources_of(model, parameters, model.shape(contact.shape_a).material,
                          model.shape(contact.shape_b).material, which))
            if (source.slope != 0)
              still.add(source.place, moves ? contact.body_a : contact.body_b, acts);
        };
        if (block.material.friction == 0) note_use(Coefficient::Friction, all.slides);
        if (may_roll(block, record.rows.friction)) note_use(Coefficient::Rolling, all.rolls);
        if (record.kind == SolveKind::Impact || block.branch == BiasBranch::Restitution) return;
        note_ball(contact.shape_a);
        note_ball(contact.shape_b);
      });
  if (record.kind == SolveKind::Projection || record.kind == SolveKind::Newton) return;
  const std::size_t rigid = record.contacts.contacts.size();
  // A gap that other contacts keep open and the free motion would close: there a bounce stops what
  // no contact does without one.
  VecX free = record.v;
  if (v_free.size() > 0) free.head(v_free.size()) = v_free;
  for (std::size_t c = 0; c < rigid && c < blocks.size(); ++c) {
    const Contact& contact = record.contacts.contacts[c];
    if (record.kind == SolveKind::Impact || !record.rows.restitution ||
        record.rows.impacts_located || blocks[c].material.restitution > 0 || contact.gap <= 0 ||
        gap_rate(model, record.q, record.v, contact) >= -record.rows.restitution_threshold ||
        contact.gap + record.duration * gap_rate(model, record.q, free, contact) > 0)
      continue;
    for (const Source& source :
         sources_of(model, parameters, model.shape(contact.shape_a).material,
                    model.shape(contact.shape_b).material, Coefficient::Restitution))
      if (x[source.place] == 0) note(source.place, false);
  }
  for (std::size_t c = 0; c < record.contacts.flexible.size() && rigid + c < blocks.size(); ++c)
    if (record.solution.lambda[blocks[rigid + c].row] > 0)
      note_all(record.contacts.flexible[c].material_a, record.contacts.flexible[c].material_b,
               false, true, false);
}

}  // namespace orthant::internal
