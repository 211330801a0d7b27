// SPDX-License-Identifier: Apache-2.0
// step/interval.cpp: one interval dt: detect, assemble, solve, advance.
//   q⁺ = q ⊞ dt v⁺ where something touches,  q ⊞ dt (v + v⁺)/2 where nothing does
// The second-order flight of a body must not break a gap that v⁺ keeps: where it would, both bodies
// of the contact move with v⁺.
#include <cmath>
#include <limits>

#include "orthant/base/timer.hpp"
#include "orthant/constraint/medium.hpp"
#include "orthant/force/flexible.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

/// Gaps of contacts at rest that count as none, of the smaller shape: in a hyperstatic pile forces
/// would have to change by their own size to close them.
constexpr double kTouching = 1e-4;
/// Contacts from which on a step is one of a pile. Few bodies keep every gap: there the forces do
/// not hang on it, and the motion stays a smooth function of the state.
constexpr std::size_t kPile = 100;

/// Impulse of an open contact, of the momentum of the body that has less: rounding of a solver.
constexpr double kNoImpulse = 1e-9;

/// Where each body may go within dt: with its velocity now and with that after all applied forces.
void find_motion(StepRun& run, double dt) {
  const Model& model = run.model;
  StepWorkspace::Impl& work = run.work;
  const bool inertial = model.law() == LawOfMotion::Inertial;
  work.motion.assign(model.bodies().size(), BodyMotion{});
  for (std::size_t i = 0; i < model.bodies().size(); ++i) {
    const Body& body = model.bodies()[i];
    if (body.v_begin == kNone) continue;
    const double radius = work.measures.turning(BodyId{static_cast<std::int32_t>(i)});
    const double* now = run.x.v.data() + body.v_begin;
    const double* free = body.is_dynamic() ? work.assembly.v_free.data() + body.v_begin : now;
    const double* velocity[2] = {inertial ? now : free, free};
    double spin = 0;
    for (int k = 0; k < 2; ++k) {
      const double* v = velocity[k];
      work.motion[i].shift[k] = dt * Vec3(v[0], v[1], body.planar ? 0 : v[2]);
      spin = std::max(spin, body.planar ? std::abs(v[2]) : Vec3(v[3], v[4], v[5]).norm());
    }
    // However fast it spins, a point is never farther from where it was than the diameter.
    work.motion[i].turn = radius * std::min(dt * spin, 2.0);
  }
}

ContactRowSettings row_settings(const StepRun& run, double dt, bool located) {
  const bool pile = run.settings.stabilisation == Stabilisation::Projection &&
                    run.work.rows.contacts.size() >= kPile;
  const bool baumgarte = run.settings.stabilisation == Stabilisation::Baumgarte;
  return {.h = dt,
          .friction = run.settings.friction,
          .pyramid_directions = run.settings.pyramid_directions,
          .beta = baumgarte ? run.settings.baumgarte : 0,
          .restitution = run.model.law() == LawOfMotion::Inertial,
          .impacts_located = located,
          .restitution_threshold = restitution_threshold(run),
          .touching = pile ? std::max(kTouching, 10 * run.settings.projection_tolerance) : 0,
          .resting = baumgarte ? 0 : run.settings.projection_tolerance};
}

/// Bodies that joints hold move with v⁺ like those that touch.
void mark_jointed(StepRun& run) {
  std::vector<unsigned char>& jointed = run.work.jointed;
  // Nodes always move with v⁺: their elastic forces are those at q + h v⁺.
  jointed.assign(static_cast<std::size_t>(run.model.velocity_block_count()), 1);
  std::fill_n(jointed.begin(), run.model.dynamic_count(), 0);
  for (const Tie& tie : run.model.ties())
    if (run.model.body(tie.body).is_dynamic())
      jointed[static_cast<std::size_t>(run.model.body(tie.body).dynamic)] = 1;
  for (const Joint& joint : run.model.joints()) {
    for (const BodyId id : {joint.a, joint.b}) {
      if (id == kWorld) continue;
      const Body& body = run.model.body(id);
      if (body.is_dynamic()) jointed[static_cast<std::size_t>(body.dynamic)] = 1;
    }
  }
}

}  // namespace

double restitution_threshold(const StepRun& run) {
  if (run.settings.restitution_threshold > 0) return run.settings.restitution_threshold;
  const double* g = run.parameters.values.data() + run.model.gravity();
  return 2 * run.settings.h * Vec3(g[0], g[1], g[2]).norm();
}

double contact_tolerance(const StepRun& run, const Contact& contact) {
  return run.settings.projection_tolerance * contact.size;
}

void find_contacts_at(StepRun& run, const VecX& q, ContactSet& out) {
  const CollisionSettings settings = collision_settings(run);
  find_contacts(run.model, run.parameters, q, {}, settings, run.work.collision, out);
  find_flexible_contacts(run.model, run.parameters, q, {}, {}, settings, run.work.collision, out);
}

void record_solve(StepRun& run, SolveKind kind, double duration, const Assembly& assembly,
                  const ContactSet& contacts, const Solution& solution) {
  if (run.record == nullptr) return;
  SolveRecord& solve = run.record->solves.emplace_back();
  solve.kind = kind;
  solve.duration = duration;
  solve.q = run.x.q;
  solve.v = run.x.v;
  solve.t = run.x.t;
  solve.contacts = contacts;
  solve.solution = solution;
  solve.residual = run.work.solved.residual;
  solve.branches.reserve(assembly.blocks.size());
  for (const ContactBlock& block : assembly.blocks) solve.branches.push_back(block.branch);
}

bool solve_and_report(StepRun& run, SolveKind kind, double duration, const Assembly& assembly,
                      const ContactSet& contacts, Solution& solution, bool record) {
  SolveReport& solved = run.work.solved;
  solve(assembly.problem, run.settings.solver, run.work.solver, solution, solved);
  StepReport& report = run.report;
  ++report.solves;
  report.iterations += solved.iterations;
  if (kind != SolveKind::Projection) {
    report.method = solved.method;
    report.constraints = static_cast<Index>(contacts.contacts.size());
    report.residual = std::max(report.residual, solved.residual.value);
    report.outcome = std::max(report.outcome, solved.outcome);
  }
  if (record) record_solve(run, kind, duration, assembly, contacts, solution);
  return solution.v.allFinite() && solution.lambda.allFinite() && solution.gamma.allFinite();
}

bool detect(StepRun& run, double dt, bool either) {
  Timer timer;
  StepWorkspace::Impl& work = run.work;
  if (!assemble_motion(run.model, run.parameters, run.interval(dt), run.u, work.assembly))
    return false;
  if (run.fluid != nullptr && !assemble_fluid(run.model, run.parameters, run.interval(dt),
                                              run.settings.periodic, *run.fluid, work.assembly))
    return false;
  const Medium medium{run.settings.drag_ratio, run.settings.thermal_energy, run.x.rng};
  if (!assemble_medium(run.model, run.parameters, run.interval(dt), medium, work.assembly))
    return false;
  run.report.seconds_assembly += timer.seconds();
  timer.restart();
  find_motion(run, dt);
  CollisionSettings settings = collision_settings(run);
  settings.either = either;
  find_contacts(run.model, run.parameters, run.x.q, work.motion, settings, work.collision,
                work.contacts);
  find_flexible_contacts(run.model, run.parameters, run.x.q, work.motion,
                         {&run.x.v, &work.assembly.v_free, dt}, settings, work.collision,
                         work.contacts);
  run.report.contacts =
      static_cast<Index>(work.contacts.contacts.size() + work.contacts.flexible.size());
  run.report.seconds_collision += timer.seconds();
  return true;
}

bool solve_velocities(StepRun& run, double dt, bool located, bool trial) {
  Timer timer;
  StepWorkspace::Impl& work = run.work;
  const double beta =
      run.settings.stabilisation == Stabilisation::Baumgarte ? run.settings.baumgarte : 0;
  work.row_settings = row_settings(run, dt, located);
  assemble_rows(run.model, run.parameters, run.interval(dt), work.rows.contacts, work.row_settings,
                beta, work.assembly, work.rows.flexible);
  start_from(run.warm, run, dt, work.solution);
  run.report.seconds_assembly += timer.seconds();
  timer.restart();
  start_by_sweeps(run, dt);
  const bool again = run.settings.newton_iterations > 1 && !run.model.flexible_parts().empty();
  bool finite = solve_and_report(run, again ? SolveKind::Newton : SolveKind::Step, dt,
                                 work.assembly, work.rows, work.solution, !trial);
  run.report.newton_iterations += !run.model.flexible_parts().empty();
  if (finite && again) finite = relinearise(run, dt, trial);
  run.report.seconds_solve += timer.seconds();
  return finite;
}

bool relinearise(StepRun& run, double dt, bool trial) {
  StepWorkspace::Impl& work = run.work;
  const Index n = run.model.dynamic_v_size();
  VecX at = run.x.v;
  for (int i = 1; i < run.settings.newton_iterations; ++i) {
    at.head(n) = work.solution.v;
    if (!assemble_motion(run.model, run.parameters, run.interval(dt), run.u, work.assembly, at))
      return false;
    const bool last = i + 1 == run.settings.newton_iterations;
    if (!solve_and_report(run, last ? SolveKind::Step : SolveKind::Newton, dt, work.assembly,
                          work.rows, work.solution, !trial))
      return false;
    ++run.report.newton_iterations;
    const double change = (work.solution.v - at.head(n)).cwiseAbs().maxCoeff();
    if (change <= run.settings.newton_tolerance * work.solution.v.cwiseAbs().maxCoeff()) break;
  }
  return true;
}

void find_displacement(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  const Model& model = run.model;
  const CanonicalProblem& problem = work.assembly.problem;
  const VecX& v = work.solution.v;
  const Index n = model.dynamic_v_size();
  work.delta = dt * run.x.v;  // kinematic bodies
  work.delta.head(n) = dt * v;
  if (model.law() != LawOfMotion::Inertial) return;

  mark_jointed(run);
  work.touched = work.jointed;
  const auto touch = [&](Index contact) {
    for (const BlockRows::Entry& entry : problem.D.entries(work.assembly.blocks[contact].block))
      work.touched[static_cast<std::size_t>(entry.block)] = 1;
  };
  const Index contacts = static_cast<Index>(work.assembly.blocks.size());
  for (Index c = 0; c < contacts; ++c) {
    const ContactBlock& block = work.assembly.blocks[c];
    // The last row of a pyramid holds its sliding speed, which is no impulse.
    const bool pyramid =
        work.row_settings.friction == FrictionModel::Pyramid && block.material.friction > 0;
    double momentum = std::numeric_limits<double>::infinity();
    for (const BlockRows::Entry& entry : problem.D.entries(block.block))
      momentum =
          std::min(momentum, problem.k.segment(entry.column, entry.width).cwiseAbs().maxCoeff());
    const auto impulse = work.solution.lambda.segment(block.row, block.dim - (pyramid ? 1 : 0));
    if (impulse.cwiseAbs().maxCoeff() > kNoImpulse * momentum) touch(c);
  }
  work.flight.resize(n);
  free_flight(work.assembly.dynamics, v, dt, work.flight);
  for (bool changed = true; changed;) {
    for (Index i = 0; i < model.dynamic_count(); ++i) {
      const Body& body = model.body(model.dynamic_bodies()[i]);
      const VecX& from = work.touched[static_cast<std::size_t>(i)] ? v : work.flight;
      const double factor = work.touched[static_cast<std::size_t>(i)] ? dt : 1;
      work.delta.segment(body.v_begin, body.v_size) =
          factor * from.segment(body.v_begin, body.v_size);
    }
    changed = false;
    for (Index c = 0; c < contacts; ++c) {
      const ContactBlock& block = work.assembly.blocks[c];
      double rows[kMaxLawDim];
      problem.D.multiply_row(block.block, work.delta.data(), rows);
      if (rows[0] + dt * problem.b[block.row] >= 0) continue;
      for (const BlockRows::Entry& entry : problem.D.entries(block.block))
        changed = changed || !work.touched[static_cast<std::size_t>(entry.block)];
      touch(c);
    }
  }
}

void advance(StepRun& run, double dt) {
  if (run.record != nullptr) {
    SolveRecord& last = run.record->solves.back();
    last.rows = run.work.row_settings;
    if (run.model.law() == LawOfMotion::Inertial) last.touched = run.work.touched;
  }
  keep_impulses(run, dt, run.work.solution, run.warm);
  boxplus(run.model, run.x.q, run.work.delta, run.x.q);
  run.x.v.head(run.model.dynamic_v_size()) = run.work.solution.v;
  run.x.t += dt;
}

bool step_interval(StepRun& run, double dt) {
  if (!run.model.flexible_parts().empty()) return step_with_cuts(run, dt);
  const bool crowd = is_crowd(run);
  if (!detect(run, dt, crowd)) return false;
  if (crowd && step_crowd(run, dt)) return true;
  run.work.rows = run.work.contacts;
  if (!solve_velocities(run, dt, false)) return false;
  find_displacement(run, dt);
  advance(run, dt);
  return true;
}

bool step_with_cuts(StepRun& run, double length) {
  double left = length, last = length;
  int cuts = 0;
  while (left > 0) {
    double dt = std::min(left, 2 * last);
    const Index before = inverted_elements(run.model, run.x.q);
    for (;; dt *= 0.5, ++cuts) {
      if (!detect(run, dt)) return false;
      run.work.rows = run.work.contacts;
      if (!solve_velocities(run, dt, false, true)) return false;
      find_displacement(run, dt);
      boxplus(run.model, run.x.q, run.work.delta, run.work.q);
      run.report.inverted = inverted_elements(run.model, run.work.q);
      if (run.report.inverted <= before || cuts >= run.settings.max_cuts) break;
    }
    record_solve(run, SolveKind::Step, dt, run.work.assembly, run.work.rows, run.work.solution);
    advance(run, dt);
    last = dt;
    left = left - dt > 1e-12 * length ? left - dt : 0;
  }
  run.report.cuts += cuts;
  return true;
}

bool step_with_halving(StepRun& run) {
  double left = run.settings.h;
  find_contacts_at(run, run.x.q, run.work.after);
  int halvings = 0;
  double last = left;
  while (left > 0) {
    double dt = std::min(left, 2 * last);
    const double overlap = deepest_penetration(run.work.after);
    for (;; dt *= 0.5, ++halvings) {
      if (!detect(run, dt)) return false;
      run.work.rows = run.work.contacts;
      if (!solve_velocities(run, dt, false, true)) return false;
      find_displacement(run, dt);
      if (halvings >= run.settings.max_halvings) break;
      boxplus(run.model, run.x.q, run.work.delta, run.work.q);
      find_contacts_at(run, run.work.q, run.work.after);
      // An overlap that was there before is not the interval's doing.
      const double share = run.settings.halving_tolerance / run.settings.projection_tolerance;
      const bool deep = std::any_of(
          run.work.after.contacts.begin(), run.work.after.contacts.end(),
          [&](const Contact& c) { return -c.gap > overlap + share * contact_tolerance(run, c); });
      if (!deep) break;
    }
    record_solve(run, SolveKind::Step, dt, run.work.assembly, run.work.rows, run.work.solution);
    advance(run, dt);
    last = dt;
    left = dt < left ? left - dt : 0;
  }
  return true;
}

}  // namespace orthant::internal
