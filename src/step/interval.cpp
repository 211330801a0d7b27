// SPDX-License-Identifier: Apache-2.0
// step/interval.cpp: one interval dt: detect, assemble, solve, advance.
//   q⁺ = q ⊞ dt v⁺ where something touches,  q ⊞ dt (v + v⁺)/2 where nothing does
// The second-order flight of a body must not break a gap that v⁺ keeps: where it would, both bodies
// of the contact move with v⁺.
#include <cmath>
#include <limits>

#include "constraint/medium.hpp"
#include "constraint/soft_rows.hpp"
#include "force/held_spin.hpp"
#include "math/fixed_point.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/timer.hpp"
#include "orthant/force/flexible.hpp"
#include "step/body_parts.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

/// Gaps of contacts at rest that count as none, of the smaller shape: in a hyperstatic pile forces
/// would have to change by their own size to close them.
constexpr double kTouching = 1e-4;
/// Contacts from which on a step is one of a pile. Few bodies keep every gap: there the forces do
/// not hang on it, and the motion stays a smooth function of the state.
constexpr std::size_t kPile = 100;

/// Rounds in which soft contacts find where the interval takes them, and how far from that they may
/// end, of the velocities.
constexpr int kMaxBends = 40;
constexpr int kBendPatience = 8;  // rounds before contacts are added that only the ends have
constexpr int kBendStalls = 12;   // rounds without progress that end the search
constexpr double kSettled = 1e-9;

/// Impulse of an open contact, of the momentum of the body that has less: rounding of a solver.
constexpr double kNoImpulse = 1e-9;

constexpr std::size_t kBodyGrain = 1024;

/// Where each body may go within dt: with its velocity now and with that after all applied forces.
void find_motion(const StepRun& run, double dt, const VecX& v_free,
                 std::vector<BodyMotion>& motion) {
  const Model& model = run.model;
  const bool inertial = model.law() == LawOfMotion::Inertial;
  motion.resize(model.bodies().size());
  parallel_for(motion.size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      motion[i] = {};
      const Body& body = model.bodies()[i];
      if (body.v_begin == kNone) continue;
      const double radius = run.work.measures.turning(BodyId{static_cast<std::int32_t>(i)});
      const double* now = run.x.v.data() + body.v_begin;
      const double* free = body.is_dynamic() ? v_free.data() + body.v_begin : now;
      const double* velocity[2] = {inertial ? now : free, free};
      double spin = 0;
      for (int k = 0; k < 2; ++k) {
        const double* v = velocity[k];
        motion[i].shift[k] = dt * Vec3(v[0], v[1], body.planar ? 0 : v[2]);
        spin = std::max(spin, body.planar ? std::abs(v[2]) : Vec3(v[3], v[4], v[5]).norm());
      }
      // However fast it spins, a point is never farther from where it was than the diameter.
      motion[i].turn = radius * std::min(dt * spin, 2.0);
    }
  });
}

ContactRowSettings row_settings(const StepRun& run, double dt, bool located, std::size_t contacts) {
  const bool pile = run.settings.stabilisation == Stabilisation::Projection && contacts >= kPile;
  const bool baumgarte = run.settings.stabilisation == Stabilisation::Baumgarte;
  return {.h = dt,
          .friction = run.settings.friction,
          .pyramid_directions = run.settings.pyramid_directions,
          // Of a whole step: the rest of one after an impact may be as short as rounding.
          .beta = baumgarte ? run.settings.baumgarte * (dt / run.settings.h) : 0,
          .restitution = run.model.law() == LawOfMotion::Inertial,
          .impacts_located = located,
          .restitution_threshold = restitution_threshold(run),
          .touching = pile ? std::max(kTouching, 10 * run.settings.projection_tolerance) : 0,
          .resting = baumgarte ? 0 : run.settings.projection_tolerance};
}

/// Bodies that joints or springs hold move with v⁺ like those that touch. The force of a spring is
/// that at q + h v⁺; with any other displacement it would do work that the spring does not lose,
///   ΔT + ΔU = −½ M|v⁺ − v|² − ½ h² v⁺·K v⁺ + O(h³)  for h v⁺,
/// and for h (v + v⁺)/2 it is −⅛ h² (3v⁺ − v)·K (v⁺ + v), which gains energy where v⁺ is small.
void mark_jointed(const StepRun& run, std::vector<unsigned char>& jointed) {
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
  for (const Force& force : run.model.forces()) {
    if (force.kind != ForceKind::Spring) continue;
    for (const BodyId id : {force.a, force.b})
      if (id != kWorld && run.model.body(id).is_dynamic())
        jointed[static_cast<std::size_t>(run.model.body(id).dynamic)] = 1;
  }
}

/// Bodies that may not fly: jointed, or with a contact that has rows.
void mark_held(const StepRun& run, const ContactSet& rows, std::vector<unsigned char>& held) {
  mark_jointed(run, held);
  const auto mark = [&](BodyId id) {
    const Body& body = run.model.body(id);
    if (body.is_dynamic()) held[static_cast<std::size_t>(body.dynamic)] = 1;
  };
  for (const Contact& contact : rows.contacts) {
    mark(contact.body_a);
    mark(contact.body_b);
  }
  for (const FlexibleContact& contact : rows.flexible)
    if (contact.body_sign != 0) mark(run.model.shape(contact.shape).body);
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
  solve.residual = run.work.solve_report.residual;
  solve.branches.reserve(assembly.blocks.size());
  for (const ContactBlock& block : assembly.blocks) solve.branches.push_back(block.branch);
}

bool solve_and_report(StepRun& run, SolveKind kind, double duration, const Assembly& assembly,
                      const ContactSet& contacts, Solution& solution, bool record) {
  SolveReport& solved = run.work.solve_report;
  // H is that of the free motion or of a projection, factorised already; RATTLE's and those of an
  // impact are not.
  const bool factorised =
      kind == SolveKind::Projection ||
      (kind != SolveKind::Impact && run.settings.integrator == Integrator::Euler);
  const FreeMotion free{assembly.solver, assembly.v_free};
  if (BodyParts* parts = run.work.recursion.parts)
    solve_part(assembly.problem, free, run.settings.solver, parts->problem(), run.work.solver,
               solution, solved);
  else if (factorised)
    solve(assembly.problem, free, run.settings.solver, run.work.solver, solution, solved);
  else
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

bool assemble_free_motion(StepRun& run, double dt, Assembly& out) {
  const Timer timer;
  const StepInterval interval = run.interval(dt);
  const Medium medium{run.settings.drag_ratio, run.settings.thermal_energy, run.x.rng};
  const bool regular =
      assemble_motion(run.model, run.parameters, interval, run.u, out) &&
      (run.fluid == nullptr || assemble_fluid(run.model, run.parameters, interval,
                                              run.settings.periodic, *run.fluid, out)) &&
      assemble_medium(run.model, run.parameters, interval, medium, out);
  run.report.seconds_assembly += timer.seconds();
  return regular;
}

void find_near_contacts(StepRun& run, double dt, bool either, Detected& out,
                        const BodyFilter& filter) {
  const Timer timer;
  const VecX& v_free = out.assembly.v_free;
  find_motion(run, dt, v_free, out.motion);
  CollisionSettings settings = collision_settings(run);
  settings.either = either;
  CollisionWorkspace& work = run.work.collision;
  find_changed_contacts(run.model, run.parameters, run.x.q, out.motion, filter, settings, work,
                        out.contacts);
  find_flexible_contacts(run.model, run.parameters, run.x.q, out.motion, {&run.x.v, &v_free, dt},
                         settings, work, out.contacts);
  run.report.contacts =
      static_cast<Index>(out.contacts.contacts.size() + out.contacts.flexible.size());
  run.report.seconds_collision += timer.seconds();
}

bool detect(StepRun& run, double dt, Detected& out) {
  if (!assemble_free_motion(run, dt, out.assembly)) return false;
  find_near_contacts(run, dt, false, out);
  return true;
}

namespace {

/// The spins of the bodies that the displacement counts as touched, in k and v_free.
void hold_touched(StepRun& run, Assembly& assembly) {
  Displacement& out = run.work.displacement;
  hold_spins(run.model, run.parameters, run.x.q, out.touched, assembly.dynamics, assembly.problem.k,
             out.held);
  if (out.held.size() > 0) assembly.solver.solve(assembly.problem.k, assembly.v_free);
}

/// D_n δ + dt b_n < 0, by more than rounding: bodies that move together keep their gap.
bool closes_gap(const CanonicalProblem& p, const ContactBlock& block, const VecX& delta,
                double dt) {
  constexpr double kRounding = 1e-12;
  double sum = dt * p.b[block.row], size = std::abs(sum);
  const double* row = p.D.values(block.block);
  for (const BlockRows::Entry& entry : p.D.entries(block.block)) {
    for (Index i = 0; i < entry.width; ++i) {
      const double term = row[i] * delta[entry.column + i];
      sum += term;
      size += std::abs(term);
    }
    row += p.D.dim(block.block) * entry.width;
  }
  return sum < -kRounding * size;
}

/// Newton on the implicit step of flexible parts, from the first linearisation on. `located`: with
/// the spins that solve_located() holds.
bool relinearise(StepRun& run, double dt, bool located, Assembly& assembly, Solved& solved) {
  const Index n = run.model.dynamic_v_size();
  VecX& v = solved.solution.v;
  VecX at = run.x.v;
  for (int i = 1; i < run.settings.newton_iterations; ++i) {
    at.head(n) = v;
    if (!assemble_motion(run.model, run.parameters, run.interval(dt), run.u, assembly, at))
      return false;
    if (located) hold_touched(run, assembly);
    if (!solve_and_report(run, SolveKind::Newton, dt, assembly, solved.rows, solved.solution,
                          false))
      return false;
    ++run.report.newton_iterations;
    const double change = (v - at.head(n)).cwiseAbs().maxCoeff();
    if (change <= run.settings.newton_tolerance * v.cwiseAbs().maxCoeff()) break;
  }
  return true;
}

/// Bends the rows of soft contacts (constraint/soft_rows.hpp) and solves again, until the answer
/// stays where it leads: to rounding, for a derivative counts on it. Where the end does not settle
/// (a ring that lies flat is deepest now here, now there) the rows stay those of the start.
bool settle_soft(StepRun& run, double dt, Assembly& assembly, Solved& solved) {
  std::vector<Contact>& contacts = solved.rows.contacts;
  if (std::ranges::none_of(contacts, [&](const Contact& c) { return is_soft(run, c); }))
    return true;
  const Index n = run.model.dynamic_v_size();
  Solution& x = solved.solution;
  const auto assemble_again = [&](const VecX& v) {
    assemble_rows(run.model, run.parameters, run.interval(dt), contacts, solved.row_settings,
                  solved.row_settings.beta, assembly, solved.rows.flexible);
    x = zero_solution(assembly.problem);
    x.v = v;
  };
  const Solution start = x;
  const std::vector<Contact> found = contacts;
  StepReport& report = run.report;
  const auto forget_rounds = [&report, outcome = report.outcome, residual = report.residual] {
    report.outcome = outcome;  // how well those were solved that are not the answer
    report.residual = residual;
  };
  const double free = assembly.v_free.cwiseAbs().maxCoeff();
  double change = std::numeric_limits<double>::infinity(), halved = change;
  int since = 0;  // rounds since the change has halved
  SoftEnds ends;
  FixedPoint search;
  VecX at = x.v, delta = dt * run.x.v, q_end;  // kinematic bodies
  for (int round = 0; round < kMaxBends; ++round) {
    delta.head(n) = dt * at;
    boxplus(run.model, run.x.q, delta, q_end);
    if (!q_end.allFinite()) break;
    const auto bend = [&] {
      return bend_soft_rows(run.model, run.parameters, q_end, at, dt, contacts, x.lambda, assembly,
                            ends);
    };
    const bool matters = bend();
    if (!matters && at != x.v) {  // of a search that went on
      at = x.v;
      continue;
    }
    if (!matters) {
      for (const SoftEnd& end : ends.of_rows)
        x.w[assembly.blocks[end.number].row] = end.contact.gap / dt;
      return true;
    }
    if (round > kBendPatience)  // features that push each other down in turn need a row each
      for (const SoftEnd& end : ends.of_rows) ends.without_row.push_back(end.contact);
    if (!ends.without_row.empty() &&
        add_ends(run.model, run.parameters, run.x.q, ends.without_row, contacts)) {
      assemble_again(VecX(x.v));
      (void)bend();
      search = {};
      since = 0;
    }
    forget_rounds();
    if (!solve_and_report(run, SolveKind::Step, dt, assembly, solved.rows, x, false)) break;
    const double before = change, size = std::max(free, x.v.cwiseAbs().maxCoeff());
    change = (x.v - at).cwiseAbs().maxCoeff();
    if (change <= run.settings.solver.tolerance * size ||
        (change <= kSettled * size && change >= 0.5 * before))
      return true;
    if (change <= 0.5 * halved) {
      halved = change;
      since = 0;
    } else if (++since > kBendStalls) {
      break;
    }
    search.advance(x.v, at);
  }
  forget_rounds();
  contacts = found;
  assemble_again(start.v);
  x = start;
  return true;
}

}  // namespace

bool solve_velocities(StepRun& run, double dt, bool located, Assembly& assembly, Solved& solved) {
  Timer timer;
  const ContactSet& rows = solved.rows;
  solved.row_settings = row_settings(run, dt, located, rows.contacts.size());
  solved.closing.clear();
  assemble_rows(run.model, run.parameters, run.interval(dt), rows.contacts, solved.row_settings,
                solved.row_settings.beta, assembly, rows.flexible);
  start_from(run.warm, run, dt, assembly, solved);
  run.report.seconds_assembly += timer.seconds();
  timer.restart();
  bool finite = start_by_sweeps(run, dt, assembly, solved) ||
                solve_and_report(run, SolveKind::Step, dt, assembly, rows, solved.solution, false);
  if (!run.model.flexible_parts().empty()) {
    ++run.report.newton_iterations;
    finite = finite && relinearise(run, dt, located, assembly, solved);
  }
  if (located) finite = finite && settle_soft(run, dt, assembly, solved);
  run.report.seconds_solve += timer.seconds();
  return finite;
}

bool solve_located(StepRun& run, double dt) {
  Assembly& assembly = run.work.detected.assembly;
  CanonicalProblem& problem = assembly.problem;
  Solved& solved = run.work.solved;
  Displacement& out = run.work.displacement;
  mark_held(run, solved.rows, out.touched);
  hold_touched(run, assembly);
  if (!solve_velocities(run, dt, true, assembly, solved)) return false;
  find_displacement(run, dt, assembly, solved, out);
  if (out.held.size() == 0) return true;
  // What flies after all has nothing but its forces, which may resist a spin, and the spin of its
  // flight; where that would close a contact that does not push, its bodies do not fly.
  const Index n = run.model.dynamic_v_size();
  VecX momentum, change, delta, v;
  for (bool closes = true; closes;) {
    closes = false;
    momentum.setZero(n);
    for (const BodyId id : run.model.dynamic_bodies()) {
      const Body& body = run.model.body(id);
      if (body.planar || out.touched[static_cast<std::size_t>(body.dynamic)] != 0) continue;
      const Mat3 J = inertia_matrix(run.parameters.values.data() + body.inertia);
      const Index at = body.v_begin + 3;
      momentum.segment<3>(at) =
          world_inertia(body_pose(body, run.x.q.data()).p, J) * out.held.segment<3>(at);
    }
    if (momentum.isZero(0)) return true;
    assembly.solver.solve(momentum, change);
    delta = out.delta;
    for (const BodyId id : run.model.dynamic_bodies()) {
      const Body& body = run.model.body(id);
      if (out.touched[static_cast<std::size_t>(body.dynamic)] != 0) continue;
      delta.segment(body.v_begin, body.v_size) +=
          0.5 * dt * (out.held - change).segment(body.v_begin, body.v_size);
    }
    v = solved.solution.v - change;
    for (const ContactBlock& block : assembly.blocks) {
      if (!closes_gap(problem, block, v, 1) && !closes_gap(problem, block, delta, dt)) continue;
      for (const BlockRows::Entry& entry : problem.D.entries(block.block)) {
        unsigned char& touched = out.touched[static_cast<std::size_t>(entry.block)];
        if (touched != 0) continue;
        closes = true;
        touched = 1;
        out.delta.segment(entry.column, entry.width) =
            dt * solved.solution.v.segment(entry.column, entry.width);
      }
    }
  }
  solved.solution.v = v;
  problem.D.multiply_add(-1, change, solved.solution.w);
  out.delta = delta;
  return true;
}

void find_displacement(StepRun& run, double dt, const Assembly& assembly, const Solved& solved,
                       Displacement& out) {
  const Model& model = run.model;
  const CanonicalProblem& problem = assembly.problem;
  const VecX& v = solved.solution.v;
  const Index n = model.dynamic_v_size();
  VecX& delta = out.delta;
  std::vector<unsigned char>& touched = out.touched;
  delta = dt * run.x.v;  // kinematic bodies
  delta.head(n) = dt * v;
  if (model.law() != LawOfMotion::Inertial) return;

  mark_jointed(run, touched);
  const auto touch = [&](Index contact) {
    for (const BlockRows::Entry& entry : problem.D.entries(assembly.blocks[contact].block))
      touched[static_cast<std::size_t>(entry.block)] = 1;
  };
  const Index contacts = static_cast<Index>(assembly.blocks.size());
  for (Index c = 0; c < contacts; ++c) {
    const ContactBlock& block = assembly.blocks[c];
    // The last row of a pyramid holds its sliding speed, which is no impulse.
    const bool pyramid =
        solved.row_settings.friction == FrictionModel::Pyramid && block.material.friction > 0;
    double momentum = std::numeric_limits<double>::infinity();
    for (const BlockRows::Entry& entry : problem.D.entries(block.block))
      momentum =
          std::min(momentum, problem.k.segment(entry.column, entry.width).cwiseAbs().maxCoeff());
    const auto impulse = solved.solution.lambda.segment(block.row, block.dim - (pyramid ? 1 : 0));
    if (impulse.cwiseAbs().maxCoeff() > kNoImpulse * momentum) touch(c);
  }
  VecX& flight = run.work.flight;
  flight.resize(n);
  free_flight(assembly.dynamics, v, dt, flight);
  // A gap that the flight would break and v⁺ keeps is touched too; that may break others.
  for (bool changed = true; changed;) {
    for (Index i = 0; i < model.dynamic_count(); ++i) {
      const Body& body = model.body(model.dynamic_bodies()[i]);
      const bool with_v = touched[static_cast<std::size_t>(i)] != 0;
      delta.segment(body.v_begin, body.v_size) =
          (with_v ? dt : 1) * (with_v ? v : flight).segment(body.v_begin, body.v_size);
    }
    changed = false;
    for (Index c = 0; c < contacts; ++c) {
      const ContactBlock& block = assembly.blocks[c];
      if (!closes_gap(problem, block, delta, dt)) continue;
      for (const BlockRows::Entry& entry : problem.D.entries(block.block))
        changed = changed || !touched[static_cast<std::size_t>(entry.block)];
      touch(c);
    }
  }
}

void advance(StepRun& run, double dt, const Assembly& assembly, const Solved& solved,
             const Displacement& displacement) {
  if (run.record != nullptr) {
    SolveRecord& last = run.record->solves.back();
    last.rows = solved.row_settings;
    if (run.model.law() == LawOfMotion::Inertial) last.touched = displacement.touched;
  }
  keep_impulses(run, dt, assembly, solved, run.warm);
  boxplus(run.model, run.x.q, displacement.delta, run.x.q);
  run.x.v.head(run.model.dynamic_v_size()) = solved.solution.v;
  run.x.t += dt;
}

namespace {

/// The interval that has been detected, with rows for all its contacts.
bool solve_detected(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  Assembly& assembly = work.detected.assembly;
  work.solved.rows = work.detected.contacts;
  if (!solve_velocities(run, dt, false, assembly, work.solved)) return false;
  find_displacement(run, dt, assembly, work.solved, work.displacement);
  return true;
}

/// Intervals of which each is halved until `holds(q⁺)` accepts its end, `most` times in the whole
/// step; the next one is tried at twice the length. Returns how often through `halvings`.
template <class Begin, class Holds>
bool step_by_halves(StepRun& run, double length, int most, int& halvings, Begin&& begin,
                    Holds&& holds) {
  StepWorkspace::Impl& work = run.work;
  double last = length;
  return step_in_intervals(run, length, [&](double left, double& dt) {
    begin();
    for (dt = std::min(left, 2 * last);; dt *= 0.5, ++halvings) {
      if (!detect(run, dt, work.detected) || !solve_detected(run, dt)) return false;
      boxplus(run.model, run.x.q, work.displacement.delta, work.trial.q);
      if (holds(work.trial.q) || halvings >= most) break;
    }
    last = dt;
    return true;
  });
}

}  // namespace

bool step_interval(StepRun& run, double dt, bool crowd) {
  Detected& detected = run.work.detected;
  if (!run.model.flexible_parts().empty()) return step_with_cuts(run, dt);
  const bool light = crowd && free_crowd_motion(run, dt);
  if (crowd && !light) keep_start(run);
  if (!light && !assemble_free_motion(run, dt, detected.assembly)) return false;
  find_near_contacts(run, dt, crowd, detected);
  if (crowd && step_crowd(run, dt, light)) return true;
  if (light) keep_start(run);
  if (light && !assemble_free_motion(run, dt, detected.assembly)) return false;
  return step_in_intervals(run, dt,
                           [&](double, double& length) { return solve_detected(run, length); });
}

bool step_with_cuts(StepRun& run, double length) {
  Index before = 0;
  int cuts = 0;
  const bool finite = step_by_halves(
      run, length, run.settings.max_cuts, cuts,
      [&] { before = inverted_elements(run.model, run.x.q); },
      [&](const VecX& q) {
        run.report.inverted = inverted_elements(run.model, q);
        return run.report.inverted <= before;
      });
  run.report.cuts += cuts;
  return finite;
}

bool step_with_halving(StepRun& run) {
  ContactSet& there = run.work.trial.contacts;
  find_contacts_at(run, run.x.q, there);
  double overlap = 0;  // that was there before: not the interval's doing
  int halvings = 0;
  const double share = run.settings.halving_tolerance / run.settings.projection_tolerance;
  return step_by_halves(
      run, run.settings.h, run.settings.max_halvings, halvings,
      [&] { overlap = deepest_penetration(there); },
      [&](const VecX& q) {
        find_contacts_at(run, q, there);
        return std::ranges::none_of(there.contacts, [&](const Contact& c) {
          return -c.gap > overlap + share * contact_tolerance(run, c);
        });
      });
}

}  // namespace orthant::internal
