// SPDX-License-Identifier: Apache-2.0
// collision/shape_measures.cpp: (shapes, parameters) => lengths that no pose changes.
#include "collision/shape_measures.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "orthant/base/parallel.hpp"
#include "orthant/collision/collision.hpp"

namespace orthant {
namespace {

constexpr std::size_t kShapeGrain = 4096, kValueGrain = 65536;

}  // namespace

bool ShapeMeasures::same(const Model& model, const Parameters& parameters) const {
  if (looked_.size() != model.shapes().size() || turning_.size() != model.bodies().size() ||
      values_.size() != parameters.values.size())
    return false;
  std::atomic<bool> same{true};
  parallel_for(looked_.size(), kShapeGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const Shape& shape = model.shapes()[i].shape;
      if (looked_[i] != Looked{shape.kind(), &shape.topology()}) same = false;
    }
  });
  // Bit by bit: hulls have hundreds of numbers, and this is asked in every step. Gravity may turn.
  const auto compare = [&](Index first, Index last) {
    parallel_for(static_cast<std::size_t>(last - first), kValueGrain,
                 [&](std::size_t begin, std::size_t end) {
                   const Index at = first + static_cast<Index>(begin);
                   if (std::memcmp(values_.data() + at, parameters.values.data() + at,
                                   (end - begin) * sizeof(double)) != 0)
                     same = false;
                 });
  };
  compare(0, model.gravity());
  compare(model.gravity() + 3, static_cast<Index>(values_.size()));
  return same;
}

void ShapeMeasures::update(const Model& model, const Parameters& parameters) {
  if (same(model, parameters)) return;
  values_ = parameters.values;
  looked_.clear();
  owners_.clear();
  size_.clear();
  box_.clear();
  turning_.clear();
  smallest_ = std::numeric_limits<double>::infinity();
  const auto shapes = model.shapes();
  if (std::ranges::any_of(shapes,
                          [](const ShapeInstance& s) { return s.shape.kind() == ShapeKind::Hull; }))
    box_.resize(shapes.size());
  looked_.reserve(shapes.size());
  size_.reserve(shapes.size());
  turning_.reserve(model.bodies().size());
  for (const ShapeInstance& instance : shapes) {
    looked_.push_back({instance.shape.kind(), &instance.shape.topology()});
    // Those that follow one another mostly share theirs: spheres all have the same.
    if (owners_.empty() || &owners_.back().topology() != looked_.back().topology)
      owners_.push_back(instance.shape);
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
