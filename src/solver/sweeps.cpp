// SPDX-License-Identifier: Apache-2.0
// solver/sweeps.cpp: bodies and contacts => batches => sweeps with momentum => velocities,
// impulses.
#include "orthant/solver/sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orthant/base/parallel.hpp"
#include "solver/sweeps_data.hpp"
#include "solver/sweeps_pack.hpp"
#include "solver/sweeps_plan.hpp"

namespace orthant {

using namespace internal;

namespace {

const SweepTable& table_of(SweepInstructions instructions) {
  switch (instructions) {
    case SweepInstructions::Scalar:
      return kSweepsScalar;
    case SweepInstructions::Plain:
      return kSweepsPlain;
#if defined(__x86_64__)
    case SweepInstructions::Avx2:
      return kSweepsAvx2;
    case SweepInstructions::Avx512:
      return kSweepsAvx512;
#else
    case SweepInstructions::Avx2:
    case SweepInstructions::Avx512:
      return kSweepsPlain;
#endif
    case SweepInstructions::Best:
      break;
  }
  static const SweepInstructions best =
      available(SweepInstructions::Avx512) ? SweepInstructions::Avx512
      : available(SweepInstructions::Avx2) ? SweepInstructions::Avx2
                                           : SweepInstructions::Plain;
  return table_of(best);
}

}  // namespace

struct SweepWorkspace::Impl {
  SweepPlan plan;
  Numbers<float> single;
  Numbers<double> full;
  std::vector<SweepChange> change;   // by task
  std::vector<unsigned char> flags;  // by chunk
  std::vector<std::uint8_t> pushed;  // by body, for the crew
};

SweepWorkspace::SweepWorkspace() : impl_(std::make_unique<Impl>()) {}
SweepWorkspace::~SweepWorkspace() = default;
SweepWorkspace::SweepWorkspace(SweepWorkspace&&) noexcept = default;
SweepWorkspace& SweepWorkspace::operator=(SweepWorkspace&&) noexcept = default;

bool available(SweepInstructions instructions) {
#if defined(__x86_64__)
  if (instructions == SweepInstructions::Avx2) return __builtin_cpu_supports("avx2") != 0;
  if (instructions == SweepInstructions::Avx512)
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
           __builtin_cpu_supports("avx512dq") != 0;
#else
  if (instructions == SweepInstructions::Avx2 || instructions == SweepInstructions::Avx512)
    return false;
#endif
  return true;
}

std::string_view name_of(SweepInstructions instructions) {
  switch (instructions) {
    case SweepInstructions::Best:
      return "best";
    case SweepInstructions::Plain:
      return "plain";
    case SweepInstructions::Avx2:
      return "avx2";
    case SweepInstructions::Avx512:
      return "avx512";
    case SweepInstructions::Scalar:
      return "scalar";
  }
  return "unknown";
}

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

/// The sweeps of one problem in one precision.
template <class T>
class Run {
 public:
  Run(SweepProblem& p, const SweepSettings& settings, SweepWorkspace::Impl& work, Numbers<T>& x)
      : p_(p), settings_(settings), work_(work), plan_(work.plan), x_(x), crew_(settings.crew) {}

  SweepResult solve() {
    result_.round = all_round(p_, work_.flags);
    if (crew_ != nullptr) result_.round = crew_->largest(result_.round ? 0 : 1) == 0;
    plan_sweeps(p_, crew_, plan_);
    if (crew_ != nullptr) tell_crew();
    pack();
    kernel_ = kernels(table_of(settings_.instructions), result_.round, T());
    (void)sweep(SweepMode::Apply);  // the start's impulses
    x_.last_lambda = x_.lambda;
    x_.last_bodies = x_.bodies;
    iterate();
    // Velocities updated in place drift by rounding: once more from the impulses.
    pack_bodies(p_, plan_, x_.bodies);
    (void)sweep(SweepMode::Apply);
    bool finite = all_finite(x_.bodies, work_.flags) && all_finite(x_.lambda, work_.flags);
    if (crew_ != nullptr) finite = crew_->largest(finite ? 0 : 1) == 0;
    if (finite)
      unpack(plan_, x_, result_.round, p_);
    else
      result_.outcome = Outcome::NotFinite;
    return result_;
  }

 private:
  void tell_crew() {
    work_.pushed.assign(p_.bodies.size(), 0);
    for (int colour = 0; colour < kSweepColours; ++colour)
      for (std::size_t t = plan_.colours[colour]; t < plan_.colours[colour + 1]; ++t)
        for (const std::int32_t row : plan_.tasks[t].rows_of)
          if (static_cast<std::size_t>(row) < work_.pushed.size())
            work_.pushed[static_cast<std::size_t>(row)] |= static_cast<std::uint8_t>(1 << colour);
    crew_->begin(work_.pushed);
  }

  void pack() {
    const std::size_t lanes = kSweepBatch * plan_.batches;
    x_.data.resize((result_.round ? int{RoundField::kCount} : int{GeneralField::kCount}) * lanes);
    x_.lambda.resize((result_.round ? kRoundImpulses : kGeneralImpulses) * lanes);
    pack_bodies(p_, plan_, x_.bodies);
    parallel_for(plan_.tasks.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t t = begin; t < end; ++t) {
        if (result_.round)
          pack_round(p_, settings_.compliance, plan_, plan_.tasks[t], x_);
        else
          pack_general(p_, settings_.compliance, plan_, plan_.tasks[t], x_);
      }
    });
  }

  SweepChange sweep(SweepMode mode) {
    const std::size_t fields = result_.round ? int{RoundField::kCount} : int{GeneralField::kCount};
    const std::size_t impulses = result_.round ? kRoundImpulses : kGeneralImpulses;
    work_.change.resize(plan_.tasks.size());
    for (int colour = 0; colour < kSweepColours; ++colour) {
      const std::size_t first = plan_.colours[colour];
      parallel_for(plan_.colours[colour + 1] - first, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t t = first + begin; t < first + end; ++t) {
          const SweepTask& task = plan_.tasks[t];
          const std::size_t lanes = kSweepBatch * task.first_batch;
          work_.change[t] = kernel_.sweep(
              SweepArrays<T>{task.batches, task.rows_of.data(), x_.data.data() + fields * lanes,
                             x_.lambda.data() + impulses * lanes, x_.bodies.data()},
              mode);
        }
      });
      if (crew_ != nullptr && mode != SweepMode::Measure)
        crew_->share(colour, reinterpret_cast<std::byte*>(x_.bodies.data()), kBodyRow * sizeof(T));
    }
    // Without rounding: the same sum however the tasks are shared out.
    ExactSum squares;
    SweepChange total;
    for (const SweepChange& change : work_.change) {
      squares.add(change.squares);
      total.most = std::max(total.most, change.most);
    }
    if (crew_ != nullptr && mode != SweepMode::Apply) {
      crew_->add(squares);
      total.most = crew_->largest(total.most);
    }
    total.squares = squares.value();
    return total;
  }

  void extrapolate(Lines<T>& now, Lines<T>& last, T beta) {
    parallel_for(now.size(), kNumberGrain, [&](std::size_t begin, std::size_t end) {
      kernel_.extrapolate(now.data() + begin, last.data() + begin, end - begin, beta);
    });
  }

  double error(const SweepChange& change) const { return std::sqrt(change.most) / settings_.speed; }

  void iterate() {
    double t = 1, last = std::numeric_limits<double>::infinity(), halved = last;
    int since = 0;
    result_.outcome = Outcome::IterationLimit;
    for (;;) {
      const SweepChange change = sweep(SweepMode::Sweep);
      ++result_.sweeps;
      if (!std::isfinite(change.squares)) break;
      const bool end = result_.sweeps >= settings_.max_sweeps;
      if (end || (result_.sweeps >= settings_.min_sweeps && error(change) <= settings_.tolerance)) {
        result_.residual = error(sweep(SweepMode::Measure));
        if (result_.residual <= settings_.tolerance) result_.outcome = Outcome::Converged;
        if (end || result_.outcome == Outcome::Converged) break;
      }
      since = change.squares <= 0.25 * halved ? 0 : since + 1;
      if (since == 0) halved = change.squares;
      if (settings_.patience > 0 && since > settings_.patience) {
        result_.residual = error(sweep(SweepMode::Measure));
        result_.outcome = Outcome::Stalled;
        break;
      }
      if (!settings_.momentum) continue;
      if (change.squares > last) {
        t = 1;
        ++result_.restarts;
      }
      last = change.squares;
      const double next = 0.5 * (1 + std::sqrt(1 + 4 * t * t));
      const T beta = static_cast<T>((t - 1) / next);
      t = next;
      extrapolate(x_.lambda, x_.last_lambda, beta);
      extrapolate(x_.bodies, x_.last_bodies, beta);
    }
  }

  SweepProblem& p_;
  const SweepSettings& settings_;
  SweepWorkspace::Impl& work_;
  SweepPlan& plan_;
  Numbers<T>& x_;
  SweepCrew* crew_;
  Kernels<T> kernel_ = {};
  SweepResult result_;
};

}  // namespace

SweepResult solve_sweeps(SweepProblem& problem, const SweepSettings& settings,
                         SweepWorkspace& workspace) {
  SweepWorkspace::Impl& work = workspace.impl();
  bool finite = all_finite(problem, work.flags);
  if (settings.crew != nullptr) finite = settings.crew->largest(finite ? 0 : 1) == 0;
  if (!finite) return {};
  if (problem.contacts.empty() && settings.crew == nullptr) return {.outcome = Outcome::Converged};
  return settings.single ? Run<float>(problem, settings, work, work.single).solve()
                         : Run<double>(problem, settings, work, work.full).solve();
}

}  // namespace orthant
