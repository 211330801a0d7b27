// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_kernel.hpp: one sweep over batches of eight contacts, in one instruction set.
// Included by sweeps_<instructions>.cpp with ORTHANT_SWEEPS_TABLE (the table it defines) and
// ORTHANT_SWEEPS_LANES (8, or 1 for the reference). Everything is in an anonymous namespace and
// nothing of the standard library is used but types: code compiled for wider registers must not be
// what the linker picks for others. Without contraction every table gives the same bits.
#pragma once

#include "crowd/sweeps_data.hpp"
#include "crowd/sweeps_registers.hpp"

namespace orthant::internal {
namespace {

/// The two bodies of a batch: rows (v, 1/m, s, mobile), s = Lᵀω.
template <class V>
struct BodyPair {
  V a[kBodyRow], b[kBodyRow];
  Trio<V> va() const { return {a[0], a[1], a[2]}; }
  Trio<V> vb() const { return {b[0], b[1], b[2]}; }
  Trio<V> sa() const { return {a[4], a[5], a[6]}; }
  Trio<V> sb() const { return {b[4], b[5], b[6]}; }
  /// Impulse p on A at its centre, turns ta and tb (as s, before `mobile`).
  void push(const Trio<V>& p, const Trio<V>& ta, const Trio<V>& tb) {
    const V ia = a[3], ib = b[3], ma = a[7], mb = b[7];
    a[0] += ia * p.x, a[1] += ia * p.y, a[2] += ia * p.z;
    b[0] -= ib * p.x, b[1] -= ib * p.y, b[2] -= ib * p.z;
    a[4] += ma * ta.x, a[5] += ma * ta.y, a[6] += ma * ta.z;
    b[4] += mb * tb.x, b[5] += mb * tb.y, b[6] += mb * tb.z;
  }
};

template <class V>
struct Change {
  V squares{}, most{};  // Σ Δλ·W Δλ and the largest velocity |Δλ| W
  void add(const V& dn, const V& wn, const V& dt2, const V& wt) {
    const V vn = dn * wn, vt2 = dt2 * wt * wt;
    add(dn * dn * wn + dt2 * wt, larger(vn * vn, vt2));
  }
  void add(const V& more_squares, const V& velocity2) {
    squares += more_squares;
    most = larger(most, velocity2);
  }
};

/// Centred spheres: W = diag(wn, wt, wt), so the exact answer of one contact has a closed form:
/// λ_N = max(0, λ_N − u_N/w_N), then λ_T clipped to μ λ_N. Tangents are world vectors.
template <SweepMode mode, class V, class Data, class Impulses>
ORTHANT_INLINE void round_contact(const Data& d, const Impulses& lambda, BodyPair<V>& bodies,
                                  Change<V>& change) {
  const Trio<V> n = read_trio<V>(d + RoundField::kNormal * kLanes);
  const V ka = read<V>(d + RoundField::kLeverA * kLanes);
  const V kb = read<V>(d + RoundField::kLeverB * kLanes);
  const V old_n = read<V>(lambda);
  const Trio<V> old_t = read_trio<V>(lambda + kLanes);
  const auto push = [&](const V& dn, const Trio<V>& dt) {
    const Trio<V> turn = cross(dt, n);
    bodies.push(dn * n + dt, ka * turn, kb * turn);
  };
  if constexpr (mode == SweepMode::Apply) return push(old_n, old_t);
  const Trio<V> du = bodies.va() - bodies.vb();
  const Trio<V> spin = ka * bodies.sa() + kb * bodies.sb();
  const V un = dot(du, n);
  const Trio<V> ut = du - un * n - cross(spin, n);
  const V soft_n = read<V>(d + RoundField::kSoftN * kLanes);
  const V soft_t = read<V>(d + RoundField::kSoftT * kLanes);
  const V inverse_n = read<V>(d + RoundField::kInverseN * kLanes);
  const V inverse_t = read<V>(d + RoundField::kInverseT * kLanes);
  V new_n = old_n - (un + read<V>(d + RoundField::kBias * kLanes) + soft_n * old_n) * inverse_n;
  const V none = new_n - new_n;
  new_n = larger(new_n, none);
  Trio<V> new_t = old_t - inverse_t * (ut + soft_t * old_t);
  const V bound = read<V>(d + RoundField::kFriction * kLanes) * new_n;
  const V length2 = dot(new_t, new_t);
  const V length = root(length2);
  // |λ_T| <= μ λ_N keeps its length: the factor is 1 to the bit.
  const V shrink = length > bound ? bound / (length > none ? length : none + 1) : none + 1;
  new_t = shrink * new_t;
  const V dn = new_n - old_n;
  const Trio<V> dt = new_t - old_t;
  const V wn = read<V>(d + RoundField::kMobilityN * kLanes);
  const V wt = read<V>(d + RoundField::kMobilityT * kLanes);
  change.add(dn, wn, dot(dt, dt), wt);
  if constexpr (mode == SweepMode::Measure) return;
  write(lambda, new_n);
  write_trio(lambda + kLanes, new_t);
  push(dn, dt);
}

/// A Newton step this small, of s + trace S, is the last: the next error is its square.
template <class T>
constexpr T kLastStep = sizeof(T) == 4 ? T(1e-3) : T(1e-7);

/// One contact of two bodies of any shape, everything divided by W_nn: W = [1 n'; n t] and
/// q = u − W λ of the contact alone. With q_n < 0 it is closed, w_n = 0 and w_t = −s r_t, s >= 0:
///   (S + s 1) r_t = −c,   r_n = −(q_n + n·r_t),   S = t − n n',   c = q_t − n q_n
/// With y = adj(S + s 1) c and m = n·y − q_n det(S + s 1) it sticks where |y| <= μ m at s = 0; else
/// it slides with the s at which |y| = μ m, which lies below |c|(1 + μ|n|)/(−μ q_n). Newton on
/// μ m/|y| = 1, which is linear in s where S is a multiple of 1; bisection where that leaves the
/// bracket. Lanes that are done wait for the others.
template <class T, class V>
struct OneContact {
  V n1, n2, t11, t12, t22, mu;

  /// One step towards it from λ, without a search for s: what sticks is exact, what slides goes a
  /// step of the natural map λ_t − w_t / trace t, which stands still at the answer alone.
  void approach(const V& l1, const V& l2, const V& qn, const V& q1, const V& q2, V& rn, V& r1,
                V& r2) const {
    const V none = qn - qn, one = none + 1;
    const V s11 = t11 - n1 * n1, s12 = t12 - n1 * n2, s22 = t22 - n2 * n2;
    const V c1 = q1 - n1 * qn, c2 = q2 - n2 * qn;
    const V id = one / (s11 * s22 - s12 * s12);
    const V z1 = (s12 * c2 - s22 * c1) * id, z2 = (s12 * c1 - s11 * c2) * id;
    const V zn = none - (qn + n1 * z1 + n2 * z2);
    const V reach = mu * zn;
    const auto sticks = (zn > none) & (z1 * z1 + z2 * z2 <= reach * reach);
    const V along = larger(none - (qn + n1 * l1 + n2 * l2), none);
    const V step = one / (t11 + t22);
    const V y1 = l1 - (q1 + n1 * along + t11 * l1 + t12 * l2) * step;
    const V y2 = l2 - (q2 + n2 * along + t12 * l1 + t22 * l2) * step;
    const V bound = mu * along, square = y1 * y1 + y2 * y2;
    const V shrink = square > bound * bound ? bound / root(square > none ? square : one) : one;
    rn = sticks ? zn : along;
    r1 = sticks ? z1 : shrink * y1;
    r2 = sticks ? z2 : shrink * y2;
  }

  void solve(const V& qn, const V& q1, const V& q2, V& rn, V& r1, V& r2) const {
    const V none = qn - qn, one = none + 1;
    const V s11 = t11 - n1 * n1, s12 = t12 - n1 * n2, s22 = t22 - n2 * n2;
    const V c1 = q1 - n1 * qn, c2 = q2 - n2 * qn;
    const V trace = s11 + s22, det = s11 * s22 - s12 * s12;
    const V a1 = s22 * c1 - s12 * c2, a2 = s11 * c2 - s12 * c1;
    const V nc = n1 * c1 + n2 * c2;
    const auto closed = qn < none;
    // |y| − μ m, and the slope of μ m/|y| times |y|.
    const auto excess = [&](const V& s, V& slope) {
      const V y1 = a1 + s * c1, y2 = a2 + s * c2;
      const V square = y1 * y1 + y2 * y2;
      const V m = n1 * y1 + n2 * y2 - qn * ((s + trace) * s + det);
      slope = mu * (nc - qn * (s + s + trace) -
                    m * (y1 * c1 + y2 * c2) / (square > none ? square : one));
      return root(square) - mu * m;
    };
    V s = none, slope;
    V at = excess(s, slope);
    auto open_ended = closed & (at > none) & (mu > none);
    if (any(open_ended)) {
      V low = none;
      V high = root(c1 * c1 + c2 * c2) * (one + mu * root(n1 * n1 + n2 * n2)) /
               (open_ended ? none - mu * qn : one);
      for (int i = 0; i < 60; ++i) {
        V next = s + at / (slope > none ? slope : one);
        const auto outside = (slope <= none) | (next < low) | (next > high);
        next = outside ? low + (high - low) / 2 : next;
        const V step = next > s ? next - s : s - next;
        s = open_ended ? next : s;
        open_ended = open_ended & (outside | (step > kLastStep<T> * (s + trace))) & (high > low);
        if (!any(open_ended)) break;
        at = excess(s, slope);
        low = at > none ? s : low;
        high = at > none ? high : s;
      }
    }
    const V id = one / ((s + trace) * s + det);
    const auto grips = closed & (mu > none);
    r1 = grips ? none - (a1 + s * c1) * id : none;
    r2 = grips ? none - (a2 + s * c2) * id : none;
    rn = closed ? none - (qn + n1 * r1 + n2 * r2) : none;
  }
};

template <class T, SweepMode mode, class V, class Data, class Impulses>
ORTHANT_INLINE void general_contact(const Data& d, const Impulses& lambda, BodyPair<V>& bodies,
                                    Change<V>& change) {
  using F = GeneralField;
  const auto field = [&](int k) { return read<V>(d + k * kLanes); };
  const auto trio = [&](int k) { return read_trio<V>(d + k * kLanes); };
  const Trio<V> n = trio(F::kFrame), t1 = trio(F::kFrame + 3), t2 = trio(F::kFrame + 6);
  const Trio<V> an = trio(F::kTurnA), a1 = trio(F::kTurnA + 3), a2 = trio(F::kTurnA + 6);
  const Trio<V> bn = trio(F::kTurnB), b1 = trio(F::kTurnB + 3), b2 = trio(F::kTurnB + 6);
  const V ln = read<V>(lambda), l1 = read<V>(lambda + kLanes), l2 = read<V>(lambda + 2 * kLanes);
  const auto push = [&](const V& dn, const V& d1, const V& d2) {
    bodies.push(dn * n + d1 * t1 + d2 * t2, dn * an + d1 * a1 + d2 * a2,
                dn * bn + d1 * b1 + d2 * b2);
  };
  if constexpr (mode == SweepMode::Apply) return push(ln, l1, l2);
  // u over W_nn; the turns of B carry their minus sign.
  const Trio<V> du = bodies.va() - bodies.vb(), sa = bodies.sa(), sb = bodies.sb();
  const V scale = field(F::kInverseN);
  const V un = (dot(du, n) + dot(sa, an) + dot(sb, bn) + field(F::kBias)) * scale;
  const V u1 = (dot(du, t1) + dot(sa, a1) + dot(sb, b1)) * scale;
  const V u2 = (dot(du, t2) + dot(sa, a2) + dot(sb, b2)) * scale;
  const OneContact<T, V> block{field(F::kBlock),     field(F::kBlock + 1), field(F::kBlock + 2),
                               field(F::kBlock + 3), field(F::kBlock + 4), field(F::kFriction)};
  const V soft_n = field(F::kSoftN), soft_t = field(F::kSoftT);
  // The block holds its softness; u does not: u + soft λ is the block's own w.
  const V one = soft_n - soft_n + 1;
  const V qn = un + soft_n * ln - (one * ln + block.n1 * l1 + block.n2 * l2);
  const V q1 = u1 + soft_t * l1 - (block.n1 * ln + block.t11 * l1 + block.t12 * l2);
  const V q2 = u2 + soft_t * l2 - (block.n2 * ln + block.t12 * l1 + block.t22 * l2);
  V rn, r1, r2;
  if constexpr (sizeof(T) == 4 && mode == SweepMode::Sweep)
    block.approach(l1, l2, qn, q1, q2, rn, r1, r2);
  else
    block.solve(qn, q1, q2, rn, r1, r2);
  const V dn = rn - ln, d1 = r1 - l1, d2 = r2 - l2;
  change.add(dn, field(F::kMobilityN), d1 * d1 + d2 * d2, field(F::kMobilityT));
  if constexpr (mode == SweepMode::Measure) return;
  write(lambda, rn);
  write(lambda + kLanes, r1);
  write(lambda + 2 * kLanes, r2);
  push(dn, d1, d2);
}

template <class T>
bool pushes(const T* normal_impulses) {
  bool some = false;
  for (int l = 0; l < kLanes; ++l) some = some || normal_impulses[l] != 0;
  return some;
}

/// The contacts of some lanes: bodies in, impulses, bodies out.
template <class T, bool kRound, SweepMode mode, class V, class Index, class Data, class Impulses>
ORTHANT_INLINE void sweep_lanes(T* bodies, const Index& of_a, const Index& of_b, const Data& d,
                                const Impulses& lambda, Change<V>& change) {
  BodyPair<V> pair;
  gather(bodies, of_a, pair.a);
  gather(bodies, of_b, pair.b);
  if constexpr (kRound)
    round_contact<mode>(d, lambda, pair, change);
  else
    general_contact<T, mode>(d, lambda, pair, change);
  if constexpr (mode != SweepMode::Measure) {
    scatter(pair.a, of_a, bodies);
    scatter(pair.b, of_b, bodies);
  }
}

#if defined(ORTHANT_TWINS)
/// Two batches that share no body: what one after the other does, to the bit.
template <bool kRound, SweepMode mode>
ORTHANT_INLINE void sweep_twins(float* bodies, const std::int32_t* index, const float* data,
                                int next_data, float* lambda, int next_lambda,
                                Change<Pack<float>>& sum) {
  Change<TwinPack> change;
  const Twin<const std::int32_t> of_a{index, 2 * kLanes};
  sweep_lanes<float, kRound, mode>(bodies, of_a, of_a + kLanes, Twin<const float>{data, next_data},
                                   Twin<float>{lambda, next_lambda}, change);
  sum.add(low(change.squares), low(change.most));
  sum.add(high(change.squares), high(change.most));
}
#endif

template <class T, bool kRound, SweepMode mode>
SweepChange walk(const SweepArrays<T>& x) {
  using V = Pack<T>;
  constexpr int kFields = kRound ? int{RoundField::kCount} : int{GeneralField::kCount};
  constexpr int kImpulses = kRound ? kRoundImpulses : kGeneralImpulses;
  constexpr int kWide = kWidth<T>;
  double squares[kLanes] = {};
  T most[kLanes] = {};
  Change<V> lanes[kLanes / kWide] = {};
  const auto watched = [&](std::size_t i) {
    return mode == SweepMode::Sweep && x.states[i] != BatchState::Swept;
  };
  const auto rests = [&](std::size_t i) {
    return watched(i) && x.states[i] == BatchState::Resting && !x.look_at_all;
  };
  constexpr std::size_t kChunk = 256;  // batches: sums of floats stay short
  for (std::size_t begin = 0; begin < x.batches; begin += kChunk) {
    const std::size_t end = begin + kChunk < x.batches ? begin + kChunk : x.batches;
    for (std::size_t i = begin; i < end;) {
      const std::int32_t* index = x.bodies_of + 2 * kLanes * i;
      const T* data = x.data + kFields * kLanes * i;
      T* lambda = x.lambda + kImpulses * kLanes * i;
#if defined(ORTHANT_TWINS)
      const bool twins = sizeof(T) == sizeof(float) && x.twins && i + 1 < end && i % 2 == 0;
      const std::size_t count = twins && rests(i) == rests(i + 1) ? 2 : 1;
#else
      constexpr std::size_t count = 1;
#endif
      if (!rests(i)) {
        bool pushed[2];
        for (std::size_t k = 0; k < count; ++k)
          pushed[k] = watched(i + k) && pushes(lambda + kImpulses * kLanes * k);
        for (int l = 0; count == 1 && l < kLanes; l += kWide)
          sweep_lanes<T, kRound, mode>(x.bodies, index + l, index + kLanes + l, data + l,
                                       lambda + l, lanes[l / kWide]);
#if defined(ORTHANT_TWINS)
        if constexpr (sizeof(T) == sizeof(float))
          if (count == 2)
            sweep_twins<kRound, mode>(x.bodies, index, data, kFields * kLanes, lambda,
                                      kImpulses * kLanes, lanes[0]);
#endif
        for (std::size_t k = 0; k < count; ++k)
          if (watched(i + k))
            x.states[i + k] = pushed[k] || pushes(lambda + kImpulses * kLanes * k)
                                  ? BatchState::Watched
                                  : BatchState::Resting;
      }
      i += count;
    }
    for (int l = 0; l < kLanes; l += kWide) {
      Change<V>& change = lanes[l / kWide];
      T part[kWide], largest[kWide];
      write(part, change.squares);
      write(largest, change.most);
      for (int k = 0; k < kWide; ++k) {
        squares[l + k] += part[k];
        most[l + k] = larger(most[l + k], largest[k]);
      }
      change = {};
    }
  }
  SweepChange total;
  for (int l = 0; l < kLanes; ++l) {
    total.squares += squares[l];
    total.most = larger(total.most, static_cast<double>(most[l]));
  }
  return total;
}

template <class T, bool kRound>
SweepChange sweep(const SweepArrays<T>& x, SweepMode mode) {
  switch (mode) {
    case SweepMode::Sweep:
      return walk<T, kRound, SweepMode::Sweep>(x);
    case SweepMode::Measure:
      return walk<T, kRound, SweepMode::Measure>(x);
    case SweepMode::Apply:
      break;
  }
  return walk<T, kRound, SweepMode::Apply>(x);
}

template <class T>
void extrapolate(T* x, T* last, std::size_t count, T beta) {
  for (std::size_t i = 0; i < count; ++i) {
    const T now = x[i];
    x[i] = now + beta * (now - last[i]);
    last[i] = now;
  }
}

}  // namespace

const SweepTable ORTHANT_SWEEPS_TABLE = {sweep<float, true>,  sweep<float, false>,
                                         sweep<double, true>, sweep<double, false>,
                                         extrapolate<float>,  extrapolate<double>};

}  // namespace orthant::internal
