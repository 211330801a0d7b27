// SPDX-License-Identifier: Apache-2.0
// device/rods_run.hpp: the stages of rods_kernel.hpp in order. A back end has what spheres_run.hpp
// asks of one, and
//   total(count, term, scratch)   as the grid of rods_kernel.hpp
//   solve(work)                   solve_rods() with a grid
#pragma once

#include <utility>

#include "device/rods_inner_kernel.hpp"
#include "orthant/device/rods.hpp"

namespace orthant::device {

// Tolerances, of the rounds before no row is missing; of the first one of an interior point.
constexpr double kRough = 10, kRoughInside = 1000;
constexpr double kAskInside = 0.25;  // of the overlap: a round is dear there, a row is not

template <class Backend>
class RodRun {
 public:
  RodRun(Backend& backend, const RodModel& model)
      : on_(backend), model_(model), interior_(backend, model.tolerance) {
    on_.reserve(solve_, 1);
  }
  ~RodRun() {
    visit_buffers([&](auto& buffer) { on_.release(buffer); });
  }
  RodRun(const RodRun&) = delete;
  RodRun& operator=(const RodRun&) = delete;

  /// Nothing is known of the last step: the next one starts from no impulses.
  void forget() { known_ = 0; }

  RodReport step(std::size_t n, double* q, double* length) {
    RodReport report;
    report.outcome = RodOutcome::Converged;
    if (n == 0) return report;
    if (known_ != n) forget();
    reserve_rods(n);
    RodWork w = work(n, q, length);
    const RodTotals sizes = on_.total(n, RodNotFinite{w}, w.totals);
    if (sizes.sum > 0) {
      report.outcome = RodOutcome::NotFinite;
      return report;
    }
    w.edge = sizes.most * model_.growth + model_.near;
    on_.reserve(before_, n);
    on_.copy(length, before_.data, n);
    on_.each(n, GrowRod{w});
    report.deepest = find_rows(w, model_.near, -1);
    report.first = w.rows;
    const bool inside = n >= static_cast<std::size_t>(model_.interior_from) && w.rows > 0;
    // Roughly solved until no row is missing: new rows would undo what more products gain.
    const double rough = model_.as_step != 0 ? 1 : inside ? kRoughInside : kRough;
    const double ask = inside && model_.as_step == 0 ? kAskInside : 1;
    w.m.tolerance = rough * model_.tolerance;
    for (int round = 0, base = 0;; ++round) {
      if (round == 0 || w.rows > base) {
        link_rows(w);
        if (inside) interior_.start(w, base, report.deepest);
      }
      const RodSolve solved = inside ? interior_.solve(w) : on_.solve(w);
      base = w.rows;
      ++report.solves;
      report.iterations += solved.iterations;
      report.residual = solved.residual;
      if (solved.residual < 0) {
        report.outcome = RodOutcome::NotFinite;
        break;
      }
      const bool exact = solved.residual <= model_.tolerance;
      report.deepest = find_rows(w, -ask * model_.overlap, exact ? model_.overlap : -1);
      const bool added = w.rows > base;
      if (!(solved.residual <= w.m.tolerance) || (added && round >= model_.max_recursions)) {
        report.outcome = RodOutcome::IterationLimit;
        break;
      }
      if (!added && exact) break;
      if (!added)
        w.m.tolerance = model_.tolerance;
      else if (inside)
        w.m.tolerance = larger(0.1 * w.m.tolerance, model_.tolerance);
    }
    report.rows = w.rows;
    if (report.outcome == RodOutcome::NotFinite) {
      on_.copy(before_.data, length, n);
      forget();
      return report;
    }
    on_.each(n, AdvanceRod{w});
    known_ = n;
    side_ = 1 - side_;
    return report;
  }

 private:
  /// What the next step looks up its impulses in.
  struct Kept {
    Buffer<RodName> name;
    Buffer<RodImpulse> impulse;
    Buffer<RodLink> link;
    Buffer<int> link_begin;
  };

  template <class Visit>
  void visit_buffers(Visit&& visit) {
    visit(key_), visit(cell_key_), visit(link_key_), visit(order_), visit(cell_of_);
    visit(cell_begin_), visit(first_), visit(link_entry_), visit(place_), visit(move_);
    visit(mobility_), visit(row_), visit(rest_), visit(totals_), visit(solve_);
    visit(before_);
    for (Kept& kept : kept_)
      visit(kept.name), visit(kept.impulse), visit(kept.link), visit(kept.link_begin);
  }

  void reserve_rods(std::size_t n) {
    on_.reserve(key_, n);
    on_.reserve(cell_key_, n);
    on_.reserve(order_, n);
    on_.reserve(cell_of_, n);
    on_.reserve(cell_begin_, n + 1);
    on_.reserve(first_, n + 1);
    on_.reserve(place_, n);
    on_.reserve(move_, n);
    on_.reserve(mobility_, n);
    on_.reserve(totals_, n + n / kSumLanes + 2);
    on_.reserve(kept_[side_].link_begin, n + 1);
  }

  RodWork work(std::size_t n, double* q, double* length) {
    RodWork w{};
    w.m = model_;
    w.count = static_cast<int>(n);
    w.q = q;
    w.length = length;
    w.key = key_.data;
    w.cell_key = cell_key_.data;
    w.order = order_.data;
    w.cell_of = cell_of_.data;
    w.cell_begin = cell_begin_.data;
    w.first = first_.data;
    w.place = place_.data;
    w.move = move_.data;
    w.mobility = mobility_.data;
    w.totals = totals_.data;
    w.solve = solve_.data;
    w.link_begin = kept_[side_].link_begin.data;
    const Kept& old = kept_[1 - side_];
    w.old_name = old.name.data;
    w.old_impulse = old.impulse.data;
    w.old_link = old.link.data;
    w.old_link_begin = known_ == n ? old.link_begin.data : nullptr;
    return w;
  }

  /// Adds the rows of all pairs nearer than `limit` at the trial, unless the deepest overlap there,
  /// which it returns, is at most `enough`.
  double find_rows(RodWork& w, double limit, double enough) {
    const auto n = static_cast<std::size_t>(w.count);
    on_.each(n, KeyOfRod{w});
    on_.sort(w.key, w.order, n, 2 * static_cast<int>(kAxisBits));
    on_.each(n, PlaceRod{w});
    w.cells = on_.scan(w.cell_of, n);
    on_.each(n, BeginRodCell{w});
    on_.put(w.cell_begin + w.cells, w.count);
    on_.put(w.first + n, 0);
    on_.each(n, CountRows{w, limit});
    const double deepest = on_.total(n, ReadTotals{w.totals}, w.totals + n).most;
    if (deepest <= enough) return deepest;
    const int base = w.rows, more = on_.scan(w.first, n + 1);
    if (more == 0 && base > 0) return deepest;
    reserve_rows(static_cast<std::size_t>(base), static_cast<std::size_t>(base + more), w);
    on_.each(n, FillRows{w, limit, base});
    w.rows = base + more;
    return deepest;
  }

  void reserve_rows(std::size_t used, std::size_t rows, RodWork& w) {
    Kept& now = kept_[side_];
    on_.grow(row_, used, rows);
    on_.grow(now.name, used, rows);
    on_.grow(rest_, used, rows);
    on_.grow(now.impulse, used, rows);
    on_.grow(now.link, 2 * used, 2 * rows);  // a row looks up which one it takes over from
    on_.reserve(link_key_, 2 * rows);
    on_.reserve(link_entry_, 2 * rows);
    w.row = row_.data;
    w.name = now.name.data;
    w.rest = rest_.data;
    w.impulse = now.impulse.data;
    w.link = now.link.data;
    w.link_key = link_key_.data;
    w.link_entry = link_entry_.data;
    on_.grow(totals_, 0, rows / kSumLanes + 2);
    w.totals = totals_.data;
  }

  void link_rows(const RodWork& w) {
    const auto rods = static_cast<std::size_t>(w.count),
               links = 2 * static_cast<std::size_t>(w.rows);
    on_.each(links, KeyOfLink{w});
    on_.sort(w.link_key, w.link_entry, links, 31);
    on_.each(rods + 1, BeginGroup{w.link_key, static_cast<int>(links), 0, w.link_begin});
    on_.each(links, FillLink{w});
    on_.each(rods, BoundRod{w});
  }

  Backend& on_;
  RodModel model_;
  RodInterior<Backend> interior_;
  Kept kept_[2];
  int side_ = 0;
  std::size_t known_ = 0;  ///< rods whose last step is known
  Buffer<std::uint64_t> key_, cell_key_, link_key_;
  Buffer<int> order_, cell_of_, cell_begin_, first_, link_entry_;
  Buffer<RodPlace> place_;
  Buffer<RodMove> move_;
  Buffer<RodMobility> mobility_;
  Buffer<RodRow> row_;
  Buffer<RodRest> rest_;
  Buffer<RodTotals> totals_;
  Buffer<RodSolve> solve_;
  Buffer<double> before_;  ///< lengths where the step begins
};

}  // namespace orthant::device
