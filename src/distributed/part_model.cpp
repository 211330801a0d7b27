// SPDX-License-Identifier: Apache-2.0
// distributed/part_model.cpp: builds the part by the rules of ModelBuilder, then copies every
// number: what the builder would compute anew keeps its bits.
#include "distributed/part_model.hpp"

#include <optional>

#include "orthant/base/error.hpp"
#include "orthant/model/model_builder.hpp"

namespace orthant::distributed {
namespace {

MaterialSpec spec_of(const Material& m, const Parameters& p) {
  return {.name = m.name,
          .friction = p[m.friction],
          .restitution = p[m.restitution],
          .rolling_friction = p[m.rolling_friction],
          .compliance = p[m.compliance],
          .combine = m.combine};
}

MaterialPairSpec spec_of(const Model& model, const MaterialPair& pair, const Parameters& p) {
  const auto value = [&](Index i) { return i == kNone ? std::optional<double>() : p[i]; };
  return {.a = model.material(pair.a).name,
          .b = model.material(pair.b).name,
          .friction = value(pair.friction),
          .restitution = value(pair.restitution),
          .rolling_friction = value(pair.rolling_friction),
          .compliance = value(pair.compliance)};
}

BodySpec spec_of(const Model& model, const Body& body, const Parameters& p) {
  const double* x = p.values.data();
  BodySpec spec{.name = body.name, .motion = body.motion, .planar = body.planar};
  spec.uid = body.uid;
  spec.center_of_mass = Vec3::Zero();
  if (body.is_dynamic()) {
    const double* I = x + body.inertia;
    spec.mass = p[body.mass];
    Mat3 inertia;
    inertia << I[0], I[3], I[4], I[3], I[1], I[5], I[4], I[5], I[2];
    spec.inertia = inertia;
  }
  if (body.drag != kNone) {
    spec.drag = p[body.drag];
    spec.length = p[body.length];
  }
  for (Index s = body.shape_begin; s < body.shape_end; ++s) {
    const ShapeInstance& shape = model.shapes()[static_cast<std::size_t>(s)];
    spec.shapes.push_back({.shape = shape.shape,
                           .offset = frame_pose(body.planar, x + shape.offset_begin),
                           .material = model.material(shape.material).name,
                           .group = shape.group,
                           .mask = shape.mask,
                           .name = shape.name});
  }
  return spec;
}

void copy_numbers(const Model& from, const VecX& x, const PartModel& part, VecX& y) {
  const auto copy = [&](Index source, Index target, Index count) {
    if (source != kNone) y.segment(target, count) = x.segment(source, count);
  };
  const Model& to = part.model;
  for (std::size_t i = 0; i < from.materials().size(); ++i) {
    const Material& m = from.materials()[i];
    const Material& n = to.material(to.find_material(m.name));
    copy(m.friction, n.friction, 1);
    copy(m.restitution, n.restitution, 1);
    copy(m.rolling_friction, n.rolling_friction, 1);
    copy(m.compliance, n.compliance, 1);
  }
  copy(from.gravity(), to.gravity(), 3);
  for (std::size_t i = 0; i < part.whole.size(); ++i) {
    const Body &a = from.body(part.whole[i]), &b = to.bodies()[i];
    if (a.is_dynamic()) {
      copy(a.mass, b.mass, 1);
      copy(a.inertia, b.inertia, 6);
    }
    copy(a.drag, b.drag, 1);
    copy(a.length, b.length, 1);
    for (Index k = 0; k < a.shape_end - a.shape_begin; ++k) {
      const auto& s = from.shapes()[static_cast<std::size_t>(a.shape_begin + k)];
      const auto& t = to.shapes()[static_cast<std::size_t>(b.shape_begin + k)];
      copy(s.parameter_begin, t.parameter_begin, s.shape.parameter_count());
      copy(s.offset_begin, t.offset_begin, 7);
    }
  }
}

}  // namespace

const char* why_no_parts(const Model& model) {
  if (!model.joints().empty()) return "joints";
  if (!model.flexible_parts().empty() || !model.ties().empty()) return "flexible parts";
  if (!model.forces().empty()) return "forces other than gravity";
  if (!model.actuators().empty()) return "actuators";
  for (const BodyId id : model.dynamic_bodies())
    if (model.body(id).planar) return "planar bodies";
  return model.dynamic_count() > 0 ? nullptr : "no body that moves";
}

PartModel part_model(const Model& whole, const Parameters& parameters,
                     std::span<const unsigned char> marked) {
  ModelBuilder builder;
  for (const Material& m : whole.materials()) builder.add_material(spec_of(m, parameters));
  for (const MaterialPair& pair : whole.material_pairs())
    builder.add_material_pair(spec_of(whole, pair, parameters));
  builder.set_law(whole.law());
  builder.set_gravity(parameters.values.segment<3>(whole.gravity()));
  std::vector<BodyId> bodies;
  for (std::size_t i = 0; i < whole.bodies().size(); ++i) {
    const Body& body = whole.bodies()[i];
    if (body.is_dynamic() && marked[static_cast<std::size_t>(body.dynamic)] == 0) continue;
    builder.add_body(spec_of(whole, body, parameters));
    bodies.push_back(static_cast<BodyId>(i));
  }
  Model model = builder.build();
  PartModel part{std::move(model), {}, std::move(bodies)};
  part.parameters = part.model.default_parameters();
  copy_numbers(whole, parameters.values, part, part.parameters.values);
  return part;
}

void copy_state(const Model& from, const State& whole, const PartModel& part, State& out) {
  for (std::size_t i = 0; i < part.whole.size(); ++i) {
    const Body &a = from.body(part.whole[i]), &b = part.model.bodies()[i];
    out.q.segment(b.q_begin, b.q_size) = whole.q.segment(a.q_begin, a.q_size);
    if (b.v_size > 0) out.v.segment(b.v_begin, b.v_size) = whole.v.segment(a.v_begin, a.v_size);
  }
  out.t = whole.t;
  out.step = whole.step;
  out.rng = whole.rng;
}

}  // namespace orthant::distributed
