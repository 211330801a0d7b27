// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_pack.hpp: bodies and contacts <=> the arrays that the kernels read.
#pragma once

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <new>
#include <vector>

#include "crowd/sweeps.hpp"
#include "crowd/sweeps_data.hpp"
#include "crowd/sweeps_plan.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::internal {

constexpr std::size_t kLine = 64;  // bytes of a cache line, and of the widest register
constexpr std::size_t kBodyGrain = 1024, kContactGrain = 512;
constexpr std::size_t kNumberGrain = 16384;  // of what has one number

template <class T>
struct LineAllocator {
  using value_type = T;
  LineAllocator() = default;
  template <class U>
  LineAllocator(const LineAllocator<U>&) {}
  T* allocate(std::size_t n) {
    return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t{kLine}));
  }
  void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t{kLine}); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
template <class T>
using Lines = std::vector<T, LineAllocator<T>>;

/// What the kernels work on, in one precision.
template <class T>
struct Numbers {
  Lines<T> data, lambda, last_lambda, bodies, last_bodies;
};

/// L⁻¹ x.
inline Vec3 scaled(const SweepBody& body, const Vec3& x) {
  const double* r = body.inverse_root;
  return {r[0] * x[0], r[1] * x[0] + r[2] * x[1], r[3] * x[0] + r[4] * x[1] + r[5] * x[2]};
}

/// s = Lᵀω, from L⁻ᵀs = ω.
inline Vec3 turn_of(const SweepBody& body) {
  const double* r = body.inverse_root;
  const double z = body.omega[2] / r[5];
  const double y = (body.omega[1] - r[4] * z) / r[2];
  return {(body.omega[0] - r[1] * y - r[3] * z) / r[0], y, z};
}
inline Vec3 omega_of(const SweepBody& body, const Vec3& s) {
  const double* r = body.inverse_root;
  return {r[0] * s[0] + r[1] * s[1] + r[3] * s[2], r[2] * s[1] + r[4] * s[2], r[5] * s[2]};
}

inline bool is_isotropic(const SweepBody& body) {
  const double* r = body.inverse_root;
  return r[0] == r[2] && r[0] == r[5] && r[1] == 0 && r[3] == 0 && r[4] == 0;
}

/// A side whose turning does not matter, or turns like a centred sphere about the contact.
inline bool is_round(const SweepBody& body, const Vec3& lever, const Vec3& n) {
  if (!moves(body)) return body.omega.isZero(0);
  return is_isotropic(body) && lever.cross(n).squaredNorm() <= 1e-18 * lever.squaredNorm();
}

/// What must be known before anything is packed.
struct Look {
  bool finite = true;
  bool round = true;  // all contacts are between centred spheres and things that stand still
};
inline Look look_at(const SweepProblem& p, std::vector<unsigned char>& flags) {
  constexpr unsigned char kFinite = 1, kRound = 2, kBoth = kFinite | kRound;
  flags.assign(
      chunk_count(p.bodies.size(), kBodyGrain) + chunk_count(p.contacts.size(), kContactGrain),
      kBoth);
  // x·0 summed over everything is 0 only where every number is finite.
  parallel_for_chunks(p.bodies.size(), kBodyGrain,
                      [&](std::size_t begin, std::size_t end, std::size_t chunk) {
                        double sum = 0;
                        for (std::size_t i = begin; i < end; ++i) {
                          const SweepBody& b = p.bodies[i];
                          sum += 0 * (b.v.sum() + b.omega.sum() + b.inverse_mass);
                          for (const double x : b.inverse_root) sum += 0 * x;
                        }
                        if (sum != 0) flags[chunk] = kRound;
                      });
  unsigned char* of_contacts = flags.data() + chunk_count(p.bodies.size(), kBodyGrain);
  parallel_for_chunks(
      p.contacts.size(), kContactGrain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
        double sum = 0;
        bool round = true;
        for (std::size_t i = begin; i < end; ++i) {
          const SweepContact& c = p.contacts[i];
          sum += 0 * (c.normal.sum() + c.lever_a.sum() + c.lever_b.sum() + c.bias + c.friction +
                      c.softness + c.height + c.impulse.sum());
          round = round && is_round(p.bodies[c.a], c.lever_a, c.normal) &&
                  is_round(p.bodies[c.b], c.lever_b, c.normal);
        }
        of_contacts[chunk] =
            static_cast<unsigned char>((sum == 0 ? kFinite : 0) | (round ? kRound : 0));
      });
  unsigned char all = kBoth;
  for (const unsigned char flag : flags) all &= flag;
  return {(all & kFinite) != 0, (all & kRound) != 0};
}

/// Any two unit vectors that make a frame with n.
inline void tangents(const Vec3& n, Vec3& t1, Vec3& t2) {
  const double sign = std::copysign(1.0, n[2]);
  const double a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
  t1 = Vec3(1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]);
  t2 = Vec3(b, sign + n[1] * n[1] * a, -n[1]);
}

template <class T>
void pack_body(const SweepBody& body, T* row) {
  const Vec3 s = turn_of(body);
  for (int k = 0; k < 3; ++k) {
    row[k] = static_cast<T>(body.v[k]);
    row[4 + k] = static_cast<T>(s[k]);
  }
  row[3] = static_cast<T>(body.inverse_mass);
  row[7] = moves(body) ? T(1) : T(0);
}

template <class T>
void pack_bodies(const SweepProblem& p, const SweepPlan& plan, Lines<T>& rows) {
  rows.resize(kBodyRow * plan.rows);
  parallel_for(p.bodies.size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) pack_body(p.bodies[i], rows.data() + kBodyRow * i);
  });
  for (const SweepTask& task : plan.tasks)
    for (std::size_t k = 0; k < task.still.size(); ++k)
      pack_body(p.bodies[task.still[k]], rows.data() + kBodyRow * (task.first_still + k));
}

/// Lanes that hold no contact, or one between bodies that stand still, are zeros: batches with such
/// lanes are cleared, the others are written in full.
template <class T, int kFields, int kImpulses>
void clear_partial(const SweepTask& task, Numbers<T>& x) {
  for (std::size_t b = 0; b < task.batches; ++b) {
    const std::int32_t* rows = task.rows_of.data() + 2 * kSweepBatch * b;
    bool full = true;
    for (int l = 0; l < kSweepBatch; ++l)
      full = full && (static_cast<std::size_t>(rows[l]) < task.first_still ||
                      static_cast<std::size_t>(rows[kSweepBatch + l]) < task.first_still);
    if (full) continue;
    const std::size_t at = kSweepBatch * (task.first_batch + b);
    std::fill_n(x.data.data() + kFields * at, kFields * kSweepBatch, T(0));
    std::fill_n(x.lambda.data() + kImpulses * at, kImpulses * kSweepBatch, T(0));
  }
}

template <class T>
void pack_round(const SweepProblem& p, double epsilon, const SweepPlan& plan, const SweepTask& task,
                Numbers<T>& x) {
  using F = RoundField;
  clear_partial<T, F::kCount, kRoundImpulses>(task, x);
  for (std::size_t at = task.begin; at < task.end; ++at) {
    const auto i = static_cast<std::size_t>(plan.order[at]);
    const SweepContact& c = p.contacts[i];
    const SweepBody &a = p.bodies[c.a], &b = p.bodies[c.b];
    const auto [batch, lane] = plan.place_of(task, i);
    T* d = x.data.data() + F::kCount * kSweepBatch * batch + lane;
    T* lambda = x.lambda.data() + kRoundImpulses * kSweepBatch * batch + lane;
    const auto put = [&](int field, double value) {
      d[field * kSweepBatch] = static_cast<T>(value);
    };
    const double ka = moves(a) ? -c.lever_a.dot(c.normal) * a.inverse_root[0] : 0;
    const double kb = moves(b) ? c.lever_b.dot(c.normal) * b.inverse_root[0] : 0;
    const double wn = a.inverse_mass + b.inverse_mass, wt = wn + ka * ka + kb * kb;
    if (!(wn > 0)) continue;
    const double soft_n = c.softness + epsilon * wn, soft_t = epsilon * wt;
    for (int k = 0; k < 3; ++k) put(F::kNormal + k, c.normal[k]);
    put(F::kLeverA, ka);
    put(F::kLeverB, kb);
    put(F::kBias, c.bias);
    put(F::kFriction, c.friction);
    put(F::kSoftN, soft_n);
    put(F::kSoftT, soft_t);
    put(F::kInverseN, 1 / (wn + soft_n));
    put(F::kInverseT, 1 / (wt + soft_t));
    put(F::kMobilityN, wn + soft_n);
    put(F::kMobilityT, wt + soft_t);
    const double normal = std::max(0.0, c.impulse.dot(c.normal));
    const Vec3 tangential = c.impulse - c.impulse.dot(c.normal) * c.normal;
    lambda[0] = static_cast<T>(normal);
    for (int k = 0; k < 3; ++k) lambda[(1 + k) * kSweepBatch] = static_cast<T>(tangential[k]);
  }
}

template <class T>
void pack_general(const SweepProblem& p, double epsilon, const SweepPlan& plan,
                  const SweepTask& task, Numbers<T>& x) {
  using F = GeneralField;
  clear_partial<T, F::kCount, kGeneralImpulses>(task, x);
  for (std::size_t b = 0; b < task.batches; ++b)  // lanes without a contact: any regular block
    for (const int k : {F::kBlock + 2, F::kBlock + 4})
      std::fill_n(
          x.data.data() +
              (F::kCount * (task.first_batch + b) + static_cast<std::size_t>(k)) * kSweepBatch,
          kSweepBatch, T(1));
  for (std::size_t at = task.begin; at < task.end; ++at) {
    const auto i = static_cast<std::size_t>(plan.order[at]);
    const SweepContact& c = p.contacts[i];
    const SweepBody &a = p.bodies[c.a], &b = p.bodies[c.b];
    const auto [batch, lane] = plan.place_of(task, i);
    T* d = x.data.data() + F::kCount * kSweepBatch * batch + lane;
    T* lambda = x.lambda.data() + kGeneralImpulses * kSweepBatch * batch + lane;
    const auto put = [&](int field, double value) {
      d[field * kSweepBatch] = static_cast<T>(value);
    };
    const double mass = a.inverse_mass + b.inverse_mass;
    if (!(mass > 0)) continue;
    Vec3 frame[3] = {c.normal, {}, {}}, turn_a[3], turn_b[3];
    tangents(c.normal, frame[1], frame[2]);
    for (int k = 0; k < 3; ++k) {
      turn_a[k] = scaled(a, c.lever_a.cross(frame[k]));
      turn_b[k] = -scaled(b, c.lever_b.cross(frame[k]));
      for (int j = 0; j < 3; ++j) {
        put(F::kFrame + 3 * k + j, frame[k][j]);
        put(F::kTurnA + 3 * k + j, turn_a[k][j]);
        put(F::kTurnB + 3 * k + j, turn_b[k][j]);
      }
    }
    // A body that does not move has no inverse mass, and no part in W.
    const double of_a = moves(a) ? 1 : 0, of_b = moves(b) ? 1 : 0;
    const auto w = [&](int k, int j) {
      return of_a * turn_a[k].dot(turn_a[j]) + of_b * turn_b[k].dot(turn_b[j]);
    };
    const double nn = mass + w(0, 0), t11 = mass + w(1, 1), t22 = mass + w(2, 2);
    const double tt = 0.5 * (t11 + t22);
    const double soft_n = c.softness + epsilon * nn, soft_t = epsilon * tt;
    const double scale = 1 / (nn + soft_n);
    put(F::kBlock, w(0, 1) * scale);
    put(F::kBlock + 1, w(0, 2) * scale);
    put(F::kBlock + 2, (t11 + soft_t) * scale);
    put(F::kBlock + 3, w(1, 2) * scale);
    put(F::kBlock + 4, (t22 + soft_t) * scale);
    put(F::kBias, c.bias);
    put(F::kFriction, c.friction);
    put(F::kSoftN, soft_n * scale);
    put(F::kSoftT, soft_t * scale);
    put(F::kInverseN, scale);
    put(F::kMobilityN, nn + soft_n);
    put(F::kMobilityT, tt + soft_t);
    lambda[0] = static_cast<T>(std::max(0.0, c.impulse.dot(frame[0])));
    for (int k = 1; k < 3; ++k) lambda[k * kSweepBatch] = static_cast<T>(c.impulse.dot(frame[k]));
  }
}

template <class T>
bool all_finite(const Lines<T>& numbers, std::vector<double>& sums) {
  return parallel_sum(numbers.size(), kNumberGrain, sums,
                      [&](std::size_t i) { return 0.0 * static_cast<double>(numbers[i]); }) == 0;
}

/// visit(i, lambda, data): each contact of the plan with its lanes.
template <class X, class Visit>
void for_each_lane(const SweepPlan& plan, X& x, bool round, Visit&& visit) {
  const std::size_t impulses = round ? kRoundImpulses : kGeneralImpulses;
  const std::size_t fields = round ? int{RoundField::kCount} : int{GeneralField::kCount};
  parallel_for(plan.tasks.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t t = begin; t < end; ++t)
      for (std::size_t k = plan.tasks[t].begin; k < plan.tasks[t].end; ++k) {
        const auto i = static_cast<std::size_t>(plan.order[k]);
        const auto [batch, lane] = plan.place_of(plan.tasks[t], i);
        visit(i, x.lambda.data() + impulses * kSweepBatch * batch + lane,
              x.data.data() + fields * kSweepBatch * batch + lane);
      }
  });
}

/// Impulses in world axes: of a round contact normal and tangential vector, else in its frame.
template <class T>
Vec3 impulse_at(const T* l, const T* f, bool round, const Vec3& normal) {
  if (round)
    return double(l[0]) * normal + Vec3(l[kSweepBatch], l[2 * kSweepBatch], l[3 * kSweepBatch]);
  Vec3 out = Vec3::Zero();
  for (int j = 0; j < 3; ++j)
    for (int k = 0; k < 3; ++k)
      out[j] += double(l[k * kSweepBatch]) * double(f[(3 * k + j) * kSweepBatch]);
  return out;
}
inline void read_impulses(const SweepPlan& plan, const Numbers<double>& x, bool round,
                          const SweepProblem& p, std::vector<Vec3>& out) {
  for_each_lane(plan, x, round, [&](std::size_t i, const double* l, const double* f) {
    out[i] = impulse_at(l, f, round, p.contacts[i].normal);
  });
}
inline void write_impulses(const SweepPlan& plan, const std::vector<Vec3>& in, bool round,
                           const SweepProblem& p, Numbers<double>& x) {
  for_each_lane(plan, x, round, [&](std::size_t i, double* l, const double* f) {
    const Vec3& n = p.contacts[i].normal;
    l[0] = in[i].dot(n);
    const Vec3 across = in[i] - l[0] * n;
    for (int k = 1; k < (round ? 4 : 3); ++k) {
      l[k * kSweepBatch] = round ? across[k - 1] : 0;
      for (int j = 0; !round && j < 3; ++j)
        l[k * kSweepBatch] += in[i][j] * f[(3 * k + j) * kSweepBatch];
    }
  });
}

/// Answer => problem.
template <class T>
void unpack(const SweepPlan& plan, const Numbers<T>& x, bool round, SweepProblem& p) {
  parallel_for(p.bodies.size(), kBodyGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      SweepBody& body = p.bodies[i];
      if (!moves(body)) continue;
      const T* row = x.bodies.data() + kBodyRow * i;
      body.v = Vec3(row[0], row[1], row[2]);
      body.omega = omega_of(body, Vec3(row[4], row[5], row[6]));
    }
  });
  for_each_lane(plan, x, round, [&](std::size_t i, const T* l, const T* f) {
    p.contacts[i].impulse = impulse_at(l, f, round, p.contacts[i].normal);
  });
}

}  // namespace orthant::internal
