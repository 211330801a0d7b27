// SPDX-License-Identifier: Apache-2.0
// io/output/base64.hpp: raw little-endian bytes of numbers => text.
#pragma once

#include <bit>
#include <cstddef>
#include <string>
#include <vector>

namespace orthant::io {

static_assert(std::endian::native == std::endian::little, "arrays are written as they lie");

std::string base64(const void* data, std::size_t size);

/// `values` as numbers of type T.
template <class T, class V>
std::string base64_as(const V& values) {
  std::vector<T> copy;
  copy.reserve(values.size());
  for (const auto& x : values) copy.push_back(static_cast<T>(x));
  return base64(copy.data(), copy.size() * sizeof(T));
}

}  // namespace orthant::io
