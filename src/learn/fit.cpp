// SPDX-License-Identifier: Apache-2.0
// learn/fit.cpp: checks, starts, descent, polish; then intervals and what the data cannot tell.
//   deviations²: diag(A⁻¹ S A⁻¹), A the curvature, S = Σ g gᵀ over motions (one motion is one
//   independent observation; its samples are not)
#include "orthant/learn/fit.hpp"

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>

#include "learn/fit_cost.hpp"
#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/gradient/step.hpp"

namespace orthant {
namespace {

using internal::ContactCount;
using internal::FitCost;
using internal::FitProblem;

constexpr double kQuantile = 1.959964;  // of the normal distribution, 95 %
constexpr double kSingular = 1e-9;      // eigenvalue of the scaled curvature that counts as zero
constexpr double kLeast = 1e-4;  // default lower bound of coefficients: at 0 the law has no slope

bool ends_with(const std::string& name, std::string_view field) {
  return name.size() > field.size() && name.ends_with(field) &&
         name[name.size() - field.size() - 1] == '.';
}

struct Range {
  double lower, upper;
};

Range default_range(const std::string& name, double value) {
  if (ends_with(name, "friction")) return {kLeast, std::max(2.0, 2 * value)};
  if (ends_with(name, "restitution")) return {kLeast, 1};
  if (value == 0) return {-1, 1};
  return {std::min(0.5 * value, 2 * value), std::max(0.5 * value, 2 * value)};
}

bool of_contact(const std::string& name) {
  return name.starts_with("material/") || name.starts_with("pair/");
}

void read_parameters(FitProblem& p) {
  const std::vector<FitParameter>& wanted = p.options.parameters;
  if (wanted.empty()) throw Error("parameters", "nothing to fit: name at least one");
  std::vector<std::string> names;
  for (const FitParameter& w : wanted) {
    if (std::find(names.begin(), names.end(), w.name) != names.end())
      throw Error("parameter '" + w.name + "'", "is given twice");
    names.push_back(w.name);
  }
  p.places = find_parameters(p.model, names);
  const auto n = static_cast<Index>(wanted.size());
  p.lower.resize(n);
  p.upper.resize(n);
  p.start.resize(n);
  for (Index i = 0; i < n; ++i) {
    const FitParameter& w = wanted[static_cast<std::size_t>(i)];
    const double now = p.parameters.values[p.places[static_cast<std::size_t>(i)]];
    const Range range = default_range(w.name, std::isnan(w.start) ? now : w.start);
    p.lower[i] = std::isnan(w.lower) ? range.lower : w.lower;
    p.upper[i] = std::isnan(w.upper) ? range.upper : w.upper;
    const std::string where = "parameter '" + w.name + "'";
    if (!(p.lower[i] < p.upper[i]))
      throw Error(where,
                  "its bounds are empty: " + to_text(p.lower[i]) + " … " + to_text(p.upper[i]));
    if (!std::isnan(w.start) && !(w.start >= p.lower[i] && w.start <= p.upper[i]))
      throw Error(where, "its start " + to_text(w.start) + " is outside of its bounds " +
                             to_text(p.lower[i]) + " … " + to_text(p.upper[i]));
    p.start[i] = std::clamp(std::isnan(w.start) ? now : w.start, p.lower[i], p.upper[i]);
  }
  p.scale = box_scale(p.lower, p.upper, p.start);
  for (const double bound : {p.lower.sum(), p.upper.sum()})
    if (!std::isfinite(bound)) throw Error("parameters", "bounds must be finite");
}

/// The k-th point of a Halton sequence in the box.
VecX spread_point(const FitProblem& p, int k) {
  static constexpr int kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
  VecX x(p.start.size());
  for (Index i = 0; i < x.size(); ++i) {
    const int base = kPrimes[i % 10];
    double share = 0, digit = 1;
    for (int n = k + 1; n > 0; n /= base) {
      digit /= base;
      share += digit * (n % base);
    }
    x[i] = p.lower[i] + share * (p.upper[i] - p.lower[i]);
  }
  return x;
}

/// Runs the search; counts costs and reports progress.
class Search {
 public:
  Search(const FitProblem& p, FitResult& result) : p_(p), result_(result), best_(p.start) {}

  /// The best of the starts, and with `descend` a few steps down from it: on some of the motions.
  void explore(FitCost& cost, bool descend) {
    best_cost_ = at(cost, p_.start, false).cost;
    say("start");
    for (int k = 0; k < p_.options.starts && !stopped_; ++k) {
      const VecX x = spread_point(p_, k);
      const double value = at(cost, x, false).cost;
      if (value < best_cost_) {
        best_ = x;
        best_cost_ = value;
      }
      say("start");
    }
    cost.choose_huber(best_);
    if (descend) descent(cost, "first descent", kFirstIterations);
  }

  /// Down to a minimum of the cost of all motions.
  void refine(FitCost& cost) {
    cost.choose_huber(best_);
    result_.start_cost = at(cost, p_.start, false).cost;
    descent(cost, "descent", p_.options.max_iterations);
    if (p_.options.method != FitMethod::Simulate || !p_.options.polish || stopped_) return;
    const OptimiserStop reason = result_.stop;
    OptimiserSettings settings = settings_for("polish");
    settings.x_tolerance = kPolishEnd;
    take(pattern_search(function(cost), p_.lower, p_.upper, best_, kPolishStart, settings));
    result_.stop = reason;
  }
  const VecX& best() const { return best_; }

 private:
  static constexpr int kFirstIterations = 8;
  static constexpr double kPolishStart = 0.04, kPolishEnd = 2e-3;  // of the box

  void descent(FitCost& cost, std::string_view stage, int iterations) {
    if (stopped_) return;
    best_cost_ = at(cost, best_, false).cost;
    OptimiserSettings settings = settings_for(stage);
    settings.max_iterations = iterations;
    settings.x_tolerance = 1e-5;
    const CostFunction f = function(cost);
    take(p_.options.method == FitMethod::Simulate
             ? levenberg_marquardt(f, p_.lower, p_.upper, best_, settings)
             : projected_bfgs(f, p_.lower, p_.upper, best_, settings));
  }
  CostFunction function(FitCost& cost) {
    return [this, &cost](const VecX& x, bool derivatives) { return at(cost, x, derivatives); };
  }
  OptimiserSettings settings_for(std::string_view stage) {
    OptimiserSettings settings;
    settings.progress = [this, stage](int, const VecX& x, double cost) {
      best_ = x;
      best_cost_ = cost;
      return say(stage);
    };
    return settings;
  }
  CostValue at(FitCost& cost, const VecX& x, bool derivatives) {
    ++result_.evaluations;
    return cost(x, derivatives);
  }
  bool say(std::string_view stage) {
    stopped_ = stopped_ || (p_.options.progress &&
                            !p_.options.progress(stage, result_.evaluations, best_, best_cost_));
    return !stopped_;
  }
  void take(const OptimiserResult& found) {
    result_.iterations += found.iterations;
    result_.stop = found.stop;
    if (!(found.cost <= best_cost_)) return;
    best_ = found.x;
    best_cost_ = found.cost;
  }

  const FitProblem& p_;
  FitResult& result_;
  VecX best_;
  double best_cost_ = 0;
  bool stopped_ = false;
};

/// At most `count` motions, evenly picked.
TrajectoryData some_of(const TrajectoryData& data, std::size_t count) {
  if (data.trajectories.size() <= count) return data;
  TrajectoryData out = subset(data, 0, 0);
  for (std::size_t i = 0; i < count; ++i)
    out.trajectories.push_back(data.trajectories[i * data.trajectories.size() / count]);
  return out;
}

std::unique_ptr<FitCost> make_cost(const FitProblem& p) {
  return p.options.method == FitMethod::Simulate ? internal::make_simulate_cost(p)
                                                 : internal::make_implicit_cost(p);
}

std::string why_blind(const std::string& name, const ContactCount& contacts) {
  if (of_contact(name) && contacts.touching == 0) return "nothing touches";
  if (ends_with(name, "friction") && contacts.sliding == 0) return "every contact sticks";
  if (ends_with(name, "restitution")) return "no contact closes fast enough to bounce";
  return "no prediction depends on it";
}

std::string short_name(const std::string& name) {
  const std::size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(dot + 1);
}

/// Parameters that nothing depends on, then combinations that nothing depends on. Those at a bound
/// have no curvature worth the name.
void find_blind(const FitProblem& p, const CostValue& at, const ContactCount& contacts,
                double blind, FitResult& result) {
  std::vector<Index> seen;
  for (Index i = 0; i < p.start.size(); ++i) {
    Estimate& e = result.estimates[static_cast<std::size_t>(i)];
    if (e.at_bound) continue;
    if (std::abs(at.curvature(i, i)) * p.scale[i] * p.scale[i] > blind) {
      if (at.curvature(i, i) > 0) seen.push_back(i);
      continue;
    }
    e.identified = false;
    result.notes.push_back(short_name(e.name) + " cannot be seen in these data: " +
                           why_blind(e.name, contacts) + " (" + e.name + ")");
  }
  const auto n = static_cast<Index>(seen.size());
  if (n < 2) return;
  MatX C(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      C(i, j) = at.curvature(seen[i], seen[j]) /
                std::sqrt(at.curvature(seen[i], seen[i]) * at.curvature(seen[j], seen[j]));
  const Eigen::SelfAdjointEigenSolver<MatX> eigen(C);
  for (Index k = 0; k < n; ++k) {
    if (eigen.eigenvalues()[k] > kSingular) continue;
    std::string names;
    for (Index i = 0; i < n; ++i) {
      if (std::abs(eigen.eigenvectors()(i, k)) < 0.05) continue;
      Estimate& e = result.estimates[static_cast<std::size_t>(seen[i])];
      e.identified = false;
      names += (names.empty() ? "" : ", ") + e.name;
    }
    result.notes.push_back("only a combination of " + names +
                           " can be seen in these data: they may change together unnoticed");
  }
}

/// A⁻¹ S A⁻¹ on the identified unknowns.
void find_deviations(const FitProblem& p, const CostValue& at, const MatX& scores,
                     FitResult& result) {
  std::vector<Index> seen;
  for (Index i = 0; i < p.start.size(); ++i) {
    const Estimate& e = result.estimates[static_cast<std::size_t>(i)];
    if (e.identified && !e.at_bound && at.curvature(i, i) > 0) seen.push_back(i);
  }
  const auto n = static_cast<Index>(seen.size());
  MatX A(n, n), S(n, n);
  const double motions = static_cast<double>(scores.cols());
  const bool many = scores.cols() >= n + 2;
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      A(i, j) = at.curvature(seen[i], seen[j]);
      S(i, j) = scores.row(seen[i]).dot(scores.row(seen[j])) * motions / std::max(1.0, motions - n);
    }
  const MatX inverse = n > 0 ? MatX(A.inverse()) : MatX();
  // Few motions: the spread of the residuals stands for that of the motions.
  const double variance = 2 * at.cost / std::max(1.0, static_cast<double>(result.windows - n));
  const MatX covariance = many ? MatX(inverse * S * inverse) : MatX(variance * inverse);
  for (Estimate& e : result.estimates) e.deviation = std::numeric_limits<double>::infinity();
  for (Index i = 0; i < n; ++i) {
    Estimate& e = result.estimates[static_cast<std::size_t>(seen[i])];
    e.deviation = std::sqrt(std::max(0.0, covariance(i, i)));
  }
  for (Estimate& e : result.estimates) {
    e.lower95 = std::max(e.lower, e.value - kQuantile * e.deviation);
    e.upper95 = std::min(e.upper, e.value + kQuantile * e.deviation);
  }
}

void refuse_untouched(const FitProblem& p, const ContactCount& contacts) {
  if (contacts.touching > 0) return;
  for (const FitParameter& w : p.options.parameters) {
    if (of_contact(w.name))
      throw Error("parameter '" + w.name + "'",
                  "cannot be found: in these data nothing ever touches");
  }
}

}  // namespace

std::string_view name_of(FitMethod method) {
  return method == FitMethod::Simulate ? "simulate" : "implicit";
}

bool FitResult::identified() const {
  return std::all_of(estimates.begin(), estimates.end(),
                     [](const Estimate& e) { return e.identified; });
}

FitResult fit(const Model& model, const Parameters& parameters, const StepSettings& settings,
              const TrajectoryData& data, const FitOptions& options) {
  FitProblem p{model, parameters, settings, data, options, {}, {}, {}, {}, {}, 1};
  read_parameters(p);
  validate(model, data);
  if (options.substeps < 1) throw Error("substeps", "must be at least 1");
  if (options.horizon < 0) throw Error("horizon", "must not be negative");
  p.size = 0;
  for (const BodyId id : model.dynamic_bodies()) {
    const Body& body = model.body(id);
    for (Index s = body.shape_begin; s < body.shape_end; ++s)
      p.size = std::max(p.size, shape_size(model, parameters, ShapeId{s}));
  }
  if (!(p.size > 0)) p.size = 1;

  FitResult result;
  result.method = options.method;
  const std::unique_ptr<FitCost> cost = make_cost(p);
  result.motions = static_cast<Index>(data.trajectories.size());
  result.windows = cost->windows();
  result.samples = cost->samples();
  if (result.samples < static_cast<Index>(p.places.size()))
    throw Error("data", "too few samples: " + std::to_string(result.samples) + " for " +
                            std::to_string(p.places.size()) + " parameters");
  {
    MatX unused;
    ContactCount contacts;
    (void)cost->examine(p.start, unused, contacts);
    refuse_untouched(p, contacts);
  }

  Search search(p, result);
  {
    // Starts are judged, and the first way down is found, on a few motions: cheaper, and a cost
    // that is rough has other bumps there than on all of them.
    const TrajectoryData few = some_of(data, options.motions_first);
    const FitProblem first{model,   parameters, settings, few,     options, p.places,
                           p.lower, p.upper,    p.start,  p.scale, p.size};
    const std::unique_ptr<FitCost> first_cost = make_cost(first);
    search.explore(*first_cost, few.trajectories.size() < data.trajectories.size());
  }
  search.refine(*cost);
  MatX scores;
  ContactCount contacts;
  const CostValue at = cost->examine(search.best(), scores, contacts);
  ++result.evaluations;
  result.cost = at.cost;
  result.huber = cost->huber();
  result.touching = contacts.touching;
  result.sticking = contacts.sticking;
  result.sliding = contacts.sliding;
  result.parameters = p.with(search.best());
  for (Index i = 0; i < p.start.size(); ++i) {
    Estimate e;
    e.name = options.parameters[static_cast<std::size_t>(i)].name;
    e.value = search.best()[i];
    e.lower = p.lower[i];
    e.upper = p.upper[i];
    e.start = p.start[i];
    const double edge = 1e-6 * p.scale[i];
    e.at_bound = e.value <= e.lower + edge || e.value >= e.upper - edge;
    result.estimates.push_back(e);
  }
  find_blind(p, at, contacts, cost->blind(search.best()), result);
  find_deviations(p, at, scores, result);
  for (const Estimate& e : result.estimates)
    if (e.at_bound) result.notes.push_back(e.name + " ends at a bound of its range: no interval");
  return result;
}

}  // namespace orthant
