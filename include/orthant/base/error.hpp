// SPDX-License-Identifier: Apache-2.0
// base/error.hpp: the one exception of the library.
// Thrown for the caller's data only (a file, a model, a setting); numbers that go wrong inside a
// solve are an Outcome, our own slips are ORTHANT_ASSERT.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// Bad input. what() reads "where: what", e.g. "scene.yaml:12:7: unknown key 'mas' (did you mean
/// 'mass'?)". `where` names the file and position, the object or the setting.
class Error : public std::runtime_error {
 public:
  Error(std::string_view where, std::string_view what)
      : std::runtime_error(std::string(where) + ": " + std::string(what)), where_(where) {}

  const std::string& where() const noexcept { return where_; }

 private:
  std::string where_;
};

/// Shortest decimal text that reads back to the same double; for messages and files.
std::string to_text(double value);

/// The candidate closest to `word` by edit distance, empty when none is near enough to suggest.
std::string nearest_spelling(std::string_view word, const std::string_view* candidates,
                             std::size_t count);

}  // namespace orthant
