// SPDX-License-Identifier: Apache-2.0
// base/background.cpp: one thread per job; the join orders all that is shared.
#include "base/background.hpp"

#include <utility>

namespace orthant {

Background::~Background() {
  if (thread_.joinable()) thread_.join();
}

void Background::start(std::function<void()> job) {
  wait();
  thread_ = std::thread([this, job = std::move(job)] {
    try {
      job();
    } catch (...) {
      error_ = std::current_exception();
    }
  });
}

void Background::wait() {
  if (thread_.joinable()) thread_.join();
  if (error_) std::rethrow_exception(error_);
}

}  // namespace orthant
