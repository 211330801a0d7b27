// SPDX-License-Identifier: Apache-2.0
// io/scene/expression.hpp: "$(2 * radius)" in a scalar => its text with the value put in.
// Numbers, + - * / ^, parentheses, a few functions, pi, and the names of parameters; inside a
// population also i, j, k, n and the place x, y, z of the member.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::io {

class Variables {
 public:
  void set(const std::string& name, double value);
  void set(const std::string& name, std::string text) { texts_[name] = std::move(text); }
  void erase(const std::string& name) { texts_.erase(name); }
  /// Null where there is none. Values are kept as the shortest text that reads back to them.
  const std::string* find(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, std::string> texts_;
};

/// `text` with every $(...) replaced. Throws Error(where, ...).
std::string expand(std::string_view text, const Variables& variables, const std::string& where);

/// The whole of `text` as a finite number; false where it is none. Locale does not matter.
bool read_number(std::string_view text, double& value);

}  // namespace orthant::io
