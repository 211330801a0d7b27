// SPDX-License-Identifier: Apache-2.0
// io/run/growing_bodies.hpp: a scene whose rods grow and divide => the same scene a step later.
// A body has its uid as number for the whole run: those of the scene come first, daughters follow.
#pragma once

#include <cstdint>
#include <vector>

#include "orthant/io/scene.hpp"

namespace orthant::io {

/// Of every body that there is or was, by uid; empty where nothing grows.
struct Lineage {
  std::vector<std::int32_t> mother = {};    ///< -1: a body of the scene
  std::vector<std::int32_t> ancestor = {};  ///< the body of the scene it comes from
  std::vector<std::int64_t> born = {};      ///< step after which it is there
  std::vector<double> length = {};          ///< from tip to tip when born [m]; 0: of the scene
};

/// What a file must keep to build the model of now again.
struct GrownBodies {
  Lineage lineage = {};
  std::vector<std::int32_t> uids = {};  ///< of the bodies of now, in order
  VecX parameters = {};
};

class GrowingBodies {
 public:
  /// `scene` is changed by what follows: model, parameters, colours.
  explicit GrowingBodies(LoadedScene& scene);

  /// Rods that are long enough become two. True: the model is another one.
  bool divide_ready(State& state);
  /// Lengths grow by what one step brings.
  void grow_one_step();
  /// Length from tip to tip of body i of now [m]; 0: it does not grow.
  double length(std::size_t i) const;

  const Lineage& lineage() const { return lineage_; }
  GrownBodies bodies() const;
  /// The model and parameters that bodies() described. Throws Error where they do not fit.
  void restore(const GrownBodies& bodies, const std::string& where);

 private:
  Index rule_of(std::size_t i) const;
  void inherit_colours(const std::vector<std::string>& scene_colours);

  LoadedScene& scene_;
  ModelBuilder builder_;
  Lineage lineage_;
  std::vector<std::string> colours_;  // by body of the scene
};

}  // namespace orthant::io
