// SPDX-License-Identifier: Apache-2.0
// constraint/contact_kernel.hpp: (normal, levers) => rows of D;  (gap, speeds, material) => b_n.
//   normal row   A: [nᵀ, (r_A × n)ᵀ]   B: −[nᵀ, (r_B × n)ᵀ]     tangents the same with t
//   rolling row  A: [0, tᵀ]            B: −[0, tᵀ]
// Templates on the scalar, so the derivative of a row is the same formula in dual numbers. Both
// levers go to one point, midway between the witness points: with two points a tangential impulse
// across an open gap would be a couple, and angular momentum would not be kept.
#pragma once

#include "orthant/base/export.hpp"
#include "orthant/math/dual.hpp"
#include "orthant/math/types.hpp"
#include "orthant/shape/contact_kernel.hpp"

namespace ORTHANT_EXPORT orthant {

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

/// What b_n is made from. Decided once, where the row is made (choose_bias()), kept in the record
/// of the solve and read from there by the gradient.
enum class BiasBranch : std::uint8_t {
  None,         ///< 0: an impact that does not bounce
  Gap,          ///< Φ/h: the gap may close and not more; a compliant contact on both sides of 0
  Overlap,      ///< β Φ/h: pushed out by a share
  Resting,      ///< Φ/h or β Φ/h by the sign of a rounding; differentiated as a gap that may close
  DeadBand,     ///< 0: an open gap that counts as none, within the band no Φ in it
  Restitution,  ///< s ε D_n v: leaves with ε times the speed of approach
  Trial,        ///< Φ/h − D_n v: found at the trial configuration q ⊞ h v
  Clipped,      ///< a correction of positions that undoes a part of the overlap: no Φ in it
};

/// What b_n depends on besides the gap.
template <class T>
struct NormalBiasT {
  T h{0};  ///< [s]
  /// Share of an overlap removed in the time h [-]. The rate β/h is that of a whole step, whatever
  /// its intervals: it does not change with h.
  double beta = 0;
  T restitution{0};  ///< s ε [-]
  T approach{0};     ///< D_n v before the step (Trial: of the trial) [m/s], < 0 when approaching
};

/// b_n on a branch.
template <class T>
T normal_bias(BiasBranch branch, const T& gap, const NormalBiasT<T>& x) {
  switch (branch) {
    case BiasBranch::None:
    case BiasBranch::DeadBand:
    case BiasBranch::Clipped:
      return T(0);
    case BiasBranch::Overlap:
      return gap * T(x.beta) / T(value_of(x.h));
    case BiasBranch::Restitution:
      return x.restitution * x.approach;
    case BiasBranch::Trial:
      return gap / x.h - x.approach;
    default:
      return gap / x.h;
  }
}

/// The branch of a gap: which side of zero it is on, and whether a contact that bounces asks for
/// more than it (the smaller b_n is the faster w_n).
inline BiasBranch choose_bias(double gap, bool compliant, bool bounces,
                              const NormalBiasT<double>& x) {
  const BiasBranch side = gap < 0 && !compliant ? BiasBranch::Overlap : BiasBranch::Gap;
  const bool faster =
      bounces && normal_bias(BiasBranch::Restitution, gap, x) < normal_bias(side, gap, x);
  return faster ? BiasBranch::Restitution : side;
}

}  // namespace orthant
