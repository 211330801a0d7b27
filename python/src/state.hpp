// SPDX-License-Identifier: Apache-2.0
// python/src/state.hpp: the State that Python holds.
// NumPy views point into it, so its vectors must never be resized or swapped: a step works on a
// copy and the numbers are copied back, which also leaves the state alone when a step throws.
#pragma once

#include "orthant/model/state.hpp"

namespace orthant::python {

class StateHolder {
 public:
  StateHolder() = default;
  explicit StateHolder(State x) : x_(std::move(x)) {}

  const State& get() const { return x_; }
  State& views() { return x_; }  ///< for views and scalars only
  /// Copies numbers; sizes agree by construction.
  void set(const State& from) {
    x_.q.noalias() = from.q;
    x_.v.noalias() = from.v;
    x_.t = from.t;
    x_.step = from.step;
    x_.rng = from.rng;
  }

 private:
  State x_;
};

}  // namespace orthant::python
