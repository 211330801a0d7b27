// SPDX-License-Identifier: Apache-2.0
// solver/solve.cpp: (problem, settings, start) => answer and report. See solve.hpp.
// check → scale → islands → (λ = 0 | chain of methods) each → judge of the whole.
#include "orthant/solver/solve.hpp"

#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/math/law_kernel.hpp"
#include "solver/lone_block.hpp"
#include "solver/methods.hpp"
#include "solver/workspace.hpp"

namespace orthant {

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::Converged:
      return "converged";
    case Outcome::IterationLimit:
      return "iteration limit";
    case Outcome::WorkLimit:
      return "work limit";
    case Outcome::Stalled:
      return "stalled";
    case Outcome::RayTermination:
      return "ray termination";
    case Outcome::Infeasible:
      return "infeasible";
    case Outcome::NotFinite:
      return "not finite";
  }
  return "unknown";
}

std::string_view name_of(Method method) {
  switch (method) {
    case Method::Automatic:
      return "automatic";
    case Method::Enumeration:
      return "enumeration";
    case Method::Lemke:
      return "lemke";
    case Method::GaussSeidel:
      return "gauss_seidel";
    case Method::MinMapNewton:
      return "min_map_newton";
    case Method::FischerNewton:
      return "fischer_newton";
    case Method::InteriorPoint:
      return "interior_point";
    case Method::NonsmoothNewton:
      return "nonsmooth_newton";
    case Method::ProjectedGradient:
      return "projected_gradient";
    case Method::AcceleratedGradient:
      return "accelerated_gradient";
    case Method::ActiveSetCg:
      return "active_set_cg";
    case Method::Polish:
      return "polish";
    case Method::PairBlocks:
      return "pair_blocks";
  }
  return "unknown";
}

SolveWorkspace::SolveWorkspace() : impl_(std::make_unique<Impl>()) {}
SolveWorkspace::~SolveWorkspace() = default;
SolveWorkspace::SolveWorkspace(SolveWorkspace&&) noexcept = default;
SolveWorkspace& SolveWorkspace::operator=(SolveWorkspace&&) noexcept = default;

namespace {

constexpr double kWarmEnough = 0.1;  // residual of a start whose sets may be those of the answer
constexpr Index kSmallIsland = 100;  // blocks up to which finding that out costs nothing
constexpr Index kLargePile = 500;    // blocks beyond which a chain without end takes minutes
constexpr double kPileWork = 6e5;    // multiply-adds a block that it may spend then
constexpr double kLoose = 1e-9;  // tolerance from which on nobody asks for an answer to rounding
constexpr double kRough = 1e-5;  // tolerance from which on sweeps are cheaper than a factorisation
constexpr double kMaxReduced = 4e6;  // entries of N; 2000 dense rows factorise in a second
constexpr double kFinished = 1e-14;  // residual below which an answer is as good as rounding allows

/// Every number finite: a sum of x·0 is 0 only then, and it vectorises.
bool all_finite(std::span<const double> x) {
  double s = 0;
  for (const double value : x) s += value * 0.0;
  return s == 0;
}
bool all_finite(const VecX& x) {
  return all_finite(std::span(x.data(), static_cast<std::size_t>(x.size())));
}

/// The numbers that change from step to step are looked at in every solve; the full check with its
/// messages runs only when something is wrong.
void check(const CanonicalProblem& p, const SolveSettings& settings) {
  if (!(settings.tolerance > 0) || !std::isfinite(settings.tolerance)) {
    throw Error("solve", "tolerance must be positive, got " + to_text(settings.tolerance));
  }
  if (settings.max_iterations < 0 || !(settings.work_limit >= 0) || !(settings.time_limit >= 0)) {
    throw Error("solve", "limits must not be negative");
  }
  Index rows = 0;
  bool good = true;
  for (const Law& law : p.laws) {
    rows += law.dim;
    good = good && law.mu >= 0 && law.mu_r >= 0 && !(law.lo > law.hi);
  }
  good = good && p.k.size() == p.velocity_count() && p.e.size() == p.C.rows() &&
         p.b.size() == rows && (p.D.empty() || p.D.rows() == rows) &&
         (p.F.empty() || p.F.rows() == rows) && all_finite(p.k) && all_finite(p.e) &&
         all_finite(p.b) && all_finite(p.C.all_values()) && all_finite(p.D.all_values()) &&
         all_finite(p.F.all_values());
  if (!good) {
    validate(p, "solve");
    throw Error("solve", "the problem has a value that is not allowed");
  }
}

/// λ = 0 solves the island exactly: v = v_free and every w~ in its dual cone.
bool solved_by_zero(const CanonicalProblem& p, const ProblemScale& scale) {
  if (!p.C.empty()) return false;
  Index at = 0;
  for (Index c = 0; c < p.block_count(); ++c) {
    const Law& law = p.laws[c];
    Law part = law;
    if (law.is_separable()) part.dim = 1;
    for (int first = 0; first < law.dim; first += part.dim) {
      double w[kMaxLawDim], z[kMaxLawDim];
      for (int r = 0; r < part.dim; ++r) {
        w[r] = p.b[at + first + r];
        if (p.D.empty()) continue;
        const double* d = p.D.values(c);
        for (const BlockRows::Entry& entry : p.D.entries(c)) {
          for (Index j = 0; j < entry.width; ++j) {
            w[r] += d[(first + r) * entry.width + j] * scale.v_free[entry.column + j];
          }
          d += static_cast<std::ptrdiff_t>(law.dim) * entry.width;
        }
      }
      for (int r = 0; r < part.dim; ++r) z[r] = -w[r];
      z[0] -= shift_of(part, w);
      project(part, z, z);
      for (int r = 0; r < part.dim; ++r) {
        if (z[r] != 0) return false;
      }
    }
    at += law.dim;
  }
  return true;
}

/// One island while its methods run.
struct IslandRun {
  const CanonicalProblem& p;
  const ProblemScale& scale;
  Index number;
  MethodLimits limits;  // work_limit: what is left
  SolveWorkspace::Impl& work;
  Solution& x;
  SolveReport& report;
  const VelocitySolver* inverse;  // of H where that is known; null: reduce() factorises
  bool siconos_too;
  bool warm = false;     // x is an answer of a problem like this one
  bool given = false;    // the same, or at least its velocities
  bool by_body = false;  // few bodies for its rows: the work is done in velocities
  bool rough = false;    // many frictionless rows, loose tolerance: no factorisation is worth it
  double residual = std::numeric_limits<double>::infinity();  // of x
  Method method = Method::Automatic;
  Outcome outcome = Outcome::NotFinite;
  double spent = 0;
};

double judge_island(IslandRun& run) {
  return judge_quick(run.p, run.scale, run.x, run.work.island_judge).value;
}

/// Runs a method on the reduced problem. What satisfies the reduced judge may still miss the
/// tolerance of the real one, whose balance has its own rounding: then once more, tighter.
MethodResult run_reduced(const MethodEntry& entry, Effort effort, IslandRun& run) {
  SolveWorkspace::Impl& work = run.work;
  if (!work.local_ready) {
    if (run.inverse != nullptr) {
      reduce(run.p, *run.inverse, work.reduce, work.local);
    } else {
      reduce(run.p, work.reduce, work.local);
    }
    scale_of(work.local, work.local_scale_work, work.local_scale);
    work.local_ready = true;
  }
  const Index bilateral = run.p.bilateral_count();
  Solution& local = work.local_x;
  local.v.resize(0);
  local.gamma.resize(0);
  local.lambda.resize(work.local.row_count());
  local.w.setZero(work.local.row_count());
  local.lambda.head(bilateral) = run.x.gamma;
  local.lambda.tail(run.p.row_count()) = run.x.lambda;
  MethodLimits limits = run.limits;
  MethodResult total;
  for (int round = 0; round < 2; ++round) {
    const MethodResult r = entry.run(work.local, work.local_scale, effort, limits, work, local);
    total.outcome = r.outcome;
    total.residual = r.residual;
    total.iterations += r.iterations;
    total.work += r.work;
    if (!local.lambda.allFinite()) break;
    expand(run.p, run.inverse != nullptr ? *run.inverse : work.reduce.inverse, work.reduce, local,
           run.x);
    if (r.residual > limits.tolerance || judge_island(run) <= limits.tolerance) break;
    limits.tolerance *= 1e-2;
  }
  return total;
}

void prepare_bodies(IslandRun& run) {
  if (!run.work.bodies_ready) run.work.bodies.build(run.p, run.scale);
  run.work.bodies_ready = true;
}

MethodResult run_by_body(const MethodEntry& entry, Effort effort, IslandRun& run) {
  prepare_bodies(run);
  return entry.run_bodies(run.p, run.scale, effort, run.limits, run.work, run.x);
}

MethodResult run_method(const MethodEntry& entry, Effort effort, IslandRun& run) {
  const MethodResult result =
      entry.run_bodies != nullptr && run.by_body ? run_by_body(entry, effort, run)
      : entry.needs_local && !run.p.is_local()
          ? run_reduced(entry, effort, run)
          : entry.run(run.p, run.scale, effort, run.limits, run.work, run.x);
  run.spent += result.work;
  run.report.iterations += result.iterations;
  return result;
}

void keep(const Solution& from, Solution& to) {
  to.v = from.v;
  to.gamma = from.gamma;
  to.lambda = from.lambda;
}

/// The judge is content; Siconos' error, which one compares with others, may not be where |N| is
/// far from one. Then the method goes on a little, as long as that helps.
void tighten(const MethodEntry& entry, Effort effort, IslandRun& run) {
  const double tolerance = run.limits.tolerance;
  double error = siconos_error(run.p, run.scale, run.x, run.work.island_judge);
  for (int round = 0; round < 3 && error > tolerance && entry.goes_on; ++round) {
    keep(run.x, run.work.best);
    run.limits.tolerance = std::max(1e-15, 0.1 * tolerance * std::min(1.0, tolerance / error));
    (void)run_method(entry, effort, run);
    run.limits.tolerance = tolerance;
    const double residual = judge_island(run);
    const double now = siconos_error(run.p, run.scale, run.x, run.work.island_judge);
    if (!(residual <= tolerance && now < error)) {
      keep(run.work.best, run.x);
      break;
    }
    run.residual = residual;
    error = now;
  }
}

/// Σ e² m over the bilateral rows, m the mass a row feels: the motion that joints ask for.
double driven_energy(const CanonicalProblem& p) {
  double sum = 0;
  for (Index i = 0; i < p.C.row_block_count(); ++i) {
    for (Index r = 0; r < p.C.dim(i); ++r) {
      const double* a = p.C.values(i);
      double mobility = 0;
      for (const BlockRows::Entry& entry : p.C.entries(i)) {
        for (Index j = 0; j < entry.width; ++j) {
          const double c = a[r * entry.width + j];
          const Index column = entry.column + j;
          const double h = p.H.kind() == VelocityMatrix::Kind::BlockDiagonal
                               ? p.H.block(entry.block)[j * (entry.width + 1)]
                           : p.H.kind() == VelocityMatrix::Kind::Sparse
                               ? p.H.sparse_matrix().coeff(column, column)
                               : 1.0;
          if (h > 0) mobility += c * c / h;
        }
        a += static_cast<std::ptrdiff_t>(p.C.dim(i)) * entry.width;
      }
      const double e = p.e[p.C.row_begin(i) + r];
      if (mobility > 0) sum += e * e / mobility;
    }
  }
  return sum;
}

/// Rows that contradict each other drive impulses and velocities without bound, and the error is
/// small beside these. An answer with a thousand million times the speed that free motion, gaps and
/// motors can give is none; impulses without velocities may exceed by 1e15 (ill-conditioned N).
bool within_reason(const IslandRun& run) {
  const CanonicalProblem& p = run.p;
  double given = driven_energy(p), found = 0;
  for (Index i = 0; i < p.row_count(); ++i) given += run.scale.tau[i] * p.b[i] * p.b[i];
  double factor = 1e30;
  if (p.velocity_count() > 0) {
    VecX& product = run.work.product;
    p.H.multiply(run.scale.v_free, product);
    given += std::abs(product.dot(run.scale.v_free));
    p.H.multiply(run.x.v, product);
    found = std::abs(product.dot(run.x.v));
    factor = 1e18;
  } else {
    for (Index i = 0; i < p.row_count(); ++i) {
      found += run.x.lambda[i] * run.x.lambda[i] / run.scale.tau[i];
    }
  }
  return found <= factor * given;
}

/// Do the bilateral rows alone have no answer?
bool joints_contradict(IslandRun& run) {
  if (run.p.C.empty() || run.p.H.kind() == VelocityMatrix::Kind::Operator) return false;
  CanonicalProblem alone;
  alone.H = run.p.H;
  alone.k = run.p.k;
  alone.C = run.p.C;
  alone.e = run.p.e;
  const ProblemScale scale{VecX(), run.scale.v_free};
  Solution x = zero_solution(alone);
  const MethodResult result =
      solve_bilateral(alone, scale, {.tolerance = 1e-9}, run.work.bilateral, x);
  return std::isfinite(result.residual) && result.residual > 1e-6;
}

/// Entries of N = [C; D] H⁻¹ [C; D]ᵀ + F, those of pairs of bodies counted twice: rows that share a
/// body couple.
double reduced_entries(const CanonicalProblem& p, std::vector<double>& rows_of) {
  rows_of.assign(static_cast<std::size_t>(p.H.block_count()), 0.0);
  for (const BlockRows* rows : {&p.C, &p.D}) {
    for (Index i = 0; i < rows->row_block_count(); ++i)
      for (const BlockRows::Entry& entry : rows->entries(i)) rows_of[entry.block] += rows->dim(i);
  }
  double sum = 0;
  for (const double n : rows_of) sum += n * n;
  return sum;
}

/// Would the method have to form a matrix that takes minutes to factorise?
bool too_dense(const MethodEntry& entry, IslandRun& run) {
  if (!entry.needs_local || run.p.H.kind() != VelocityMatrix::Kind::BlockDiagonal ||
      run.p.is_local() || (run.by_body && entry.run_bodies != nullptr))
    return false;
  return reduced_entries(run.p, run.work.rows_of) > kMaxReduced;
}

/// Runs one method from the best answer so far; keeps whichever answer is better.
void attempt(const MethodEntry& entry, Effort effort, IslandRun& run) {
  keep(run.x, run.work.best);
  const MethodResult result = run_method(entry, effort, run);
  const double residual = judge_island(run);
  // The judge decides; a method that claims too much has stalled.
  Outcome outcome = result.outcome;
  if (residual <= run.limits.tolerance) {
    outcome = Outcome::Converged;
  } else if (outcome == Outcome::Converged) {
    outcome = Outcome::Stalled;
  }
  run.report.attempts.push_back({entry.method, outcome, run.number, result.iterations, residual});
  // What an unsolvable problem was recognised by stays the outcome, unless someone solves it.
  const bool verdict = run.outcome == Outcome::Infeasible ||
                       (run.outcome == Outcome::RayTermination && outcome != Outcome::Infeasible);
  if (outcome == Outcome::Converged || !verdict) run.outcome = outcome;
  if (residual < run.residual && (outcome == Outcome::Converged || within_reason(run))) {
    run.residual = residual;
    run.method = entry.method;
  } else {
    keep(run.work.best, run.x);
  }
  if (outcome == Outcome::Converged && run.siconos_too) tighten(entry, effort, run);
}

/// One or two steps more, to rounding: what is left over moves the bodies, and so disturbs the next
/// problem, whose start is this answer. Costs a factorisation in body space and saves many.
void finish(IslandRun& run) {
  if (!run.by_body || run.rough || run.outcome != Outcome::Converged || run.residual <= kFinished)
    return;
  keep(run.x, run.work.best);
  MethodLimits limits = run.limits;
  limits.tolerance = std::min(kFinished, limits.tolerance);
  limits.max_iterations = 2;
  limits.trace = nullptr;
  prepare_bodies(run);
  const MethodResult result = internal::polish_bodies(run.p, run.scale, {}, limits, run.work.bodies,
                                                      run.work.body_polish, run.x);
  run.spent += result.work;
  run.report.iterations += result.iterations;
  if (result.residual < run.residual) {
    run.residual = result.residual;
  } else {
    keep(run.work.best, run.x);
  }
}

void solve_island(IslandRun& run, Method wanted, double work_limit) {
  run.work.local_ready = false;
  run.work.bodies_ready = false;
  run.work.by_name = false;
  run.work.warm = false;
  if (solved_by_zero(run.p, run.scale)) {
    run.x.v = run.scale.v_free;
    run.x.lambda.setZero();
    run.outcome = Outcome::Converged;
    run.residual = 0;
    return;
  }
  // Joints alone are linear equations: the interior point without cones.
  static constexpr MethodEntry kBilateral{
      Method::InteriorPoint, false, nullptr,
      [](const CanonicalProblem& p, const ProblemScale& scale, Effort, const MethodLimits& limits,
         SolveWorkspace::Impl& work,
         Solution& x) { return solve_bilateral(p, scale, limits, work.bilateral, x); }};
  if (wanted == Method::Automatic && is_bilateral(run.p) &&
      !internal::fits_proximal_newton(run.p)) {
    attempt(kBilateral, Effort::Full, run);
    if (run.outcome == Outcome::Converged) return;
  }
  // Joints with limits and contacts: Newton steps on the graph of the links, linear in their number.
  static constexpr MethodEntry kJointed{
      Method::NonsmoothNewton, false, nullptr,
      [](const CanonicalProblem& p, const ProblemScale& scale, Effort, const MethodLimits& limits,
         SolveWorkspace::Impl& work, Solution& x) {
        return internal::solve_proximal_newton(p, scale, {}, limits, work.proximal_newton, x);
      }};
  if (wanted == Method::Automatic && !run.p.C.empty() && internal::fits_proximal_newton(run.p)) {
    if (run.warm) run.residual = judge_island(run);
    if (run.residual <= run.limits.tolerance) {
      run.outcome = Outcome::Converged;
      return;
    }
    attempt(kJointed, Effort::Full, run);
    if (run.outcome == Outcome::Converged) return;
  }
  run.by_body = internal::BodySpace::fits(run.p);
  ProblemTraits traits = traits_of(run.p);
  traits.by_body = run.by_body;
  // What a pile costs grows with its size, not with how badly it resists; more is there for asking.
  if (wanted == Method::Automatic && work_limit == 0 && run.by_body && traits.frictional &&
      traits.blocks > kLargePile) {
    work_limit = kPileWork * static_cast<double>(traits.blocks);
    run.limits.work_limit = work_limit;
  }
  run.rough = takes_pair_blocks(traits)
                  ? run.limits.tolerance >= kLoose
                  : traits.blocks > kSmallIsland && run.limits.tolerance >= kRough;
  if (wanted == Method::Automatic && run.warm) {
    run.residual = judge_island(run);
    if (run.residual <= run.limits.tolerance) {
      run.outcome = Outcome::Converged;
      return;
    }
    // In a pile that falls together most sets change: a factorisation would be wasted on them.
    const bool close = run.residual < kWarmEnough || run.p.block_count() <= kSmallIsland;
    if (run.by_body && close && !run.rough)
      attempt(*find_method(Method::Polish), Effort::Quick, run);
    if (run.outcome == Outcome::Converged) return finish(run);
  }
  if (wanted != Method::Automatic) {
    run.work.by_name = true;
    run.work.warm = run.given;
    return attempt(*find_method(wanted), Effort::Full, run);
  }
  for (const ChainLink& link : automatic_chain(traits)) {
    const MethodEntry* entry = find_method(link.method);
    if (entry == nullptr || entry->why_not(traits) != nullptr || !link.when(traits) ||
        too_dense(*entry, run))
      continue;
    attempt(*entry, link.effort, run);
    if (run.outcome == Outcome::Converged) return finish(run);
    if (run.outcome == Outcome::Infeasible) return;
    if (work_limit > 0) run.limits.work_limit = std::max(work_limit - run.spent, 1.0);
    if (run.limits.exhausted(0) || (work_limit > 0 && run.spent >= work_limit)) {
      run.outcome = Outcome::WorkLimit;
      return;
    }
  }
  if (run.outcome != Outcome::Converged && joints_contradict(run)) {
    run.outcome = Outcome::Infeasible;
  }
}

bool usable_start(const CanonicalProblem& p, const Solution& x) {
  return x.v.size() == p.velocity_count() && x.gamma.size() == p.bilateral_count() &&
         x.lambda.size() == p.row_count() && all_finite(x.v) && all_finite(x.gamma) &&
         all_finite(x.lambda);
}

bool has_impulses(const Solution& x) { return !x.lambda.isZero(0.0) || !x.gamma.isZero(0.0); }

/// How to go about the islands.
struct IslandPlan {
  bool warm;         // x is the answer of a problem like this one
  bool given;        // the same, or at least its velocities
  bool closed_form;  // blocks that are alone are solved in place
};

/// The sum over the islands.
struct IslandTotals {
  Outcome outcome = Outcome::Converged;  // of the hardest: one that failed, else the most work
  Index closed_forms = 0;                // islands solved without a method
  double spent = 0, hardest = -1;
};

void add_up(const IslandRun& run, IslandTotals& totals) {
  totals.spent += run.spent;
  const bool failed = run.outcome != Outcome::Converged;
  const double hardness = failed ? std::numeric_limits<double>::infinity() : run.spent;
  if (hardness > totals.hardest) {
    totals.hardest = hardness;
    run.report.method = run.method;
    totals.outcome = run.outcome;
  }
}

/// Solves every island, from x into x.
IslandTotals solve_islands(const CanonicalProblem& p, const SolveSettings& settings,
                           MethodLimits limits, const IslandPlan& plan, SolveWorkspace::Impl& work,
                           Solution& x, SolveReport& report) {
  IslandTotals totals;
  const IslandSplit& split = work.split;
  for (Index i = 0; i < split.count; ++i) {
    if (plan.closed_form && split.blocks_of(i).size() == 1 && split.joints_of(i).empty()) {
      const Index c = split.blocks_of(i)[0];
      if (solve_lone_block(p, work.scale, work.scale_work.inverse, c, split.offsets[c], x)) {
        ++totals.closed_forms;
        continue;
      }
    }
    if (split.count == 1 && split.lone_bodies.empty()) {
      IslandRun run{p,
                    work.scale,
                    0,
                    limits,
                    work,
                    x,
                    report,
                    &work.scale_work.inverse,
                    settings.siconos_too,
                    plan.warm,
                    plan.given};
      solve_island(run, settings.method, limits.work_limit);
      add_up(run, totals);
      break;
    }
    extract_island(p, work.split, i, work.island);
    gather_scale(p, split, i, work.scale, work.island_scale);
    gather_solution(p, split, i, x, work.island_x);
    IslandRun run{work.island,
                  work.island_scale,
                  i,
                  limits,
                  work,
                  work.island_x,
                  report,
                  nullptr,
                  settings.siconos_too,
                  plan.warm && has_impulses(work.island_x),
                  plan.given};
    solve_island(run, settings.method, limits.work_limit);
    scatter_solution(p, split, i, work.island_x, x);
    add_up(run, totals);
    if (settings.work_limit > 0) {
      limits.work_limit = std::max(settings.work_limit - totals.spent, 1.0);
    }
  }
  for (const Index body : split.lone_bodies) {
    const Index at = p.H.block_begin(body), n = p.H.block_size(body);
    x.v.segment(at, n) = work.scale.v_free.segment(at, n);
  }
  return totals;
}

}  // namespace

void solve(const CanonicalProblem& p, const SolveSettings& settings, SolveWorkspace& workspace,
           Solution& x, SolveReport& report) {
  SolveWorkspace::Impl& work = workspace.impl();
  report.outcome = Outcome::NotFinite;
  report.method = settings.method;
  report.iterations = 0;
  report.attempts.clear();
  check(p, settings);
  if (settings.method != Method::Automatic) {
    const std::string reason = why_not_applicable(settings.method, p);
    if (!reason.empty()) throw Error("solve", reason);
  }
  const Timer clock;
  scale_of(p, work.scale_work, work.scale);
  const bool warm = settings.use_warm_start && usable_start(p, x) && has_impulses(x);
  const bool given = warm || (settings.use_warm_start && usable_start(p, x) && !x.v.isZero(0.0));
  if (!settings.use_warm_start || !usable_start(p, x)) {
    x.gamma.setZero(p.bilateral_count());
    x.lambda.setZero(p.row_count());
    x.v = work.scale.v_free;
  }
  x.w.resize(p.row_count());
  find_islands(p, work.split);
  report.island_count = work.split.count;

  const MethodLimits limits{.tolerance = settings.tolerance,
                            .max_iterations = settings.max_iterations,
                            .work_limit = settings.work_limit,
                            .trace = settings.trace,
                            .clock = &clock,
                            .time_limit = settings.time_limit};
  // Islands of one block have their exact answer at once; if the judge does not agree, once more
  // with the methods.
  for (bool closed_form = settings.method == Method::Automatic;; closed_form = false) {
    const IslandTotals totals =
        solve_islands(p, settings, limits, {warm, given, closed_form}, work, x, report);
    report.residual = judge(p, work.scale, x, work.scale_work.inverse, work.judge);
    const bool good = report.residual.value <= settings.tolerance;
    report.outcome = good                                   ? Outcome::Converged
                     : totals.outcome == Outcome::Converged ? Outcome::Stalled
                                                            : totals.outcome;
    if (report.outcome != Outcome::Stalled || totals.closed_forms == 0) break;
  }
  x.w = work.judge.w;
}

SolveReport solve(const CanonicalProblem& problem, const SolveSettings& settings,
                  SolveWorkspace& workspace, Solution& solution) {
  SolveReport report;
  solve(problem, settings, workspace, solution, report);
  return report;
}

SolveReport solve(const CanonicalProblem& problem, const SolveSettings& settings,
                  Solution& solution) {
  SolveWorkspace workspace;
  solution = zero_solution(problem);
  return solve(problem, settings, workspace, solution);
}

std::string why_not_applicable(Method method, const CanonicalProblem& problem) {
  if (method == Method::Automatic) return {};
  const std::string name(name_of(method));
  const MethodEntry* entry = find_method(method);
  if (entry == nullptr) return "method '" + name + "' is not part of this build";
  // Islands are solved one by one, so each has to suit.
  IslandSplit split;
  find_islands(problem, split);
  CanonicalProblem island;
  for (Index i = 0; i < split.count; ++i) {
    extract_island(problem, split, i, island);
    const char* reason = entry->why_not(traits_of(island));
    if (reason != nullptr) return "method '" + name + "' does not apply: " + reason;
  }
  return {};
}

}  // namespace orthant
