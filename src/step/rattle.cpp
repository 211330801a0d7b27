// SPDX-License-Identifier: Apache-2.0
// step/rattle.cpp: second order for jointed bodies, positions and velocities of joints both met.
//   v½ = v + M⁻¹(½ dt f(q) + C(q)ᵀγ₁ + D(q)ᵀλ₁)   with  Ψ(q ⊞ coast(v½)) = 0
//   v⁺ = coast(v½) + M⁻¹(½ dt f(q⁺) + C(q⁺)ᵀγ₂ + D(q⁺)ᵀλ₂)   with  C(q⁺) v⁺ + ∂Ψ/∂t = 0
// coast: flight without force, which keeps the angular momentum of a spinning body. The first line
// is solved by a chord iteration: same matrix, the joint error at the trial end added to e.
// Contacts have their rows in both lines: gaps in the first, speeds in the second.
#include <cmath>

#include "orthant/base/timer.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxChords = 30;
constexpr double kChordTolerance = 1e-13;  // of joint errors [m, rad]

/// Flight of dt without force from v: the tangent travelled, and the velocity at its end.
void coast(StepRun& run, const VecX& v, double dt, Dynamics& dynamics, VecX& delta, VecX& v_end) {
  CanonicalProblem& scratch = run.work.correction.assembly.problem;
  VecX all = run.x.v;
  all.head(v.size()) = v;
  assemble_dynamics(run.model, run.parameters, run.x.q, all, run.x.t, run.u, dt, dynamics,
                    scratch.H, scratch.k);
  v_end = dynamics.coast_velocity;
  delta = dt * run.x.v;  // kinematic bodies
  delta.head(v.size()) = dynamics.coast_delta;
}

/// H = M(q), k = M v + ½ dt f(q, v).
void half_kick(StepRun& run, double dt, Assembly& out) {
  CanonicalProblem& p = out.problem;
  const Index n = run.model.dynamic_v_size();
  assemble_mass(run.model, run.parameters, run.x.q, p.H);
  p.H.multiply(run.x.v.head(n), p.k);
  applied_force(run.model, run.parameters, run.x.q, run.x.v, run.x.t, run.u, run.work.flight);
  p.k += 0.5 * dt * run.work.flight.head(n);
  if (out.solver.factorize(p.H)) out.solver.solve(p.k, out.v_free);
}

/// `restitution`: of compliant contacts; the others have had their impacts.
ContactRowSettings row_settings(const StepRun& run, double dt, bool restitution) {
  return {.h = dt,
          .friction = run.settings.friction,
          .pyramid_directions = run.settings.pyramid_directions,
          .restitution = restitution,
          .impacts_located = true,
          .restitution_threshold = restitution_threshold(run)};
}

bool substep(StepRun& run, double dt) {
  StepWorkspace::Impl& work = run.work;
  const Model& model = run.model;
  Detected& detected = work.detected;
  Assembly& assembly = detected.assembly;
  Solved& solved = work.solved;
  const Index n = model.dynamic_v_size();
  if (!detect(run, dt, detected)) return false;
  if (resolve_impacts(run, detected.contacts, false) && !detect(run, dt, detected)) return false;
  solved.rows = detected.contacts;

  // First line: velocities that take the joints to Ψ = 0.
  Timer timer;
  half_kick(run, dt, assembly);
  assemble_rows(model, run.parameters, run.interval(dt), solved.rows.contacts,
                row_settings(run, dt, true), 1.0, assembly);
  start_from(run.warm, run, dt, assembly, solved);
  VecX& q_end = work.trial.q;
  VecX v_end;
  for (int chord = 0;; ++chord) {
    if (!solve_and_report(run, SolveKind::Step, dt, assembly, solved.rows, solved.solution))
      return false;
    coast(run, solved.solution.v, dt, assembly.dynamics, work.displacement.delta, v_end);
    boxplus(model, run.x.q, work.displacement.delta, q_end);
    if (model.bilateral_count() == 0) break;
    joint_error(model, run.parameters, q_end, run.x.t + dt, work.psi);
    if (work.psi.cwiseAbs().maxCoeff() <= kChordTolerance || chord == kMaxChords) break;
    assembly.problem.e += work.psi / dt;
  }
  keep_impulses(run, dt, assembly, solved, run.warm);
  run.x.q = q_end;
  run.x.v.head(n) = v_end;
  run.x.t += dt;

  // Second line: the other half of the forces, and velocities that the joints allow.
  find_contacts(model, run.parameters, run.x.q, {}, collision_settings(run), work.collision,
                solved.rows);
  std::erase_if(solved.rows.contacts,
                [&](const Contact& c) { return c.gap > contact_tolerance(run, c); });
  half_kick(run, dt, assembly);
  assemble_rows(model, run.parameters, run.interval(dt), solved.rows.contacts,
                row_settings(run, dt, false), 0.0, assembly);
  joint_rate(model, run.parameters, run.x.q, run.x.v, run.x.t, assembly.problem.e);
  start_from(run.warm, run, dt, assembly, solved);
  if (!solve_and_report(run, SolveKind::Step, 0, assembly, solved.rows, solved.solution))
    return false;
  run.x.v.head(n) = solved.solution.v;
  run.report.seconds_solve += timer.seconds();
  return true;
}

}  // namespace

bool step_rattle(StepRun& run) {
  const double h = run.settings.h;
  const int count = std::max(1, static_cast<int>(std::ceil(h / run.settings.substep - 1e-9)));
  for (int i = 0; i < count; ++i) {
    if (!substep(run, h / count)) return false;
  }
  return true;
}

}  // namespace orthant::internal
