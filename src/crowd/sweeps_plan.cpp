// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_plan.cpp: cells => tasks; contacts of a task => batches of eight.
// Within a task only the eight contacts of one batch must not share a body: no colouring, so the
// order from the lowest up survives.
#include "crowd/sweeps_plan.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "base/refill.hpp"
#include "orthant/base/mix.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::internal {
namespace {

constexpr int kWindow = 64;                // batches that are open at the same time
constexpr std::size_t kLeastTable = 1024;  // entries of the hashed cells, a power of two
constexpr std::uint64_t kEven = 0x5555555555555555;

/// Numbers the cells that hold contacts => slot_of, cells, in any order. Contacts that follow one
/// another are mostly of one cell.
void number_cells(const SweepProblem& p, SweepPlan& plan) {
  plan.cells.clear();
  refill(plan.slot_of, p.contacts.size());
  plan.table.assign(std::max(plan.table.size(), kLeastTable), -1);
  const auto place_of = [&](const SweepCell& cell) {  // its own, or the free one it would have
    const std::size_t mask = plan.table.size() - 1;
    const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(cell[0])) << 32 |
                     static_cast<std::uint32_t>(cell[1]);
    std::size_t at = mix_bits(key) & mask;
    while (plan.table[at] >= 0 && plan.cells[static_cast<std::size_t>(plan.table[at])] != cell)
      at = (at + 1) & mask;
    return at;
  };
  std::int32_t last = -1;
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    const SweepCell& cell = p.contacts[i].cell;
    if (last < 0 || cell != plan.cells[static_cast<std::size_t>(last)]) {
      std::size_t at = place_of(cell);
      if (plan.table[at] < 0) {
        plan.cells.push_back(cell);
        if (2 * plan.cells.size() > plan.table.size()) {
          plan.table.assign(2 * plan.table.size(), -1);
          for (std::size_t k = 0; k + 1 < plan.cells.size(); ++k)
            plan.table[place_of(plan.cells[k])] = static_cast<std::int32_t>(k);
          at = place_of(cell);
        }
        plan.table[at] = static_cast<std::int32_t>(plan.cells.size()) - 1;
      }
      last = plan.table[at];
    }
    plan.slot_of[i] = last;
  }
}

/// Tasks in an order that the cells alone decide, each with its contacts in the order of the
/// problem.
void find_tasks(const SweepProblem& p, const SweepCrew* crew, SweepPlan& plan) {
  number_cells(p, plan);
  std::vector<std::int32_t>& by_cell = plan.by_cell;
  by_cell.resize(plan.cells.size());
  for (std::size_t i = 0; i < by_cell.size(); ++i) by_cell[i] = static_cast<std::int32_t>(i);
  const auto key = [&](std::int32_t slot) {
    const SweepCell& cell = plan.cells[static_cast<std::size_t>(slot)];
    return std::tuple(colour_of(cell), cell[1], cell[0]);
  };
  if (crew != nullptr)
    std::erase_if(by_cell, [&](std::int32_t slot) {
      return !crew->mine(plan.cells[static_cast<std::size_t>(slot)]);
    });
  std::sort(by_cell.begin(), by_cell.end(),
            [&](std::int32_t a, std::int32_t b) { return key(a) < key(b); });
  plan.tasks.resize(by_cell.size());
  std::vector<std::int32_t>& task_of = plan.task_of;
  task_of.assign(plan.cells.size(), -1);
  plan.colours.fill(0);
  for (std::size_t t = 0; t < by_cell.size(); ++t) {
    task_of[static_cast<std::size_t>(by_cell[t])] = static_cast<std::int32_t>(t);
    plan.tasks[t].cell = plan.cells[static_cast<std::size_t>(by_cell[t])];
    plan.tasks[t].end = 0;
    ++plan.colours[static_cast<std::size_t>(colour_of(plan.tasks[t].cell)) + 1];
  }
  for (int k = 0; k < kSweepColours; ++k) plan.colours[k + 1] += plan.colours[k];
  std::size_t total = 0;
  for (std::int32_t& slot : plan.slot_of) {
    slot = task_of[static_cast<std::size_t>(slot)];
    if (slot >= 0) ++plan.tasks[static_cast<std::size_t>(slot)].end;
  }
  for (SweepTask& task : plan.tasks) {
    task.begin = total;
    total += task.end;
    task.end = task.begin;
  }
  refill(plan.order, total);
  for (std::size_t i = 0; i < plan.slot_of.size(); ++i)
    if (plan.slot_of[i] >= 0)
      plan.order[plan.tasks[static_cast<std::size_t>(plan.slot_of[i])].end++] =
          static_cast<std::int32_t>(i);
}

/// Counting sort by height; contacts of the same slice stay in their order.
void sort_by_height(const SweepProblem& p, const SweepTask& task,
                    std::vector<std::int32_t>& order) {
  constexpr std::size_t kMostSlices = 4096;
  const std::size_t n = task.end - task.begin;
  thread_local std::vector<std::int32_t> bucket, unsorted;
  unsorted.assign(order.begin() + static_cast<std::ptrdiff_t>(task.begin),
                  order.begin() + static_cast<std::ptrdiff_t>(task.end));
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const std::int32_t i : unsorted) {
    low = std::min(low, p.contacts[i].height);
    high = std::max(high, p.contacts[i].height);
  }
  const std::size_t slices = std::min(kMostSlices, n);
  const double scale = high > low ? static_cast<double>(slices - 1) / (high - low) : 0;
  const auto slice_of = [&](std::int32_t i) {
    return static_cast<std::size_t>((p.contacts[i].height - low) * scale);
  };
  bucket.assign(slices + 1, 0);
  for (const std::int32_t i : unsorted) ++bucket[slice_of(i) + 1];
  for (std::size_t i = 0; i < slices; ++i) bucket[i + 1] += bucket[i];
  for (const std::int32_t i : unsorted)
    order[task.begin + static_cast<std::size_t>(bucket[slice_of(i)]++)] = i;
}

/// The row of a body in a task; those that do not move as -1 - place in `still`, until the rows are
/// counted.
std::int32_t row_in(const SweepProblem& p, SweepTask& task, std::int32_t body) {
  if (moves(p.bodies[body])) return body;
  const auto found = std::find(task.still.begin(), task.still.end(), body);
  const auto place = static_cast<std::int32_t>(found - task.still.begin());
  if (found == task.still.end()) task.still.push_back(body);
  return -1 - place;
}

/// Puts each contact into the oldest open batch that has a free lane and neither of its bodies;
/// those that are likely to stay open have batches of their own. Bodies that do not move may be
/// in a batch as often as they like. `used` is clear before and after, for the bodies of this task.
void fill_batches(const SweepProblem& p, double far, bool twins, SweepPlan& plan, SweepTask& task) {
  std::vector<std::int32_t>& rows_of = task.rows_of;
  rows_of.clear();
  task.still.assign(1, 0);
  task.states.clear();
  const bool warm = std::any_of(plan.order.begin() + static_cast<std::ptrdiff_t>(task.begin),
                                plan.order.begin() + static_cast<std::ptrdiff_t>(task.end),
                                [&](std::int32_t i) { return !p.contacts[i].impulse.isZero(0); });
  std::uint64_t full = 0;                     // open batches without a free lane
  std::uint64_t near_only = 0, far_only = 0;  // open batches
  int count[kWindow] = {};
  std::size_t first = 0, batches = 0;  // of the open ones; of all
  // Those that share no body are open as long as each other.
  task.twins = twins && task.end - task.begin >= kTwinContacts;
  const std::size_t together = task.twins ? 2 : 1;
  const auto close_first = [&] {
    for (std::size_t k = 0; k < together && first < batches; ++k, ++first) {
      const std::uint64_t bit = std::uint64_t{1} << (first % kWindow);
      const std::int32_t* rows = rows_of.data() + 2 * kSweepBatch * first;
      for (int l = 0; l < 2 * kSweepBatch; ++l)
        if (rows[l] >= 0) plan.used[rows[l]] &= ~bit;
      full &= ~bit;
      near_only &= ~bit;
      far_only &= ~bit;
    }
  };
  for (std::size_t k = task.begin; k < task.end; ++k) {
    const std::int32_t i = plan.order[k];
    const SweepContact& c = p.contacts[i];
    const std::int32_t a = row_in(p, task, c.a), b = row_in(p, task, c.b);
    const bool is_far = warm && c.bias > far && c.impulse.isZero(0);
    std::uint64_t taken = full | (is_far ? near_only : far_only);
    for (const std::int32_t row : {a, b}) {
      if (row < 0) continue;
      const std::uint64_t used = plan.used[row];
      taken |= used;
      if (task.twins) taken |= (used & kEven) << 1 | (used >> 1 & kEven);
    }
    const int turn = static_cast<int>(first % kWindow);
    std::size_t batch = first + static_cast<std::size_t>(std::countr_zero(std::rotr(~taken, turn)));
    if (~taken == 0 || batch >= first + kWindow) {
      close_first();
      batch = batches;
    }
    while (batch >= batches || batches % together != 0) {
      rows_of.insert(rows_of.end(), 2 * kSweepBatch, -1);
      task.states.push_back(is_far ? BatchState::Watched : BatchState::Swept);
      count[batches % kWindow] = 0;
      (is_far ? far_only : near_only) |= std::uint64_t{1} << (batches % kWindow);
      ++batches;
    }
    const std::size_t place = batch % kWindow;
    const std::uint64_t bit = std::uint64_t{1} << place;
    const int lane = count[place]++;
    rows_of[2 * kSweepBatch * batch + static_cast<std::size_t>(lane)] = a;
    rows_of[2 * kSweepBatch * batch + static_cast<std::size_t>(kSweepBatch + lane)] = b;
    plan.lane_of[i] = static_cast<std::int32_t>(kSweepBatch * batch) + lane;
    for (const std::int32_t row : {a, b})
      if (row >= 0) plan.used[row] |= bit;
    if (count[place] == kSweepBatch) full |= bit;
    const std::uint64_t ends = (std::uint64_t{1} << together) - 1;
    while (first + together <= batches && (~full >> (first % kWindow) & ends) == 0) close_first();
  }
  while (first < batches) close_first();
  task.batches = batches;
}

}  // namespace

void plan_sweeps(const SweepProblem& p, const SweepCrew* crew, double far, bool twins,
                 SweepPlan& plan) {
  find_tasks(p, crew, plan);
  plan.used.assign(p.bodies.size(), 0);
  refill(plan.lane_of, p.contacts.size());
  // Tasks of one colour share no body that moves; those of others do.
  for (int colour = 0; colour < kSweepColours; ++colour) {
    const std::size_t first = plan.colours[colour];
    parallel_for(plan.colours[colour + 1] - first, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t t = first + begin; t < first + end; ++t) {
        sort_by_height(p, plan.tasks[t], plan.order);
        fill_batches(p, far, twins, plan, plan.tasks[t]);
      }
    });
  }
  plan.batches = 0;
  plan.rows = p.bodies.size() + p.bodies.size() % 2;  // two rows of floats are a line
  for (SweepTask& task : plan.tasks) {
    task.first_batch = plan.batches;
    plan.batches += task.batches;
    task.first_still = plan.rows;
    plan.rows += task.still.size() + task.still.size() % 2;
    const auto last = static_cast<std::int32_t>(task.first_still);
    for (std::int32_t& row : task.rows_of)
      if (row < 0) row = last - 1 - row;
  }
}

}  // namespace orthant::internal
