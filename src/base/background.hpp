// SPDX-License-Identifier: Apache-2.0
// base/background.hpp: one job at a time in a thread of its own, beside the caller.
// For work whose result the caller does not need at once (files); computing goes through
// parallel_for. Jobs run in the order they were given.
#pragma once

#include <exception>
#include <functional>
#include <thread>

namespace orthant {

class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background();  ///< waits; what the last job threw is lost unless wait() was called

  /// Waits for the job before and starts this one. After a job has thrown, throws the same for
  /// ever and starts nothing: what comes later may build on it.
  void start(std::function<void()> job);
  /// Until nothing is running. Throws what a job has thrown.
  void wait();

 private:
  std::thread thread_;
  std::exception_ptr error_;
};

}  // namespace orthant
