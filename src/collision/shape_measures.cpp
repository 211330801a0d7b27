// SPDX-License-Identifier: Apache-2.0
// collision/shape_measures.cpp: (shapes, parameters) => lengths that no pose changes.
#include "collision/shape_measures.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "orthant/collision/collision.hpp"

namespace orthant {

bool ShapeMeasures::same(const Model& model, const Parameters& parameters) const {
  if (shapes_.size() != model.shapes().size() || turning_.size() != model.bodies().size() ||
      values_.size() != parameters.values.size())
    return false;
  for (std::size_t i = 0; i < shapes_.size(); ++i) {
    const Shape& shape = model.shapes()[i].shape;
    if (shapes_[i].kind() != shape.kind() || &shapes_[i].topology() != &shape.topology())
      return false;
  }
  // Bit by bit: hulls have hundreds of numbers, and this is asked in every step. Gravity may turn.
  const auto same_from = [&](Index begin, Index end) {
    return std::memcmp(values_.data() + begin, parameters.values.data() + begin,
                       static_cast<std::size_t>(end - begin) * sizeof(double)) == 0;
  };
  return same_from(0, model.gravity()) &&
         same_from(model.gravity() + 3, static_cast<Index>(values_.size()));
}

void ShapeMeasures::update(const Model& model, const Parameters& parameters) {
  if (same(model, parameters)) return;
  values_ = parameters.values;
  shapes_.clear();
  size_.clear();
  box_.clear();
  turning_.clear();
  smallest_ = std::numeric_limits<double>::infinity();
  const auto shapes = model.shapes();
  if (std::ranges::any_of(shapes,
                          [](const ShapeInstance& s) { return s.shape.kind() == ShapeKind::Hull; }))
    box_.resize(shapes.size());
  shapes_.reserve(shapes.size());
  size_.reserve(shapes.size());
  turning_.reserve(model.bodies().size());
  for (const ShapeInstance& instance : shapes) {
    shapes_.push_back(instance.shape);
    size_.push_back(shape_size(model, parameters, instance.id));
    if (model.body(instance.body).is_dynamic()) smallest_ = std::min(smallest_, size_.back());
    if (instance.shape.kind() == ShapeKind::Hull) {
      const Bounds b = bounds(instance.view(parameters.values.data()), Pose{});
      box_[index_of(instance.id)] = {0.5 * (b.lo + b.hi), 0.5 * (b.hi - b.lo)};
    }
  }
  for (std::size_t i = 0; i < model.bodies().size(); ++i)
    turning_.push_back(turning_radius(model, parameters, BodyId{static_cast<std::int32_t>(i)}));
}

}  // namespace orthant
