// SPDX-License-Identifier: Apache-2.0
// gradient/step_certificate.cpp: what the derivative of a step is worth, and the inputs at a kink.
#include <algorithm>
#include <cmath>
#include <optional>

#include "gradient/edges.hpp"
#include "gradient/step_impl.hpp"
#include "orthant/collision/collision.hpp"

namespace orthant {

using internal::SolveInputs;
using internal::Stage;

namespace {

constexpr double kConsistent = 1e-7;  // worse: the linear system has no solution
constexpr double kSteep = 1e-3;       // slope of a gain of 1e-9: less is that of one at its largest
constexpr double kUncorrected = 1e-6;  // residual of a correction of positions without a solution

const char* name_of(OpenReason reason) {
  return reason == OpenReason::Near ? "a kink is nearer than differences of the steps can tell"
         : reason == OpenReason::Ambiguous
             ? "redundant contacts: their impulses are not unique, and the derivative depends on "
               "which were found"
             : "a change contradicts redundant contacts";
}

}  // namespace

void StepGradient::Impl::note_kinks(std::size_t i, bool starts, internal::StillContacts& still) {
  const Stage& stage = stages[i];
  const SolveRecord& r = stage.record();
  internal::Kinks found = internal::find_kinks(*model, *parameters, *settings, r, stage.blocks(),
                                               starts && (i == 0 || r.q == record->before.q),
                                               trials.empty(), stage.displacement());
  std::optional<SolveRecord> end;  // made where it is asked for
  bool lands = false;
  for (internal::KinkScalar& kink : found.scalars) {
    if (kink.at != internal::KinkScalar::At::End) continue;
    if (!end) end = end_of(i);
    kink.value = internal::gap_at(context_of(i, *end), kink.gaps[0].first);
    if (std::abs(kink.value) > kink.width) kink.reason = OpenReason::Near;
    lands = lands || kink.reason == OpenReason::Kink;
  }
  std::erase_if(found.scalars, [](const internal::KinkScalar& kink) {
    return kink.at == internal::KinkScalar::At::End &&
           std::abs(kink.value) > std::max(kink.width, kink.near);
  });
  if (lands && found.what.empty()) found.what = "a contact lands, and what is left of its gap is 0";
  if (certificate.kink.empty()) certificate.kink = found.what;
  certificate.kinks += found.here;
  certificate.start_kinks += found.start;
  kinks[i] = std::move(found.scalars);
  if (stage.rests_by_rounding())  // what an earlier solve of the step opens is on the other side
    for (EdgeParameter& edge : certificate.edges) edge.given = edge.given && !edge.opens;
  if (with_parameters) {
    std::vector<EdgeParameter> edges;
    internal::find_edges(context_of(i, r), stage.blocks(), stage.free_velocity(),
                         settings->projection_tolerance, edges, still);
    // They may scale the restitution, by a gain that has the work from outside in it.
    if (stage.just_unscaled() && stage.works_from_outside())
      for (EdgeParameter& edge : edges) edge.given = false;
    internal::merge_edges(edges, certificate.edges);
  }
  certificate.rests = certificate.rests || stage.rests_by_rounding();
}

void StepGradient::Impl::note_borders(const Stage& stage) {
  const auto solve = static_cast<std::size_t>(&stage - stages.data());
  std::size_t row = 0, block = 0;
  for (const Law& law : stage.problem().laws) {
    const auto first = stage.certificate().states.begin() + static_cast<std::ptrdiff_t>(row);
    if (std::find(first, first + law.dim, ContactState::Floating) != first + law.dim)
      certificate.borders.push_back({solve, block});
    row += static_cast<std::size_t>(law.dim);
    ++block;
  }
}

void StepGradient::Impl::certify(const StepGradientSettings& gradient) {
  StepCertificate& c = certificate;
  c.converged = record->outcome == Outcome::Converged;
  c.element = gradient.solution.kink;
  if (!c.converged) blame("the step did not converge");
  if (settings->max_halvings > 0 && !settings->impact_events)
    blame("the lengths of halved intervals are held");
  // A step with joints has a round of the projection, needed or not, but where one was taken back.
  bool corrects = settings->stabilisation != Stabilisation::Projection ||
                  settings->constraints != ConstraintScheme::Manifold ||
                  model->bilateral_count() == 0;
  kinks.assign(stages.size(), {});
  internal::StillContacts still(*model);
  for (const Stage& stage : stages) {
    if (!stage.reason().empty()) blame(stage.reason());
    const GradientCertificate& one = stage.certificate();
    const SolveKind kind = stage.record().kind;
    c.floating += one.floating + stage.ties();
    c.margin = std::min({c.margin, one.margin, stage.feature_margin()});
    c.reciprocal_condition = std::min(c.reciprocal_condition, one.reciprocal_condition);
    c.residual = std::max(c.residual, one.residual);
    if (one.kappa > 0) blame("smoothed: of the central path");
    corrects = corrects || (kind == SolveKind::Projection && one.residual <= kUncorrected);
    note_kinks(static_cast<std::size_t>(&stage - stages.data()), gradient.starts, still);
    if (one.floating > 0) note_borders(stage);
    const bool last = &stage == &stages.back();
    if (kind == SolveKind::Projection || (!trials.empty() && !last)) continue;
    const ContactSet& set = stage.record().contacts;
    const std::size_t rigid = set.contacts.size();
    for (std::size_t i = 0; i < stage.blocks().size(); ++i)
      c.contacts.push_back({i < rigid ? set.contacts[i].key : set.flexible[i - rigid].key,
                            one.states[static_cast<std::size_t>(stage.blocks()[i].row)],
                            kind == SolveKind::Impact});
  }
  still.settle(c.edges);
  if (!corrects)
    blame("joints and contacts contradict each other: no correction of positions closes both");
}

void StepGradient::Impl::note_error(const Stage& stage, Index released) {
  const GradientCertificate& one = stage.certificate();
  certificate.solve_error = std::max(certificate.solve_error, one.solve_error);
  certificate.reciprocal_condition =
      std::min(certificate.reciprocal_condition, one.reciprocal_condition);
  certificate.released += one.released - released;
  if (!stage.reason().empty()) blame(stage.reason());
  const bool consistent = one.solve_error <= kConsistent;
  if (consistent && one.released == 0) return;
  blame(consistent ? "redundant contacts leave the motion open: the derivative is that of the "
                     "answer found, contacts without an impulse let go"
                   : "redundant contacts: the change contradicts them, or their sliding leaves the "
                     "motion open");
}

void StepGradient::Impl::note_errors() {
  certificate.released = 0;
  for (const Stage& stage : stages) note_error(stage);
}

SolveRecord StepGradient::Impl::end_of(std::size_t i) const {
  SolveRecord end;
  end.contacts = stages[i].record().contacts;
  boxplus(*model, stages[i].record().q, stages[i].displacement(), end.q);
  return end;
}

std::optional<internal::SolveInputs> StepGradient::Impl::gain_at_border(std::size_t i) {
  if (!stages[i].just_unscaled()) return std::nullopt;
  SolveInputs gain, scaled;
  gain.set_zero(*model);
  stages[i].pull_gain(gain);
  // At its largest, which is 0 where a contact sticks and hardly slips, it is flat.
  const double slope = gain.v.cwiseAbs().maxCoeff() * stages[i].record().v.cwiseAbs().maxCoeff();
  if (!(gain.scale > 0) || !(slope > kSteep * gain.scale)) return std::nullopt;
  scaled.set_zero(*model);
  internal::add(1 / gain.scale, gain, scaled);
  // Edges go one way only, see close_scale().
  for (const EdgeParameter& edge : certificate.edges) scaled.parameters[edge.place] = 0;
  std::vector<OpenInput> open;
  internal::find_open({scaled.q, scaled.v, {}, scaled.parameters}, *model, *parameters, *settings,
                      {}, open);
  if (open.empty()) return std::nullopt;
  return scaled;
}

void StepGradient::Impl::find_open(OpenReason reason) {
  SolveInputs in;
  bool any = false;
  const auto begin = [&] {
    if (!any) in.set_zero(*model);
    any = true;
  };
  const auto add_kinks = [&](std::size_t i, internal::KinkScalar::At where) {
    for (std::size_t k = 0; k < kinks[i].size(); ++k) {
      if (kinks[i][k].at != where || kinks[i][k].reason != reason) continue;
      begin();
      // Weights of their own, so that contacts of one face do not cancel.
      const SolveRecord end = where == internal::KinkScalar::At::End ? end_of(i) : SolveRecord{};
      const SolveRecord& at = where == internal::KinkScalar::At::End ? end : stages[i].record();
      internal::pull_kink(context_of(i, at), kinks[i][k],
                          1 + 0.5 * std::cos(1 + 2.4 * static_cast<double>(k)), in);
    }
  };
  double by_left = 0;
  for (std::size_t i = stages.size(); i-- > 0;) {
    add_kinks(i, internal::KinkScalar::At::End);
    const bool rows = trials.empty() && stages[i].find_row_numbers(reason);
    if (rows) begin();
    if (any && trials.empty())
      pull_stage(i, nullptr, in, rows ? internal::PullFor::RowNumbers : internal::PullFor::Beside);
    if (const SolveInputs* own = stages[i].contradiction(reason); own != nullptr) {
      begin();
      internal::add(1, *own, in);
      in.duration += own->duration;
      // What leads there by a recursion is not looked at.
      if (!trials.empty() && i > 0) blame(name_of(reason));
    }
    if (const auto gain = reason == OpenReason::Kink ? gain_at_border(i) : std::nullopt) {
      begin();
      internal::add(1, *gain, in);
    }
    add_kinks(i, internal::KinkScalar::At::Solve);
    if (any && trials.empty()) close_times(i, in, by_left);
  }
  // Of the state itself: an event would move with it.
  for (std::size_t i = 0; i < stages.size(); ++i) add_kinks(i, internal::KinkScalar::At::Start);
  if (reason == OpenReason::Kink) find_crossed();
  if (!any) return;
  kinked[static_cast<std::size_t>(reason)] = true;
  against[static_cast<std::size_t>(reason)] = {in.q, in.v, in.u, in.parameters};
  internal::find_open({in.q, in.v, in.u, in.parameters}, *model, *parameters, *settings,
                      {.reason = reason}, certificate.open);
  if (certificate.kink.empty() && !certificate.open.empty()) certificate.kink = name_of(reason);
}

void StepGradient::Impl::find_crossed() {
  SolveInputs opens, closes;  // the most that a change opens, and closes
  opens.set_zero(*model);
  closes.set_zero(*model);
  for (std::size_t i = 0; i < stages.size(); ++i)
    for (const internal::KinkScalar& kink : kinks[i]) {
      if (kink.at != internal::KinkScalar::At::Start) continue;
      SolveInputs gap;
      gap.set_zero(*model);
      internal::pull_kink(context_of(i, stages[i].record()), kink, 1, gap);
      opens.q = opens.q.cwiseMax(gap.q);
      closes.q = closes.q.cwiseMax(-gap.q);
      opens.parameters = opens.parameters.cwiseMax(gap.parameters);
      closes.parameters = closes.parameters.cwiseMax(-gap.parameters);
    }
  internal::find_open({.q = opens.q.cwiseMin(closes.q),
                       .v = {},
                       .u = {},
                       .parameters = opens.parameters.cwiseMin(closes.parameters)},
                      *model, *parameters, *settings, {.reason = OpenReason::Neither},
                      certificate.open);
}

}  // namespace orthant
