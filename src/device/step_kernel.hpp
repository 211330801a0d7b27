// SPDX-License-Identifier: Apache-2.0
// device/step_kernel.hpp: one step of one world, the formulation of step() in src/step:
//   H v⁺ − Cᵀγ − Dᵀλ = k,  C v⁺ + e = 0,  laws(λ, D v⁺ + b);   q⁺ = q ⊞ h v⁺ where something
//   touches
// or holds, second-order flight elsewhere; then, where wanted, rounds of projection onto joints,
// limits and contacts: min ½ δᵀMδ, C δ + Ψ = 0, D δ + Φ >= 0.
#pragma once

#include "device/rows_kernel.hpp"

namespace orthant::device {

/// v and γ with all impulses: K⁻¹(k + Dᵀλ).
template <int Lanes>
ORTHANT_HD void apply_impulses(const World<Lanes>& w, const RowSet& set, Use use) {
  const BatchModel& m = w.m;
  const Slab<double, Lanes> f = w.x + m.at.y;
  for (int i = 0; i < 6 * m.bodies; ++i) f[i] = use == Use::Step ? w.x[m.at.k + i] : 0;
  for (int r = 0; r < set.count(); ++r) {
    const double l = w.x[m.at.lambda + r];
    if (l == 0) continue;
    int a, b;
    bodies_of(w, set, r, a, b);
    add_row(w, r, a, b, l, f);
  }
  solve_tree(w, f, true, w.x + m.at.v, w.x + m.at.gamma);
}

/// Impulses that the last step ended with (3 per contact, then the limits) onto the rows.
template <int Lanes>
ORTHANT_HD void start_warm(const World<Lanes>& w, const RowSet& set, const double* warm) {
  const BatchModel& m = w.m;
  for (int c = 0; c < set.contacts; ++c)
    for (int i = 0; i < set.dim; ++i)
      w.x[m.at.lambda + set.dim * c + i] = warm == nullptr ? 0 : warm[3 * w.i[m.at.index + c] + i];
  for (int l = 0; l < set.limits; ++l)
    w.x[m.at.lambda + set.dim * set.contacts + l] =
        warm == nullptr ? 0 : warm[3 * m.contacts + w.i[m.at.index + m.contacts + l]];
}

template <int Lanes>
ORTHANT_HD void move_body(const World<Lanes>& w, int b, const double* d) {
  const Slab<double, Lanes> q = w.x + w.m.at.q + w.m.body[b].q;
  const Pose7<double> pose = pose_at(w, w.m.body[b].q);
  const Q4<double> p = boxplus(pose.p, V3<double>{d[3], d[4], d[5]});
  q[0] = pose.x.x + d[0], q[1] = pose.x.y + d[1], q[2] = pose.x.z + d[2];
  q[3] = p.w, q[4] = p.x, q[5] = p.y, q[6] = p.z;
}

/// δ of the step and which bodies move with v⁺ (src/step/interval.cpp, find_displacement).
template <int Lanes>
ORTHANT_HD void find_displacement(const World<Lanes>& w, const RowSet& set, const double* v) {
  const BatchModel& m = w.m;
  const double h = w.s.h;
  const Slab<int, Lanes> touched = w.i + m.at.touched;
  const Slab<double, Lanes> delta = w.x + m.at.delta, next = w.x + m.at.v;
  for (int b = 0; b < m.bodies; ++b) touched[b] = m.body[b].jointed;
  const auto touch = [&](int c) {
    const ContactData& pair = m.contact[w.i[m.at.index + c]];
    const bool fresh = (pair.body1 >= 0 && touched[pair.body1] == 0) ||
                       (pair.body2 >= 0 && touched[pair.body2] == 0);
    if (pair.body1 >= 0) touched[pair.body1] = 1;
    if (pair.body2 >= 0) touched[pair.body2] = 1;
    return fresh;
  };
  for (int c = 0; c < set.contacts; ++c)
    if (w.x[m.at.lambda + 3 * c] != 0) touch(c);
  for (bool changed = true; changed;) {
    for (int b = 0; b < m.bodies; ++b)
      for (int i = 0; i < 6; ++i) {
        double d = h * next[6 * b + i];
        if (touched[b] == 0) {
          const Slab<double, Lanes> turn = w.x + m.at.turn + 6 * b;
          d = i < 3 ? h * v[6 * b + i] + 0.5 * h * (next[6 * b + i] - v[6 * b + i])
                    : turn[i - 3] + 0.5 * h * (next[6 * b + i] - turn[i]);
        }
        delta[6 * b + i] = d;
      }
    changed = false;
    for (int c = 0; c < set.contacts; ++c) {
      const ContactData& pair = m.contact[w.i[m.at.index + c]];
      const double gap = w.x[m.at.gap + c];
      if (row_rate(w, 3 * c, pair.body1, pair.body2, delta) + (gap < 0 ? w.s.beta * gap : gap) >= 0)
        continue;
      changed = touch(c) || changed;
    }
  }
}

/// Smallest shape of a body that moves: what errors of joints are measured against.
ORTHANT_HD inline double smallest_size(const BatchModel& m, const double* par) {
  double least = 1e300;
  for (int c = 0; c < m.contacts; ++c) {
    const ContactData& pair = m.contact[c];
    if (pair.body1 >= 0 && shape_width(pair.shape1, par + pair.size1) < least)
      least = shape_width(pair.shape1, par + pair.size1);
    if (pair.body2 >= 0 && shape_width(pair.shape2, par + pair.size2) < least)
      least = shape_width(pair.shape2, par + pair.size2);
  }
  return least < 1e300 ? least : 1;
}

/// Joints, contacts and limits at the q of the workspace and the correction they ask for, in v;
/// the error in units of what is allowed out.
template <int Lanes>
ORTHANT_HD double correct(const World<Lanes>& w, double smallest, RowSet& set, WorldReport& report,
                          bool& good, bool solve) {
  const BatchModel& m = w.m;
  place_bodies(w, nullptr);
  double joint_error = 0, worst = 0, deepest = 0;
  good = factorize(w, nullptr, joint_error);
  // A correction is good enough when what it leaves is little of what is allowed.
  set = {0, 0, 1, 0.01 * w.s.projection_tolerance * smallest / w.s.tolerance};
  set.contacts = place_contacts(w, Use::Projection, nullptr, deepest, worst);
  report.deepest = deepest;
  report.joint_error = joint_error;
  const double joints = joint_error / (w.s.projection_tolerance * smallest);
  worst = joints > worst ? joints : worst;
  if (!solve && worst <= 1) return worst;
  const Slab<double, Lanes> f = w.x + m.at.y;
  for (int i = 0; i < 6 * m.bodies; ++i) f[i] = 0;
  solve_tree(w, f, true, w.x + m.at.v, w.x + m.at.gamma);
  place_limits(w, Use::Projection, set, nullptr, false);
  build_rows(w, set);
  start_warm(w, set, nullptr);
  double error = solve_laws(w, set, report);
  apply_impulses(w, set, Use::Projection);
  for (int again = 0; again < 3; ++again) {  // a limit that the correction goes beyond
    const int had = set.limits;
    if (!place_limits(w, Use::Projection, set, nullptr, true)) break;
    for (int i = 0; i < 6 * m.bodies; ++i) f[i] = 0;
    solve_tree(w, f, true, w.x + m.at.v, w.x + m.at.gamma);
    for (int c = 0; c < set.contacts; ++c) w.x[m.at.b + c] = w.x[m.at.gap + c];
    build_rows(w, set);
    for (int l = had; l < set.limits; ++l) w.x[m.at.lambda + set.contacts + l] = 0;
    error = solve_laws(w, set, report);
    apply_impulses(w, set, Use::Projection);
  }
  report.residual = error > report.residual ? error : report.residual;
  return worst;
}

/// The velocity solve: rows, impulses (from `warm`, and back into it unless `given`), v⁺ and γ.
template <int Lanes>
ORTHANT_HD bool solve_velocities(const World<Lanes>& w, const double* v, const double* warm,
                                 bool given, RowSet& set, WorldReport& report) {
  const BatchModel& m = w.m;
  double joint_error, deepest = 0, worst = 0;
  place_bodies(w, v);
  if (!factorize(w, v, joint_error)) return false;
  set = {0, 0, 3, 0};
  apply_impulses(w, set, Use::Step);
  set.contacts = place_contacts(w, Use::Step, v, deepest, worst);
  report.contacts = set.contacts;
  place_limits(w, Use::Step, set, warm, false);
  build_rows(w, set);
  start_warm(w, set, warm);
  double error = 0;
  if (given) {
    scale_rows(w, set);
    error = set.count() > 0 ? judge_rows(w, set) : 0;
  } else {
    error = solve_laws(w, set, report);
  }
  apply_impulses(w, set, Use::Step);
  for (int again = 0; !given && again < 3; ++again) {
    const int had = set.limits;
    if (!place_limits(w, Use::Step, set, nullptr, true)) break;
    for (int r = had; r < set.limits; ++r) w.x[m.at.lambda + 3 * set.contacts + r] = 0;
    const RowSet none{0, 0, 3, 0};
    apply_impulses(w, none, Use::Step);
    for (int c = 0; c < set.contacts; ++c) {
      const double gap = w.x[m.at.gap + c];
      w.x[m.at.b + 3 * c] = gap < 0 ? w.s.beta * gap / w.s.h : gap / w.s.h;
      w.x[m.at.b + 3 * c + 1] = w.x[m.at.b + 3 * c + 2] = 0;
    }
    build_rows(w, set);
    error = solve_laws(w, set, report);
    apply_impulses(w, set, Use::Step);
  }
  report.residual = error;
  return true;
}

ORTHANT_HD inline bool is_finite(double x) { return x - x == 0; }

/// One step: q, v, warm in and out. A world whose numbers are not finite is left as it was.
template <int Lanes>
ORTHANT_HD void step_world(const World<Lanes>& w, double* q, double* v, double* warm,
                           WorldReport& report) {
  const BatchModel& m = w.m;
  report = {2, 0, 0, 0, 0, 0, 0, 0};

  bool good = true;
  for (int i = 0; i < m.q_size; ++i) {
    good = good && is_finite(q[i]);
    w.x[m.at.q + i] = q[i];
  }
  for (int i = 0; i < m.v_size; ++i) good = good && is_finite(v[i]);
  for (int i = 0; w.u != nullptr && i < m.controls; ++i) good = good && is_finite(w.u[i]);
  if (!good) return;
  for (int i = 0; i < m.warm; ++i)
    if (!is_finite(warm[i])) warm[i] = 0;
  RowSet set;
  if (!solve_velocities(w, v, warm, false, set, report)) return;
  // Kept where projections do not overwrite it, to be written when all is known to be finite.
  for (int i = 0; i < 6 * m.bodies; ++i) {
    const double x = w.x[m.at.v + i];
    good = good && is_finite(x);
    w.x[m.at.k + i] = x;
  }
  if (!good) return;
  find_displacement(w, set, v);
  for (int b = 0; b < m.bodies; ++b) {
    double d[6];
    load(w.x + m.at.delta + 6 * b, d);
    move_body(w, b, d);
  }
  for (int i = 0; i < m.warm; ++i) warm[i] = 0;
  for (int c = 0; c < set.contacts; ++c)
    for (int i = 0; i < 3; ++i) warm[3 * w.i[m.at.index + c] + i] = w.x[m.at.lambda + 3 * c + i];
  for (int l = 0; l < set.limits; ++l)
    warm[3 * m.contacts + w.i[m.at.index + m.contacts + l]] =
        w.x[m.at.lambda + 3 * set.contacts + l];
  if (w.s.rounds > 0) {
    const double smallest = smallest_size(m, w.par);
    for (;; ++report.rounds) {
      if (correct(w, smallest, set, report, good, false) <= 1 || !good ||
          report.rounds == w.s.rounds)
        break;
      for (int b = 0; b < m.bodies; ++b) {
        double d[6];
        load(w.x + m.at.v + 6 * b, d);
        move_body(w, b, d);
      }
    }
  }
  for (int i = 0; i < m.q_size; ++i) good = good && is_finite(w.x[m.at.q + i]);
  if (!good) return;
  for (int i = 0; i < m.q_size; ++i) q[i] = w.x[m.at.q + i];
  for (int i = 0; i < 6 * m.bodies; ++i) v[i] = w.x[m.at.k + i];
  report.outcome = report.residual <= w.s.tolerance ? 0 : 1;
}

}  // namespace orthant::device
