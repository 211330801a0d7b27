// SPDX-License-Identifier: Apache-2.0
// step/step.hpp: (model, parameters, settings, state, warm) => next state, report, record.
// A step is a function of its arguments: same arguments, same bits; the workspace carries no
// memory. The only room that names all stages.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "orthant/base/export.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/collision/contact_set.hpp"
#include "orthant/constraint/contact_rows.hpp"
#include "orthant/model/model.hpp"
#include "orthant/problem/problem.hpp"
#include "orthant/solver/solve.hpp"

namespace ORTHANT_EXPORT orthant {

enum class Stabilisation : std::uint8_t { Projection, Baumgarte, None };
enum class Integrator : std::uint8_t {
  Euler,   ///< q⁺ = q ⊞ h v⁺; second order (h(v + v⁺)/2) for bodies that nothing touches
  Rattle,  ///< position and velocity constraints of joints met at both ends, internal sub-steps
};

/// What a located impact makes of the restitution ε of its contacts.
enum class RestitutionLaw : std::uint8_t {
  EnergyBounded,  ///< s ε, the largest s in [0, 1] with which the impact gains no energy
  Newton,         ///< ε itself: with friction an impact may gain energy
};

/// Which contact constraints a step has.
enum class ConstraintScheme : std::uint8_t {
  Manifold,     ///< face manifolds, positions projected afterwards
  Single,       ///< one row per pair, the deepest point, solved once
  Relcp,        ///< the same, and more rows as trial configurations overlap, until none does
  Multisphere,  ///< smooth bodies as rows of inscribed spheres, solved once
};

/// How exactly the contacts of a crowd are solved: a step whose islands of 25 contacts or more have
/// a hundred or more between them, or with 2,048 contacts in all. Other steps, joints, flexible
/// parts, the plane and steps with a record are exact in all of them.
/// Laws, tolerances and what they cost: docs/run.md, Accuracy.
enum class Accuracy : std::uint8_t {
  Exact,     ///< the rigid law to solver.tolerance, by the judge; positions projected
  Standard,  ///< a contact yields by 1e-3 of its own mobility; to 1e-3 of the speed g h
  Fast,      ///< by 1e-4; a fixed number of sweeps in single precision
};

struct StepSettings {
  double h = 0.01;  ///< step [s]
  Accuracy accuracy = Accuracy::Exact;
  /// Of Standard and Fast, in place of what the word says; 0: as it says.
  double crowd_compliance = 0;  ///< share of a contact's own mobility by which it yields [-]
  double crowd_tolerance = 0;   ///< of a contact's velocity, over g h [-]; below 1e-3 with Newton
  int crowd_sweeps = 0;         ///< at most
  FrictionModel friction = FrictionModel::Coulomb;
  int pyramid_directions = 4;  ///< spatial pyramid only
  Stabilisation stabilisation = Stabilisation::Projection;
  double projection_tolerance = 1e-9;  ///< of the body size [-]
  double baumgarte = 0.2;              ///< β, Baumgarte only [-]
  double contact_margin = 0.1;         ///< of half the smaller body's width [-]
  Integrator integrator = Integrator::Euler;
  double substep = 1e-3;             ///< longest internal sub-step of Rattle [s]
  bool impact_events = false;        ///< locate impacts within the step
  int max_events = 64;               ///< per step; the report says when reached
  double restitution_threshold = 0;  ///< speed below which ε = 0 [m/s]; 0: 2 g h
  RestitutionLaw restitution_law = RestitutionLaw::EnergyBounded;  ///< of located impacts
  int max_halvings = 0;                                            ///< per step; 0: no step halving
  double halving_tolerance = 1e-3;  ///< overlap that halves, of the body size [-]
  /// Linearisations of the implicit step of flexible parts: 1 is linearly implicit. More stop when
  /// the velocities change by less than newton_tolerance of the largest.
  int newton_iterations = 1;
  double newton_tolerance = 1e-8;
  int max_cuts = 6;  ///< halvings of an interval in which an element would invert
  SolveSettings solver = {.tolerance = 1e-10};
  ConstraintScheme constraints = ConstraintScheme::Manifold;
  double overlap_tolerance = 1e-5;  ///< of half the smaller width, Relcp only [-]
  int max_recursions = 50;          ///< per step, Relcp only; the outcome says when reached
  int sub_spheres = 13;             ///< per body, Multisphere only
  PeriodicBox periodic = {};        ///< bodies meet across its sides; positions are not wrapped
  /// Overdamped: drag across the body axis (x of its frame) over that along it [-]; 1: the local
  /// drag of the model, 2: a slender body.
  double drag_ratio = 1;
  /// Overdamped: k_B T [J]; > 0: Brownian kicks from the counter-based generator of State::rng.
  double thermal_energy = 0;
};

/// What a solve inside a step was for.
enum class SolveKind : std::uint8_t { Impact, Step, Recursion, Projection, Newton };

/// One solve of a step, enough to rebuild its problem: problems are recomputed, not stored.
struct SolveRecord {
  SolveKind kind = SolveKind::Step;
  double duration = 0;  ///< time covered [s]: h, or the part before or after an impact
  VecX q, v;            ///< configuration and velocity the problem was assembled at
  double t = 0;
  /// Keys and features, in row order. Relcp: those of round r (key.feature >> 8) were found at
  /// q ⊞ h v, v the solution of solve r − 1.
  ContactSet contacts;
  Solution solution;
  Residual residual;
  ContactRowSettings rows = {};  ///< Step, Impact: how gaps became rows
  /// How b_n of every contact was made, in the order of `contacts`, flexible ones after the others.
  std::vector<BiasBranch> branches = {};
  /// Step: dynamic bodies that moved with v⁺; the others flew, second order. Empty: all of them.
  std::vector<unsigned char> touched = {};
  /// Step: the contacts whose closing ended it, as they are at its end. The first is the one whose
  /// gap the time was located by, others closed with it. Empty: the interval has a length of its
  /// own, that of the step or what was left of it.
  std::vector<Contact> closing = {};
  /// Impact: all its contacts overlapped when the step began. It happens at once, whatever the gap.
  bool pinned = false;
  /// Impact: s of the restitution, in rows.restitution_scale, was found by T(s) = T⁻.
  bool scaled = false;
  /// Projection: no correction was needed and none was made; its derivative is that of one more.
  bool idle = false;
  /// Relcp: how near an overlap at q ⊞ h v, v the solution, is to the tolerance, relative to it: on
  /// the other side a row more or less is found. At most 1.
  double selection_margin = 1;
};

/// A step as an ordered list of solves; one reverse walk serves events, ReLCP, projection, Newton.
struct StepRecord {
  State before, after;
  VecX u;                                ///< controls
  Outcome outcome = Outcome::NotFinite;  ///< of the step
  std::vector<SolveRecord> solves;
};

struct [[nodiscard]] StepReport {
  Outcome outcome = Outcome::NotFinite;  ///< of the worst solve
  Method method = Method::Automatic;
  int solves = 0, iterations = 0, events = 0;
  bool events_exhausted = false;
  Index contacts = 0;         ///< found at the start
  int recursions = 0;         ///< Relcp: rounds that added rows
  Index constraints = 0;      ///< contacts with rows in the last solve
  int newton_iterations = 0;  ///< linearisations of flexible parts, all intervals together
  int cuts = 0;               ///< times an interval was halved because an element would invert
  Index inverted = 0;         ///< elements inverted after the step all the same
  /// The law that the largest island was solved by.
  Accuracy accuracy = Accuracy::Exact;
  /// The judge's, worst solve. Standard and Fast: the largest distance of a contact's velocity from
  /// its own exact answer, over g h.
  double residual = 0;
  /// Deepest penetration after the step [m], >= 0. Standard and Fast: foreseen from the gaps and
  /// velocities, which is never less for spheres.
  double deepest = 0;
  double joint_error = 0;             ///< largest position error of a joint after the step [m, rad]
  double kinetic = 0, potential = 0;  ///< energy after the step [J]
  double seconds_collision = 0, seconds_assembly = 0, seconds_solve = 0, seconds_projection = 0;
};

class StepWorkspace {
 public:
  StepWorkspace();
  ~StepWorkspace();
  StepWorkspace(StepWorkspace&&) noexcept;
  StepWorkspace& operator=(StepWorkspace&&) noexcept;
  struct Impl;
  Impl& impl() { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

/// Advances `state` by settings.h. `u`: controls of the actuators (empty: zero). On failure the
/// state is the best found and the report says so; NaN never leaves a step. `record`, where given,
/// is overwritten with all that the gradient needs.
StepReport step(const Model& model, const Parameters& parameters, const StepSettings& settings,
                const VecX& u, State& state, WarmStart& warm, StepWorkspace& workspace,
                StepRecord* record = nullptr);

/// Called after each step with its number, the state and the report; false ends the rollout.
using RolloutCallback = std::function<bool(std::int64_t, const State&, const StepReport&)>;

struct [[nodiscard]] RolloutReport {
  Outcome outcome = Outcome::Converged;  ///< of the worst step
  std::int64_t steps = 0;                ///< done
  std::int64_t failed_steps = 0;         ///< whose outcome was not Converged
  double residual = 0;                   ///< worst step
  double deepest = 0, joint_error = 0;   ///< worst step [m; m, rad]
};

/// `steps` steps from `state`, without controls, from an empty warm start.
RolloutReport rollout(const Model& model, const Parameters& parameters,
                      const StepSettings& settings, State& state, std::int64_t steps,
                      const RolloutCallback& callback = {});

}  // namespace orthant
