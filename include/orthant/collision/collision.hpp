// SPDX-License-Identifier: Apache-2.0
// collision/collision.hpp: (model, parameters, q, where each body may go) => ContactSet.
// A contact is listed when its gap is below a share of the smaller body, or when the motion of the
// step may close it: fast bodies get their rows before they touch, and do not tunnel; bodies that
// fly past each other get none.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/collision/broad_phase.hpp"
#include "orthant/collision/contact_set.hpp"
#include "orthant/model/model.hpp"

namespace ORTHANT_EXPORT orthant {

class ShapeMeasures;

/// Which points stand for a pair of shapes.
enum class ContactPoints : std::uint8_t {
  Manifold,    ///< as many as hold a face
  Deepest,     ///< the nearest alone; each local minimum where a torus is in it
  SubSpheres,  ///< ellipsoids, capsules and tori as rows of inscribed spheres, all near pairs
};

/// A box whose opposite sides are one, in any of the three directions.
struct PeriodicBox {
  std::array<bool, 3> active = {false, false, false};
  Vec3 lo = Vec3::Zero(), hi = Vec3::Zero();  ///< [m]; read in active directions only

  bool any() const { return active[0] || active[1] || active[2]; }
};

/// The normal a pair had when it was last looked at.
struct LastNormal {
  ContactKey key;  ///< its feature is not read
  Vec3 normal_W;   ///< from B to A
};

struct CollisionSettings {
  double margin = 0.1;  ///< of half the width of the smaller shape [-]
  ContactPoints points = ContactPoints::Manifold;
  int sub_spheres = 13;  ///< a shape, SubSpheres only
  PeriodicBox periodic = {};
  /// Where the search of two ellipsoids starts, sorted by key; may lack pairs. Deepest only.
  /// Faster, and the same but for rounding.
  std::span<const LastNormal> last = {};
  /// List as well what the motion of either body alone may close: two that fall together meet when
  /// the lower one is stopped.
  bool either = false;
  /// Of the model and its parameters, where the caller keeps them; null: they are found anew.
  const ShapeMeasures* measures = nullptr;
};

/// Where a body may go within a step: its centre by either shift (with the velocity before and with
/// that after all forces but contact), any point of it by `turn` more.
struct BodyMotion {
  Vec3 shift[2] = {Vec3::Zero(), Vec3::Zero()};  ///< [m]
  double turn = 0;                               ///< [m]
};

/// Scratch; losing it loses nothing.
class CollisionWorkspace {
 public:
  struct Placed {  // a shape in the world
    Pose X_WS;
    double width = 0;  // half the smallest width [m]; infinite for a half-space
    // Two spheres whose centres are farther apart than their reaches together do not meet in this
    // step; infinite for all other shapes [m].
    double reach = 0;
    const BodyMotion* motion = nullptr;  // of its body
    BodyUid uid = 0;                     // of its body
    BodyId body{};
    ShapeId shape{};
    std::uint16_t ordinal = 0;
  };
  std::vector<Index> order;    // bounded shapes by (uid, ordinal), then half-spaces
  Index bounded = 0;           // how many of them are not half-spaces
  std::vector<Placed> placed;  // by place in `order`
  std::vector<Bounds> boxes;   // swept and grown
  std::vector<Ball> balls;     // centres and reaches; none in a periodic box
  std::vector<unsigned char> moves;
  std::vector<Vec3> wrap;                         // added to a shape to bring it into the box
  std::vector<Index> ghost_of;                    // boxes beyond `bounded` are images of these
  std::vector<std::array<std::int8_t, 3>> ghost;  // their periods
  BroadPhase broad_phase;
  std::vector<IndexPair> pairs, half_space_pairs;  // places in `order`
  std::vector<std::vector<Contact>> found;         // by chunk, where there are several threads
  std::vector<std::vector<Bounds>> trees;          // boxes of the face trees, by part
  std::vector<Index> faces, nodes;                 // candidates of one part and one shape
};

/// All contacts of the configuration q that may close, sorted by key; the same bits for any number
/// of threads. `motion`: by body, or empty: nothing moves.
void find_contacts(const Model& model, const Parameters& parameters, const VecX& q,
                   std::span<const BodyMotion> motion, const CollisionSettings& settings,
                   CollisionWorkspace& workspace, ContactSet& contacts);

/// Where the nodes of flexible parts may go within a step of length dt.
struct NodeMotion {
  const VecX* v = nullptr;       ///< State::v; null: nothing moves
  const VecX* v_free = nullptr;  ///< velocities after all forces but contact
  double dt = 0;
};

/// All contacts of flexible surfaces that may close, sorted by key => contacts.flexible. Nodes meet
/// every shape; faces meet spheres, capsules and the corners of boxes and hulls; nodes of a part
/// meet the faces of other parts. A part does not meet itself.
void find_flexible_contacts(const Model& model, const Parameters& parameters, const VecX& q,
                            std::span<const BodyMotion> motion, const NodeMotion& node_motion,
                            const CollisionSettings& settings, CollisionWorkspace& workspace,
                            ContactSet& contacts);

/// Signed distance of two shapes of the model in the configuration q.
ContactPoint shape_distance(const Model& model, const Parameters& parameters, const VecX& q,
                            ShapeId a, ShapeId b);

/// The deepest overlap of a set [m], >= 0.
double deepest_penetration(const ContactSet& contacts);

/// The length that tolerances of a shape are relative to: half its smallest width [m].
double shape_size(const Model& model, const Parameters& parameters, ShapeId shape);

/// Farthest point of a body from its centre that turning it moves [m]: 0 for a centred sphere.
double turning_radius(const Model& model, const Parameters& parameters, BodyId body);

}  // namespace orthant
