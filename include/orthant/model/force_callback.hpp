// SPDX-License-Identifier: Apache-2.0
// model/force_callback.hpp: a force the user writes, with derivatives where he has them.
#pragma once

#include <span>

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

class Model;
struct Parameters;

/// Force on one or several bodies. Must be a pure function of its arguments and safe to call from
/// several threads: same arguments, same bits.
class ForceCallback {
 public:
  virtual ~ForceCallback() = default;

  /// Adds the generalised force to f (laid out as State::v; only dynamic bodies count).
  virtual void add_force(const Model& model, const Parameters& parameters, const VecX& q,
                         const VecX& v, double t, VecX& f) const = 0;

  /// Potential energy [J], for reports.
  virtual double potential(const Model& /*model*/, const Parameters& /*parameters*/,
                           const VecX& /*q*/, double /*t*/) const {
    return 0;
  }

  /// Derivatives of the force on the body it was added for by that body's own tangent
  /// (f_q, f_v: size x size row-major, size = 3 planar, 6 spatial; zeroed). Return false: none, the
  /// force is treated explicitly. The symmetric negative part enters H.
  virtual bool derivatives(const Model& /*model*/, const Parameters& /*parameters*/,
                           const VecX& /*q*/, const VecX& /*v*/, double /*t*/,
                           std::span<double> /*f_q*/, std::span<double> /*f_v*/) const {
    return false;
  }
};

}  // namespace orthant
