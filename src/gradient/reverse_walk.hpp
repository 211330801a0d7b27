// SPDX-License-Identifier: Apache-2.0
// gradient/reverse_walk.hpp: the reverse walk of a rollout, a stretch between checkpoints at a
// time.
//   ḡ_i = ∂ℓ/∂x_i + (∂x_{i+1}/∂x_i)ᵀ ḡ_{i+1}
// Its first stretch is the last of the rollout. What it carries from one to the next can be handed
// to a walk over the same rollout elsewhere, which goes on with the same bits; what a stretch needs
// beside it, records and factors, can be made before it comes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "orthant/gradient/rollout.hpp"

namespace orthant::internal {

class ReverseWalk {
 public:
  /// Tape and loss must outlive this. Throws Error for sizes and numbers that are not finite.
  ReverseWalk(const RolloutTape& tape, const RolloutCotangent& loss,
              const StepGradientSettings& gradient);
  ~ReverseWalk();

  Index stretches() const;
  /// Makes the records of a stretch and factorises its steps, which walk() otherwise does step by
  /// step. Keeps all of them until then. `between` is called now and then, for what goes on beside.
  void prepare(Index stretch, const std::function<void()>& between);
  void walk(Index stretch);
  /// After stretch 0.
  RolloutGradient finish();

  /// All but the derivatives by controls, which stay with the walk of their stretch.
  std::vector<std::byte> carried();
  void take(std::span<const std::byte> carried);
  MatX& by_controls();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace orthant::internal
