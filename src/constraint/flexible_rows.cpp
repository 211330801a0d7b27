// SPDX-License-Identifier: Apache-2.0
// constraint/flexible_rows.cpp: contacts of flexible surfaces, ties => rows of D and C.
// The body's lever goes to the point on the flexible surface, where the nodes take the impulse:
// angular momentum is kept across an open gap.
#include "orthant/constraint/flexible_rows.hpp"

#include <algorithm>
#include <cmath>

namespace orthant {
namespace {

Vec3 centre_of(const Body& body, const VecX& q) {
  const double* x = q.data() + body.q_begin;
  return body.planar ? Vec3(x[0], x[1], 0) : Vec3(x[0], x[1], x[2]);
}

/// Adds `count` rows along `frame` to a new row block; b gets what prescribed sides do.
void append_rows(const Model& model, const FlexibleContact& c, const VecX& q, const VecX& v,
                 const Vec3* frame, int count, CanonicalProblem& problem, double* b) {
  const int dim = c.planar ? 2 : 3;
  problem.D.begin_row(count);
  if (c.body_sign != 0) {
    const Body& body = model.body(model.shape(c.shape).body);
    const Vec3 lever = c.point - centre_of(body, q);
    double rows[3 * 6] = {};
    if (body.v_begin != kNone)
      for (int i = 0; i < count; ++i)
        point_row(body.planar, frame[i], lever, c.body_sign, rows + i * body.v_size);
    if (body.is_dynamic()) {
      std::copy(rows, rows + count * body.v_size,
                problem.D.add(body.dynamic, body.v_begin, body.v_size));
    } else if (body.v_begin != kNone) {
      for (int i = 0; i < count; ++i)
        for (Index j = 0; j < body.v_size; ++j)
          b[i] += rows[i * body.v_size + j] * v[body.v_begin + j];
    }
  }
  for (int k = 0; k < c.corner_count; ++k) {
    const FlexibleContact::Corner& corner = c.corners[k];
    const FlexiblePart& part = model.flexible_parts()[corner.part];
    if (part.block[corner.node] >= 0) {
      double* to = problem.D.add(part.block[corner.node], part.v_begin[corner.node], dim);
      for (int i = 0; i < count; ++i)
        for (int a = 0; a < dim; ++a) to[i * dim + a] = corner.weight * frame[i][a];
    } else {
      const Vec3 speed = node_velocity(part, v, corner.node);
      for (int i = 0; i < count; ++i) b[i] += corner.weight * frame[i].dot(speed);
    }
  }
}

}  // namespace

void append_flexible_rows(const Model& model, const Parameters& parameters, const VecX& q,
                          const VecX& v, std::span<const FlexibleContact> contacts,
                          const ContactRowSettings& settings, CanonicalProblem& problem,
                          std::vector<double>& b, std::vector<ContactBlock>& blocks) {
  for (const FlexibleContact& c : contacts) {
    ContactBlock block;
    block.lever_a = block.lever_b = c.point;  // levers of bodies are not kept
    block.block = problem.block_count();
    block.row = static_cast<Index>(b.size());
    block.material = contact_material(model, parameters, c.material_a, c.material_b);
    block.material.rolling_friction = 0;
    block.softness = block.material.compliance / (settings.h * settings.h);
    contact_frame(c.planar, c.normal, block.frame);
    NormalBiasT<double> bias;
    bias.h = settings.h;
    bias.beta = settings.beta;
    const double mu = block.material.friction;
    const int dim = mu > 0 ? (c.planar ? 2 : 3) : 1;
    const bool exact = settings.friction == FrictionModel::Coulomb;
    problem.laws.push_back(dim == 1 ? Law::orthant(1)
                           : exact  ? Law::coulomb(dim, mu)
                                    : Law::soc(dim, mu));
    b.resize(b.size() + static_cast<std::size_t>(dim), 0.0);
    const bool compliant = block.material.compliance > 0;
    block.branch = choose_bias(c.gap, compliant, false, bias);
    b[static_cast<std::size_t>(block.row)] = normal_bias(block.branch, c.gap, bias);
    if (!compliant && std::abs(c.gap) <= settings.resting * c.size)
      block.branch = BiasBranch::Resting;
    append_rows(model, c, q, v, block.frame, dim, problem, b.data() + block.row);
    block.dim = dim;
    blocks.push_back(block);
  }
}

void append_flexible_position_rows(const Model& model, const Parameters& parameters, const VecX& q,
                                   std::span<const FlexibleContact> contacts,
                                   CanonicalProblem& problem, std::vector<double>& b,
                                   std::vector<ContactBlock>& blocks) {
  const VecX none = VecX::Zero(model.v_size());
  for (const FlexibleContact& c : contacts) {
    ContactBlock& block = blocks.emplace_back();
    block.block = problem.block_count();
    block.row = static_cast<Index>(b.size());
    block.material = contact_material(model, parameters, c.material_a, c.material_b);
    if (block.material.compliance > 0) continue;
    block.dim = 1;
    const double most = largest_correction(c.size);
    block.branch = c.gap < -most ? BiasBranch::Clipped : BiasBranch::Gap;
    problem.laws.push_back(Law::orthant(1));
    b.push_back(block.branch == BiasBranch::Clipped ? -most : c.gap);
    append_rows(model, c, q, none, &c.normal, 1, problem, &b.back());
  }
}

void append_tie_rows(const Model& model, const VecX& q, const VecX& v, double share,
                     CanonicalProblem& problem) {
  if (model.ties().empty()) return;
  Index at = static_cast<Index>(problem.e.size());
  problem.e.conservativeResize(at + model.tie_row_count());
  for (const Tie& tie : model.ties()) {
    const FlexiblePart& part = model.flexible_parts()[tie.part];
    const Body& body = model.body(tie.body);
    const Vec3 lever = rotate(body_pose(body, q.data()).p, tie.point);
    const Vec3 error = node_position(part, q, tie.node) - centre_of(body, q) - lever;
    const int dim = part.dim;
    problem.C.begin_row(dim);
    double rows[3 * 6] = {};
    for (int i = 0; i < dim; ++i)
      point_row<double>(body.planar, Vec3::Unit(i), lever, -1, rows + i * body.v_size);
    if (body.is_dynamic())
      std::copy(rows, rows + dim * body.v_size,
                problem.C.add(body.dynamic, body.v_begin, body.v_size));
    double* own = problem.C.add(part.block[tie.node], part.v_begin[tie.node], dim);
    for (int i = 0; i < dim; ++i) {
      own[i * dim + i] = 1;
      double e = share * error[i];
      if (v.size() > 0 && !body.is_dynamic())
        for (Index j = 0; j < body.v_size; ++j)
          e += rows[i * body.v_size + j] * v[body.v_begin + j];
      problem.e[at++] = e;
    }
  }
}

double largest_tie_error(const Model& model, const VecX& q) {
  double largest = 0;
  for (const Tie& tie : model.ties()) {
    const Body& body = model.body(tie.body);
    const Vec3 at = transform(body_pose(body, q.data()), tie.point);
    largest = std::max(largest,
                       (node_position(model.flexible_parts()[tie.part], q, tie.node) - at).norm());
  }
  return largest;
}

}  // namespace orthant
