// SPDX-License-Identifier: Apache-2.0
// gradient/stage_push.cpp: one solve of a record, forwards: a direction through the kernels of
// every object, one solve, the change of (q', v').
#include "gradient/edges.hpp"
#include "gradient/stage_walk.hpp"
#include "math/fixed_point.hpp"

namespace orthant::internal {
void Stage::push(const SolveInputs& direction, VecX& dq, VecX& dv,
                 std::span<const StateTangent> trials) {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const bool moves = r.kind != SolveKind::Impact, step = is_interval();
  SolveOutputs changes;
  changes.equations = zero_residual(assembly_.problem);
  changes.delta.setZero(model.v_size());
  const SolveContext x = context(r);
  Push reader(x, direction, changes);
  walk(reader);
  if (x.with_parameters)
    push_edges(x, assembly_.blocks, context_.settings->friction, direction, changes);
  for (std::size_t i = 0; i < context_.trials.size(); ++i) {
    const SolveInputs at{trials[i].q, trials[i].v, {}, direction.parameters, direction.duration, 0};
    const SolveContext there = context(context_.trials[i]);
    Push trial_reader(there, at, changes);
    walk_contacts(trial_reader, i + 1);
  }
  if (step) {
    for (const Force& force : model.forces()) {
      double f_q[36], f_v[36];
      if (force.kind != ForceKind::Callback ||
          !callback_derivatives(model, *context_.parameters, r, force, f_q, f_v))
        continue;
      const Body& body = model.body(force.a);
      const Index at = body.v_begin, n = body.v_size;
      using Map =
          Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
      changes.equations.balance.segment(at, n) +=
          r.duration * (Map(f_q, n, n) * direction.q.segment(at, n) +
                        Map(f_v, n, n) * direction.v.segment(at, n));
    }
  }
  Solution dx = gradient_->tangent(changes.equations);
  if (!ends_.of_rows.empty()) {  // v' of bent contacts is v⁺ itself
    const SolveOutputs others = changes;
    VecX by_path = dx.v;
    double change = 0;
    FixedPoint search;
    for (int round = 0; round < kMaxBends; ++round) {
      changes = others;
      push_end(direction, by_path, changes);
      dx = gradient_->tangent(changes.equations);
      const double size = dx.v.cwiseAbs().maxCoeff();
      change = size > 0 ? (dx.v - by_path).cwiseAbs().maxCoeff() / size : 0;
      if (change <= kBendSettled) break;
      search.advance(dx.v, by_path);
    }
    gradient_->note_error(change);
  }
  if (const Solution* free = other_impulses(true); free != nullptr) {
    Solution other = gradient_->answer();
    other.gamma += free->gamma;
    other.lambda += free->lambda;
    const SolveContext y = context(r, other);
    SolveOutputs moved;
    moved.equations = zero_residual(assembly_.problem);
    moved.delta.setZero(model.v_size());
    Push again(y, direction, moved);
    walk(again);
    if (x.with_parameters)
      push_edges(y, assembly_.blocks, context_.settings->friction, direction, moved);
    SolveOutputs same = moved;
    same.equations = zero_residual(assembly_.problem);
    same.delta.setZero(model.v_size());
    Push first(x, direction, same);
    walk(first);
    if (x.with_parameters)
      push_edges(x, assembly_.blocks, context_.settings->friction, direction, same);
    ResidualDerivative change = zero_residual(assembly_.problem);
    change.balance = moved.equations.balance - same.equations.balance;
    compare_tangents(gradient_->tangent(change).v, dx.v);
    ResidualDerivative rows;
    if (all_stick(*free)) {
      rows.blocks = free->lambda;
    } else {
      rows = gradient_->dependent_equations();
    }
    double sum = 0, size = 0;
    for (VecX ResidualDerivative::* part :
         {&ResidualDerivative::balance, &ResidualDerivative::bilateral, &ResidualDerivative::blocks,
          &ResidualDerivative::mu, &ResidualDerivative::mu_r}) {
      if ((rows.*part).size() == 0) continue;
      const VecX terms = (rows.*part).cwiseProduct(changes.equations.*part);
      sum += terms.sum();
      size += terms.cwiseAbs().sum();
    }
    if (std::abs(sum) > kContradicts * size) reason_ = kContradiction;
  }
  dq.setZero(model.v_size());
  dv = direction.v;
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const Index at = body.v_begin, n = body.v_size;
    BodyVector d_delta = BodyVector::Zero(n);
    if (!body.is_dynamic()) {
      if (step)
        d_delta = r.duration * direction.v.segment(at, n) + direction.duration * r.v.segment(at, n);
    } else {
      const BodyVector dv_next = dx.v.segment(at, n);
      if (r.kind == SolveKind::Projection) {
        d_delta = dv_next;
      } else {
        dv.segment(at, n) = dv_next;
      }
      if (step && flies(body)) {
        d_delta = changes.delta.segment(at, n) + 0.5 * r.duration * dv_next;
      } else if (step) {
        d_delta = r.duration * dv_next + direction.duration * r.solution.v.segment(at, n);
      }
    }
    BodyVector moved = direction.q.segment(at, n);
    if (!body.planar && moves) {
      const TurnMaps maps(delta_.segment<3>(at + 3));
      moved.tail<3>() = maps.rotation * moved.tail<3>().eval();
      d_delta.tail<3>() = maps.jacobian * d_delta.tail<3>().eval();
    }
    dq.segment(at, n) = moved + d_delta;
  }
  for_each_moving_node(model, [&](Index at, Index n, bool free) {
    dq.segment(at, n) = direction.q.segment(at, n);
    if (!free) {
      if (step)
        dq.segment(at, n) +=
            r.duration * direction.v.segment(at, n) + direction.duration * r.v.segment(at, n);
      return;
    }
    if (r.kind == SolveKind::Projection) {
      dq.segment(at, n) += dx.v.segment(at, n);
      return;
    }
    dv.segment(at, n) = dx.v.segment(at, n);
    if (step)
      dq.segment(at, n) +=
          r.duration * dx.v.segment(at, n) + direction.duration * r.solution.v.segment(at, n);
  });
}

void Stage::push_end(const SolveInputs& direction, const VecX& dv, SolveOutputs& changes) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  SolveInputs at = direction;  // of q'
  for (const Body& body : model.bodies()) {
    if (body.v_begin == kNone) continue;
    const Index begin = body.v_begin, n = body.v_size;
    BodyVector moved = direction.q.segment(begin, n);
    BodyVector d_delta = direction.duration * end_.v.segment(begin, n) +
                         r.duration * (body.is_dynamic() ? dv : direction.v).segment(begin, n);
    if (!body.planar) {
      const TurnMaps maps(r.duration * end_.v.segment<3>(begin + 3));
      moved.tail<3>() = maps.rotation * moved.tail<3>().eval();
      d_delta.tail<3>() = maps.jacobian * d_delta.tail<3>().eval();
    }
    at.q.segment(begin, n) = moved + d_delta;
  }
  const SolveContext there = context(end_);
  Push reader(there, at, changes);
  walk_bent(reader, true);
  for (const SoftEnd& end : ends_.of_rows) {
    const ContactBlock& block = assembly_.blocks[end.number];
    double rate[kMaxLawDim];
    assembly_.problem.D.multiply_row(block.block, dv.data(), rate);
    changes.equations.blocks[block.row] -= rate[0];  // −D_n v'
  }
}

double Stage::push_gain(const SolveInputs& direction, const VecX& dv) const {
  const SolveRecord& r = *context_.record_;
  const Index n = context_.model->dynamic_v_size();
  const VecX& end = gradient_->answer().v;
  VecX momentum(n);
  assembly_.problem.H.multiply(end, momentum);
  double gain = momentum.dot(dv.head(n));
  assembly_.problem.H.multiply(end - r.v.head(n), momentum);
  gain += 0.5 * momentum.dot(direction.v.head(n));
  SolveOutputs changes;
  changes.equations = zero_residual(assembly_.problem);
  changes.delta.setZero(context_.model->v_size());
  const SolveContext x = context(r);
  Push reader(x, direction, changes);
  walk_masses(reader);
  return gain - 0.5 * (end + r.v.head(n)).dot(changes.equations.balance);
}

double push_gap(const Model& model, const Parameters& parameters, const SolveRecord& at,
                const Contact& contact, const SolveInputs& direction) {
  static const VecX none;
  const SolveContext x{model, parameters, none, at, at.solution, true};
  SolveOutputs changes;
  changes.gap = VecX::Zero(1);
  Push reader(x, direction, changes);
  reader.gap(0, geometry_of(reader, contact).point.gap);
  return changes.gap[0];
}

}  // namespace orthant::internal
