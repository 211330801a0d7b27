// SPDX-License-Identifier: Apache-2.0
// constraint/assemble.cpp: (model, q, v, contacts, h) => canonical problems.
//   H v⁺ − Cᵀγ − Dᵀλ = k,   C v⁺ + e = 0,   w = D v⁺ + F λ + b
// Row order of D: contacts by key, flexible contacts by key, then joint limits, motors and dry
// friction in model order.
#include "orthant/constraint/assemble.hpp"

#include <algorithm>

#include "orthant/constraint/joint_rows.hpp"
#include "orthant/force/flexible.hpp"

namespace orthant {
namespace {

/// Forgets the rows and keeps the memory; H and k are overwritten by their own assembly.
void begin_rows(Assembly& out) {
  out.problem.C.clear();
  out.problem.D.clear();
  out.problem.F.clear();
  out.problem.laws.clear();
  out.blocks.clear();
  out.b.clear();
  out.softness.clear();
}

void copy(const std::vector<double>& from, VecX& to) {
  to.resize(static_cast<Index>(from.size()));
  std::copy(from.begin(), from.end(), to.data());
}

}  // namespace

bool assemble_motion(const Model& model, const Parameters& parameters, const StepInterval& x,
                     const VecX& u, Assembly& out, const VecX& v_at) {
  CanonicalProblem& p = out.problem;
  assemble_dynamics_at(model, parameters, x.q, x.v, v_at, x.t, u, x.h, out.dynamics, p.H, p.k);
  if (!out.solver.factorize(p.H)) return false;
  out.solver.solve(p.k, out.v_free);
  return out.v_free.allFinite();
}

void assemble_rows(const Model& model, const Parameters& parameters, const StepInterval& x,
                   std::span<const Contact> contacts, const ContactRowSettings& settings,
                   double joint_beta, Assembly& out, std::span<const FlexibleContact> flexible) {
  CanonicalProblem& p = out.problem;
  begin_rows(out);
  append_contact_rows(model, parameters, x.q, x.v, out.v_free, contacts, settings, p, out.b,
                      out.blocks);
  append_flexible_rows(model, parameters, x.q, x.v, flexible, settings, p, out.b, out.blocks);
  const Index contact_rows = static_cast<Index>(out.b.size());
  out.b.resize(out.b.size() + static_cast<std::size_t>(joint_block_count(model)), 0.0);
  copy(out.b, p.b);
  append_joint_rows(model, parameters, x.q, x.v, x.t, x.h, joint_beta, p, contact_rows, x.u,
                    &out.softness);
  append_tie_rows(model, x.q, x.v, 1 / x.h, p);
  assemble_F(out.blocks, settings.friction, out.softness, p);
}

void append_trial_rows(const Model& model, const Parameters& parameters, const VecX& q_trial,
                       const VecX& v, const VecX& v_trial, std::span<const Contact> contacts,
                       const ContactRowSettings& settings, Assembly& out) {
  CanonicalProblem& p = out.problem;
  ContactRowSettings trial = settings;
  trial.beta = 1;
  trial.restitution = false;
  out.b.assign(p.b.data(), p.b.data() + p.b.size());
  const std::size_t first = out.blocks.size();
  append_contact_rows(model, parameters, q_trial, v, out.v_free, contacts, trial, p, out.b,
                      out.blocks);
  // The gap at the trial holds what prescribed bodies have moved already: their velocities count
  // in the tangents alone.
  for (std::size_t c = first; c < out.blocks.size(); ++c) {
    double rate[kMaxLawDim];
    p.D.multiply_row(out.blocks[c].block, v_trial.data(), rate);
    out.b[out.blocks[c].row] = contacts[c - first].gap / settings.h - rate[0];
    out.blocks[c].branch = BiasBranch::Trial;
  }
  copy(out.b, p.b);
  assemble_F(out.blocks, settings.friction, out.softness, p);
}

void assemble_impact(const Model& model, const Parameters& parameters, const StepInterval& x,
                     std::span<const Contact> contacts, const ContactRowSettings& settings,
                     Assembly& out) {
  CanonicalProblem& p = out.problem;
  begin_rows(out);
  assemble_mass(model, parameters, x.q, p.H);
  p.H.multiply(x.v.head(model.dynamic_v_size()), p.k);
  out.v_free = x.v.head(model.dynamic_v_size());
  append_contact_rows(model, parameters, x.q, x.v, out.v_free, contacts, settings, p, out.b,
                      out.blocks);
  for (ContactBlock& block : out.blocks)
    if (block.branch != BiasBranch::Restitution) block.branch = BiasBranch::None;
  copy(out.b, p.b);
  // Joints hold at an impact: their rows with the rate of what is prescribed. Limits, motors and
  // dry friction have finite forces or act in the step that follows.
  CanonicalProblem joints;
  joints.b = VecX::Zero(joint_limit_count(model));
  append_joint_position_rows(model, parameters, x.q, x.t, joints, 0);
  p.C = std::move(joints.C);
  joint_rate(model, parameters, x.q, x.v, x.t, p.e);
  append_tie_rows(model, x.q, x.v, 0, p);
  assemble_F(out.blocks, settings.friction, out.softness, p);
}

void assemble_projection(const Model& model, const Parameters& parameters, const VecX& q, double t,
                         double h, std::span<const Contact> contacts, Assembly& out,
                         std::span<const FlexibleContact> flexible) {
  CanonicalProblem& p = out.problem;
  begin_rows(out);
  assemble_metric(model, parameters, q, h, out.dynamics, p.H);
  p.k.setZero(model.dynamic_v_size());
  append_contact_position_rows(model, parameters, q, contacts, p, out.b, out.blocks);
  append_flexible_position_rows(model, parameters, q, flexible, p, out.b, out.blocks);
  const Index contact_rows = static_cast<Index>(out.b.size());
  out.b.resize(out.b.size() + joint_limit_count(model), 0.0);
  copy(out.b, p.b);
  append_joint_position_rows(model, parameters, q, t, p, contact_rows);
  append_tie_rows(model, q, {}, 1, p);
}

}  // namespace orthant
