// SPDX-License-Identifier: Apache-2.0
// collision/shape_measures.hpp: lengths of shapes and bodies that no pose changes, kept while the
// parameters stay the same. Hulls of meshes have hundreds of corners: to go through them in every
// step costs more than the step.
#pragma once

#include <vector>

#include "orthant/model/model.hpp"

namespace orthant {

class ShapeMeasures {
 public:
  /// A box in the frame of a shape.
  struct Box {
    Vec3 centre = Vec3::Zero(), half = Vec3::Zero();
  };

  /// Finds everything anew where shapes or parameters are not those of the last call.
  void update(const Model& model, const Parameters& parameters);
  /// Shapes and parameters are those of the last call; gravity may be another.
  bool same(const Model& model, const Parameters& parameters) const;

  double size(ShapeId shape) const { return size_[index_of(shape)]; }     ///< shape_size()
  double turning(BodyId body) const { return turning_[index_of(body)]; }  ///< turning_radius()
  /// Bounds of a hull or polygon in its own frame; unset for other shapes, whose bounds are quick.
  const Box& box(ShapeId shape) const { return box_[index_of(shape)]; }
  /// The smallest shape of a dynamic body; infinite where there is none [m].
  double smallest() const { return smallest_; }

 private:
  struct Looked {
    ShapeKind kind;
    const HullTopology* topology;
    bool operator==(const Looked&) const = default;
  };

  VecX values_;
  std::vector<Looked> looked_;  // by shape
  std::vector<Shape> owners_;   // keep the topologies alive: an address means one of them
  std::vector<double> size_, turning_;
  std::vector<Box> box_;  // none where there is no hull
  double smallest_ = 0;
};

}  // namespace orthant
