// SPDX-License-Identifier: Apache-2.0
// step/body_parts.hpp: the bodies of a step without overlap, shared out over a team. Between steps
// every member knows the whole state; within a step it finds the contacts of its own bodies, has
// their rows, and follows the bodies of others that are near.
#pragma once

#include <span>
#include <vector>

#include "base/team.hpp"
#include "orthant/collision/contact_set.hpp"
#include "solver/few_rows.hpp"
#include "step/run.hpp"

namespace orthant::internal {

/// A step like that can be shared out: bodies in space without joints, friction or compliance.
bool may_be_parted(const StepRun& run);

class BodyParts {
 public:
  /// Cuts the bodies, the same on all members, by places, by the contacts that pushed last and by
  /// where the forces would take them in dt.
  BodyParts(Team& team, const StepRun& run, const VecX& v_free, double dt);

  Team& team() const { return team_; }
  /// The pairs with a body of this member, which all others leave alone that may not touch it.
  BodyFilter here() const { return {own_, all_known_ ? std::span<const unsigned char>() : known_}; }
  /// The contact is counted here, of the members that find it.
  bool is_counted(const Contact& contact) const;
  bool has(const Contact& contact) const {
    return own_[index_of(contact.body_a)] != 0 || own_[index_of(contact.body_b)] != 0;
  }

  /// Rows of these contacts follow those there are.
  void name_rows(std::span<const Contact> contacts);
  ProblemPart problem();

  /// After a solve: where it takes a body farther than was foreseen, all members know all bodies
  /// from now on.
  void follow(VecX& v);
  /// v of own bodies => of all, on all members.
  void gather(VecX& v);
  /// Impulses of own contacts => of all.
  void gather(WarmStart& warm);

  std::int64_t sum(std::int64_t number);
  double largest(double number);

 private:
  void cut(std::vector<Index>::iterator begin, std::vector<Index>::iterator end, int first,
           int last);
  void find_near(double reach, const VecX& v_free);
  void refresh(VecX& v);

  Team& team_;
  const StepRun& run_;
  double dt_;
  double most_ = 0;                   // farthest that a body may go in a trial, along any axis [m]
  std::vector<Vec3> place_;           // by dynamic body, within the periodic box
  std::vector<double> weight_;        // the same
  std::vector<std::int32_t> owner_;   // the same
  std::vector<unsigned char> block_;  // the same: this member's
  std::vector<unsigned char> own_, known_;  // by body
  bool all_known_ = false;
  std::vector<RowName> names_;
  std::vector<int> others_;
  std::vector<std::vector<Index>> send_, receive_;  // dynamic bodies, by `others_`
  /// Their velocities as both sides know them: v_free at first.
  std::vector<std::vector<double>> sent_, received_;
};

}  // namespace orthant::internal
