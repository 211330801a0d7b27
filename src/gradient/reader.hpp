// SPDX-License-Identifier: Apache-2.0
// gradient/reader.hpp: where the kernels of a solve read their inputs and leave their outputs.
//   inputs   q (tangent), v, u, parameters, length of the interval, scale of the restitution
//   outputs  the equations at the answer held,  k − H v⁺ + Cᵀγ + Dᵀλ,  C v⁺ + e,  D v⁺ + F λ + b,
//            the data of the laws, the flight of bodies that nothing touches, gaps, impulses
// Two readers with one interface: Pull records on a tape and seeds the outputs, Push carries one
// direction in dual numbers. gradient/elements.hpp is written once for both.
#pragma once

#include <cmath>
#include <vector>

#include "constraint/medium.hpp"
#include "gradient/tape.hpp"
#include "model/joint_kernel.hpp"
#include "orthant/gradient/step.hpp"
#include "orthant/math/dual.hpp"
#include "orthant/model/model.hpp"

namespace orthant::internal {

/// One number for every output of a solve: weights (Pull) or changes (Push).
struct SolveOutputs {
  ResidualDerivative equations;
  VecX delta;      // of bodies in flight, as State::v
  VecX gap;        // by contact; empty: zero
  MatX impulse_W;  // 3 x contacts; empty: zero
};

/// One number for every input.
struct SolveInputs {
  VecX q, v, u, parameters;
  double duration = 0;
  double scale = 0;  // of every restitution, SolveRecord::rows

  void set_zero(const Model& model) {
    q.setZero(model.v_size());
    v.setZero(model.v_size());
    u.setZero(model.control_count());
    parameters.setZero(model.parameter_table().size());
    duration = scale = 0;
  }
};

/// A node that touches an edge or a node of another part, as good as on it: the way there has no
/// direction that could be differentiated, and the normal is held.
inline bool holds_normal(const FlexibleContact& c) {
  const int corners = c.corner_count - 1;
  return c.body_sign == 0 && corners < (c.planar ? 2 : 3) && std::abs(c.gap) < 1e-6 * c.size;
}

/// Bodies of this solve that do not fly have the spin of force/held_spin.hpp.
inline bool holds_spins(const SolveRecord& record) {
  return record.kind == SolveKind::Step && record.rows.impacts_located && !record.touched.empty();
}

/// What both readers know.
struct SolveContext {
  const Model& model;
  const Parameters& parameters;
  const VecX& u;
  const SolveRecord& record;
  const Solution& answer;  // what is held: the recorded one, or a point of the central path
  bool with_parameters = true;
  const Medium* medium = nullptr;  // where it acts beyond the local drag

  double control(Index i) const { return u.size() == 0 ? 0 : u[i]; }
};

/// Inputs as T, made by Derived::input(value, place in SolveInputs).
template <class Derived, class Scalar>
class Reader {
 public:
  using T = Scalar;
  explicit Reader(const SolveContext& context) : x(context) {}

  T parameter(Index i) {
    const double value = x.parameters.values[i];
    return x.with_parameters ? self().input(value, &SolveInputs::parameters, i) : T(value);
  }
  void parameters(Index begin, Index count, T* out) {
    for (Index i = 0; i < count; ++i) out[i] = parameter(begin + i);
  }
  T control(Index i) { return self().input(x.control(i), &SolveInputs::u, i); }
  T duration() { return self().number(x.record.duration, &SolveInputs::duration); }
  T restitution_scale() {
    return self().number(x.record.rows.restitution_scale, &SolveInputs::scale);
  }

  /// A body where it was, moved by its tangent: to first order, which is all that is asked.
  PlacedT<T> place(BodyId id) {
    if (id == kWorld) return {};
    const Body& body = x.model.body(id);
    const double* q = x.record.q.data() + body.q_begin;
    if (body.v_begin == kNone) {
      T fixed[7];
      for (Index i = 0; i < body.q_size; ++i) fixed[i] = T(q[i]);
      return placed<T>(body.planar, fixed);
    }
    const Index at = body.v_begin;
    const auto moved = [&](Index i) { return self().input(q[i], &SolveInputs::q, at + i); };
    const T a = moved(0), b = moved(1);
    if (body.planar) {
      const T xyt[3] = {a, b, moved(2)};
      return placed<T>(true, xyt);
    }
    const T c = moved(2);
    T turn[3];
    for (Index i = 0; i < 3; ++i) turn[i] = self().input(0, &SolveInputs::q, at + 3 + i);
    // p ⊞ θ = p + ½ (0, θ) p + O(θ²)
    const double w = q[3], i = q[4], j = q[5], k = q[6];
    const auto sum = [&](double p, double s0, double s1, double s2) {
      return T(p) + turn[0] * T(0.5 * s0) + turn[1] * T(0.5 * s1) + turn[2] * T(0.5 * s2);
    };
    PlacedT<T> out;
    out.pose.x = Vec3T<T>(a, b, c);
    out.pose.p = {sum(w, -i, -j, -k), sum(i, w, k, -j), sum(j, -k, w, i), sum(k, j, -i, w)};
    return out;
  }

  /// Velocities of a body before the solve; the world and fixed bodies rest.
  void velocity(BodyId id, T* out) {
    for (int i = 0; i < 6; ++i) out[i] = T(0);
    if (id == kWorld) return;
    const Body& body = x.model.body(id);
    for (Index i = 0; i < body.v_size; ++i)
      out[i] = self().input(x.record.v[body.v_begin + i], &SolveInputs::v, body.v_begin + i);
  }
  /// Velocities at the end: the answer, held; those of kinematic bodies are prescribed, so inputs.
  void end_velocity(BodyId id, T* out) {
    for (int i = 0; i < 6; ++i) out[i] = T(0);
    if (id == kWorld) return;
    const Body& body = x.model.body(id);
    if (!body.is_dynamic()) return velocity(id, out);
    for (Index i = 0; i < body.v_size; ++i) out[i] = T(x.answer.v[body.v_begin + i]);
  }

  const SolveContext& x;

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

/// Reverse: outputs are seeded with their weights, finish() adds to the inputs' derivatives.
class Pull : public Reader<Pull, taping::Traced> {
 public:
  Pull(const SolveContext& context, const SolveOutputs& weights, taping::Tape& tape,
       SolveInputs& inputs)
      : Reader(context), weights_(weights), tape_(tape), inputs_(inputs) {}

  T input(double value, VecX SolveInputs::* of, Index i) {
    return {value, &tape_, tape_.input(&(inputs_.*of)[i])};
  }
  T number(double value, double SolveInputs::* of) {
    return {value, &tape_, tape_.input(&(inputs_.*of))};
  }

  void balance(Index row, const T& y) { seed(y, weights_.equations.balance[row]); }
  void bilateral(Index row, const T& y) { seed(y, weights_.equations.bilateral[row]); }
  void block_row(Index row, const T& y) { seed(y, weights_.equations.blocks[row]); }
  void mu(Index block, const T& y) { seed(y, weights_.equations.mu[block]); }
  void mu_r(Index block, const T& y) { seed(y, weights_.equations.mu_r[block]); }
  void lo(Index block, const T& y) { seed(y, weights_.equations.lo[block]); }
  void hi(Index block, const T& y) { seed(y, weights_.equations.hi[block]); }
  void delta(Index row, const T& y) { seed(y, weights_.delta[row]); }
  void gap(Index contact, const T& y) {
    if (weights_.gap.size() > 0) seed(y, weights_.gap[contact]);
  }
  void impulse(Index contact, const Vec3T<T>& y) {
    for (int i = 0; i < 3 && weights_.impulse_W.size() > 0; ++i)
      seed(y[i], weights_.impulse_W(i, contact));
  }
  void finish() { tape_.sweep(); }
  /// One object: all that it reads and writes.
  template <class Element>
  void whole(Element&& element) {
    element();
    finish();
  }

  /// For elements that are pulled back by hand: an input of their own, a seed, the two ends.
  T local(double value, double* to) { return {value, &tape_, tape_.input(to)}; }
  void seed(const T& y, double weight) {
    if (y.tape != nullptr) tape_.seed(y.node, weight);
  }
  const SolveOutputs& weights() const { return weights_; }
  SolveInputs& inputs() { return inputs_; }

 private:
  const SolveOutputs& weights_;
  taping::Tape& tape_;
  SolveInputs& inputs_;
};

/// Forward: one direction in, the change of every output added up.
class Push : public Reader<Push, Dual<1>> {
 public:
  Push(const SolveContext& context, const SolveInputs& direction, SolveOutputs& changes)
      : Reader(context), direction_(direction), changes_(changes) {}

  T input(double value, const VecX SolveInputs::* of, Index i) {
    T y(value);
    y.d[0] = (direction_.*of)[i];
    return y;
  }
  T number(double value, double SolveInputs::* of) {
    T y(value);
    y.d[0] = direction_.*of;
    return y;
  }

  void balance(Index row, const T& y) { changes_.equations.balance[row] += y.d[0]; }
  void bilateral(Index row, const T& y) { changes_.equations.bilateral[row] += y.d[0]; }
  void block_row(Index row, const T& y) { changes_.equations.blocks[row] += y.d[0]; }
  void mu(Index block, const T& y) { changes_.equations.mu[block] += y.d[0]; }
  void mu_r(Index block, const T& y) { changes_.equations.mu_r[block] += y.d[0]; }
  void lo(Index block, const T& y) { changes_.equations.lo[block] += y.d[0]; }
  void hi(Index block, const T& y) { changes_.equations.hi[block] += y.d[0]; }
  void delta(Index row, const T& y) { changes_.delta[row] += y.d[0]; }
  void gap(Index contact, const T& y) {
    if (changes_.gap.size() > 0) changes_.gap[contact] += y.d[0];
  }
  void impulse(Index, const Vec3T<T>&) {}
  void finish() {}
  template <class Element>
  void whole(Element&& element) {
    element();
  }

 private:
  const SolveInputs& direction_;
  SolveOutputs& changes_;
};

}  // namespace orthant::internal
