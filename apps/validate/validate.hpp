// SPDX-License-Identifier: Apache-2.0
// validate/validate.hpp: the physics checks that a user can run: closed form against simulation.
// One file per subject; each check is a measured error, its bound and their unit. The same table
// serves `orthant validate` and the tests.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::validation {

struct Check {
  std::string name;  ///< "group/case"
  double measured = 0, bound = 0;
  std::string unit;

  /// NaN does not pass.
  bool pass() const { return measured <= bound; }
};

using Checks = std::vector<Check>;

/// A group of checks that share a closed form.
struct Group {
  std::string_view name;
  std::string_view what;  ///< one line for a person
  void (*run)(Checks& out);
};

/// All groups, in the order of the list that `orthant validate` prints.
std::span<const Group> groups();

/// Runs the groups named (empty: all), calling `done` after each. Throws Error for an unknown name.
Checks run(const std::vector<std::string>& names,
           const std::function<void(const Group&, std::span<const Check>)>& done = {});

/// The checks as a JSON array of {name, measured, bound, unit, pass}.
std::string to_json(std::span<const Check> checks);

// incline.cpp
void incline(Checks& out);
void thrown_block(Checks& out);
void rolling_sphere(Checks& out);
// flight.cpp
void projectile(Checks& out);
void spinning_body(Checks& out);
void bouncing_ball(Checks& out);
void two_balls(Checks& out);
void cradle(Checks& out);
void elastic_gas(Checks& out);
void tunnelling(Checks& out);
// standing.cpp
void cube_stack(Checks& out);
void card_house(Checks& out);
void arch(Checks& out);
void mass_ratio(Checks& out);
void painleve_rod(Checks& out);
// joints.cpp
void pendulum(Checks& out);
void chain_drift(Checks& out);
void chain_energy(Checks& out);
void four_bar(Checks& out);
// gradients.cpp
void gradients(Checks& out);

// flexible.cpp
void flexible(Checks& out);
void flexible_large(Checks& out);

}  // namespace orthant::validation
