// SPDX-License-Identifier: Apache-2.0
// constraint/contact_rows.hpp: contacts => laws, rows D, biases b, compliances F.
// One block per contact, in the order of the ContactSet: normal first, then the tangents, then the
// rolling torques. The pyramid has three blocks per contact: normal, directions, sliding speed.
#pragma once

#include <span>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/collision/contact_set.hpp"
#include "orthant/constraint/contact_kernel.hpp"
#include "orthant/constraint/joint_rows.hpp"
#include "orthant/model/model.hpp"
#include "orthant/problem/problem.hpp"

namespace ORTHANT_EXPORT orthant {

enum class FrictionModel : std::uint8_t {
  Coulomb,  ///< exact: a sliding contact stays closed
  Cone,     ///< convex: unique velocities, a sliding contact opens
  Pyramid,  ///< linear complementarity; in the plane the same as Coulomb
};

struct ContactRowSettings {
  double h = 0.01;  ///< time the rows cover [s]
  FrictionModel friction = FrictionModel::Coulomb;
  int pyramid_directions = 4;  ///< in space, even; the plane has two
  double beta = 0;             ///< share of an overlap removed in a step
  bool restitution = true;     ///< bounce where a gap closes within the step
  /// Impacts are located: rigid contacts bounce there, and compliant ones are springs.
  bool impacts_located = false;
  double restitution_threshold = 0;  ///< slowest approach that bounces [m/s]
  double restitution_scale = 1;      ///< s: every ε counts s ε
  /// Gaps up to this share of the smaller shape count as none [-]: where positions are projected to
  /// a tolerance, what is left of them is noise, and in a pile the forces would depend on it.
  double touching = 0;
  /// Overlaps up to this share of the smaller shape rest [-]: their sign is the projection's noise.
  double resting = 0;
};

/// Where a contact went: its first block and row, and the frame its rows are written in.
struct ContactBlock {
  Index block = 0, row = 0;
  Index dim = 0;  ///< rows of all its blocks
  BiasBranch branch = BiasBranch::None;
  double bias = 0;        ///< b_n without the velocities that are given (of kinematic bodies) [m/s]
  Vec3 frame[3];          ///< normal, tangents (planar: normal, tangent, z)
  Vec3 lever_a, lever_b;  ///< from the centres to the contact point [m]
  ContactMaterial material;
  double softness = 0;  ///< diagonal of F: compliance/h² [m/(N s)]
};

/// Appends laws and rows D and biases b of all contacts. `v` is State::v before the step; `v_free`
/// (H v_free = k, or empty: then every approach counts as closing when the gap is <= 0) decides
/// which gaps close. `b` is appended to.
void append_contact_rows(const Model& model, const Parameters& parameters, const VecX& q,
                         const VecX& v, const VecX& v_free, std::span<const Contact> contacts,
                         const ContactRowSettings& settings, CanonicalProblem& problem,
                         std::vector<double>& b, std::vector<ContactBlock>& blocks);

/// Largest overlap that one correction of positions undoes, where `size` is that of the contact:
/// beyond it the rows are no longer true. A power of two between 0.185 and 0.37 of the size:
/// constant but for jumps, so that it has no derivative by the shapes.
double largest_correction(double size);

/// Appends normal rows only, with b = Φ, at least −largest_correction(): corrections of positions.
/// Soft contacts have blocks without rows.
void append_contact_position_rows(const Model& model, const Parameters& parameters, const VecX& q,
                                  std::span<const Contact> contacts, CanonicalProblem& problem,
                                  std::vector<double>& b, std::vector<ContactBlock>& blocks);

/// Fills F: compliances, the pyramid's couplings, and the entries of servos (`joints`, by block).
/// To be called when all laws are there; leaves F empty where nothing needs it.
void assemble_F(std::span<const ContactBlock> blocks, FrictionModel friction,
                std::span<const JointSoftness> joints, CanonicalProblem& problem);

/// Impulse on body A in world axes, and rolling torque, of a contact's rows of λ.
void contact_impulse(const ContactBlock& block, FrictionModel friction, bool planar,
                     const double* lambda, Vec3& impulse_W, Vec3& torque_W);
/// The inverse: rows of λ from a world impulse; the pyramid gets the normal only.
void contact_lambda(const ContactBlock& block, FrictionModel friction, bool planar,
                    const Vec3& impulse_W, const Vec3& torque_W, double* lambda);

/// D_n v: rate of the gap, kinematic bodies included [m/s].
double gap_rate(const Model& model, const VecX& q, const VecX& v, const Contact& contact);

}  // namespace orthant
