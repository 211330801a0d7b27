// SPDX-License-Identifier: Apache-2.0
// support/no_alloc.hpp: a scope in which any allocation, by any thread, fails the test.
//
//   (void)solve(problem, settings, workspace, solution);   // the first call may grow buffers
//   NoAlloc guard;
//   (void)solve(problem, settings, workspace, solution);
//
// Counts malloc and its relatives, not only operator new: Eigen allocates with malloc.
#pragma once

#include <cstddef>

namespace orthant::testing {

class NoAlloc {
 public:
  NoAlloc();
  /// Fails the current test when something was allocated since the constructor; says how often,
  /// how much, and from where the first time.
  ~NoAlloc();
  NoAlloc(const NoAlloc&) = delete;
  NoAlloc& operator=(const NoAlloc&) = delete;

  /// Allocations so far, of all threads.
  std::size_t count() const;

 private:
  std::size_t count_before_;
  std::size_t bytes_before_;
};

}  // namespace orthant::testing
