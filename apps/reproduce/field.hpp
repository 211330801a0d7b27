// SPDX-License-Identifier: Apache-2.0
// reproduce/field.hpp: the radial field of the ReLCP paper, on every body of a model.
//   F(x) = s x (|x| - sin|x|)/|x|^2,   s = -1 draws together, +1 pulls apart
#pragma once

#include <cmath>

#include "orthant/model/model.hpp"

namespace orthant::reproduce {

class RadialField : public ForceCallback {
 public:
  explicit RadialField(double sign) : sign_(sign) {}

  void add_force(const Model& model, const Parameters&, const VecX& q, const VecX&, double,
                 VecX& f) const override {
    for (const BodyId id : model.dynamic_bodies()) {
      const Body& body = model.body(id);
      const Vec3 x = q.segment<3>(body.q_begin);
      const double r = x.norm();
      // (r - sin r)/r^2 -> r/6 at the origin
      const double factor = r < 1e-3 ? r / 6 : (r - std::sin(r)) / (r * r);
      f.segment<3>(body.v_begin) += sign_ * factor * x;
    }
  }

 private:
  double sign_;
};

}  // namespace orthant::reproduce
