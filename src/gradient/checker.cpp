// SPDX-License-Identifier: Apache-2.0
// gradient/checker.cpp: gradients beside differences, and where differences mean nothing.
// Four points, (8(f₊ − f₋) − (f₊₊ − f₋₋))/12h: the error left is the solver's, not the formula's.
#include "orthant/gradient/checker.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

#include "orthant/base/error.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/constraint/joint_rows.hpp"

namespace orthant {
namespace {

constexpr double kStill = 1e-9;  // of the speeds of a step: slower is standing still

constexpr double kFlush = 1e-7;  // difference of gaps of faces that lie flat on each other [m]

/// Speeds of a solve below which a gap is closed and a contact sticks. Impulses cannot tell: those
/// of redundant contacts are not unique.
double still_speed(const SolveRecord& solve) {
  double speed = 0;
  for (const VecX* v : {&solve.v, &solve.solution.v})
    if (v->size() > 0) speed = std::max(speed, v->cwiseAbs().maxCoeff());
  return kStill * (solve.kind == SolveKind::Projection ? speed : 1 + speed);
}

/// Rows of a contact in its solve: as constraint/contact_rows.cpp lays them out.
Index rows_of(const ContactMaterial& material, bool planar, const ContactRowSettings& rows) {
  const Index tangents = planar ? 1 : 2;
  if (rows.friction == FrictionModel::Pyramid && material.friction > 0)
    return 2 + (planar ? 2 : rows.pyramid_directions);
  if (material.rolling_friction > 0) return 1 + 2 * tangents;
  return material.friction > 0 ? 1 + tangents : 1;
}

double norm_of_rows(const double* w, Index begin, Index count) {
  double square = 0;
  for (Index i = begin; i < begin + count; ++i) square += w[i] * w[i];
  return std::sqrt(square);
}

/// The closed contacts of a pair of shapes. Faces that lie on each other are the same set whichever
/// of their corners stand for them, so their features do not count; where they are not flush, whose
/// face gives each normal does.
class PairSets {
 public:
  /// `single`: one row per pair and round, each of which counts by itself.
  explicit PairSets(std::string& out, bool single = false) : out_(out), single_(single) {}
  ~PairSets() { flush(); }
  PairSets(const PairSets&) = delete;
  PairSets& operator=(const PairSets&) = delete;

  void add(const Contact& contact, const ShapeInstance& a, const ShapeInstance& b,
           const std::string& letters) {
    const ContactKey& k = contact.key;
    const std::array<std::int64_t, 4> pair = {static_cast<std::int64_t>(k.body_a), k.shape_a,
                                              static_cast<std::int64_t>(k.body_b), k.shape_b};
    if (pair != pair_) flush();
    pair_ = pair;
    flat_ = a.planar() ? 2 : 3;
    features_.append(std::to_string(k.feature));
    if (single_) features_.append(".").append(std::to_string(feature_id(contact.feature)));
    features_.push_back('#');
    letters_ += letters;
    const bool face = contact.feature.kind >= FeatureKind::VertexFace &&
                      contact.feature.kind <= FeatureKind::ClippedVertex &&
                      a.shape.kind() != ShapeKind::HalfSpace &&
                      b.shape.kind() != ShapeKind::HalfSpace;
    if (face) owners_ += contact.feature.swapped ? 'a' : 'b';
    lowest_ = count_ == 0 ? contact.gap : std::min(lowest_, contact.gap);
    highest_ = count_ == 0 ? contact.gap : std::max(highest_, contact.gap);
    ++count_;
  }

 private:
  void flush() {
    if (count_ > 0) {
      for (const std::int64_t id : pair_) {
        out_.append(std::to_string(id));
        out_.push_back('.');
      }
      if (count_ < flat_ || single_) out_.append(features_);
      if (highest_ - lowest_ > kFlush) out_.append(owners_);
      out_.append(letters_);
      out_.push_back(' ');
    }
    features_.clear();
    owners_.clear();
    letters_.clear();
    count_ = 0;
  }
  std::string& out_;
  bool single_;
  std::array<std::int64_t, 4> pair_ = {};
  std::string features_, owners_, letters_;
  double lowest_ = 0, highest_ = 0;
  int count_ = 0, flat_ = 3;
};

void append_contacts(const Model& model, const Parameters& parameters, const StepSettings& settings,
                     const SolveRecord& solve, std::span<const Contact> contacts, Index& row,
                     std::string& out) {
  const double still = still_speed(solve);
  const bool impact = solve.kind == SolveKind::Impact;
  PairSets sets(out, settings.constraints != ConstraintScheme::Manifold);
  ContactRowSettings rows = solve.rows;
  if (impact) {
    rows.friction = settings.friction;
    rows.pyramid_directions = settings.pyramid_directions;
  }
  for (const Contact& contact : contacts) {
    const ShapeInstance &a = model.shape(contact.shape_a), &b = model.shape(contact.shape_b);
    const ContactMaterial material = contact_material(model, parameters, a.material, b.material);
    const Index count = rows_of(material, a.planar(), rows);
    const double *w = solve.solution.w.data() + row, *lambda = solve.solution.lambda.data() + row;
    row += count;
    const Index tangents = a.planar() ? 1 : 2;
    const bool pyramid = rows.friction == FrictionModel::Pyramid && material.friction > 0;
    double slip = 0, roll = 0;
    if (pyramid) {
      slip = lambda[count - 1];
    } else if (count > 1) {
      slip = norm_of_rows(w, 1, tangents);
      if (count > 1 + tangents) roll = norm_of_rows(w, 1 + tangents, tangents);
    }
    // A convex cone opens as it slides.
    const double opening = rows.friction == FrictionModel::Cone
                               ? material.friction * slip + material.rolling_friction * roll
                               : 0;
    if (w[0] > opening + still) continue;
    std::string letters;
    // Impulses of redundant contacts are not unique: on the cone, the motion alone decides.
    const bool slides = classify({.normal = 1,
                                  .tangent = material.friction,
                                  .slip = slip,
                                  .friction = material.friction,
                                  .speed = still / kStill},
                                 kStill) == ContactState::Slide;
    letters += count == 1 ? 'c' : slides ? 'l' : 's';
    if (roll > still) letters += 'r';
    if (!impact && rows.beta != 1) {  // b_n has a kink where the gap closes
      const double tolerance =
          settings.projection_tolerance *
          std::min(shape_size(model, parameters, a.id), shape_size(model, parameters, b.id));
      if (contact.gap < -tolerance) letters += 'o';
    }
    sets.add(contact, a, b, letters);
  }
}

/// Limits, limited motors and dry friction: standing still, or moving which way.
void append_joint_blocks(const SolveRecord& solve, Index end, Index& row, std::string& out) {
  const double still = still_speed(solve);
  for (; row < end; ++row) {
    const double w = solve.solution.w[row];
    out += w > still ? '+' : w < -still ? '-' : '0';
  }
}

double loss_of(const Model& model, const VecX& by_q, const VecX& by_v, const VecX& reference,
               const State& x) {
  VecX d;
  boxminus(model, x.q, reference, d);
  return by_q.dot(d) + by_v.dot(x.v);
}

}  // namespace

std::string_view name_of(CheckStatus status) {
  switch (status) {
    case CheckStatus::Compared:
      return "compared";
    case CheckStatus::OneSide:
      return "one side";
    case CheckStatus::SetChanged:
      return "set changed";
    case CheckStatus::OutOfRange:
      return "out of range";
    case CheckStatus::Failed:
      return "failed";
  }
  return "unknown";
}

std::string set_signature(const Model& model, const Parameters& parameters,
                          const StepSettings& settings, const StepRecord& record) {
  std::string out;
  bool projected = false;
  for (const SolveRecord& solve : record.solves) {
    Index row = 0;
    switch (solve.kind) {
      case SolveKind::Step:
        out += "S ";
        break;
      case SolveKind::Impact:
        out += "I ";
        break;
      case SolveKind::Recursion:
        out += "R ";
        break;
      case SolveKind::Projection: {
        // A further round changes the last digits only.
        if (projected) continue;
        projected = true;
        out += "P ";
        PairSets sets(out);
        for (const Contact& contact : solve.contacts.contacts) {
          const ShapeInstance &a = model.shape(contact.shape_a), &b = model.shape(contact.shape_b);
          if (contact_material(model, parameters, a.material, b.material).compliance > 0) continue;
          if (solve.solution.w[row++] > still_speed(solve)) continue;
          sets.add(contact, a, b, "");
        }
        continue;
      }
      default:
        out += "? ";
        continue;
    }
    // Rows that a recursion added come after those of the joints.
    const std::span<const Contact> all = solve.contacts.contacts;
    const std::size_t first = solve.kind == SolveKind::Recursion
                                  ? record.solves.front().contacts.contacts.size()
                                  : all.size();
    append_contacts(model, parameters, settings, solve, all.first(first), row, out);
    const Index end = first < all.size() ? row + joint_block_count(model)
                                         : static_cast<Index>(solve.solution.w.size());
    append_joint_blocks(solve, end, row, out);
    append_contacts(model, parameters, settings, solve, all.subspan(first), row, out);
    for (const unsigned char touched : solve.touched) out += touched != 0 ? 't' : 'f';
  }
  return out;
}

std::string GradientCheck::table() const {
  std::string out;
  char line[256];
  std::snprintf(line, sizeof line, "%-36s %16s %16s %10s\n", "input", "gradient", "difference",
                "error");
  out += line;
  for (const GradientCheckRow& row : rows) {
    if (row.status == CheckStatus::Compared || row.status == CheckStatus::OneSide) {
      std::snprintf(line, sizeof line, "%-36s %16.9g %16.9g %10.2e\n", row.name.c_str(),
                    row.gradient, row.difference, row.error);
    } else {
      std::snprintf(line, sizeof line, "%-36s %16.9g %16s\n", row.name.c_str(), row.gradient,
                    std::string(name_of(row.status)).c_str());
    }
    out += line;
  }
  std::snprintf(line, sizeof line,
                "compared %d of %d (%.1f %%), %d from one side, at the border of their range %d, "
                "worst %.2e (%s)\n",
                static_cast<int>(compared), static_cast<int>(compared + skipped), 100 * share(),
                static_cast<int>(from_one_side), static_cast<int>(out_of_range), worst,
                worst_name.c_str());
  return out + line;
}

GradientChecker::GradientChecker(const Model& model, const Parameters& parameters,
                                 const StepSettings& settings, const State& state, Index steps,
                                 const MatX& controls)
    : model_(model),
      parameters_(parameters),
      settings_(settings),
      state_(state),
      steps_(steps),
      controls_(controls) {
  by_q.resize(model.v_size());
  by_v.resize(model.v_size());
  for (Index i = 0; i < model.v_size(); ++i) {
    by_q[i] = 0.5 + std::cos(1.0 + 2.4 * i);
    by_v[i] = 0.5 + std::cos(2.0 + 1.7 * i);
  }
  for (Index i = 0; i < model.parameter_table().size(); ++i) parameters_checked.push_back(i);
}

GradientCheck GradientChecker::run(const GradientCheckSettings& settings) const {
  const RolloutTape base =
      record_rollout(model_, parameters_, settings_, state_, controls_, steps_);
  const RolloutGradient gradient =
      rollout_gradient(base, at_end(base, by_q, by_v), settings.gradient);
  std::vector<std::string> signature;
  signature.reserve(base.records.size());
  for (const StepRecord& record : base.records)
    signature.push_back(set_signature(model_, parameters_, settings_, record));

  GradientCheck check;
  check.certificate = gradient.certificate;
  // Loss of a perturbed rollout; stops where its sets differ.
  const auto evaluate = [&](const Parameters& parameters, const State& from, const MatX& controls,
                            double& loss) {
    State x = from;
    WarmStart warm;
    StepWorkspace work;
    StepRecord record;
    for (Index i = 0; i < steps_; ++i) {
      const VecX u = controls.size() == 0 ? VecX() : VecX(controls.col(i));
      const StepReport report = step(model_, parameters, settings_, u, x, warm, work, &record);
      if (report.outcome != Outcome::Converged) return CheckStatus::Failed;
      if (set_signature(model_, parameters, settings_, record) !=
          signature[static_cast<std::size_t>(i)])
        return CheckStatus::SetChanged;
    }
    loss = loss_of(model_, by_q, by_v, base.final_state.q, x);
    return CheckStatus::Compared;
  };
  // change(ε) => parameters, state and controls, changed in one input by ε.
  const auto compare = [&](std::string name, double ours, double step, auto&& change) {
    GradientCheckRow row{std::move(name), CheckStatus::Compared, ours, 0, 0};
    const int points = settings.fourth_order ? 2 : 1;
    double f[2][2] = {};
    // An input at the border of its range (no restitution) has one side only.
    for (const int side : {1, -1}) {
      Parameters parameters = parameters_;
      State state = state_;
      MatX controls = controls_;
      change(side * points * step, parameters, state, controls);
      try {
        validate(model_, parameters);
      } catch (const Error&) {
        row.status = CheckStatus::OutOfRange;
      }
    }
    CheckStatus found[2] = {CheckStatus::Compared, CheckStatus::Compared};
    for (int k = 1; k <= points && row.status == CheckStatus::Compared; ++k) {
      for (const int side : {0, 1}) {
        if (found[side] != CheckStatus::Compared) continue;
        Parameters parameters = parameters_;
        State state = state_;
        MatX controls = controls_;
        change((side == 0 ? 1 : -1) * k * step, parameters, state, controls);
        found[side] = evaluate(parameters, state, controls, f[k - 1][side]);
        if (found[side] == CheckStatus::Compared) continue;
        const bool other = found[1 - side] == CheckStatus::Compared;
        if (!settings.compare_one_side || points < 2 || !other) row.status = found[side];
        if (row.status != CheckStatus::Compared) break;
      }
    }
    const bool both = found[0] == found[1];
    if (row.status == CheckStatus::Compared) {
      const double first = f[0][0] - f[0][1], second = f[1][0] - f[1][1];
      row.difference =
          settings.fourth_order ? (8 * first - second) / (12 * step) : first / (2 * step);
      if (!both) {
        const int side = found[0] == CheckStatus::Compared ? 0 : 1;
        const double at = by_v.dot(base.final_state.v);
        row.status = CheckStatus::OneSide;
        row.difference = (side == 0 ? 1 : -1) * (4 * f[0][side] - f[1][side] - 3 * at) / (2 * step);
        ++check.from_one_side;
      }
      row.error = std::abs(row.gradient - row.difference) /
                  std::max({std::abs(row.gradient), std::abs(row.difference), settings.floor});
      ++check.compared;
      if (row.error > check.worst || check.worst_name.empty()) {
        check.worst = std::max(check.worst, row.error);
        check.worst_name = row.name;
      }
    } else if (row.status == CheckStatus::OutOfRange) {
      ++check.out_of_range;
    } else {
      ++check.skipped;
    }
    check.rows.push_back(std::move(row));
  };

  for (const Body& body : model_.bodies()) {
    for (Index i = 0; i < body.v_size; ++i) {
      const Index at = body.v_begin + i;
      const std::string tail = body.name + "." + std::to_string(i);
      if (check_q)
        compare("q/" + tail, gradient.q[at], settings.difference,
                [&](double e, Parameters&, State& x, MatX&) {
                  VecX d = VecX::Zero(model_.v_size());
                  d[at] = e;
                  boxplus(model_, state_.q, d, x.q);
                });
      if (check_v)
        compare("v/" + tail, gradient.v[at], settings.difference,
                [&](double e, Parameters&, State& x, MatX&) { x.v[at] += e; });
    }
  }
  for (Index k = 0; control_stride > 0 && controls_.size() > 0 && k < steps_; k += control_stride)
    for (Index i = 0; i < model_.control_count(); ++i)
      compare("u/" + model_.actuators()[i].name + "." + std::to_string(k), gradient.u(i, k),
              settings.difference, [&](double e, Parameters&, State&, MatX& u) { u(i, k) += e; });
  for (const Index i : parameters_checked) {
    const double size = std::abs(parameters_.values[i]);
    compare(model_.parameter_table().name(i), gradient.parameters[i],
            size > 1e-9 ? std::min(settings.difference * std::clamp(size, 0.1, 1.0), 0.01 * size)
                        : settings.difference,
            [&](double e, Parameters& p, State&, MatX&) { p.values[i] += e; });
  }
  return check;
}

}  // namespace orthant
