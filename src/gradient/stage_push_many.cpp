// SPDX-License-Identifier: Apache-2.0
// gradient/stage_push_many.cpp: one solve of a record, forwards, along many directions at once.
//   every object once, in dual numbers by the few inputs of its own  =>  its rows times the
//   directions  =>  one solve with all of them  =>  the changes of (q', v')
// An object reads a dozen numbers of the state however many directions there are.
#include <algorithm>
#include <cmath>

#include "gradient/stage_walk.hpp"
#include "math/many_columns.hpp"

namespace orthant::internal {
namespace {

constexpr int kWindow = 14;  // inputs looked at together: two bodies' places and two controls

/// Adds the changes of the equations along all directions. Parameters and the interval are held.
class PushMany : public Reader<PushMany, Dual<kWindow>> {
 public:
  PushMany(const SolveContext& context, const Directions& dq, const Directions& dv,
           const Directions& du, ManyOutputs& out)
      : Reader(context), dq_(dq), dv_(dv), du_(du), out_(out) {}

  T input(double value, VecX SolveInputs::* of, Index i) {
    T y(value);
    if (of == &SolveInputs::parameters) return y;
    const Directions& all = of == &SolveInputs::q ? dq_ : of == &SolveInputs::v ? dv_ : du_;
    if (all.size() == 0) return y;
    const double* row = all.data() + i * all.cols();
    std::size_t slot = 0;
    while (slot < rows_.size() && rows_[slot] != row) ++slot;
    if (slot == rows_.size()) rows_.push_back(row);
    if (slot >= begin_ && slot < begin_ + kWindow) y.d[slot - begin_] = 1;
    return y;
  }
  T number(double value, double SolveInputs::*) { return value; }

  void balance(Index row, const T& y) { add(y, out_.balance, row); }
  void bilateral(Index row, const T& y) { add(y, out_.bilateral, row); }
  void block_row(Index row, const T& y) { add(y, out_.blocks, row); }
  void mu(Index, const T&) {}  // parameters and the interval alone
  void mu_r(Index, const T&) {}
  void lo(Index, const T&) {}
  void hi(Index, const T&) {}
  void delta(Index row, const T& y) { add(y, out_.delta, row); }
  void gap(Index, const T&) {}
  void impulse(Index, const Vec3T<T>&) {}
  void finish() {}
  /// An object with more inputs than the window is looked at again.
  template <class Element>
  void whole(Element&& element) {
    for (begin_ = 0; begin_ == 0 || begin_ < rows_.size(); begin_ += kWindow) element();
    rows_.clear();
  }

 private:
  void add(const T& y, Directions& to, Index row) const {
    const auto count = std::min<std::size_t>(rows_.size() - begin_, kWindow);
    double* out = to.data() + row * to.cols();
    for (std::size_t slot = 0; slot < count; ++slot) {
      if (y.d[slot] == 0) continue;
      const double* in = rows_[begin_ + slot];
      for (Index k = 0; k < to.cols(); ++k) out[k] += y.d[slot] * in[k];
    }
  }

  const Directions &dq_, &dv_, &du_;
  ManyOutputs& out_;
  std::vector<const double*> rows_;  // of the directions: the inputs of the object at hand
  std::size_t begin_ = 0;
};

}  // namespace

bool Stage::can_push_many() const {
  const Model& model = *context_.model;
  if (!context_.trials.empty() || !model.flexible_parts().empty() || medium_.acts() ||
      !ends_.of_rows.empty())
    return false;
  return std::ranges::none_of(model.forces(),
                              [](const Force& force) { return force.kind == ForceKind::Callback; });
}

void Stage::push_equations(const Directions& dq, const Directions& dv, const Directions& du,
                           const Solution& answer, ManyOutputs& out) const {
  const Model& model = *context_.model;
  const CanonicalProblem& p = assembly_.problem;
  const Index count = dq.cols();
  out.balance.setZero(p.velocity_count(), count);
  out.bilateral.setZero(p.bilateral_count(), count);
  out.blocks.setZero(p.row_count(), count);
  out.delta.setZero(model.v_size(), count);
  // C δ + Ψ and D δ + Φ where δ, γ and λ are 0: their rows, which leave out kinematic bodies.
  const bool at_rest = answer.v.isZero(0) && answer.gamma.isZero(0) && answer.lambda.isZero(0);
  if (context_.record_->idle && at_rest && model.v_size() == model.dynamic_v_size()) {
    const auto rows = [&](const BlockRows& A, Directions& to) {
      for (Index i = 0; i < A.row_block_count(); ++i) {
        const double* a = A.values(i);
        for (const BlockRows::Entry& entry : A.entries(i)) {
          add_times({a, entry.width, 1}, A.dim(i), entry.width, 1, dq.data() + entry.column * count,
                    to.data() + A.row_begin(i) * count, count);
          a += static_cast<std::ptrdiff_t>(A.dim(i)) * entry.width;
        }
      }
    };
    rows(p.C, out.bilateral);
    rows(p.D, out.blocks);
    return;
  }
  const SolveContext x{model, *context_.parameters, *context_.u, *context_.record_, answer, false};
  PushMany reader(x, dq, dv, du, out);
  walk(reader);
}

void Stage::push_many(Directions& dq, Directions& dv, const Directions& du) {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const bool moves = r.kind != SolveKind::Impact, step = is_interval();
  ManyOutputs& x = many_;
  Directions& change = many_change_;
  push_equations(dq, dv, du, gradient_->answer(), x);
  gradient_->tangent(x.balance, x.bilateral, x.blocks, change);
  if (const Solution* free = other_impulses(true); free != nullptr)
    compare_many(dq, dv, du, *free, change);
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const Index at = body.v_begin, n = body.v_size;
    auto by_q = dq.middleRows(at, n), by_v = dv.middleRows(at, n);
    auto shift = x.delta.middleRows(at, n);  // of q'
    if (!body.is_dynamic()) {
      if (step) shift = r.duration * by_v;
    } else {
      const auto next = change.middleRows(at, n);
      if (r.kind == SolveKind::Projection) {
        shift = next;
      } else {
        by_v = next;
      }
      if (step && flies(body)) {
        shift += 0.5 * r.duration * next;
      } else if (step) {
        shift = r.duration * next;
      }
    }
    if (!body.planar && moves) {
      const TurnMaps maps(delta_.segment<3>(at + 3));
      by_q.bottomRows<3>() = (maps.rotation * by_q.bottomRows<3>()).eval();
      shift.bottomRows<3>() = (maps.jacobian * shift.bottomRows<3>()).eval();
    }
    by_q += shift;
  }
}

/// As push(): what other impulses change of the change of v, and rows that must stay consistent.
void Stage::compare_many(const Directions& dq, const Directions& dv, const Directions& du,
                         const Solution& free, const Directions& found) {
  Solution other = gradient_->answer();
  other.gamma += free.gamma;
  other.lambda += free.lambda;
  ManyOutputs moved;
  push_equations(dq, dv, du, other, moved);
  moved.balance -= many_.balance;
  Directions by_other;
  gradient_->tangent(moved.balance, 0 * moved.bilateral, 0 * moved.blocks, by_other);
  ResidualDerivative rows;
  if (all_stick(free)) {
    rows.blocks = free.lambda;
  } else {
    rows = gradient_->dependent_equations();
  }
  for (Index i = 0; i < found.cols(); ++i) {
    compare_tangents(by_other.col(i), found.col(i));
    double sum = 0, size = 0;
    const auto add = [&](const VecX& row, const Directions& changes) {
      if (row.size() == 0) return;
      sum += row.dot(changes.col(i));
      size += row.cwiseAbs().dot(changes.col(i).cwiseAbs());
    };
    add(rows.balance, many_.balance);
    add(rows.bilateral, many_.bilateral);
    add(rows.blocks, many_.blocks);
    if (std::abs(sum) > kContradicts * size) reason_ = kContradiction;
  }
}

}  // namespace orthant::internal
