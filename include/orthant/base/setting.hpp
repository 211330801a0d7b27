// SPDX-License-Identifier: Apache-2.0
// base/setting.hpp: what the readers of settings must know of a field beside its name and type.
// Settings are plain aggregates. Each has one list of its fields,
//   void visit_settings(std::type_identity<S>, auto&& field)
//     field("name", &S::name, "what it is", SettingRule{…});
// from which the command line, scene files with their schema, and Python are made.
#pragma once

#include <limits>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

struct SettingRule {
  const char* unit = "";
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool positive = false;
  bool reproducible = true;  ///< false: results depend on the machine, so no scene file has it
};

}  // namespace orthant
