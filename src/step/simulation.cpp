// SPDX-License-Identifier: Apache-2.0
// step/simulation.cpp: a world that runs, and the shortcuts that build one.
#include "orthant/step/simulation.hpp"

#include <cmath>
#include <utility>

#include "orthant/step/world.hpp"
#include "step/rollout.hpp"

namespace orthant {
namespace {

/// Of a body or a flexible part.
std::string_view name_of_uid(const Model& model, BodyUid uid) {
  for (const FlexiblePart& part : model.flexible_parts())
    if (part.uid == uid) return part.name;
  return model.body(model.find_uid(uid)).name;
}

}  // namespace

Pose pose_of(const Model& model, const State& state, BodyId id) {
  const Body& body = model.body(id);
  const double* q = state.q.data() + body.q_begin;
  if (body.planar) return {Vec3(q[0], q[1], 0), {std::cos(q[2] / 2), 0, 0, std::sin(q[2] / 2)}};
  return {Vec3(q[0], q[1], q[2]), {q[3], q[4], q[5], q[6]}};
}

Vec3 velocity_of(const Model& model, const State& state, BodyId id) {
  const Body& body = model.body(id);
  if (body.v_begin == kNone) return Vec3::Zero();
  const double* v = state.v.data() + body.v_begin;
  return {v[0], v[1], body.planar ? 0 : v[2]};
}

Vec3 angular_velocity_of(const Model& model, const State& state, BodyId id) {
  const Body& body = model.body(id);
  if (body.v_begin == kNone) return Vec3::Zero();
  const double* v = state.v.data() + body.v_begin;
  return body.planar ? Vec3(0, 0, v[2]) : Vec3(v[3], v[4], v[5]);
}

std::vector<ContactForce> contact_forces(const Model& model, const WarmStart& warm, double h) {
  std::vector<ContactForce> out;
  out.reserve(warm.contacts.size());
  for (const WarmStart::Entry& entry : warm.contacts)
    out.push_back({name_of_uid(model, entry.key.body_a), name_of_uid(model, entry.key.body_b),
                   entry.point_W, entry.normal_W, entry.impulse_W / h});
  return out;
}

Simulation::Simulation(Model model, const StepSettings& settings)
    : model_(std::move(model)),
      parameters_(model_.default_parameters()),
      settings_(settings),
      state_(model_.rest_state()),
      start_(state_) {}

Simulation::Simulation(Model model, Parameters parameters, const StepSettings& settings,
                       State state)
    : model_(std::move(model)),
      parameters_(std::move(parameters)),
      settings_(settings),
      state_(std::move(state)),
      start_(state_) {}

StepReport Simulation::step(const VecX& u) {
  return orthant::step(model_, parameters_, settings_, u, state_, warm_, workspace_);
}

RolloutReport Simulation::run(std::int64_t steps, const RolloutCallback& callback) {
  return internal::run_steps(model_, parameters_, settings_, state_, warm_, workspace_, steps,
                             callback);
}

void Simulation::reset() {
  state_ = start_;
  warm_ = {};
}

BodyId World::add(std::string name, Shape shape, const Placement& place) {
  return builder_.add_body(
      {.name = std::move(name),
       .motion = place.fixed ? Motion::Fixed : Motion::Spatial,
       .position = place.position,
       .orientation = place.orientation,
       .velocity = place.velocity,
       .angular_velocity = place.angular_velocity,
       .shapes = {
           {.shape = std::move(shape), .density = place.density, .material = place.material}}});
}

BodyId World::add_box(std::string name, const Vec3& half, const Placement& place) {
  return add(std::move(name), Shape::box(half[0], half[1], half[2]), place);
}

BodyId World::add_sphere(std::string name, double radius, const Placement& place) {
  return add(std::move(name), Shape::sphere(radius), place);
}

BodyId World::add_capsule(std::string name, double radius, double half_length,
                          const Placement& place) {
  return add(std::move(name), Shape::capsule(radius, half_length), place);
}

BodyId World::add_floor(std::string material) {
  return add("floor", Shape::half_space(), {.material = std::move(material), .fixed = true});
}

}  // namespace orthant
