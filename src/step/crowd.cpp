// SPDX-License-Identifier: Apache-2.0
// step/crowd.cpp: one interval of many bodies in contact, by sweeps on bodies and contacts alone.
//   D_n v⁺ + Φ/h + (s + ε W_nn) λ_n >= 0,   overlaps pushed out at a limited speed
// Gaps are part of the solve, so nothing is projected afterwards: for spheres a solved step cannot
// overlap at all, since |d + δ| >= n·(d + δ). No canonical problem is assembled.
#include <Eigen/Geometry>
#include <cmath>
#include <numeric>

#include "orthant/base/timer.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

/// Contacts of an island from which on a step is one of a crowd.
constexpr std::size_t kCrowd = 100;

/// Contacts of the largest island: bodies that contacts connect, whatever stands still between.
std::size_t largest_island(StepRun& run) {
  std::vector<std::int32_t>& up = run.work.island_of;
  up.resize(static_cast<std::size_t>(run.model.dynamic_count()));
  std::iota(up.begin(), up.end(), 0);
  const auto root = [&](std::int32_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
  };
  const auto ends = [&](const Contact& c) {
    const Index a = run.model.body(c.body_a).dynamic, b = run.model.body(c.body_b).dynamic;
    return std::pair(a, b);
  };
  for (const Contact& c : run.work.contacts.contacts) {
    const auto [a, b] = ends(c);
    if (a == kNone || b == kNone) continue;
    const std::int32_t x = root(static_cast<std::int32_t>(a));
    const std::int32_t y = root(static_cast<std::int32_t>(b));
    up[std::max(x, y)] = std::min(x, y);
  }
  std::vector<std::int32_t>& count = run.work.island_size;
  count.assign(up.size(), 0);
  std::int32_t largest = 0;
  for (const Contact& c : run.work.contacts.contacts) {
    const auto [a, b] = ends(c);
    largest = std::max(largest, ++count[root(static_cast<std::int32_t>(a != kNone ? a : b))]);
  }
  return static_cast<std::size_t>(largest);
}

/// What the words promise; docs/run.md has the same table.
struct Promise {
  double compliance;  // ε, of the contact's own mobility
  double tolerance;   // of velocities, over g h
  int min_sweeps, max_sweeps;
  bool single;
};
Promise promise_of(Accuracy accuracy) {
  if (accuracy == Accuracy::Fast)
    return {.compliance = 1e-4, .tolerance = 1, .min_sweeps = 30, .max_sweeps = 30, .single = true};
  return {.compliance = 1e-3, .tolerance = 1e-3, .min_sweeps = 1, .max_sweeps = 600,
          .single = false};
}

/// Sweeps of an exact step: a pile at rest needs some tens; one that moves does not get there, and
/// is given up when the change has not halved in this many.
constexpr int kExactSweeps = 1000, kExactPatience = 100;

/// Overlaps are pushed out at the speed of gravity in a step at most, or of a hundredth of the size
/// in a step: a state that comes overlapped must not burst.
double push_limit(double gravity_speed, double size, double dt) {
  return std::max(gravity_speed, 0.01 * size / dt);
}

Vec3 gravity_of(const StepRun& run) {
  const double* g = run.parameters.values.data() + run.model.gravity();
  return {g[0], g[1], g[2]};
}

Vec3 centre_of(const Body& body, const VecX& q) { return q.segment<3>(body.q_begin); }

/// Dynamic bodies in the order of H after the world, then those that move as they are told. False
/// where a body has more than mass and inertia in its block of H: a spring.
bool fill_bodies(const StepRun& run, std::vector<SweepBody>& bodies) {
  const Model& model = run.model;
  const VelocityMatrix& H = run.work.assembly.problem.H;
  if (H.kind() != VelocityMatrix::Kind::BlockDiagonal) return false;
  bodies.assign(1, SweepBody{});
  for (Index i = 0; i < model.dynamic_count(); ++i) {
    SweepBody body;
    if (!set_inertia(H.block(i), body)) return false;
    const double* v = run.work.assembly.v_free.data() + H.block_begin(i);
    body.v = Vec3(v[0], v[1], v[2]);
    body.omega = Vec3(v[3], v[4], v[5]);
    bodies.push_back(body);
  }
  return true;
}

/// The place of a body among those of the sweeps.
std::int32_t sweep_body(const StepRun& run, BodyId id, std::vector<SweepBody>& bodies,
                        std::vector<std::int32_t>& told) {
  const Body& body = run.model.body(id);
  if (body.is_dynamic()) return body.dynamic + 1;
  if (body.v_begin == kNone) return 0;
  std::int32_t& place = told[index_of(id)];
  if (place == 0) {
    place = static_cast<std::int32_t>(bodies.size());
    SweepBody moved;
    const double* v = run.x.v.data() + body.v_begin;
    moved.v = Vec3(v[0], v[1], v[2]);
    moved.omega = Vec3(v[3], v[4], v[5]);
    bodies.push_back(moved);
  }
  return place;
}

Vec3 point_velocity(const Body& body, const Vec3& lever, const VecX& v) {
  if (body.v_begin == kNone || body.v_begin + body.v_size > v.size()) return Vec3::Zero();
  const double* x = v.data() + body.v_begin;
  return Vec3(x[0], x[1], x[2]) + Vec3(x[3], x[4], x[5]).cross(lever);
}

void fill_contacts(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  const Model& model = run.model;
  const Vec3 gravity = gravity_of(run);
  const double weight = gravity.norm();
  const Vec3 up = weight > 0 ? Vec3(-gravity / weight) : Vec3::Zero();
  const double threshold = restitution_threshold(run);
  std::vector<std::int32_t> told(model.bodies().size(), 0);
  SweepProblem& crowd = work.crowd;
  const auto& contacts = work.contacts.contacts;
  match_contacts(contacts, run.warm, work.matched);
  crowd.contacts.resize(contacts.size());
  const double scale = dt / run.settings.h;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const Contact& contact = contacts[i];
    SweepContact& c = crowd.contacts[i];
    const Body &body_a = model.body(contact.body_a), &body_b = model.body(contact.body_b);
    c.a = sweep_body(run, contact.body_a, crowd.bodies, told);
    c.b = sweep_body(run, contact.body_b, crowd.bodies, told);
    const Vec3 point = 0.5 * (contact.point_a + contact.point_b);
    c.normal = contact.normal;
    c.lever_a = point - centre_of(body_a, run.x.q);
    c.lever_b = point - centre_of(body_b, run.x.q) - contact.shift;
    c.height = up.dot(point);
    const ContactMaterial material =
        contact_material(model, run.parameters, model.shape(contact.shape_a).material,
                         model.shape(contact.shape_b).material);
    c.friction = material.friction;
    c.softness = material.compliance / (dt * dt);
    const bool compliant = material.compliance > 0;
    bool bounces = false;
    NormalBiasT<double> bias{.h = dt, .beta = 1};
    if (material.restitution > 0) {
      const auto rate = [&](const VecX& v) {
        return c.normal.dot(point_velocity(body_a, c.lever_a, v) -
                            point_velocity(body_b, c.lever_b, v));
      };
      bias.restitution = material.restitution;
      bias.approach = rate(run.x.v);
      const VecX& free = work.assembly.v_free;
      const auto free_rate = [&] {  // bodies that move as told have their part in x.v alone
        const Vec3 a = point_velocity(body_a, c.lever_a, body_a.is_dynamic() ? free : run.x.v);
        const Vec3 b = point_velocity(body_b, c.lever_b, body_b.is_dynamic() ? free : run.x.v);
        return c.normal.dot(a - b);
      };
      bounces = bias.approach < -threshold && bias.approach < 0 &&
                (contact.gap <= 0 || contact.gap + dt * free_rate() <= 0);
    }
    const BiasBranch branch = choose_bias(contact.gap, compliant, bounces, bias);
    c.bias = normal_bias(branch, contact.gap, bias);
    if (branch == BiasBranch::Overlap)  // states that come overlapped are pushed apart gently
      c.bias = std::max(c.bias, -push_limit(weight * dt, contact.size, dt));
    if (bounces) c.bias = std::min(c.bias, bias.restitution * bias.approach);
    const WarmStart::Entry* entry = work.matched[i];
    c.impulse = entry != nullptr ? Vec3(scale * entry->impulse_W) : Vec3::Zero();
  }
}

/// Spatial bodies with nothing but contacts and Coulomb's friction between them.
bool has_plain_contacts(const StepRun& run) {
  const Model& model = run.model;
  if (model.law() != LawOfMotion::Inertial || run.settings.friction != FrictionModel::Coulomb ||
      !model.joints().empty() || !model.ties().empty())
    return false;
  for (const BodyId id : model.dynamic_bodies())
    if (model.body(id).planar) return false;
  for (const Material& material : model.materials())
    if (run.parameters[material.rolling_friction] > 0) return false;
  for (const MaterialPair& pair : model.material_pairs())
    if (pair.rolling_friction != kNone && run.parameters[pair.rolling_friction] > 0) return false;
  return true;
}

/// What velocities are compared with: gravity's in a step; without gravity those of the bodies.
double reference_speed(const StepRun& run, double dt) {
  const double weight = gravity_of(run).norm();
  if (weight > 0) return weight * dt;
  const VecX& v = run.work.assembly.v_free;
  const double most = v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0;
  return most > 0 ? most : 1;
}

void keep_crowd(StepRun& run, double dt) {
  const double scale = run.settings.h / dt;
  const auto& contacts = run.work.contacts.contacts;
  run.warm.joints.setZero(0);
  run.warm.contacts.clear();
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const SweepContact& c = run.work.crowd.contacts[i];
    if (!(c.impulse.dot(c.normal) > 0)) continue;
    WarmStart::Entry entry;
    entry.key = contacts[i].key;
    entry.impulse_W = scale * c.impulse;
    entry.torque_W.setZero();
    entry.normal_W = c.normal;
    entry.point_W = contacts[i].point_a;
    run.warm.contacts.push_back(entry);
  }
}

void write_velocities(StepRun& run) {
  VecX& v = run.work.solution.v;
  v.resize(run.model.dynamic_v_size());
  for (Index i = 0; i < run.model.dynamic_count(); ++i) {
    v.segment<3>(6 * i) = run.work.crowd.bodies[i + 1].v;
    v.segment<3>(6 * i + 3) = run.work.crowd.bodies[i + 1].omega;
  }
}

/// q ⊞ dt v⁺ for bodies near others, second-order flight for those without any contact; overlaps
/// that this will leave => report.
void advance_crowd(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  const Model& model = run.model;
  const SweepProblem& crowd = work.crowd;
  const Index n = model.dynamic_v_size();
  write_velocities(run);
  work.touched.assign(crowd.bodies.size(), 0);
  double deepest = 0;
  const auto& contacts = work.contacts.contacts;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const SweepContact& c = crowd.contacts[i];
    const SweepBody &a = crowd.bodies[c.a], &b = crowd.bodies[c.b];
    work.touched[static_cast<std::size_t>(c.a)] = work.touched[static_cast<std::size_t>(c.b)] = 1;
    const double rate = c.normal.dot(a.v - b.v) + a.omega.dot(c.lever_a.cross(c.normal)) -
                        b.omega.dot(c.lever_b.cross(c.normal));
    deepest = std::max(deepest, -(contacts[i].gap + dt * rate));
  }
  run.report.deepest = deepest;
  work.delta = dt * run.x.v;  // kinematic bodies
  work.delta.head(n) = dt * work.solution.v;
  work.flight.resize(n);
  free_flight(work.assembly.dynamics, work.solution.v, dt, work.flight);
  for (Index i = 0; i < model.dynamic_count(); ++i)
    if (!work.touched[static_cast<std::size_t>(i) + 1])
      work.delta.segment<6>(6 * i) = work.flight.segment<6>(6 * i);
  boxplus(model, run.x.q, work.delta, run.x.q);
  run.x.v.head(n) = work.solution.v;
  run.x.t += dt;
}

}  // namespace

bool is_crowd(const StepRun& run) {
  const StepSettings& s = run.settings;
  return s.accuracy != Accuracy::Exact && run.record == nullptr &&
         s.stabilisation == Stabilisation::Projection && s.max_halvings == 0 && !s.impact_events &&
         has_plain_contacts(run);
}

void start_by_sweeps(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  const Model& model = run.model;
  const auto& contacts = work.rows.contacts;
  if (contacts.size() < kCrowd || !work.rows.flexible.empty() || !has_plain_contacts(run) ||
      model.v_size() != model.dynamic_v_size() || !fill_bodies(run, work.crowd.bodies))
    return;
  const Vec3 gravity = gravity_of(run);
  const double weight = gravity.norm();
  const Vec3 up = weight > 0 ? Vec3(-gravity / weight) : Vec3::Zero();
  work.crowd.contacts.resize(contacts.size());
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const ContactBlock& block = work.assembly.blocks[i];
    SweepContact& c = work.crowd.contacts[i];
    const Body &a = model.body(contacts[i].body_a), &b = model.body(contacts[i].body_b);
    c.a = a.is_dynamic() ? a.dynamic + 1 : 0;
    c.b = b.is_dynamic() ? b.dynamic + 1 : 0;
    c.normal = block.frame[0];
    c.lever_a = block.lever_a;
    c.lever_b = block.lever_b;
    c.bias = work.assembly.problem.b[block.row];
    c.friction = block.material.friction;
    c.softness = block.softness;
    c.height = up.dot(contacts[i].point_a);
    Vec3 torque;
    contact_impulse(block, run.settings.friction, false,
                    work.solution.lambda.data() + block.row, c.impulse, torque);
  }
  // A tenth of the tolerance: the judge has its own measure.
  const SweepResult result =
      solve_sweeps(work.crowd,
                   {.max_sweeps = kExactSweeps,
                    .tolerance = 0.1 * run.settings.solver.tolerance,
                    .speed = reference_speed(run, dt),
                    .patience = kExactPatience},
                   work.sweeps);
  if (result.outcome == Outcome::NotFinite) return;
  run.report.iterations += result.sweeps;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const ContactBlock& block = work.assembly.blocks[i];
    contact_lambda(block, run.settings.friction, false, work.crowd.contacts[i].impulse,
                   Vec3::Zero(), work.solution.lambda.data() + block.row);
  }
  write_velocities(run);
}

bool step_crowd(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  if (work.contacts.contacts.size() < kCrowd || largest_island(run) < kCrowd) return false;
  Timer timer;
  if (!fill_bodies(run, work.crowd.bodies)) return false;
  fill_contacts(run, dt);
  run.report.seconds_assembly += timer.seconds();
  timer.restart();
  const Promise promise = promise_of(run.settings.accuracy);
  const SweepResult result = solve_sweeps(work.crowd,
                                          {.max_sweeps = promise.max_sweeps,
                                           .min_sweeps = promise.min_sweeps,
                                           .tolerance = promise.tolerance,
                                           .speed = reference_speed(run, dt),
                                           .compliance = promise.compliance,
                                           .single = promise.single},
                                          work.sweeps);
  run.report.seconds_solve += timer.seconds();
  if (result.outcome == Outcome::NotFinite) return false;
  ++run.report.solves;
  run.report.iterations += result.sweeps;
  run.report.method = Method::GaussSeidel;
  run.report.constraints = static_cast<Index>(work.contacts.contacts.size());
  run.report.residual = std::max(run.report.residual, result.residual);
  run.report.outcome = std::max(run.report.outcome, result.outcome);
  run.report.accuracy = run.settings.accuracy;
  keep_crowd(run, dt);
  advance_crowd(run, dt);
  work.swept = true;
  return true;
}

}  // namespace orthant::internal
