// SPDX-License-Identifier: Apache-2.0
// model/parameters.hpp: every number one can set, fit or differentiate by, in one flat vector.
// The names ("body/ball.mass", "material/rubber.friction", "shape/ball.radius", "force/gravity.z")
// belong to the Model; a change of values never rebuilds it, so a fit, a batch or a gradient is an
// outer index over Parameters.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/math/types.hpp"

namespace orthant {

/// Names and places of the parameters of a Model, fixed when it is built.
class ParameterTable {
 public:
  /// Appends a parameter and returns its place. Names are unique; throws Error otherwise.
  Index add(std::string name, double value, std::string unit);

  Index size() const { return static_cast<Index>(names_.size()); }
  const std::string& name(Index i) const { return names_[i]; }
  const std::string& unit(Index i) const { return units_[i]; }
  double initial(Index i) const { return initial_[i]; }
  /// Place of a name; throws Error with the nearest spelling when there is none.
  Index find(std::string_view name) const;
  bool contains(std::string_view name) const;

 private:
  std::vector<std::string> names_, units_;
  std::vector<double> initial_;
  std::vector<Index> sorted_;  // places by name, for find()
};

struct Parameters {
  VecX values;
  std::shared_ptr<const ParameterTable> table;

  double get(std::string_view name) const { return values[table->find(name)]; }
  void set(std::string_view name, double value) { values[table->find(name)] = value; }
  double operator[](Index i) const { return values[i]; }
};

}  // namespace orthant
