// SPDX-License-Identifier: Apache-2.0
// model/parameters.cpp: "object.field" => place in the flat vector, and back.
// Objects and fields may both contain dots, so a name is split at every dot until an object fits.
#include "orthant/model/parameters.hpp"

#include <algorithm>
#include <utility>

#include "orthant/base/assert.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

Index ParameterTable::add(std::string object, Fields fields, const double* values) {
  const Index begin = size();
  initial_.insert(initial_.end(), values, values + fields->size());
  groups_.push_back({std::move(object), std::move(fields), begin});
  return begin;
}

Index ParameterTable::add(std::string object, std::string field, double value, std::string unit) {
  return add(std::move(object),
             std::make_shared<const std::vector<ParameterField>>(
                 1, ParameterField{std::move(field), std::move(unit)}),
             &value);
}

void ParameterTable::seal() {
  sorted_.resize(groups_.size());
  for (std::size_t i = 0; i < sorted_.size(); ++i) sorted_[i] = static_cast<Index>(i);
  std::sort(sorted_.begin(), sorted_.end(), [&](Index i, Index j) {
    const int order = groups_[i].object.compare(groups_[j].object);
    return order != 0 ? order < 0 : i < j;
  });
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < sorted_.size();) {
    const std::string& object = groups_[sorted_[i]].object;
    names.clear();
    for (; i < sorted_.size() && groups_[sorted_[i]].object == object; ++i)
      for (const ParameterField& f : *groups_[sorted_[i]].fields) names.push_back(f.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end())
      throw Error("parameter " + object + "." + std::string(*twice), "the name is given twice");
  }
}

const ParameterTable::Group& ParameterTable::group_of(Index i) const {
  ORTHANT_ASSERT(i >= 0 && i < size());
  auto after = std::upper_bound(groups_.begin(), groups_.end(), i,
                                [](Index place, const Group& g) { return place < g.begin; });
  // Groups without numbers share their start with the next one: the last that starts here holds i.
  return *--after;
}

std::string ParameterTable::name(Index i) const {
  const Group& g = group_of(i);
  return g.object + "." + (*g.fields)[i - g.begin].name;
}

const std::string& ParameterTable::unit(Index i) const {
  const Group& g = group_of(i);
  return (*g.fields)[i - g.begin].unit;
}

Index ParameterTable::lookup(std::string_view name) const {
  for (std::size_t dot = name.find('.'); dot != std::string_view::npos;
       dot = name.find('.', dot + 1)) {
    const std::string_view object = name.substr(0, dot), field = name.substr(dot + 1);
    auto it = std::lower_bound(
        sorted_.begin(), sorted_.end(), object,
        [&](Index i, std::string_view wanted) { return groups_[i].object < wanted; });
    for (; it != sorted_.end() && groups_[*it].object == object; ++it) {
      const std::vector<ParameterField>& fields = *groups_[*it].fields;
      for (std::size_t k = 0; k < fields.size(); ++k)
        if (fields[k].name == field) return groups_[*it].begin + static_cast<Index>(k);
    }
  }
  return -1;
}

bool ParameterTable::contains(std::string_view name) const { return lookup(name) >= 0; }

Index ParameterTable::find(std::string_view wanted) const {
  const Index place = lookup(wanted);
  if (place >= 0) return place;
  // Only a wrong name comes here; a suggestion from the first names is enough for huge models.
  const Index count = std::min<Index>(size(), 20000);
  std::vector<std::string> names(count);
  for (Index i = 0; i < count; ++i) names[i] = name(i);
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string near = nearest_spelling(wanted, views.data(), views.size());
  throw Error("parameter " + std::string(wanted),
              near.empty() ? "there is no such name"
                           : "there is no such name (did you mean '" + near + "'?)");
}

}  // namespace orthant
