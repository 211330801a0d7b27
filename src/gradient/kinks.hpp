// SPDX-License-Identifier: Apache-2.0
// gradient/kinks.hpp: (solve of a record) => kinks of its data that no multiplier shows. Private to
// the room.
// The laws of contact have kinks of their own, which SolutionGradient finds by λ and w. The data
// have others: a bias b_n has the slopes 1/h and β/h at Φ = 0; the stiffness across a spring is cut
// off at its rest length; faces that lie flush give the normal to either body.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gradient/reader.hpp"
#include "orthant/constraint/contact_rows.hpp"
#include "orthant/gradient/step.hpp"

namespace orthant::internal {

/// A number that the data of a solve have a kink in: changes that keep it meet none.
///   closed contact  its gap;   flush faces  differences of their gaps;   spring  its stretch;
///   landing contact its gap at the end, which a projection undoes where it is an overlap
///   a bounce as fast as the gap closes:  the difference of the two
struct KinkScalar {
  const Force* spring = nullptr;
  std::vector<std::pair<std::size_t, double>> gaps = {};  ///< Σ weight · gap of the contact
  bool bounce = false;  ///< instead: what its bias is by the gap, less what it is by the bounce
  /// Where it is taken: where the solve begins, where the step does, or where the solve ends.
  enum class At : std::uint8_t { Solve, Start, End } at = At::Solve;
  double width = 0;  ///< End: nearer to 0 than this it is at its kink,
  double near = 0;   ///< and nearer than this it is near
  /// Flush faces: Neither, the number has the normal of one of them held and may be of neither
  /// side. Near: it is `value` away from its kink.
  OpenReason reason = OpenReason::Kink;
  double value = 0;
};

struct Kinks {
  Index here = 0;                   ///< that any change may meet, whatever led to this solve
  Index start = 0;                  ///< of the state it begins at, where that is varied by itself
  std::vector<KinkScalar> scalars;  ///< kinks of single numbers
  std::string what;                 ///< the first, in words
};

/// `starts`: the solve stands at a state that may be varied in any way; `lands`: where it ends, the
/// `displacement` away, is looked at.
Kinks find_kinks(const Model& model, const Parameters& parameters, const StepSettings& settings,
                 const SolveRecord& record, std::span<const ContactBlock> blocks, bool starts,
                 bool lands, const VecX& displacement);
/// How far a spring is from its rest length, where the step expects it.
double stretch_at(const SolveContext& at, const Force& spring);
/// The gap of a contact of the solve.
double gap_at(const SolveContext& at, std::size_t contact);
/// Adds the derivative of the number by the inputs of the solve, its largest part of size `weight`;
/// of one near its kink, that over its value.
void pull_kink(const SolveContext& at, const KinkScalar& kink, double weight, SolveInputs& in);

}  // namespace orthant::internal
