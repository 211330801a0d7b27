// SPDX-License-Identifier: Apache-2.0
// step/run.hpp: what the parts of one step share. Private to the room.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "collision/changed_contacts.hpp"
#include "collision/shape_measures.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/constraint/assemble.hpp"
#include "orthant/constraint/fluid.hpp"
#include "orthant/step/step.hpp"
#include "step/crew.hpp"

namespace orthant {

namespace internal {

class BodyParts;

// --- what one stage hands to the next ---

/// An interval before its contacts have rows: the equations of motion and the contacts it may
/// close.
struct Detected {
  Assembly assembly;               // H, k, v_free; the rows are added by solve_velocities()
  std::vector<BodyMotion> motion;  // by body: where it may go
  ContactSet contacts;             // near, or closing within the interval
};

/// Velocities at the end of an interval, and the contacts they obey.
struct Solved {
  ContactSet rows;  // the contacts that have rows in the problem
  ContactRowSettings row_settings;
  Solution solution;
  std::vector<Contact> closing;  // those that end the interval as they close, as they are there
};

/// Where an interval takes the bodies.
struct Displacement {
  VecX delta;                          // q⁺ = q ⊞ delta
  std::vector<unsigned char> touched;  // by dynamic body: moves with v⁺, not in second-order flight
  VecX held;  // what the solve took off the coast of bodies with rows: force/held_spin.hpp
};

/// A problem of one instant: an impact, or a round of the projection.
struct Correction {
  Assembly assembly;
  Solution solution;
};

/// A configuration that is tried, and the contacts there.
struct Trial {
  VecX q;
  ContactSet contacts;
};

// --- what one part of the room keeps from call to call: memory, never meaning ---

struct RecursionScratch {
  std::vector<LastNormal> last_normals;
  std::vector<Contact> touching;       // all overlaps of the last trial
  std::vector<unsigned char> changed;  // by body: its trial is not that of the last round
  VecX last_q;                         // the last trial
  WarmStart whole_pairs;               // see whole_pairs()
  BodyParts* parts = nullptr;          // of the step at hand; null: it is made whole
};

struct CrowdScratch {
  SweepProblem problem;
  std::vector<SweepCell> cells;  // by dynamic body
  SweepWorkspace sweeps;
  ScaleWorkspace scale_work;  // of the judge of what was swept
  ProblemScale scale;
  JudgeWorkspace judge;
  StepCrew* crew = nullptr;
  std::vector<std::size_t> kept;                     // by chunk of contacts: how many of them push
  std::vector<std::int32_t> island_of, island_size;  // by dynamic body
  std::vector<std::int32_t> told;                    // by body: its place among those of the sweeps
  std::vector<unsigned char> fast;                   // by body: it turns by much
  std::vector<double> turned_gaps;  // of the rows added where the step leads: Φ' − dt J' v' [m]
};

}  // namespace internal

struct StepWorkspace::Impl {
  CollisionWorkspace collision;
  ShapeMeasures measures;  // of the parameters of the step
  SolveWorkspace solver;
  SolveReport solve_report;  // of the last solve
  State before;              // keep_start()
  internal::Detected detected;
  internal::Solved solved;
  internal::Displacement displacement;
  internal::Correction correction;
  internal::Trial trial;
  std::vector<const WarmStart::Entry*> matched;  // by contact: what it pushed with last
  VecX flight, psi;
  internal::RecursionScratch recursion;
  internal::CrowdScratch crowd;
  const Model* checked = nullptr;  // it found the parameters of `measures` good; never followed
  bool swept = false;              // the step was that of a crowd: no projection
};

namespace internal {

/// One call of step(): its arguments, and the report being written.
struct StepRun {
  const Model& model;
  const Parameters& parameters;
  const StepSettings& settings;
  const VecX& u;
  State& x;
  WarmStart& warm;
  StepWorkspace::Impl& work;
  StepReport& report;
  StepRecord* record;
  const Fluid* fluid = nullptr;  ///< null: none

  StepInterval interval(double dt) const { return {x.q, x.v, x.t, dt, &u}; }
};

/// Slowest approach that bounces [m/s]: the setting, or the speed gravity adds in two steps.
double restitution_threshold(const StepRun& run);

/// Touching, as impacts and tolerances see it: a share of the smaller shape [m].
double contact_tolerance(const StepRun& run, const Contact& contact);

// --- energy.cpp ---
/// Into the report. `contacts_known`: work.trial.contacts are those of the state.
void measure_energy(StepRun& run, bool contacts_known);

// --- interval.cpp ---
/// The state the step began with, for a step that ends in numbers that are not finite. Not of large
/// crowds, which look before they move: the copy would be a twentieth of their memory.
inline void keep_start(StepRun& run) { run.work.before = run.x; }
/// Contacts of the configuration q as it stands, rigid and flexible.
void find_contacts_at(StepRun& run, const VecX& q, ContactSet& out);
/// H, k and v_free of the next dt. False: H is singular.
bool assemble_free_motion(StepRun& run, double dt, Assembly& out);
/// The contacts that the next dt may close, from v_free. `either`: see CollisionSettings.
void find_near_contacts(StepRun& run, double dt, bool either, Detected& out,
                        const BodyFilter& filter = {});
/// Both.
bool detect(StepRun& run, double dt, Detected& out);

/// (equations of motion, solved.rows) => velocities at the end of dt, without a record: they may
/// turn out not to be the step. `located`: rigid contacts bounce at located impacts, not here.
/// False: not finite.
bool solve_velocities(StepRun& run, double dt, bool located, Assembly& assembly, Solved& solved);
/// The interval of a step with impact events, of length dt with solved.rows: velocities and where
/// they lead. False: not finite.
bool solve_located(StepRun& run, double dt);
/// δ of the interval: h v⁺, and the second-order flight of all that nothing touches.
void find_displacement(StepRun& run, double dt, const Assembly& assembly, const Solved& solved,
                       Displacement& out);
/// q ⊞ δ, v⁺, t + dt => x; impulses => warm.
void advance(StepRun& run, double dt, const Assembly& assembly, const Solved& solved,
             const Displacement& displacement);
/// Solves, judges, adds to report and record; false when the answer is not finite.
bool solve_and_report(StepRun& run, SolveKind kind, double duration, const Assembly& assembly,
                      const ContactSet& contacts, Solution& solution, bool record = true);
/// Writes the solve that has just been made into the record, if there is one.
void record_solve(StepRun& run, SolveKind kind, double duration, const Assembly& assembly,
                  const ContactSet& contacts, const Solution& solution);

/// The step as a sequence of intervals. `choose(left, dt)` solves the next one, at most `left`
/// long, and says how long it is: work.detected, work.solved, work.displacement. It is then
/// recorded and taken. False: `choose` failed.
template <class Choose>
bool step_in_intervals(StepRun& run, double length, Choose&& choose);

/// One interval; `crowd`: by sweeps where it turns out to be one, and the start has not been kept.
bool step_interval(StepRun& run, double dt, bool crowd);
/// Flexible parts: intervals are halved while an element would invert.
bool step_with_cuts(StepRun& run, double length);
/// Intervals are halved while they end in an overlap.
bool step_with_halving(StepRun& run);

// --- crowd.cpp ---
/// The settings and the model allow steps of crowds.
bool is_crowd(const StepRun& run);
/// v_free and the bodies of the sweeps without H. False where a body has more than its mass and
/// inertia in H.
bool free_crowd_motion(StepRun& run, double dt);
/// One interval with the contacts that were found, by sweeps alone; `light`: free_crowd_motion()
/// has been called. False: not a crowd after all, or the numbers overflowed; nothing has been
/// changed then. A state that would not be finite is reported, and not taken.
bool step_crowd(StepRun& run, double dt, bool light);
/// The rows of `assembly` by sweeps, from solved.solution into it: in a pile the answer, or the
/// best start there is. Does nothing where the rows are not those of contacts alone. True where the
/// judge accepts it as the answer.
bool start_by_sweeps(StepRun& run, double dt, const Assembly& assembly, Solved& solved);

// --- recursion.cpp ---
/// How the settings want pairs to be looked at.
CollisionSettings collision_settings(const StepRun& run);
/// The whole step with one row per pair (Single, Relcp) or rows of sub-spheres (Multisphere).
bool step_recursive(StepRun& run);

// --- warm_start.cpp ---
// Round and ordinal of a recursion's row share the feature of its key; both are the step's own.
constexpr std::uint32_t kRoundShift = 8, kOrdinalMask = (1u << kRoundShift) - 1;
/// run.warm with what each pair pushed with as a whole, under the name of its first row: a step
/// begins with one row per pair and finds the others anew.
const WarmStart& whole_pairs(StepRun& run);
/// The entry of each contact, by key or nearest of its pair; null where there is none.
void match_contacts(const std::vector<Contact>& contacts, const WarmStart& warm,
                    std::vector<const WarmStart::Entry*>& matched);
/// Velocities now and the impulses of `warm`, for the rows of solved.rows.
void start_from(const WarmStart& warm, StepRun& run, double dt, const Assembly& assembly,
                Solved& solved);
/// Impulses of the solution => warm, for the whole step.
void keep_impulses(const StepRun& run, double dt, const Assembly& assembly, const Solved& solved,
                   WarmStart& warm);

// --- projection.cpp ---
/// Measures overlaps and joint errors at x, and removes them where the settings say so.
void project_positions(StepRun& run);

// --- events.cpp ---
/// Gap at which a pair is said to have met: far below the tolerance, so that differences of steps
/// see a smooth function of the state.
double meeting_gap(const StepRun& run, const Contact& contact);
/// The whole step, interrupted at each impact.
bool step_with_events(StepRun& run);

// --- impacts.cpp ---
/// Speed above which an approach is an impact [m/s].
double impact_threshold(const StepRun& run);
/// A spring of its own: it has forces, and no impacts.
bool is_soft(const StepRun& run, const Contact& contact);
/// Impacts of all contacts that touch and approach, one pair after another => x.v; true when there
/// was one. `at_start`: of the step.
bool resolve_impacts(StepRun& run, const ContactSet& contacts, bool at_start);

// --- rattle.cpp ---
bool step_rattle(StepRun& run);

template <class Choose>
bool step_in_intervals(StepRun& run, double length, Choose&& choose) {
  const Assembly& assembly = run.work.detected.assembly;
  const Solved& solved = run.work.solved;
  for (double left = length; left > 0;) {
    double dt = left;
    if (!choose(left, dt)) return false;
    const bool ends = !(left - dt > 1e-12 * length);
    record_solve(run, SolveKind::Step, dt, assembly, solved.rows, solved.solution);
    if (run.record != nullptr && !ends) run.record->solves.back().closing = solved.closing;
    advance(run, dt, assembly, solved, run.work.displacement);
    left = ends ? 0 : left - dt;
  }
  return true;
}

}  // namespace internal
}  // namespace orthant
