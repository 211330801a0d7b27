// SPDX-License-Identifier: Apache-2.0
// device/rows_kernel.hpp: contacts and limits of one world => their rows D, biases b, and the
// matrix N = D K⁻¹Dᵀ on the factor of tree_kernel.hpp.
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

}  // namespace orthant::device
