// SPDX-License-Identifier: Apache-2.0
// orthant/names.cpp: names typed by a person <=> values of the library.
#include "names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

constexpr Index kLookedAt = 20000;  // enough for a suggestion, whatever the size of the model

std::string snake(std::string_view name) {
  std::string key(name);
  std::replace_if(key.begin(), key.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return key;
}

}  // namespace

std::string key_of(Outcome outcome) { return snake(name_of(outcome)); }
std::string key_of(Method method) { return std::string(name_of(method)); }

Method method_of(std::string_view name) {
  if (const std::optional<Method> method = method_named(name)) return *method;
  std::vector<std::string_view> names;
  for (const MethodInfo& info : kMethods) names.push_back(info.name);
  const std::string near = nearest_spelling(std::string(name), names.data(), names.size());
  throw Error("--method",
              fmt::format("unknown method '{}'{}; allowed: {}", name,
                          near.empty() ? "" : " (did you mean '" + near + "'?)", method_names()));
}

std::string method_names() {
  std::string list;
  for (const MethodInfo& info : kMethods)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", info.name);
  return list;
}

std::string full_parameter_name(const Model& model, const std::string& name) {
  const ParameterTable& table = model.parameter_table();
  if (table.contains(name) || name.find('/') != std::string::npos) return name;
  std::vector<std::string> found;
  for (Index i = 0; i < table.size(); ++i)
    if (table.name(i).ends_with("." + name)) found.push_back(table.name(i));
  if (found.size() == 1) return found[0];
  if (found.size() > 1)
    throw Error("--params", fmt::format("'{}' may be {}", name, fmt::join(found, ", ")));
  // A last part that is misspelt: which parts are there?
  std::set<std::string> parts;
  for (Index i = 0; i < std::min<Index>(table.size(), kLookedAt); ++i) {
    const std::string full = table.name(i);
    const std::size_t dot = full.find('.', full.rfind('/') + 1);
    if (dot != std::string::npos) parts.insert(full.substr(dot + 1));
  }
  const std::vector<std::string_view> views(parts.begin(), parts.end());
  const std::string near = nearest_spelling(name, views.data(), views.size());
  if (near.empty()) return name;  // the table says that there is none
  throw Error("--params",
              fmt::format("no parameter ends in '{}' (did you mean '{}'?)", name, near));
}

}  // namespace orthant::app
