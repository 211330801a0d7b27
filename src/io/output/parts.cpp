// SPDX-License-Identifier: Apache-2.0
// io/output/parts.cpp: q of a frame from its nodes => stress of the elements.
#include "io/output/parts.hpp"

#include "orthant/base/error.hpp"
#include "orthant/force/flexible.hpp"
#include "orthant/io/run.hpp"

namespace orthant::io {

PartFrames::PartFrames(const Trajectory& trajectory, const std::string& run)
    : trajectory_(trajectory) {
  if (trajectory.parts.empty()) return;
  scene_.push_back(scene_of_run(run));
  const std::span<const FlexiblePart> parts = scene_[0].model.flexible_parts();
  bool same = parts.size() == trajectory.parts.size();
  for (std::size_t p = 0; same && p < parts.size(); ++p)
    same = parts[p].node_count == trajectory.part_begin[p + 1] - trajectory.part_begin[p];
  if (!same) throw Error(run, "scene.yaml does not have the flexible parts of the trajectory");
  q_ = scene_[0].state.q;
}

const FlexiblePart& PartFrames::part(std::size_t p) const {
  return scene_[0].model.flexible_parts()[p];
}

const double* PartFrames::nodes(std::size_t frame, std::size_t p) const {
  const auto all = static_cast<std::size_t>(trajectory_.node_count());
  return trajectory_.node.data() +
         3 * (frame * all + static_cast<std::size_t>(trajectory_.part_begin[p]));
}

Vec3 PartFrames::displacement(std::size_t frame, std::size_t p, Index node) const {
  const double* x = nodes(frame, p) + 3 * node;
  return Vec3(x[0], x[1], x[2]) - node_position(part(p), scene_[0].state.q, node);
}

std::vector<double> PartFrames::stress(std::size_t frame, std::size_t p) {
  const FlexiblePart& of = part(p);
  const double* x = nodes(frame, p);
  for (Index i = 0; i < of.node_count; ++i)
    for (Index c = 0; c < of.dim; ++c) q_[of.q_begin + of.dim * i + c] = x[3 * i + c];
  return element_stress_norms(scene_[0].model, scene_[0].parameters, q_, static_cast<Index>(p));
}

std::vector<double> PartFrames::node_stress(std::size_t frame, std::size_t p) {
  const FlexiblePart& of = part(p);
  const std::vector<double> elements = stress(frame, p);
  std::vector<double> sum(static_cast<std::size_t>(of.node_count)), weight(sum.size());
  for (std::size_t e = 0; e < elements.size(); ++e) {
    const double volume = of.rest[(e + 1) * static_cast<std::size_t>(of.rest_size()) - 1];
    for (Index c = 0; c < of.corner_count(); ++c) {
      const auto node = static_cast<std::size_t>(of.elements[e][static_cast<std::size_t>(c)]);
      sum[node] += volume * elements[e];
      weight[node] += volume;
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] /= weight[i];
  return sum;
}

}  // namespace orthant::io
