// SPDX-License-Identifier: Apache-2.0
// scenes/registry.cpp: name => scene.
#include "orthant/base/error.hpp"
#include "scenes/scenes.hpp"

namespace orthant::scenes {

namespace {

constexpr SceneEntry kScenes[] = {
    {"drop", "a tilted box falls", [] { return drop(); }},
    {"stack", "ten cubes", [] { return stack(); }},
    {"pyramid", "a wall of boxes", [] { return pyramid(); }},
    {"card_house", "three levels of cards", [] { return card_house(); }},
    {"arch", "fifteen stones", [] { return arch(); }},
    {"dominoes", "twenty tiles", [] { return dominoes(); }},
    {"mass_ratio_stack", "eight spheres, each ten times heavier than the one below",
     [] { return mass_ratio_stack(); }},
    {"incline", "a block on a slope", [] { return incline(); }},
    {"thrown_block", "a block slides to rest", [] { return thrown_block(); }},
    {"rolling_sphere", "a sphere rolls down", [] { return rolling_sphere(); }},
    {"painleve_rod", "a rod dragged over a rough floor", [] { return painleve_rod(); }},
    {"bouncing_ball", "a ball dropped from 1 m", [] { return bouncing_ball(); }},
    {"newtons_cradle", "five balls in a row", [] { return newtons_cradle(); }},
    {"billiards", "the break", [] { return billiards(); }},
    {"two_spheres", "an impact off centre", [] { return two_spheres(); }},
    {"elastic_gas", "elastic discs in a box", [] { return elastic_gas(); }},
    {"spheres_in_a_box", "500 spheres fall into a box", [] { return spheres_in_a_box(); }},
    {"planar_discs", "twenty discs on a floor", [] { return planar_discs(); }},
    {"chain", "ten links, released horizontally", [] { return chain(); }},
    {"pendulum", "a rod on a pin", [] { return pendulum(); }},
    {"slider_crank", "crank, rod and piston", [] { return slider_crank(); }},
    {"four_bar", "a closed loop of hinges", [] { return four_bar(); }},
    {"spinning_t", "a tumbling T-handle", [] { return spinning_t(); }},
};

}  // namespace

std::span<const SceneEntry> registry() { return kScenes; }

Scene make_scene(std::string_view name) {
  std::vector<std::string_view> names;
  for (const SceneEntry& entry : kScenes) {
    if (entry.name == name) return entry.make();
    names.push_back(entry.name);
  }
  const std::string near = nearest_spelling(name, names.data(), names.size());
  throw Error("scene '" + std::string(name) + "'",
              near.empty() ? "there is none of this name"
                           : "there is none of this name (did you mean '" + near + "'?)");
}

}  // namespace orthant::scenes
