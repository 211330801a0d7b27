// SPDX-License-Identifier: Apache-2.0
// model/material_kernel.hpp: the coefficients of two surfaces => those of their contact.
#pragma once

#include <algorithm>
#include <cmath>

#include "orthant/math/dual.hpp"
#include "orthant/model/model.hpp"

namespace orthant {

template <class T>
T combine(CombineRule rule, const T& a, const T& b) {
  using std::sqrt;
  switch (rule) {
    case CombineRule::Geometric:
      return sqrt(a * b);
    case CombineRule::Min:
      return min_of(a, b);
    case CombineRule::Max:
      return max_of(a, b);
    case CombineRule::Average:
      break;
  }
  return (a + b) * T(0.5);
}

/// The override of two materials, null where there is none.
const MaterialPair* find_material_pair(const Model& model, MaterialId a, MaterialId b);

/// As contact_material(), from a parameter vector in any scalar.
template <class T>
ContactMaterialT<T> contact_material(const Model& model, const T* parameters, MaterialId a,
                                     MaterialId b) {
  const Material& A = model.material(a);
  const Material& B = model.material(b);
  const CombineRule rule = std::max(A.combine, B.combine);
  const MaterialPair* pair = find_material_pair(model, a, b);
  const auto pick = [&](Index given, Index i, Index j) {
    return given != kNone ? parameters[given] : combine(rule, parameters[i], parameters[j]);
  };
  const MaterialPair none;
  const MaterialPair& p = pair != nullptr ? *pair : none;
  ContactMaterialT<T> c;
  c.friction = pick(p.friction, A.friction, B.friction);
  c.restitution = pick(p.restitution, A.restitution, B.restitution);
  c.rolling_friction = pick(p.rolling_friction, A.rolling_friction, B.rolling_friction);
  c.compliance = p.compliance != kNone ? parameters[p.compliance]
                                       : parameters[A.compliance] + parameters[B.compliance];
  return c;
}

}  // namespace orthant
