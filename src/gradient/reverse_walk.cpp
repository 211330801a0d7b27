// SPDX-License-Identifier: Apache-2.0
// gradient/reverse_walk.cpp: stretches from the last to the first. See the header.
#include "gradient/reverse_walk.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <type_traits>

#include "gradient/other_sides.hpp"
#include "gradient/rollout_parts.hpp"

namespace orthant::internal {
namespace {

constexpr double kRounding = 1e-15;  // of the largest derivative by a state

double largest(const VecX& x) { return x.size() == 0 ? 0 : x.cwiseAbs().maxCoeff(); }
double largest(const StateCotangent& g) { return std::max(largest(g.q), largest(g.v)); }

/// Changes that grow so much on the way: rounding and the residuals of the solves grow as well.
constexpr double kGrowth = 1e8;

void refuse_growth(RolloutCertificate& all) {
  if (!all.exact) return;
  all.exact = false;
  all.first_inexact = 0;
  all.reason = "step 0: a change grows by more than 1e8 on the way, and rounding with it";
}

/// Of a rollout: which inputs other sides of rows on a border would change.
class Choices {
 public:
  Choices(const StepSettings& steps, const StepGradientSettings& used) {
    // The deepest point of a pair (Single, Relcp) may be tied as well: that is no choice of a side.
    const bool tied = steps.constraints == ConstraintScheme::Single ||
                      steps.constraints == ConstraintScheme::Relcp;
    // Sides that the user chose stay as they are: no other one is looked at.
    const bool chosen = !used.kinks.empty() || !used.solution.blocks.empty();
    active_ = !tied && !chosen && used.solution.kink == KinkChoice::Clamp &&
              used.solution.mode == GradientMode::Exact;
  }

  /// What StepGradient::pull_back() carries of them; null: nothing does.
  OtherSides* of(const Model& model, const StepGradient& step) {
    // A contact of a step that neither pushes nor opens: one that pushes takes its bodies out of
    // their flight, and the motion jumps.
    for (const StepCertificate::Entry& contact : step.certificate().contacts)
      if (contact.state == ContactState::Floating && !contact.impact) active_ = false;
    active_ = active_ && others_.known;
    if (!active_) return nullptr;
    if (others_.by.q.size() == 0) others_.by.set_zero(model);
    others_.by.u.setZero();
    return &others_;
  }
  /// After the product of step `index`.
  void note(Index index, const StepCotangent& before) {
    if (!active_) return;
    others_.look_at(before.u);
    const VecX& u = others_.by.u;
    for (Index i = 0; i < u.size(); ++i)
      if (u[i] != 0)
        controls_.push_back({{InputKind::Control, i, index, OpenReason::Neither}, std::abs(u[i])});
  }

  /// No difference is on its way to the start.
  bool ended() const { return others_.ended(); }

  /// Takes rows off the certificate where all that another side changes is known: these inputs are
  /// named.
  void settle(const VecX& by_parameters, RolloutCertificate& all) const {
    if (all.floating == 0) return;
    if (!active_ || !others_.known ||
        !all.exact) {  // only then is the side on which a coefficient leaves its edge of interest
      for (EdgeParameter& edge : all.edges) edge.given = false;
      return;
    }
    all.floating = all.floating_steps = 0;
    const double most = kNoticed * others_.size;
    const auto note = [&](InputKind kind, Index place, double by, double noticed) {
      if (!(std::abs(by) <= noticed))  // not a number is not known
        note_open({kind, place, 0, OpenReason::Neither}, all.open);
    };
    const SolveInputs& by = others_.by;
    for (Index i = 0; i < by.q.size(); ++i) {
      note(InputKind::Configuration, i, by.q[i], most);
      note(InputKind::Velocity, i, by.v[i], most);
    }
    for (Index i = 0; i < by.parameters.size(); ++i)
      note(InputKind::Parameter, i, by.parameters[i],
           100 * kNoticed * std::abs(by_parameters[i]) + most);
    for (const auto& [input, size] : controls_)
      if (!(size <= most)) note_open(input, all.open);
  }

  template <class Archive>
  void carry(Archive& archive) {
    archive(active_, others_.by.q, others_.by.v, others_.by.u, others_.by.parameters, others_.size,
            others_.known, controls_);
  }

 private:
  static constexpr double kNoticed = OtherSides::kNoticed;
  struct Control {
    OpenInput input;
    double size = 0;
  };
  bool active_ = false;
  OtherSides others_;
  std::vector<Control> controls_;
};

/// Numbers that must not change (StepGradient::kink), carried back to the start: the inputs they
/// change with are at a kink. Most end on the way, for contacts stay closed.
class OpenInputs {
 public:
  explicit OpenInputs(OpenReason reason) : reason_(reason) {}

  void pull(Index index, StepGradient& step, const RolloutTape& tape) {
    const auto note = [&](const StepCotangent& now) {
      // Parameters are added up: what one step undoes of another is rounding.
      if (by_parameters_.size() == 0) by_parameters_.setZero(now.parameters.size());
      if (reason_ == OpenReason::Near)
        by_parameters_ += now.parameters;  // a distance, of which nothing may be counted twice
      else
        by_parameters_ += now.parameters.cwiseAbs();
      find_open({.q = {}, .v = {}, .u = now.u, .parameters = {}}, *tape.model, tape.parameters,
                tape.settings, {.step = index, .reason = reason_}, open_);
    };
    if (largest(by_) > kEnded) {
      StepCotangent now = step.pull_back(by_);
      note(now);
      by_ = {std::move(now.q), std::move(now.v)};
    } else {
      by_ = {};
    }
    const StepCotangent* here = step.kink(reason_);
    if (here == nullptr) return;
    if (by_.q.size() == 0) by_ = {VecX::Zero(here->q.size()), VecX::Zero(here->v.size())};
    by_.q += here->q;
    by_.v += here->v;
    note(*here);
    step_ = index;
    what_ = step.certificate().kink;
  }

  void note(const RolloutTape& tape, RolloutCertificate& all) const {
    std::vector<OpenInput> open = open_;
    find_open({by_.q, by_.v, {}, by_parameters_}, *tape.model, tape.parameters, tape.settings,
              {.reason = reason_}, open);
    for (const OpenInput& one : open) note_open(one, all.open);
    if (open.empty() || !all.kink.empty()) return;
    all.first_kink = step_;
    all.kink = "step " + std::to_string(step_) + ": " + what_;
  }

  template <class Archive>
  void carry(Archive& archive) {
    archive(by_.q, by_.v, by_parameters_, open_, what_, step_);
  }

 private:
  static constexpr double kEnded = 1e-10;  // of numbers of size 1
  OpenReason reason_;
  StateCotangent by_;
  VecX by_parameters_;
  std::vector<OpenInput> open_;
  std::string what_;
  Index step_ = 0;
};

/// What is carried => bytes.
struct ToBytes {
  std::vector<std::byte>& bytes;

  template <class... T>
  void operator()(T&... values) {
    (put(values), ...);
  }

 private:
  void put_raw(const void* from, std::size_t size) {
    const auto* p = static_cast<const std::byte*>(from);
    bytes.insert(bytes.end(), p, p + size);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      put_raw(&value, sizeof value);
    } else {
      const auto count = static_cast<std::size_t>(value.size());
      put_raw(&count, sizeof count);
      put_raw(value.data(), count * sizeof *value.data());
    }
  }
};

/// Bytes => what is carried.
struct FromBytes {
  const std::byte* at;

  template <class... T>
  void operator()(T&... values) {
    (take(values), ...);
  }

 private:
  void take_raw(void* to, std::size_t size) {
    if (size > 0) std::memcpy(to, at, size);
    at += size;
  }
  template <class T>
  void take(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) {
      take_raw(&value, sizeof value);
    } else {
      std::size_t count = 0;
      take_raw(&count, sizeof count);
      value.resize(static_cast<decltype(value.size())>(count));
      take_raw(value.data(), count * sizeof *value.data());
    }
  }
};

}  // namespace

struct ReverseWalk::Impl {
  Impl(const RolloutTape& t, const RolloutCotangent& l, const StepGradientSettings& gradient)
      : tape(t), loss(l), records(t), settings(gradient), choices(t.settings, gradient) {}

  const RolloutTape& tape;
  const RolloutCotangent& loss;
  Records records;
  SettingsOfSteps settings;
  std::deque<StepGradient> prepared;  // of a stretch, its last step first; or empty
  StepCotangent before;

  // carried on
  RolloutGradient out;
  StateCotangent g;
  double size_of_loss = 0;            // largest derivative by a state that came in so far
  double size = 0;                    // largest derivative by a state so far
  bool grows = false, rests = false;  // in a later step
  Choices choices;
  OpenInputs opened[4] = {OpenInputs(OpenReason::Kink), OpenInputs(OpenReason::Ambiguous),
                          OpenInputs(OpenReason::Neither), OpenInputs(OpenReason::Near)};

  template <class Archive>
  void carry(Archive& archive) {
    RolloutCertificate& c = out.certificate;
    archive(out.parameters, c.exact, c.reason, c.first_inexact, c.steps, c.failed_steps,
            c.inexact_steps, c.floating_steps, c.floating, c.margin, c.weakest_step,
            c.reciprocal_condition, c.solve_error, c.residual, c.impacts, c.kinks, c.kink,
            c.first_kink, c.edges, c.open);
    archive(g.q, g.v, size_of_loss, size, grows, rests);
    choices.carry(archive);
    for (OpenInputs& one : opened) one.carry(archive);
  }

  Index every() const { return tape.policy.every > 0 ? tape.policy.every : tape.steps; }
  Index begin_of(Index stretch) const { return stretch * every(); }
  Index end_of(Index stretch) const { return std::min(begin_of(stretch + 1), tape.steps); }
  StepGradient make(Index i) {
    return StepGradient(*tape.model, tape.parameters, tape.settings, records.at(i), settings.at(i));
  }

  void add_loss(Index i) {
    for (const auto& [by, to] : {std::pair{&loss.q, &g.q}, {&loss.v, &g.v}}) {
      if (by->size() == 0) continue;
      *to += by->col(i);
      size_of_loss = std::max(size_of_loss, largest(by->col(i)));
    }
  }
  void look_at_size() {
    if (size == 0) size_of_loss = std::max(size_of_loss, largest(g));  // of solves
    size = std::max(size, largest(g));
    grows = grows || size > kGrowth * size_of_loss;
  }

  void pull(Index i, StepGradient& step) {
    add_loss(i + 1);
    const std::span<const SolveCotangent> solves =
        loss.solves.empty() ? std::span<const SolveCotangent>()
                            : std::span<const SolveCotangent>(loss.solves[i]);
    // What rounding left of a derivative that ended: a product of it says nothing. Kinks are looked
    // for all the same, another side may go on.
    look_at_size();
    if (solves.empty() && largest(g) < kRounding * size && choices.ended()) {
      g.q.setZero();
      g.v.setZero();
    }
    OtherSides* others = out.certificate.exact ? choices.of(*tape.model, step) : nullptr;
    step.pull_back(g, solves, before, others);
    out.u.col(i) = before.u;
    out.parameters += before.parameters;
    note(step.certificate(), i, rests, out.certificate);
    rests = rests || step.certificate().rests;
    if (out.certificate.exact)
      for (OpenInputs& one : opened) one.pull(i, step, tape);
    if (others != nullptr) choices.note(i, before);
    if (i == 0)
      for (const OpenInput& one : step.certificate().open)
        if (one.reason == OpenReason::Neither) note_open(one, out.certificate.open);
    g.q.swap(before.q);
    g.v.swap(before.v);
  }
};

ReverseWalk::ReverseWalk(const RolloutTape& tape, const RolloutCotangent& loss,
                         const StepGradientSettings& gradient) {
  check_tape(tape);
  const Model& model = *tape.model;
  const Index n = model.v_size();
  check_size(loss.q, n, tape.steps + 1, "incoming gradient by q");
  check_size(loss.v, n, tape.steps + 1, "incoming gradient by v");
  if (!loss.solves.empty() && static_cast<Index>(loss.solves.size()) != tape.steps)
    throw Error("incoming gradient by solves", "expected one list per step, " +
                                                   std::to_string(tape.steps) + ", got " +
                                                   std::to_string(loss.solves.size()));
  impl_ = std::make_unique<Impl>(tape, loss, gradient);
  impl_->out.parameters.setZero(model.parameter_table().size());
  impl_->out.u.setZero(model.control_count(), tape.steps);
  impl_->g = {VecX::Zero(n), VecX::Zero(n)};
}
ReverseWalk::~ReverseWalk() = default;

Index ReverseWalk::stretches() const {
  return (impl_->tape.steps + impl_->every() - 1) / impl_->every();
}

void ReverseWalk::prepare(Index stretch, const std::function<void()>& between) {
  impl_->prepared.clear();
  for (Index i = impl_->end_of(stretch); i-- > impl_->begin_of(stretch);) {
    impl_->prepared.push_back(impl_->make(i));
    between();
  }
}

void ReverseWalk::walk(Index stretch) {
  const Index begin = impl_->begin_of(stretch);
  for (Index i = impl_->end_of(stretch); i-- > begin;) {
    if (!impl_->prepared.empty()) {
      impl_->pull(i, impl_->prepared.front());
      impl_->prepared.pop_front();
    } else {
      StepGradient step = impl_->make(i);
      impl_->pull(i, step);
    }
  }
}

RolloutGradient ReverseWalk::finish() {
  RolloutGradient out = std::move(impl_->out);
  impl_->choices.settle(out.parameters, out.certificate);
  for (const OpenInputs& one : impl_->opened) one.note(impl_->tape, out.certificate);
  impl_->look_at_size();
  if (impl_->grows) refuse_growth(out.certificate);
  impl_->add_loss(0);
  out.q = std::move(impl_->g.q);
  out.v = std::move(impl_->g.v);
  return out;
}

std::vector<std::byte> ReverseWalk::carried() {
  std::vector<std::byte> bytes;
  ToBytes archive{bytes};
  impl_->carry(archive);
  return bytes;
}
void ReverseWalk::take(std::span<const std::byte> carried) {
  FromBytes archive{carried.data()};
  impl_->carry(archive);
}
MatX& ReverseWalk::by_controls() { return impl_->out.u; }

}  // namespace orthant::internal
