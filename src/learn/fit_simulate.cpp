// SPDX-License-Identifier: Apache-2.0
// learn/fit_simulate.cpp: windows of measured motions => Huber cost of their simulated errors, with
// exact derivatives: one factorised StepGradient per step, one push_forward per parameter.
#include <algorithm>
#include <cmath>

#include "learn/fit_cost.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/gradient/step.hpp"

namespace orthant::internal {
namespace {

struct Window {
  std::size_t trajectory = 0;
  Index first = 0, length = 0;  // samples simulated after the first
};

/// Sums of one window; samples count with 1/length.
struct WindowSums {
  double squares = 0;  // e²
  VecX gradient;       // Jᵀ r / n
  MatX curvature;      // Jᵀ J / n
  ContactCount contacts;
};

class SimulateCost final : public FitCost {
 public:
  explicit SimulateCost(const FitProblem& problem) : p_(problem) {
    for (std::size_t t = 0; t < p_.data.trajectories.size(); ++t) {
      const Index last = p_.data.trajectories[t].samples() - 1;
      const Index horizon = p_.options.horizon > 0 ? p_.options.horizon : last;
      for (Index first = 0; first < last; first += horizon)
        windows_.push_back({t, first, std::min(horizon, last - first)});
    }
    for (const Window& w : windows_) samples_ += w.length;
    weight_ = VecX::Ones(p_.model.v_size());
    for (const BodyId id : p_.model.dynamic_bodies()) {
      const Body& body = p_.model.body(id);
      const double lever = std::max(1e-3 * p_.size, turning_radius(p_.model, p_.parameters, id));
      for (Index i = body.planar ? 2 : 3; i < body.v_size; ++i) weight_[body.v_begin + i] = lever;
    }
  }

  CostValue operator()(const VecX& x, bool derivatives) override {
    const std::vector<WindowSums> sums = run(x, derivatives);
    return add(sums, derivatives, nullptr);
  }

  CostValue examine(const VecX& x, MatX& scores, ContactCount& contacts) override {
    const std::vector<WindowSums> sums = run(x, true);
    for (const WindowSums& w : sums) contacts += w.contacts;
    return add(sums, true, &scores);
  }

  double blind(const VecX&) const override {
    const double least = 1e-6 * p_.size;  // of all predictions, by the whole box
    return least * least * static_cast<double>(windows_.size());
  }

  void choose_huber(const VecX& x) override {
    if (p_.options.huber > 0) {
      huber_ = p_.options.huber;
      return;
    }
    std::vector<double> errors;
    for (const WindowSums& w : run(x, false)) errors.push_back(std::sqrt(w.squares));
    huber_ = std::max(0.5 * median(std::move(errors)), 1e-9 * p_.size);
  }
  double huber() const override { return huber_; }
  Index windows() const override { return static_cast<Index>(windows_.size()); }
  Index samples() const override { return samples_; }

 private:
  std::vector<WindowSums> run(const VecX& x, bool derivatives) const {
    const Parameters parameters = p_.with(x);
    std::vector<WindowSums> sums(windows_.size());
    parallel_for(windows_.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        simulate(parameters, windows_[i], derivatives, sums[i]);
    });
    return sums;
  }

  void simulate(const Parameters& parameters, const Window& window, bool derivatives,
                WindowSums& out) const {
    const Model& model = p_.model;
    const MeasuredMotion& measured = p_.data.trajectories[window.trajectory];
    const StepSettings settings = sample_settings(p_.settings, measured.dt, p_.options.substeps);
    const auto unknowns = static_cast<Index>(p_.places.size());
    out.gradient = VecX::Zero(unknowns);
    out.curvature = MatX::Zero(unknowns, unknowns);
    State state = state_at(model, p_.data, window.trajectory, window.first);
    WarmStart warm;
    StepWorkspace workspace;
    StepRecord record;
    std::vector<StateTangent> change(static_cast<std::size_t>(unknowns));
    for (StateTangent& c : change) c.q = c.v = VecX::Zero(model.v_size());
    MatX J(model.v_size(), unknowns);
    VecX error;
    for (Index i = 1; i <= window.length; ++i) {
      for (int k = 0; k < p_.options.substeps; ++k) {
        (void)step(model, parameters, settings, VecX(), state, warm, workspace,
                   derivatives ? &record : nullptr);
        if (derivatives) differentiate(parameters, settings, record, change, out.contacts);
      }
      boxminus(model, state.q, measured.q.col(window.first + i), error);
      error = error.cwiseProduct(weight_);
      out.squares += error.squaredNorm() / window.length;
      if (!derivatives) continue;
      // The tangent of ⊟ is that of q to first order in the error.
      for (Index j = 0; j < unknowns; ++j)
        J.col(j) = change[static_cast<std::size_t>(j)].q.cwiseProduct(weight_);
      const double reach = (J * p_.scale.asDiagonal()).norm();
      if (!(reach <= p_.options.sensitivity_limit * p_.size)) continue;
      out.gradient += J.transpose() * error / window.length;
      out.curvature += J.transpose() * J / window.length;
    }
  }

  void differentiate(const Parameters& parameters, const StepSettings& settings,
                     const StepRecord& record, std::vector<StateTangent>& change,
                     ContactCount& contacts) const {
    StepGradientSettings wanted;
    wanted.allow_unconverged = true;
    StepGradient gradient(p_.model, parameters, settings, record, wanted);
    for (std::size_t j = 0; j < change.size(); ++j) {
      StepTangent in;
      in.q = change[j].q;
      in.v = change[j].v;
      in.parameters = VecX::Zero(parameters.values.size());
      in.parameters[p_.places[j]] = 1;
      change[j] = gradient.push_forward(in);
    }
    for (const StepCertificate::Entry& e : gradient.certificate().contacts) {
      if (e.state == ContactState::Separate) continue;
      ++contacts.touching;
      contacts.sliding += e.state == ContactState::Slide;
      contacts.sticking += e.state == ContactState::Stick;
    }
  }

  /// Σ ρ(e): ½e² below δ, δ(e − δ/2) above; the gradient of a window counts with min(1, δ/e).
  CostValue add(const std::vector<WindowSums>& sums, bool derivatives, MatX* scores) const {
    const auto n = static_cast<Index>(p_.places.size());
    CostValue out;
    out.gradient = VecX::Zero(n);
    out.curvature = MatX::Zero(n, n);
    if (scores != nullptr) *scores = MatX::Zero(n, static_cast<Index>(p_.data.trajectories.size()));
    for (std::size_t i = 0; i < sums.size(); ++i) {
      const double e = std::sqrt(sums[i].squares);
      const bool linear = huber_ > 0 && e > huber_;
      out.cost += linear ? huber_ * (e - 0.5 * huber_) : 0.5 * sums[i].squares;
      if (!derivatives) continue;
      const double w = linear ? huber_ / e : 1;
      out.gradient += w * sums[i].gradient;
      out.curvature += w * sums[i].curvature;
      if (scores != nullptr)
        scores->col(static_cast<Index>(windows_[i].trajectory)) += w * sums[i].gradient;
    }
    return out;
  }

  const FitProblem& p_;
  std::vector<Window> windows_;
  Index samples_ = 0;
  VecX weight_;
  double huber_ = 0;
};

}  // namespace

std::unique_ptr<FitCost> make_simulate_cost(const FitProblem& problem) {
  return std::make_unique<SimulateCost>(problem);
}

}  // namespace orthant::internal
