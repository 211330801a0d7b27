// SPDX-License-Identifier: Apache-2.0
// step/crowd.cpp: one interval of many bodies in contact, by sweeps on bodies and contacts alone.
//   D_n v⁺ + Φ/h + (s + ε W_nn) λ_n >= 0,   overlaps pushed out at a limited speed
// Gaps are part of the solve, so nothing is projected afterwards: for spheres a solved step cannot
// overlap at all, since |d + δ| >= n·(d + δ). No canonical problem is assembled.
#include <Eigen/Geometry>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "base/refill.hpp"
#include "collision/changed_contacts.hpp"
#include "force/coast.hpp"
#include "force/free_rotation_kernel.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/force/force.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr std::size_t kContactGrain = 512, kBodyGrain = 1024;
/// Contacts from which on an island is not small.
constexpr std::int32_t kHeapContacts = 25;
/// Velocities updated in place drift: in single precision more sweeps do not get below this.
constexpr double kSingleTolerance = 3e-3;

struct IslandSizes {
  std::size_t largest = 0;  // contacts of the largest island
  std::size_t heaped = 0;   // contacts of those that are not small
};

/// Islands of bodies that contacts connect, whatever stands still between.
IslandSizes island_sizes(StepRun& run, std::span<const Contact> contacts) {
  std::vector<std::int32_t>&up = run.work.crowd.island_of, &size = run.work.crowd.island_size;
  up.resize(static_cast<std::size_t>(run.model.dynamic_count()));
  std::iota(up.begin(), up.end(), 0);
  size.assign(up.size(), 0);
  const auto root = [&](std::int32_t i) {
    while (up[i] != i) i = up[i] = up[up[i]];
    return i;
  };
  for (const Contact& c : contacts) {
    Index a = run.model.body(c.body_a).dynamic, b = run.model.body(c.body_b).dynamic;
    if (a == kNone) a = b;
    if (b == kNone) b = a;
    const std::int32_t x = root(static_cast<std::int32_t>(a));
    const std::int32_t y = root(static_cast<std::int32_t>(b));
    const std::int32_t first = std::min(x, y), second = std::max(x, y);
    if (first != second) {
      up[second] = first;
      size[first] += size[second];
    }
    ++size[first];
  }
  IslandSizes out;
  for (std::size_t i = 0; i < up.size(); ++i) {
    if (up[i] != static_cast<std::int32_t>(i)) continue;
    out.largest = std::max(out.largest, static_cast<std::size_t>(size[i]));
    if (size[i] >= kHeapContacts) out.heaped += static_cast<std::size_t>(size[i]);
  }
  return out;
}

/// Islands that are not small have the contacts of a crowd together: twenty heaps that grow into
/// one another are as dear to solve exactly as the one they become. So have many contacts together,
/// however small their islands: their canonical problem would take more memory than all else of the
/// step.
bool has_crowd(StepRun& run) {
  const auto& contacts = run.work.detected.contacts.contacts;
  return contacts.size() >= kManyContacts || island_sizes(run, contacts).heaped >= kCrowdContacts;
}

/// Momentum of sweeps that go on until a tolerance is reached. Where a pile is about to slide the
/// change grows slowly for hundreds of sweeps without turning round, and where contacts open and
/// close it jumps: a sequence that starts anew in each of them is no momentum at all. Thirty
/// sweeps, and those of a rigid law that another solver follows, end nearer with one that does.
void keep_momentum(SweepSettings& settings, double memory) {
  settings.memory = memory;
  settings.set_back = 50;
}

/// What the words promise, where no setting says otherwise; docs/run.md has the same table.
/// `contacts`: of a crowd that one process steps; that of a crew is cut into cells however many.
SweepSettings promise_of(const StepSettings& s, std::size_t contacts) {
  const bool whole = contacts < kCutContacts, few = contacts < kManyContacts;
  const bool fast = s.accuracy == Accuracy::Fast;
  SweepSettings out;
  out.compliance = s.crowd_compliance > 0 ? s.crowd_compliance : fast ? 1e-4 : 1e-3;
  out.tolerance = s.crowd_tolerance > 0 ? s.crowd_tolerance : fast ? 1 : 1e-3;
  out.single = out.tolerance >= kSingleTolerance;
  out.max_sweeps = s.crowd_sweeps > 0 ? s.crowd_sweeps : fast ? 30 : 600;
  // Without a tolerance of its own `fast` is a number of sweeps.
  out.min_sweeps = fast && s.crowd_tolerance == 0 ? out.max_sweeps : 1;
  if (!fast) keep_momentum(out, 0.9);
  // Sweeps alone take thousands where a pile moves, or go round in a cycle: those of few contacts
  // lead Newton's method to its basin.
  const bool tight = out.tolerance < out.newton_from;
  if (s.crowd_sweeps == 0 && (tight || (whole && !out.single))) out.max_sweeps = 4000;
  if (few && !out.single) {
    out.newton_steps = 30;
    out.patience = 300;
  } else if (!fast) {
    out.patience = 1000;  // what gets there halves its change sooner
  }
  return out;
}

/// Sweeps of an exact step: a pile at rest needs some tens; one that moves does not get there, and
/// is given up when the change has not halved in this many.
constexpr int kExactSweeps = 2000, kExactPatience = 300;

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
bool fill_bodies(StepRun& run, std::vector<SweepBody>& bodies) {
  const Model& model = run.model;
  const VelocityMatrix& H = run.work.detected.assembly.problem.H;
  if (H.kind() != VelocityMatrix::Kind::BlockDiagonal) return false;
  const auto count = static_cast<std::size_t>(model.dynamic_count());
  bodies.assign(count + 1, SweepBody{});
  std::vector<unsigned char>& good =
      run.work.displacement.touched;  // by chunk; free until bodies move
  good.assign(chunk_count(count, kBodyGrain), 1);
  parallel_for_chunks(
      count, kBodyGrain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        for (std::size_t k = begin; k < end && good[chunk] != 0; ++k) {
          const Index i = static_cast<Index>(k);
          SweepBody& body = bodies[k + 1];
          good[chunk] = set_inertia(H.block(i), body);
          const double* v = run.work.detected.assembly.v_free.data() + H.block_begin(i);
          body.v = Vec3(v[0], v[1], v[2]);
          body.omega = Vec3(v[3], v[4], v[5]);
        }
      });
  return std::find(good.begin(), good.end(), 0) == good.end();
}

/// Places of the bodies that move as they are told, by body, behind the dynamic ones; 0: the world.
void place_told(const StepRun& run, std::vector<SweepBody>& bodies,
                std::vector<std::int32_t>& told) {
  told.assign(run.model.bodies().size(), 0);
  if (run.model.v_size() == run.model.dynamic_v_size()) return;
  for (std::size_t i = 0; i < told.size(); ++i) {
    const Body& body = run.model.bodies()[i];
    if (body.is_dynamic() || body.v_begin == kNone) continue;
    told[i] = static_cast<std::int32_t>(bodies.size());
    SweepBody moved;
    const double* v = run.x.v.data() + body.v_begin;
    moved.v = Vec3(v[0], v[1], v[2]);
    moved.omega = Vec3(v[3], v[4], v[5]);
    bodies.push_back(moved);
  }
}

void find_cells(StepRun& run, const Vec3& gravity, double edge) {
  const std::span<const BodyId> bodies = run.model.dynamic_bodies();
  run.work.crowd.cells.resize(bodies.size());
  parallel_for(bodies.size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      run.work.crowd.cells[i] =
          crowd_cell(centre_of(run.model.body(bodies[i]), run.x.q), gravity, edge);
  });
}

/// A contact is swept with the cell of its first dynamic body. Both bodies lie within half an edge
/// of that cell, so that two cells of a colour, a cell apart, share none.
SweepCell cell_of(const StepRun& run, const Contact& contact, double edge) {
  const Body &a = run.model.body(contact.body_a), &b = run.model.body(contact.body_b);
  const auto& cells = run.work.crowd.cells;
  if (!a.is_dynamic()) return cells[static_cast<std::size_t>(b.dynamic)];
  if (b.is_dynamic()) {
    const Vec3 apart = centre_of(b, run.x.q) - centre_of(a, run.x.q);
    if (!(apart.lpNorm<Eigen::Infinity>() < 0.499 * edge)) return kNoCell;
  }
  return cells[static_cast<std::size_t>(a.dynamic)];
}

/// contact_material(), asked again only where the two materials are not those of the last contact.
class Materials {
 public:
  explicit Materials(const StepRun& run) : run_(run) {}
  const ContactMaterial& of(const Contact& contact) {
    const MaterialId a = run_.model.shape(contact.shape_a).material;
    const MaterialId b = run_.model.shape(contact.shape_b).material;
    if (!known_ || a != a_ || b != b_) last_ = contact_material(run_.model, run_.parameters, a, b);
    known_ = true;
    a_ = a;
    b_ = b;
    return last_;
  }

 private:
  const StepRun& run_;
  bool known_ = false;
  MaterialId a_{}, b_{};
  ContactMaterial last_;
};

Vec3 point_velocity(const Body& body, const Vec3& lever, const VecX& v) {
  if (body.v_begin == kNone || body.v_begin + body.v_size > v.size()) return Vec3::Zero();
  const double* x = v.data() + body.v_begin;
  return Vec3(x[0], x[1], x[2]) + Vec3(x[3], x[4], x[5]).cross(lever);
}

SweepContact sweep_contact(const StepRun& run, const Contact& contact,
                           const ContactMaterial& material, double dt, const Vec3& up,
                           double weight, double threshold) {
  const Model& model = run.model;
  const Body &body_a = model.body(contact.body_a), &body_b = model.body(contact.body_b);
  SweepContact c;
  const Vec3 point = 0.5 * (contact.point_a + contact.point_b);
  c.normal = contact.normal;
  c.lever_a = point - centre_of(body_a, run.x.q);
  c.lever_b = point - centre_of(body_b, run.x.q) - contact.shift;
  c.height = up.dot(point);
  c.friction = material.friction;
  c.softness = material.compliance / (dt * dt);
  const bool compliant = material.compliance > 0;
  bool bounces = false;
  NormalBiasT<double> bias{.h = dt, .beta = 1};
  if (material.restitution > 0 && model.law() == LawOfMotion::Inertial) {
    const auto rate = [&](const VecX& v) {
      return c.normal.dot(point_velocity(body_a, c.lever_a, v) -
                          point_velocity(body_b, c.lever_b, v));
    };
    bias.restitution = material.restitution;
    bias.approach = rate(run.x.v);
    const VecX& free = run.work.detected.assembly.v_free;
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
  return c;
}

/// What all contacts of a step share.
struct Filling {
  Filling(StepRun& r, double length)
      : run(r), dt(length), gravity(gravity_of(r)), weight(gravity.norm()) {
    if (weight > 0) up = -gravity / weight;
    const StepCrew* crew = run.work.crowd.crew;
    // Across the sides of a periodic box cells of one colour meet: there all is one cell.
    cut = crew != nullptr || (run.work.detected.contacts.contacts.size() >= kCutContacts &&
                              !run.settings.periodic.any());
    edge = crew != nullptr ? crew->cell_edge() : crowd_cell_edge(run.model);
  }
  /// Bodies, as their places among those of the sweeps, and cell.
  void place(const Contact& contact, SweepContact& c) const {
    c.a = place_of(contact.body_a);
    c.b = place_of(contact.body_b);
    if (cut) c.cell = cell_of(run, contact, edge);
  }

  StepRun& run;
  double dt;
  Vec3 gravity, up = Vec3::Zero();
  double weight, edge = 0;
  bool cut = false;

 private:
  std::int32_t place_of(BodyId id) const {
    const Body& body = run.model.body(id);
    return body.is_dynamic() ? static_cast<std::int32_t>(body.dynamic) + 1
                             : run.work.crowd.told[static_cast<std::size_t>(index_of(id))];
  }
};

void fill_contacts(const Filling& filling) {
  StepRun& run = filling.run;
  StepWorkspace::Impl& work = run.work;
  const double threshold = restitution_threshold(run);
  SweepProblem& crowd = work.crowd.problem;
  place_told(run, crowd.bodies, work.crowd.told);
  const auto& contacts = work.detected.contacts.contacts;
  match_contacts(contacts, run.warm, work.matched);
  if (filling.cut) find_cells(run, filling.gravity, filling.edge);
  refill(crowd.contacts, contacts.size());
  const double scale = filling.dt / run.settings.h;
  parallel_for(contacts.size(), kContactGrain, [&](std::size_t begin, std::size_t end) {
    Materials materials(run);
    for (std::size_t i = begin; i < end; ++i) {
      SweepContact& c = crowd.contacts[i];
      c = sweep_contact(run, contacts[i], materials.of(contacts[i]), filling.dt, filling.up,
                        filling.weight, threshold);
      filling.place(contacts[i], c);
      const WarmStart::Entry* entry = work.matched[i];
      c.impulse = entry != nullptr ? Vec3(scale * entry->impulse_W) : Vec3::Zero();
    }
  });
}

// --- bodies that turn by much ---
// A row is true to first order in the turn of its bodies, and corners that were far may come near.
// Where a body turns by more than kFastTurn the step is looked at where the sweeps have taken it,
//   q' = q ⊞ dt v',   Φ' + dt J' (v⁺ − v') >= 0
// for all that overlaps there, and swept once more with these rows beside the others.

/// [rad]: half its square is what a row misses of a lever.
constexpr double kFastTurn = 0.1;
/// Sweeps that foresee where bodies go, where it is known before that some turn fast.
constexpr int kForesight = 5;
/// Overlaps that are looked at, of the smaller body.
constexpr double kSeenOverlap = 1e-3;

double normal_rate(const SweepContact& c, const std::vector<SweepBody>& bodies) {
  const SweepBody &a = bodies[c.a], &b = bodies[c.b];
  return c.normal.dot(a.v - b.v) + a.omega.dot(c.lever_a.cross(c.normal)) -
         b.omega.dot(c.lever_b.cross(c.normal));
}

/// By body: the velocities of the sweeps turn it by much. False where there is none.
bool find_fast_turns(StepRun& run, double dt) {
  const Model& model = run.model;
  // Ranks do not know where bodies go that only others push.
  if (run.work.crowd.crew != nullptr || model.law() != LawOfMotion::Inertial) return false;
  std::vector<unsigned char>& fast = run.work.crowd.fast;
  fast.assign(model.bodies().size(), 0);
  std::atomic<bool> some{false};
  parallel_for(static_cast<std::size_t>(model.dynamic_count()), kBodyGrain,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const BodyId id = model.dynamic_bodies()[i];
                   if (!(run.work.measures.turning(id) > 0)) continue;  // a centred sphere
                   const double turn = dt * run.work.crowd.problem.bodies[i + 1].omega.norm();
                   if (!(turn > kFastTurn)) continue;
                   fast[static_cast<std::size_t>(index_of(id))] = 1;
                   some = true;
                 }
               });
  return some;
}

void write_velocities(const StepRun& run, VecX& v);

/// Rows of what overlaps where the velocities of the sweeps lead, behind those of the step.
void add_turned_contacts(const Filling& filling) {
  StepRun& run = filling.run;
  StepWorkspace::Impl& work = run.work;
  CrowdScratch& crowd = work.crowd;
  const Model& model = run.model;
  const double dt = filling.dt;
  VecX& delta = work.displacement.delta;
  delta = run.x.v;
  write_velocities(run, delta);
  delta *= dt;
  boxplus(model, run.x.q, delta, work.trial.q);
  CollisionSettings settings = collision_settings(run);
  settings.margin = 0;
  find_changed_contacts(model, run.parameters, work.trial.q, {}, {crowd.fast}, settings,
                        work.collision, work.trial.contacts);
  Materials materials(run);
  for (const Contact& contact : work.trial.contacts.contacts) {
    if (!(contact.gap < -kSeenOverlap * contact.size)) continue;
    const Body &a = model.body(contact.body_a), &b = model.body(contact.body_b);
    const ContactMaterial& material = materials.of(contact);
    SweepContact c;
    const Vec3 point = 0.5 * (contact.point_a + contact.point_b);
    c.normal = contact.normal;
    c.lever_a = point - centre_of(a, work.trial.q);
    c.lever_b = point - centre_of(b, work.trial.q) - contact.shift;
    c.height = filling.up.dot(point);
    c.friction = material.friction;
    c.softness = material.compliance / (dt * dt);
    c.impulse.setZero();
    filling.place(contact, c);
    const double base = contact.gap / dt - normal_rate(c, crowd.problem.bodies);
    c.bias = std::max(base, -push_limit(filling.weight * dt, contact.size, dt));
    crowd.problem.contacts.push_back(c);
    crowd.turned_gaps.push_back(dt * base);
  }
}

/// To be swept once more: impulses stay, bodies have the velocities they have without any.
void take_back_velocities(StepRun& run) {
  const VecX& v_free = run.work.detected.assembly.v_free;
  for (Index i = 0; i < run.model.dynamic_count(); ++i) {
    SweepBody& body = run.work.crowd.problem.bodies[static_cast<std::size_t>(i) + 1];
    body.v = v_free.segment<3>(6 * i);
    body.omega = v_free.segment<3>(6 * i + 3);
  }
}

/// Spatial bodies with nothing but contacts and Coulomb's friction between them.
bool has_plain_contacts(const StepRun& run) {
  const Model& model = run.model;
  if (run.settings.friction != FrictionModel::Coulomb || !model.joints().empty() ||
      !model.ties().empty())
    return false;
  for (const BodyId id : model.dynamic_bodies())
    if (model.body(id).planar) return false;
  for (const Material& material : model.materials())
    if (run.parameters[material.rolling_friction] > 0) return false;
  for (const MaterialPair& pair : model.material_pairs())
    if (pair.rolling_friction != kNone && run.parameters[pair.rolling_friction] > 0) return false;
  return true;
}

/// What velocities are compared with: gravity's in a step; without gravity, and where bodies do not
/// fall but drift, those of the bodies.
double reference_speed(const StepRun& run, double dt) {
  const double weight = gravity_of(run).norm();
  if (weight > 0 && run.model.law() == LawOfMotion::Inertial) return weight * dt;
  const VecX& v = run.work.detected.assembly.v_free;
  double most = v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0;
  if (run.work.crowd.crew != nullptr) most = run.work.crowd.crew->largest(most);
  return most > 0 ? most : 1;
}

void keep_crowd(StepRun& run, double dt) {
  const double scale = run.settings.h / dt;
  const auto& contacts = run.work.detected.contacts.contacts;
  const auto pushes = [&](std::size_t i) {
    const SweepContact& c = run.work.crowd.problem.contacts[i];
    return c.impulse.dot(c.normal) > 0;
  };
  std::vector<std::size_t>& kept = run.work.crowd.kept;
  kept.assign(chunk_count(contacts.size(), kContactGrain) + 1, 0);
  parallel_for_chunks(contacts.size(), kContactGrain,
                      [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                        for (std::size_t i = begin; i < end; ++i) kept[chunk + 1] += pushes(i);
                      });
  for (std::size_t i = 0; i + 1 < kept.size(); ++i) kept[i + 1] += kept[i];
  run.warm.joints.setZero(0);
  refill(run.warm.contacts, kept.back());
  parallel_for_chunks(contacts.size(), kContactGrain,
                      [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                        std::size_t next = kept[chunk];
                        for (std::size_t i = begin; i < end; ++i) {
                          if (!pushes(i)) continue;
                          const SweepContact& c = run.work.crowd.problem.contacts[i];
                          WarmStart::Entry& entry = run.warm.contacts[next++];
                          entry.key = contacts[i].key;
                          entry.impulse_W = scale * c.impulse;
                          entry.torque_W.setZero();
                          entry.normal_W = c.normal;
                          entry.point_W = contacts[i].point_a;
                        }
                      });
}

/// Of the sweeps => the head of v.
void write_velocities(const StepRun& run, VecX& v) {
  const auto count = static_cast<std::size_t>(run.model.dynamic_count());
  parallel_for(count, kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const SweepBody& body = run.work.crowd.problem.bodies[i + 1];
      v.segment<3>(6 * static_cast<Index>(i)) = body.v;
      v.segment<3>(6 * static_cast<Index>(i) + 3) = body.omega;
    }
  });
}

/// [m, rad]: from any place that is finite, what is nearer is finite, and so is its square.
constexpr double kFarthest = 1e150;

/// q ⊞ dt v⁺ for bodies near others, second-order flight for those without any contact; overlaps
/// that this will leave => report.
void advance_crowd(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  const Model& model = run.model;
  const SweepProblem& crowd = work.crowd.problem;
  work.displacement.touched.assign(crowd.bodies.size(), 0);
  const auto& contacts = work.detected.contacts.contacts;
  std::atomic<double> deepest{0};
  parallel_for(crowd.contacts.size(), kContactGrain, [&](std::size_t begin, std::size_t end) {
    double here = 0;
    for (std::size_t i = begin; i < end; ++i) {
      const SweepContact& c = crowd.contacts[i];
      for (const std::int32_t body : {c.a, c.b})
        std::atomic_ref(work.displacement.touched[static_cast<std::size_t>(body)])
            .store(1, std::memory_order_relaxed);
      if (work.crowd.crew != nullptr && !work.crowd.crew->mine(c.cell)) continue;
      const double gap =
          i < contacts.size() ? contacts[i].gap : work.crowd.turned_gaps[i - contacts.size()];
      here = std::max(here, -(gap + dt * normal_rate(c, crowd.bodies)));
    }
    double most = deepest.load();
    while (here > most && !deepest.compare_exchange_weak(most, here)) {
    }
  });
  run.report.deepest = deepest;
  VecX& delta = work.displacement.delta;
  delta.resize(model.v_size());
  const Index told = model.v_size() - model.dynamic_v_size();
  delta.tail(told) = dt * run.x.v.tail(told);
  const bool flies = model.law() == LawOfMotion::Inertial;
  const auto near = [](const auto& way) { return (way.array().abs() < kFarthest).all(); };
  std::atomic<bool> finite{near(delta.tail(told))};
  const auto count = static_cast<std::size_t>(model.dynamic_count());
  parallel_for(count, kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Body& body = model.body(model.dynamic_bodies()[i]);
      Eigen::Matrix<double, 6, 1> v;
      v << crowd.bodies[i + 1].v, crowd.bodies[i + 1].omega;
      if (flies && work.displacement.touched[i + 1] == 0) {
        const Coast coast = coast_of(body, run.parameters.values.data(), run.x.q, run.x.v, dt);
        delta.segment<6>(body.v_begin) = coast.delta + (0.5 * dt) * (v - coast.velocity);
      } else {
        delta.segment<6>(body.v_begin) = dt * v;
      }
      if (!near(delta.segment<6>(body.v_begin))) finite = false;
    }
  });
  if (!finite) {
    run.report.outcome = Outcome::NotFinite;
    return;
  }
  write_velocities(run, run.x.v);
  boxplus(model, run.x.q, delta, run.x.q);
  run.x.t += dt;
}

/// The judge's word on what was swept, where nobody asks for more than an answer: a record, a
/// method or an explanation is the business of solve(). Large piles that move (`large`) end here,
/// with what the sweeps have reached: their rigid law is not solved by more work, and
/// factorisations of them take seconds.
bool accepts_swept(StepRun& run, const SweepResult& swept, bool large, const Assembly& assembly,
                   Solved& solved) {
  CrowdScratch& work = run.work.crowd;
  const SolveSettings& s = run.settings.solver;
  if (run.record != nullptr || s.method != Method::Automatic || !s.plan.empty() ||
      s.trace != nullptr)
    return false;
  const CanonicalProblem& p = assembly.problem;
  work.scale.v_free = assembly.v_free;
  scale_of(p, assembly.solver, work.scale_work, work.scale);
  const Residual residual = judge_quick(p, work.scale, solved.solution, work.judge);
  const bool converged = residual.value <= s.tolerance;
  if (!converged && !large) return false;
  if (!converged)
    run.report.outcome = std::max(
        run.report.outcome, swept.outcome == Outcome::Converged ? Outcome::Stalled : swept.outcome);
  solved.solution.w = work.judge.w;
  ++run.report.solves;
  run.report.method = Method::GaussSeidel;
  run.report.constraints = static_cast<Index>(solved.rows.contacts.size());
  run.report.residual = std::max(run.report.residual, residual.value);
  return true;
}

}  // namespace

bool is_crowd(const StepRun& run) {
  const StepSettings& s = run.settings;
  return s.accuracy != Accuracy::Exact && run.record == nullptr &&
         s.stabilisation == Stabilisation::Projection && s.max_halvings == 0 && !s.impact_events &&
         run.model.flexible_parts().empty() && has_plain_contacts(run);
}

bool free_crowd_motion(StepRun& run, double dt) {
  const Timer timer;
  const Model& model = run.model;
  StepWorkspace::Impl& work = run.work;
  if (model.law() != LawOfMotion::Inertial) return false;
  for (const Force& force : model.forces())
    if (force.kind == ForceKind::Spring || force.kind == ForceKind::Callback) return false;
  VecX& v_free = work.detected.assembly.v_free;  // of each body first the force
  applied_force(model, run.parameters, run.x.q, run.x.v, run.x.t + 0.5 * dt, run.u, v_free);
  const std::span<const BodyId> ids = model.dynamic_bodies();
  work.crowd.problem.bodies.resize(ids.size() + 1);
  work.crowd.problem.bodies[0] = {};
  parallel_for(ids.size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Body& body = model.body(ids[i]);
      SweepBody& out = work.crowd.problem.bodies[i + 1];
      const Mat3 inertia = inertia_matrix(run.parameters.values.data() + body.inertia);
      const bool round = inertia == inertia(0, 0) * Mat3::Identity();
      const Quat p = body_pose(body, run.x.q.data()).p;
      (void)set_inertia(run.parameters[body.mass], round ? inertia : world_inertia(p, inertia),
                        out);
      const Index at = body.v_begin;
      const Coast coast = coast_of(body, run.parameters.values.data(), run.x.q, run.x.v, dt);
      out.v = coast.velocity.head<3>() + dt * out.inverse_mass * v_free.segment<3>(at);
      out.omega = coast.velocity.tail<3>() + dt * turned_by(out, v_free.segment<3>(at + 3));
      v_free.segment<3>(at) = out.v;
      v_free.segment<3>(at + 3) = out.omega;
    }
  });
  run.report.seconds_assembly += timer.seconds();
  return v_free.allFinite();
}

bool start_by_sweeps(StepRun& run, double dt, const Assembly& assembly, Solved& solved) {
  StepWorkspace::Impl& work = run.work;
  const Model& model = run.model;
  const auto& contacts = solved.rows.contacts;
  if (contacts.size() < kCrowdContacts || !solved.rows.flexible.empty() ||
      model.law() != LawOfMotion::Inertial || !has_plain_contacts(run) ||
      model.v_size() != model.dynamic_v_size() || !fill_bodies(run, work.crowd.problem.bodies))
    return false;
  const Vec3 gravity = gravity_of(run);
  const double weight = gravity.norm();
  const Vec3 up = weight > 0 ? Vec3(-gravity / weight) : Vec3::Zero();
  work.crowd.problem.contacts.resize(contacts.size());
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const ContactBlock& block = assembly.blocks[i];
    SweepContact& c = work.crowd.problem.contacts[i];
    const Body &a = model.body(contacts[i].body_a), &b = model.body(contacts[i].body_b);
    c.a = a.is_dynamic() ? a.dynamic + 1 : 0;
    c.b = b.is_dynamic() ? b.dynamic + 1 : 0;
    c.normal = block.frame[0];
    c.lever_a = block.lever_a;
    c.lever_b = block.lever_b;
    c.bias = assembly.problem.b[block.row];
    c.friction = block.material.friction;
    c.softness = block.softness;
    c.height = up.dot(contacts[i].point_a);
    c.cell = {0, 0};
    Vec3 torque;
    contact_impulse(block, run.settings.friction, false, solved.solution.lambda.data() + block.row,
                    c.impulse, torque);
  }
  // A tenth of the tolerance: the judge has its own measure.
  SweepSettings settings{.max_sweeps = kExactSweeps,
                         .tolerance = 0.1 * run.settings.solver.tolerance,
                         .speed = reference_speed(run, dt),
                         .patience = kExactPatience};
  const bool large =
      contacts.size() >= kManyContacts && island_sizes(run, contacts).largest >= kManyContacts;
  if (large) keep_momentum(settings, 0.5);  // at rest it seldom grows
  const SweepResult result = solve_sweeps(work.crowd.problem, settings, work.crowd.sweeps);
  if (result.outcome == Outcome::NotFinite) return false;
  run.report.iterations += result.sweeps;
  for (std::size_t i = 0; i < contacts.size(); ++i) {
    const ContactBlock& block = assembly.blocks[i];
    contact_lambda(block, run.settings.friction, false, work.crowd.problem.contacts[i].impulse,
                   Vec3::Zero(), solved.solution.lambda.data() + block.row);
  }
  write_velocities(run, solved.solution.v);
  return (result.outcome == Outcome::Converged || large) &&
         accepts_swept(run, result, large, assembly, solved);
}

/// What steps by rows have kept, which a crowd without H does not need: of many bodies it is more
/// than all that the sweeps take. Crowds that are only just large keep it, so that those who are so
/// now and then do not allocate.
void release_rows(StepWorkspace::Impl& work) {
  Assembly& assembly = work.detected.assembly;
  if (assembly.problem.H.rows() == 0) return;
  Assembly lean;
  std::swap(lean.v_free, assembly.v_free);
  std::swap(assembly, lean);
  work.solver = {};
  work.solve_report = {};
  work.solved = {};
  work.correction = {};
  work.trial = {};
  work.before = {};
  work.flight = {};
  work.crowd.scale_work = {};
  work.crowd.scale = {};
  work.crowd.judge = {};
}

bool step_crowd(StepRun& run, double dt, bool light) {
  StepWorkspace::Impl& work = run.work;
  Timer timer;
  // Of many bodies the scratch of each stage goes before the next one takes its own.
  const bool large = light && work.detected.contacts.contacts.size() >= kCutContacts;
  if (large) {
    release_rows(work);
    work.collision = {};
  }
  if (work.crowd.crew == nullptr && light && work.detected.contacts.contacts.empty()) {
    work.crowd.problem.contacts.clear();
    keep_crowd(run, dt);
    advance_crowd(run, dt);
    return work.swept = true;
  }
  if (work.crowd.crew != nullptr) {
    const bool able = light || fill_bodies(run, work.crowd.problem.bodies);
    // Refused: all of them step the whole, which is not this step's business.
    if (!work.crowd.crew->accept(run.model, work.detected.contacts.contacts, work.detected.motion,
                                 able))
      return work.swept = true;
  } else if (work.detected.contacts.contacts.size() < kCrowdContacts || !has_crowd(run) ||
             !(light || fill_bodies(run, work.crowd.problem.bodies))) {
    return false;
  }
  const Filling filling(run, dt);
  fill_contacts(filling);
  if (large) work.matched = {};
  run.report.seconds_assembly += timer.seconds();
  timer.restart();
  SweepSettings settings =
      promise_of(run.settings, work.crowd.crew != nullptr ? kCutContacts
                                                          : work.detected.contacts.contacts.size());
  settings.speed = reference_speed(run, dt);
  settings.crew = work.crowd.crew;
  work.crowd.turned_gaps.clear();
  const bool foreseen = find_fast_turns(run, dt);
  SweepSettings first = settings;
  if (foreseen) {
    first.max_sweeps = std::min(first.max_sweeps, kForesight);
    first.newton_steps = 0;
  }
  SweepResult result = solve_sweeps(work.crowd.problem, first, work.crowd.sweeps);
  if (result.outcome != Outcome::NotFinite && find_fast_turns(run, dt))
    add_turned_contacts(filling);
  if (result.outcome != Outcome::NotFinite && (foreseen || !work.crowd.turned_gaps.empty())) {
    take_back_velocities(run);
    run.report.iterations += result.sweeps;
    result = solve_sweeps(work.crowd.problem, settings, work.crowd.sweeps);
  }
  run.report.seconds_solve += timer.seconds();
  if (result.outcome == Outcome::NotFinite) {
    if (work.crowd.crew != nullptr) run.report.outcome = Outcome::NotFinite;
    return work.swept = work.crowd.crew != nullptr;
  }
  ++run.report.solves;
  run.report.iterations += result.sweeps;
  run.report.method = Method::GaussSeidel;
  run.report.constraints = static_cast<Index>(work.detected.contacts.contacts.size());
  run.report.residual = std::max(run.report.residual, result.residual);
  run.report.outcome = std::max(run.report.outcome, result.outcome);
  run.report.accuracy = run.settings.accuracy;
  if (large) work.crowd.sweeps = {};
  keep_crowd(run, dt);
  advance_crowd(run, dt);
  return work.swept = true;
}

}  // namespace orthant::internal

namespace orthant {

double crowd_cell_edge(const Model& model) {
  double sum = 0;
  for (const BodyId id : model.dynamic_bodies()) {
    const Body& body = model.body(id);
    double radius = 0;
    for (Index s = body.shape_begin; s < body.shape_end; ++s)
      radius = std::max(radius, model.shapes()[static_cast<std::size_t>(s)].bounding_radius);
    sum += radius;
  }
  return model.dynamic_count() > 0 ? 8 * sum / static_cast<double>(model.dynamic_count()) : 0;
}

SweepCell crowd_cell(const Vec3& place, const Vec3& gravity, double edge) {
  Index along = 2;
  for (const Index d : {1, 0})
    if (std::abs(gravity[d]) > std::abs(gravity[along])) along = d;
  const double x = std::floor(place[along == 0 ? 1 : 0] / edge);
  const double y = std::floor(place[along == 2 ? 1 : 2] / edge);
  constexpr double kFar = 1e9;
  if (!(std::abs(x) < kFar && std::abs(y) < kFar)) return kNoCell;
  return {static_cast<std::int32_t>(x), static_cast<std::int32_t>(y)};
}

void set_crew(StepWorkspace& workspace, StepCrew* crew) { workspace.impl().crowd.crew = crew; }

}  // namespace orthant
