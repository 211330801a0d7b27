// SPDX-License-Identifier: Apache-2.0
// device/rods.hpp: one large world of rods in the plane that grow, push each other apart and
// divide: overdamped motion without overlap by the recursion (docs/relcp.md), on the host here, on
// a CUDA device by liborthant_cuda, with the same bits (docs/gpu.md). CUDA's compiler reads this
// header, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numbers>
#include <span>
#include <vector>

#include "orthant/base/export.hpp"

namespace ORTHANT_EXPORT orthant {

/// Defaults: the colony of `orthant reproduce colony`.
struct RodSettings {
  double h = 1e-3;              ///< step [s]
  double radius = 0.25;         ///< of all rods [m]
  double growth = 1;            ///< rate of dl/dt = rate l [1/s]
  double near = 0.1;            ///< gap below which a pair has rows at first [m]
  double overlap = 1e-5;        ///< that a step may leave [m]
  double tolerance = 5e-6;      ///< natural residual of a row in a solve [m]
  int max_iterations = 50'000;  ///< of one solve
  int max_recursions = 100;     ///< rounds of new rows per step
  /// Rows at first as step() has them: at the deepest point of a pair, where the step begins.
  /// Otherwise at both ends of rods that lie flush, where the motion of the last step would lead:
  /// the recursion then has fewer to add.
  bool as_step = false;
  /// Worlds of this many rods or more are solved by an interior point, smaller ones by gradients.
  int interior_from = 40'000;
};

enum class RodOutcome : int { Converged, IterationLimit, NotFinite };

/// Of one step.
struct RodReport {
  RodOutcome outcome = RodOutcome::NotFinite;
  std::int64_t first = 0, rows = 0;  ///< rows at first, at last
  std::int64_t solves = 0, iterations = 0;
  double residual = 0;  ///< natural residual of the last solve, most of all rows [m]
  double deepest = 0;   ///< true overlap where the step ends [m]
};

/// A world of rods. q: x, y, angle per rod; length: from tip to tip.
class RodProgram {
 public:
  /// Throws Error that names a setting out of its range.
  explicit RodProgram(const RodSettings& settings = {});
  ~RodProgram();
  RodProgram(RodProgram&&) noexcept;
  RodProgram& operator=(RodProgram&&) noexcept;

  /// One step on the host; goes on from the impulses of the last one. Rods grow, then move. Where a
  /// number is not finite nothing moves. Throws Error on wrong sizes and rods no longer than wide.
  RodReport step(std::span<double> q, std::span<double> length);
  /// The next step starts from no impulses.
  void forget();

  const RodSettings& settings() const;
  /// All of it as plain bytes: what liborthant_cuda takes (include/orthant/device/cuda.h).
  std::vector<unsigned char> bytes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Rods by their numbers, as a colony keeps them.
struct Rods {
  std::vector<double> q, length;   ///< 3 numbers per rod, 1 number per rod
  std::vector<std::uint64_t> uid;  ///< ascending
};

struct RodDivision {
  double at = 4;                                  ///< rods of this length or more divide [m]
  double jitter = 0.01 * std::numbers::pi / 180;  ///< turn of a daughter [rad]
  std::uint64_t key = 0;                          ///< of the hash that draws its direction
};

/// Splits the rods that are long enough by the rule of model/division.hpp; returns how many did.
/// Throws Error on wrong sizes, uids that do not ascend and settings out of their range.
std::size_t divide_rods(const RodDivision& division, Rods& rods);

}  // namespace orthant
