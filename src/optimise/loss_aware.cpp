// SPDX-License-Identifier: Apache-2.0
// optimise/loss_aware.cpp: the reverse walk with the element at kinks chosen by the loss.
// A contact on a border leaves a choice of the generalised Jacobian, and each choice a direction of
// steepest descent. Which of them is one is a question about the step, not about its linearisation:
// each is tried, and the one that lowers ḡ·(q⁺, v⁺) most is taken. One choice for all contacts
// first, then contact by contact from there.
#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/optimise/optimise.hpp"

namespace orthant {

namespace {

/// Share of the fall that an element promises which must really be there.
constexpr double kKept = 0.1;
/// Contacts of one step that are asked one by one; each costs a factorisation and two steps.
constexpr std::size_t kMaxBorders = 24;
/// A fall must be larger by this share to count as larger.
constexpr double kMore = 1e-6;

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

/// The step's derivative by the element at its kinks along which ḡ·(q⁺, v⁺) falls most.
StepCotangent choose(const RolloutTape& tape, const StepRecord& record, const StateCotangent& after,
                     const StepGradientSettings& given, const StepCertificate& usual,
                     StepCotangent best, double probe, StepWorkspace& workspace) {
  const double size =
      probe * (1 + std::max(record.before.v.cwiseAbs().maxCoeff(),
                            record.u.size() ? record.u.cwiseAbs().maxCoeff() : 0.0));
  double lowest = real_change(tape, record, after, best, size, workspace);
  const auto better = [&](const StepGradientSettings& settings) {
    StepGradient other(*tape.model, tape.parameters, tape.settings, record, settings);
    StepCotangent g = other.pull_back(after);
    const double change = real_change(tape, record, after, g, size, workspace);
    if (!(change < (1 + kMore) * lowest)) return false;
    lowest = change;
    best = std::move(g);
    return true;
  };
  StepGradientSettings settings = given;
  KinkChoice all = given.solution.kink;
  for (const KinkChoice kink : {KinkChoice::Clamp, KinkChoice::Separate, KinkChoice::Average}) {
    if (kink == given.solution.kink) continue;
    settings.solution.kink = kink;
    if (better(settings)) all = kink;
  }
  if (usual.borders.size() < 2) return best;
  settings.solution.kink = all;
  settings.kinks.resize(record.solves.size());
  for (const StepCertificate::Border& b : usual.borders)  // the last block of a solve comes last
    settings.kinks[b.solve].assign(b.block + 1, all);
  for (std::size_t i = 0; i < std::min(usual.borders.size(), kMaxBorders); ++i) {
    KinkChoice& own = settings.kinks[usual.borders[i].solve][usual.borders[i].block];
    for (const KinkChoice kink : {KinkChoice::Clamp, KinkChoice::Separate}) {
      const KinkChoice before = own;
      if (kink == before) continue;
      own = kink;
      if (!better(settings)) own = before;
    }
  }
  return best;
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
    StepGradient usual(model, tape.parameters, tape.settings, record, given);
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
    if (c.floating > 0)
      best = choose(tape, record, by, given, c, std::move(best), probe, workspace);
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
