// SPDX-License-Identifier: Apache-2.0
// base/timer.hpp: wall-clock seconds for reports. Never read inside a decision: same input, same
// bits.
#pragma once

#include <chrono>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

class Timer {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  void restart() { start_ = std::chrono::steady_clock::now(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace orthant
