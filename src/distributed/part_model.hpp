// SPDX-License-Identifier: Apache-2.0
// distributed/part_model.hpp: a model of some of the bodies, with their numbers and their names.
#pragma once

#include <span>
#include <vector>

#include "orthant/model/model.hpp"

namespace orthant::distributed {

struct PartModel {
  Model model;
  Parameters parameters;
  std::vector<BodyId> whole;  ///< by body of the part: the body of the whole
};

/// All bodies that do not move by forces, and those marked, by dynamic body; uids and order as in
/// the whole. Of models that why_no_parts() has nothing against.
PartModel part_model(const Model& whole, const Parameters& parameters,
                     std::span<const unsigned char> marked);

/// What stands against sharing out the bodies of a model; null: nothing.
const char* why_no_parts(const Model& model);

/// The numbers of the bodies that are in the part => out, which has the sizes of the part.
void copy_state(const Model& from, const State& whole, const PartModel& part, State& out);

}  // namespace orthant::distributed
