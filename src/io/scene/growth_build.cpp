// SPDX-License-Identifier: Apache-2.0
// io/scene/growth_build.cpp: growth rules of a scene => which bodies grow, checked to the run's
// end. What would go wrong in the middle of a run (a rod that shrinks to nothing, one that cannot
// divide, more bodies than memory) is said here, with the place in the file.
#include <algorithm>
#include <cmath>

#include "io/scene/scene_reader.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

/// Members of a population are called by its name and their number.
bool is_member(const std::string& body, const std::string& population) {
  return body.size() > population.size() && body.starts_with(population) &&
         body.find_first_not_of("0123456789", population.size()) == std::string::npos;
}

bool is_moving_rod(const Model& model, const Body& body) {
  return body.is_dynamic() && body.shape_end - body.shape_begin == 1 &&
         model.shapes()[static_cast<std::size_t>(body.shape_begin)].shape.kind() ==
             ShapeKind::Capsule;
}

std::vector<BodyId> bodies_of(const GrowthDescription& rule, const SceneDescription& scene,
                              const Model& model) {
  std::vector<BodyId> out;
  const auto bodies = model.bodies();
  const auto add = [&](std::size_t i) { out.push_back(BodyId{static_cast<Index>(i)}); };
  if (rule.bodies.empty()) {
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (is_moving_rod(model, bodies[i])) add(i);
    if (out.empty()) throw Error(rule.where.text(), "there is no rod that moves");
    return out;
  }
  for (const std::string& name : rule.bodies) {
    const std::size_t before = out.size();
    const bool population =
        std::any_of(scene.populations.begin(), scene.populations.end(),
                    [&](const PopulationDescription& p) { return p.name == name; });
    for (std::size_t i = 0; i < bodies.size(); ++i)
      if (bodies[i].name == name || (population && is_member(bodies[i].name, name))) add(i);
    if (out.size() > before) continue;
    std::vector<std::string_view> known;
    for (const Body& body : bodies) known.push_back(body.name);
    for (const PopulationDescription& p : scene.populations) known.push_back(p.name);
    const std::string near = nearest_spelling(name, known.data(), known.size());
    throw Error(rule.where.text(), "there is no body or population '" + name + "'" +
                                       (near.empty() ? "" : " (did you mean '" + near + "'?)"));
  }
  return out;
}

/// How many rods a rod of length l becomes within `exponent` = rate x time.
double descendants(double length, double divide_at, double exponent) {
  const double doublings =
      std::floor((exponent + std::log(length / divide_at)) / std::log(2.0)) + 1;
  return std::exp2(std::clamp(doublings, 0.0, 1000.0));
}

}  // namespace

Growth make_growth(const SceneDescription& scene, const ModelBuilder& builder, const Model& model,
                   const Parameters& parameters, const State& state, double end_time,
                   Index max_bodies) {
  Growth growth;
  if (scene.growth.empty()) return growth;
  growth.builder = builder;
  growth.max_bodies = max_bodies;
  growth.rule_of.assign(model.bodies().size(), kNone);
  double total = static_cast<double>(model.bodies().size());
  for (std::size_t r = 0; r < scene.growth.size(); ++r) {
    const GrowthDescription& d = scene.growth[r];
    const std::string where = d.where.text();
    const std::vector<BodyId> bodies = bodies_of(d, scene, model);
    Parameters grown = parameters;
    try {
      grow(model, bodies, 1.0, grown);  // are they rods?
      for (const BodyId id : bodies) {
        const std::string& name = model.body(id).name;
        Index& rule = growth.rule_of[static_cast<std::size_t>(id)];
        if (rule != kNone) throw Error("body '" + name + "'", "grows by two rules");
        rule = static_cast<Index>(r);
        const Body& body = model.body(id);
        const double length = rod_length(model, parameters, id);
        const double width =
            2 *
            parameters
                .values[model.shapes()[static_cast<std::size_t>(body.shape_begin)].parameter_begin];
        if (d.rate < 0 && !(length * std::exp(d.rate * end_time) > width))
          throw Error("body '" + name + "'",
                      "would shrink to nothing: at " + to_text(std::log(width / length) / d.rate) +
                          " s of " + to_text(end_time) + " s it is no longer than wide, " +
                          to_text(width) + " m");
        if (!d.divide_at) {
          if (!std::isfinite(length * std::exp(d.rate * end_time)))
            throw Error("body '" + name + "'",
                        "would grow beyond all numbers by the end of the run");
          continue;
        }
        if (!(*d.divide_at > 2 * width))
          throw Error("body '" + name + "'",
                      "'divide_at' must be more than twice its width, " + to_text(2 * width) +
                          " m, for daughters longer than wide; found " + to_text(*d.divide_at));
        total += descendants(length, *d.divide_at, d.rate * end_time) - 1;
        const BodyId one[] = {id};
        grow(model, one, *d.divide_at / length, grown);
      }
      if (total > max_bodies)
        throw Error("growth", "leads to more than " + std::to_string(max_bodies) +
                                  " bodies by the end of the run, " + to_text(end_time) + " s");
      if (d.divide_at) {  // does anything but contact hold them?
        ModelBuilder copy = builder;
        (void)divide(copy, model, grown, state, bodies);
      }
    } catch (const Error& error) {
      throw Error(where, error.what());
    }
    growth.rules.push_back({d.rate,
                            d.divide_at,
                            {.jitter = d.jitter, .key = static_cast<std::uint64_t>(d.seed)},
                            where});
  }
  return growth;
}

}  // namespace orthant::io
