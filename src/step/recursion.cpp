// SPDX-License-Identifier: Apache-2.0
// step/recursion.cpp: the recursively generated problem (ReLCP) and its one-solve relatives.
//   solve all rows so far;  q_i = q ⊞ h v_i;  each pair deeper than the tolerance at q_i adds one
//   row  D_i v + Φ(q_i)/h − D_i v_i >= 0;  until none is left
// A trial starts from the base configuration, never from the last trial, and no row is ever dropped
// within a step: without its old rows per pair would rock between two of them for ever.
#include <algorithm>
#include <cmath>
#include <optional>

#include "orthant/base/timer.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "step/body_parts.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr int kPatience = 5;  // rounds after a solve that failed: more rows seldom mend it

ContactRowSettings row_settings(const StepRun& run, double dt) {
  // β = 1: a gap is what it is on both sides of zero, overlap left by the last step included.
  return {.h = dt,
          .friction = run.settings.friction,
          .pyramid_directions = run.settings.pyramid_directions,
          .beta = 1,
          .restitution = run.model.law() == LawOfMotion::Inertial,
          .restitution_threshold = restitution_threshold(run)};
}

const Vec3& normal_of(const WarmStart::Entry& entry) { return entry.normal_W; }
const Vec3& normal_of(const Contact& contact) { return contact.normal; }

/// Where the next search of each pair starts. A warm start may come from a file: unit normals only.
template <class List>
void keep_normals(const List& from, std::vector<LastNormal>& to) {
  to.clear();
  for (const auto& entry : from)
    if (std::abs(normal_of(entry).squaredNorm() - 1) < 1e-9)
      to.push_back({entry.key, normal_of(entry)});
}

/// q ⊞ h v of the last solve.
void find_trial(StepRun& run, double dt, const VecX& v, VecX& q) {
  VecX& delta = run.work.displacement.delta;
  delta = dt * run.x.v;  // kinematic bodies
  delta.head(run.model.dynamic_v_size()) = dt * v;
  boxplus(run.model, run.x.q, delta, q);
}

/// Marks the bodies that the last round has moved; returns how many.
std::size_t mark_changed(const Model& model, const VecX& last_q, const VecX& q,
                         std::vector<unsigned char>& changed) {
  const auto bodies = model.bodies();
  changed.resize(bodies.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Body& body = bodies[i];
    const double *now = q.data() + body.q_begin, *then = last_q.data() + body.q_begin;
    changed[i] = !std::equal(now, now + (body.planar ? 3 : 7), then);
    count += changed[i];
  }
  return count;
}

/// True overlaps at the trial => its contacts, report.deepest. A round moves the bodies of islands
/// that got new rows and, to the bit, no others: only their pairs are measured again.
void measure_trial(StepRun& run, int round, Trial& trial) {
  Timer timer;
  RecursionScratch& work = run.work.recursion;
  CollisionWorkspace& collision = run.work.collision;
  std::vector<Contact>& contacts = trial.contacts.contacts;
  const CollisionSettings settings{.margin = 0,
                                   .points = ContactPoints::Deepest,
                                   .periodic = run.settings.periodic,
                                   .last = work.last_normals};
  const BodyParts* const parts = work.parts;
  const BodyFilter here = parts != nullptr ? parts->here() : BodyFilter{};
  if (round == 0 ||
      2 * mark_changed(run.model, work.last_q, trial.q, work.changed) > run.model.bodies().size()) {
    find_changed_contacts(run.model, run.parameters, trial.q, {}, here, settings, collision,
                          trial.contacts);
  } else {
    find_changed_contacts(run.model, run.parameters, trial.q, {}, {work.changed, here.known},
                          settings, collision, trial.contacts);
    if (parts != nullptr) std::erase_if(contacts, [&](const Contact& c) { return !parts->has(c); });
    const auto found = static_cast<std::ptrdiff_t>(contacts.size());
    for (const Contact& c : work.touching)
      if (!work.changed[index_of(c.body_a)] && !work.changed[index_of(c.body_b)])
        contacts.push_back(c);
    std::inplace_merge(contacts.begin(), contacts.begin() + found, contacts.end(),
                       [](const Contact& a, const Contact& b) { return a.key < b.key; });
  }
  work.touching = contacts;
  work.last_q = trial.q;
  run.report.deepest = deepest_penetration(trial.contacts);
  run.report.seconds_collision += timer.seconds();
}

/// Keeps what is too deep, named by its round.
void select_overlaps(StepRun& run, int round, std::vector<Contact>& contacts) {
  const double tolerance = run.settings.overlap_tolerance;
  double margin = 1;
  std::erase_if(contacts, [&](const Contact& c) {
    if (is_soft(run, c)) return true;  // meant to overlap
    margin = std::min(margin, std::abs(c.gap / (tolerance * c.size) + 1));
    return c.gap >= -tolerance * c.size;
  });
  if (run.record != nullptr) run.record->solves.back().selection_margin = margin;
  for (Contact& c : contacts)
    c.key.feature = (c.key.feature & kOrdinalMask) | static_cast<std::uint32_t>(round)
                                                         << kRoundShift;
}

/// Rows for the overlaps of the trial, after those there are; they start from no impulse.
void append_rows(StepRun& run, const Trial& trial, Assembly& assembly, Solved& solved) {
  Timer timer;
  const std::vector<Contact>& contacts = trial.contacts.contacts;
  append_trial_rows(run.model, run.parameters, trial.q, run.x.v, solved.solution.v, contacts,
                    solved.row_settings, assembly);
  solved.rows.contacts.insert(solved.rows.contacts.end(), contacts.begin(), contacts.end());
  VecX& lambda = solved.solution.lambda;
  const Index known = static_cast<Index>(lambda.size()), rows = assembly.problem.row_count();
  lambda.conservativeResize(rows);
  lambda.tail(rows - known).setZero();
  run.report.seconds_assembly += timer.seconds();
}

bool solve_rows(StepRun& run, SolveKind kind, double dt, const Assembly& assembly, Solved& solved) {
  Timer timer;
  const bool finite = solve_and_report(run, kind, dt, assembly, solved.rows, solved.solution);
  run.report.seconds_solve += timer.seconds();
  if (run.record != nullptr) run.record->solves.back().rows = solved.row_settings;
  return finite;
}

/// Rows that contradict each other have no answer, and what a solver ends with may be absurd in
/// size. Motion beyond all that free flight and gaps ask for is refused: the bodies stay.
void refuse_absurd_motion(const StepRun& run, double dt, const VecX& v_free, Solved& solved) {
  if (run.report.outcome == Outcome::Converged) return;
  BodyParts* const parts = run.work.recursion.parts;
  double way = 0;
  for (const Contact& c : solved.rows.contacts) way = std::max(way, std::abs(c.gap));
  if (parts != nullptr) way = parts->largest(way);
  if (v_free.size() > 0) way += dt * v_free.cwiseAbs().maxCoeff();
  VecX& v = solved.solution.v;
  if (v.size() == 0) return;
  double fastest = v.cwiseAbs().maxCoeff();
  if (parts != nullptr) fastest = parts->largest(fastest);
  if (dt * fastest <= 100 * way) return;
  v.setZero();
  solved.solution.lambda.setZero();
}

}  // namespace

CollisionSettings collision_settings(const StepRun& run) {
  const ConstraintScheme scheme = run.settings.constraints;
  return {.margin = run.settings.contact_margin,
          .points = scheme == ConstraintScheme::Manifold      ? ContactPoints::Manifold
                    : scheme == ConstraintScheme::Multisphere ? ContactPoints::SubSpheres
                                                              : ContactPoints::Deepest,
          .sub_spheres = run.settings.sub_spheres,
          .periodic = run.settings.periodic,
          .last = run.work.recursion.last_normals,
          .measures = &run.work.measures};
}

namespace {

/// The step from the contacts that were found on. `parts`: null where it is made whole.
bool recurse(StepRun& run, BodyParts* parts) {
  StepWorkspace::Impl& work = run.work;
  Assembly& assembly = work.detected.assembly;
  Solved& solved = work.solved;
  Trial& trial = work.trial;
  const double dt = run.settings.h;
  const bool recursive = run.settings.constraints == ConstraintScheme::Relcp;
  const auto solve = [&](SolveKind kind, int round) {
    const bool finite = solve_rows(run, kind, dt, assembly, solved);
    if (parts != nullptr ? parts->sum(finite ? 0 : 1) > 0 : !finite) return false;
    refuse_absurd_motion(run, dt, assembly.v_free, solved);
    if (parts != nullptr) parts->follow(solved.solution.v);
    find_trial(run, dt, solved.solution.v, trial.q);
    measure_trial(run, round, trial);
    return true;
  };

  keep_normals(work.detected.contacts.contacts, work.recursion.last_normals);
  solved.rows = work.detected.contacts;
  solved.row_settings = row_settings(run, dt);
  Timer timer;
  assemble_rows(run.model, run.parameters, run.interval(dt), solved.rows.contacts,
                solved.row_settings, 1.0, assembly);
  start_from(recursive ? whole_pairs(run) : run.warm, run, dt, assembly, solved);
  run.report.seconds_assembly += timer.seconds();
  if (parts != nullptr) parts->name_rows(solved.rows.contacts);
  if (!solve(SolveKind::Step, 0)) return false;
  int failed = 0;
  for (int round = 1; recursive; ++round) {
    select_overlaps(run, round, trial.contacts.contacts);
    const auto deep = static_cast<std::int64_t>(trial.contacts.contacts.size());
    if ((parts != nullptr ? parts->sum(deep) : deep) == 0) break;
    if (run.report.outcome > Outcome::Stalled) break;  // no solution: more rows give none
    if (run.report.outcome != Outcome::Converged && ++failed > kPatience) break;
    if (round > run.settings.max_recursions) {  // jammed, or the solver is looser than the overlap
      run.report.outcome = std::max(run.report.outcome, Outcome::IterationLimit);
      break;
    }
    append_rows(run, trial, assembly, solved);
    if (parts != nullptr) parts->name_rows(trial.contacts.contacts);
    if (!solve(SolveKind::Recursion, round)) return false;
    ++run.report.recursions;
  }
  keep_impulses(run, dt, assembly, solved, run.warm);
  return true;
}

/// What each member knows => all of them.
void join_parts(StepRun& run, BodyParts& parts) {
  Solved& solved = run.work.solved;
  const auto counted = [&](const std::vector<Contact>& list) {
    return static_cast<Index>(parts.sum(
        std::ranges::count_if(list, [&](const Contact& c) { return parts.is_counted(c); })));
  };
  run.report.contacts = counted(run.work.detected.contacts.contacts);
  run.report.constraints = counted(solved.rows.contacts);
  run.report.deepest = parts.largest(run.report.deepest);
  parts.gather(run.warm);
  parts.gather(solved.solution.v);
  find_trial(run, run.settings.h, solved.solution.v, run.work.trial.q);
}

/// The bodies over the team of this thread, with the contacts of those of this member; empty: the
/// step is made whole.
std::optional<BodyParts> share_out(StepRun& run) {
  Team* const all = team();
  Detected& detected = run.work.detected;
  const Assembly& free = detected.assembly;
  if (all == nullptr || all->size() == 1 || !may_be_parted(run) ||
      free.problem.H.kind() != VelocityMatrix::Kind::BlockDiagonal)
    return {};
  std::optional<BodyParts> parts(std::in_place, *all, run, free.v_free, run.settings.h);
  const TeamScope alone(nullptr);
  find_near_contacts(run, run.settings.h, false, detected, parts->here());
  const auto rows = std::ranges::count_if(detected.contacts.contacts,
                                          [&](const Contact& c) { return parts->is_counted(c); });
  if (parts->sum(rows) < kManyRows) parts.reset();
  return parts;
}

}  // namespace

bool step_recursive(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  const double dt = run.settings.h;
  work.recursion.parts = nullptr;
  keep_normals(run.warm.contacts, work.recursion.last_normals);
  if (!assemble_free_motion(run, dt, work.detected.assembly)) return false;
  if (std::optional<BodyParts> parts = share_out(run)) {
    ++parts->team().parted;
    const TeamScope alone(nullptr);
    struct Known {  // for this step, however it ends
      BodyParts*& parts;
      ~Known() { parts = nullptr; }
    };
    work.recursion.parts = &*parts;
    const Known known{work.recursion.parts};
    if (!recurse(run, &*parts)) return false;
    join_parts(run, *parts);
  } else {
    find_near_contacts(run, dt, false, work.detected);
    if (!recurse(run, nullptr)) return false;
  }
  run.x.q = work.trial.q;
  run.x.v.head(run.model.dynamic_v_size()) = work.solved.solution.v;
  run.x.t += dt;
  if (!run.model.joints().empty())
    run.report.joint_error = largest_joint_error(run.model, run.parameters, run.x.q, run.x.t);
  return true;
}

}  // namespace orthant::internal
