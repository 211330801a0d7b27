// SPDX-License-Identifier: Apache-2.0
// optimise/numbers.hpp: where each number of State::q lies in the tangent.
#pragma once

#include <vector>

#include "orthant/model/model.hpp"

namespace orthant::internal {

struct QNumber {
  enum class Kind : std::uint8_t { Fixed, Plain, Quaternion };
  Kind kind = Kind::Fixed;
  Index v = 0;           ///< first of the tangent's numbers it depends on: one, or three
  Index quaternion = 0;  ///< first number of its quaternion in q
  Index part = 0;        ///< which of the four

  /// ∂q/∂δ at q ⊞ δ: how many numbers from `v` on, and which.
  int row(const VecX& q, double out[3]) const;
};

std::vector<QNumber> q_numbers(const Model& model);

}  // namespace orthant::internal
