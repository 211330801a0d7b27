// SPDX-License-Identifier: Apache-2.0
// gradient/spare.hpp: storage of objects that are gone, for the next ones. Private to the room.
// A step is differentiated in microseconds, half of which would go into the heap. Only capacity is
// kept, no value: whoever takes one fills it anew, so the bits do not depend on what was there.
#pragma once

#include <memory>
#include <vector>

namespace orthant::internal {

/// A few spare T a thread.
template <class T>
class Spare {
 public:
  static std::unique_ptr<T> take() {
    if (gone()) return std::make_unique<T>();
    std::vector<std::unique_ptr<T>>& list = here().list_;
    if (list.empty()) return std::make_unique<T>();
    std::unique_ptr<T> one = std::move(list.back());
    list.pop_back();
    return one;
  }
  /// `size`: of what it holds, numbers.
  static void give(std::unique_ptr<T> one, std::size_t size) {
    constexpr std::size_t kMost = 4, kLargest = 1U << 14U;  // larger ones do not notice the heap
    if (one == nullptr || size > kLargest || gone()) return;
    std::vector<std::unique_ptr<T>>& list = here().list_;
    if (list.size() < kMost) list.push_back(std::move(one));
  }

 private:
  Spare() = default;
  ~Spare() { gone() = true; }
  static bool& gone() {  // a thread may end before its last gradient
    thread_local bool value = false;
    return value;
  }
  static Spare& here() {
    thread_local Spare spare;
    return spare;
  }

  std::vector<std::unique_ptr<T>> list_;
};

}  // namespace orthant::internal
