// SPDX-License-Identifier: Apache-2.0
// device/rods_inner_kernel.hpp: the solve of rods_kernel.hpp for large worlds, by an interior point
// in the motion u of the rods with the factor of fronts_kernel.hpp:
//   M u = Jᵀλ,  s = J u + c,  λ_r s_r = μ → 0,  s > 0, λ > 0          (M = W⁻¹)
//   (M + Jᵀ diag(weight) J) Δu = −M u + Jᵀ t,   weight = λ/(s + δ λ),
//   t = (extra + δ λ² − λ (J u + c − s))/(s + δ λ)
// Each factor serves a predictor (extra = 0) and a corrector (extra = σμ − Δs Δλ of the predictor),
// as Mehrotra does; δ, a proximal weight on λ, keeps the weights from growing without bound. Rows
// of a later round are violated a little: all s are made as large as that first. The rows of a pair
// only add to the same block.
#pragma once

#include <vector>

#include "device/fronts_kernel.hpp"
#include "device/rods_kernel.hpp"

namespace orthant::device {

/// A row: s and λ, and where they go.
struct alignas(16) RodInner {
  double gap, push, gap_step, push_step, extra, change;
};
/// What the rods read of it.
struct alignas(16) RodPull {
  double weight, target;
};

struct InnerWork {
  RodWork w;
  RodInner* inner;
  RodPull* pull;
  double *u, *step, *right;  // 3 numbers per rod
  double delta;
};

ORTHANT_HD inline double row_of(const RodWork& w, std::size_t r, const double* u) {
  const RodRow row = w.row[r];
  const RodName name = w.name[r];
  const double *a = u + 3 * static_cast<std::size_t>(name.a),
               *b = u + 3 * static_cast<std::size_t>(name.b);
  return row.nx * (a[0] - b[0]) + row.ny * (a[1] - b[1]) + row.arm_a * a[2] - row.arm_b * b[2];
}

struct StartInnerRod {
  InnerWork i;
  ORTHANT_HD void operator()(std::size_t k) const {
    const RodMove& m = i.w.move[k];
    double* u = i.u + 3 * k;
    u[0] = m.x, u[1] = m.y, u[2] = m.turn;
  }
};
/// Rows begin as far from their limits as the motion is wrong: λ s near that of the others.
struct StartInnerRow {
  InnerWork i;
  double gap, complement;
  ORTHANT_HD void operator()(std::size_t r) const {
    const double s = larger(row_of(i.w, r, i.u) + i.w.rest[r].c, gap);
    i.inner[r] = {s, larger(i.w.impulse[r].now, complement / s), 0, 0, 0, 0};
  }
};

struct InnerDiagonal {
  InnerWork i;
  const Diagonal* at = nullptr;
  double* matrix = nullptr;
  ORTHANT_HD void operator()(std::size_t k) const {
    const RodMobility W = i.w.mobility[k];
    double S[6] = {1 / W.slide, 1 / W.slide, 1 / W.turn, 0, 0, 0};  // xx, yy, tt, xy, xt, yt
    for (int e = i.w.link_begin[k]; e < i.w.link_begin[k + 1]; ++e) {
      const RodLink l = i.w.link[e];
      const double d = i.pull[l.row].weight;
      S[0] += d * l.x * l.x, S[1] += d * l.y * l.y, S[2] += d * l.arm * l.arm;
      S[3] += d * l.x * l.y, S[4] += d * l.x * l.arm, S[5] += d * l.y * l.arm;
    }
    const std::size_t stride = static_cast<std::size_t>(at[k].stride);
    double* F = matrix + at[k].at;
    F[0] = S[0], F[1] = S[3], F[2] = S[4];
    F[stride + 1] = S[1], F[stride + 2] = S[5];
    F[2 * stride + 2] = S[2];
  }
};
struct InnerOffDiagonal {
  InnerWork i;
  const Slot* slot = nullptr;
  double* matrix = nullptr;
  ORTHANT_HD void operator()(std::size_t k) const {
    const Slot at = slot[k];
    double S[3][3] = {};
    for (int e = i.w.link_begin[at.first]; e < i.w.link_begin[at.first + 1]; ++e) {
      const RodLink l = i.w.link[e];
      const RodName name = i.w.name[l.row];
      if (name.a != at.later && name.b != at.later) continue;
      const double d = i.pull[l.row].weight;
      const double arm = name.a == at.later ? i.w.row[l.row].arm_a : -i.w.row[l.row].arm_b;
      const double later[3] = {-d * l.x, -d * l.y, d * arm}, first[3] = {l.x, l.y, l.arm};
      ORTHANT_UNROLL for (int p = 0; p < 3; ++p) ORTHANT_UNROLL for (int q = 0; q < 3; ++q)
          S[p][q] += later[p] * first[q];
    }
    ORTHANT_UNROLL for (int q = 0; q < 3; ++q) ORTHANT_UNROLL for (int p = 0; p < 3; ++p)
        matrix[at.at + static_cast<std::size_t>(q) * static_cast<std::size_t>(at.stride) +
               static_cast<std::size_t>(p)] = S[p][q];
  }
};

struct InnerTarget {
  InnerWork i;
  double centre;
  bool corrects;
  ORTHANT_HD void operator()(std::size_t r) const {
    RodInner& x = i.inner[r];
    x.extra = corrects ? centre - x.gap_step * x.push_step : 0;
    const double off = row_of(i.w, r, i.u) + i.w.rest[r].c - x.gap;
    const double give = i.delta * x.push, inverse = 1 / (x.gap + give);
    i.pull[r] = {x.push * inverse, (x.extra + x.push * (give - off)) * inverse};
  }
};
struct InnerRight {
  InnerWork i;
  ORTHANT_HD void operator()(std::size_t k) const {
    double x = 0, y = 0, turn = 0;
    for (int e = i.w.link_begin[k]; e < i.w.link_begin[k + 1]; ++e) {
      const RodLink l = i.w.link[e];
      const double t = i.pull[l.row].target;
      x += l.x * t, y += l.y * t, turn += l.arm * t;
    }
    const RodMobility W = i.w.mobility[k];
    const double* u = i.u + 3 * k;
    double* right = i.right + 3 * k;
    right[0] = x - u[0] / W.slide;
    right[1] = y - u[1] / W.slide;
    right[2] = turn - u[2] / W.turn;
  }
};
/// Δs and Δλ; most: how fast the first of them would reach 0.
struct InnerStep {
  InnerWork i;
  ORTHANT_HD RodTotals operator()(std::size_t r) const {
    RodInner& x = i.inner[r];
    const double off = row_of(i.w, r, i.u) + i.w.rest[r].c - x.gap;
    const double moved = row_of(i.w, r, i.step) + off;
    x.push_step = (x.extra - x.push * (x.gap + moved)) / (x.gap + i.delta * x.push);
    x.gap_step = moved + i.delta * x.push_step;
    return {x.gap_step + x.push_step, larger(-x.gap_step / x.gap, -x.push_step / x.push)};
  }
};
/// Draws products λ s that would stray far from `centre`, `part` of the step gone, back to it.
struct InnerCentre {
  InnerWork i;
  double part, centre;
  ORTHANT_HD void operator()(std::size_t r) const {
    RodInner& x = i.inner[r];
    const double product = (x.gap + part * x.gap_step) * (x.push + part * x.push_step);
    const double low = kLow * centre, high = kHigh * centre;
    const double more = product < low ? low - product : product > high ? high - product : 0;
    x.change = larger(more, -high);
    x.extra += x.change;
    i.pull[r].target += x.change / (x.gap + i.delta * x.push);
  }
  static constexpr double kLow = 0.1, kHigh = 10;
};
struct InnerUncentre {
  InnerWork i;
  ORTHANT_HD void operator()(std::size_t r) const {
    RodInner& x = i.inner[r];
    x.extra -= x.change;
    i.pull[r].target -= x.change / (x.gap + i.delta * x.push);
  }
};
struct InnerComplement {
  InnerWork i;
  double part;
  ORTHANT_HD RodTotals operator()(std::size_t r) const {
    const RodInner x = i.inner[r];
    return {(x.gap + part * x.gap_step) * (x.push + part * x.push_step), 0};
  }
};
struct InnerAdvanceRow {
  InnerWork i;
  double part;
  ORTHANT_HD void operator()(std::size_t r) const {
    RodInner& x = i.inner[r];
    x.gap += part * x.gap_step;
    x.push += part * x.push_step;
    i.w.impulse[r].now = x.push;
  }
};
struct InnerAdvanceRod {
  InnerWork i;
  double part;
  ORTHANT_HD void operator()(std::size_t k) const { i.u[k] += part * i.step[k]; }
};
struct MeanPush {
  RodWork w;
  ORTHANT_HD RodTotals operator()(std::size_t r) const { return {w.impulse[r].now, 0}; }
};

template <class Backend>
class RodInterior {
 public:
  RodInterior(Backend& backend, double tolerance)
      : on_(backend), fronts_(backend), model_tolerance_(tolerance) {}
  ~RodInterior() {
    on_.release(inner_), on_.release(pull_);
    on_.release(u_), on_.release(step_), on_.release(right_);
  }
  RodInterior(const RodInterior&) = delete;
  RodInterior& operator=(const RodInterior&) = delete;

  /// Rows from `base` on are new; 0: all of a step. Their links are made. overlap: deepest where
  /// the motion would lead.
  void start(const RodWork& w, int base, double overlap) {
    const auto rows = static_cast<std::size_t>(w.rows), rods = static_cast<std::size_t>(w.count);
    shape(w, base);
    on_.reserve(u_, 3 * rods);
    on_.reserve(step_, 3 * rods);
    on_.reserve(right_, 3 * rods);
    on_.grow(inner_, static_cast<std::size_t>(base), rows);
    on_.grow(pull_, 0, rows);
    on_.each(rows, BoundRow{w});
    if (base == 0) on_.each(rods, StartInnerRod{work(w)});
    const InnerWork i = work(w);
    const double push = mean(i, on_.total(rows, MeanPush{w}, w.totals));
    const double gap = push > 0 ? larger(overlap, w.m.tolerance) : w.m.near;
    on_.each(rows, StartInnerRow{i, gap, kStartPush * (push > 0 ? push : 1) * gap});
  }
  /// To w.m.tolerance; iterations: factors.
  RodSolve solve(const RodWork& w) {
    const auto rows = static_cast<std::size_t>(w.rows), rods = static_cast<std::size_t>(w.count);
    const InnerWork i = work(w);
    RodSolve solved{0, -1};
    const auto complement = [&](double part) {
      return mean(i, on_.total(rows, InnerComplement{i, part}, i.w.totals));
    };
    now_ = complement(0);
    while (solved.iterations < kMostFactors && solved.iterations < w.m.max_iterations) {
      on_.each(rows, InnerTarget{i, 0, false});
      fronts_.factor(InnerDiagonal{i}, InnerOffDiagonal{i});
      ++solved.iterations;
      const double ahead = towards(i);
      const double left = complement(ahead) / now_;
      const double centre = left * left * left * now_;
      on_.each(rows, InnerTarget{i, centre, true});
      double part = towards(i);
      for (int k = 0; k < kCorrectors && part < kLong; ++k) {
        on_.each(rows, InnerCentre{i, part + kFurther < 1 ? part + kFurther : 1, centre});
        const double next = towards(i);
        const bool pays = next > part + kPays;
        if (next < part) on_.each(rows, InnerUncentre{i});
        part = next < part ? towards(i) : next;
        if (!pays) break;
      }
      part *= kAlmost;
      on_.each(rows, InnerAdvanceRow{i, part});
      on_.each(3 * rods, InnerAdvanceRod{i, part});
      now_ = complement(0);
      on_.each(rods, MoveRod{w});
      const RodTotals judged = on_.total(rows, JudgeRow{w}, w.totals);
      solved.residual = judged.sum - judged.sum == 0 ? judged.most : -1;
      if (!(solved.residual > w.m.tolerance)) break;
    }
    return solved;
  }

 private:
  static constexpr double kStartPush = 0.3;  ///< of the mean
  static constexpr double kAlmost = 0.995;   ///< of the way to the first limit
  static constexpr double kGive = 0.01;      ///< of the tolerance: δ, for impulses near 1
  // Correctors after Mehrotra's: each aims further, and stays where the step becomes longer.
  static constexpr int kCorrectors = 2;
  static constexpr double kFurther = 0.3, kPays = 0.03, kLong = 0.9;
  static constexpr int kMostFactors = 100;

  InnerWork work(const RodWork& w) const {
    return {w, inner_.data, pull_.data, u_.data, step_.data, right_.data, kGive * model_tolerance_};
  }
  double mean(const InnerWork& i, const RodTotals& total) const {
    return total.sum / static_cast<double>(i.w.rows);
  }
  /// The step of the present target, and how much of it can be gone.
  double towards(const InnerWork& i) {
    on_.each(static_cast<std::size_t>(i.w.count), InnerRight{i});
    fronts_.solve(i.right, i.step);
    const double most =
        on_.total(static_cast<std::size_t>(i.w.rows), InnerStep{i}, i.w.totals).most;
    return most > 1 ? 1 / most : 1;
  }
  /// The tree of fronts for the pairs of the rows.
  void shape(const RodWork& w, int base) {
    names_.resize(static_cast<std::size_t>(w.rows));
    on_.get(w.name + base, static_cast<std::size_t>(w.rows - base), names_.data() + base);
    bool covered = base > 0;
    for (int r = base; r < w.rows && covered; ++r) {
      const RodName& name = names_[static_cast<std::size_t>(r)];
      covered = fronts_.tree().covers(name.a, name.b);
    }
    if (covered) return;
    const auto rods = static_cast<std::size_t>(w.count);
    q_.resize(3 * rods);
    on_.get(w.q, 3 * rods, q_.data());
    xy_.resize(2 * rods);
    for (std::size_t k = 0; k < rods; ++k) xy_[2 * k] = q_[3 * k], xy_[2 * k + 1] = q_[3 * k + 1];
    pairs_.clear();
    for (const RodName& name : names_)  // rows of a pair mostly follow each other
      if (pairs_.empty() || pairs_.back() != std::array{name.a, name.b})
        pairs_.push_back({name.a, name.b});
    fronts_.build(xy_, pairs_);
  }

  Backend& on_;
  Fronts<Backend> fronts_;
  double model_tolerance_, now_ = 0;  ///< now_: mean of λ s
  Buffer<RodInner> inner_;
  Buffer<RodPull> pull_;
  Buffer<double> u_, step_, right_;
  std::vector<RodName> names_;
  std::vector<double> q_, xy_;
  std::vector<std::array<int, 2>> pairs_;
};

}  // namespace orthant::device
