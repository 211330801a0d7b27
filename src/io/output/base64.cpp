// SPDX-License-Identifier: Apache-2.0
// io/output/base64.cpp: three bytes => four letters.
#include "io/output/base64.hpp"

#include <cstdint>

namespace orthant::io {

std::string base64(const void* data, std::size_t size) {
  static constexpr char kLetters[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::string out;
  out.resize((size + 2) / 3 * 4);
  std::size_t at = 0;
  for (std::size_t i = 0; i < size; i += 3) {
    const std::uint32_t second = i + 1 < size ? bytes[i + 1] : 0U;
    const std::uint32_t third = i + 2 < size ? bytes[i + 2] : 0U;
    const std::uint32_t word = std::uint32_t{bytes[i]} << 16 | second << 8 | third;
    out[at++] = kLetters[word >> 18];
    out[at++] = kLetters[word >> 12 & 63];
    out[at++] = i + 1 < size ? kLetters[word >> 6 & 63] : '=';
    out[at++] = i + 2 < size ? kLetters[word & 63] : '=';
  }
  return out;
}

}  // namespace orthant::io
