// SPDX-License-Identifier: Apache-2.0
// constraint/contact_rows.cpp: contacts => laws, rows D, biases b, compliances F.
//   b_n = Φ/h,  β Φ/h in overlap,  min(that, ε D_n v) where the gap closes and approaches
// Bodies whose velocity is given (kinematic) have no columns: their part of D v is added to b.
#include "orthant/constraint/contact_rows.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "orthant/collision/collision.hpp"

namespace orthant {
namespace {

constexpr int kMaxPyramidBlock = 4;  // directions per block: a block holds at most kMaxLawDim rows

Vec3 centre_of(const Body& body, const VecX& q) {
  const double* x = q.data() + body.q_begin;
  return body.planar ? Vec3(x[0], x[1], 0) : Vec3(x[0], x[1], x[2]);
}

/// One body's half of a contact block: rows on its columns, or the velocity it brings along.
struct Side {
  const Body& body;
  const Vec3& lever;
  double sign;
};

double dot(const double* a, const double* b, Index n) {
  double sum = 0;
  for (Index i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/// Adds `dim` rows given by write(side, rows) to a new row block of D; b gets the kinematic part.
template <class Write>
void append_block(const Side (&sides)[2], Index dim, const VecX& v, BlockRows& D, double* b,
                  Write&& write) {
  double rows[kMaxLawDim * 6];
  D.begin_row(dim);
  for (const Side& side : sides) {
    if (side.body.v_begin == kNone) continue;
    const Index width = side.body.v_size;
    write(side, rows);
    if (side.body.is_dynamic()) {
      double* values = D.add(side.body.dynamic, side.body.v_begin, width);
      std::copy(rows, rows + dim * width, values);
    } else {
      for (Index i = 0; i < dim; ++i)
        b[i] += dot(rows + i * width, v.data() + side.body.v_begin, width);
    }
  }
}

struct ContactLaw {
  Law law;
  bool friction, rolling;
};

/// The law of one contact: the smallest that its coefficients need.
ContactLaw choose_law(bool planar, FrictionModel model, const ContactMaterial& material) {
  const int tangents = planar ? 1 : 2;
  const bool exact = model == FrictionModel::Coulomb;
  const double mu = material.friction, mu_r = material.rolling_friction;
  if (mu_r > 0) {
    const int dim = 1 + 2 * tangents;
    return {exact ? Law::rolling(dim, mu, mu_r) : Law::rolling_soc(dim, mu, mu_r), true, true};
  }
  if (mu > 0) {
    const int dim = 1 + tangents;
    return {exact ? Law::coulomb(dim, mu) : Law::soc(dim, mu), true, false};
  }
  return {Law::orthant(1), false, false};
}

double row_rate(const Side (&sides)[2], const Vec3& direction, const VecX& v) {
  double rate = 0;
  for (const Side& side : sides) {
    if (side.body.v_begin == kNone) continue;
    double row[6];
    point_row(side.body.planar, direction, side.lever, side.sign, row);
    // A vector of the dynamic velocities alone has none for kinematic bodies.
    if (side.body.v_begin + side.body.v_size > v.size()) continue;
    rate += dot(row, v.data() + side.body.v_begin, side.body.v_size);
  }
  return rate;
}

/// The same without kinematic bodies' part missing: v_free of the dynamic ones, v of the others.
double free_rate(const Side (&sides)[2], const Vec3& n, const VecX& v, const VecX& v_free) {
  double rate = 0;
  for (const Side& side : sides) {
    if (side.body.v_begin == kNone) continue;
    double row[6];
    point_row(side.body.planar, n, side.lever, side.sign, row);
    const VecX& velocity = side.body.is_dynamic() ? v_free : v;
    rate += dot(row, velocity.data() + side.body.v_begin, side.body.v_size);
  }
  return rate;
}

/// b_n of a contact, and the branch it took.
double bias_of(const Contact& contact, const Side (&sides)[2], const VecX& v, const VecX& v_free,
               const ContactRowSettings& settings, ContactBlock& block) {
  NormalBiasT<double> data;
  data.h = settings.h;
  data.beta = settings.beta;
  data.restitution = settings.restitution_scale * block.material.restitution;
  const bool compliant = block.material.compliance > 0;
  bool bounces = false;
  if (settings.restitution && !settings.impacts_located && block.material.restitution > 0) {
    data.approach = row_rate(sides, contact.normal, v);
    const bool approaches = data.approach < -settings.restitution_threshold && data.approach < 0;
    const bool closes =
        contact.gap <= 0 ||
        (v_free.size() > 0 &&
         contact.gap + settings.h * free_rate(sides, contact.normal, v, v_free) <= 0);
    bounces = approaches && closes;
  }
  const double band = settings.touching * contact.size;
  const bool counts_none = !compliant && contact.gap > 0 && contact.gap <= band &&
                           settings.h * std::abs(row_rate(sides, contact.normal, v)) <= band;
  const double gap = counts_none ? 0 : contact.gap;
  block.branch = choose_bias(gap, compliant, bounces, data);
  const double b_n = normal_bias(block.branch, gap, data);
  // Which side is differentiated where the sign of the gap says nothing.
  if (block.branch == BiasBranch::Restitution || compliant) return b_n;
  if (std::abs(contact.gap) <= settings.resting * contact.size) {
    block.branch = BiasBranch::Resting;
  } else if (counts_none) {
    block.branch = BiasBranch::DeadBand;
  }
  return b_n;
}

/// Normal, m directions in blocks of at most four, sliding speed: laws and rows of the pyramid.
void append_pyramid(const Side (&sides)[2], bool planar, int directions, const VecX& v, double b_n,
                    const ContactBlock& block, CanonicalProblem& problem, std::vector<double>& b) {
  const auto append = [&](Law law, double bias, auto&& write) {
    problem.laws.push_back(law);
    const std::size_t begin = b.size();
    b.resize(begin + law.dim, bias);
    append_block(sides, law.dim, v, problem.D, b.data() + begin, write);
  };
  append(Law::orthant(1), b_n, [&](const Side& side, double* rows) {
    point_row(planar, block.frame[0], side.lever, side.sign, rows);
  });
  const int m = planar ? 2 : directions;
  for (int first = 0; first < m; first += kMaxPyramidBlock) {
    const int count = std::min(kMaxPyramidBlock, m - first);
    append(Law::orthant(count), 0, [&](const Side& side, double* rows) {
      for (int i = 0; i < count; ++i) {
        const double angle = 2 * std::numbers::pi * (first + i) / m;
        const Vec3 d =
            planar ? Vec3((first + i == 0 ? 1.0 : -1.0) * block.frame[1])
                   : Vec3(std::cos(angle) * block.frame[1] + std::sin(angle) * block.frame[2]);
        point_row(planar, d, side.lever, side.sign, rows + i * side.body.v_size);
      }
    });
  }
  problem.laws.push_back(Law::orthant(1));
  problem.D.begin_row(1);
  b.push_back(0);
}

}  // namespace

double gap_rate(const Model& model, const VecX& q, const VecX& v, const Contact& contact) {
  const Body& a = model.body(contact.body_a);
  const Body& b = model.body(contact.body_b);
  const Vec3 point = 0.5 * (contact.point_a + contact.point_b);
  const Vec3 lever_a = point - centre_of(a, q), lever_b = point - centre_of(b, q) - contact.shift;
  const Side sides[2] = {{a, lever_a, 1}, {b, lever_b, -1}};
  return row_rate(sides, contact.normal, v);
}

void append_contact_rows(const Model& model, const Parameters& parameters, const VecX& q,
                         const VecX& v, const VecX& v_free, std::span<const Contact> contacts,
                         const ContactRowSettings& settings, CanonicalProblem& problem,
                         std::vector<double>& b, std::vector<ContactBlock>& blocks) {
  for (const Contact& contact : contacts) {
    const Body& body_a = model.body(contact.body_a);
    const Body& body_b = model.body(contact.body_b);
    const bool planar = model.shape(contact.shape_a).planar();
    ContactBlock block;
    block.block = problem.block_count();
    block.row = static_cast<Index>(b.size());
    block.material = contact_material(model, parameters, model.shape(contact.shape_a).material,
                                      model.shape(contact.shape_b).material);
    // With b = Φ/h on both sides of 0: an implicit spring of stiffness 1/compliance.
    block.softness = block.material.compliance / (settings.h * settings.h);
    contact_frame(planar, contact.normal, block.frame);
    const Vec3 point = 0.5 * (contact.point_a + contact.point_b);
    block.lever_a = point - centre_of(body_a, q);
    block.lever_b = point - centre_of(body_b, q) - contact.shift;
    const Side sides[2] = {{body_a, block.lever_a, 1}, {body_b, block.lever_b, -1}};
    const double b_n = block.bias = bias_of(contact, sides, v, v_free, settings, block);

    if (settings.friction == FrictionModel::Pyramid && block.material.friction > 0) {
      append_pyramid(sides, planar, settings.pyramid_directions, v, b_n, block, problem, b);
    } else {
      const ContactLaw choice = choose_law(planar, settings.friction, block.material);
      problem.laws.push_back(choice.law);
      b.resize(b.size() + choice.law.dim, 0.0);
      b[block.row] = b_n;
      append_block(sides, choice.law.dim, v, problem.D, b.data() + block.row,
                   [&](const Side& side, double* rows) {
                     contact_rows(planar, choice.friction, choice.rolling, block.frame, side.lever,
                                  side.sign, rows);
                   });
    }
    block.dim = static_cast<Index>(b.size()) - block.row;
    blocks.push_back(block);
  }
}

double largest_correction(double size) {
  constexpr double kShare = 0.37;
  return std::exp2(std::floor(std::log2(kShare * size)));
}

void append_contact_position_rows(const Model& model, const Parameters& parameters, const VecX& q,
                                  std::span<const Contact> contacts, CanonicalProblem& problem,
                                  std::vector<double>& b, std::vector<ContactBlock>& blocks) {
  const VecX none = VecX::Zero(model.v_size());
  for (const Contact& contact : contacts) {
    ContactBlock& block = blocks.emplace_back();
    block.block = problem.block_count();
    block.row = static_cast<Index>(b.size());
    block.material = contact_material(model, parameters, model.shape(contact.shape_a).material,
                                      model.shape(contact.shape_b).material);
    if (block.material.compliance > 0) continue;  // a soft contact overlaps on purpose
    block.dim = 1;
    const double most = largest_correction(contact.size);
    block.branch = contact.gap < -most ? BiasBranch::Clipped : BiasBranch::Gap;
    const Body& body_a = model.body(contact.body_a);
    const Body& body_b = model.body(contact.body_b);
    const Vec3 point = 0.5 * (contact.point_a + contact.point_b);
    const Vec3 lever_a = point - centre_of(body_a, q);
    const Vec3 lever_b = point - centre_of(body_b, q) - contact.shift;
    const Side sides[2] = {{body_a, lever_a, 1}, {body_b, lever_b, -1}};
    problem.laws.push_back(Law::orthant(1));
    b.push_back(block.branch == BiasBranch::Clipped ? -most : contact.gap);
    append_block(sides, 1, none, problem.D, &b.back(), [&](const Side& side, double* rows) {
      point_row(side.body.planar, contact.normal, side.lever, side.sign, rows);
    });
  }
}

void assemble_F(std::span<const ContactBlock> blocks, FrictionModel friction,
                std::span<const JointSoftness> joints, CanonicalProblem& problem) {
  problem.F.clear();
  const auto is_pyramid = [&](const ContactBlock& block) {
    return friction == FrictionModel::Pyramid && block.material.friction > 0;
  };
  if (joints.empty() && std::none_of(blocks.begin(), blocks.end(), [&](const ContactBlock& block) {
        return block.material.compliance > 0 || is_pyramid(block);
      }))
    return;
  BlockRows& F = problem.F;
  const auto offset = problem.D.row_offsets();
  std::size_t servo = 0;
  const auto begin_row = [&] {
    const Index n = F.row_block_count();
    F.begin_row(problem.laws[n].dim);
    if (servo == joints.size() || joints[servo].block != n) return;
    *F.add(n, offset[n], 1) = joints[servo++].value;
  };
  for (const ContactBlock& block : blocks) {
    const Index n = block.block;
    const Index dim = problem.laws[n].dim;
    while (F.row_block_count() < n) begin_row();  // joints lie between rows of two rounds
    begin_row();
    if (block.material.compliance > 0) *F.add(n, offset[n], dim) = block.softness;
    if (!is_pyramid(block)) continue;
    // w_f = D_f v + E s,  w_s = μ λ_n − Eᵀ λ_f
    Index s = n + 1;
    while (offset[s] < block.row + block.dim - 1) ++s;
    for (Index f = n + 1; f < s; ++f) {
      begin_row();
      double* ones = F.add(s, offset[s], 1);
      std::fill(ones, ones + problem.laws[f].dim, 1.0);
    }
    begin_row();
    *F.add(n, offset[n], 1) = block.material.friction;
    for (Index f = n + 1; f < s; ++f) {
      double* minus = F.add(f, offset[f], problem.laws[f].dim);
      std::fill(minus, minus + problem.laws[f].dim, -1.0);
    }
  }
  while (F.row_block_count() < problem.block_count()) begin_row();
}

void contact_impulse(const ContactBlock& block, FrictionModel friction, bool planar,
                     const double* lambda, Vec3& impulse_W, Vec3& torque_W) {
  impulse_W = lambda[0] * block.frame[0];
  torque_W = Vec3::Zero();
  if (block.dim == 1) return;
  if (friction == FrictionModel::Pyramid && block.material.friction > 0) {
    const int m = static_cast<int>(block.dim) - 2;
    for (int i = 0; i < m; ++i) {
      const double angle = 2 * std::numbers::pi * i / m;
      if (planar)
        impulse_W += (i == 0 ? lambda[1] : -lambda[2]) * block.frame[1];
      else
        impulse_W +=
            lambda[1 + i] * (std::cos(angle) * block.frame[1] + std::sin(angle) * block.frame[2]);
    }
    return;
  }
  const int tangents = planar ? 1 : 2;
  for (int i = 1; i <= tangents; ++i) impulse_W += lambda[i] * block.frame[i];
  if (block.dim <= 1 + tangents) return;
  if (planar) {
    torque_W = lambda[2] * block.frame[2];
  } else {
    for (int i = 1; i <= 2; ++i) torque_W += lambda[2 + i] * block.frame[i];
  }
}

void contact_lambda(const ContactBlock& block, FrictionModel friction, bool planar,
                    const Vec3& impulse_W, const Vec3& torque_W, double* lambda) {
  std::fill(lambda, lambda + block.dim, 0.0);
  lambda[0] = std::max(0.0, block.frame[0].dot(impulse_W));
  if (block.dim == 1 || (friction == FrictionModel::Pyramid && block.material.friction > 0)) return;
  const int tangents = planar ? 1 : 2;
  for (int i = 1; i <= tangents; ++i) lambda[i] = block.frame[i].dot(impulse_W);
  if (block.dim <= 1 + tangents) return;
  if (planar) {
    lambda[2] = block.frame[2].dot(torque_W);
  } else {
    for (int i = 1; i <= 2; ++i) lambda[2 + i] = block.frame[i].dot(torque_W);
  }
}

}  // namespace orthant
