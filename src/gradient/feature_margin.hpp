// SPDX-License-Identifier: Apache-2.0
// gradient/feature_margin.hpp: how far the deepest point of a pair is from being another one.
// Private to the room.
//   a vertex touches:  min |e·n|/|e| over the edges e that meet there     edges cross:  sin(e, g)
// Where it is zero an edge lies flush on the other body: both of its ends are as deep, and the
// point that stands for the pair jumps from one to the other with the sign of an angle. A manifold
// keeps both ends. A ring whose circle runs through the other body is as deep below two of its
// faces, whose normals differ: 0, in a manifold as well.
#pragma once

#include "orthant/collision/contact_set.hpp"
#include "orthant/model/model.hpp"

namespace orthant::internal {

/// In [0, 1]; 1 where no edge takes part. `q`: where the contact was found; `deepest_only`: one
/// point stands for the pair.
double feature_margin(const Model& model, const Parameters& parameters, const VecX& q,
                      const Contact& contact, bool deepest_only);

}  // namespace orthant::internal
