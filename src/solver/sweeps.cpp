// SPDX-License-Identifier: Apache-2.0
// solver/sweeps.cpp: bodies and contacts => batches => sweeps with momentum => velocities, impulses.
#include "orthant/solver/sweeps.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <new>

#include "solver/sweeps_data.hpp"
#include "solver/sweeps_instructions.hpp"

namespace orthant {

using namespace internal;

namespace {

constexpr std::size_t kLine = 64;  // bytes of a cache line, and of the widest register
constexpr int kWindow = 64;        // batches that are open at the same time

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

}  // namespace

struct SweepWorkspace::Impl {
  std::vector<std::int32_t> order, bucket;  // contacts from the lowest up
  std::vector<std::uint64_t> used;          // by body: the open batches it is in, number mod 64
  std::vector<std::int32_t> lane_of;        // by contact: 8 x batch + lane
  std::vector<std::int32_t> bodies_of;      // by batch: eight of A, eight of B
  Numbers<float> single;
  Numbers<double> full;
};

SweepWorkspace::SweepWorkspace() : impl_(std::make_unique<Impl>()) {}
SweepWorkspace::~SweepWorkspace() = default;
SweepWorkspace::SweepWorkspace(SweepWorkspace&&) noexcept = default;
SweepWorkspace& SweepWorkspace::operator=(SweepWorkspace&&) noexcept = default;

bool set_inertia(const double* h, SweepBody& body) {
  const double m = h[0];
  if (!(m > 0) || h[7] != m || h[14] != m) return false;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 6; ++j)
      if (i != j && (h[6 * i + j] != 0 || h[6 * j + i] != 0)) return false;
  const double l00 = std::sqrt(h[21]);
  const double l10 = h[27] / l00, l20 = h[33] / l00;
  const double l11 = std::sqrt(h[28] - l10 * l10);
  const double l21 = (h[34] - l20 * l10) / l11;
  const double l22 = std::sqrt(h[35] - l20 * l20 - l21 * l21);
  if (!(l00 > 0) || !(l11 > 0) || !(l22 > 0)) return false;
  body.inverse_mass = 1 / m;
  double* r = body.inverse_root;
  r[0] = 1 / l00;
  r[2] = 1 / l11;
  r[5] = 1 / l22;
  r[1] = -l10 * r[0] * r[2];
  r[4] = -l21 * r[2] * r[5];
  r[3] = -(l20 * r[0] + l21 * r[1]) * r[5];
  return true;
}

namespace {

bool moves(const SweepBody& body) { return body.inverse_mass > 0; }

/// L⁻¹ x.
Vec3 scaled(const SweepBody& body, const Vec3& x) {
  const double* r = body.inverse_root;
  return {r[0] * x[0], r[1] * x[0] + r[2] * x[1], r[3] * x[0] + r[4] * x[1] + r[5] * x[2]};
}

/// s = Lᵀω, from L⁻ᵀs = ω.
Vec3 turn_of(const SweepBody& body) {
  const double* r = body.inverse_root;
  const double z = body.omega[2] / r[5];
  const double y = (body.omega[1] - r[4] * z) / r[2];
  return {(body.omega[0] - r[1] * y - r[3] * z) / r[0], y, z};
}
Vec3 omega_of(const SweepBody& body, const Vec3& s) {
  const double* r = body.inverse_root;
  return {r[0] * s[0] + r[1] * s[1] + r[3] * s[2], r[2] * s[1] + r[4] * s[2], r[5] * s[2]};
}

bool is_isotropic(const SweepBody& body) {
  const double* r = body.inverse_root;
  return r[0] == r[2] && r[0] == r[5] && r[1] == 0 && r[3] == 0 && r[4] == 0;
}

/// A side whose turning does not matter, or turns like a centred sphere about the contact.
bool is_round(const SweepBody& body, const Vec3& lever, const Vec3& n) {
  if (!moves(body)) return body.omega.isZero(0);
  return is_isotropic(body) && lever.cross(n).squaredNorm() <= 1e-18 * lever.squaredNorm();
}

bool all_round(const SweepProblem& p) {
  for (const SweepContact& c : p.contacts)
    if (!is_round(p.bodies[c.a], c.lever_a, c.normal) ||
        !is_round(p.bodies[c.b], c.lever_b, c.normal))
      return false;
  return true;
}

/// x·0 summed over everything is 0 only where every number is finite.
bool all_finite(const SweepProblem& p) {
  double sum = 0;
  for (const SweepBody& b : p.bodies) {
    sum += 0 * (b.v.sum() + b.omega.sum() + b.inverse_mass);
    for (const double x : b.inverse_root) sum += 0 * x;
  }
  for (const SweepContact& c : p.contacts)
    sum += 0 * (c.normal.sum() + c.lever_a.sum() + c.lever_b.sum() + c.bias + c.friction +
                c.softness + c.height + c.impulse.sum());
  return sum == 0;
}

/// Counting sort by height; contacts of the same slice stay in their order.
void sort_by_height(const SweepProblem& p, SweepWorkspace::Impl& work) {
  constexpr std::size_t kMostSlices = 4096;
  const std::size_t n = p.contacts.size();
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const SweepContact& c : p.contacts) {
    low = std::min(low, c.height);
    high = std::max(high, c.height);
  }
  const std::size_t slices = std::min(kMostSlices, n);
  const double scale = high > low ? static_cast<double>(slices - 1) / (high - low) : 0;
  const auto slice_of = [&](const SweepContact& c) {
    return static_cast<std::size_t>((c.height - low) * scale);
  };
  work.bucket.assign(slices + 1, 0);
  for (const SweepContact& c : p.contacts) ++work.bucket[slice_of(c) + 1];
  for (std::size_t i = 0; i < slices; ++i) work.bucket[i + 1] += work.bucket[i];
  work.order.resize(n);
  for (std::size_t i = 0; i < n; ++i)
    work.order[static_cast<std::size_t>(work.bucket[slice_of(p.contacts[i])]++)] =
        static_cast<std::int32_t>(i);
}

/// Puts each contact into the oldest open batch that has a free lane and neither of its bodies.
/// Bodies that do not move may be in a batch as often as they like.
std::size_t fill_batches(const SweepProblem& p, SweepWorkspace::Impl& work) {
  work.used.assign(p.bodies.size(), 0);
  work.lane_of.resize(p.contacts.size());
  work.bodies_of.clear();
  std::uint64_t full = 0;  // open batches without a free lane
  int count[kWindow] = {};
  std::size_t first = 0, batches = 0;  // of the open ones; of all
  const auto close_first = [&] {
    const std::uint64_t bit = std::uint64_t{1} << (first % kWindow);
    const std::int32_t* bodies = work.bodies_of.data() + 2 * kSweepBatch * first;
    for (int l = 0; l < 2 * kSweepBatch; ++l) work.used[bodies[l]] &= ~bit;
    full &= ~bit;
    ++first;
  };
  for (const std::int32_t i : work.order) {
    const SweepContact& c = p.contacts[i];
    const std::uint64_t taken = work.used[c.a] | work.used[c.b] | full;
    const int turn = static_cast<int>(first % kWindow);
    std::size_t batch = first + std::countr_zero(std::rotr(~taken, turn));
    if (~taken == 0 || batch >= first + kWindow) {
      close_first();
      batch = batches;
    }
    while (batch >= batches) {
      work.bodies_of.insert(work.bodies_of.end(), 2 * kSweepBatch, 0);
      count[batches % kWindow] = 0;
      ++batches;
    }
    const std::size_t place = batch % kWindow;
    const std::uint64_t bit = std::uint64_t{1} << place;
    const int lane = count[place]++;
    work.bodies_of[2 * kSweepBatch * batch + lane] = c.a;
    work.bodies_of[2 * kSweepBatch * batch + kSweepBatch + lane] = c.b;
    work.lane_of[i] = static_cast<std::int32_t>(kSweepBatch * batch) + lane;
    if (moves(p.bodies[c.a])) work.used[c.a] |= bit;
    if (moves(p.bodies[c.b])) work.used[c.b] |= bit;
    if (count[place] == kSweepBatch) full |= bit;
    while (first < batches && (full & (std::uint64_t{1} << (first % kWindow)))) close_first();
  }
  return batches;
}

/// Any two unit vectors that make a frame with n.
void tangents(const Vec3& n, Vec3& t1, Vec3& t2) {
  const double sign = std::copysign(1.0, n[2]);
  const double a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
  t1 = Vec3(1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0]);
  t2 = Vec3(b, sign + n[1] * n[1] * a, -n[1]);
}

template <class T>
void pack_bodies(const SweepProblem& p, Lines<T>& rows) {
  rows.resize(kBodyRow * p.bodies.size());
  for (std::size_t i = 0; i < p.bodies.size(); ++i) {
    const SweepBody& body = p.bodies[i];
    T* row = rows.data() + kBodyRow * i;
    const Vec3 s = turn_of(body);
    for (int k = 0; k < 3; ++k) {
      row[k] = static_cast<T>(body.v[k]);
      row[4 + k] = static_cast<T>(s[k]);
    }
    row[3] = static_cast<T>(body.inverse_mass);
    row[7] = moves(body) ? T(1) : T(0);
  }
}

template <class T>
void pack_round(const SweepProblem& p, double epsilon, std::size_t batches,
                SweepWorkspace::Impl& work, Numbers<T>& x) {
  using F = RoundField;
  x.data.assign(F::kCount * kSweepBatch * batches, T(0));
  x.lambda.assign(kRoundImpulses * kSweepBatch * batches, T(0));
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    const SweepContact& c = p.contacts[i];
    const SweepBody &a = p.bodies[c.a], &b = p.bodies[c.b];
    const std::size_t batch = work.lane_of[i] / kSweepBatch, lane = work.lane_of[i] % kSweepBatch;
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
void pack_general(const SweepProblem& p, double epsilon, std::size_t batches,
                  SweepWorkspace::Impl& work, Numbers<T>& x) {
  using F = GeneralField;
  x.data.assign(F::kCount * kSweepBatch * batches, T(0));
  x.lambda.assign(kGeneralImpulses * kSweepBatch * batches, T(0));
  for (std::size_t b = 0; b < batches; ++b)  // lanes without a contact: any regular block
    for (const int k : {F::kBlock + 2, F::kBlock + 4})
      std::fill_n(x.data.data() + (F::kCount * b + static_cast<std::size_t>(k)) * kSweepBatch,
                  kSweepBatch, T(1));
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    const SweepContact& c = p.contacts[i];
    const SweepBody &a = p.bodies[c.a], &b = p.bodies[c.b];
    const std::size_t batch = work.lane_of[i] / kSweepBatch, lane = work.lane_of[i] % kSweepBatch;
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
    const auto w = [&](int k, int j) {
      return (k == j ? mass : 0) + (moves(a) ? turn_a[k].dot(turn_a[j]) : 0) +
             (moves(b) ? turn_b[k].dot(turn_b[j]) : 0);
    };
    const double nn = w(0, 0), tt = 0.5 * (w(1, 1) + w(2, 2));
    const double soft_n = c.softness + epsilon * nn, soft_t = epsilon * tt;
    const double scale = 1 / (nn + soft_n);
    put(F::kBlock, w(0, 1) * scale);
    put(F::kBlock + 1, w(0, 2) * scale);
    put(F::kBlock + 2, (w(1, 1) + soft_t) * scale);
    put(F::kBlock + 3, w(1, 2) * scale);
    put(F::kBlock + 4, (w(2, 2) + soft_t) * scale);
    put(F::kBias, c.bias);
    put(F::kFriction, c.friction);
    put(F::kSoftN, soft_n * scale);
    put(F::kSoftT, soft_t * scale);
    put(F::kInverseN, scale);
    put(F::kMobilityN, nn + soft_n);
    put(F::kMobilityT, tt + soft_t);
    lambda[0] = static_cast<T>(std::max(0.0, c.impulse.dot(frame[0])));
    for (int k = 1; k < 3; ++k)
      lambda[k * kSweepBatch] = static_cast<T>(c.impulse.dot(frame[k]));
  }
}

/// Answer => problem. False, and nothing written, where a number is not finite.
template <class T>
bool unpack(const SweepWorkspace::Impl& work, const Numbers<T>& x, bool round, SweepProblem& p) {
  double sum = 0;
  for (const T value : x.bodies) sum += 0.0 * static_cast<double>(value);
  for (const T value : x.lambda) sum += 0.0 * static_cast<double>(value);
  if (sum != 0) return false;
  for (std::size_t i = 0; i < p.bodies.size(); ++i) {
    SweepBody& body = p.bodies[i];
    if (!moves(body)) continue;
    const T* row = x.bodies.data() + kBodyRow * i;
    body.v = Vec3(row[0], row[1], row[2]);
    body.omega = omega_of(body, Vec3(row[4], row[5], row[6]));
  }
  for (std::size_t i = 0; i < p.contacts.size(); ++i) {
    SweepContact& c = p.contacts[i];
    const std::size_t batch = work.lane_of[i] / kSweepBatch, lane = work.lane_of[i] % kSweepBatch;
    if (round) {
      const T* l = x.lambda.data() + kRoundImpulses * kSweepBatch * batch + lane;
      c.impulse = double(l[0]) * c.normal + Vec3(l[kSweepBatch], l[2 * kSweepBatch],
                                                 l[3 * kSweepBatch]);
    } else {
      const T* l = x.lambda.data() + kGeneralImpulses * kSweepBatch * batch + lane;
      const T* f = x.data.data() + GeneralField::kCount * kSweepBatch * batch + lane;
      for (int j = 0; j < 3; ++j) {
        c.impulse[j] = 0;
        for (int k = 0; k < 3; ++k)
          c.impulse[j] += double(l[k * kSweepBatch]) * double(f[(3 * k + j) * kSweepBatch]);
      }
    }
  }
  return true;
}

template <class T>
struct Kernels {
  SweepChange (*sweep)(const SweepArrays<T>&, SweepMode);
  void (*extrapolate)(T*, T*, std::size_t, T);
};
Kernels<float> kernels(const SweepTable& t, bool round, float) {
  return {round ? t.round_float : t.general_float, t.extrapolate_float};
}
Kernels<double> kernels(const SweepTable& t, bool round, double) {
  return {round ? t.round_double : t.general_double, t.extrapolate_double};
}

template <class T>
SweepResult run(SweepProblem& p, const SweepSettings& settings, SweepWorkspace::Impl& work,
                Numbers<T>& x) {
  SweepResult result;
  result.round = all_round(p);
  sort_by_height(p, work);
  const std::size_t batches = fill_batches(p, work);
  pack_bodies(p, x.bodies);
  if (result.round)
    pack_round(p, settings.compliance, batches, work, x);
  else
    pack_general(p, settings.compliance, batches, work, x);
  const SweepArrays<T> arrays{batches, work.bodies_of.data(), x.data.data(), x.lambda.data(),
                              x.bodies.data()};
  const Kernels<T> kernel = kernels(table_of(settings.instructions), result.round, T());
  const auto error = [&](const SweepChange& change) {
    return std::sqrt(change.most) / settings.speed;
  };
  (void)kernel.sweep(arrays, SweepMode::Apply);  // the start's impulses
  x.last_lambda = x.lambda;
  x.last_bodies = x.bodies;

  double t = 1, last = std::numeric_limits<double>::infinity(), halved = last;
  int since = 0;
  result.outcome = Outcome::IterationLimit;
  for (;;) {
    const SweepChange change = kernel.sweep(arrays, SweepMode::Sweep);
    ++result.sweeps;
    if (!std::isfinite(change.squares)) break;
    const bool end = result.sweeps >= settings.max_sweeps;
    if (end || (result.sweeps >= settings.min_sweeps && error(change) <= settings.tolerance)) {
      result.residual = error(kernel.sweep(arrays, SweepMode::Measure));
      if (result.residual <= settings.tolerance) result.outcome = Outcome::Converged;
      if (end || result.outcome == Outcome::Converged) break;
    }
    since = change.squares <= 0.25 * halved ? 0 : since + 1;
    if (since == 0) halved = change.squares;
    if (settings.patience > 0 && since > settings.patience) {
      result.residual = error(kernel.sweep(arrays, SweepMode::Measure));
      result.outcome = Outcome::Stalled;
      break;
    }
    if (!settings.momentum) continue;
    if (change.squares > last) {
      t = 1;
      ++result.restarts;
    }
    last = change.squares;
    const double next = 0.5 * (1 + std::sqrt(1 + 4 * t * t));
    const T beta = static_cast<T>((t - 1) / next);
    t = next;
    kernel.extrapolate(x.lambda.data(), x.last_lambda.data(), x.lambda.size(), beta);
    kernel.extrapolate(x.bodies.data(), x.last_bodies.data(), x.bodies.size(), beta);
  }
  // Velocities updated in place drift by rounding: once more from the impulses.
  pack_bodies(p, x.bodies);
  (void)kernel.sweep(arrays, SweepMode::Apply);
  if (!unpack(work, x, result.round, p)) result.outcome = Outcome::NotFinite;
  return result;
}

}  // namespace

SweepResult solve_sweeps(SweepProblem& problem, const SweepSettings& settings,
                         SweepWorkspace& workspace) {
  if (!all_finite(problem)) return {};
  if (problem.contacts.empty()) return {.outcome = Outcome::Converged};
  SweepWorkspace::Impl& work = workspace.impl();
  return settings.single ? run(problem, settings, work, work.single)
                         : run(problem, settings, work, work.full);
}

}  // namespace orthant
