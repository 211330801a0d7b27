// SPDX-License-Identifier: Apache-2.0
// orthant/names.cpp: names typed by a person <=> values of the library.
#include "names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

constexpr std::array kMethods{Method::Automatic,           Method::Lemke,
                              Method::GaussSeidel,         Method::MinMapNewton,
                              Method::FischerNewton,       Method::InteriorPoint,
                              Method::NonsmoothNewton,     Method::ProjectedGradient,
                              Method::AcceleratedGradient, Method::ActiveSetCg,
                              Method::PairBlocks,          Method::Enumeration};

std::string snake(std::string_view name) {
  std::string key(name);
  std::replace_if(key.begin(), key.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  return key;
}

}  // namespace

std::string key_of(Outcome outcome) { return snake(name_of(outcome)); }
std::string key_of(Method method) { return snake(name_of(method)); }

Method method_of(std::string_view name) {
  const std::string key = snake(name);
  std::vector<std::string> names;
  for (const Method method : kMethods) {
    names.push_back(key_of(method));
    if (names.back() == key) return method;
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = nearest_spelling(key, views.data(), views.size());
  throw Error("--method",
              fmt::format("unknown method '{}'{}; allowed: {}", name,
                          near.empty() ? "" : " (did you mean '" + near + "'?)", method_names()));
}

std::string method_names() {
  std::string list;
  for (const Method method : kMethods) list += (list.empty() ? "" : ", ") + key_of(method);
  return list;
}

std::string full_parameter_name(const Model& model, const std::string& name) {
  const ParameterTable& table = model.parameter_table();
  if (table.contains(name) || name.find('/') != std::string::npos) return name;
  std::vector<std::string> found;
  for (Index i = 0; i < table.size(); ++i)
    if (table.name(i).ends_with("." + name)) found.push_back(table.name(i));
  if (found.size() == 1) return found[0];
  if (found.empty()) return name;  // the table says what is nearest
  throw Error("--params", fmt::format("'{}' may be {}", name, fmt::join(found, ", ")));
}

}  // namespace orthant::app
