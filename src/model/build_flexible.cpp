// SPDX-License-Identifier: Apache-2.0
// model/build_flexible.cpp: FlexibleSpec => nodes in q and v, rest gradients, pattern of H,
// surface. Velocities: bodies, free nodes, kinematic bodies, driven nodes. So the unknowns of the
// canonical problem stay the head of State::v, and what is prescribed its tail.
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/build.hpp"
#include "model/rules.hpp"
#include "orthant/base/error.hpp"

namespace orthant {
namespace {

using internal::need_finite;

enum NodeMotion : Index { kFree = 0, kFixed = 1, kDriven = 2 };

Quat unit_quaternion(const std::string& where, const Quat& p) {
  const double n = std::sqrt(p.w * p.w + p.x * p.x + p.y * p.y + p.z * p.z);
  if (!(std::abs(n - 1) <= 1e-6)) internal::refuse(where, "|orientation|", "1", n);
  return normalized(p);
}

/// Gradients of the shape functions and the volume of one element => rest.
template <int D>
void rest_shape(const std::array<Index, 4>& e, const std::vector<Vec3>& x, double* rest) {
  Eigen::Matrix<double, D, D> edges;  // columns x_a − x_0
  for (int a = 0; a < D; ++a)
    edges.col(a) = (x[static_cast<std::size_t>(e[static_cast<std::size_t>(a) + 1])] -
                    x[static_cast<std::size_t>(e[0])])
                       .template head<D>();
  const Eigen::Matrix<double, D, D> inverse = edges.inverse();  // row a: gradient of corner a + 1
  for (int j = 0; j < D; ++j) {
    rest[j] = 0;
    for (int a = 0; a < D; ++a) {
      rest[(a + 1) * D + j] = inverse(a, j);
      rest[j] -= inverse(a, j);
    }
  }
  rest[(D + 1) * D] = edges.determinant() / (D == 3 ? 6 : 2);
}

void check_nodes(const std::string& where, const char* list, const std::vector<Index>& nodes,
                 Index count) {
  for (const Index node : nodes)
    if (node < 0 || node >= count)
      internal::refuse(where, std::string("a node of `") + list + "`",
                       "in 0 … " + std::to_string(count - 1), static_cast<double>(node));
}

/// Which free nodes share an element, column by column, and where each element's pairs go.
void find_pattern(const std::vector<Index>& number, FlexiblePart& part) {
  const std::size_t corners = static_cast<std::size_t>(part.corner_count());
  const std::size_t count = part.free_nodes.size();
  std::vector<std::vector<Index>> rows(count);
  for (const auto& e : part.elements)
    for (std::size_t b = 0; b < corners; ++b) {
      const Index column = number[static_cast<std::size_t>(e[b])];
      if (column < 0) continue;
      for (std::size_t a = 0; a < corners; ++a) {
        const Index row = number[static_cast<std::size_t>(e[a])];
        if (row >= 0) rows[static_cast<std::size_t>(column)].push_back(row);
      }
    }
  part.neighbour_begin.assign(1, 0);
  for (std::vector<Index>& list : rows) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    part.neighbour.insert(part.neighbour.end(), list.begin(), list.end());
    part.neighbour_begin.push_back(static_cast<Index>(part.neighbour.size()));
  }
  part.slot.reserve(part.elements.size() * corners * corners);
  for (const auto& e : part.elements)
    for (std::size_t a = 0; a < corners; ++a)
      for (std::size_t b = 0; b < corners; ++b) {
        const Index row = number[static_cast<std::size_t>(e[a])];
        const Index column = number[static_cast<std::size_t>(e[b])];
        if (row < 0 || column < 0) {
          part.slot.push_back(-1);
          continue;
        }
        const auto& list = rows[static_cast<std::size_t>(column)];
        part.slot.push_back(
            part.neighbour_begin[static_cast<std::size_t>(column)] +
            static_cast<Index>(std::lower_bound(list.begin(), list.end(), row) - list.begin()));
      }
}

/// Halves the faces at the median along the longest side of their centres' box, down to four.
void build_tree(const std::vector<Vec3>& x, FlexiblePart& part) {
  const std::size_t corners = static_cast<std::size_t>(part.dim);
  std::vector<Vec3> centre;
  for (const auto& face : part.faces) {
    Vec3 sum = Vec3::Zero();
    for (std::size_t c = 0; c < corners; ++c) sum += x[static_cast<std::size_t>(face[c])];
    centre.push_back(sum / part.dim);
  }
  part.tree_faces.resize(part.faces.size());
  std::iota(part.tree_faces.begin(), part.tree_faces.end(), 0);
  part.tree.push_back({-1, -1, 0, static_cast<Index>(part.faces.size())});
  for (std::size_t i = 0; i < part.tree.size(); ++i) {  // grows while it is walked
    const Index begin = part.tree[i].begin, end = part.tree[i].end;
    if (end - begin <= 4) continue;
    const auto first = part.tree_faces.begin() + begin, last = part.tree_faces.begin() + end;
    Vec3 lo = centre[static_cast<std::size_t>(*first)], hi = lo;
    for (auto it = first; it != last; ++it) {
      lo = lo.cwiseMin(centre[static_cast<std::size_t>(*it)]);
      hi = hi.cwiseMax(centre[static_cast<std::size_t>(*it)]);
    }
    int axis = 0;
    (hi - lo).maxCoeff(&axis);
    std::sort(first, last, [&](Index a, Index b) {
      const double u = centre[static_cast<std::size_t>(a)][axis];
      const double w = centre[static_cast<std::size_t>(b)][axis];
      return u != w ? u < w : a < b;
    });
    const Index middle = begin + (end - begin) / 2;
    part.tree[i].left = static_cast<Index>(part.tree.size());
    part.tree[i].right = part.tree[i].left + 1;
    part.tree.push_back({-1, -1, begin, middle});
    part.tree.push_back({-1, -1, middle, end});
  }
}

void find_surface(const Mesh& mesh, const std::vector<Vec3>& x, FlexiblePart& part) {
  part.faces = surface_faces(mesh);
  const std::size_t corners = static_cast<std::size_t>(part.dim);
  double length = 0;
  for (const auto& face : part.faces)
    for (std::size_t c = 0; c < corners; ++c) {
      part.surface_nodes.push_back(face[c]);
      length += (x[static_cast<std::size_t>(face[c])] -
                 x[static_cast<std::size_t>(face[(c + 1) % corners])])
                    .norm();
    }
  part.edge_length = length / static_cast<double>(corners * part.faces.size());
  std::sort(part.surface_nodes.begin(), part.surface_nodes.end());
  part.surface_nodes.erase(std::unique(part.surface_nodes.begin(), part.surface_nodes.end()),
                           part.surface_nodes.end());
  build_tree(x, part);
}

}  // namespace

void ModelBuilder::Build::place_nodes(const FlexibleSpec& s, FlexiblePart& part,
                                      std::vector<double>& q) {
  const std::string where = say("flexible part", part.name);
  check_mesh(s.mesh, where);
  need_finite(where, "position", s.position);
  need_finite(where, "velocity", s.velocity);
  need_finite(where, "driven_velocity", s.driven_velocity);
  const Quat p = unit_quaternion(where, s.orientation);
  part.dim = s.mesh.dim;
  if (part.dim == 2 && (s.position[2] != 0 || p.x != 0 || p.y != 0 || s.velocity[2] != 0))
    throw Error(where, "a planar part must stay in the plane: z = 0, turn about z");
  std::vector<Vec3> x;
  x.reserve(s.mesh.nodes.size());
  for (const Vec3& node : s.mesh.nodes) x.push_back(s.position + rotate(p, node));

  part.q_begin = static_cast<Index>(q.size());
  part.node_count = s.mesh.node_count();
  part.elements = s.mesh.elements;
  for (const Vec3& node : x)
    for (int a = 0; a < part.dim; ++a) q.push_back(node[a]);
  part.rest.resize(part.elements.size() * static_cast<std::size_t>(part.rest_size()));
  part.node_volume.assign(x.size(), 0.0);
  for (std::size_t e = 0; e < part.elements.size(); ++e) {
    double* rest = part.rest.data() + e * static_cast<std::size_t>(part.rest_size());
    if (part.dim == 3) {
      rest_shape<3>(part.elements[e], x, rest);
    } else {
      rest_shape<2>(part.elements[e], x, rest);
    }
    const double share = rest[part.rest_size() - 1] / part.corner_count();
    for (int a = 0; a < part.corner_count(); ++a)
      part.node_volume[static_cast<std::size_t>(part.elements[e][static_cast<std::size_t>(a)])] +=
          share;
  }
  find_surface(s.mesh, x, part);
}

void ModelBuilder::Build::attach(const FlexibleSpec& s, Index place) {
  FlexiblePart& part = m.flexible_parts_[static_cast<std::size_t>(place)];
  const std::string where = say("flexible part", part.name);
  // `block` holds the NodeMotion of each node until number_velocities() replaces it.
  part.block.assign(static_cast<std::size_t>(part.node_count), kFree);
  check_nodes(where, "fixed", s.fixed, part.node_count);
  check_nodes(where, "driven", s.driven, part.node_count);
  for (const Index node : s.driven) part.block[static_cast<std::size_t>(node)] = kDriven;
  for (const Index node : s.fixed) {
    if (part.block[static_cast<std::size_t>(node)] == kDriven)
      internal::refuse(where, "a node", "fixed or driven, not both", static_cast<double>(node));
    part.block[static_cast<std::size_t>(node)] = kFixed;
  }
  std::vector<char> taken(static_cast<std::size_t>(part.node_count), 0);
  for (const AttachmentSpec& a : s.attachments) {
    check_nodes(where, "attachments", a.nodes, part.node_count);
    const BodyId id = find(a.body, where);
    if (id != kWorld && m.body(id).planar != (part.dim == 2))
      throw Error(where, "planar and spatial do not mix: attached to '" + a.body + "'");
    const bool still = id == kWorld || m.body(id).motion == Motion::Fixed;
    if (id != kWorld) m.attached_.emplace_back(part.uid, id);
    for (const Index node : a.nodes) {
      char& seen = taken[static_cast<std::size_t>(node)];
      Index& motion = part.block[static_cast<std::size_t>(node)];
      if (seen != 0 || motion != kFree)
        internal::refuse(where, "an attached node", "free and attached once",
                         static_cast<double>(node));
      seen = 1;
      if (still) {
        motion = kFixed;
        continue;
      }
      const Pose X = pose(id);
      const Vec3 offset = node_position(part, m.initial_.q, node) - X.x;
      m.ties_.push_back({place, node, id, rotate(conjugate(X.p), offset)});
      m.tie_row_count_ += part.dim;
    }
  }
}

void ModelBuilder::Build::number_velocities() {
  // Free nodes come between dynamic and kinematic bodies: move the latter.
  const Index bodies_v = m.dynamic_v_size_, kinematic_v = m.v_size_ - bodies_v;
  Index free_v = 0, driven_v = 0;
  for (const FlexiblePart& part : m.flexible_parts_)
    for (const Index motion : part.block) {
      free_v += motion == kFree ? part.dim : 0;
      driven_v += motion == kDriven ? part.dim : 0;
    }
  for (Body& body : m.bodies_)
    if (body.v_begin != kNone && !body.is_dynamic()) body.v_begin += free_v;
  VecX v = VecX::Zero(bodies_v + free_v + kinematic_v + driven_v);
  v.head(bodies_v) = m.initial_.v.head(bodies_v);
  v.segment(bodies_v + free_v, kinematic_v) = m.initial_.v.tail(kinematic_v);
  Index next_free = bodies_v, next_driven = bodies_v + free_v + kinematic_v;
  Index block = static_cast<Index>(m.dynamic_bodies_.size());
  for (std::size_t p = 0; p < m.flexible_parts_.size(); ++p) {
    FlexiblePart& part = m.flexible_parts_[p];
    const FlexibleSpec& s = specs.flexible[p];
    std::vector<Index> number(static_cast<std::size_t>(part.node_count), -1);
    part.v_begin.assign(static_cast<std::size_t>(part.node_count), -1);
    for (Index i = 0; i < part.node_count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const Index motion = part.block[at];
      part.block[at] = -1;
      if (motion == kFixed) continue;
      Index& next = motion == kFree ? next_free : next_driven;
      const Vec3& speed = motion == kFree ? s.velocity : s.driven_velocity;
      part.v_begin[at] = next;
      for (int a = 0; a < part.dim; ++a) v[next + a] = speed[a];
      next += part.dim;
      if (motion == kDriven) continue;
      part.block[at] = block++;
      number[at] = static_cast<Index>(part.free_nodes.size());
      part.free_nodes.push_back(i);
    }
    find_pattern(number, part);
  }
  m.free_node_count_ = block - static_cast<Index>(m.dynamic_bodies_.size());
  m.dynamic_v_size_ = bodies_v + free_v;
  m.v_size_ = static_cast<Index>(v.size());
  m.initial_.v = v;
}

void ModelBuilder::Build::flexible() {
  if (specs.flexible.empty()) return;
  if (specs.law == LawOfMotion::Overdamped)
    throw Error("flexible parts", "need the inertial law of motion");
  const Fields names = shared_fields("fe", {{"young", "Pa"},
                                            {"poisson", ""},
                                            {"density", "kg/m^3"},
                                            {"damping_mass", "1/s"},
                                            {"damping_stiffness", "s"}});
  std::vector<double> q(m.initial_.q.data(), m.initial_.q.data() + m.q_size_);
  Index nodes = 0;
  for (std::size_t n = 0; n < specs.flexible.size(); ++n) {
    const FlexibleSpec& s = specs.flexible[n];
    FlexiblePart part;
    part.name = s.name.empty() ? "part" + std::to_string(n) : s.name;
    part.uid = kFirstPartUid + static_cast<BodyUid>(n);
    const std::string where = say("flexible part", part.name);
    internal::need_elastic(where, s.young, s.poisson, s.density, s.damping_mass,
                           s.damping_stiffness);
    place_nodes(s, part, q);
    part.node_begin = nodes;
    nodes += part.node_count;
    part.consistent_mass = s.consistent_mass;
    part.plane_strain = s.plane_strain;
    const double values[] = {s.young, s.poisson, s.density, s.damping_mass, s.damping_stiffness};
    part.young = table->add("fe/" + part.name, names, values);
    part.poisson = part.young + 1;
    part.density = part.young + 2;
    part.damping_mass = part.young + 3;
    part.damping_stiffness = part.young + 4;
    part.contact = s.contact;
    part.group = s.group;
    part.mask = s.mask;
    part.material = surface_material(s.material, where);
    for (const ShapeInstance& shape : m.shapes_)
      if (s.contact && shape.shape.dim() != part.dim && (shape.group & s.mask) != 0 &&
          (s.group & shape.mask) != 0)
        throw Error(where, "planar and spatial do not touch: keep it apart from shape '" +
                               shape.name + "' by group and mask");
    m.planar_ = (m.planar_ || (m.bodies_.empty() && n == 0)) && part.dim == 2;
    m.flexible_parts_.push_back(std::move(part));
  }
  m.q_size_ = static_cast<Index>(q.size());
  m.initial_.q = Eigen::Map<const VecX>(q.data(), m.q_size_);
  for (std::size_t n = 0; n < specs.flexible.size(); ++n)
    attach(specs.flexible[n], static_cast<Index>(n));
  std::sort(m.attached_.begin(), m.attached_.end());
  number_velocities();
}

void ModelBuilder::Build::node_forces() {
  for (const NodeForceSpec& s : specs.node_forces) {
    NodeForce f;
    f.name = s.name.empty() ? "node_force" + std::to_string(m.node_forces_.size()) : s.name;
    const std::string where = say("force", f.name);
    try {
      f.part = m.find_part(s.part);
    } catch (const Error& error) {
      throw Error(where, error.what());
    }
    const FlexiblePart& part = m.flexible_parts_[static_cast<std::size_t>(f.part)];
    if (s.nodes.empty()) throw Error(where, "a force on nodes needs at least one node");
    check_nodes(where, "nodes", s.nodes, part.node_count);
    need_finite(where, "force", s.force);
    if (part.dim == 2 && s.force[2] != 0)
      internal::refuse(where, "z of a force on a planar part", "0", s.force[2]);
    f.nodes = s.nodes;
    std::vector<ParameterField> names{{"force.x", "N"}, {"force.y", "N"}};
    if (part.dim == 3) names.push_back({"force.z", "N"});
    const double values[] = {s.force[0], s.force[1], s.force[2]};
    f.parameter_begin = table->add(
        "force/" + f.name, shared_fields(part.dim == 3 ? "node/3" : "node/2", names), values);
    m.node_forces_.push_back(std::move(f));
  }
}

}  // namespace orthant
