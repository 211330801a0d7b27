// SPDX-License-Identifier: Apache-2.0
// solver/pair_blocks.hpp: frictionless problems with several rows per pair of bodies, matrix-free.
//
//   min ½ λᵀNλ + rᵀλ,  λ >= 0;   G = the blocks of N that belong to one pair of bodies
//
// The rows a recursion adds to a pair are nearly parallel to those it has, and that, not the
// packing, makes N ill-conditioned. All rows of a pair are therefore one block: steps, projections
// and preconditioning are taken in the metric G, in which such rows are no harder than one.
#pragma once

#include <memory>

#include "orthant/solver/method.hpp"

namespace orthant {

enum class PairBlocksForm : std::uint8_t {
  Conjugate,  ///< conjugate gradients on the rows that push, block gradient steps between
  /// An interior path from afar, Newton steps on proximal rounds near the end: a factorisation
  /// each, in the graph of the bodies. For the plane, where that is cheap and conjugate gradients
  /// take hundreds to thousands of steps.
  Newton,
};

struct PairBlocksSettings {
  int max_iterations = 0;  ///< 0: 20000, of Newton 400
  int judge_every = 25;    ///< iterations between two looks by the judge
  PairBlocksForm form = PairBlocksForm::Conjugate;
};

class PairBlocksWorkspace {
 public:
  PairBlocksWorkspace();
  ~PairBlocksWorkspace();
  PairBlocksWorkspace(PairBlocksWorkspace&&) noexcept;
  PairBlocksWorkspace& operator=(PairBlocksWorkspace&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Orthant laws only, no bilateral rows, F = 0, H block-diagonal.
MethodResult solve_pair_blocks(const CanonicalProblem& p, const ProblemScale& scale,
                               const PairBlocksSettings& settings, const MethodLimits& limits,
                               PairBlocksWorkspace& work, Solution& x);

}  // namespace orthant
