// SPDX-License-Identifier: Apache-2.0
// constraint/medium.hpp: what a medium does beyond the local drag of the overdamped law.
//   slender body   H = h ξ ℓ (1 − (1 − 1/ratio) t tᵀ) on translations, t the body axis
//   Brownian       k += √(2 k_B T h ζ) ξ,  ζ the drag, ξ ~ N(0, 1):  ⟨Δx²⟩ = 2 k_B T h / ζ
// Random numbers are a hash of (key, step, body uid, component): no order, no state, the same bits
// for any number of threads and after a resumed run.
#pragma once

#include <array>
#include <cstdint>

#include "force/balance_kernel.hpp"
#include "orthant/constraint/assemble.hpp"

namespace orthant {

struct Medium {
  double drag_ratio = 1;                      ///< drag across the body axis over that along it [-]
  double thermal_energy = 0;                  ///< k_B T [J]
  std::array<std::uint64_t, 2> rng = {0, 0};  ///< State::rng before the step

  bool acts() const { return drag_ratio != 1 || thermal_energy > 0; }
};

/// √(2 k_B T) N(0, 1): the first `count` components of the body's kick in this step.
void brownian_kick(const Medium& medium, BodyUid uid, Index count, double* out);

/// Changes H, k and v_free of a problem made by assemble_motion(). False where H is singular.
bool assemble_medium(const Model& model, const Parameters& parameters, const StepInterval& x,
                     const Medium& medium, Assembly& out);

/// One body's share of H v⁺ − k beyond overdamped_balance(). `kick`: of brownian_kick().
template <class T>
WrenchT<T> medium_balance(const Medium& medium, bool planar, const QuatT<T>& p, const T& drag,
                          const T& length, const T* v_next, const double* kick, const T& h) {
  using std::sqrt;
  const T across = h * drag * length;
  const Vec3T<T> axis = rotate(p, Vec3T<T>(T(1), T(0), T(0)));
  WrenchT<T> w;
  w.force = axis * (axis.dot(linear_part(planar, v_next)) * across * T(1 / medium.drag_ratio - 1));
  if (!(medium.thermal_energy > 0)) return w;
  T numbers[6];
  for (int i = 0; i < (planar ? 3 : 6); ++i) numbers[i] = T(kick[i]);
  const Vec3T<T> push = linear_part(planar, numbers);
  const Vec3T<T> along = axis * (axis.dot(push) * T(1 - 1 / std::sqrt(medium.drag_ratio)));
  w.force -= (push - along) * sqrt(across);
  w.torque = angular_part(planar, numbers) * -sqrt(across * length * length * T(1.0 / 12));
  return w;
}

}  // namespace orthant
