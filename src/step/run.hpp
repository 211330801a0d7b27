// SPDX-License-Identifier: Apache-2.0
// step/run.hpp: what the parts of one step share. Private to the room.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "orthant/collision/collision.hpp"
#include "orthant/collision/shape_measures.hpp"
#include "orthant/constraint/assemble.hpp"
#include "orthant/constraint/fluid.hpp"
#include "orthant/step/crew.hpp"
#include "orthant/step/step.hpp"

namespace orthant {

struct StepWorkspace::Impl {
  CollisionWorkspace collision;
  ShapeMeasures measures;  // of the parameters of the step
  std::vector<LastNormal> last_normals;
  ContactSet contacts;                 // near or closing within the interval
  ContactSet rows;                     // those of them that have rows in the problem
  ContactSet after;                    // at the configuration that is being projected or tried
  std::vector<Contact> touching;       // all overlaps of the last trial
  std::vector<unsigned char> changed;  // by body: its trial is not that of the last round
  VecX last_q;                         // the last trial
  std::vector<BodyMotion> motion;      // by body
  Assembly assembly;                   // of the velocities
  Assembly correction;                 // of the positions, and of impacts
  SolveWorkspace solver;
  Solution solution;  // of `assembly`
  Solution correction_solution;
  std::vector<unsigned char> touched;  // by dynamic body: moves with v⁺, not with the mean velocity
  std::vector<unsigned char> jointed;  // by dynamic body
  SolveReport solved;                  // of the last solve
  State before;                        // the state the step began with
  WarmStart whole_pairs;               // see whole_pairs()
  ContactRowSettings row_settings;     // of `assembly`
  SweepProblem crowd;
  SweepWorkspace sweeps;
  StepCrew* crew = nullptr;
  std::vector<std::size_t> kept;                     // by chunk of contacts: how many of them push
  std::vector<std::int32_t> island_of, island_size;  // by dynamic body
  std::vector<const WarmStart::Entry*> matched;      // by contact: what it pushed with last
  bool swept = false;                                // the step was that of a crowd: no projection
  VecX delta, flight, q, psi;
  VecX checked;                          // parameters that keep the rules of the model
  const Model* checked_model = nullptr;  // which one; never followed
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

// --- interval.cpp ---
/// H, k and the contacts that the next dt may close => work.assembly, work.contacts.
bool detect(StepRun& run, double dt, bool either = false);
/// Rows for work.rows, solution of the velocities at the end of dt => work.assembly, work.solution.
/// A trial may turn out not to be the step: it leaves no record.
/// `located`: rigid contacts bounce at located impacts, not here.
bool solve_velocities(StepRun& run, double dt, bool located, bool trial = false);
/// δ of the interval: h v⁺, and the second-order flight of all that nothing touches => work.delta.
void find_displacement(StepRun& run, double dt);
/// q ⊞ δ, v⁺, t + dt => x; impulses => warm.
void advance(StepRun& run, double dt);
/// Newton on the implicit step of flexible parts, from the first linearisation on.
bool relinearise(StepRun& run, double dt, bool trial);
/// An interval with flexible parts, halved while an element would invert.
bool step_with_cuts(StepRun& run, double length);
/// Contacts of the configuration q as it stands, rigid and flexible.
void find_contacts_at(StepRun& run, const VecX& q, ContactSet& out);
/// Solves, judges, adds to report and record; false when the answer is not finite.
bool solve_and_report(StepRun& run, SolveKind kind, double duration, const Assembly& assembly,
                      const ContactSet& contacts, Solution& solution, bool record = true);
/// Writes the solve that has just been made into the record, if there is one.
void record_solve(StepRun& run, SolveKind kind, double duration, const Assembly& assembly,
                  const ContactSet& contacts, const Solution& solution);
/// One interval with work.contacts as they are found.
bool step_interval(StepRun& run, double dt);
/// The same, halved while it ends in an overlap.
bool step_with_halving(StepRun& run);

// --- crowd.cpp ---
/// The settings and the model allow steps of crowds.
bool is_crowd(const StepRun& run);
/// One interval with the contacts of detect(), by sweeps alone. False: not a crowd after all, or
/// the numbers overflowed; nothing has been changed then.
bool step_crowd(StepRun& run, double dt);

/// The rows of work.assembly by sweeps, from work.solution into it: in a pile the answer, or the
/// best start there is. Does nothing where the rows are not those of contacts alone.
void start_by_sweeps(StepRun& run, double dt);

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
void start_from(const WarmStart& warm, const StepRun& run, double dt, Solution& solution);
void keep_impulses(const StepRun& run, double dt, const Solution& solution, WarmStart& warm);

// --- projection.cpp ---
/// Measures overlaps and joint errors at x, and removes them where the settings say so.
void project_positions(StepRun& run);

// --- events.cpp ---
/// The whole step, interrupted at each impact.
bool step_with_events(StepRun& run);

// --- impacts.cpp ---
/// Speed above which an approach is an impact [m/s].
double impact_threshold(const StepRun& run);
/// A spring of its own: it has forces, and no impacts.
bool is_soft(const StepRun& run, const Contact& contact);
/// Impacts of all contacts in work.contacts that touch and approach, one pair after another; true
/// when there was one. `at_start`: of the step.
bool resolve_impacts(StepRun& run, bool at_start);

// --- rattle.cpp ---
bool step_rattle(StepRun& run);

}  // namespace internal
}  // namespace orthant
