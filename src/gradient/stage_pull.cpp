// SPDX-License-Identifier: Apache-2.0
// gradient/stage_pull.cpp: one solve of a record, backwards.
//   ḡ(q', v') → ḡ(δ), ḡ(v⁺) → one adjoint solve → the kernels of every object, seeded
#include "gradient/contact_adjoint.hpp"
#include "gradient/edges.hpp"
#include "gradient/joint_adjoint.hpp"
#include "gradient/kinks.hpp"
#include "gradient/stage_walk.hpp"
#include "math/fixed_point.hpp"

namespace orthant::internal {

// The overloads of stage_walk.hpp for this reader. Found by the type of their argument, so they
// cannot hide in a namespace without a name.

inline void step_body(Pull& r, BodyId id, bool flies) { body_adjoint(r, id, flies); }
inline void body_mass(Pull& r, BodyId id, bool with_velocity) {
  mass_adjoint(r, id, with_velocity);
}
inline void joint_rows(Pull& r, const Joint& joint, JointUse use, double beta) {
  bilateral_adjoint(r, joint, use, beta);
}
inline Index coordinate_rows_of(Pull& r, const Joint& joint, JointUse use, Index row, Index block,
                                double beta) {
  return coordinate_adjoint(r, joint, use, row, block, beta);
}
inline void contact_rows(Pull& r, const Contact& contact, Index number, const ContactBlock& block,
                         FrictionModel friction, double beta) {
  // The sides of a pyramid stand in the frame, whose own turning then counts.
  if ((friction == FrictionModel::Pyramid && block.material.friction > 0) ||
      is_bent(r.x.record.kind, block.branch)) {
    contact_element(r, contact, number, block, friction, beta);
  } else {
    contact_adjoint(r, contact, number, block, beta);
  }
}
inline void position_contact_row(Pull& r, const Contact& contact, Index number,
                                 const ContactBlock& block) {
  position_contact_adjoint(r, contact, number, block);
}

namespace {

constexpr VecX ResidualDerivative::* kEquations[] = {
    &ResidualDerivative::balance, &ResidualDerivative::bilateral, &ResidualDerivative::blocks,
    &ResidualDerivative::mu,      &ResidualDerivative::mu_r,      &ResidualDerivative::lo,
    &ResidualDerivative::hi};

void add_inputs(const SolveInputs& x, SolveInputs& in) {
  in.q += x.q;
  in.v += x.v;
  in.u += x.u;
  in.parameters += x.parameters;
  in.duration += x.duration;
  in.scale += x.scale;
}

}  // namespace

void Stage::pull(const VecX& by_q, const VecX& by_v, const SolveCotangent* extra, SolveInputs& in,
                 std::span<StateCotangent> by_trials, PullFor purpose) {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const bool moves = r.kind != SolveKind::Impact, step = is_interval();
  SolveOutputs& weights = weights_;
  weights.delta.setZero(model.v_size());
  weights.gap.resize(0);
  weights.impulse_W.resize(0, 0);
  Solution& by = by_answer_;
  by.v.setZero(model.dynamic_v_size());
  by.lambda.resize(0);
  by.gamma.resize(0);
  by.w.resize(0);
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const Index at = body.v_begin, n = body.v_size;
    // q' = q ⊞ δ
    BodyVector by_delta = by_q.segment(at, n);
    BodyVector back = by_delta;
    if (!body.planar && moves) {
      const TurnMaps maps(delta_.segment<3>(at + 3));
      back.tail<3>() = maps.rotation.transpose() * by_q.segment<3>(at + 3);
      by_delta.tail<3>() = maps.jacobian.transpose() * by_q.segment<3>(at + 3);
    }
    in.q.segment(at, n) += back;
    if (!body.is_dynamic()) {
      in.v.segment(at, n) += by_v.segment(at, n);
      if (step) {
        in.v.segment(at, n) += r.duration * by_delta;
        in.duration += r.v.segment(at, n).dot(by_delta);
      }
      continue;
    }
    if (r.kind == SolveKind::Projection) {
      by.v.segment(at, n) += by_delta;
      in.v.segment(at, n) += by_v.segment(at, n);
      continue;
    }
    by.v.segment(at, n) += by_v.segment(at, n);
    if (!step) continue;
    if (flies(body)) {
      weights.delta.segment(at, n) = by_delta;
      by.v.segment(at, n) += 0.5 * r.duration * by_delta;
    } else {
      by.v.segment(at, n) += r.duration * by_delta;
      in.duration += r.solution.v.segment(at, n).dot(by_delta);
    }
  }
  for_each_moving_node(model, [&](Index at, Index n, bool free) {
    const auto by_x = by_q.segment(at, n);
    in.q.segment(at, n) += by_x;
    if (!free || r.kind == SolveKind::Projection) {
      in.v.segment(at, n) += by_v.segment(at, n);
      if (free) by.v.segment(at, n) += by_x;
      if (free || !step) return;
      in.v.segment(at, n) += r.duration * by_x;
      in.duration += r.v.segment(at, n).dot(by_x);
      return;
    }
    by.v.segment(at, n) += by_v.segment(at, n);
    if (!step) return;
    by.v.segment(at, n) += r.duration * by_x;
    in.duration += r.solution.v.segment(at, n).dot(by_x);
  });
  if (extra != nullptr) {
    by.lambda = extra->lambda;
    by.gamma = extra->gamma;
    weights.gap = extra->gap;
    weights.impulse_W = extra->impulse_W;
    if (extra->impulse_W.size() > 0) {
      if (by.lambda.size() == 0) by.lambda.setZero(assembly_.problem.row_count());
      for (std::size_t c = 0; c < r.contacts.contacts.size(); ++c) {
        const ContactBlock& block = assembly_.blocks[c];
        const bool planar = model.shape(r.contacts.contacts[c].shape_a).planar();
        for (Index i = 0; i < block.dim; ++i) {
          VecX unit = VecX::Unit(block.dim, i);
          Vec3 impulse, torque;
          contact_impulse(block, context_.settings->friction, planar, unit.data(), impulse, torque);
          by.lambda[block.row + i] += impulse.dot(extra->impulse_W.col(static_cast<Index>(c)));
        }
      }
    }
  }
  if (purpose == PullFor::RowNumbers) {
    by.lambda = row_numbers_.lambda;
    by.w = row_numbers_.w;
  }
  if (purpose == PullFor::OtherSides) own_side_ = weights.equations;
  VecX given;
  SolveInputs unused;
  if (!ends_.of_rows.empty()) {
    given = by.v;
    unused.set_zero(model);
    if (purpose == PullFor::OtherSides) {  // what came in by the end, of its own side, is there
      VecX by_end;
      pull_end(weights, unused, by_end);
      given -= by_end;
    }
  }
  const auto adjoint = [&] {
    if (purpose == PullFor::OtherSides) {
      gradient_->adjoint_of_other_sides(by, weights.equations);
    } else {
      gradient_->adjoint(by, weights.equations);
    }
  };
  adjoint();
  if (!ends_.of_rows
           .empty()) {  // v' of bent contacts is v⁺ itself: what comes in by it comes in by v⁺
    VecX by_end;
    double change = 0;
    FixedPoint search;
    for (int round = 0; round < kMaxBends; ++round) {
      pull_end(weights, unused, by_end);
      by_end += given;
      const double size = by_end.cwiseAbs().maxCoeff();
      change = size > 0 ? (by_end - by.v).cwiseAbs().maxCoeff() / size : 0;
      if (change <= kBendSettled) break;
      search.advance(by_end, by.v);
      adjoint();
    }
    gradient_->note_error(change);
  }
  if (purpose == PullFor::OtherSides)
    // Those of other sides of all that comes in, less those of the pull before, of the derivative.
    for (VecX ResidualDerivative::* part : kEquations) weights.equations.*part -= own_side_.*part;
  if (!ends_.of_rows.empty()) {
    VecX by_end;  // came in by v⁺
    pull_end(weights, in, by_end);
  }
  if (purpose == PullFor::RowNumbers)
    for (VecX ResidualDerivative::* part : kEquations)
      if ((by_row_laws_.*part).size() > 0) weights.equations.*part += by_row_laws_.*part;

  static thread_local taping::Tape tape;
  const SolveContext x = context(r);
  const Solution* free = purpose == PullFor::Derivative ? other_impulses(false) : nullptr;
  const auto take = [&](const SolveContext& y, SolveInputs& to) {
    Pull reader(y, weights, tape, to);
    walk(reader);
    if (y.with_parameters)
      pull_edges(y, assembly_.blocks, context_.settings->friction, weights, to);
  };
  if (free == nullptr) {
    take(x, in);
  } else {
    // With the impulses found, and with others as good.
    Solution other = gradient_->answer();
    other.gamma += free->gamma;
    other.lambda += free->lambda;
    SolveInputs with[2];
    for (const bool changed : {false, true}) {
      with[changed].set_zero(model);
      take(changed ? context(r, other) : x, with[changed]);
    }
    add_inputs(with[0], in);
    compare_impulses(with[0], with[1]);
    find_contradiction(*free);
  }
  for (std::size_t i = 0; i < context_.trials.size(); ++i) {
    SolveInputs at;  // where the rows of this round were found
    at.q.swap(by_trials[i].q);
    at.v.swap(by_trials[i].v);
    at.parameters.swap(in.parameters);
    const SolveContext there = context(context_.trials[i]);
    Pull trial_reader(there, weights, tape, at);
    walk_contacts(trial_reader, i + 1);
    in.duration += at.duration;
    at.q.swap(by_trials[i].q);
    at.v.swap(by_trials[i].v);
    at.parameters.swap(in.parameters);
  }
  if (!step) return;
  for (const Force& force : model.forces()) {
    double f_q[36], f_v[36];
    if (force.kind != ForceKind::Callback ||
        !callback_derivatives(model, *context_.parameters, r, force, f_q, f_v))
      continue;
    const Body& body = model.body(force.a);
    const Index at = body.v_begin, n = body.v_size;
    using Map = Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
    const VecX a = r.duration * weights.equations.balance.segment(at, n);
    in.q.segment(at, n) += Map(f_q, n, n).transpose() * a;
    in.v.segment(at, n) += Map(f_v, n, n).transpose() * a;
  }
}

bool Stage::find_row_numbers(OpenReason reason) {
  const Index rows = assembly_.problem.row_count(), blocks = assembly_.problem.block_count();
  row_numbers_.lambda.setZero(rows);
  row_numbers_.w.setZero(rows);
  ResidualDerivative& laws = by_row_laws_;
  for (VecX* part : {&laws.mu, &laws.mu_r, &laws.lo, &laws.hi}) part->setZero(blocks);
  if (reason == OpenReason::Near) return gradient_->add_near_borders(row_numbers_, laws);
  if (reason != OpenReason::Kink || !gradient_->add_held(row_numbers_)) return false;
  row_numbers_.w *= context_.settings->h;  // lengths
  return true;
}

void Stage::pull_end(const SolveOutputs& weights, SolveInputs& in, VecX& by_v) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  static thread_local taping::Tape tape;
  SolveInputs at;  // of q'
  at.set_zero(model);
  const SolveContext there = context(end_);
  Pull reader(there, weights, tape, at);
  walk_bent(reader, true);
  in.parameters += at.parameters;
  in.duration += at.duration;
  by_v.setZero(model.dynamic_v_size());
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const Index begin = body.v_begin, n = body.v_size;
    BodyVector back = at.q.segment(begin, n), by_delta = back;
    if (!body.planar) {
      const TurnMaps maps(r.duration * end_.v.segment<3>(begin + 3));
      back.tail<3>() = maps.rotation.transpose() * at.q.segment<3>(begin + 3);
      by_delta.tail<3>() = maps.jacobian.transpose() * at.q.segment<3>(begin + 3);
    }
    in.q.segment(begin, n) += back;
    in.duration += end_.v.segment(begin, n).dot(by_delta);
    (body.is_dynamic() ? by_v : in.v).segment(begin, n) += r.duration * by_delta;
  }
  // −D_n v'
  VecX y = VecX::Zero(assembly_.problem.row_count());
  for (const SoftEnd& end : ends_.of_rows) {
    const Index row = assembly_.blocks[end.number].row;
    y[row] = weights.equations.blocks[row];
  }
  assembly_.problem.D.multiply_transpose_add(-1, y, by_v);
}

void Stage::find_contradiction(const Solution& free) {
  if (contradiction_known_) return;
  contradiction_known_ = true;
  // Rows that stick depend on each other as their impulses do; those that slide in another way.
  ResidualDerivative rows;
  if (all_stick(free)) {
    rows = zero_residual(assembly_.problem);
    rows.blocks = free.lambda;
    rows.bilateral = free.gamma;
  } else {
    rows = gradient_->dependent_equations();
  }
  if (rows.blocks.size() == 0) return;
  // Once as it is, and once with all terms of one sign: how large they are.
  SolveInputs with[2];
  taping::Tape tape;
  const SolveContext x = context(*context_.record_);
  SolveOutputs weights;
  weights.delta.setZero(context_.model->v_size());
  weights.equations = rows;
  for (const bool terms : {false, true}) {
    with[terms].set_zero(*context_.model);
    if (terms)
      for (VecX* part :
           {&weights.equations.balance, &weights.equations.bilateral, &weights.equations.blocks})
        *part = part->cwiseAbs().eval();
    Pull reader(x, weights, tape, with[terms]);
    walk(reader);
    if (x.with_parameters)
      pull_edges(x, assembly_.blocks, context_.settings->friction, weights, with[terms]);
  }
  const auto largest = [](const SolveInputs& in) {
    return std::max(in.q.cwiseAbs().maxCoeff(), in.v.cwiseAbs().maxCoeff());
  };
  SolveInputs none;
  none.set_zero(*context_.model);
  add_contradiction(OpenReason::Neither, none, with[0], largest(with[1]));
}

void Stage::pull_gain(SolveInputs& in) {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const Index n = model.dynamic_v_size();
  const VecX& end = gradient_->answer().v;
  VecX by_v = VecX::Zero(model.v_size()), momentum(n);
  assembly_.problem.H.multiply(end, momentum);
  by_v.head(n) = momentum;
  pull(VecX::Zero(model.v_size()), by_v, nullptr, in);
  // What stands in T itself: −½ (v⁺ + v⁻)·M (v⁻ − v⁺) with v⁺ held, and the other half by v⁻.
  weights_.equations = zero_residual(assembly_.problem);
  weights_.equations.balance = -0.5 * (end + r.v.head(n));
  taping::Tape tape;
  const SolveContext x = context(r);
  Pull reader(x, weights_, tape, in);
  walk_masses(reader);
  assembly_.problem.H.multiply(end - r.v.head(n), momentum);
  in.v.head(n) += 0.5 * momentum;
}

void pull_gap(const Model& model, const Parameters& parameters, const SolveRecord& at,
              const Contact& contact, bool with_parameters, SolveInputs& in) {
  static const VecX none;
  const SolveContext x{model, parameters, none, at, at.solution, with_parameters};
  SolveOutputs weights;
  weights.gap = VecX::Constant(1, 1);
  taping::Tape tape;
  Pull reader(x, weights, tape, in);
  reader.gap(0, geometry_of(reader, contact).point.gap);
  reader.finish();
}

namespace {

/// Values alone, for what is looked at often and pulled seldom.
class Evaluate : public Reader<Evaluate, double> {
 public:
  explicit Evaluate(const SolveContext& context) : Reader(context) {}
  double input(double value, VecX SolveInputs::*, Index) { return value; }
  double number(double value, double SolveInputs::*) { return value; }
};

}  // namespace

double gap_at(const SolveContext& at, std::size_t contact) {
  Evaluate reader(at);
  return geometry_of(reader, at.record.contacts.contacts[contact]).point.gap;
}

double stretch_at(const SolveContext& at, const Force& spring) {
  Evaluate reader(at);
  return spring_stretch(reader, spring);
}

void pull_kink(const SolveContext& at, const KinkScalar& kink, double weight, SolveInputs& in) {
  SolveInputs one;
  one.set_zero(at.model);
  SolveOutputs weights;
  weights.gap = VecX::Constant(1, 1);
  taping::Tape tape;
  Pull reader(at, weights, tape, one);
  const auto take = [&](const taping::Traced& y, double share) {
    weights.gap[0] = share;
    reader.gap(0, y);
    reader.finish();
  };
  if (kink.spring != nullptr) take(spring_stretch(reader, *kink.spring), 1);
  for (const auto& [number, share] : kink.gaps) {
    const Contact& contact = at.record.contacts.contacts[number];
    ContactGeometry<taping::Traced> c = geometry_of(reader, contact);
    if (!kink.bounce) {
      take(c.point.gap, share);
      continue;
    }
    read_twists(reader, contact, false, c);
    const auto material = material_of(reader, at.model.shape(contact.shape_a).material,
                                      at.model.shape(contact.shape_b).material);
    const NormalBiasT<taping::Traced> bias{reader.duration(), at.record.rows.beta,
                                           material.restitution * reader.restitution_scale(),
                                           c.point.normal.dot(c.relative())};
    const bool soft = value_of(material.compliance) > 0;
    const BiasBranch side = contact.gap < 0 && !soft ? BiasBranch::Overlap : BiasBranch::Gap;
    take(normal_bias(side, c.point.gap, bias) -
             normal_bias(BiasBranch::Restitution, c.point.gap, bias),
         share);
  }
  const double size = kink.reason == OpenReason::Near ? kink.value : one.q.cwiseAbs().maxCoeff();
  if (!(std::abs(size) > 0)) return;  // between bodies that do not move
  in.q += weight / size * one.q;
  in.v += weight / size * one.v;
  in.duration += weight / size * one.duration;
  in.parameters += weight / size * one.parameters;
}

}  // namespace orthant::internal
