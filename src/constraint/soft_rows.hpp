// SPDX-License-Identifier: Apache-2.0
// constraint/soft_rows.hpp: soft contacts and where a step leads => their normal rows.
//   D_n = (1 − σ) D_n(q) + σ D_n(q'),   b_n = Φ(q')/h − D_n v',   q' = q ⊞ h v'
// Solved until v' is v⁺, a soft contact pushes with the true gap at the end, −h Φ(q')/c, and its
// work is λ D_n v⁺. With σ = ½ that is λ (Φ(q') − Φ(q))/h to third order, so that
//   ΔT + ΔU = −½ |v⁺ − v|² − (Φ(q') − Φ(q))²/2c.
// Rows at q alone know the end to first order: what turns on the way may end ½ (h ω)² r deeper, and
// the stiffer the contact, the more energy that stores which no work was done for. Where other
// features meet at the end, the gap has bent on the way: σ is 0 or 1, whichever takes more work.
#pragma once

#include <span>
#include <vector>

#include "orthant/constraint/assemble.hpp"

namespace orthant::internal {

/// A soft contact at the end of an interval.
struct SoftEnd {
  std::size_t number;  ///< in the list of contacts
  Contact contact;     ///< as it is there
  double share;        ///< σ
};

struct SoftEnds {
  std::vector<SoftEnd> of_rows;
  std::vector<Contact> without_row;  ///< deepest points of pairs, deeper than all that have rows
};

/// Bends the normal rows of soft contacts in a problem made by assemble_rows(), as above; q_end =
/// q ⊞ h v' and the first entries of `v` those of the dynamic bodies in v'. Returns whether a pair
/// overlaps at the end or a row pushes in `lambda`: of the others no number matters.
bool bend_soft_rows(const Model& model, const Parameters& parameters, const VecX& q_end,
                    const VecX& v, double h, std::span<const Contact> contacts, const VecX& lambda,
                    Assembly& out, SoftEnds& ends);

/// Contacts by the features of `ends`, where the bodies are at q => `contacts`, unless there are
/// such or their gap there is none (faces that do not meet). Returns whether some were added.
bool add_ends(const Model& model, const Parameters& parameters, const VecX& q,
              std::span<const Contact> ends, std::vector<Contact>& contacts);

}  // namespace orthant::internal
