// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps.cpp: bodies and contacts => batches => sweeps with momentum => velocities,
// impulses.
#include "crowd/sweeps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/refill.hpp"
#include "crowd/sweeps_data.hpp"
#include "crowd/sweeps_newton.hpp"
#include "crowd/sweeps_pack.hpp"
#include "crowd/sweeps_plan.hpp"
#include "orthant/base/parallel.hpp"

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

struct SweepWork {
  SweepPlan plan;
  Numbers<float> single;
  Numbers<double> full;
  std::vector<SweepChange> change;   // by task
  std::vector<BatchState> states;    // by batch
  std::vector<unsigned char> flags;  // by chunk
  std::vector<double> sums;          // by chunk
  std::vector<std::uint8_t> pushed;  // by body, for the crew
  SweepNewton newton;
  Numbers<double> kept;                     // where a phase of Newton's method began
  std::vector<Vec3> impulses, next, trial;  // by contact
};

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

bool set_inertia(double mass, const Mat3& I, SweepBody& body) {
  const double l00 = std::sqrt(I(0, 0));
  const double l10 = I(1, 0) / l00, l20 = I(2, 0) / l00;
  const double l11 = std::sqrt(I(1, 1) - l10 * l10);
  const double l21 = (I(2, 1) - l20 * l10) / l11;
  const double l22 = std::sqrt(I(2, 2) - l20 * l20 - l21 * l21);
  if (!(mass > 0) || !(l00 > 0) || !(l11 > 0) || !(l22 > 0)) return false;
  body.inverse_mass = 1 / mass;
  double* r = body.inverse_root;
  r[0] = 1 / l00;
  r[2] = 1 / l11;
  r[5] = 1 / l22;
  r[1] = -l10 * r[0] * r[2];
  r[4] = -l21 * r[2] * r[5];
  r[3] = -(l20 * r[0] + l21 * r[1]) * r[5];
  return true;
}

bool set_inertia(const double* h, SweepBody& body) {
  const double m = h[0];
  if (h[7] != m || h[14] != m) return false;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 6; ++j)
      if (i != j && (h[6 * i + j] != 0 || h[6 * j + i] != 0)) return false;
  Mat3 inertia;
  inertia << h[21], h[22], h[23], h[27], h[28], h[29], h[33], h[34], h[35];
  return set_inertia(m, inertia, body);
}

Vec3 turned_by(const SweepBody& body, const Vec3& x) { return omega_of(body, scaled(body, x)); }

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

/// A gap that only an approach faster than this closes, of the speed that velocities are compared
/// with: nine of ten such contacts stay open.
constexpr double kFar = 0.1;

/// Until it is known which contacts push all are looked at in every sweep, then in every eighth.
constexpr int kFirstSweeps = 32;
constexpr bool looks_at_all(int sweeps) { return sweeps < kFirstSweeps || sweeps % 8 == 0; }

/// Single precision leads to an error of this and not much further; what is nearer from the start
/// would only lose digits, and so would the impulses of a rigid pile, which are not unique. Its
/// velocities drift: after so many sweeps they are found anew.
constexpr double kSingleError = 1e-3;
constexpr double kRoundedSums = 15;  // roundings of a velocity, between two that are made anew
constexpr int kDriftingSweeps = 64;

/// Nesterov's sequence, set back where the change of the sweeps grows.
struct Momentum {
  double t = 1, change = std::numeric_limits<double>::infinity();
};

/// Where sweeps stand.
struct Progress {
  double next_newton;
  Momentum momentum = {};
  SweepChange change = {};  // of the last sweep
  double halved = std::numeric_limits<double>::infinity();
  int since = 0;  // sweeps since the change has halved
};

/// The sweeps of one problem; in double precision the first of them are in single.
template <class T>
class Run {
 public:
  Run(SweepProblem& p, const SweepSettings& settings, SweepWork& work, Numbers<T>& x)
      : p_(p), settings_(settings), work_(work), plan_(work.plan), x_(x), crew_(settings.crew) {}

  SweepResult solve(bool round) {
    result_.round = round;
    // The impulses of a rigid pile are not unique: what is looked at late sends them elsewhere.
    const bool rests = settings_.compliance > 0 && settings_.max_sweeps > kFirstSweeps;
    const bool leads =  // alike on all ranks
        settings_.compliance > 0 && (crew_ != nullptr || p_.contacts.size() >= kTwinContacts);
    plan_sweeps(p_, crew_, rests ? kFar * settings_.speed : std::numeric_limits<double>::infinity(),
                settings_.single || leads, plan_);
    begin_states();
    if (crew_ != nullptr) tell_crew();
    pack();
    begin();
    bool done = false;
    if constexpr (std::is_same_v<T, double>)
      done = leads && single_is_enough() && !measure(kSingleError) && lead();
    if (!done) iterate(settings_.tolerance);
    find_velocities();
    if (all_are_finite())
      unpack(plan_, x_, result_.round, p_);
    else
      result_.outcome = Outcome::NotFinite;
    return result_;
  }

 private:
  template <class>
  friend class Run;

  void tell_crew() {
    work_.pushed.assign(p_.bodies.size(), 0);
    for (int colour = 0; colour < kSweepColours; ++colour)
      for (std::size_t t = plan_.colours[colour]; t < plan_.colours[colour + 1]; ++t)
        for (const std::int32_t row : plan_.tasks[t].rows_of)
          if (static_cast<std::size_t>(row) < work_.pushed.size())
            work_.pushed[static_cast<std::size_t>(row)] |= static_cast<std::uint8_t>(1 << colour);
    crew_->begin(work_.pushed);
  }

  void begin_states() {
    work_.states.clear();
    for (const SweepTask& task : plan_.tasks)
      work_.states.insert(work_.states.end(), task.states.begin(), task.states.end());
  }

  void pack() {
    const std::size_t lanes = kSweepBatch * plan_.batches;
    refill(x_.data, (result_.round ? int{RoundField::kCount} : int{GeneralField::kCount}) * lanes);
    refill(x_.lambda, (result_.round ? kRoundImpulses : kGeneralImpulses) * lanes);
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

  /// Velocities from the impulses: those updated in place drift by rounding.
  void find_velocities() {
    pack_bodies(p_, plan_, x_.bodies);
    (void)sweep(SweepMode::Apply);
  }

  void begin() {
    kernel_ = kernels(table_of(settings_.instructions), result_.round, T());
    find_velocities();
    x_.last_lambda = x_.lambda;
    x_.last_bodies = x_.bodies;
  }

  bool all_are_finite() {
    const bool finite = all_finite(x_.bodies, work_.sums) && all_finite(x_.lambda, work_.sums);
    return crew_ == nullptr ? finite : crew_->largest(finite ? 0 : 1) == 0;
  }

  SweepChange sweep(SweepMode mode) {
    const std::size_t fields = result_.round ? int{RoundField::kCount} : int{GeneralField::kCount};
    const std::size_t impulses = result_.round ? kRoundImpulses : kGeneralImpulses;
    work_.change.resize(plan_.tasks.size());
    const bool look_at_all = looks_at_all(result_.sweeps);
    for (int colour = 0; colour < kSweepColours; ++colour) {
      const std::size_t first = plan_.colours[colour];
      parallel_for(plan_.colours[colour + 1] - first, 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t t = first + begin; t < first + end; ++t) {
          const SweepTask& task = plan_.tasks[t];
          const std::size_t lanes = kSweepBatch * task.first_batch;
          work_.change[t] =
              kernel_.sweep(SweepArrays<T>{.batches = task.batches,
                                           .bodies_of = task.rows_of.data(),
                                           .states = work_.states.data() + task.first_batch,
                                           .look_at_all = look_at_all,
                                           .twins = task.twins,
                                           .data = x_.data.data() + fields * lanes,
                                           .lambda = x_.lambda.data() + impulses * lanes,
                                           .bodies = x_.bodies.data()},
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

  void push_on(Momentum& m, const SweepChange& change) {
    const double old = std::isfinite(m.change) ? m.change : change.squares;
    const double now = settings_.memory * old + (1 - settings_.memory) * change.squares;
    if (now > m.change) {
      m.t = std::max(1.0, m.t * std::pow(m.change / now, settings_.set_back));
      ++result_.restarts;
    }
    m.change = now;
    const double next = 0.5 * (1 + std::sqrt(1 + 4 * m.t * m.t));
    const T beta = static_cast<T>((m.t - 1) / next);
    m.t = next;
    extrapolate(x_.lambda, x_.last_lambda, beta);
    extrapolate(x_.bodies, x_.last_bodies, beta);
  }

  /// Reads the error off; true where it is within the tolerance.
  bool measure(double tolerance) {
    result_.residual = error(sweep(SweepMode::Measure));
    return result_.residual <= tolerance;
  }

  /// Velocities are absolute, errors relative to `speed`: a pile that moves as a whole, or is
  /// stepped finely, leaves no digits in single precision.
  bool single_is_enough() const {
    double reach = 0, fastest = 0;  // squares
    for (const SweepContact& c : p_.contacts)
      reach = std::max({reach, c.lever_a.squaredNorm(), c.lever_b.squaredNorm()});
    for (const SweepBody& body : p_.bodies)
      fastest = std::max({fastest, body.v.squaredNorm(), reach * body.omega.squaredNorm()});
    fastest = std::sqrt(fastest);
    if (crew_ != nullptr) fastest = crew_->largest(fastest);
    return kRoundedSums * std::numeric_limits<float>::epsilon() * fastest <
           kSingleError * settings_.speed;
  }

  /// Sweeps in single precision, which move half as many bytes, as far as that leads. True where
  /// nothing is left to do.
  bool lead() {
    Run<float> first(p_, settings_, work_, work_.single);
    first.result_.round = result_.round;
    first.x_.data.assign(x_.data.begin(), x_.data.end());
    first.x_.lambda.assign(x_.lambda.begin(), x_.lambda.end());
    first.begin();
    first.iterate(std::max(settings_.tolerance, kSingleError));
    if (!first.all_are_finite()) {  // numbers beyond its range
      begin_states();
      return false;
    }
    x_.lambda.assign(first.x_.lambda.begin(), first.x_.lambda.end());
    x_.last_lambda.assign(first.x_.last_lambda.begin(), first.x_.last_lambda.end());
    undo_drift();
    result_ = first.result_;
    progress_ = first.progress_;
    const bool good = measure(settings_.tolerance);
    result_.outcome = good ? Outcome::Converged : Outcome::IterationLimit;
    if (good || result_.sweeps >= settings_.max_sweeps) return true;
    if (settings_.momentum) push_on(progress_.momentum, progress_.change);
    return false;
  }

  /// The velocities that the impulses give, those now and those before the last sweep: what is
  /// extrapolated must fit together, as nothing brings it together again.
  void undo_drift() {
    for (int i = 0; i < 2; ++i) {
      std::swap(x_.lambda, x_.last_lambda);
      std::swap(x_.bodies, x_.last_bodies);
      find_velocities();
    }
  }

  /// Sweeps until `tolerance`, from where they stand.
  void iterate(double tolerance) {
    auto& [next_newton, momentum, change, halved, since] = progress_;
    constexpr bool kFull = std::is_same_v<T, double>;
    result_.outcome = Outcome::IterationLimit;
    while (result_.outcome == Outcome::IterationLimit) {
      change = sweep(SweepMode::Sweep);
      ++result_.sweeps;
      if (!std::isfinite(change.squares)) return;
      if (!kFull && result_.sweeps % kDriftingSweeps == 0) undo_drift();
      const bool end = result_.sweeps >= settings_.max_sweeps;
      if ((end || (result_.sweeps >= settings_.min_sweeps && error(change) <= tolerance)) &&
          measure(tolerance))
        result_.outcome = Outcome::Converged;
      if (end || result_.outcome == Outcome::Converged) return;
      since = change.squares <= 0.25 * halved ? 0 : since + 1;
      if (since == 0) halved = change.squares;
      const bool stalls = settings_.patience > 0 && since > settings_.patience;
      if (kFull && result_.newton_steps < settings_.newton_steps && settings_.compliance > 0 &&
          crew_ == nullptr && (stalls || error(change) <= next_newton)) {
        if (newton_phase()) {  // a new place: nothing is known about the change of its sweeps
          momentum = {};
          halved = std::numeric_limits<double>::infinity();
        }
        if (result_.residual <= tolerance) {
          result_.outcome = Outcome::Converged;
          return;
        }
        since = 0;
        next_newton = 0.1 * result_.residual;
      } else if (stalls) {
        (void)measure(tolerance);
        result_.outcome = Outcome::Stalled;
        return;
      }
      if (settings_.momentum) push_on(momentum, change);
    }
  }

  /// Newton steps while they gain; false where they did not, and nothing has changed.
  bool newton_phase() {
    if constexpr (std::is_same_v<T, double>) {
      constexpr double kLengths[] = {1, 0.4, 0.16, 0.064};
      constexpr int kIdle = 2;  // steps without a gain of a third that end the phase
      std::vector<Vec3>&now = work_.impulses, &next = work_.next, &trial = work_.trial;
      work_.kept = x_;
      now.resize(p_.contacts.size());
      next.resize(now.size());
      trial.resize(now.size());
      if (result_.newton_steps == 0) work_.newton.prepare(p_, settings_.compliance);
      const double begin = sweep(SweepMode::Measure).squares;
      double squares = begin;
      (void)measure(settings_.tolerance);
      for (int idle = 0; idle < kIdle && result_.newton_steps < settings_.newton_steps;) {
        read_impulses(plan_, x_, result_.round, p_, now);
        ++result_.newton_steps;
        if (!work_.newton.step(p_, x_.bodies.data(), now, next)) break;
        double least = std::numeric_limits<double>::infinity();
        for (const double length : kLengths) {
          for (std::size_t i = 0; i < now.size(); ++i)
            trial[i] = into_cone(now[i] + length * (next[i] - now[i]), p_.contacts[i].normal,
                                 p_.contacts[i].friction);
          begin_at(trial);
          Momentum momentum;
          for (int k = 0; k < settings_.newton_sweeps; ++k) {
            const SweepChange change = sweep(SweepMode::Sweep);
            ++result_.sweeps;
            if (k + 1 < settings_.newton_sweeps) push_on(momentum, change);
          }
          const SweepChange left = sweep(SweepMode::Measure);
          least = left.squares;
          result_.residual = error(left);
          if (least < squares) break;
        }
        if (result_.residual <= settings_.tolerance) return true;
        idle = least <= 0.5 * squares ? 0 : idle + 1;
        if (!std::isfinite(least)) break;
        squares = std::min(squares, least);
      }
      if (squares * settings_.newton_gain * settings_.newton_gain <= begin) return true;
      std::swap(x_, work_.kept);
      begin_states();
      (void)measure(settings_.tolerance);
    }
    return false;
  }

  /// Impulses (world axes), and the velocities that come from them.
  void begin_at(const std::vector<Vec3>& impulses) {
    write_impulses(plan_, impulses, result_.round, p_, x_);
    begin_states();
    begin();
  }

  SweepProblem& p_;
  const SweepSettings& settings_;
  SweepWork& work_;
  SweepPlan& plan_;
  Numbers<T>& x_;
  SweepCrew* crew_;
  Kernels<T> kernel_ = {};
  Progress progress_{.next_newton = settings_.newton_from};
  SweepResult result_;
};

}  // namespace

SweepResult solve_sweeps(SweepProblem& problem, const SweepSettings& settings,
                         SweepWorkspace& workspace) {
  SweepWork& work = workspace.get();
  Look look = look_at(problem, work.flags);
  if (settings.crew != nullptr) {
    look.finite = settings.crew->largest(look.finite ? 0 : 1) == 0;
    look.round = settings.crew->largest(look.round ? 0 : 1) == 0;
  }
  if (!look.finite) return {};
  if (problem.contacts.empty() && settings.crew == nullptr) return {.outcome = Outcome::Converged};
  return settings.single ? Run<float>(problem, settings, work, work.single).solve(look.round)
                         : Run<double>(problem, settings, work, work.full).solve(look.round);
}

}  // namespace orthant
