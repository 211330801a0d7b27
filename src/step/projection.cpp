// SPDX-License-Identifier: Apache-2.0
// step/projection.cpp: q => q ⊞ δ with Ψ = 0 and Φ >= 0.
//   min ½ δᵀMδ   s.t.   C δ + Ψ(q) = 0,   D δ + Φ(q) >= 0,   repeated at the new q
// (flexible parts: H of the step instead of M, so that their elements share the correction.)
// Positions change, velocities do not. The rows are linear in δ and Φ, Ψ are not: each round
// squares the error. A deep overlap is undone a share at a time, where the rows are still true.
// A step that needs no round stands on the joints all the same, and changes of its joints move it
// as a round would: the record gets that round (idle), with nothing to correct.
#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/base/timer.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/math/velocity_solver.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr int kMaxRounds = 40;
constexpr int kPatience = 8;  // rounds that do not make the error smaller
/// Of the tolerance: a step whose joints are off by less needs no round. Far below it, so that
/// small changes of the state that bend a joint are undone as large ones are.
constexpr double kUnbent = 1e-3;

/// Length that joint errors are measured against: the smallest shape of a dynamic body.
double smallest_size(const StepRun& run) {
  double size = run.work.measures.smallest();
  for (const FlexiblePart& part : run.model.flexible_parts())
    size = std::min(size, part.edge_length);
  return std::isfinite(size) ? size : 1;
}

/// Largest error in units of what is allowed; writes the report's lengths.
double measure(StepRun& run, const ContactSet& contacts, double joint_tolerance) {
  double worst = 0;
  run.report.deepest = 0;
  for (const Contact& contact : contacts.contacts) {
    if (contact.gap >= 0) continue;
    run.report.deepest = std::max(run.report.deepest, -contact.gap);
    const ContactMaterial material =
        contact_material(run.model, run.parameters, run.model.shape(contact.shape_a).material,
                         run.model.shape(contact.shape_b).material);
    if (material.compliance > 0) continue;  // meant to overlap
    worst = std::max(worst, -contact.gap / contact_tolerance(run, contact));
  }
  for (const FlexibleContact& contact : contacts.flexible) {
    if (contact.gap >= 0) continue;
    run.report.deepest = std::max(run.report.deepest, -contact.gap);
    if (contact_material(run.model, run.parameters, contact.material_a, contact.material_b)
            .compliance > 0)
      continue;
    worst = std::max(worst, -contact.gap / (run.settings.projection_tolerance * contact.size));
  }
  run.report.joint_error = run.model.joints().empty()
                               ? 0
                               : largest_joint_error(run.model, run.parameters, run.x.q, run.x.t);
  return std::max(worst, run.report.joint_error / joint_tolerance);
}

/// Leaves out the contacts that a correction of the joints cannot reach: rows d with C H⁻¹dᵀ = 0
/// that meet no other row of that kind. Closed or open, they change nothing, and are no kink.
void drop_unreached(const Assembly& assembly, ContactSet& set) {
  constexpr std::size_t kMostContacts = 64;  // all pairs are looked at
  constexpr double kRounding = 1e-12;
  const CanonicalProblem& p = assembly.problem;
  std::vector<Contact>& contacts = set.contacts;
  const std::size_t count = contacts.size();
  if (count == 0 || count > kMostContacts || !set.flexible.empty() ||
      p.H.kind() != VelocityMatrix::Kind::BlockDiagonal)
    return;
  VelocitySolver inverse;
  if (!inverse.factorize(p.H)) return;
  const Index rows = p.row_count();
  MatX moved(p.velocity_count(), rows);  // H⁻¹Dᵀ
  VecX y;
  for (Index i = 0; i < rows; ++i) {
    VecX row = VecX::Zero(p.velocity_count());
    p.D.multiply_transpose_add(1, VecX::Unit(rows, i), row);
    inverse.solve(row, y);
    moved.col(i) = y;
  }
  const auto meets = [&](const BlockRows& others, Index i, Index k) {
    VecX product = VecX::Zero(others.rows());
    others.multiply_add(1, moved.col(i), product);
    const double size = moved.col(i).cwiseAbs().maxCoeff();
    return k < 0 ? product.cwiseAbs().maxCoeff() > kRounding * size
                 : std::abs(product[k]) > kRounding * size;
  };
  std::vector<unsigned char> reached(static_cast<std::size_t>(rows), 1);  // limits of joints: yes
  for (std::size_t c = 0; c < count; ++c) {
    const ContactBlock& block = assembly.blocks[c];
    if (block.dim > 0)
      reached[static_cast<std::size_t>(block.row)] = p.C.empty() ? 0 : meets(p.C, block.row, -1);
  }
  for (bool changed = true; changed;) {
    changed = false;
    for (Index i = 0; i < rows; ++i)
      for (Index k = 0; k < rows; ++k)
        if (!reached[static_cast<std::size_t>(i)] && reached[static_cast<std::size_t>(k)] &&
            meets(p.D, i, k))
          reached[static_cast<std::size_t>(i)] = changed = true;
  }
  std::size_t c = 0;
  std::erase_if(contacts, [&](const Contact&) {
    const ContactBlock& block = assembly.blocks[c++];
    return block.dim > 0 && !reached[static_cast<std::size_t>(block.row)];
  });
}

void assemble_round(StepRun& run, const ContactSet& contacts, Assembly& out) {
  assemble_projection(run.model, run.parameters, run.x.q, run.x.t, run.settings.h,
                      contacts.contacts, out, contacts.flexible);
}

/// The round that was not needed, for the gradient: joints, ties, and the contacts that touch.
void record_idle_round(StepRun& run, ContactSet& contacts, Correction& round) {
  std::erase_if(contacts.contacts,
                [&](const Contact& c) { return c.gap > contact_tolerance(run, c); });
  std::erase_if(contacts.flexible, [&](const FlexibleContact& c) {
    return c.gap > run.settings.projection_tolerance * c.size;
  });
  assemble_round(run, contacts, round.assembly);
  const std::size_t touching = contacts.contacts.size();
  drop_unreached(round.assembly, contacts);
  if (contacts.contacts.size() != touching) assemble_round(run, contacts, round.assembly);
  round.solution = zero_solution(round.assembly.problem);
  round.solution.w = round.assembly.problem.b;
  run.work.solve_report.residual = {};
  record_solve(run, SolveKind::Projection, 0, round.assembly, contacts, round.solution);
  run.record->solves.back().idle = true;
}

}  // namespace

void project_positions(StepRun& run) {
  Timer timer;
  Correction& correction = run.work.correction;
  ContactSet& contacts = run.work.trial.contacts;
  VecX& last_q = run.work.trial.q;
  const double joint_tolerance = run.settings.projection_tolerance * smallest_size(run);
  double last = std::numeric_limits<double>::infinity();
  int stalled = 0;
  bool clipped = false;  // a deep overlap shrinks by a fixed length
  const bool projects = run.settings.stabilisation == Stabilisation::Projection;
  // Errors of ties are not measured, so they alone never ask for a round.
  const bool holds = run.model.bilateral_count() > 0;
  for (int round = 0;; ++round) {
    find_contacts_at(run, run.x.q, contacts);
    const double error = measure(run, contacts, joint_tolerance);
    const bool bent = round == 0 && run.report.joint_error > kUnbent * joint_tolerance;
    const bool done = error <= 1 && !bent;
    if (done && round == 0 && projects && holds && run.record != nullptr)
      record_idle_round(run, contacts, correction);
    if (done || !projects) break;
    stalled = error > 0.9 * last && !clipped ? stalled + 1 : 0;
    // Joints that contradict each other have no correction, and what a solver ends with may be far
    // off: a round that made things worse is taken back, and no other is tried.
    const bool contradiction = round > 0 && run.work.solve_report.outcome != Outcome::Converged;
    if (contradiction && error > last) {
      run.x.q = last_q;
      if (run.record != nullptr) run.record->solves.pop_back();
      find_contacts_at(run, run.x.q, contacts);
      (void)measure(run, contacts, joint_tolerance);
      break;
    }
    if (round == kMaxRounds || stalled > (contradiction ? 0 : kPatience)) break;
    last = error;

    assemble_round(run, contacts, correction.assembly);
    correction.assembly.v_free.setZero(run.model.dynamic_v_size());
    correction.solution = zero_solution(correction.assembly.problem);
    if (!correction.assembly.solver.factorize(correction.assembly.problem.H) ||
        !solve_and_report(run, SolveKind::Projection, 0, correction.assembly, contacts,
                          correction.solution))
      break;
    clipped = std::ranges::any_of(correction.assembly.blocks, [](const ContactBlock& block) {
      return block.branch == BiasBranch::Clipped;
    });
    VecX& delta = run.work.displacement.delta;
    delta.setZero(run.model.v_size());
    delta.head(run.model.dynamic_v_size()) = correction.solution.v;
    last_q = run.x.q;
    boxplus(run.model, last_q, delta, run.x.q);
  }
  run.report.seconds_projection += timer.seconds();
}

}  // namespace orthant::internal
