// SPDX-License-Identifier: Apache-2.0
// model/flexible.hpp: flexible parts of a model: nodes, elements, surface, and where their numbers
// lie in State and Parameters.
// A node is a velocity block of its own (3 numbers, 2 in the plane), after all bodies. Nodes that
// are fixed have none; driven nodes move with the velocity found in State::v, like a kinematic
// body; attached nodes are tied to a body by bilateral rows.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/base/ids.hpp"
#include "orthant/math/pose_kernel.hpp"
#include "orthant/math/types.hpp"
#include "orthant/model/mesh.hpp"

namespace ORTHANT_EXPORT orthant {

/// Uids of parts start here, those of bodies stay below: in a contact key the body comes first, and
/// a part keeps its uid when bodies come and go.
inline constexpr BodyUid kFirstPartUid = BodyUid{1} << 31;

/// Nodes of a part that move with a body as built.
struct AttachmentSpec {
  std::string body = {};  ///< "world": fixed
  std::vector<Index> nodes = {};
};

struct FlexibleSpec {
  std::string name = {};  ///< empty: "part<number>"
  Mesh mesh = {};
  double young = 1e6;            ///< E [Pa]; a planar part has unit thickness
  double poisson = 0.3;          ///< ν in (−1, 0.5)
  double density = 1000;         ///< [kg/m³], planar [kg/m²]
  double damping_mass = 0;       ///< α of Rayleigh's α M + β K [1/s]
  double damping_stiffness = 0;  ///< β [s]
  bool consistent_mass = false;  ///< default: lumped
  bool plane_strain = false;     ///< planar parts; default: plane stress
  Vec3 position = Vec3::Zero();  ///< of the mesh frame [m]
  Quat orientation = {};         ///< of the mesh frame
  Vec3 velocity = Vec3::Zero();  ///< of all nodes at the start [m/s]
  std::vector<Index> fixed = {};
  std::vector<Index> driven = {};  ///< velocity from State::v, at the start `driven_velocity`
  Vec3 driven_velocity = Vec3::Zero();
  std::vector<AttachmentSpec> attachments = {};
  bool contact = true;        ///< the surface touches other things
  std::string material = {};  ///< of the surface; empty: "default"
  std::uint32_t group = 1, mask = ~std::uint32_t{0};
};

/// A dead load spread evenly over nodes of a part.
struct NodeForceSpec {
  std::string name = {}, part = {};
  std::vector<Index> nodes = {};
  Vec3 force = Vec3::Zero();  ///< total [N]
};

/// A flexible part. Node and element numbers are those of its mesh.
struct FlexiblePart {
  std::string name;
  BodyUid uid = 0;  ///< kFirstPartUid and up
  int dim = 3;
  bool consistent_mass = false, plane_strain = false;
  Index young = 0, poisson = 0, density = 0;      ///< parameters
  Index damping_mass = 0, damping_stiffness = 0;  ///< parameters
  Index q_begin = 0;                              ///< node i: q[q_begin + dim i …)
  Index node_begin = 0;  ///< of its first node among all nodes of the model
  Index node_count = 0;
  std::vector<Index> v_begin;  ///< by node: place in State::v; −1: fixed
  std::vector<Index> block;    ///< by node: velocity block of H; −1: fixed or driven
  std::vector<std::array<Index, 4>> elements;
  /// Shape functions at rest: (dim + 1) × dim gradients, then the volume, element by element.
  std::vector<double> rest;
  std::vector<double> node_volume;  ///< share of each node in the volume [m³, m²]
  double edge_length = 0;           ///< mean over the surface [m]

  // Pattern of H among its free nodes: column block b (free node number) holds the row blocks
  // neighbour[neighbour_begin[b] …), ascending, and `slot` says where each element's pair goes.
  std::vector<Index> free_nodes;  ///< node of each free number
  std::vector<Index> neighbour_begin, neighbour;
  std::vector<Index> slot;  ///< by element, (dim+1)² places (row a, column b) in `neighbour`; −1

  // Surface.
  bool contact = true;
  MaterialId material{};
  std::uint32_t group = 1, mask = ~std::uint32_t{0};
  std::vector<std::array<Index, 3>> faces;  ///< outward; in the plane sides, third place −1
  std::vector<Index> surface_nodes;         ///< ascending
  /// Tree over the faces: inner nodes point at two children behind them, leaves own
  /// tree_faces[begin … end). Only its boxes change from step to step.
  struct TreeNode {
    Index left = -1, right = -1;
    Index begin = 0, end = 0;
  };
  std::vector<TreeNode> tree;
  std::vector<Index> tree_faces;

  Index corner_count() const { return dim + 1; }
  Index rest_size() const { return (dim + 1) * dim + 1; }
  Index element_count() const { return static_cast<Index>(elements.size()); }
};

/// Node `node` of part `part` keeps its place in the frame of a body.
struct Tie {
  Index part = 0, node = 0;
  BodyId body{};
  Vec3 point = Vec3::Zero();  ///< in the body's frame [m]
};

struct NodeForce {
  std::string name;
  Index part = 0;
  std::vector<Index> nodes;
  Index parameter_begin = 0;  ///< x, y, z; planar x, y: the total [N]
};

/// Position of a node; z = 0 in the plane.
inline Vec3 node_position(const FlexiblePart& part, const VecX& q, Index node) {
  const double* x = q.data() + part.q_begin + part.dim * node;
  return {x[0], x[1], part.dim == 3 ? x[2] : 0.0};
}
/// Velocity of a node in a vector laid out as State::v, zero where it is fixed. A vector of the
/// dynamic velocities alone has none for driven nodes: zero too.
inline Vec3 node_velocity(const FlexiblePart& part, const VecX& v, Index node) {
  const Index at = part.v_begin[static_cast<std::size_t>(node)];
  if (at < 0 || at + part.dim > v.size()) return Vec3::Zero();
  return {v[at], v[at + 1], part.dim == 3 ? v[at + 2] : 0.0};
}

}  // namespace orthant
