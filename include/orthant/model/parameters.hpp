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

#include "orthant/base/export.hpp"
#include "orthant/math/types.hpp"

namespace ORTHANT_EXPORT orthant {

/// One number of an object: "radius" in "shape/ball.radius".
struct ParameterField {
  std::string name;
  std::string unit;
};

/// Names and places of the parameters of a Model, fixed when it is built. Names are kept object by
/// object and shared between objects of one kind: a million spheres do not store "inertia.xx" each.
class ParameterTable {
 public:
  using Fields = std::shared_ptr<const std::vector<ParameterField>>;

  /// Appends the numbers of an object ("body/ball") and returns the place of the first. An object
  /// may be added to several times; its full names "object.field" are checked by seal().
  Index add(std::string object, Fields fields, const double* values);
  /// Appends one number.
  Index add(std::string object, std::string field, double value, std::string unit);
  /// Call once when all is added: sorts for find(). Throws Error on a name given twice.
  void seal();

  Index size() const { return static_cast<Index>(initial_.size()); }
  std::string name(Index i) const;
  const std::string& unit(Index i) const;
  double initial(Index i) const { return initial_[i]; }
  const std::vector<double>& initial_values() const { return initial_; }
  /// Place of a name; throws Error with the nearest spelling when there is none.
  Index find(std::string_view name) const;
  bool contains(std::string_view name) const;

 private:
  struct Group {
    std::string object;
    Fields fields;
    Index begin;
  };
  Index lookup(std::string_view name) const;
  const Group& group_of(Index i) const;

  std::vector<Group> groups_;  // ascending in begin
  std::vector<Index> sorted_;  // groups by (object, begin)
  std::vector<double> initial_;
};

struct Parameters {
  VecX values;
  std::shared_ptr<const ParameterTable> table;

  double get(std::string_view name) const { return values[table->find(name)]; }
  void set(std::string_view name, double value) { values[table->find(name)] = value; }
  double operator[](Index i) const { return values[i]; }
};

}  // namespace orthant
