// SPDX-License-Identifier: Apache-2.0
// step/crew.hpp: one crowd, stepped by several processes that each know a part of it.
#pragma once

#include <span>

#include "crowd/sweeps.hpp"
#include "orthant/collision/contact_set.hpp"
#include "orthant/step/step.hpp"

namespace orthant {

/// Contacts of islands that are not small from which on a step is one of a crowd.
constexpr std::size_t kCrowdContacts = 100;
/// Contacts from which on a crowd, or an island of an exact step, is swept without factorisations:
/// one costs more than hundreds of sweeps.
constexpr std::size_t kManyContacts = 2048;
/// Contacts in all from which on the sweeps of a crowd are cut into cells, for threads and ranks.
/// Cells break the order from the lowest contact up, which takes a fifth to a third more sweeps.
constexpr std::size_t kCutContacts = 8192;

/// Edge of the cells that the contacts of a crowd are swept in [m]: eight times the mean bounding
/// radius of the bodies that move. 0 where there are none.
double crowd_cell_edge(const Model& model);

/// Cell of a place; `gravity` decides which two axes are cut: those across its largest component.
SweepCell crowd_cell(const Vec3& place, const Vec3& gravity, double edge);

/// Others that step the same crowd. Each steps a model of its own, with the bodies of its part and
/// those of others near them, and calls step() with the crew in its workspace.
class StepCrew : public SweepCrew {
 public:
  /// The same answer everywhere: is the step one of a crowd that is cut into cells? `able`: the
  /// contacts of this part alone are those of a crowd, and its bodies can be swept. False ends the
  /// step with nothing done.
  virtual bool accept(const Model& model, std::span<const Contact> contacts,
                      std::span<const BodyMotion> motion, bool able) = 0;
  virtual double cell_edge() const = 0;  ///< crowd_cell_edge() of the whole crowd
};

/// Null: alone again.
void set_crew(StepWorkspace& workspace, StepCrew* crew);

}  // namespace orthant
