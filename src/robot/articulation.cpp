// SPDX-License-Identifier: Apache-2.0
// robot/articulation.cpp: the joints of a model => a spanning tree, names and places.
// Joints are taken in model order wherever they join two parts not yet joined (Kruskal), so that a
// robot's own joints come before those that close its loops.
#include "orthant/robot/articulation.hpp"

#include <algorithm>
#include <numeric>

#include "orthant/base/error.hpp"

namespace orthant {
namespace {

std::optional<CoordinateKind> kind_of(const Joint& joint) {
  switch (joint.kind) {
    case JointKind::Weld:
      return CoordinateKind::Weld;
    case JointKind::Revolute:
      return CoordinateKind::Hinge;
    case JointKind::Prismatic:
      return CoordinateKind::Slide;
    case JointKind::Ball:
      return joint.planar ? CoordinateKind::Hinge : CoordinateKind::Ball;
    case JointKind::Planar:
      return CoordinateKind::Planar;
    default:
      return std::nullopt;
  }
}

std::pair<Index, Index> sizes(CoordinateKind kind) {
  switch (kind) {
    case CoordinateKind::Weld:
      return {0, 0};
    case CoordinateKind::Hinge:
    case CoordinateKind::Slide:
      return {1, 1};
    case CoordinateKind::Ball:
      return {4, 3};
    case CoordinateKind::Planar:
    case CoordinateKind::FreePlanar:
      return {3, 3};
    case CoordinateKind::Free:
      break;
  }
  return {7, 6};
}

/// Parts of the model that joints hold together; the last place is everything that is given.
class Parts {
 public:
  explicit Parts(std::size_t n) : up_(n) { std::iota(up_.begin(), up_.end(), std::size_t{0}); }
  std::size_t find(std::size_t i) {
    while (up_[i] != i) i = up_[i] = up_[up_[i]];
    return i;
  }
  bool join(std::size_t a, std::size_t b) {
    a = find(a);
    b = find(b);
    up_[a] = b;
    return a != b;
  }

 private:
  std::vector<std::size_t> up_;
};

}  // namespace

Articulation::Articulation(const Model& model) : model_(&model) { build({}); }

Articulation::Articulation(const Model& model, std::string_view body) : model_(&model) {
  const BodyId id = model.find_body(body);
  if (id == kWorld || !model.body(id).is_dynamic())
    throw Error("articulation", "'" + std::string(body) + "' must be a body that moves freely");
  build(body);
}

void Articulation::build(std::string_view of) {
  const Model& model = *model_;
  if (model.law() == LawOfMotion::Overdamped)
    throw Error("articulation", "an overdamped model has no joint dynamics");
  const std::size_t n = model.bodies().size();
  const auto node = [&](BodyId id) {
    return id == kWorld || !model.body(id).is_dynamic() ? n : static_cast<std::size_t>(id);
  };
  struct Edge {
    JointId joint;
    BodyId other;
    bool reversed;  // seen from `other`: the new body is B
  };
  std::vector<std::vector<Edge>> edges(n + 1);
  Parts parts(n + 1), together(n + 1);
  for (std::size_t i = 0; i < model.joints().size(); ++i) {
    const Joint& joint = model.joints()[i];
    const std::size_t a = node(joint.a), b = node(joint.b);
    // Robots on one floor are not joined by it.
    if (a != n && b != n) together.join(a, b);
    const auto id = static_cast<JointId>(i);
    if (!kind_of(joint) || !parts.join(a, b)) {
      loops_.push_back(id);
      continue;
    }
    if (index_of(joint.follow.leader) != kNone) loops_.push_back(id);
    edges[b].push_back({id, joint.a, false});
    edges[a].push_back({id, joint.b, true});
  }
  place_of_body_.assign(n, kNone);
  const std::size_t wanted =
      of.empty() ? n : together.find(static_cast<std::size_t>(model.find_body(of)));
  const auto is_part = [&](std::size_t b) { return of.empty() || together.find(b) == wanted; };

  const auto add = [&](TreeJoint j) {
    std::tie(j.q_size, j.u_size) = sizes(j.kind);
    j.q_begin = q_size_;
    j.u_begin = u_size_;
    q_size_ += j.q_size;
    u_size_ += j.u_size;
    place_of_body_[static_cast<std::size_t>(j.body)] = static_cast<Index>(joints_.size());
    joints_.push_back(std::move(j));
  };
  // Depth first, so that a branch's coordinates lie together; an explicit stack for long chains.
  const auto grow = [&](std::size_t root) {
    std::vector<std::pair<std::size_t, std::size_t>> stack = {{root, 0}};
    while (!stack.empty()) {
      auto& [at, next] = stack.back();
      if (next == edges[at].size()) {
        stack.pop_back();
        continue;
      }
      const Edge& e = edges[at][next++];
      const std::size_t to = node(e.other);
      if (to == n || place_of_body_[to] != kNone || !is_part(to)) continue;
      const Joint& joint = model.joint(e.joint);
      add({.name = joint.name,
           .kind = *kind_of(joint),
           .joint = e.joint,
           .body = e.other,
           .parent = e.reversed ? joint.a : joint.b,
           .above = at == n ? kNone : place_of_body_[at],
           .reversed = e.reversed});
      stack.emplace_back(to, 0);
    }
  };
  grow(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (!model.bodies()[i].is_dynamic() || place_of_body_[i] != kNone || !is_part(i)) continue;
    add({.name = model.bodies()[i].name,
         .kind = model.bodies()[i].planar ? CoordinateKind::FreePlanar : CoordinateKind::Free,
         .body = static_cast<BodyId>(i)});
    grow(i);
  }
  std::erase_if(loops_, [&](JointId id) {
    const Joint& joint = model.joint(id);
    const std::size_t a = node(joint.a), b = node(joint.b);
    return !is_part(a == n ? b : a) || (a == n && b == n);
  });
}

Index Articulation::find(std::string_view joint) const {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < joints_.size(); ++i) {
    if (joints_[i].name == joint) return static_cast<Index>(i);
    names.emplace_back(joints_[i].name);
  }
  const std::string near = nearest_spelling(joint, names.data(), names.size());
  throw Error("articulation", "there is no joint '" + std::string(joint) + "'" +
                                  (near.empty() ? "" : " (did you mean '" + near + "'?)"));
}

FrameRef find_frame_ref(const Model& model, std::string_view name) {
  for (const Frame& f : model.frames())
    if (f.name == name) return {f.body, f.X_BF};
  return {model.find_body(name), {}};
}

void Articulation::check(const VecX& q, const VecX* u, const VecX* a) const {
  const auto size = [](const char* what, Eigen::Index found, Index wanted) {
    if (found != wanted)
      throw Error("articulation", std::string(what) + " must have " + std::to_string(wanted) +
                                      " numbers, found " + std::to_string(found));
  };
  size("coordinates", q.size(), q_size_);
  if (u != nullptr) size("speeds", u->size(), u_size_);
  if (a != nullptr) size("accelerations or efforts", a->size(), u_size_);
  if (!q.allFinite() || (u != nullptr && !u->allFinite()) || (a != nullptr && !a->allFinite()))
    throw Error("articulation", "coordinates, speeds and accelerations must be finite");
}

}  // namespace orthant
