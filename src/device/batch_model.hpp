// SPDX-License-Identifier: Apache-2.0
// device/batch_model.hpp: a Model as plain arrays that a kernel can read: places of numbers in q, v
// and the parameters, and the order in which the trees of joints are eliminated.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orthant::device {

/// A dynamic body; its velocities are 6 i .. 6 i + 5.
struct BodyData {
  int q, mass, inertia;
  int parent;   ///< dynamic body its joint leads to; −1: the joint holds it to the ground, or none
  int joint;    ///< −1: a root that is free
  int jointed;  ///< moves with v⁺: some joint holds it
};

enum class JointType : std::int32_t {
  Weld,
  Revolute,
  Prismatic,
  Ball,
  Planar,
  LockX,
  LockY,
  LockZ,
  LockRotation
};

struct JointData {
  JointType type;
  int rows;    ///< bilateral, at most 6
  int a, b;    ///< dynamic bodies, −1: fixed or the world
  int qa, qb;  ///< places of the poses in q, −1: the world
  int child;   ///< 0: A is the child in the tree, 1: B is
  int frames;  ///< first of 14 parameters
  int lower, upper, stiffness, rest, damping, armature;  ///< parameters, −1: none
  int has_coordinate;
  double middle;
  int actuator_begin, actuator_end;
};

struct ActuatorData {
  int control, gear, max_force;
  double lower, upper;
};

enum class PairType : std::int32_t {
  CorePlane,   ///< a corner of the core of shape 1, inflated by its radius, over the half-space 2
  PointPoint,  ///< spheres
  PointEdge,   ///< sphere 1 and capsule 2
  PointBox,    ///< sphere 1 and box 2
};

/// A point two shapes may touch at. The normal points from 2 to 1.
struct ContactData {
  PairType type;
  int shape1, shape2;        ///< ShapeKind
  int body1, body2;          ///< dynamic, −1
  int q1, q2;                ///< places of the poses
  int size1, size2;          ///< first parameters of the shapes
  int offset1, offset2;      ///< first of 7 parameters each
  int corner;                ///< CorePlane
  int friction1, friction2;  ///< parameters; equal: given for the pair
  int combine;               ///< CombineRule
};

struct BatchModel {
  int bodies, joints, actuators, contacts, limits;
  int q_size, v_size, parameters, controls, gravity;
  const BodyData* body;
  const JointData* joint;
  const ActuatorData* actuator;  ///< sorted by joint
  const ContactData* contact;
  const int* order;                   ///< bodies, children before parents
  const int* limit;                   ///< joints that have limits
  const std::uint64_t* contact_path;  ///< bit b: body b lies between the contact and a root
  const std::uint64_t* limit_path;    ///< the same for limits

  // Workspace of a world, in numbers: offsets of its parts.
  int rows;  ///< most rows of a solve
  struct Layout {
    int q, k, v, e, factor, gamma, s, y, coordinate, turn, delta;
    int row, path, N, A, lambda, w, b, lo, hi, mu, tau, law, gap, adjoint;
    int by_q, by_v, weight, weight_gamma, rounds, size;  ///< from by_q on: reverse mode only
    int forward_size;
    int index, state, touched, integers;
  } at;
  int warm;  ///< numbers per world keeps between steps
};

struct Settings {
  double h, beta, margin, tolerance, resting;
  int sweeps, rounds;  ///< most sweeps of a solve, rounds of projection; 0: none
  double projection_tolerance;
};

/// What a world says about its step; numbers, so that they travel as one array.
struct WorldReport {
  double outcome;  ///< 0: converged, 1: iteration limit, 2: not finite
  double contacts, sweeps, newton, rounds;
  double residual, deepest, joint_error;
};
inline constexpr int kReportNumbers = 8;

/// What a world says about its derivative.
struct WorldCertificate {
  double floating;     ///< contacts and limits on a border: only one-sided derivatives exist
  double start_kinks;  ///< closed to the tolerance where the step begins, and pushing
  double margin;       ///< smallest distance to a border, relative
  double solve_error;  ///< of the adjoint systems, relative
  double redundant;    ///< rows that others of the solve already hold: impulses are not unique
};
inline constexpr int kCertificateNumbers = 5;

}  // namespace orthant::device
