// SPDX-License-Identifier: Apache-2.0
// gradient/step_events.cpp: impacts of a step, whose times and scales are variables.
//   Φ(q'(τ)) = 0:  dτ = −dΦ|_τ / Φ̇,  and what is left of the step after the impact is shorter by
//   dτ
// Both products follow from those of the interval at fixed τ and by τ, so the path may be any. An
// impact at the very start of a step ends an interval of length zero, along which bodies fall
// freely; so does each impact of other bodies at the same time. Contacts that overlap when the step
// begins have their impact at once: τ = 0 is fixed. Where an impact would gain energy, the scale s
// of its restitution is a variable in the same way: ds = −d(T⁺ − T⁻)|_s / ∂(T⁺ − T⁻)/∂s. An impact
// without friction at restitution 1 gains nothing just so: coefficients that leave the end of their
// range scale it where it would gain by them.
#include <algorithm>
#include <cmath>

#include "gradient/step_impl.hpp"

namespace orthant {

using internal::SolveInputs;
using internal::Stage;

namespace {

constexpr double kResting = 1e-6;   // of the speeds at an impact: slower contacts rest
constexpr double kLocated = 1e-3;   // of the tolerance of gaps: ten times what is aimed at
constexpr double kUnmoved = 1e-12;  // of the speeds at an impact: changes by rounding
constexpr const char* kSameTime =
    "several contacts close at one time and their bodies meet: only the time of the first is "
    "differentiated";

/// The gap is not kept in an impact, where it counts as closed; its points are.
double gap_of(const Contact& c) { return (c.point_a - c.point_b).dot(c.normal); }
bool same_bodies(const Contact& a, const Contact& b) {
  return a.body_a == b.body_a && a.body_b == b.body_b;
}

}  // namespace

bool StepGradient::Impl::closes_with_another(const SolveRecord& impact) const {
  const Contact& first = closed_contact(impact);
  const double speed = impact.v.cwiseAbs().maxCoeff();
  for (const Contact& c : impact.contacts.contacts) {
    if (&c == &first || gap_of(c) > gap_of(first) + settings->projection_tolerance * c.size)
      continue;
    if (rate_of(impact, c, impact.v) < -kResting * speed) return true;
  }
  return false;
}

void StepGradient::Impl::find_events() {
  event_after.assign(stages.size(), {});
  event_before.assign(stages.size(), {});
  last_interval = kNoStage;
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (stages[i].record().kind == SolveKind::Step) last_interval = i;
  if (!settings->impact_events) return;
  const auto is_impact = [&](std::size_t i) {
    return i < stages.size() && stages[i].record().kind == SolveKind::Impact;
  };
  for (std::size_t i = 0, end = 0; i < stages.size(); i = std::max(end, i + 1)) {
    const SolveRecord& here = stages[i].record();
    std::size_t before = kNoStage, begin = i;
    if (here.kind == SolveKind::Step) {
      if (i == last_interval) continue;
      if (here.closing.empty()) {
        blame("an interval ended without an impact: its length is held");
      } else {
        event_after[i] = {&here.closing[0], &stages[i + 1].record()};
        ++certificate.impacts;
        const Contact& first = here.closing[0];
        if (std::abs(first.gap) > kLocated * settings->projection_tolerance * first.size)
          blame("an impact was not located to rounding: its time is not known well enough");
      }
      before = i;
      begin = i + 1;
    }
    for (end = begin; is_impact(end);) ++end;
    if (end > begin) find_group(before, begin, end);
  }
}

const Contact& StepGradient::Impl::closed_contact(const SolveRecord& impact) const {
  const std::vector<Contact>& contacts = impact.contacts.contacts;
  return *std::ranges::min_element(contacts, {}, gap_of);
}

VecX StepGradient::Impl::acceleration_at(const SolveRecord& r) const {
  const Index n = model->dynamic_v_size();
  VecX a = VecX::Zero(model->v_size()), f, dv;
  applied_force(*model, *parameters, r.q, r.v, r.t, record->u, f);
  add_gyroscopic(*model, *parameters, r.q, r.v, f);
  VelocityMatrix M;
  assemble_mass(*model, *parameters, r.q, M);
  VelocitySolver solver;
  if (!solver.factorize(M)) return a;
  solver.solve(f, dv);
  a.head(n) = dv;
  return a;
}

bool StepGradient::Impl::moved_by(const SolveRecord& impact, BodyId id) const {
  const Body& body = model->body(id);
  if (!body.is_dynamic()) return false;
  const double speed = impact.v.cwiseAbs().maxCoeff();
  return (impact.solution.v.segment(body.v_begin, body.v_size) -
          impact.v.segment(body.v_begin, body.v_size))
             .cwiseAbs()
             .maxCoeff() > kUnmoved * speed;
}

bool StepGradient::Impl::stands_alone(std::size_t impact, std::size_t begin,
                                      std::size_t end) const {
  const SolveRecord& here = stages[impact].record();
  if (closes_with_another(here)) return false;
  const Contact& contact = closed_contact(here);
  for (std::size_t k = begin; k < end; ++k) {
    if (k == impact) continue;
    const SolveRecord& other = stages[k].record();
    if (moved_by(other, contact.body_a) || moved_by(other, contact.body_b)) return false;
    for (const Contact& c : other.contacts.contacts)
      if (moved_by(here, c.body_a) || moved_by(here, c.body_b)) return false;
  }
  return true;
}

bool StepGradient::Impl::flies_after(std::size_t end) const {
  return model->bilateral_count() == 0 && model->flexible_parts().empty() && end < stages.size() &&
         !stages[end].record().touched.empty() &&
         std::ranges::none_of(stages[end].record().touched, [](unsigned char t) { return t != 0; });
}

void StepGradient::Impl::find_group(std::size_t before, std::size_t begin, std::size_t end) {
  const bool at_start = before == kNoStage;
  const VecX& arriving = stages[begin].record().v;
  const double speed = arriving.cwiseAbs().maxCoeff();
  const SolveRecord* interval = at_start ? nullptr : &stages[before].record();
  const auto among = [](const std::vector<Contact>& list, std::size_t from, const Contact& c) {
    return std::any_of(list.begin() + static_cast<std::ptrdiff_t>(std::min(from, list.size())),
                       list.end(), [&](const Contact& other) { return same_bodies(c, other); });
  };
  for (std::size_t i = begin; i < end; ++i) {
    const SolveRecord& here = stages[i].record();
    const Contact& contact = closed_contact(here);
    if (here.pinned) continue;
    if (!at_start && !interval->closing.empty() && same_bodies(contact, interval->closing[0])) {
      // The one whose time was located; it must be the only contact that closed in its pair.
      if (closes_with_another(here) || among(interval->closing, 1, contact)) blame(kSameTime);
      continue;
    }
    // Pushed by another impact, not closing by itself: it has no time of its own.
    if (rate_of(here, contact, arriving) >= -kResting * speed) continue;
    if (!at_start && !among(interval->closing, 0, contact)) {
      // Rested or overlapped before: it has its impact when the interval ends, whenever that is.
      if (!among(interval->contacts.contacts, 0, contact))
        blame("an impact was met after it had happened: its time is held");
      continue;
    }
    if (!stands_alone(i, begin, end) || !flies_after(end)) {
      blame(kSameTime);
      continue;
    }
    event_before[i] = {{&contact, &here}, acceleration_at(here)};
    ++certificate.impacts;
  }
}

void StepGradient::Impl::close_event(const Event& event, Stage* interval, double by_duration,
                                     SolveInputs& in) {
  // Φ as a function of the interval's inputs and of τ.
  SolveInputs at_end, gap;
  at_end.set_zero(*model);
  gap.set_zero(*model);
  internal::pull_gap(*model, *parameters, *event.at, *event.contact, with_parameters, at_end);
  gap.parameters = at_end.parameters;
  if (interval != nullptr) {
    interval->pull(at_end.q, VecX::Zero(model->v_size()), nullptr, gap);
  } else {
    gap.q = at_end.q;
    gap.duration = at_end.q.dot(event.at->v);
  }
  if (std::abs(gap.duration) > 0)  // a gap that does not close has no time of its own
    internal::add(-by_duration / gap.duration, gap, in);
}

void StepGradient::Impl::close_scale(Stage& impact, SolveInputs& in) {
  SolveInputs gain;
  gain.set_zero(*model);
  impact.pull_gain(gain);
  if (!(std::abs(gain.scale) > 0)) return;
  const double by_gain = -in.scale / gain.scale;
  if (impact.record().scaled) {
    internal::add(by_gain, gain, in);
    return;
  }
  // Each of these leaves its edge one way, and scales the restitution where it gains on that way.
  for (const EdgeParameter& edge : certificate.edges)
    if (const double by = gain.parameters[edge.place];
        (parameters->values[edge.place] == 0 ? by : -by) > 0)
      in.parameters[edge.place] += by_gain * by;
}

void StepGradient::Impl::close_times(std::size_t i, SolveInputs& in, double& by_left) {
  const SolveRecord& here = stages[i].record();
  if (here.scaled || stages[i].just_unscaled()) close_scale(stages[i], in);
  if (event_before[i].event.contact != nullptr) {
    const double by_duration = in.q.dot(here.v) + in.v.dot(event_before[i].acceleration) - by_left;
    close_event(event_before[i].event, nullptr, by_duration, in);
  }
  if (here.kind != SolveKind::Step || !settings->impact_events) return;
  if (i == last_interval) {
    by_left = in.duration;
  } else if (event_after[i].contact != nullptr) {
    close_event(event_after[i], &stages[i], in.duration - by_left, in);
  }
}

}  // namespace orthant
