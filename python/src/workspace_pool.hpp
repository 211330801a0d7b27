// SPDX-License-Identifier: Apache-2.0
// python/src/workspace_pool.hpp: scratch for steps, handed out and taken back.
// A workspace carries no memory, so any will do; the pool saves growing a new one at every call. A
// step may run inside another (a Python force that simulates), hence a stack and not one per
// thread. What an exception left half-way is thrown away with its lease.
#pragma once

#include <exception>
#include <memory>
#include <mutex>
#include <vector>

#include "orthant/step/step.hpp"

namespace orthant::python {

class WorkspaceLease {
 public:
  WorkspaceLease() {
    const std::scoped_lock lock(mutex());
    if (!pool().empty()) {
      mine_ = std::move(pool().back());
      pool().pop_back();
    } else {
      mine_ = std::make_unique<Scratch>();
    }
  }
  ~WorkspaceLease() {
    if (std::uncaught_exceptions() > exceptions_) return;
    const std::scoped_lock lock(mutex());
    if (pool().size() < 64) pool().push_back(std::move(mine_));
  }
  WorkspaceLease(const WorkspaceLease&) = delete;
  WorkspaceLease& operator=(const WorkspaceLease&) = delete;

  StepWorkspace& workspace() { return mine_->workspace; }
  State& state() { return mine_->state; }

 private:
  struct Scratch {
    StepWorkspace workspace;
    State state;
  };
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static std::vector<std::unique_ptr<Scratch>>& pool() {
    // Never destroyed: threads may outlive the interpreter's statics.
    static auto& p = *new std::vector<std::unique_ptr<Scratch>>;
    return p;
  }

  std::unique_ptr<Scratch> mine_;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace orthant::python
