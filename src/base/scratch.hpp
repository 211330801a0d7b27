// SPDX-License-Identifier: Apache-2.0
// base/scratch.hpp: memory of a type that only the source that uses it knows. Made when first asked
// for; losing it loses nothing.
#pragma once

#include <memory>

namespace orthant {

template <class T>
class Scratch {
 public:
  Scratch() = default;
  Scratch(Scratch&&) noexcept = default;
  Scratch& operator=(Scratch&&) noexcept = default;

  /// Only where T is known.
  T& get() {
    if (kept_ == nullptr) kept_ = std::make_shared<T>();
    return *kept_;
  }

 private:
  std::shared_ptr<T> kept_;  // unlike a unique_ptr it can be destroyed where T is not known
};

}  // namespace orthant
