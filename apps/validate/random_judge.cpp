// SPDX-License-Identifier: Apache-2.0
// validate/random_judge.cpp: gradients of a scene beside differences of its steps.
//   loss = g_q · (q_T ⊟ q̄_T) + g_v · (v_T − v̄_T),  ± differences (4f(ε) − f(2ε))/2ε,
//   ε = 1e-7 … 1e-3 of the size of the input
// f is the change of the loss, not the loss: what is lost is rounding of the motion alone.
#include "validate/random_judge.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "orthant/base/error.hpp"
#include "orthant/base/mix.hpp"
#include "orthant/io/scene.hpp"
#include "orthant/step/energy.hpp"

namespace orthant::validation {
namespace {

constexpr std::array kSteps = {1e-7, 1e-6, 1e-5, 1e-4, 1e-3};
constexpr double kPlateau = 1e-6;  // neighbouring differences that agree so far are a plateau
constexpr double kJump = 1e-6;     // change of the loss that the smallest step does not explain
constexpr double kTighter = 1e-2;  // tolerance of the differences, of the scene's
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
/// A measurement whose neighbours differ by more than this, relative, decides nothing.
constexpr double kBlurred = 1e-5;

/// Something to differentiate by.
struct Input {
  std::string name;
  double size = 1, gradient = 0;
  const EdgeParameter* edge = nullptr;  // what the certificate says of it alone
  const OpenInput* open = nullptr;      // the certificate has it at a kink
  std::function<void(double, Parameters&, State&, MatX&)> change;
};

/// A one-sided difference, scaled by the size of the input.
struct Side {
  double value = kNone;
  double blur = 0;       // how far its neighbour is from it
  bool in_range = true;  // the input may be varied this way
  bool jumps = false;    // the loss does not come back as the step goes to 0
  bool known() const { return jumps || std::isfinite(value); }
};

double relative(double difference, double a, double b) {
  return std::abs(difference) / std::max({std::abs(a), std::abs(b), kFloor});
}

class Judge {
 public:
  Judge(const std::string& text, const std::string& name)
      : scene_(parse_scene(text, name, {.read_files = false})),
        steps_(static_cast<Index>(scene_.steps)) {
    out.events = scene_.settings.impact_events;
    out.passive = is_passive();
    controls_.resize(scene_.model.control_count(), scene_.model.control_count() > 0 ? steps_ : 0);
    VecX u;
    for (Index i = 0; i < controls_.cols(); ++i) {
      scene_.controls_at(scene_.state.t + static_cast<double>(i) * scene_.settings.h, u);
      controls_.col(i) = u;
    }
    const Index n = scene_.model.v_size();
    by_q_.resize(n);
    by_v_.resize(n);
    for (Index i = 0; i < n; ++i) {  // of size 1, no two alike
      by_q_[i] = 0.5 + std::cos(1.0 + 2.4 * i);
      by_v_[i] = 0.5 + std::cos(2.0 + 1.7 * i);
    }
  }

  void run(int count) {
    measure_energy();
    tape_ = record_rollout(scene_.model, scene_.parameters, scene_.settings, scene_.state,
                           controls_, steps_);
    if (tape_.report.failed_steps > 0) {
      raise(Finding::NotConverged, std::to_string(tape_.report.failed_steps) + " of " +
                                       std::to_string(steps_) + " steps missed the tolerance");
      return;
    }
    const RolloutGradient g = rollout_gradient(tape_, at_end(tape_, by_q_, by_v_));
    out.certificate = g.certificate;
    std::vector<Input> inputs = all_inputs(g);
    if (count > 0) choose(inputs, static_cast<std::size_t>(count));
    find_base();
    bool measured = false;
    for (const Input& input : inputs) {
      out.inputs.push_back(measure(input));
      measured = measured || out.inputs.back().finding != Finding::Undecided;
    }
    for (const InputJudgement& one : out.inputs) blame(one);
    if (!measured) raise(Finding::Undecided, "no difference has a plateau");
  }

  SceneJudgement out;

 private:
  bool is_passive() const {
    const Model& model = scene_.model;
    bool passive = model.law() == LawOfMotion::Inertial && model.control_count() == 0;
    for (const Body& body : model.bodies()) passive = passive && body.motion != Motion::Kinematic;
    for (const Force& force : model.forces()) passive = passive && force.kind == ForceKind::Spring;
    for (const Joint& joint : model.joints())
      passive = passive && joint.motor.kind == MotorKind::None;
    return passive;
  }

  void raise(Finding finding, const std::string& what) {
    if (finding < out.finding) return;
    out.finding = finding;
    out.what = what;
  }

  bool is_rigid(const Contact& c) const {
    const Model& model = scene_.model;
    return contact_material(model, scene_.parameters, model.shape(c.shape_a).material,
                            model.shape(c.shape_b).material)
               .compliance == 0;
  }

  void measure_energy() {
    if (!out.passive || !out.events || scene_.settings.stabilisation == Stabilisation::Baumgarte)
      return;
    State x = scene_.state;
    WarmStart warm;
    StepWorkspace work;
    StepRecord record;
    const Energy start = energy_of(scene_.model, scene_.parameters, scene_.settings, x);
    double kinetic = start.kinetic, before = start.total();
    double mass = 0;
    for (const Body& body : scene_.model.bodies())
      if (body.is_dynamic()) mass += scene_.parameters.values[body.mass];
    for (Index i = 0; i < steps_; ++i) {
      const StepReport report =
          step(scene_.model, scene_.parameters, scene_.settings, {}, x, warm, work, &record);
      bool lifted = false;  // overlaps are undone against gravity
      for (const SolveRecord& solve : record.solves)
        lifted = lifted || solve.kind == SolveKind::Projection;
      for (const SolveRecord& solve : record.solves)
        for (const Contact& contact : solve.contacts.contacts)
          lifted = lifted || (contact.gap < -1e-7 && is_rigid(contact));
      const double after = report.kinetic + report.potential;
      // Slow bodies: relative to a speed of 3 cm/s.
      const double size = std::max({kinetic, report.kinetic, 0.5e-3 * mass});
      if (!lifted && report.outcome == Outcome::Converged)
        out.energy_rise = std::max(out.energy_rise, (after - before) / size);
      before = after;
      kinetic = report.kinetic;
    }
    if (out.energy_rise > kEnergyRise)
      raise(Finding::EnergyRise,
            "energy rises by " + to_text(out.energy_rise) + " of the kinetic energy in one step");
  }

  std::vector<Input> all_inputs(const RolloutGradient& g) const {
    std::vector<Input> inputs;
    const Model& model = scene_.model;
    const VecX& q = scene_.state.q;
    const auto is_open = [&](InputKind kind, Index place) -> const OpenInput* {
      const auto find = [&](OpenReason reason) {
        return std::ranges::find(out.certificate.open, OpenInput{kind, place, 0, reason});
      };
      const auto end = out.certificate.open.end();
      for (const OpenReason reason :
           {OpenReason::Ambiguous, OpenReason::Neither, OpenReason::Kink, OpenReason::Near})
        if (const auto one = find(reason); one != end) return &*one;
      return nullptr;
    };
    const auto state = [&](Index at, const std::string& tail) {
      inputs.push_back({"q/" + tail, 0.1, g.q[at], nullptr, is_open(InputKind::Configuration, at),
                        [&model, &q, at](double e, Parameters&, State& x, MatX&) {
                          VecX d = VecX::Zero(model.v_size());
                          d[at] = e;
                          boxplus(model, q, d, x.q);
                        }});
      inputs.push_back({"v/" + tail, 1, g.v[at], nullptr, is_open(InputKind::Velocity, at),
                        [at](double e, Parameters&, State& x, MatX&) { x.v[at] += e; }});
    };
    for (const Body& body : model.bodies())
      for (Index i = 0; i < body.v_size; ++i)
        state(body.v_begin + i, body.name + "." + std::to_string(i));
    const Index nodes_begin = model.v_size() - node_numbers();
    for (Index i = nodes_begin; i < model.v_size(); ++i) state(i, "node." + std::to_string(i));
    for (Index i = 0; i < model.control_count(); ++i)
      inputs.push_back({"u/" + model.actuators()[static_cast<std::size_t>(i)].name + ".0", 1,
                        g.u(i, 0), nullptr, is_open(InputKind::Control, i),
                        [i](double e, Parameters&, State&, MatX& u) { u(i, 0) += e; }});
    const ParameterTable& table = model.parameter_table();
    for (Index i = 0; i < table.size(); ++i) {
      const EdgeParameter* edge = nullptr;
      for (const EdgeParameter& one : out.certificate.edges)
        if (one.place == i) edge = &one;
      inputs.push_back({table.name(i), size_of(i), g.parameters[i], edge,
                        is_open(InputKind::Parameter, i),
                        [i](double e, Parameters& p, State&, MatX&) { p.values[i] += e; }});
    }
    return inputs;
  }

  Index node_numbers() const {
    Index end = 0;
    for (const Body& body : scene_.model.bodies())
      if (body.v_size > 0) end = std::max(end, body.v_begin + body.v_size);
    return scene_.model.v_size() - end;
  }

  /// By which a parameter is varied: its own size, or what is usual for its unit.
  double size_of(Index i) const {
    const double value = std::abs(scene_.parameters.values[i]);
    const std::string& unit = scene_.model.parameter_table().unit(i);
    if (unit == "m" || unit == "rad") return std::max(value, 0.05);
    if (value > 0) return value;
    return unit == "m/N" ? 1e-6 : unit == "kg m^2" ? 1e-3 : 1;
  }

  /// So many, of every kind some; which ones depends on the name of the scene alone.
  void choose(std::vector<Input>& inputs, std::size_t count) const {
    if (inputs.size() <= count) return;
    std::uint64_t lot = kGoldenRatio;
    for (const char c : scene_.name) lot = mix_bits(lot ^ static_cast<unsigned char>(c));
    const auto kind = [](const Input& x) {
      return x.name.starts_with("q/")          ? 0
             : x.name.starts_with("v/")        ? 1
             : x.name.starts_with("u/")        ? 2
             : x.name.starts_with("material/") ? 3
                                               : 4;
    };
    std::array<std::vector<Input>, 5> by_kind;
    for (Input& input : inputs)
      by_kind[static_cast<std::size_t>(kind(input))].push_back(std::move(input));
    inputs.clear();
    for (std::size_t k = 0; inputs.size() < count; k = (k + 1) % by_kind.size()) {
      std::vector<Input>& rest = by_kind[k];
      if (rest.empty()) continue;
      lot += kGoldenRatio;
      const auto at = static_cast<std::ptrdiff_t>(mix_bits(lot) % rest.size());
      inputs.push_back(std::move(rest[static_cast<std::size_t>(at)]));
      rest.erase(rest.begin() + at);
    }
  }

  /// Where the steps lead; empty where one fails.
  std::optional<State> end_of(const Parameters& parameters, State x, const MatX& controls) const {
    WarmStart warm;
    StepWorkspace work;
    VecX u;
    for (Index i = 0; i < steps_; ++i) {
      if (controls.size() > 0) u = controls.col(i);
      if (step(scene_.model, parameters, differences_, u, x, warm, work).outcome !=
          Outcome::Converged)
        return std::nullopt;
    }
    return x;
  }

  /// What a residual leaves is as smooth as the motion and would pass for a slope: differences are
  /// of steps solved tighter than the scene asks, where that can be had.
  void find_base() {
    differences_ = scene_.settings;
    differences_.solver.tolerance *= kTighter;
    base_ = end_of(scene_.parameters, scene_.state, controls_);
    if (base_) return;
    differences_ = scene_.settings;
    base_ = tape_.final_state;
  }

  /// Change of the loss by a change of one input; NaN where the steps fail, or it is out of range.
  double change_of_loss(const Input& input, double by, bool& in_range) const {
    Parameters parameters = scene_.parameters;
    State x = scene_.state;
    MatX controls = controls_;
    input.change(by, parameters, x, controls);
    try {
      validate(scene_.model, parameters);
    } catch (const Error&) {
      in_range = false;
      return kNone;
    }
    const std::optional<State> end = end_of(parameters, std::move(x), controls);
    if (!end) return kNone;
    VecX d;
    boxminus(scene_.model, end->q, base_->q, d);
    return by_q_.dot(d) + by_v_.dot(end->v - base_->v);
  }

  /// From the smallest steps up, until two neighbours agree.
  Side side_of(const Input& input, double sign, double stretch) const {
    Side side{.blur = std::numeric_limits<double>::infinity()};
    double finer = kNone, finest = 0;  // difference with the last step; f at the smallest
    for (std::size_t k = 0; k < kSteps.size(); ++k) {
      const double e = stretch * kSteps[k];
      const double one = change_of_loss(input, sign * e * input.size, side.in_range);
      const double two =
          side.in_range ? change_of_loss(input, sign * 2 * e * input.size, side.in_range) : kNone;
      if (!side.in_range) return side;
      const double slope = sign * (4 * one - two) / (2 * e);
      if (k == 0) finest = one;
      if (k == 1 && std::abs(finest) > kJump && std::abs(finest) > 0.5 * std::abs(one)) {
        side.jumps = true;
        return side;
      }
      const double blur = relative(slope - finer, slope, finer);
      if (blur < side.blur) {
        side.blur = blur;
        side.value = slope;
      }
      if (blur <= kPlateau) return side;
      finer = slope;
    }
    if (!(side.blur <= kBlurred)) side.value = kNone;
    return side;
  }

  InputJudgement measure(const Input& input) const {
    InputJudgement first = measure(input, 1);
    if (first.finding < Finding::NamedKink || first.finding == Finding::Undecided) return first;
    // Whatever is not right is measured again with other steps.
    const InputJudgement again = measure(input, 0.37);
    if (again.finding != first.finding) first.finding = Finding::Undecided;
    return first;
  }

  InputJudgement measure(const Input& input, double stretch) const {
    InputJudgement one{.name = input.name, .gradient = input.gradient * input.size};
    const Side right = side_of(input, 1, stretch), left = side_of(input, -1, stretch);
    one.left = left.value;
    one.right = right.value;
    const bool exact = out.certificate.exact;
    const bool certified = out.certificate.certified() && input.open == nullptr;
    const bool no_side = input.open != nullptr && input.open->reason != OpenReason::Kink &&
                         input.open->reason != OpenReason::Near;
    // "This number says nothing"; one side of a number that has a kink there.
    if (input.edge != nullptr && (!input.edge->given || input.open != nullptr)) {
      one.finding = out.certificate.certified() ? Finding::Right : Finding::Cautious;
      return one;
    }
    const Finding wrong = certified           ? Finding::CertifiedWrong
                          : exact && !no_side ? Finding::Mislabelled
                                              : Finding::Inexact;
    const Finding kink = certified ? Finding::UnlabelledKink : Finding::NamedKink;
    const Finding good = certified ? Finding::Right : Finding::Cautious;
    const auto error_to = [&](double value) {
      const double error = relative(one.gradient - value, one.gradient, value);
      return std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
    };
    if (!left.in_range && !right.in_range) return one;
    if (!left.in_range || !right.in_range) {  // at the edge of the range: one side
      const Side& side = left.in_range ? left : right;
      if (!side.known()) return one;
      one.error = side.jumps ? 1 : error_to(side.value);
      one.finding = side.jumps ? kink : one.error > kWrong ? wrong : good;
      return one;
    }
    if (!left.known() || !right.known()) return one;
    if (left.jumps || right.jumps) {
      one.finding = kink;
      one.error = 1;
      return one;
    }
    const double sides = relative(left.value - right.value, left.value, right.value);
    one.error = std::min(error_to(left.value), error_to(right.value));
    if (sides > kWrong) {
      one.finding = kink;
    } else {
      one.error = error_to(0.5 * (left.value + right.value));
      one.finding = one.error > kWrong ? wrong : good;
    }
    return one;
  }

  void blame(const InputJudgement& one) {
    if (one.finding == Finding::Undecided) return;
    std::string what = one.name + ": given " + to_text(one.gradient) + ", left " +
                       to_text(one.left) + ", right " + to_text(one.right);
    if (!out.certificate.reason.empty()) what += "; " + out.certificate.reason;
    if (!out.certificate.kink.empty()) what += "; " + out.certificate.kink;
    if (one.finding > out.finding || out.what.empty()) raise(one.finding, what);
  }

  LoadedScene scene_;
  Index steps_;
  MatX controls_;
  VecX by_q_, by_v_;
  RolloutTape tape_;
  StepSettings differences_;
  std::optional<State> base_;  // where the scene ends
};

}  // namespace

std::string_view name_of(Finding finding) {
  switch (finding) {
    case Finding::Right:
      return "exact and right";
    case Finding::Cautious:
      return "labelled, right";
    case Finding::NamedKink:
      return "kink, labelled";
    case Finding::Inexact:
      return "wrong, said not exact";
    case Finding::Undecided:
      return "undecided";
    case Finding::NotConverged:
      return "not converged";
    case Finding::Mislabelled:
      return "mislabelled";
    case Finding::EnergyRise:
      return "energy rise";
    case Finding::UnlabelledKink:
      return "unlabelled kink";
    case Finding::CertifiedWrong:
      return "certified wrong";
    case Finding::Exception:
      return "exception";
  }
  return "unknown";
}

SceneJudgement judge_scene(const std::string& text, const std::string& name, int inputs) {
  SceneJudgement failed;
  try {
    Judge judge(text, name);
    judge.out.name = name;
    judge.out.finding = Finding::Right;  // until something is worse
    judge.run(inputs);
    return std::move(judge.out);
  } catch (const std::exception& error) {
    failed.name = name;
    failed.finding = Finding::Exception;
    failed.what = error.what();
    failed.events = text.find("impact_events: true") != std::string::npos;
  }
  return failed;
}

}  // namespace orthant::validation
