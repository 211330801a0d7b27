// SPDX-License-Identifier: Apache-2.0
// base/check_settings.hpp: settings within the rules of their one list (base/setting.hpp), or an
// Error that names the field, the rule and the value.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

#include "orthant/base/error.hpp"
#include "orthant/base/setting.hpp"

namespace orthant {

/// A number that keeps its rule; no text is made for it, a solve of one block takes a microsecond.
inline bool keeps(const SettingRule& rule, double value) {
  return value >= rule.lo && value <= rule.hi && (!rule.positive || value > 0) &&
         std::abs(value) <= std::numeric_limits<double>::max();
}

/// What a number breaks of a rule.
inline std::string broken_rule(const SettingRule& rule, double value) {
  if (!std::isfinite(value)) return "must be finite";
  if (rule.positive && !(value > 0)) return "must be > 0";
  if (value < rule.lo) return "must be >= " + to_text(rule.lo);
  return "must be <= " + to_text(rule.hi);
}

/// `where` and `group` stand before the name of the field. Settings inside settings are looked at
/// too. Does not allocate unless it throws.
template <class S>
void check_settings(const S& settings, const char* where, const char* group = "") {
  visit_settings(std::type_identity<S>{}, [&](const char* name, auto member, const char*,
                                              const SettingRule& rule) {
    const auto& field = settings.*member;
    using T = std::decay_t<decltype(field)>;
    if constexpr (std::is_arithmetic_v<T>) {
      const auto value = static_cast<double>(field);
      if (!keeps(rule, value))
        throw Error(std::string(where) + group + (*group ? "." : "") + name,
                    broken_rule(rule, value) + ", got " + to_text(value));
    } else if constexpr (requires { visit_settings(std::type_identity<T>{}, [](auto...) {}); }) {
      check_settings(field, where, name);
    }
  });
}

}  // namespace orthant
