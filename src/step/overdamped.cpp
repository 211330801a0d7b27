// SPDX-License-Identifier: Apache-2.0
// step/overdamped.cpp: what a medium does beyond the local drag of the model.
//   slender body   H = h ξ ℓ (1 − (1 − 1/ratio) t tᵀ) on translations, t the body axis
//   Brownian       k += √(2 k_B T h ζ) ξ,  ζ the drag, ξ ~ N(0, 1):  ⟨Δx²⟩ = 2 k_B T h / ζ
// Random numbers are a hash of (key, step, body uid, component): no order, no state, the same bits
// for any number of threads and after a resumed run.
#include <cmath>
#include <cstdint>
#include <numbers>

#include "orthant/base/error.hpp"
#include "step/run.hpp"

namespace orthant::internal {
namespace {

std::uint64_t mix(std::uint64_t z) {
  z += 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

/// Uniform in (0, 1).
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

/// N(0, 1): component i of the body's kick in this step.
double normal(std::uint64_t stream, std::uint64_t i) {
  const double radius = std::sqrt(-2 * std::log(uniform(mix(stream + 2 * i))));
  return radius * std::cos(2 * std::numbers::pi * uniform(mix(stream + 2 * i + 1)));
}

}  // namespace

bool apply_overdamped_settings(StepRun& run, double dt) {
  const double ratio = run.settings.drag_ratio, energy = run.settings.thermal_energy;
  if (ratio == 1 && energy == 0) return true;
  Assembly& assembly = run.work.assembly;
  VelocityMatrix& H = assembly.problem.H;
  if (ratio != 1 && H.kind() != VelocityMatrix::Kind::BlockDiagonal)
    throw Error("step settings.drag_ratio", "excludes springs between two moving bodies");
  const double* x = run.parameters.values.data();
  for (Index b = 0; b < run.model.dynamic_count(); ++b) {
    const Body& body = run.model.body(run.model.dynamic_bodies()[b]);
    const double length = x[body.length], across = dt * x[body.drag] * length;
    const double turning = across * length * length / 12;
    const Vec3 axis = rotate(body_pose(body, run.x.q.data()).p, Vec3(1, 0, 0));
    const int n = body.planar ? 2 : 3;
    if (ratio != 1) {
      double* block = H.block(b);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
          block[i * body.v_size + j] -= across * (1 - 1 / ratio) * axis[i] * axis[j];
    }
    if (energy > 0) {
      const std::uint64_t stream = mix(mix(mix(run.x.rng[0]) ^ run.x.rng[1]) ^ body.uid);
      double kick[6];
      for (int i = 0; i < body.v_size; ++i)
        kick[i] = std::sqrt(2 * energy) * normal(stream, static_cast<std::uint64_t>(i));
      double along = 0;  // square root of the drag: √ζ (1 − (1 − 1/√ratio) t tᵀ)
      for (int i = 0; i < n; ++i) along += axis[i] * kick[i];
      along *= 1 - 1 / std::sqrt(ratio);
      for (int i = 0; i < body.v_size; ++i)
        assembly.problem.k[body.v_begin + i] +=
            i < n ? std::sqrt(across) * (kick[i] - along * axis[i]) : std::sqrt(turning) * kick[i];
    }
  }
  if (ratio != 1 && !assembly.solver.factorize(H)) return false;
  assembly.solver.solve(assembly.problem.k, assembly.v_free);
  return assembly.v_free.allFinite();
}

}  // namespace orthant::internal
