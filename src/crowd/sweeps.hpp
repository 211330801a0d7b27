// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps.hpp: block Gauss–Seidel in velocities at the speed of the machine, for crowds of
// rigid bodies in frictional contact.
//
//   for every contact c in order:  λ_c ← solution of  Coulomb(λ_c, u_c + (s + ε diag W_cc) λ_c),
//   u_c = J_c v + b_c,   v ← v + M⁻¹ J_cᵀ Δλ_c
//
// Eight contacts at a time, no two of which share a body that moves; a body is one row of eight
// numbers. Between sweeps impulses and velocities are extrapolated (Nesterov's momentum), and the
// momentum is set back whenever the change of a sweep grows. Reads bodies and contacts, not a
// CanonicalProblem: a step that only wants sweeps never assembles one. Method: docs/solvers.md.
//
// Contacts come in cells. Cells whose numbers are even and odd alike have one colour and share no
// body, so the cells of a colour may be swept at the same time, by threads or by ranks; the colours
// follow one another. The order of a sweep, and with it every bit, comes from the cells alone.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/exact_sum.hpp"
#include "base/scratch.hpp"
#include "orthant/math/types.hpp"
#include "orthant/solver/solve.hpp"

namespace orthant {

/// A rigid body of the sweeps. Body 0 is the world: it never moves.
struct SweepBody {
  Vec3 v = Vec3::Zero(), omega = Vec3::Zero();  ///< in: without contact impulses; out: v⁺
  double inverse_mass = 0;                      ///< 0: it moves as it is told
  /// L⁻¹, the lower triangle row by row (00, 10, 11, 20, 21, 22), of the inertia I = L Lᵀ in world
  /// axes; the unit matrix for a body that moves as it is told.
  double inverse_root[6] = {1, 0, 1, 0, 0, 1};
};

/// Numbers of a cell of contacts. Two cells of one colour must share no body that moves.
using SweepCell = std::array<std::int32_t, 2>;
/// For contacts that fit into no cell: swept after all others, one after another.
constexpr SweepCell kNoCell = {std::numeric_limits<std::int32_t>::max(), 0};
constexpr int kSweepColours = 5;  ///< four of cells, then what fits into none
constexpr int colour_of(const SweepCell& cell) {
  return cell == kNoCell ? 4 : (cell[0] & 1) + 2 * (cell[1] & 1);
}

struct SweepContact {
  std::int32_t a = 0, b = 0;  ///< bodies
  SweepCell cell = {0, 0};
  Vec3 normal;            ///< unit, from B to A
  Vec3 lever_a, lever_b;  ///< from the centres to the contact point [m]
  double bias = 0;        ///< b: added to the normal velocity, Φ/h [m/s]
  double friction = 0;    ///< μ [-]
  double softness = 0;    ///< s: compliance/h², normal direction only [m/(N s)]
  double height = 0;      ///< contacts are swept in ascending order of it
  Vec3 impulse;           ///< on A, world axes [N s]; in: the start, out: the answer
};

struct SweepProblem {
  std::vector<SweepBody> bodies{1};
  std::vector<SweepContact> contacts;
};

/// Which instructions the sweeps use. All give the same bits.
enum class SweepInstructions : std::uint8_t { Best, Plain, Avx2, Avx512, Scalar };

/// Others that sweep cells of the same problem: ranks, each with the bodies and contacts it knows.
/// All calls are made by all of them, in the same order.
class SweepCrew {
 public:
  virtual ~SweepCrew() = default;
  /// The contacts of this cell are swept here. Of no other cell are they looked at.
  virtual bool mine(const SweepCell& cell) const = 0;
  /// By body: bit k is set where the contacts of colour k that are swept here push it.
  virtual void begin(std::span<const std::uint8_t> pushed) = 0;
  /// The colour has been swept: rows of the bodies that it pushed go to all who know them.
  virtual void share(int colour, std::byte* rows, std::size_t row_bytes) = 0;
  /// Adds up over all.
  virtual void add(ExactSum& sum) = 0;
  /// The largest of all.
  virtual double largest(double value) = 0;
};

struct SweepSettings {
  int max_sweeps = 50;
  int min_sweeps = 1;
  /// The largest error of a contact that is good enough: of its velocity, over `speed` [-].
  double tolerance = 1e-3;
  double speed = 1;       ///< what velocities are compared with [m/s]
  double compliance = 0;  ///< ε: of the contact's own diagonal [-]
  bool single = false;    ///< in single precision: for tolerances of 3e-3 and more
  bool momentum = true;
  /// The momentum is set back where c grows, the mean of the squared change over the last sweeps,
  /// `memory` of it old: the length of its sequence is multiplied by (c_before/c)^set_back. Without
  /// memory and with an infinite power it starts anew whenever a sweep changes more than the last.
  double memory = 0, set_back = std::numeric_limits<double>::infinity();
  /// End as Stalled when the change of a sweep has not halved in this many; 0: never.
  int patience = 0;
  /// Newton's method (contacts that yield, one process): tried where the error is below
  /// newton_from, and where the sweeps stall. A phase that does not gain newton_gain is taken back,
  /// and the sweeps go on from where they were until the error is ten times smaller or they stall
  /// again.
  int newton_steps = 0;  ///< in all; 0: never
  double newton_from = 1e-3, newton_gain = 30;
  int newton_sweeps = 20;  ///< after each step: they smooth what it has left
  SweepInstructions instructions = SweepInstructions::Best;
  SweepCrew* crew = nullptr;  ///< null: all cells are swept here
};

struct [[nodiscard]] SweepResult {
  Outcome outcome = Outcome::NotFinite;
  int sweeps = 0, restarts = 0, newton_steps = 0;
  /// Largest distance of a contact from its own exact answer with the others held, as a velocity
  /// (|Δλ| times the diagonal of W), over settings.speed.
  double residual = 0;
  bool round = false;  ///< all contacts were between centred spheres and things that stand still
};

struct SweepWork;
using SweepWorkspace = Scratch<SweepWork>;

/// Velocities and impulses of `problem` in place. Numbers that are not finite come back as outcome
/// NotFinite, with the bodies and contacts as they were.
SweepResult solve_sweeps(SweepProblem& problem, const SweepSettings& settings,
                         SweepWorkspace& work);

/// False where this machine cannot run them.
bool available(SweepInstructions instructions);
std::string_view name_of(SweepInstructions instructions);

/// Mass and inertia in world axes => inverse mass and root. False unless both are positive
/// definite.
bool set_inertia(double mass, const Mat3& inertia, SweepBody& body);
/// The body's part of H (6 x 6, row-major). False unless H is m 1 on the linear part and zero
/// between that and the angular part.
bool set_inertia(const double* block, SweepBody& body);
/// I⁻¹ x.
Vec3 turned_by(const SweepBody& body, const Vec3& x);

}  // namespace orthant
