// SPDX-License-Identifier: Apache-2.0
// robot/articulation.hpp: joint coordinates as a view of a Model whose state is its bodies.
//   q, u: coordinates and speeds of a spanning tree of the joints; the bodies follow from them
//   tau = M(q) a + bias(q, u)       what the joints do for accelerations a, gravity included
// Joints outside the tree close loops: set_positions() and inverse_kinematics() keep them closed.
// Hinges and slides have the coordinate of their joint. A ball joint has the orientation (w, x, y,
// z) of its body in the parent's joint frame, a planar joint (x, y, angle) there, a free body the
// numbers of State: centre of mass and orientation. Speeds of the last three: relative velocity in
// the axes of the parent's joint frame (the world's for free bodies), linear first.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/model/model.hpp"

namespace ORTHANT_EXPORT orthant {

enum class CoordinateKind : std::uint8_t { Weld, Hinge, Slide, Ball, Planar, Free, FreePlanar };

/// How a body hangs on its parent.
struct TreeJoint {
  std::string name;  ///< of the joint; of a free body: the body's
  CoordinateKind kind = CoordinateKind::Weld;
  JointId joint{kNone};  ///< kNone: a free body
  BodyId body{}, parent = kWorld;
  Index above = kNone;    ///< place of the parent's TreeJoint; kNone: the parent is given
  bool reversed = false;  ///< the body is B of its joint
  Index q_begin = 0, q_size = 0, u_begin = 0, u_size = 0;
};

/// A frame of the model by its place in frames(), or a body's own (centre of mass).
struct FrameRef {
  BodyId body = kWorld;
  Pose X_BF = {};
};

/// A frame of the model, or a body where no frame has the name; throws Error.
FrameRef find_frame_ref(const Model& model, std::string_view name);

/// Where inverse kinematics wants a frame; without orientation only its origin counts.
struct FrameTarget {
  std::string frame;
  Vec3 position = Vec3::Zero();
  std::optional<Quat> orientation = {};
  double weight = 1;  ///< [1/m, 1/rad] of the error
};

/// How far two shapes of the model are to be from each other, e.g. a foot and the floor; 0: they
/// touch.
struct GapTarget {
  std::string shape, other;
  double gap = 0;     ///< signed distance [m]
  double weight = 1;  ///< [1/m] of the error
};

struct InverseKinematicsSettings {
  int max_iterations = 200;
  double tolerance = 1e-10;  ///< of the error, weighted
  bool limits = true;        ///< keep joints within theirs
  bool contacts = false;     ///< no overlaps of shapes that can touch
  std::vector<GapTarget> gaps = {};
};

struct [[nodiscard]] InverseKinematicsReport {
  bool reached = false;  ///< the error is below the tolerance
  int iterations = 0;
  double error = 0;       ///< norm of all weighted errors, overlaps among them
  double loop_error = 0;  ///< largest of the loops [m, rad]
};

/// Derivatives of inverse_dynamics(): by speeds in the sense of boxplus for q. By a it is M.
struct InverseDynamicsDerivatives {
  MatX by_q, by_u;
};

class Articulation {
 public:
  /// All dynamic bodies of the model. Throws Error where it is overdamped.
  explicit Articulation(const Model& model);
  /// Those joined to `body`, directly or over others.
  Articulation(const Model& model, std::string_view body);

  const Model& model() const { return *model_; }
  std::span<const TreeJoint> joints() const { return joints_; }  ///< parents before children
  Index q_size() const { return q_size_; }
  Index u_size() const { return u_size_; }
  /// Joints of the model outside the tree, and joints that follow another.
  std::span<const JointId> loops() const { return loops_; }
  /// Place in joints(); throws Error with the nearest spelling.
  Index find(std::string_view joint) const;
  FrameRef frame(std::string_view name) const { return find_frame_ref(*model_, name); }

  // State and coordinates.
  VecX positions(const Parameters& p, const State& x) const;
  VecX velocities(const Parameters& p, const State& x) const;
  /// Poses and velocities of the bodies from coordinates as they are, loops open or not. Other
  /// bodies of the state stay.
  void write(const Parameters& p, const VecX& q, const VecX& u, State& x) const;
  /// Hinges and slides by name; the others change by the least that closes the loops. Throws Error
  /// where no posture does.
  void set_positions(const Parameters& p, std::span<const std::pair<std::string, double>> values,
                     State& x) const;
  void set_velocities(const Parameters& p, std::span<const std::pair<std::string, double>> values,
                      State& x) const;
  /// q moved by du, a change as speeds have it (quaternions turn).
  VecX integrate(const VecX& q, const VecX& du) const;
  /// du with integrate(from, du) = to.
  VecX difference(const VecX& to, const VecX& from) const;

  // Kinematics; `x` gives bodies that are not part of it.
  Pose pose(const Parameters& p, const State& x, const VecX& q, const FrameRef& frame) const;
  /// Velocity of the frame's origin, then angular velocity, world axes, by speeds: 6 rows.
  MatX jacobian(const Parameters& p, const State& x, const VecX& q, const FrameRef& frame) const;
  /// Acceleration of the frame for speeds u that do not change: the rate of jacobian() times u.
  VecX jacobian_rate(const Parameters& p, const State& x, const VecX& q, const VecX& u,
                     const FrameRef& frame) const;
  double mass(const Parameters& p) const;
  Vec3 center_of_mass(const Parameters& p, const State& x, const VecX& q) const;
  MatX center_of_mass_jacobian(const Parameters& p, const State& x, const VecX& q) const;
  /// Psi of the loops, and its derivative by speeds.
  VecX loop_error(const Parameters& p, const State& x, const VecX& q) const;
  MatX loop_jacobian(const Parameters& p, const State& x, const VecX& q) const;
  InverseKinematicsReport inverse_kinematics(const Parameters& p, const State& x,
                                             std::span<const FrameTarget> targets, VecX& q,
                                             const InverseKinematicsSettings& settings = {}) const;

  // Dynamics. Armature counts; springs, dampers, friction, motors and applied forces do not.
  MatX mass_matrix(const Parameters& p, const State& x, const VecX& q) const;
  VecX inverse_dynamics(const Parameters& p, const State& x, const VecX& q, const VecX& u,
                        const VecX& a) const;
  VecX bias(const Parameters& p, const State& x, const VecX& q, const VecX& u) const;
  /// a with M a + bias = tau; loops open.
  VecX forward_dynamics(const Parameters& p, const State& x, const VecX& q, const VecX& u,
                        const VecX& tau) const;
  InverseDynamicsDerivatives inverse_dynamics_derivatives(const Parameters& p, const State& x,
                                                          const VecX& q, const VecX& u,
                                                          const VecX& a) const;
  /// The same derivative by one parameter, e.g. a mass.
  VecX inverse_dynamics_by_parameter(const Parameters& p, const State& x, const VecX& q,
                                     const VecX& u, const VecX& a, Index parameter) const;

 private:
  void build(std::string_view body);
  void check(const VecX& q, const VecX* u = nullptr, const VecX* a = nullptr) const;
  bool is_tree_joint(JointId id) const;
  void close(const Parameters& p, const State& x, const std::vector<bool>& held, VecX& q) const;

  const Model* model_;
  std::vector<TreeJoint> joints_;
  std::vector<JointId> loops_;
  std::vector<Index> place_of_body_;  ///< in joints(); kNone: not part of it
  Index q_size_ = 0, u_size_ = 0;
};

}  // namespace orthant
