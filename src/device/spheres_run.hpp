// SPDX-License-Identifier: Apache-2.0
// device/spheres_run.hpp: the stages of spheres_kernel.hpp in order. A back end has
//   each(count, body)            body(i) for i in [0, count), possibly at once
//   sort(keys, values, n, bits)  pairs by the lowest bits of the key, stable
//   scan(values, n)              each entry becomes the sum of those before it
//   reserve(buffer, n), put(at, value), get(from, n, to), copy(from, to, n)
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>

#include "device/spheres_kernel.hpp"
#include "orthant/device/sphere_report.hpp"

namespace orthant::device {

constexpr int kKeyBits = 3 * static_cast<int>(kAxisBits) + 3, kColourBits = 7;

template <class Backend>
class SphereRun {
 public:
  SphereRun(Backend& backend, const SphereModel& model) : on_(backend), model_(model) {
    const std::size_t n = static_cast<std::size_t>(model.count);
    on_.reserve(key_, n);
    on_.reserve(cell_of_, n + 1);
    on_.reserve(cell_begin_, n + 1);
    on_.reserve(cell_key_, n);
    on_.reserve(place_, n);
    on_.reserve(motion_, n + 1);
    on_.reserve(before_, n);
    on_.reserve(touched_, n);
    on_.reserve(late_first_, n + 1);
    on_.reserve(momentum_, 1);
    on_.reserve(group_, kColours + 1);
    on_.reserve(colours_, n);
    for (Kept& kept : kept_) {
      on_.reserve(kept.order, n);
      on_.reserve(kept.rank, n);
      on_.reserve(kept.first, n + 1);
    }
  }
  ~SphereRun() {
    visit_buffers([&](auto& buffer) { on_.release(buffer); });
  }
  SphereRun(const SphereRun&) = delete;
  SphereRun& operator=(const SphereRun&) = delete;

  /// Nothing is known of the last step: the next one starts from no impulses.
  void forget() { known_ = false; }

  SphereReport step(double* q, double* v) {
    const std::size_t n = static_cast<std::size_t>(model_.count);
    SphereReport report;
    if (n == 0) return report;
    SphereWork w = work(q, v);
    on_.reserve(totals_[0], n);
    on_.reserve(totals_[1], n / kFanIn + 1);
    w.totals = totals_[0].data;
    on_.each(n, CountNotFinite{w});
    report.not_finite = static_cast<std::int64_t>(total(n).sum);
    on_.each(n, SpeedOfSphere{w});
    w.edge = cell_edge(total(n));

    on_.each(n, KeyOfSphere{w});
    on_.sort(w.key, w.order, n, kKeyBits);
    on_.put(motion_.data + n, SphereMotion{});
    on_.each(n, PlaceSphere{w});
    w.cells = on_.scan(w.cell_of, n);
    on_.each(n, BeginCell{w});
    on_.put(w.cell_begin + w.cells, static_cast<int>(n));
    int turn[kTurns + 1];
    groups(w.cell_key, w.cells, 3 * static_cast<int>(kAxisBits), kTurns, turn);

    on_.put(w.first + n, 0);
    on_.put(w.late_first + n, 0);
    on_.each(n, CountContacts{w});
    const auto contacts = static_cast<std::size_t>(on_.scan(w.first, n + 1));
    const int late = on_.scan(w.late_first, n + 1);
    reserve_contacts(contacts, static_cast<std::size_t>(late), w);
    on_.each(n, FillContacts{w});
    for (int t = 0; t < kTurns; ++t)
      on_.each(static_cast<std::size_t>(turn[t + 1] - turn[t]), ColourCell{w, turn[t]});
    if (late > 0) on_.each(1, ColourLate{w, late});
    on_.sort(w.colour, w.sequence, contacts, kColourBits);
    on_.each(contacts, ArrangeContact{w});
    int colour[kColours + 1];
    groups(w.colour, static_cast<int>(contacts), 0, kColours, colour);
    // The last group is of contacts for which no colour was left.
    const int rest = static_cast<int>(contacts) - colour[kColours];
    const auto each_colour = [&]<class Each>(Each each) {
      for (int c = 0; c < kColours; ++c) {
        each.begin = colour[c];
        on_.each(static_cast<std::size_t>(colour[c + 1] - colour[c]), each);
      }
      each.begin = colour[kColours];
      if (rest > 0) on_.each(1, OneByOne<Each>{each, rest});
    };

    if (known_) each_colour(PushContact{w, 0});
    on_.copy(w.motion, w.before, n);
    on_.put(w.momentum, SphereMomentum{1, 0, HUGE_VAL});
    for (int sweep = 0; sweep < model_.sweeps && contacts > 0; ++sweep) {
      each_colour(SweepContact{w, 0});
      if (sweep + 1 == model_.sweeps) break;
      on_.each(1, ChooseMomentum{w, reduce(contacts)});
      on_.each(n, CarrySphere{w});
    }
    if (contacts > 0) {
      on_.each(contacts, JudgeContact{w});
      report.residual = total(contacts).most / (model_.push > 0 ? model_.push : 1);
      on_.each(contacts, DeepestContact{w});
      report.deepest = total(contacts).most;
    }
    on_.each(n, AdvanceSphere{w});
    report.contacts = static_cast<std::int64_t>(contacts);
    report.late = late;
    report.one_by_one = rest;
    known_ = true;
    side_ = 1 - side_;
    return report;
  }

 private:
  /// What the next step looks up its impulses in.
  struct Kept {
    Buffer<int> order, rank, first, position;
    Buffer<double> contact;  ///< of SphereContacts
  };

  template <class Visit>
  void visit_buffers(Visit&& visit) {
    visit(key_), visit(cell_key_), visit(cell_of_), visit(cell_begin_), visit(late_first_);
    visit(group_), visit(place_), visit(motion_), visit(before_), visit(touched_), visit(late_);
    visit(colours_), visit(colour_), visit(sequence_), visit(found_);
    visit(momentum_), visit(totals_[0]), visit(totals_[1]);
    for (Kept& kept : kept_)
      visit(kept.order), visit(kept.rank), visit(kept.first), visit(kept.position),
          visit(kept.contact);
  }

  SphereWork work(double* q, double* v) {
    Kept &now = kept_[side_], &old = kept_[1 - side_];
    SphereWork w{};
    w.m = model_;
    w.q = q;
    w.v = v;
    w.key = key_.data;
    w.cell_key = cell_key_.data;
    w.cell_of = cell_of_.data;
    w.cell_begin = cell_begin_.data;
    w.late_first = late_first_.data;
    w.colours = colours_.data;
    w.place = place_.data;
    w.motion = motion_.data;
    w.before = before_.data;
    w.touched = touched_.data;
    w.momentum = momentum_.data;
    w.order = now.order.data;
    w.rank = now.rank.data;
    w.first = now.first.data;
    w.old_order = old.order.data;
    w.old_rank = old.rank.data;
    w.old_first = old.first.data;
    w.old_position = old.position.data;
    w.old_contact = {known_ ? old.contact.data : nullptr};
    return w;
  }

  /// Where each of `count` groups of sorted keys begins, and where the last one ends.
  void groups(const std::uint64_t* keys, int n, int shift, int count, int* begin) {
    on_.each(static_cast<std::size_t>(count) + 1, BeginGroup{keys, n, shift, group_.data});
    on_.get(group_.data, static_cast<std::size_t>(count) + 1, begin);
  }

  void reserve_contacts(std::size_t contacts, std::size_t late, SphereWork& w) {
    Kept& now = kept_[side_];
    on_.reserve(now.contact, SphereContacts::size(contacts));
    on_.reserve(now.position, contacts);
    on_.reserve(found_, contacts);
    on_.reserve(late_, late);
    on_.reserve(colour_, contacts);
    on_.reserve(sequence_, contacts);
    on_.reserve(totals_[0], contacts);
    on_.reserve(totals_[1], contacts / kFanIn + 1);
    w.contact = {now.contact.data};
    w.position = now.position.data;
    w.found = found_.data;
    w.late = late_.data;
    w.colour = colour_.data;
    w.sequence = sequence_.data;
    w.totals = totals_[0].data;
  }

  /// Twice the reach of a contact: two radii, and the gap that two bodies of usual speed close.
  /// Those few that are faster are swept last.
  double cell_edge(const SphereTotals& speeds) const {
    const double usual = 3 * std::sqrt(speeds.sum / model_.count);
    const double gap =
        model_.margin * model_.largest + 2 * model_.h * std::min(std::sqrt(speeds.most), usual);
    return 2 * (2 * model_.largest + std::min(gap, 2 * model_.largest));
  }

  /// Adds up totals[0 .. count); where the sum lies.
  const SphereTotals* reduce(std::size_t count) {
    int from = 0;
    while (count > 1) {
      const std::size_t next = (count + kFanIn - 1) / kFanIn;
      on_.each(next, AddTotals{totals_[from].data, totals_[1 - from].data, count, next});
      count = next;
      from = 1 - from;
    }
    return totals_[from].data;
  }
  SphereTotals total(std::size_t count) {
    SphereTotals sum;
    on_.get(reduce(count), 1, &sum);
    return sum;
  }

  Backend& on_;
  SphereModel model_;
  Kept kept_[2];
  int side_ = 0;
  bool known_ = false;
  Buffer<std::uint64_t> key_, cell_key_, colours_, colour_;
  Buffer<int> cell_of_, cell_begin_, late_first_, late_, sequence_, group_;
  Buffer<SpherePlace> place_;
  Buffer<SphereMotion> motion_, before_;
  Buffer<unsigned char> touched_;
  Buffer<SphereContact> found_;
  Buffer<SphereTotals> totals_[2];
  Buffer<SphereMomentum> momentum_;
};

}  // namespace orthant::device
