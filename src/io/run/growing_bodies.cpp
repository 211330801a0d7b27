// SPDX-License-Identifier: Apache-2.0
// io/run/growing_bodies.cpp: growth by parameters, division by another model.
#include "io/run/growing_bodies.hpp"

#include <cmath>

#include "orthant/base/error.hpp"

namespace orthant::io {

GrowingBodies::GrowingBodies(LoadedScene& scene) : scene_(scene) {
  if (!scene.growth.any()) return;
  builder_ = scene.growth.builder;
  colours_ = scene.colours;
  const std::size_t count = scene.model.bodies().size();
  lineage_.mother.assign(count, -1);
  lineage_.born.assign(count, 0);
  lineage_.length.assign(count, 0);
  for (std::size_t i = 0; i < count; ++i) lineage_.ancestor.push_back(static_cast<std::int32_t>(i));
}

Index GrowingBodies::rule_of(std::size_t i) const {
  const BodyUid uid = scene_.model.bodies()[i].uid;
  return scene_.growth.rule_of[static_cast<std::size_t>(lineage_.ancestor[uid])];
}

double GrowingBodies::length(std::size_t i) const {
  if (rule_of(i) == kNone) return 0;
  return rod_length(scene_.model, scene_.parameters, BodyId{static_cast<Index>(i)});
}

void GrowingBodies::inherit_colours(const std::vector<std::string>& scene_colours) {
  scene_.colours.clear();
  for (const Body& body : scene_.model.bodies())
    scene_.colours.push_back(scene_colours[static_cast<std::size_t>(lineage_.ancestor[body.uid])]);
}

bool GrowingBodies::divide_ready(State& state) {
  bool divided = false;
  for (std::size_t r = 0; r < scene_.growth.rules.size(); ++r) {
    const GrowthRule& rule = scene_.growth.rules[r];
    if (!rule.divide_at) continue;
    std::vector<BodyId> ready;
    for (std::size_t i = 0; i < scene_.model.bodies().size(); ++i)
      if (rule_of(i) == static_cast<Index>(r) && length(i) >= *rule.divide_at)
        ready.push_back(BodyId{static_cast<Index>(i)});
    if (ready.empty()) continue;
    if (static_cast<Index>(scene_.model.bodies().size() + ready.size()) > scene_.growth.max_bodies)
      throw Error(rule.where, "growth has led to more than " +
                                  std::to_string(scene_.growth.max_bodies) +
                                  " bodies at t = " + to_text(state.t) + " s");
    try {
      Divided next = divide(builder_, scene_.model, scene_.parameters, state, ready, rule.division);
      scene_.model = std::move(next.model);
      scene_.parameters = std::move(next.parameters);
      state = std::move(next.state);
      for (const Division& d : next.map)
        for (const BodyUid daughter : d.daughters) {
          if (daughter != lineage_.mother.size())
            throw Error("division", "numbers of bodies have a gap");  // never: next free uids
          lineage_.mother.push_back(static_cast<std::int32_t>(d.mother));
          lineage_.ancestor.push_back(lineage_.ancestor[d.mother]);
          lineage_.born.push_back(state.step);
        }
    } catch (const Error& error) {
      throw Error(rule.where, error.what());
    }
    const auto bodies = scene_.model.bodies();
    lineage_.length.resize(lineage_.mother.size());
    for (std::size_t i = bodies.size() - 2 * ready.size(); i < bodies.size(); ++i)
      lineage_.length[bodies[i].uid] = length(i);
    divided = true;
  }
  if (divided) inherit_colours(colours_);
  return divided;
}

void GrowingBodies::grow_one_step() {
  for (std::size_t r = 0; r < scene_.growth.rules.size(); ++r) {
    const GrowthRule& rule = scene_.growth.rules[r];
    if (rule.rate == 0) continue;
    std::vector<BodyId> bodies;
    for (std::size_t i = 0; i < scene_.model.bodies().size(); ++i)
      if (rule_of(i) == static_cast<Index>(r)) bodies.push_back(BodyId{static_cast<Index>(i)});
    try {
      grow(scene_.model, bodies, std::exp(rule.rate * scene_.settings.h), scene_.parameters);
    } catch (const Error& error) {
      throw Error(rule.where, error.what());
    }
  }
}

GrownBodies GrowingBodies::bodies() const {
  GrownBodies out;
  if (!scene_.growth.any()) return out;
  out.lineage = lineage_;
  for (const Body& body : scene_.model.bodies())
    out.uids.push_back(static_cast<std::int32_t>(body.uid));
  out.parameters = scene_.parameters.values;
  return out;
}

void GrowingBodies::restore(const GrownBodies& bodies, const std::string& where) {
  const Lineage& l = bodies.lineage;
  const std::size_t count = l.mother.size(), first = lineage_.mother.size();
  bool fits = count >= first && l.ancestor.size() == count && l.born.size() == count &&
              l.length.size() == count;
  for (std::size_t i = 0; fits && i < count; ++i)
    fits = l.ancestor[i] >= 0 && static_cast<std::size_t>(l.ancestor[i]) < first &&
           (i < first) == (l.mother[i] == -1) && l.mother[i] < static_cast<std::int64_t>(i);
  std::vector<Descendant> now;
  for (const std::int32_t uid : bodies.uids) {
    fits = fits && uid >= 0 && static_cast<std::size_t>(uid) < count;
    if (!fits) break;
    const auto u = static_cast<std::size_t>(uid);
    now.push_back({static_cast<BodyUid>(uid), static_cast<Index>(l.ancestor[u]), l.length[u]});
  }
  if (!fits) throw Error(where, "its bodies do not fit the scene");
  set_descendants(builder_, now);
  scene_.model = builder_.build();
  scene_.parameters = scene_.model.default_parameters();
  if (bodies.parameters.size() != scene_.parameters.values.size())
    throw Error(where, "its parameters do not fit its bodies");
  scene_.parameters.values = bodies.parameters;
  validate(scene_.model, scene_.parameters, where);
  lineage_ = l;
  inherit_colours(colours_);
}

}  // namespace orthant::io
