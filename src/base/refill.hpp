// SPDX-License-Identifier: Apache-2.0
// base/refill.hpp: arrays that are written anew in every step, and grow now and then.
#pragma once

#include <cstddef>
#include <vector>

namespace orthant {

/// Room for n, and an eighth more where there was none: not twice as much.
template <class T, class A>
void make_room(std::vector<T, A>& array, std::size_t n) {
  if (n > array.capacity()) array.reserve(n + n / 8 + 8);
}

/// As clear(), with room for n: the old memory goes before the new comes.
template <class T, class A>
void clear_for(std::vector<T, A>& array, std::size_t n) {
  array.clear();
  if (n > array.capacity()) array = std::vector<T, A>();
  make_room(array, n);
}

/// As resize(n) of an array whose numbers are no longer wanted. Of the arrays of 10⁵ bodies what
/// this saves is a third.
template <class T, class A>
void refill(std::vector<T, A>& array, std::size_t n) {
  if (n > array.capacity()) clear_for(array, n);
  array.resize(n);
}

}  // namespace orthant
