// SPDX-License-Identifier: Apache-2.0
// force/force.hpp: (model, parameters, q, v, u, t) => M, f, H, k, energies.
//   inertial     H = M - h^2 f_q - h f_v     k = M v* + h f - h f_v v
//   overdamped   H = h Mob^-1 - h^2 f_q      k = h f
// f_q and f_v of springs and dampers are their symmetric negative parts, so H is symmetric positive
// definite; sparse only where a spring or damper couples two dynamic bodies. v* is v with the
// angular velocity a free body has after h (force/free_rotation_kernel.hpp): gyroscopic terms never
// enter H and still keep energy and angular momentum.
// Flexible parts add M + h^2 K + h B of their nodes (force/corotational_kernel.hpp): H is sparse.
// All vectors here have the velocities of dynamic bodies and free nodes: the head of State::v.
#pragma once

#include <Eigen/SparseCore>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/math/velocity_matrix.hpp"
#include "orthant/model/model.hpp"

namespace ORTHANT_EXPORT orthant {

/// What the forces make of one state. Scratch and result: reused without allocation.
struct Dynamics {
  /// f of the bodies at (q, v, t + h/2), springs and dampers in, gyroscopic terms out [N, N m];
  /// zero on nodes.
  VecX force;
  VecX coast_velocity;   ///< v*: after h without any force [m/s, rad/s]
  VecX coast_delta;      ///< the tangent travelled in h without any force: (h v, turn) [m, rad]
  bool coupled = false;  ///< H is sparse
  /// Scratch: block (a, b) of H between two velocity blocks, row-major; that across is its
  /// transpose.
  struct Coupling {
    Index a, b;
    double values[36];
  };
  std::vector<Coupling> couplings;
  struct Place {
    Index column, row, coupling;  ///< blocks; kNone: the diagonal one
  };
  std::vector<Place> places;  ///< scratch
  VelocityMatrix blocks;      ///< scratch: the diagonal blocks of a sparse H
  VelocityMatrix bodies;      ///< scratch: H of the bodies alone, where there are flexible parts
};

/// Fills H and k of one step of length h. `v` is State::v; `u` the controls, empty: zero. Forces
/// that depend on time are taken at t + h/2, which makes their impulse right to second order.
void assemble_dynamics(const Model& model, const Parameters& parameters, const VecX& q,
                       const VecX& v, double t, const VecX& u, double h, Dynamics& dynamics,
                       VelocityMatrix& H, VecX& k);

/// Fills coast_velocity and coast_delta alone: flight of h without any force from (q, v).
void coast(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v, double h,
           Dynamics& dynamics);

/// The tangent of a body that nothing touched: delta = coast_delta + h/2 (v+ - coast_velocity),
/// second order, exact for a projectile and for free rotation. Inertial law only; first order: h
/// v+.
void free_flight(const Dynamics& dynamics, const VecX& v_next, double h, VecX& delta);

/// M(q), block-diagonal, world axes; overdamped: Mob^-1.
void assemble_mass(const Model& model, const Parameters& parameters, const VecX& q,
                   VelocityMatrix& M);

/// f(q, v, u, t), everything but gyroscopic terms.
void applied_force(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                   double t, const VecX& u, VecX& f);

/// Adds -omega x (I omega) to the torques in f, for integrators that want it explicit.
void add_gyroscopic(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                    VecX& f);

double kinetic_energy(const Model& model, const Parameters& parameters, const VecX& q,
                      const VecX& v);  ///< of the dynamic bodies [J]
/// Gravity (zero at the origin), springs, joint springs, callbacks [J].
double potential_energy(const Model& model, const Parameters& parameters, const VecX& q, double t);

}  // namespace orthant
