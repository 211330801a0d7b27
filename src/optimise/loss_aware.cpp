// SPDX-License-Identifier: Apache-2.0
// optimise/loss_aware.cpp: the reverse walk with the element at kinks chosen by the loss.
// A contact on a border leaves a choice of the generalised Jacobian, and each choice a direction of
// steepest descent. Which of them is one is a question about the step, not about its linearisation:
// each is tried, and the one that lowers ḡ·(q⁺, v⁺) most is taken.
#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/optimise/optimise.hpp"

namespace orthant {

namespace {

/// Share of the fall that an element promises which must really be there.
constexpr double kKept = 0.1;

/// ḡ · (x⁺(x moved along −g by `size`) ⊟ x⁺): what the loss really does; 0 where it does not do
/// what was promised.
double real_change(const RolloutTape& tape, const StepRecord& record, const StateCotangent& after,
                   const StepCotangent& g, double size, StepWorkspace& workspace) {
  const double norm = std::sqrt(g.q.squaredNorm() + g.v.squaredNorm() + g.u.squaredNorm());
  if (!(norm > 0)) return 0;
  const Model& model = *tape.model;
  State x = record.before;
  VecX q, dq;
  boxplus(model, x.q, (-size / norm) * g.q, q);
  x.q = q;
  x.v -= (size / norm) * g.v;
  VecX u = record.u;
  if (g.u.size() != 0) u = (u.size() != 0 ? u : VecX(VecX::Zero(g.u.size()))) - (size / norm) * g.u;
  WarmStart warm;
  const StepReport report = step(model, tape.parameters, tape.settings, u, x, warm, workspace);
  if (report.outcome == Outcome::NotFinite) return 0;
  boxminus(model, x.q, record.after.q, dq);
  const double change = after.q.dot(dq) + after.v.dot(x.v - record.after.v);
  return change <= -kKept * size * norm ? change : 0;
}

}  // namespace

RolloutGradient loss_aware_gradient(const RolloutTape& tape, const RolloutCotangent& loss,
                                    const StepGradientSettings& given, double probe) {
  if (tape.model == nullptr || tape.records.size() != static_cast<std::size_t>(tape.steps))
    throw Error("tape", "needs the records of all steps: record with store_records");
  const Model& model = *tape.model;
  const Index n = model.v_size();
  const auto check = [&](const MatX& x, const char* where) {
    if (x.size() != 0 && (x.rows() != n || x.cols() != tape.steps + 1))
      throw Error(where, "expected one column a state");
  };
  check(loss.q, "loss.q");
  check(loss.v, "loss.v");
  RolloutGradient out;
  out.u = MatX::Zero(model.control_count(), tape.steps);
  out.parameters = VecX::Zero(tape.parameters.values.size());
  StateCotangent by{VecX::Zero(n), VecX::Zero(n)};
  StepWorkspace workspace;
  RolloutCertificate& all = out.certificate;
  for (Index i = tape.steps; i-- > 0;) {
    if (loss.q.size() != 0) by.q += loss.q.col(i + 1);
    if (loss.v.size() != 0) by.v += loss.v.col(i + 1);
    const StepRecord& record = tape.records[static_cast<std::size_t>(i)];
    StepGradientSettings settings = given;
    StepGradient usual(model, tape.parameters, tape.settings, record, settings);
    StepCotangent best = usual.pull_back(by);
    const StepCertificate& c = usual.certificate();
    ++all.steps;
    all.failed_steps += !c.converged;
    all.floating += c.floating;
    all.floating_steps += c.floating > 0;
    all.impacts += c.impacts;
    if (!c.exact && all.exact) {
      all.exact = false;
      all.reason = "step " + std::to_string(i) + ": " + c.reason;
      all.first_inexact = i;
    }
    if (c.margin < all.margin) {
      all.margin = c.margin;
      all.weakest_step = i;
    }
    if (c.floating > 0) {
      const double scale = 1 + std::max({record.before.v.cwiseAbs().maxCoeff(),
                                         record.u.size() ? record.u.cwiseAbs().maxCoeff() : 0.0});
      double lowest = real_change(tape, record, by, best, probe * scale, workspace);
      for (const KinkChoice kink : {KinkChoice::Clamp, KinkChoice::Separate, KinkChoice::Average}) {
        if (kink == given.solution.kink) continue;
        settings.solution.kink = kink;
        StepGradient other(model, tape.parameters, tape.settings, record, settings);
        StepCotangent g = other.pull_back(by);
        const double change = real_change(tape, record, by, g, probe * scale, workspace);
        if (change < lowest) {
          lowest = change;
          best = std::move(g);
        }
      }
    }
    by.q = best.q;
    by.v = best.v;
    if (best.u.size() != 0) out.u.col(i) = best.u;
    if (best.parameters.size() != 0) out.parameters += best.parameters;
  }
  if (loss.q.size() != 0) by.q += loss.q.col(0);
  if (loss.v.size() != 0) by.v += loss.v.col(0);
  out.q = by.q;
  out.v = by.v;
  return out;
}

}  // namespace orthant
