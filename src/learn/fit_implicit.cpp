// SPDX-License-Identifier: Apache-2.0
// learn/fit_implicit.cpp: all measured transitions => sum of their implicit losses and its
// gradient. Chunks of fixed length, added in order: the same bits for any number of threads.
#include <algorithm>
#include <cmath>

#include "learn/fit_cost.hpp"
#include "orthant/base/parallel.hpp"

namespace orthant::internal {
namespace {

constexpr std::size_t kGrain = 64;       // transitions a chunk
constexpr double kCurvatureStep = 1e-2;  // of the box, for differences of the gradient
constexpr double kBlind = 1e-4;          // of the energy that contacts have to explain

class ImplicitCost final : public FitCost {
 public:
  explicit ImplicitCost(const FitProblem& problem) : p_(problem) {
    for (std::size_t t = 0; t < p_.data.trajectories.size(); ++t)
      for (Index i = 0; i + 1 < p_.data.trajectories[t].samples(); ++i)
        transitions_.push_back({t, i});
  }

  CostValue operator()(const VecX& x, bool) override {
    ContactCount contacts;
    return run(x, nullptr, contacts);
  }

  CostValue examine(const VecX& x, MatX& scores, ContactCount& contacts) override {
    // Differences of gradients magnify what the inner problems leave over.
    sharp_ = true;
    CostValue out = run(x, &scores, contacts);
    const auto n = static_cast<Index>(p_.places.size());
    out.curvature = MatX::Zero(n, n);
    for (Index i = 0; i < n; ++i) {
      VecX side[2] = {x, x};
      side[0][i] = std::max(p_.lower[i], x[i] - kCurvatureStep * p_.scale[i]);
      side[1][i] = std::min(p_.upper[i], x[i] + kCurvatureStep * p_.scale[i]);
      ContactCount unused;
      const VecX lo = run(side[0], nullptr, unused).gradient;
      const VecX hi = run(side[1], nullptr, unused).gradient;
      out.curvature.col(i) = (hi - lo) / (side[1][i] - side[0][i]);
    }
    sharp_ = false;
    out.curvature = (0.5 * (out.curvature + out.curvature.transpose())).eval();
    return out;
  }

  double blind(const VecX& x) const override {
    ContactCount unused;
    double energy = 0;
    (void)run(x, nullptr, unused, nullptr, &energy);
    return kBlind * energy;
  }
  /// Losses are energies: √(2L) is the error that Huber's function takes.
  void choose_huber(const VecX& x) override {
    if (p_.options.huber > 0) {
      huber_ = p_.options.huber;
      return;
    }
    huber_ = 0;
    ContactCount unused;
    std::vector<double> errors, pushed;
    double energy = 0;
    (void)run(x, nullptr, unused, &errors, &energy);
    for (const double e : errors)
      if (e > 0) pushed.push_back(e);
    // Data without noise: a share of what contacts explain, so that rounding does not rule.
    const double count = std::max<double>(1, static_cast<double>(pushed.size()));
    huber_ = std::max(median(std::move(pushed)), 1e-3 * std::sqrt(2 * energy / count));
  }
  double huber() const override { return huber_; }
  Index windows() const override { return static_cast<Index>(transitions_.size()); }
  Index samples() const override { return static_cast<Index>(transitions_.size()); }

 private:
  struct Transition {
    std::size_t trajectory;
    Index sample;
  };

  double huber_of(double e) const {
    return huber_ > 0 && e > huber_ ? huber_ * (e - 0.5 * huber_) : 0.5 * e * e;
  }

  CostValue run(const VecX& x, MatX* scores, ContactCount& contacts,
                std::vector<double>* errors = nullptr, double* energy = nullptr) const {
    const Parameters parameters = p_.with(x);
    const auto n = static_cast<Index>(p_.places.size());
    const std::size_t chunks = chunk_count(transitions_.size(), kGrain);
    std::vector<double> cost(chunks, 0.0), before(chunks, 0.0);
    ImplicitWeights weights = p_.options.implicit;
    if (sharp_) {
      weights.tolerance *= 1e-2;
      weights.max_iterations *= 10;
    }
    std::vector<ContactCount> counts(chunks);
    if (errors != nullptr) errors->assign(transitions_.size(), 0.0);
    MatX gradients(n, static_cast<Index>(transitions_.size()));
    const auto body = [&](std::size_t begin, std::size_t end, std::size_t chunk) {
      ImplicitLoss loss(p_.model, p_.settings, p_.places, weights);
      VecX q, v, next;
      for (std::size_t i = begin; i < end; ++i) {
        const Transition& s = transitions_[i];
        const MeasuredMotion& t = p_.data.trajectories[s.trajectory];
        const auto column = static_cast<Index>(i);
        q = t.q.col(s.sample);
        v = t.v.col(s.sample);
        next = t.v.col(s.sample + 1);
        const TransitionLoss l =
            loss(parameters, q, v, next, t.dt * s.sample, t.dt, gradients.col(column).data());
        const double e = std::sqrt(2 * std::max(0.0, l.value));
        cost[chunk] += huber_of(e);
        before[chunk] += huber_of(std::sqrt(2 * l.unexplained));
        if (huber_ > 0 && e > huber_) gradients.col(column) *= huber_ / e;
        if (errors != nullptr && l.contacts > 0) (*errors)[i] = e;
        counts[chunk] += {l.pushing, l.pushing - l.sliding, l.sliding};
      }
    };
    parallel_for_chunks(transitions_.size(), kGrain, body);
    CostValue out;
    out.gradient = VecX::Zero(n);
    for (std::size_t c = 0; c < chunks; ++c) {
      out.cost += cost[c];
      contacts += counts[c];
      if (energy != nullptr) *energy += before[c];
    }
    if (scores != nullptr) *scores = MatX::Zero(n, static_cast<Index>(p_.data.trajectories.size()));
    for (std::size_t i = 0; i < transitions_.size(); ++i) {
      const Index at = static_cast<Index>(i);
      out.gradient += gradients.col(at);
      if (scores != nullptr)
        scores->col(static_cast<Index>(transitions_[i].trajectory)) += gradients.col(at);
    }
    return out;
  }

  const FitProblem& p_;
  std::vector<Transition> transitions_;
  double huber_ = 0;
  bool sharp_ = false;
};

}  // namespace

std::unique_ptr<FitCost> make_implicit_cost(const FitProblem& problem) {
  return std::make_unique<ImplicitCost>(problem);
}

}  // namespace orthant::internal
