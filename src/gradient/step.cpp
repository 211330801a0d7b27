// SPDX-License-Identifier: Apache-2.0
// gradient/step.cpp: the solves of a step, walked backwards (pull_back) or forwards (push_forward).
// Located impacts make the lengths of the intervals variables:
//   Φ(q'(τ)) = 0:  dτ = −dΦ|_τ / Φ̇,  and what is left of the step after the impact is shorter by
//   dτ
// Both products follow from those of the interval at fixed τ and by τ, so the path may be any. An
// impact at the very start of a step ends an interval of length zero, along which bodies fall
// freely; so does each impact of other bodies at the same time. Contacts that overlap when the step
// begins have their impact at once: τ = 0 is fixed. Where an impact would gain energy, the scale s
// of its restitution is a variable in the same way: ds = −d(T⁺ − T⁻)|_s / ∂(T⁺ − T⁻)/∂s.
#include "orthant/gradient/step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>

#include "gradient/check_extra.hpp"
#include "gradient/edges.hpp"
#include "gradient/kinks.hpp"
#include "gradient/other_sides.hpp"
#include "gradient/spare.hpp"
#include "gradient/stage.hpp"
#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"

namespace orthant {

using internal::SolveInputs;
using internal::Stage;

namespace {

constexpr double kConsistent = 1e-7;   // worse: the linear system has no solution
constexpr double kResting = 1e-6;      // of the speeds at an impact: slower contacts rest
constexpr double kLocated = 1e-3;      // of the tolerance of gaps: ten times what is aimed at
constexpr double kUncorrected = 1e-6;  // residual of a correction of positions without a solution
constexpr double kUnmoved = 1e-12;     // of the speeds at an impact: changes by rounding
constexpr const char* kSameTime =
    "several contacts close at one time and their bodies meet: only the time of the first is "
    "differentiated";
const char* name_of(OpenReason reason) {
  return reason == OpenReason::Ambiguous
             ? "redundant contacts: their impulses are not unique, and the derivative depends on "
               "which were found"
             : "a change contradicts redundant contacts";
}
constexpr std::size_t kNoStage = std::numeric_limits<std::size_t>::max();

/// `out` = x of the size it has, or zero where x is empty.
void put(const VecX& x, VecX& out, const char* what) {
  if (x.size() == 0) {
    out.setZero();
    return;
  }
  if (x.size() != out.size())
    throw Error(what, "has " + std::to_string(x.size()) + " entries, expected " +
                          std::to_string(out.size()));
  if (!x.allFinite()) throw Error(what, "must be finite");
  out = x;
}

VecX or_zero(const VecX& x, Index n, const char* what) {
  VecX out(n);
  put(x, out, what);
  return out;
}

/// in += factor x, but for the length of the interval and the scale of the restitution.
void add(double factor, const SolveInputs& x, SolveInputs& in) {
  in.q += factor * x.q;
  in.v += factor * x.v;
  in.u += factor * x.u;
  in.parameters += factor * x.parameters;
}

}  // namespace

struct StepGradient::Impl {
  /// Where a gap closes: the contact, at the configuration of the solve that begins there.
  struct Event {
    const Contact* contact = nullptr;  // nullptr: none
    const SolveRecord* at = nullptr;
  };
  /// An interval of length zero before an impact, along which bodies fly: at the start of a step,
  /// or after an impact of other bodies at the same time.
  struct ZeroInterval {
    Event event = {};
    VecX acceleration = {};
  };

  const Model* model = nullptr;
  const Parameters* parameters = nullptr;
  const StepSettings* settings = nullptr;
  const StepRecord* record = nullptr;
  bool with_parameters = true;
  std::size_t velocities = 0;       // how many; the model may be gone before this
  std::vector<SolveRecord> trials;  // of a recursion
  std::vector<Stage> storage;       // of the stages, and of more that others had
  std::span<Stage> stages;
  std::vector<Event> event_after;          // by stage: what ended the interval
  std::vector<ZeroInterval> event_before;  // by stage
  std::size_t last_interval = kNoStage;
  StepCertificate certificate;
  SolveInputs pulled;                                           // of pull_back()
  std::vector<std::vector<internal::KinkScalar>> kinks;         // by stage
  bool kinked[3] = {false, false, false}, kinks_known = false;  // by OpenReason
  StepCotangent against[3];                                     // see kink()
  VecX by_q, by_v;        // the derivative by the end of the stage at hand
  VecX other_q, other_v;  // the same of other sides

  void set_stages(const StepGradientSettings& gradient);
  void find_events();
  /// Impacts [begin, end) happened at one time, after interval `before` (kNoStage: at the start).
  /// Bodies that only one of them moves have a time of their own: whichever comes first, the other
  /// does not notice.
  void find_group(std::size_t before, std::size_t begin, std::size_t end);
  /// The impact has a time of its own, apart from that of the others of its group.
  bool stands_alone(std::size_t impact, std::size_t begin, std::size_t end) const;
  /// Nothing but applied forces acts in the interval after a group of impacts.
  bool flies_after(std::size_t end) const;
  /// Of an impact, the contact with the smallest gap.
  const Contact& closed_contact(const SolveRecord& impact) const;
  bool moved_by(const SolveRecord& impact, BodyId body) const;
  /// How velocities change where a solve stands, by applied forces alone.
  VecX acceleration_at(const SolveRecord& at) const;
  void blame(const std::string& reason) {
    if (certificate.exact) certificate.reason = reason;
    certificate.exact = false;
  }
  /// Another contact of the impact is as closed as the first, and was closing too.
  bool closes_with_another(const SolveRecord& impact) const;
  void certify(const StepGradientSettings& gradient);
  void note_kinks(std::size_t stage, bool starts);
  void note_borders(const Stage& stage);
  /// `released`: contacts let go that are counted already.
  void note_error(const Stage& stage, Index released = 0);
  void note_errors();
  /// Where stage i ends: configuration and contacts alone.
  SolveRecord end_of(std::size_t i) const;
  internal::SolveContext context_of(std::size_t i, const SolveRecord& at) const {
    return {*model, *parameters, record->u, at, stages[i].answer(), with_parameters};
  }
  /// Carries the kinks of single numbers, and what contradicts redundant rows, to the start of the
  /// step.
  void find_open(OpenReason reason);
  /// Inputs that close contacts at the start and open others.
  void find_crossed();
  /// Removes the freedom of τ: by_duration is the whole derivative by it at fixed everything else.
  void close_event(const Event& event, Stage* interval, double by_duration, SolveInputs& in);
  /// The same for the scale of the restitution.
  void close_scale(Stage& impact, SolveInputs& in);
  /// `in` is the derivative by the inputs of stage i at fixed times and scale: removes these
  /// freedoms. `by_left`: by the time that is left after the stage.
  void close_times(std::size_t i, SolveInputs& in, double& by_left);
  /// `in` by the end of stage i => by its start, times and scale fixed.
  void pull_stage(std::size_t i, const SolveCotangent* extra, SolveInputs& in,
                  internal::PullFor purpose = internal::PullFor::Derivative);
  /// Stage i is pulled once more to remove these freedoms.
  bool closes(std::size_t i) const {
    return stages[i].record().scaled || event_after[i].contact != nullptr;
  }
  /// The same of what other sides change: of stage i as it was pulled last, and of those after it.
  void pull_others(std::size_t i, internal::OtherSides& others, double& by_left);
  /// The solves of a recursion all begin where the step does; each reads where those before it led.
  /// `in`: the derivative by the end of the step, replaced by that by its start.
  void pull_recursion(std::span<const SolveCotangent> solves, SolveInputs& in);
  StateTangent push_recursion(const SolveInputs& direction);
  double rate_of(const SolveRecord& at, const Contact& contact, const VecX& v) const {
    return gap_rate(*model, at.q, v, contact);
  }
};

/// The gap is not kept in an impact, where it counts as closed; its points are.
double gap_of(const Contact& c) { return (c.point_a - c.point_b).dot(c.normal); }
bool same_bodies(const Contact& a, const Contact& b) {
  return a.body_a == b.body_a && a.body_b == b.body_b;
}

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

void StepGradient::Impl::set_stages(const StepGradientSettings& gradient) {
  const std::size_t count = record->solves.size();
  if (storage.size() < count) storage.resize(count);
  stages = std::span(storage).first(count);
  const internal::StageArguments arguments{*model,  *parameters, *settings,
                                           *record, gradient,    trials};
  for (std::size_t i = 0; i < count; ++i) stages[i].set(arguments, i);
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

void StepGradient::Impl::note_kinks(std::size_t i, bool starts) {
  const Stage& stage = stages[i];
  const SolveRecord& r = stage.record();
  internal::Kinks found = internal::find_kinks(*model, *parameters, *settings, r, stage.blocks(),
                                               starts && (i == 0 || r.q == record->before.q),
                                               trials.empty(), stage.displacement());
  std::optional<SolveRecord> end;  // made where it is asked for
  std::erase_if(found.scalars, [&](const internal::KinkScalar& kink) {
    if (kink.at != internal::KinkScalar::At::End) return false;
    if (!end) end = end_of(i);
    return std::abs(internal::gap_at(context_of(i, *end), kink.gaps[0].first)) > kink.width;
  });
  const bool lands = std::ranges::any_of(found.scalars, [](const internal::KinkScalar& kink) {
    return kink.at == internal::KinkScalar::At::End;
  });
  if (lands && found.what.empty()) found.what = "a contact lands, and what is left of its gap is 0";
  if (certificate.kink.empty()) certificate.kink = found.what;
  certificate.kinks += found.here;
  certificate.start_kinks += found.start;
  kinks[i] = std::move(found.scalars);
  if (stage.rests_by_rounding())  // what an earlier solve of the step opens is on the other side
    for (EdgeParameter& edge : certificate.edges) edge.given = edge.given && !edge.opens;
  if (with_parameters)
    internal::find_edges(context_of(i, r), stage.blocks(), stage.free_velocity(),
                         settings->projection_tolerance, certificate.edges);
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
    note_kinks(static_cast<std::size_t>(&stage - stages.data()), gradient.starts);
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

void StepGradient::Impl::find_open(OpenReason reason) {
  SolveInputs in;
  bool any = false;
  const auto begin = [&] {
    if (!any) in.set_zero(*model);
    any = true;
  };
  const auto add_kinks = [&](std::size_t i, internal::KinkScalar::At where) {
    for (std::size_t k = 0; k < kinks[i].size() && reason == OpenReason::Kink; ++k) {
      if (kinks[i][k].at != where) continue;
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
    if (any && trials.empty()) pull_stage(i, nullptr, in, internal::PullFor::Beside);
    if (const SolveInputs* own = stages[i].contradiction(reason); own != nullptr) {
      begin();
      add(1, *own, in);
      in.duration += own->duration;
      // What leads there by a recursion is not looked at.
      if (!trials.empty() && i > 0) blame(name_of(reason));
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
  internal::find_open({in.q, in.v, in.u, in.parameters}, *parameters, settings->h,
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
                      *parameters, settings->h, {.reason = OpenReason::Neither}, certificate.open);
}

StepGradient::StepGradient(const Model& model, const Parameters& parameters,
                           const StepSettings& settings, const StepRecord& record,
                           const StepGradientSettings& gradient)
    : impl_(internal::Spare<Impl>::take()) {
  const auto refuse = [&](const std::string& what) {
    throw Error("gradient of step " + std::to_string(record.before.step), what);
  };
  if (record.solves.empty()) refuse("the step was not recorded: pass a StepRecord to step()");
  if (record.outcome != Outcome::Converged && !gradient.allow_unconverged)
    refuse("the step did not converge; set `force` to differentiate it all the same");
  if (record.outcome == Outcome::NotFinite)
    refuse("the step found no finite answer: there is nothing to differentiate");
  if (settings.integrator == Integrator::Rattle)
    refuse("Integrator::Rattle has no derivative; use Integrator::Euler");
  if (parameters.values.size() != model.parameter_table().size())
    refuse("expected " + std::to_string(model.parameter_table().size()) + " parameters, got " +
           std::to_string(parameters.values.size()));
  Impl& m = *impl_;
  m.model = &model;
  m.parameters = &parameters;
  m.settings = &settings;
  m.record = &record;
  m.with_parameters = gradient.by_parameters;
  m.velocities = static_cast<std::size_t>(model.v_size());
  m.trials = internal::trials_of(model, record);
  std::vector<StepCertificate::Entry> contacts = std::move(m.certificate.contacts);  // its memory
  contacts.clear();
  m.certificate = {};
  m.certificate.contacts = std::move(contacts);
  m.kinked[0] = m.kinked[1] = m.kinked[2] = m.kinks_known = false;
  m.set_stages(gradient);
  m.find_events();
  m.certify(gradient);
}

StepGradient::~StepGradient() {
  const std::size_t size = impl_ == nullptr ? 0 : impl_->velocities;
  internal::Spare<Impl>::give(std::move(impl_), size);
}
StepGradient::StepGradient(StepGradient&&) noexcept = default;
StepGradient& StepGradient::operator=(StepGradient&& other) noexcept {
  impl_.swap(other.impl_);  // the other one gives the memory back
  return *this;
}
const StepCertificate& StepGradient::certificate() const { return impl_->certificate; }
const StepCotangent* StepGradient::kink(OpenReason reason) const {
  const auto which = static_cast<std::size_t>(reason);
  return impl_->kinked[which] ? &impl_->against[which] : nullptr;
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
    add(-by_duration / gap.duration, gap, in);
}

void StepGradient::Impl::close_scale(Stage& impact, SolveInputs& in) {
  SolveInputs gain;
  gain.set_zero(*model);
  impact.pull_gain(gain);
  if (std::abs(gain.scale) > 0) add(-in.scale / gain.scale, gain, in);
}

void StepGradient::Impl::pull_stage(std::size_t i, const SolveCotangent* extra, SolveInputs& in,
                                    internal::PullFor purpose) {
  const Index n = model->v_size();
  by_q.swap(in.q);
  by_v.swap(in.v);
  in.q.setZero(n);
  in.v.setZero(n);
  in.duration = in.scale = 0;
  stages[i].pull(by_q, by_v, extra, in, {}, purpose);
}

void StepGradient::Impl::close_times(std::size_t i, SolveInputs& in, double& by_left) {
  const SolveRecord& here = stages[i].record();
  if (here.scaled) close_scale(stages[i], in);
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

void StepGradient::Impl::pull_others(std::size_t i, internal::OtherSides& others, double& by_left) {
  const bool came = !others.ended(), here = stages[i].certificate().floating > 0;
  other_q.swap(others.by.q);
  other_v.swap(others.by.v);
  others.by.q.setZero(model->v_size());
  others.by.v.setZero(model->v_size());
  others.by.duration = others.by.scale = 0;
  if (here && closes(i)) others.known = false;
  if (!other_q.allFinite() || !other_v.allFinite()) {
    others.known = false;
    return;
  }
  if (!came) other_q.setZero(), other_v.setZero();
  const bool differs = here && !closes(i);
  if (came || differs)
    stages[i].pull(other_q, other_v, nullptr, others.by, {},
                   differs ? internal::PullFor::OtherSides : internal::PullFor::Beside);
  if (came || here || by_left != 0) close_times(i, others.by, by_left);
}

void StepGradient::Impl::pull_recursion(std::span<const SolveCotangent> solves, SolveInputs& in) {
  const Index n = model->v_size();
  std::vector<StateCotangent> by(stages.size(), {VecX::Zero(n), VecX::Zero(n)});
  by.back().q.swap(in.q);
  by.back().v.swap(in.v);
  for (std::size_t i = stages.size(); i-- > 0;) {
    const SolveCotangent* extra = solves.empty() ? nullptr : &solves[i];
    if (extra != nullptr) internal::check_extra(*extra, stages[i].record());
    stages[i].pull(by[i].q, by[i].v, extra, in, std::span(by).first(i));
  }
}

StateTangent StepGradient::Impl::push_recursion(const SolveInputs& direction) {
  std::vector<StateTangent> ends(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i)
    stages[i].push(direction, ends[i].q, ends[i].v, std::span(ends).first(i));
  return std::move(ends.back());
}

void StepGradient::pull_back(const StateCotangent& after, std::span<const SolveCotangent> solves,
                             StepCotangent& before, internal::OtherSides* others) {
  Impl& m = *impl_;
  SolveInputs& in = m.pulled;
  in.set_zero(*m.model);
  put(after.q, in.q, "incoming gradient by q");
  put(after.v, in.v, "incoming gradient by v");
  if (!solves.empty() && solves.size() != m.stages.size())
    throw Error("incoming gradient by solves", "expected one per solve of the record, " +
                                                   std::to_string(m.stages.size()) + ", got " +
                                                   std::to_string(solves.size()));
  double by_left = 0, others_left = 0;  // by the time that is left after the stage at hand
  m.certificate.released = 0;
  if (!m.trials.empty()) m.pull_recursion(solves, in);
  for (std::size_t i = m.trials.empty() ? m.stages.size() : 0; i-- > 0;) {
    const SolveCotangent* extra = solves.empty() ? nullptr : &solves[i];
    if (extra != nullptr) internal::check_extra(*extra, m.stages[i].record());
    m.pull_stage(i, extra, in);
    m.note_error(m.stages[i]);
    const Index released = m.stages[i].certificate().released;
    if (others != nullptr) {
      others->look_at(in.q);
      others->look_at(in.v);
      m.pull_others(i, *others, others_left);
    }
    m.close_times(i, in, by_left);
    if (m.closes(i)) m.note_error(m.stages[i], released);
  }
  if (!m.trials.empty()) m.note_errors();
  if (!m.kinks_known) {
    m.kinks_known = true;
    m.find_open(OpenReason::Kink);
    m.find_open(OpenReason::Ambiguous);
    m.find_open(OpenReason::Neither);
  }
  before.q.swap(in.q);
  before.v.swap(in.v);
  before.u.swap(in.u);
  before.parameters.swap(in.parameters);
}

StepCotangent StepGradient::pull_back(const StateCotangent& after,
                                      std::span<const SolveCotangent> solves) {
  StepCotangent before;
  pull_back(after, solves, before);
  return before;
}

StateTangent StepGradient::push_forward(const StepTangent& change) {
  Impl& m = *impl_;
  const Index n = m.model->v_size();
  SolveInputs d;
  d.q = or_zero(change.q, n, "change of q");
  d.v = or_zero(change.v, n, "change of v");
  d.u = or_zero(change.u, m.model->control_count(), "change of u");
  d.parameters =
      or_zero(change.parameters, m.model->parameter_table().size(), "change of parameters");
  if (!m.with_parameters) d.parameters.setZero();
  if (!m.trials.empty()) {
    StateTangent end = m.push_recursion(d);
    m.note_errors();
    return end;
  }
  double d_left = 0;
  VecX q, v;
  // Moves (q, v) by the change of τ that keeps the gap of an event closed.
  const auto shift = [&](const Impl::Event& event, const VecX& q_rate, const VecX& v_rate) {
    SolveInputs rate;
    rate.set_zero(*m.model);
    rate.q = q_rate;
    const auto push = [&](const SolveInputs& x) {
      return internal::push_gap(*m.model, *m.parameters, *event.at, *event.contact, x);
    };
    const double closing = push(rate);
    if (!(std::abs(closing) > 0)) return;
    const double d_tau = -push(d) / closing;
    d.q += d_tau * q_rate;
    d.v += d_tau * v_rate;
    d_left -= d_tau;
  };
  SolveInputs unit;
  for (std::size_t i = 0; i < m.stages.size(); ++i) {
    Stage& stage = m.stages[i];
    if (m.event_before[i].event.contact != nullptr)
      shift(m.event_before[i].event, stage.record().v, m.event_before[i].acceleration);
    const bool interval = stage.record().kind == SolveKind::Step;
    SolveInputs before = d;
    before.duration = interval && i == m.last_interval ? d_left : 0;
    stage.push(before, q, v);
    if (stage.record().scaled) {
      VecX none, by_scale;
      unit.set_zero(*m.model);
      unit.scale = 1;
      stage.push(unit, none, by_scale);
      const double gain = stage.push_gain(unit, by_scale);
      if (std::abs(gain) > 0) v -= stage.push_gain(before, v) / gain * by_scale;
    }
    d.q = q;
    d.v = v;
    if (m.event_after[i].contact == nullptr) continue;
    unit.set_zero(*m.model);
    unit.duration = 1;
    stage.push(unit, q, v);
    shift(m.event_after[i], q, v);
  }
  m.note_errors();
  return {std::move(d.q), std::move(d.v)};
}

StepChanges StepGradient::push_forward(const StepChanges& changes) {
  Impl& m = *impl_;
  const Index n = m.model->v_size();
  const Index count = std::max({changes.q.cols(), changes.v.cols(), changes.u.cols()});
  for (const auto& [x, rows, what] : {std::tuple{&changes.q, n, "changes of q"},
                                      {&changes.v, n, "changes of v"},
                                      {&changes.u, m.model->control_count(), "changes of u"}}) {
    if (x->size() == 0) continue;
    if (x->rows() != rows || x->cols() != count)
      throw Error(what, "must be " + std::to_string(rows) + " x " + std::to_string(count) +
                            ", got " + std::to_string(x->rows()) + " x " +
                            std::to_string(x->cols()));
    if (!x->allFinite()) throw Error(what, "must be finite");
  }
  bool at_once = m.trials.empty();
  for (std::size_t i = 0; i < m.stages.size() && at_once; ++i)
    at_once = !m.stages[i].record().scaled && m.event_before[i].event.contact == nullptr &&
              m.event_after[i].contact == nullptr && m.stages[i].can_push_many();
  if (at_once) {
    const auto start = [&](const MatX& x) {
      internal::Directions out = internal::Directions::Zero(n, count);
      if (x.size() > 0) out = x;
      return out;
    };
    internal::Directions dq = start(changes.q), dv = start(changes.v);
    const internal::Directions du = changes.u;
    for (Stage& stage : m.stages) stage.push_many(dq, dv, du);
    m.note_errors();
    return {dq, dv};
  }
  StepChanges after{MatX(n, count), MatX(n, count)};
  for (Index i = 0; i < count; ++i) {
    StepTangent one;
    if (changes.q.size() > 0) one.q = changes.q.col(i);
    if (changes.v.size() > 0) one.v = changes.v.col(i);
    if (changes.u.size() > 0) one.u = changes.u.col(i);
    const StateTangent end = push_forward(one);
    after.q.col(i) = end.q;
    after.v.col(i) = end.v;
  }
  return after;
}

StepJacobian StepGradient::jacobian() {
  const Index n = impl_->model->v_size();
  StepJacobian J;
  J.A.resize(2 * n, 2 * n);
  J.B.resize(2 * n, impl_->model->control_count());
  for (Index row = 0; row < 2 * n; ++row) {
    StateCotangent unit{VecX::Zero(n), VecX::Zero(n)};
    (row < n ? unit.q[row] : unit.v[row - n]) = 1;
    const StepCotangent g = pull_back(unit);
    J.A.row(row) << g.q.transpose(), g.v.transpose();
    if (J.B.cols() > 0) J.B.row(row) = g.u.transpose();
  }
  return J;
}

std::vector<Index> find_parameters(const Model& model, std::span<const std::string> names) {
  std::vector<Index> places;
  for (const std::string& name : names) places.push_back(model.parameter_table().find(name));
  return places;
}

}  // namespace orthant
