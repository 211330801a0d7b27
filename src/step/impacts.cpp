// SPDX-License-Identifier: Apache-2.0
// step/impacts.cpp: contacts that touch and approach => velocities after their impacts.
//   M (v⁺ − v⁻) = Cᵀγ + Dᵀλ,   w_n = D_n v⁺ + s ε D_n v⁻,   no force
// Impacts at one instant are resolved pair by pair, fastest first: all rows of a pair approach
// together, and a row of balls passes the momentum on as it should. With friction Newton's law
// (s = 1) may gain energy (Kane's paradox); without restitution an impact never does:
//   2 (T⁺ − T⁻) = λᵀ(u⁻ + u⁺),  λᵀu⁺ <= 0,  λᵀu⁻ = λᵀ(u⁺ − Nλ) <= 0
// so there is a largest s in [0, 1] with T(s) <= T⁻, and it is 1 nearly always.
#include <algorithm>
#include <cmath>

#include "step/impact_gain.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

constexpr double kNoGain = 1e-12;  // of the energy that takes part: a gain by rounding
constexpr int kMaxScalings = 60;

ContactRowSettings row_settings(const StepRun& run, double restitution_scale) {
  return {.h = run.settings.h,
          .friction = run.settings.friction,
          .pyramid_directions = run.settings.pyramid_directions,
          .restitution_scale = restitution_scale};
}

/// Rows of one pair with every ε scaled by s, and their solution; false: not finite.
bool solve_pair(StepRun& run, const ContactSet& pair, double s, Correction& out) {
  assemble_impact(run.model, run.parameters, run.interval(run.settings.h), pair.contacts,
                  row_settings(run, s), out.assembly);
  out.solution = zero_solution(out.assembly.problem);
  out.solution.v = run.x.v.head(run.model.dynamic_v_size());
  return solve_and_report(run, SolveKind::Impact, 0, out.assembly, pair, out.solution, false);
}

/// Solves the impact of a pair with the largest s that gains nothing: the root of the gain in
/// (0, 1), which lies between what s = 0 loses and s = 1 gains. Returns s through `scale`; false:
/// not finite.
bool bound_energy(StepRun& run, const ContactSet& pair, Correction& out, double& scale) {
  const auto solve = [&](double s, EnergyGain& gain) {
    scale = s;
    if (!solve_pair(run, pair, s, out)) return false;
    gain = energy_gain(out.assembly.problem, out.assembly.blocks, run.x.v, out.solution);
    return true;
  };
  EnergyGain gain;
  if (!solve(1, gain)) return false;
  if (run.settings.restitution_law == RestitutionLaw::Newton ||
      !(gain.value > kNoGain * gain.scale))
    return true;
  double hi = 1, at_hi = gain.value, lo = 0;
  if (!solve(0, gain)) return false;
  double at_lo = gain.value;
  if (!(at_lo < 0)) return true;
  // Regula falsi, the end that stays put halved (Illinois). The last solve is at `lo`.
  int side = 0;
  for (int i = 0; i < kMaxScalings; ++i) {
    double s = (lo * at_hi - hi * at_lo) / (at_hi - at_lo);
    if (!(s > lo && s < hi)) s = 0.5 * (lo + hi);
    if (!(s > lo && s < hi)) break;
    if (!solve(s, gain)) return false;
    if (std::abs(gain.value) <= 1e-2 * kNoGain * gain.scale) return true;
    if (gain.value < 0) {
      lo = s;
      at_lo = gain.value;
      if (side < 0) at_hi *= 0.5;
      side = -1;
    } else {
      hi = s;
      at_hi = gain.value;
      if (side > 0) at_lo *= 0.5;
      side = 1;
    }
  }
  return solve(lo, gain);
}

}  // namespace

double impact_threshold(const StepRun& run) {
  // Beside it the rounding of the velocities themselves.
  const double fastest = run.x.v.size() == 0 ? 0 : run.x.v.cwiseAbs().maxCoeff();
  return std::max(restitution_threshold(run), 1e-13 * fastest);
}

bool is_soft(const StepRun& run, const Contact& contact) {
  return contact_material(run.model, run.parameters, run.model.shape(contact.shape_a).material,
                          run.model.shape(contact.shape_b).material)
             .compliance > 0;
}

bool resolve_impacts(StepRun& run, const ContactSet& set, bool at_start) {
  Correction& impact = run.work.correction;
  const std::vector<Contact>& contacts = set.contacts;
  const double threshold = impact_threshold(run);
  const auto touches = [&](const Contact& c) {
    return c.gap <= contact_tolerance(run, c) && !is_soft(run, c);
  };
  bool any = false;
  while (run.report.events < run.settings.max_events) {
    // The pair of bodies that touches and approaches fastest; contacts of a pair are neighbours.
    double fastest = -threshold;
    std::size_t begin = contacts.size();
    for (std::size_t c = 0; c < contacts.size(); ++c) {
      if (!touches(contacts[c])) continue;
      const double rate = gap_rate(run.model, run.x.q, run.x.v, contacts[c]);
      if (rate >= fastest) continue;
      fastest = rate;
      begin = c;
    }
    if (begin == contacts.size()) return any;
    const Contact& chosen = contacts[begin];
    ContactSet pair;
    // Closed before, to a tolerance that locating an impact goes far below: what approaches has its
    // impact now, whatever is left of its gap.
    bool pinned = false;
    for (const Contact& contact : contacts) {
      if (contact.body_a != chosen.body_a || contact.body_b != chosen.body_b || !touches(contact))
        continue;
      pinned = pinned || (std::abs(contact.gap) > meeting_gap(run, contact) &&
                          gap_rate(run.model, run.x.q, run.x.v, contact) < 0);
      pair.contacts.push_back(contact);
      pair.contacts.back().gap = 0;
    }
    double scale = 1;
    if (!bound_energy(run, pair, impact, scale)) return any;
    record_solve(run, SolveKind::Impact, 0, impact.assembly, pair, impact.solution);
    if (run.record != nullptr) {
      SolveRecord& last = run.record->solves.back();
      last.rows = row_settings(run, scale);
      last.pinned = at_start && pinned;
      last.scaled = scale < 1;
    }
    run.x.v.head(run.model.dynamic_v_size()) = impact.solution.v;
    ++run.report.events;
    any = true;
  }
  run.report.events_exhausted = true;
  return any;
}

}  // namespace orthant::internal
