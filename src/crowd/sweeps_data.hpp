// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_data.hpp: the arrays that the kernels of the sweeps read, and what they return.
// Read by code compiled for several instruction sets: types and constants only.
#pragma once

#include <cstddef>
#include <cstdint>

namespace orthant::internal {

constexpr int kSweepBatch = 8;  // contacts
constexpr int kBodyRow = 8;     // numbers: v (3), 1/m, s = L'omega (3), 1 where it moves

/// Places of a contact's numbers in its batch, eight lanes each.
struct RoundField {
  enum : int {
    kNormal = 0,
    kLeverA = 3,  // lever over the root of the inertia
    kLeverB,
    kBias,
    kFriction,
    kSoftN,
    kSoftT,
    kInverseN,  // 1 / (W + soft)
    kInverseT,
    kMobilityN,  // W + soft
    kMobilityT,
    kCount
  };
};
struct GeneralField {
  enum : int {
    kFrame = 0,   // normal, two tangents
    kTurnA = 9,   // L^-1 (lever x direction) of each
    kTurnB = 18,  // the same with a minus sign
    kBlock = 27,  // n1, n2, t11, t12, t22 of (W + soft) / (W_nn + soft_n)
    kBias = 32,
    kFriction,
    kSoftN,  // over W_nn + soft_n
    kSoftT,
    kInverseN,   // 1 / (W_nn + soft_n)
    kMobilityN,  // W_nn + soft_n
    kMobilityT,  // mean of the tangents
    kCount
  };
};
constexpr int kRoundImpulses = 4;    // normal, tangential vector in world axes
constexpr int kGeneralImpulses = 3;  // in the contact's frame

/// Watched batches hold contacts that are likely to stay open. They rest while none of them pushes:
/// then only some sweeps look at them.
enum class BatchState : unsigned char { Swept, Watched, Resting };

template <class T>
struct SweepArrays {
  std::size_t batches = 0;
  const std::int32_t* bodies_of = nullptr;  // by batch: rows of eight of A, of eight of B
  BatchState* states = nullptr;             // by batch
  bool look_at_all = true;                  // also at batches that rest
  bool twins = false;                       // batches 2 k and 2 k + 1 share no body that moves
  const T* data = nullptr;
  T* lambda = nullptr;
  T* bodies = nullptr;
};

enum class SweepMode : std::uint8_t {
  Sweep,
  Measure,  // what a sweep would change with all other contacts held; changes nothing
  Apply,    // adds all impulses to the velocities
};

struct SweepChange {
  double squares = 0;  // sum of dl.W dl
  double most = 0;     // largest square of a velocity |dl| W
};

/// The kernels in one instruction set.
struct SweepTable {
  SweepChange (*round_float)(const SweepArrays<float>&, SweepMode);
  SweepChange (*general_float)(const SweepArrays<float>&, SweepMode);
  SweepChange (*round_double)(const SweepArrays<double>&, SweepMode);
  SweepChange (*general_double)(const SweepArrays<double>&, SweepMode);
  /// x <- x + beta (x - last), last <- x
  void (*extrapolate_float)(float* x, float* last, std::size_t count, float beta);
  void (*extrapolate_double)(double* x, double* last, std::size_t count, double beta);
};
extern const SweepTable kSweepsScalar, kSweepsPlain;
#if defined(__x86_64__)
extern const SweepTable kSweepsAvx2, kSweepsAvx512;
#endif

}  // namespace orthant::internal
