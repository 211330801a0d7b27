// SPDX-License-Identifier: Apache-2.0
// solver/plan.cpp: problem => traits => plan; plan <=> text.
// Order of a plan: the cheap tries first, then the expensive ones. Conditions are functions of the
// traits and of PlanSettings alone, so a plan can be printed without a problem.
#include "orthant/solver/plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "orthant/base/error.hpp"
#include "solver/delassus_operator.hpp"
#include "solver/methods.hpp"
#include "solver/mixed_lcp.hpp"
#include "solver/velocity_space.hpp"

namespace orthant {

std::string_view name_of(Method method) { return kMethods[static_cast<std::size_t>(method)].name; }

std::optional<Method> method_named(std::string_view name) {
  std::string key(name);
  std::replace_if(key.begin(), key.end(), [](char c) { return c == ' ' || c == '-'; }, '_');
  for (const MethodInfo& info : kMethods)
    if (info.name == key) return info.method;
  return {};
}

namespace {

constexpr std::string_view kEfforts[] = {"quick", "longer", "full", "finish"};

/// Entries of N = [C; D] H⁻¹ [C; D]ᵀ + F, those of pairs of velocity blocks counted twice: rows
/// that share a velocity block couple.
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

}  // namespace

std::string_view name_of(Effort effort) { return kEfforts[static_cast<std::size_t>(effort)]; }

ProblemTraits traits_of(const CanonicalProblem& p, std::vector<double>* scratch) {
  ProblemTraits t;
  t.blocks = p.block_count();
  t.rows = p.row_count() + p.bilateral_count();
  t.equations = p.bilateral_count();
  t.velocities = p.velocity_count();
  t.velocity_operator = p.H.kind() == VelocityMatrix::Kind::Operator;
  const bool blocks = p.H.kind() == VelocityMatrix::Kind::BlockDiagonal && t.velocities > 0;
  t.velocity_blocks = blocks ? p.H.block_count() : 0;
  t.planar = blocks && t.velocities == 3 * t.velocity_blocks;
  t.velocity_form = internal::VelocitySpace::fits(p);
  // Velocity blocks of their own have six entries per column at most; meshes have tens.
  t.coupled_velocities =
      p.H.kind() == VelocityMatrix::Kind::Sparse && t.velocities > 200 &&
      p.H.sparse_matrix().nonZeros() > 8 * static_cast<std::int64_t>(t.velocities);
  bool orthant = true;
  for (const Law& law : p.laws) {
    if (law.kind == LawKind::Free) t.equations += law.dim;
    t.separable = t.separable && law.is_separable();
    t.frictional = t.frictional || law.is_frictional();
    t.planar_exact = t.planar_exact && MixedLcp::accepts(law);
    t.pairs += MixedLcp::accepts(law) ? MixedLcp::pairs_of(law) : 0;
    t.exact = t.exact || law.is_exact();
    t.rolling = t.rolling || law.has_rolling();
    orthant = orthant && law.kind == LawKind::Orthant;
  }
  t.only_orthant =
      orthant && t.blocks > 0 && p.C.empty() && p.F.empty() && internal::DelassusOperator::fits(p);
  // No more than rows²: where that is few there is nothing to count.
  if (blocks && t.rows > 1000) {
    std::vector<double> own;
    t.reduced_entries = reduced_entries(p, scratch != nullptr ? *scratch : own);
  }
  return t;
}

namespace {

/// Builds one plan: a step is added where its method applies and its condition holds.
class Planner {
 public:
  Planner(const ProblemTraits& traits, const PlanSettings& settings, double tolerance, Plan& plan)
      : t(traits), s(settings), tolerance_(tolerance), plan_(plan) {}

  void run() {
    plan_.steps.clear();
    plan_.work_limit = 0;
    if (t.blocks == 0) {  // bilateral rows alone are linear equations
      add(Method::Polish, Effort::Full);
      add(Method::InteriorPoint, Effort::Full);
      return;
    }
    // What an island costs grows with its size, not with how badly it resists.
    if (t.velocity_form && t.frictional && t.blocks > s.large_blocks)
      plan_.work_limit = s.work_per_block * static_cast<double>(t.blocks);
    // Where most blocks change their set a factorisation would be wasted on those of the start.
    const bool close = t.start_residual < s.warm_residual ||
                       (t.start_residual < HUGE_VAL && t.blocks <= s.many_blocks);
    add(Method::Polish, Effort::Quick, t.velocity_form && close && !rough());
    if (t.coupled_velocities && !t.rolling)
      coupled();
    else if (t.separable)
      separable();
    else if (t.velocity_form)
      friction_in_velocities();
    else
      friction();
    add(Method::Polish, Effort::Finish, t.velocity_form && !rough());
  }

 private:
  void add(Method method, Effort effort, bool when = true) {
    const MethodEntry* entry = find_method(method);
    if (!when || entry == nullptr || entry->why_not(t) != nullptr) return;
    const bool forms_n =
        entry->needs_local && t.velocities > 0 && !(t.velocity_form && entry->in_velocities);
    if (forms_n && t.reduced_entries > s.reduced_entries) return;
    plan_.steps.push_back({method, effort, 0});
  }

  // --- conditions ---
  bool orthant_rows() const { return t.only_orthant && t.rows > s.many_blocks; }
  /// No answer to rounding is asked for, and sweeps or products are cheaper than a factorisation.
  bool rough() const {
    return orthant_rows() ? tolerance_ >= s.loose_tolerance
                          : t.blocks > s.many_blocks && tolerance_ >= s.rough_tolerance;
  }
  /// Factorisations grow faster than the problem: sweeps and products first.
  bool huge() const { return t.rows > s.huge_rows; }
  /// The interior point's few factorisations beat the many of Newton methods on N.
  bool large() const {
    return !huge() && !t.rolling && t.rows > (t.exact ? s.factor_exact : s.factor_rows);
  }
  /// Far more rows than velocities: they repeat each other, and in velocities little is left.
  bool crowded() const {
    return t.velocity_form && t.rows > s.many_blocks &&
           static_cast<double>(t.rows) >= s.crowded_rows * static_cast<double>(t.velocities) &&
           t.velocities <= s.crowded_velocities;
  }
  /// Lemke's dense tableau takes about n pivots of n² each.
  bool tableau(Index most) const { return t.equations + t.pairs <= most; }
  /// As a last resort, where it was not among the first: it takes no start, so once is enough.
  bool late_tableau(Index first) const { return tableau(s.big_tableau) && !tableau(first); }

  // --- orders ---
  void separable() {
    // Gauss–Seidel cannot relax an equation whose diagonal is zero, as circuits have.
    const bool no_equations = t.equations == 0;
    const bool plane = orthant_rows() && t.planar;
    add(Method::InteriorPoint, Effort::Full, t.pairs == 0);
    add(Method::NonsmoothNewton, Effort::Quick, crowded());
    // In the plane a factorisation costs no more than some tens of products, and conjugate
    // gradients would take hundreds to thousands.
    add(Method::InteriorPoint, Effort::Full, plane);
    add(Method::PairBlocks, Effort::Full, orthant_rows());
    add(Method::GaussSeidel, Effort::Quick, no_equations);
    add(Method::InteriorPoint, Effort::Full, large() && !plane);
    add(Method::Lemke, Effort::Full, tableau(s.small_tableau));
    // Before methods that run off to infinity where there is no answer and are small there in
    // relative terms. Not where N is formed from velocities: at mass ratios of 1e12 its rounding
    // alone makes a solvable problem look unsolvable.
    add(Method::Enumeration, Effort::Full, t.pairs <= s.few_pairs && t.velocities == 0);
    add(Method::InteriorPoint, Effort::Full, !large() && !plane);
    add(Method::Polish, Effort::Full);
    add(Method::Lemke, Effort::Full, late_tableau(s.small_tableau));
    add(Method::GaussSeidel, Effort::Full, no_equations);
  }

  void friction() {
    add(Method::GaussSeidel, Effort::Quick);
    add(Method::Lemke, Effort::Full, tableau(s.tiny_tableau));
    add(Method::InteriorPoint, Effort::Full, large());
    add(Method::Polish, Effort::Full, large());
    add(Method::NonsmoothNewton, Effort::Quick);
    add(Method::InteriorPoint, Effort::Full, !large());
    add(Method::Polish, Effort::Full);
    add(Method::NonsmoothNewton, Effort::Full);
    add(Method::Lemke, Effort::Full, late_tableau(s.tiny_tableau));
    add(Method::GaussSeidel, Effort::Full);
  }

  /// Sweeps and Newton steps in velocities are cheap and solve most; the interior point is for
  /// jammed ones, and sweeps settle the blocks it leaves between two sets.
  void friction_in_velocities() {
    const bool last_resorts = t.blocks <= 2 * s.large_blocks;
    add(Method::GaussSeidel, Effort::Quick);
    add(Method::Lemke, Effort::Full, tableau(s.tiny_tableau));
    // Of many convex cones the interior point takes some ten factorisations, Newton steps more.
    add(Method::NonsmoothNewton, Effort::Quick, t.exact || t.blocks <= s.many_blocks);
    add(Method::InteriorPoint, Effort::Full);
    add(Method::Polish, Effort::Longer);
    add(Method::GaussSeidel, Effort::Longer);
    add(Method::Polish, Effort::Full);
    add(Method::NonsmoothNewton, Effort::Longer);
    add(Method::NonsmoothNewton, Effort::Full, last_resorts);
    add(Method::Lemke, Effort::Full, late_tableau(s.tiny_tableau));
    add(Method::GaussSeidel, Effort::Full, last_resorts);
  }

  /// One factorisation per iteration with the velocities in, N only as a last resort.
  void coupled() {
    const bool few = t.rows <= s.few_rows;
    add(Method::InteriorPoint, Effort::Full);
    add(Method::Polish, Effort::Full);
    add(Method::NonsmoothNewton, Effort::Full, few);
    add(Method::GaussSeidel, Effort::Full, few);
  }

  const ProblemTraits& t;
  const PlanSettings& s;
  double tolerance_;
  Plan& plan_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Calls visit with the parts of `text` between separators.
template <class Visit>
void each_part(std::string_view text, char separator, Visit&& visit) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    visit(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) out += part;
  return out;
}

[[noreturn]] void not_understood(std::string_view step, std::string_view why) {
  throw Error("plan", joined({"step '", step, "': ", why}));
}

Method step_method(std::string_view step, std::string_view word) {
  const std::optional<Method> method = method_named(word);
  if (method && *method != Method::Automatic) return *method;
  std::vector<std::string_view> names;
  std::string list;
  for (const MethodInfo& info : kMethods) {
    if (info.method == Method::Automatic) continue;
    names.push_back(info.name);
    if (!list.empty()) list += ", ";
    list += info.name;
  }
  const std::string near = nearest_spelling(std::string(word), names.data(), names.size());
  const std::string hint = near.empty() ? "" : joined({" (did you mean '", near, "'?)"});
  not_understood(step, joined({"no method '", word, "'", hint, "; allowed: ", list}));
}

}  // namespace

void plan_for(const ProblemTraits& traits, const PlanSettings& settings, double tolerance,
              Plan& plan) {
  Planner(traits, settings, tolerance, plan).run();
}

Plan plan_for(const ProblemTraits& traits, const PlanSettings& settings, double tolerance) {
  Plan plan;
  plan_for(traits, settings, tolerance, plan);
  return plan;
}

std::string text_of(const Plan& plan) {
  std::string out;
  for (const PlanStep& step : plan.steps) {
    if (!out.empty()) out += ", ";
    out += name_of(step.method);
    if (step.effort != Effort::Full) (out += ':') += name_of(step.effort);
    if (step.max_iterations > 0) (out += ':') += std::to_string(step.max_iterations);
  }
  return out;
}

Plan plan_of(std::string_view text) {
  Plan plan;
  each_part(text, ',', [&](std::string_view word) {
    if (word.empty()) not_understood(word, "empty; expected method[:effort][:iterations]");
    PlanStep step;
    bool first = true;
    each_part(word, ':', [&](std::string_view part) {
      if (std::exchange(first, false)) {
        step.method = step_method(word, part);
        return;
      }
      const auto* effort = std::find(std::begin(kEfforts), std::end(kEfforts), part);
      if (effort != std::end(kEfforts)) {
        step.effort = static_cast<Effort>(effort - kEfforts);
        return;
      }
      const auto [end, error] =
          std::from_chars(part.data(), part.data() + part.size(), step.max_iterations);
      if (error != std::errc() || end != part.data() + part.size() || step.max_iterations < 1)
        not_understood(word, joined({"'", part,
                                     "' is neither quick, longer, full, finish nor a number of "
                                     "iterations"}));
    });
    plan.steps.push_back(step);
  });
  return plan;
}

}  // namespace orthant
