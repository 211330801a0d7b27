// SPDX-License-Identifier: Apache-2.0
// constraint/medium.cpp: (H, k, v_free) of the local drag => those of a slender body with kicks.
#include "constraint/medium.hpp"

#include <cmath>
#include <numbers>

#include "orthant/base/error.hpp"
#include "orthant/base/mix.hpp"

namespace orthant {
namespace {

std::uint64_t mix(std::uint64_t z) { return mix_bits(z + kGoldenRatio); }

/// Uniform in (0, 1).
double uniform(std::uint64_t bits) { return (static_cast<double>(bits >> 12) + 0.5) * 0x1p-52; }

/// N(0, 1).
double normal(std::uint64_t stream, std::uint64_t i) {
  const double radius = std::sqrt(-2 * std::log(uniform(mix(stream + 2 * i))));
  return radius * std::cos(2 * std::numbers::pi * uniform(mix(stream + 2 * i + 1)));
}

}  // namespace

void brownian_kick(const Medium& medium, BodyUid uid, Index count, double* out) {
  const std::uint64_t stream = mix(mix(mix(medium.rng[0]) ^ medium.rng[1]) ^ uid);
  for (Index i = 0; i < count; ++i)
    out[i] = std::sqrt(2 * medium.thermal_energy) * normal(stream, static_cast<std::uint64_t>(i));
}

bool assemble_medium(const Model& model, const Parameters& parameters, const StepInterval& at,
                     const Medium& medium, Assembly& out) {
  if (!medium.acts()) return true;
  const double ratio = medium.drag_ratio;
  VelocityMatrix& H = out.problem.H;
  if (ratio != 1 && H.kind() != VelocityMatrix::Kind::BlockDiagonal)
    throw Error("step settings.drag_ratio", "excludes springs between two moving bodies");
  const double* x = parameters.values.data();
  for (Index b = 0; b < model.dynamic_count(); ++b) {
    const Body& body = model.body(model.dynamic_bodies()[b]);
    const double length = x[body.length], across = at.h * x[body.drag] * length;
    const double turning = across * length * length / 12;
    const Vec3 axis = rotate(body_pose(body, at.q.data()).p, Vec3(1, 0, 0));
    const int n = body.planar ? 2 : 3;
    if (ratio != 1) {  // symmetric to the last bit: a block that is not takes a pivoting inverse
      double* block = H.block(b);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j)
          block[i * body.v_size + j] -= across * (1 - 1 / ratio) * (axis[i] * axis[j]);
    }
    if (medium.thermal_energy > 0) {
      double kick[6];
      brownian_kick(medium, body.uid, body.v_size, kick);
      double along = 0;  // square root of the drag: √ζ (1 − (1 − 1/√ratio) t tᵀ)
      for (int i = 0; i < n; ++i) along += axis[i] * kick[i];
      along *= 1 - 1 / std::sqrt(ratio);
      for (int i = 0; i < body.v_size; ++i)
        out.problem.k[body.v_begin + i] +=
            i < n ? std::sqrt(across) * (kick[i] - along * axis[i]) : std::sqrt(turning) * kick[i];
    }
  }
  if (ratio != 1 && !out.solver.factorize(H)) return false;
  out.solver.solve(out.problem.k, out.v_free);
  return out.v_free.allFinite();
}

}  // namespace orthant
