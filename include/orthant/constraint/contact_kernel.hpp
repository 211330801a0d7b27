// SPDX-License-Identifier: Apache-2.0
// constraint/contact_kernel.hpp: (normal, levers) => rows of D;  (gap, speeds, material) => b_n.
//   normal row   A: [nᵀ, (r_A × n)ᵀ]   B: −[nᵀ, (r_B × n)ᵀ]     tangents the same with t
//   rolling row  A: [0, tᵀ]            B: −[0, tᵀ]
// Templates on the scalar, so the derivative of a row is the same formula in dual numbers. Both
// levers go to one point, midway between the witness points: with two points a tangential impulse
// across an open gap would be a couple, and angular momentum would not be kept.
#pragma once

#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"
#include "orthant/shape/contact_kernel.hpp"

namespace orthant {

/// Rows of a contact block at most: normal, two tangents, two rolling torques.
inline constexpr int kMaxContactRows = 5;

/// One row along the unit vector d through the point r from the centre: width 6, or 3 in the plane.
template <class T>
void point_row(bool planar, const Vec3T<T>& d, const Vec3T<T>& r, double sign, T* row) {
  const Vec3T<T> moment = r.cross(d);
  if (planar) {
    row[0] = sign * d[0];
    row[1] = sign * d[1];
    row[2] = sign * moment[2];
    return;
  }
  for (int i = 0; i < 3; ++i) {
    row[i] = sign * d[i];
    row[3 + i] = sign * moment[i];
  }
}

/// One row that turns about d.
template <class T>
void torque_row(bool planar, const Vec3T<T>& d, double sign, T* row) {
  for (int i = 0; i < (planar ? 2 : 3); ++i) row[i] = T(0);
  if (planar) {
    row[2] = sign * d[2];
    return;
  }
  for (int i = 0; i < 3; ++i) row[3 + i] = sign * d[i];
}

/// The contact frame: normal, then one tangent in the plane or two in space.
template <class T>
void contact_frame(bool planar, const Vec3T<T>& n, Vec3T<T>* frame) {
  frame[0] = n;
  if (planar) {
    frame[1] = Vec3T<T>(-n[1], n[0], T(0));
    frame[2] = Vec3T<T>(T(0), T(0), T(1));
  } else {
    contact_tangents(n, frame[1], frame[2]);
  }
}

/// Rows of one body: normal, tangents (unless `friction` is false), rolling torques (if `rolling`).
/// Returns their number; `sign` is +1 on A and −1 on B; rows are row-major, width 6 or 3.
template <class T>
int contact_rows(bool planar, bool friction, bool rolling, const Vec3T<T>* frame,
                 const Vec3T<T>& lever, double sign, T* rows) {
  const int width = planar ? 3 : 6;
  const int tangents = friction ? (planar ? 1 : 2) : 0;
  int count = 0;
  for (int i = 0; i <= tangents; ++i)
    point_row(planar, frame[i], lever, sign, rows + width * count++);
  if (!rolling) return count;
  if (planar) {
    torque_row(planar, frame[2], sign, rows + width * count++);
  } else {
    for (int i = 1; i <= 2; ++i) torque_row(planar, frame[i], sign, rows + width * count++);
  }
  return count;
}

/// What b_n depends on besides the gap.
template <class T>
struct NormalBiasT {
  double h = 0;            ///< [s]
  double beta = 0;         ///< share of an overlap removed in a step [-]
  double max_push = 0;     ///< fastest removal [m/s]; 0: no limit
  bool compliant = false;  ///< b_n = Φ/h on both sides: an implicit spring
  bool bounces = false;    ///< the gap closes in this step and the contact approaches
  T restitution{0};        ///< ε [-]
  T approach{0};           ///< D_n v before the step [m/s], < 0 when approaching
};

/// b_n: the gap may close within the step and not more; an overlap is pushed out with β; a bounce
/// leaves with ε times the speed of approach.
template <class T>
T normal_bias(const T& gap, const NormalBiasT<T>& data) {
  T b = gap / data.h;
  if (value_of(gap) < 0 && !data.compliant) {
    b = data.beta * b;
    if (data.max_push > 0 && value_of(b) < -data.max_push) b = T(-data.max_push);
  }
  if (data.bounces) b = min_of(b, T(data.restitution * data.approach));
  return b;
}

}  // namespace orthant
