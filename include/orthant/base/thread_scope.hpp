// SPDX-License-Identifier: Apache-2.0
// base/thread_scope.hpp: threads as an argument of a call, and what more of them would be worth.
#pragma once

#include <cstdint>
#include <vector>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// While it lives, parallel_for called from this thread uses so many threads, whatever the process
/// is set to: two runs of one process may each have their own. 0: all cores.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

  static int all_cores();

 private:
  int before_;
};

/// While it lives, loops run in one thread and every chunk of them is timed by the processor clock
/// of the thread. From these: how long the same chunks take if 2, 4, … threads share them out in
/// order, each taking the next when it is free. Says what the code allows, on a machine that is
/// busy as well; memory bandwidth and the cost of waking threads are not in it.
class ParallelMeter {
 public:
  ParallelMeter();
  ~ParallelMeter();
  ParallelMeter(const ParallelMeter&) = delete;
  ParallelMeter& operator=(const ParallelMeter&) = delete;

  struct Result {
    double seconds = 0;        ///< since it was made or read, processor time of this thread
    double parallel = 0;       ///< of it inside loops that can be shared out
    std::int64_t loops = 0;    ///< of two chunks and more
    std::vector<double> path;  ///< by power of two, 1 …: the time with so many threads
  };
  /// Of all since it was made or last read.
  Result read();
};

}  // namespace orthant
