// SPDX-License-Identifier: Apache-2.0
// gradient/friction_answers.hpp: one contact with Coulomb friction, w = N λ + w₀ => is the answer
// found the only one? Private to the room.
//   parts   λ = 0, w₀_n > 0        sticks  w = 0, λ in the cone
//   slides  w_n = 0, w_t = σ s, λ = λ_n (1, −μ s), σ > 0
// Where a normal impulse also moves the contact along itself, as joints make it, several may hold.
#pragma once

#include "orthant/math/law.hpp"
#include "orthant/math/types.hpp"

namespace orthant::internal {

/// `w`, of the answer found. N may be singular, and is not symmetric where other contacts slide: a
/// push along one of them changes its friction elsewhere.
bool has_other_answer(const MatX& N, const VecX& w_free, const Law& law, const VecX& w);

}  // namespace orthant::internal
