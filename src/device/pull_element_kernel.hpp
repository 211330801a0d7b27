// SPDX-License-Identifier: Apache-2.0
// device/pull_element_kernel.hpp: the share of every body, joint and contact in the Lagrangian Λ of
// a solve (pull_kernel.hpp), and its derivative by two poses (tangents, as everywhere in gradient/)
// and by parameters: the formulas of element_kernel.hpp in dual numbers.
#pragma once

#include "device/step_kernel.hpp"

namespace orthant::device {

inline constexpr int kWidth = 6;  ///< derivatives at a time
using Dual6 = DualN<kWidth>;
inline constexpr double kBorder = 1e-8;  ///< relative distance that counts as on a border

/// Where derivatives go.
struct Gradient {
  double* v;                    ///< by v before
  double* u;                    ///< by controls, null: not wanted
  double* parameters;           ///< added to, null: not wanted
  const unsigned char* wanted;  ///< by parameter, null: all
};

template <int Lanes>
ORTHANT_HD void seed_pose(const World<Lanes>& w, int place, bool varied, Dual6* q) {
  const Pose7<double> p = pose_at(w, place);
  q[0] = Dual6(p.x.x), q[1] = Dual6(p.x.y), q[2] = Dual6(p.x.z);
  q[3] = Dual6(p.p.w), q[4] = Dual6(p.p.x), q[5] = Dual6(p.p.y), q[6] = Dual6(p.p.z);
  if (!varied) return;
  q[0].d[0] = q[1].d[1] = q[2].d[2] = 1;
  ORTHANT_UNROLL for (int k = 0; k < 3; ++k) {  // ½ (0, e_k) p
    const Q4<double> e{0, k == 0 ? 0.5 : 0.0, k == 1 ? 0.5 : 0.0, k == 2 ? 0.5 : 0.0};
    const Q4<double> d = e * p.p;
    q[3].d[3 + k] = d.w, q[4].d[3 + k] = d.x, q[5].d[3 + k] = d.y, q[6].d[3 + k] = d.z;
  }
}
template <int Lanes>
ORTHANT_HD void take_pose(const World<Lanes>& w, int body, const Dual6& value) {
  ORTHANT_UNROLL for (int k = 0; k < 6; ++k) w.x[w.m.at.by_q + 6 * body + k] -= value.d[k];
}

/// Calls value(numbers) once for each kWidth of the `count` numbers whose places are given, with
/// these varied, and takes the derivatives.
template <class Place, class Value>
ORTHANT_HD void by_numbers(const Gradient& g, const double* par, int count, Dual6* numbers,
                           Place&& place, Value&& value) {
  if (g.parameters == nullptr) return;
  for (int first = 0; first < count; first += kWidth) {
    bool any = false;
    for (int i = 0; i < count; ++i) {
      const int at = place(i);
      numbers[i] = Dual6(at >= 0 ? par[at] : 0.0);
      const bool varied =
          i >= first && i < first + kWidth && at >= 0 && (g.wanted == nullptr || g.wanted[at] != 0);
      ORTHANT_UNROLL for (int k = 0; k < kWidth; ++k) if (varied && i - first == k) numbers[i]
          .d[k] = 1;
      any = any || varied;
    }
    if (!any) continue;
    const Dual6 x = value(numbers);
    for (int i = first; i < count && i < first + kWidth; ++i) {
      const int at = place(i);
      if (at < 0 || (g.wanted != nullptr && g.wanted[at] == 0)) continue;
      ORTHANT_UNROLL for (int k = 0; k < kWidth; ++k) if (i - first == k) g.parameters[at] -=
          x.d[k];
    }
  }
}

ORTHANT_HD inline V3<double> low(const double* x) { return {x[0], x[1], x[2]}; }
ORTHANT_HD inline V3<double> high(const double* x) { return {x[3], x[4], x[5]}; }

// --- bodies ---

/// y·(M (v⁺ − v*) − h f) of a body. `numbers`: mass, inertia, gravity. `flight`: cotangent of the
/// turn of a body that flies, which is turn(p, ω) − ½ h ω*(p, ω) besides what v⁺ brings.
template <class T>
ORTHANT_HD T body_value(Use use, double h, const Q4<T>& p, const V3<T>& omega, const T* numbers,
                        const double* v, const double* next, const double* y,
                        const double* flight) {
  const V3<T> turning{T(y[3]), T(y[4]), T(y[5])}, back = rotate(conjugate(p), turning);
  V3<T> spin{T(next[3]), T(next[4]), T(next[5])};
  T sum(0);
  if (use == Use::Step) {
    const Coast<T> c = coast<T>(numbers + 1, p, omega, h);
    spin = spin - c.omega;
    for (int i = 0; i < 3; ++i)
      sum = sum + numbers[0] * (y[i] * (next[i] - v[i])) - numbers[0] * numbers[7 + i] * (h * y[i]);
    // Λ is subtracted where it ends: the cotangent of the flight enters with the other sign.
    if (flight != nullptr) sum = sum - dot(c.turn - c.omega * (0.5 * h), high(flight));
  } else {
    for (int i = 0; i < 3; ++i) sum = sum + numbers[0] * (y[i] * next[i]);
  }
  return sum + dot(back, times(numbers + 1, rotate(conjugate(p), spin)));
}

template <int Lanes>
ORTHANT_HD void pull_body(const World<Lanes>& w, Use use, int b, const double* v,
                          const double* flight, const Gradient& g) {
  const BatchModel& m = w.m;
  const BodyData& body = m.body[b];
  double y[6], next[6], before[6] = {0, 0, 0, 0, 0, 0};
  load(w.x + m.at.weight + 6 * b, y);
  load(w.x + m.at.v + 6 * b, next);
  if (use == Use::Step)
    for (int i = 0; i < 6; ++i) before[i] = v[6 * b + i];
  Dual6 q[7], numbers[10];
  const auto place = [&](int i) {
    return i == 0             ? body.mass
           : i < 7            ? body.inertia + i - 1
           : use == Use::Step ? m.gravity + i - 7
                              : -1;
  };
  for (int i = 0; i < 10; ++i) numbers[i] = Dual6(place(i) >= 0 ? w.par[place(i)] : 0.0);
  seed_pose(w, body.q, true, q);
  // Directions: turn of the body, then ω (the place has no say).
  Q4<Dual6> p{q[3], q[4], q[5], q[6]};
  V3<Dual6> omega{Dual6(before[3]), Dual6(before[4]), Dual6(before[5])};
  omega.x.d[0] = omega.y.d[1] = omega.z.d[2] = 1;
  const Dual6 x = body_value<Dual6>(use, w.s.h, p, omega, numbers, before, next, y, flight);
  ORTHANT_UNROLL for (int k = 0; k < 3; ++k) w.x[m.at.by_q + 6 * b + 3 + k] -= x.d[3 + k];
  if (use == Use::Step) {
    const double mass = w.par[body.mass];
    for (int k = 0; k < 3; ++k) {
      w.x[m.at.by_v + 6 * b + k] += mass * y[k];
      w.x[m.at.by_v + 6 * b + 3 + k] -= x.d[k];
    }
  }
  const Pose7<double> pose = pose_at(w, body.q);
  by_numbers(g, w.par, 10, numbers, place, [&](const Dual6* n) {
    const Q4<Dual6> fixed{Dual6(pose.p.w), Dual6(pose.p.x), Dual6(pose.p.y), Dual6(pose.p.z)};
    const V3<Dual6> spin{Dual6(before[3]), Dual6(before[4]), Dual6(before[5])};
    return body_value<Dual6>(use, w.s.h, fixed, spin, n, before, next, y, flight);
  });
}

// --- joints ---

/// What is held while a joint's share of Λ is varied.
struct JointHeld {
  double va[6], vb[6], ya[6], yb[6], before_a[6], before_b[6];
  double gamma[6], z[6];
  double push, lambda, p;  ///< of actuators; of the limit
  int bound;               ///< 0: none, 1: lower, 2: upper
  double slope;            ///< of the bias of the limit
};
inline constexpr int kJointNumbers =
    20;  ///< frames, lower, upper, stiffness, rest, damping, armature
ORTHANT_HD inline int joint_number(const JointData& j, int i) {
  if (i < 14) return j.frames + i;
  const int rest[6] = {j.lower, j.upper, j.stiffness, j.rest, j.damping, j.armature};
  return rest[i - 14];
}
template <class T>
ORTHANT_HD T along(const RowT<T>& r, const double* a, const double* b) {
  return dot(r.la, low(a)) + dot(r.aa, high(a)) + dot(r.lb, low(b)) + dot(r.ab, high(b));
}
template <class T>
ORTHANT_HD T joint_value(const JointData& j, Use use, double h, double beta, const T* qa,
                         const T* qb, const T* x, const JointHeld& held) {
  const JointFrame<T> f = joint_frame(read_pose(qa), read_pose(qb), x);
  T sum(0);
  for (int i = 0; i < j.rows; ++i) {
    T psi;
    const RowT<T> r = joint_row<T>(j.type, i, f, psi);
    sum = sum - along(r, held.ya, held.yb) * held.gamma[i] + along(r, held.va, held.vb) * held.z[i];
    const double factor = use == Use::Step ? beta / h : 1;
    if (factor != 0) sum = sum + psi * (factor * held.z[i]);
  }
  if (j.has_coordinate == 0) return sum;
  T s;
  const RowT<T> r = coordinate_row<T>(j.type, j.middle, f, s);
  const T by = along(r, held.ya, held.yb);
  if (use == Use::Step) {
    const T a = x[16] * (h * h) + x[18] * h + x[19];
    const T p =
        held.push * h - x[16] * (s - x[17]) * h + x[19] * along(r, held.before_a, held.before_b);
    sum = sum + by * (a * along(r, held.va, held.vb) - p);
  }
  if (held.bound != 0)
    sum = sum - by * held.lambda + along(r, held.va, held.vb) * held.p +
          (s - x[13 + held.bound]) * (held.slope * held.p);
  return sum;
}

template <int Lanes>
ORTHANT_HD void pull_joint(const World<Lanes>& w, Use use, int index, const RowSet& set,
                           const double* v, const Gradient& g) {
  const BatchModel& m = w.m;
  const JointData& j = m.joint[index];
  JointHeld held;
  for (int i = 0; i < 6; ++i) {
    held.va[i] = j.a >= 0 ? w.x[m.at.v + 6 * j.a + i] : 0;
    held.vb[i] = j.b >= 0 ? w.x[m.at.v + 6 * j.b + i] : 0;
    held.ya[i] = j.a >= 0 ? w.x[m.at.weight + 6 * j.a + i] : 0;
    held.yb[i] = j.b >= 0 ? w.x[m.at.weight + 6 * j.b + i] : 0;
    held.before_a[i] = j.a >= 0 && v != nullptr ? v[6 * j.a + i] : 0;
    held.before_b[i] = j.b >= 0 && v != nullptr ? v[6 * j.b + i] : 0;
    held.gamma[i] = w.x[m.at.gamma + 6 * index + i];
    held.z[i] = w.x[m.at.weight_gamma + 6 * index + i];
  }
  held.push = joint_push(m, j, w.par, w.u);
  held.bound = 0;
  for (int l = 0; l < set.limits; ++l) {
    if (m.limit[w.i[m.at.index + m.contacts + l]] != index) continue;
    const int state = w.i[m.at.state + m.contacts + l], r = set.dim * set.contacts + l;
    if (state == kOpen) continue;
    held.bound = state == kStick ? 1 : 2;
    held.lambda = w.x[m.at.lambda + r];
    held.p = w.x[m.at.adjoint + 3 * m.rows + r];
    const double s = w.x[m.at.coordinate + kCoordinate * index + 12];
    const double gap = held.bound == 1 ? s - w.par[j.lower] : w.par[j.upper] - s;
    held.slope = use == Use::Projection ? 1 : (gap >= 0 ? 1 : w.s.beta) / w.s.h;
  }
  Dual6 qa[7], qb[7], numbers[kJointNumbers];
  const auto value = [&](const Dual6* n) {
    return joint_value<Dual6>(j, use, w.s.h, w.s.beta, qa, qb, n, held);
  };
  const auto place = [&](int i) { return joint_number(j, i); };
  for (int side = 0; side < 2; ++side) {
    const int body = side == 0 ? j.a : j.b;
    if (body < 0) continue;
    for (int i = 0; i < kJointNumbers; ++i)
      numbers[i] = Dual6(place(i) >= 0 ? w.par[place(i)] : 0.0);
    seed_pose(w, j.qa, side == 0, qa);
    seed_pose(w, j.qb, side == 1, qb);
    take_pose(w, body, value(numbers));
  }
  seed_pose(w, j.qa, false, qa);
  seed_pose(w, j.qb, false, qb);
  by_numbers(g, w.par, kJointNumbers, numbers, place, value);
  if (use != Use::Step || j.has_coordinate == 0) return;
  // −∂Λ by v before and by the controls, along the coordinate.
  const Slab<double, Lanes> c = w.x + m.at.coordinate + kCoordinate * index;
  double by = 0;
  for (int i = 0; i < 6; ++i) by += c[i] * held.ya[i] + c[6 + i] * held.yb[i];
  const double A = parameter_or(w.par, j.armature) * by;
  for (int i = 0; i < 6; ++i) {
    if (j.a >= 0) w.x[m.at.by_v + 6 * j.a + i] += c[i] * A;
    if (j.b >= 0) w.x[m.at.by_v + 6 * j.b + i] += c[6 + i] * A;
  }
  for (int k = j.actuator_begin; w.u != nullptr && k < j.actuator_end; ++k) {
    const ActuatorData& a = m.actuator[k];
    const double u = w.u[a.control], gear = w.par[a.gear];
    const double cut = u < a.lower ? a.lower : u > a.upper ? a.upper : u;
    const double force = gear * cut, most = a.max_force >= 0 ? w.par[a.max_force] : 1e300;
    const bool within = force > -most && force < most;
    if (g.u != nullptr) g.u[a.control] = within && u == cut ? w.s.h * gear * by : 0;
    if (g.parameters == nullptr) continue;
    if (within)
      g.parameters[a.gear] += w.s.h * cut * by;
    else
      g.parameters[a.max_force] += w.s.h * (force > 0 ? by : -by);
  }
}

// --- contacts ---

struct ContactHeld {
  double v1[6], v2[6], y1[6], y2[6];
  double lambda[3], p[3];
  double slope, friction;  ///< of the bias; η·∂law/∂μ
};
template <class T>
ORTHANT_HD T contact_value(const ContactData& c, int dim, const T* q1, const T* q2, const T* x,
                           const ContactHeld& held) {
  const Pose7<T> b1 = read_pose(q1), b2 = read_pose(q2);
  const ContactT<T> k = contact_point<T>(c, b1, b2, x);
  V3<T> frame[3];
  frame[0] = k.n;
  if (dim == 3) contact_tangents(k.n, frame[1], frame[2]);
  T sum = k.gap * (held.slope * held.p[0]);
  const V3<T> r1 = k.point - b1.x, r2 = k.point - b2.x;
  for (int i = 0; i < dim; ++i) {
    const V3<T> m1 = cross(r1, frame[i]), m2 = cross(r2, frame[i]);
    sum = sum +
          (dot(frame[i], low(held.v1)) + dot(m1, high(held.v1)) - dot(frame[i], low(held.v2)) -
           dot(m2, high(held.v2))) *
              held.p[i] -
          (dot(frame[i], low(held.y1)) + dot(m1, high(held.y1)) - dot(frame[i], low(held.y2)) -
           dot(m2, high(held.y2))) *
              held.lambda[i];
  }
  if (held.friction != 0)
    sum = sum + combine_friction(c.combine, x[kFriction], x[kFriction + 1]) * held.friction;
  return sum;
}
ORTHANT_HD inline int contact_number(const ContactData& c, int i) {
  const int n1 = c.shape1 == kHalfSpace ? 0 : c.shape1 + 1,
            n2 = c.shape2 == kHalfSpace ? 0 : c.shape2 + 1;
  if (i < kOffset1) return i < n1 ? c.size1 + i : -1;
  if (i < kSize2) return c.offset1 + i - kOffset1;
  if (i < kOffset2) return i - kSize2 < n2 ? c.size2 + i - kSize2 : -1;
  if (i < kFriction) return c.offset2 + i - kOffset2;
  return i == kFriction ? c.friction1 : c.friction2;
}

template <int Lanes>
ORTHANT_HD void pull_contact(const World<Lanes>& w, Use use, int c, const RowSet& set,
                             const Gradient& g) {
  const BatchModel& m = w.m;
  const ContactData& pair = m.contact[w.i[m.at.index + c]];
  const int state = w.i[m.at.state + c], r = set.dim * c;
  if (state == kOpen) return;
  ContactHeld held;
  for (int i = 0; i < 6; ++i) {
    held.v1[i] = pair.body1 >= 0 ? w.x[m.at.v + 6 * pair.body1 + i] : 0;
    held.v2[i] = pair.body2 >= 0 ? w.x[m.at.v + 6 * pair.body2 + i] : 0;
    held.y1[i] = pair.body1 >= 0 ? w.x[m.at.weight + 6 * pair.body1 + i] : 0;
    held.y2[i] = pair.body2 >= 0 ? w.x[m.at.weight + 6 * pair.body2 + i] : 0;
  }
  for (int i = 0; i < set.dim; ++i) {
    held.lambda[i] = w.x[m.at.lambda + r + i];
    held.p[i] = w.x[m.at.adjoint + 3 * m.rows + r + i];
  }
  held.friction = 0;
  if (state == kSlide) {
    const Slab<double, Lanes> eta = w.x + m.at.adjoint + 4 * m.rows + r,
                              law = w.x + m.at.law + 3 * c;
    held.friction = -held.lambda[0] * (law[0] * eta[1] + law[1] * eta[2]);
  }
  double x[kContactNumbers];
  read_contact_numbers<double>(pair, w.par, x);
  const double w1 = shape_width(pair.shape1, x + kSize1), w2 = shape_width(pair.shape2, x + kSize2);
  const double size = w1 < w2 ? w1 : w2, gap = w.x[m.at.gap + c];
  if (use == Use::Step) {
    const bool resting = gap <= w.s.resting * size && gap >= -w.s.resting * size;
    held.slope = (gap >= 0 || resting ? 1 : w.s.beta) / w.s.h;
  } else {
    held.slope = gap > -largest_correction(size) ? 1 : 0;
  }
  Dual6 q1[7], q2[7], numbers[kContactNumbers];
  const auto value = [&](const Dual6* n) {
    return contact_value<Dual6>(pair, set.dim, q1, q2, n, held);
  };
  for (int side = 0; side < 2; ++side) {
    const int body = side == 0 ? pair.body1 : pair.body2;
    if (body < 0) continue;
    for (int i = 0; i < kContactNumbers; ++i) numbers[i] = Dual6(x[i]);
    seed_pose(w, pair.q1, side == 0, q1);
    seed_pose(w, pair.q2, side == 1, q2);
    take_pose(w, body, value(numbers));
  }
  if (g.parameters == nullptr) return;
  seed_pose(w, pair.q1, false, q1);
  seed_pose(w, pair.q2, false, q2);
  // Friction of one material on both sides is one number, varied in two places.
  by_numbers(
      g, w.par, kContactNumbers, numbers, [&](int i) { return contact_number(pair, i); }, value);
}

}  // namespace orthant::device
