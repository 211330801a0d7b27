// SPDX-License-Identifier: Apache-2.0
// base/base.cpp: errors, assertions, version.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "orthant/base/assert.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/version.hpp"

namespace orthant {

const char* version() noexcept { return ORTHANT_VERSION; }

std::string to_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

std::string nearest_spelling(std::string_view word, const std::string_view* candidates,
                             std::size_t count) {
  // Levenshtein distance, one row at a time; a suggestion further than a third of the word
  // does not help.
  std::size_t best = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::string_view nearest;
  std::vector<std::size_t> row;
  for (std::size_t c = 0; c < count; ++c) {
    const std::string_view other = candidates[c];
    row.resize(other.size() + 1);
    for (std::size_t j = 0; j <= other.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i;
      for (std::size_t j = 1; j <= other.size(); ++j) {
        const std::size_t substitute = diagonal + (word[i - 1] == other[j - 1] ? 0 : 1);
        diagonal = row[j];
        row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
      }
    }
    if (row.back() < best) {
      best = row.back();
      nearest = other;
    }
  }
  return std::string(nearest);
}

namespace internal {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, condition);
  std::abort();
}

}  // namespace internal
}  // namespace orthant
