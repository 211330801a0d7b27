// SPDX-License-Identifier: Apache-2.0
// step/recursion.cpp: the recursively generated problem (ReLCP) and its one-solve relatives.
//   solve all rows so far;  q_i = q ⊞ h v_i;  each pair deeper than the tolerance at q_i adds one
//   row  D_i v + Φ(q_i)/h − D_i v_i >= 0;  until none is left
// A trial starts from the base configuration, never from the last trial, and no row is ever dropped
// within a step: without its old rows a pair would rock between two of them for ever.
#include <algorithm>
#include <cmath>

#include "orthant/base/timer.hpp"
#include "orthant/collision/changed_contacts.hpp"
#include "orthant/constraint/joint_rows.hpp"
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

/// q ⊞ h v of the last solve => work.delta, work.q.
void find_trial(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  work.delta = dt * run.x.v;  // kinematic bodies
  work.delta.head(run.model.dynamic_v_size()) = dt * work.solution.v;
  boxplus(run.model, run.x.q, work.delta, work.q);
}

/// Marks the bodies that the last round has moved; returns how many.
std::size_t mark_changed(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  const auto bodies = run.model.bodies();
  work.changed.resize(bodies.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const Body& body = bodies[i];
    const double *now = work.q.data() + body.q_begin, *then = work.last_q.data() + body.q_begin;
    work.changed[i] = !std::equal(now, now + (body.planar ? 3 : 7), then);
    count += work.changed[i];
  }
  return count;
}

/// True overlaps at the trial => work.after, report.deepest. A round moves the bodies of islands
/// that got new rows and, to the bit, no others: only their pairs are measured again.
void measure_trial(StepRun& run, int round) {
  Timer timer;
  StepWorkspace::Impl& work = run.work;
  const CollisionSettings settings{.margin = 0,
                                   .points = ContactPoints::Deepest,
                                   .periodic = run.settings.periodic,
                                   .last = work.last_normals};
  if (round == 0 || 2 * mark_changed(run) > run.model.bodies().size()) {
    find_contacts(run.model, run.parameters, work.q, {}, settings, work.collision, work.after);
  } else {
    find_changed_contacts(run.model, run.parameters, work.q, work.changed, settings, work.collision,
                          work.after);
    const auto found = static_cast<std::ptrdiff_t>(work.after.contacts.size());
    for (const Contact& c : work.touching)
      if (!work.changed[index_of(c.body_a)] && !work.changed[index_of(c.body_b)])
        work.after.contacts.push_back(c);
    std::inplace_merge(work.after.contacts.begin(), work.after.contacts.begin() + found,
                       work.after.contacts.end(),
                       [](const Contact& a, const Contact& b) { return a.key < b.key; });
  }
  work.touching = work.after.contacts;
  work.last_q = work.q;
  run.report.deepest = deepest_penetration(run.work.after);
  run.report.seconds_collision += timer.seconds();
}

/// Keeps in work.after what is too deep, named by its round.
void select_overlaps(StepRun& run, int round) {
  const double tolerance = run.settings.overlap_tolerance;
  double margin = 1;
  std::erase_if(run.work.after.contacts, [&](const Contact& c) {
    if (is_soft(run, c)) return true;  // meant to overlap
    margin = std::min(margin, std::abs(c.gap / (tolerance * c.size) + 1));
    return c.gap >= -tolerance * c.size;
  });
  if (run.record != nullptr) run.record->solves.back().selection_margin = margin;
  for (Contact& c : run.work.after.contacts)
    c.key.feature = (c.key.feature & kOrdinalMask) | static_cast<std::uint32_t>(round)
                                                         << kRoundShift;
}

void append_rows(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  Timer timer;
  append_trial_rows(run.model, run.parameters, work.q, run.x.v, work.solution.v,
                    work.after.contacts, row_settings(run, dt), work.assembly);
  work.rows.contacts.insert(work.rows.contacts.end(), work.after.contacts.begin(),
                            work.after.contacts.end());
  const Index known = static_cast<Index>(work.solution.lambda.size());
  const Index rows = work.assembly.problem.row_count();
  work.solution.lambda.conservativeResize(rows);
  work.solution.lambda.tail(rows - known).setZero();
  run.report.seconds_assembly += timer.seconds();
}

bool solve_rows(StepRun& run, SolveKind kind, double dt) {
  Timer timer;
  const bool finite =
      solve_and_report(run, kind, dt, run.work.assembly, run.work.rows, run.work.solution);
  run.report.seconds_solve += timer.seconds();
  if (run.record != nullptr) run.record->solves.back().rows = row_settings(run, dt);
  return finite;
}

/// Rows that contradict each other have no answer, and what a solver ends with may be absurd in
/// size. Motion beyond all that free flight and gaps ask for is refused: the bodies stay.
void refuse_absurd_motion(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  if (run.report.outcome == Outcome::Converged) return;
  double way = 0;
  for (const Contact& c : work.rows.contacts) way = std::max(way, std::abs(c.gap));
  const VecX& free = work.assembly.v_free;
  if (free.size() > 0) way += dt * free.cwiseAbs().maxCoeff();
  VecX& v = work.solution.v;
  if (v.size() == 0 || dt * v.cwiseAbs().maxCoeff() <= 100 * way) return;
  v.setZero();
  work.solution.lambda.setZero();
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
          .last = run.work.last_normals,
          .measures = &run.work.measures};
}

bool step_recursive(StepRun& run) {
  StepWorkspace::Impl& work = run.work;
  const double dt = run.settings.h;
  keep_normals(run.warm.contacts, work.last_normals);
  if (!detect(run, dt)) return false;
  keep_normals(work.contacts.contacts, work.last_normals);
  work.rows = work.contacts;
  Timer timer;
  assemble_rows(run.model, run.parameters, run.interval(dt), work.rows.contacts,
                row_settings(run, dt), 1.0, work.assembly);
  const bool recursive = run.settings.constraints == ConstraintScheme::Relcp;
  start_from(recursive ? whole_pairs(run) : run.warm, run, dt, work.solution);
  run.report.seconds_assembly += timer.seconds();
  if (!solve_rows(run, SolveKind::Step, dt)) return false;
  refuse_absurd_motion(run, dt);
  find_trial(run, dt);
  measure_trial(run, 0);
  int failed = 0;
  for (int round = 1; recursive; ++round) {
    select_overlaps(run, round);
    if (work.after.contacts.empty()) break;
    if (run.report.outcome > Outcome::Stalled) break;  // no solution: more rows give none
    if (run.report.outcome != Outcome::Converged && ++failed > kPatience) break;
    if (round > run.settings.max_recursions) {  // jammed, or the solver is looser than the overlap
      run.report.outcome = std::max(run.report.outcome, Outcome::IterationLimit);
      break;
    }
    append_rows(run, dt);
    if (!solve_rows(run, SolveKind::Recursion, dt)) return false;
    refuse_absurd_motion(run, dt);
    ++run.report.recursions;
    find_trial(run, dt);
    measure_trial(run, round);
  }
  keep_impulses(run, dt, work.solution, run.warm);
  run.x.q = work.q;
  run.x.v.head(run.model.dynamic_v_size()) = work.solution.v;
  run.x.t += dt;
  if (!run.model.joints().empty())
    run.report.joint_error = largest_joint_error(run.model, run.parameters, run.x.q, run.x.t);
  return true;
}

}  // namespace orthant::internal
