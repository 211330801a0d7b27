// SPDX-License-Identifier: Apache-2.0
// solver/polish.hpp: (problem, approximate answer) => the set each block is in, and an answer that
// solves the equations of that set to rounding. Works on the problem as given, velocities included,
// so that mass ratios cost no digits; takes 1e-4 to 1e-12 in a few factorisations.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "orthant/solver/method.hpp"

namespace orthant {

/// Which equations hold in a row or a block.
enum class ContactSetLabel : std::uint8_t {
  Stick,  ///< w = 0, the impulse inside its set (an active orthant entry, a box away from bounds)
  Slide,  ///< on the border of the cone, or a box entry at a bound
  Separate,  ///< λ = 0
  Floating,  ///< on the border between two of them: derivatives are one-sided
};
std::string_view name_of(ContactSetLabel label);

struct ActiveSet {
  std::vector<ContactSetLabel> rows;    ///< one a row of λ
  std::vector<ContactSetLabel> blocks;  ///< one a block; Floating where any of its rows is
  /// Smallest distance of any block from a border, relative to the size of its impulse and
  /// velocity: the margin of strict complementarity.
  double margin = 1;
  Index weakest_block = -1;  ///< where the margin is attained
};

/// The set of an answer. Closer to a border than `border` counts as Floating.
ActiveSet active_set(const CanonicalProblem& p, const ProblemScale& scale, const Solution& x,
                     double border = 1e-7);

struct PolishSettings {
  int max_iterations = 20;   ///< factorisations
  int inner_iterations = 5;  ///< Newton steps with one guess
  int max_lost = 20;         ///< guesses in a row that lead nowhere, in body space
  double proximal = 1e-10;   ///< weight that picks the nearest answer among redundant contacts
};

class PolishWorkspace {
 public:
  PolishWorkspace();
  ~PolishWorkspace();
  PolishWorkspace(PolishWorkspace&&) noexcept;
  PolishWorkspace& operator=(PolishWorkspace&&) noexcept;

  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Improves x until the judge reads <= limits.tolerance or nothing improves any more; x never gets
/// worse. H must be a matrix (not an operator), else x is returned as it came.
MethodResult polish(const CanonicalProblem& p, const ProblemScale& scale,
                    const PolishSettings& settings, const MethodLimits& limits,
                    PolishWorkspace& work, Solution& x);

}  // namespace orthant
