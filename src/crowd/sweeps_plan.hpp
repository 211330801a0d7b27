// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_plan.hpp: contacts => tasks that may run at the same time => batches of eight.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "crowd/sweeps.hpp"
#include "crowd/sweeps_data.hpp"

namespace orthant::internal {

/// Contacts from which on two batches of a task at a time share no body: of fewer contacts the
/// order would not be from the lowest up any more.
constexpr std::size_t kTwinContacts = 2048;

/// The contacts of one cell.
struct SweepTask {
  SweepCell cell = {0, 0};
  std::size_t begin = 0, end = 0;            // in SweepPlan::order
  std::size_t first_batch = 0, batches = 0;  // of all; its own
  bool twins = false;                        // its batches 2 k and 2 k + 1 share no body that moves
  std::vector<std::int32_t> rows_of;         // by batch: rows of eight of A, of eight of B
  std::vector<BatchState> states;            // by batch, before the first sweep
  // Rows are written back whether they changed or not, so a body that does not move has a row in
  // every task that meets it: no two threads write the same line. The first is that of the world,
  // which lanes without a contact have.
  std::vector<std::int32_t> still;  // bodies
  std::size_t first_still = 0;      // row of the first
};

struct SweepPlan {
  std::vector<SweepTask> tasks;                             // colour by colour, then by cell
  std::array<std::size_t, kSweepColours + 1> colours = {};  // first task of each
  std::vector<std::int32_t> order;    // contacts, task by task, from the lowest up
  std::vector<std::int32_t> lane_of;  // by contact: 8 x batch of its task + lane
  std::size_t batches = 0, rows = 0;
  std::vector<std::uint64_t> used;  // by body: the open batches it is in

  // Scratch of finding the tasks.
  std::vector<std::int32_t> slot_of, by_cell, task_of;
  std::vector<SweepCell> cells;
  std::vector<std::int32_t> table;  // place in `cells`, hashed; -1: free

  /// Batch and lane of a contact.
  std::pair<std::size_t, std::size_t> place_of(const SweepTask& task, std::size_t contact) const {
    const auto lane = static_cast<std::size_t>(lane_of[contact]);
    return {task.first_batch + lane / kSweepBatch, lane % kSweepBatch};
  }
};

inline bool moves(const SweepBody& body) { return body.inverse_mass > 0; }

/// Tasks of the cells that are swept here (crew null: all), with their batches. Where others pushed
/// before, a contact that did not and has to be approached faster than `far` is likely to stay
/// open. `twins`: large tasks have batches two of which may be swept at once.
void plan_sweeps(const SweepProblem& problem, const SweepCrew* crew, double far, bool twins,
                 SweepPlan& plan);

}  // namespace orthant::internal
