// SPDX-License-Identifier: Apache-2.0
// device/step_kernel.hpp: one step of one world, the formulation of step() in src/step:
//   H v⁺ − Cᵀγ − Dᵀλ = k,  C v⁺ + e = 0,  laws(λ, D v⁺ + b);   q⁺ = q ⊞ h v⁺ where something
//   touches
// or holds, second-order flight elsewhere; then, where wanted, rounds of projection onto joints,
// limits and contacts: min ½ δᵀMδ, C δ + Ψ = 0, D δ + Φ >= 0.
#pragma once

#include "device/solve_kernel.hpp"

namespace orthant::device {

/// What a solve is for: velocities of a step, or a correction of positions.
enum class Use { Step, Projection };

template <class T>
ORTHANT_HD void read_contact_numbers(const ContactData& c, const double* par, T* x) {
  const int n1 = c.shape1 == kHalfSpace ? 0 : c.shape1 + 1,
            n2 = c.shape2 == kHalfSpace ? 0 : c.shape2 + 1;
  for (int i = 0; i < 3; ++i) {
    x[kSize1 + i] = T(i < n1 ? par[c.size1 + i] : 0.0);
    x[kSize2 + i] = T(i < n2 ? par[c.size2 + i] : 0.0);
  }
  for (int i = 0; i < 7; ++i) {
    x[kOffset1 + i] = T(par[c.offset1 + i]);
    x[kOffset2 + i] = T(par[c.offset2 + i]);
  }
  x[kFriction] = T(par[c.friction1]);
  x[kFriction + 1] = T(par[c.friction2]);
}

/// Largest overlap that one correction undoes (constraint/contact_rows.hpp): a power of two.
ORTHANT_HD inline double largest_correction(double size) {
  const double most = 0.37 * size;
  double p = 1;
  while (p > most && p > 1e-300) p *= 0.5;
  while (2 * p <= most && p < 1e300) p *= 2;
  return p;
}

/// How far a body may bring a gap with normal n towards closing within the step.
ORTHANT_HD inline double way_of(const double* v, const V3<double>& n, double h, double reach,
                                double& shift) {
  shift = h * (n.x * v[0] + n.y * v[1] + n.z * v[2]);
  const double spin = h * root(v[3] * v[3] + v[4] * v[4] + v[5] * v[5]);
  return reach * (spin < 2 ? spin : 2);
}

/// The contacts that the step may close (those near, in a projection) as rows; b holds b_n.
/// `v`: velocities before; free velocities are in `v` of the workspace.
template <int Lanes>
ORTHANT_HD int place_contacts(const World<Lanes>& w, Use use, const double* v, double& deepest,
                              double& worst) {
  const BatchModel& m = w.m;
  const double h = w.s.h;
  int count = 0;
  const int dim = use == Use::Step ? 3 : 1;
  for (int c = 0; c < m.contacts; ++c) {
    const ContactData& pair = m.contact[c];
    double x[kContactNumbers];
    read_contact_numbers<double>(pair, w.par, x);
    const Pose7<double> b1 = pose_at(w, pair.q1), b2 = pose_at(w, pair.q2);
    const ContactT<double> p = contact_point<double>(pair, b1, b2, x);
    const double w1 = shape_width(pair.shape1, x + kSize1),
                 w2 = shape_width(pair.shape2, x + kSize2);
    const double size = w1 < w2 ? w1 : w2;
    if (-p.gap > deepest) deepest = -p.gap;
    const double error = -p.gap / (w.s.projection_tolerance * size);
    if (error > worst) worst = error;
    double approach = 0;
    if (use == Use::Step) {
      double shift[2] = {0, 0}, turn = 0;
      for (int side = 0; side < 2; ++side) {
        const int body = side == 0 ? pair.body1 : pair.body2;
        if (body < 0) continue;
        const double reach = side == 0 ? shape_reach(pair.shape1, x + kSize1, x + kOffset1)
                                       : shape_reach(pair.shape2, x + kSize2, x + kOffset2);
        double next[6], most = 0;
        load(w.x + m.at.v + 6 * body, next);
        for (int k = 0; k < 2; ++k) {
          double s;
          const double t = way_of(k == 0 ? v + 6 * body : next, p.n, h, reach, s);
          shift[k] += side == 0 ? s : -s;
          most = t > most ? t : most;
        }
        turn += most;
      }
      approach = shift[0] < shift[1] ? -shift[0] : -shift[1];
      approach = (approach > 0 ? approach : 0) + turn;
    }
    if (p.gap - approach > w.s.margin * size) continue;
    V3<double> frame[3] = {p.n, {0, 0, 0}, {0, 0, 0}};
    if (dim == 3) contact_tangents(p.n, frame[1], frame[2]);
    for (int i = 0; i < dim; ++i) {
      const Slab<double, Lanes> row = w.x + m.at.row + 12 * (dim * count + i);
      const V3<double> a = cross(p.point - b1.x, frame[i]), b = cross(p.point - b2.x, frame[i]);
      const V3<double> d = frame[i];
      row[0] = d.x, row[1] = d.y, row[2] = d.z, row[3] = a.x, row[4] = a.y, row[5] = a.z;
      row[6] = -d.x, row[7] = -d.y, row[8] = -d.z, row[9] = -b.x, row[10] = -b.y, row[11] = -b.z;
      w.x[m.at.b + dim * count + i] = 0;
    }
    double bias = p.gap;
    if (use == Use::Step) {
      bias = p.gap < 0 ? w.s.beta * p.gap / h : p.gap / h;
      w.x[m.at.mu + count] = combine_friction(pair.combine, x[kFriction], x[kFriction + 1]);
    } else {
      const double most = largest_correction(size);
      bias = p.gap < -most ? -most : p.gap;
    }
    w.x[m.at.b + dim * count] = bias;
    w.x[m.at.gap + count] = use == Use::Step ? p.gap : bias;
    w.i[m.at.index + count] = c;
    ++count;
  }
  return count;
}

/// D_i v of row i.
template <int Lanes>
ORTHANT_HD double row_rate(const World<Lanes>& w, int i, int body1, int body2,
                           const Slab<double, Lanes>& v) {
  const Slab<double, Lanes> row = w.x + w.m.at.row + 12 * i;
  double t = 0;
  if (body1 >= 0) ORTHANT_UNROLL for (int k = 0; k < 6; ++k) t += row[k] * v[6 * body1 + k];
  if (body2 >= 0) ORTHANT_UNROLL for (int k = 0; k < 6; ++k) t += row[6 + k] * v[6 * body2 + k];
  return t;
}
template <int Lanes>
ORTHANT_HD void add_row(const World<Lanes>& w, int i, int body1, int body2, double f,
                        const Slab<double, Lanes>& to) {
  const Slab<double, Lanes> row = w.x + w.m.at.row + 12 * i;
  if (body1 >= 0) ORTHANT_UNROLL for (int k = 0; k < 6; ++k) to[6 * body1 + k] += row[k] * f;
  if (body2 >= 0) ORTHANT_UNROLL for (int k = 0; k < 6; ++k) to[6 * body2 + k] += row[6 + k] * f;
}
/// The bodies of row group g: a contact, or the joint of a limit.
template <int Lanes>
ORTHANT_HD void bodies_of(const World<Lanes>& w, const RowSet& set, int row, int& a, int& b) {
  const int c = row / set.dim;
  if (c < set.contacts) {
    const ContactData& pair = w.m.contact[w.i[w.m.at.index + c]];
    a = pair.body1, b = pair.body2;
    return;
  }
  const int l = w.i[w.m.at.index + w.m.contacts + row - set.dim * set.contacts];
  const JointData& j = w.m.joint[w.m.limit[l]];
  a = j.a, b = j.b;
}

/// Range of the rate (change, in a projection) of the coordinate of joint j.
template <int Lanes>
ORTHANT_HD void limit_range(const World<Lanes>& w, Use use, int joint, double& lo, double& hi) {
  const JointData& j = w.m.joint[joint];
  const double s = w.x[w.m.at.coordinate + kCoordinate * joint + 12];
  lo = -1e300, hi = 1e300;
  const double h = w.s.h, beta = w.s.beta;
  if (j.lower >= 0) {
    const double gap = s - w.par[j.lower];
    lo = use == Use::Projection ? -gap : gap >= 0 ? -gap / h : -beta * gap / h;
  }
  if (j.upper >= 0) {
    const double gap = w.par[j.upper] - s;
    hi = use == Use::Projection ? gap : gap >= 0 ? gap / h : beta * gap / h;
  }
}
/// Limits whose joint would come near or beyond them with the velocities in `v`, beyond the
/// `from` already listed; true where one was added. Joints with an impulse in `warm` are taken.
template <int Lanes>
ORTHANT_HD bool place_limits(const World<Lanes>& w, Use use, RowSet& set, const double* warm,
                             bool beyond) {
  const BatchModel& m = w.m;
  const int before = set.limits;
  for (int l = 0; l < m.limits; ++l) {
    bool listed = false;
    for (int k = 0; k < before; ++k) listed = listed || w.i[m.at.index + m.contacts + k] == l;
    if (listed) continue;
    const int joint = m.limit[l];
    const JointData& j = m.joint[joint];
    double lo, hi;
    limit_range(w, use, joint, lo, hi);
    const int r = set.dim * set.contacts + set.limits;
    const Slab<double, Lanes> row = w.x + m.at.row + 12 * r,
                              from = w.x + m.at.coordinate + kCoordinate * joint;
    ORTHANT_UNROLL for (int k = 0; k < 12; ++k) row[k] = from[k];
    const double rate = row_rate(w, r, j.a, j.b, w.x + m.at.v);
    const double room = beyond ? 0 : 0.1 * (hi - lo < 1e200 ? hi - lo : 0);
    const bool take =
        rate < lo + room || rate > hi - room || (warm != nullptr && warm[3 * m.contacts + l] != 0);
    if (!take) continue;
    w.i[m.at.index + m.contacts + set.limits] = l;
    w.x[m.at.lo + set.limits] = lo;
    w.x[m.at.hi + set.limits] = hi;
    ++set.limits;
  }
  return set.limits > before;
}

/// N and r = D v + b (limits: D v) of all rows; `v` of the workspace are the free velocities.
template <int Lanes>
ORTHANT_HD void build_rows(const World<Lanes>& w, const RowSet& set) {
  const BatchModel& m = w.m;
  const auto path_of = [&](int g) {
    return g < set.contacts ? m.contact_path[w.i[m.at.index + g]]
                            : m.limit_path[w.i[m.at.index + m.contacts + g - set.contacts]];
  };
  const int groups = set.contacts + set.limits;
  for (int g = 0; g < groups; ++g) {
    const int r = g < set.contacts ? set.dim * g : set.dim * set.contacts + g - set.contacts;
    int a, b;
    bodies_of(w, set, r, a, b);
    const std::uint64_t path = path_of(g);
    const bool three = g < set.contacts && set.dim == 3;
    if (three)
      raise_rows<3>(w, r, a, b, path);
    else
      raise_rows<1>(w, r, a, b, path);
    for (int i = 0; i < (three ? 3 : 1); ++i) {
      const double rate = row_rate(w, r + i, a, b, w.x + m.at.v);
      w.x[m.at.b + r + i] = g < set.contacts ? w.x[m.at.b + r + i] + rate : rate;
    }
    for (int k = 0; k <= g; ++k) {
      const int rk = k < set.contacts ? set.dim * k : set.dim * set.contacts + k - set.contacts;
      const bool other = k < set.contacts && set.dim == 3;
      const std::uint64_t both = path & path_of(k);
      if (three && other)
        join_rows<3, 3>(w, r, rk, both);
      else if (three)
        join_rows<3, 1>(w, r, rk, both);
      else if (other)
        join_rows<1, 3>(w, r, rk, both);
      else
        join_rows<1, 1>(w, r, rk, both);
    }
  }
}

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
