// SPDX-License-Identifier: Apache-2.0
// orthant/names.hpp: names typed by a person <=> values of the library.
#pragma once

#include <string>
#include <string_view>

#include "orthant/model/model.hpp"
#include "orthant/solver/solve.hpp"

namespace orthant::app {

/// snake_case, as in JSON: "iteration_limit".
std::string key_of(Outcome outcome);
std::string key_of(Method method);

/// Takes '-' for '_'. Throws Error with the nearest spelling and the allowed names.
Method method_of(std::string_view name);

/// All methods in a line, for help texts.
std::string method_names();

/// "material/wood.friction", or its last part where only one parameter ends so. A name that is
/// neither comes back as it is: the table of parameters says what is nearest.
std::string full_parameter_name(const Model& model, const std::string& name);

}  // namespace orthant::app
