// SPDX-License-Identifier: Apache-2.0
// device/sphere_report.hpp: settings and reports of device/spheres.hpp; CUDA's compiler reads it,
// too.
#pragma once

#include <cstdint>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

struct SphereSettings {
  double compliance = 1e-4;  ///< of a contact's own mobility [-]
  int sweeps = 30;           ///< per step, at least 1
};

/// Of one step.
struct SphereReport {
  std::int64_t contacts = 0;    ///< near or closing
  std::int64_t late = 0;        ///< of these: between bodies farther apart than usual, since fast
  std::int64_t one_by_one = 0;  ///< of these: swept one after another, on bodies with very many
  std::int64_t not_finite = 0;  ///< bodies that are not finite: left as they were, met by none
  /// Largest distance of a contact's velocity from its own exact answer, over g h.
  double residual = 0;
  double deepest = 0;  ///< overlap when the step began [m]
};

}  // namespace orthant
