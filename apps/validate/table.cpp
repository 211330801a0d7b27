// SPDX-License-Identifier: Apache-2.0
// validate/table.cpp: the groups in one table, and what runs and writes them.
#include <array>
#include <cmath>

#include "orthant/base/error.hpp"
#include "validate/gradients.hpp"
#include "validate/validate.hpp"

namespace orthant::validation {
namespace {

constexpr std::array kGroups = {
    Group{"projectile", "a thrown ball follows its parabola", projectile},
    Group{"spinning_body", "a free T-handle keeps energy and angular momentum", spinning_body},
    Group{"incline",
          "a block on a slope rests below the friction angle, slides by g(sin a - mu cos a) above",
          incline},
    Group{"thrown_block", "a block thrown along the floor brakes by mu g, straight, at any heading",
          thrown_block},
    Group{"rolling_sphere", "a sphere rolls down a slope with 5/7 g sin a", rolling_sphere},
    Group{"bouncing_ball", "every bounce reaches restitution squared of the height before",
          bouncing_ball},
    Group{"two_balls", "an elastic impact exchanges velocities by the closed form", two_balls},
    Group{"cradle", "as many balls leave Newton's cradle as arrive", cradle},
    Group{"elastic_gas", "elastic balls in a box keep their energy", elastic_gas},
    Group{"tunnelling", "a fast ball does not pass a thin wall", tunnelling},
    Group{"painleve_rod", "a rod that slides in Painleve's paradox neither fails nor sinks",
          painleve_rod},
    Group{"cube_stack", "50 cubes stand, closed or with gaps, 1 kg or 1000 kg each", cube_stack},
    Group{"card_house", "a card house of three levels stands", card_house},
    Group{"arch", "an arch of 15 stones stands without mortar", arch},
    Group{"mass_ratio", "spheres stacked with the heavy ones on top do not sink", mass_ratio},
    Group{"pendulum", "a pendulum swings with the period of the elliptic integral", pendulum},
    Group{"chain_drift", "a swinging chain of 50 links stays joined", chain_drift},
    Group{"chain_energy", "a swinging chain keeps its energy with rattle", chain_energy},
    Group{"flexible",
          "flexible parts: patch test, rotation, momentum, beam and bar theory, Hertz, friction "
          "angle",
          flexible},
    Group{"flexible_large", "a cantilever under a large load takes the shape of the elastica",
          flexible_large},
    Group{"four_bar", "a closed loop with redundant joints runs", four_bar},
    Group{"gradients", "gradients of rollouts equal differences, by every input", gradients},
    Group{"gradients_long",
          "1000 steps of 100 bodies differentiated with checkpoints; rods through the recursion",
          gradients_long},
};

}  // namespace

std::span<const Group> groups() { return kGroups; }

Checks run(const std::vector<std::string>& names,
           const std::function<void(const Group&, std::span<const Check>)>& done) {
  std::vector<std::string_view> known;
  known.reserve(kGroups.size());
  for (const Group& group : kGroups) known.push_back(group.name);
  std::vector<bool> wanted(kGroups.size(), names.empty());
  for (const std::string& name : names) {
    std::size_t i = 0;
    while (i < known.size() && known[i] != name) ++i;
    if (i == known.size()) {
      const std::string near = nearest_spelling(name, known.data(), known.size());
      std::string allowed;
      for (const std::string_view k : known)
        allowed += (allowed.empty() ? "" : ", ") + std::string(k);
      throw Error("validate", "unknown check '" + name + "'" +
                                  (near.empty() ? "" : " (did you mean '" + near + "'?)") +
                                  "; allowed: " + allowed);
    }
    wanted[i] = true;
  }
  Checks all;
  for (std::size_t i = 0; i < kGroups.size(); ++i) {
    if (!wanted[i]) continue;
    const std::size_t begin = all.size();
    kGroups[i].run(all);
    if (done) done(kGroups[i], std::span<const Check>(all).subspan(begin));
  }
  return all;
}

std::string to_json(std::span<const Check> checks) {
  std::string text = "[";
  for (const Check& check : checks) {
    // Names and units are our own and need no escaping; JSON has no NaN.
    text += text.size() > 1 ? ",\n " : "\n ";
    text += R"({"name": ")" + check.name + R"(", "measured": )";
    text += std::isfinite(check.measured) ? to_text(check.measured) : "null";
    text += R"(, "bound": )" + to_text(check.bound) + R"(, "unit": ")" + check.unit;
    text += check.pass() ? R"(", "pass": true})" : R"(", "pass": false})";
  }
  return text + "\n]\n";
}

}  // namespace orthant::validation
