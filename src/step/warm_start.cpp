// SPDX-License-Identifier: Apache-2.0
// step/warm_start.cpp: impulses by contact key <=> rows of the problem at hand.
// Kept in world axes and for the whole step h, so that the next frame and a shorter interval can
// use them; a new contact starts from zero.
#include "step/run.hpp"

namespace orthant::internal {

void start_from(const WarmStart& warm, const StepRun& run, double dt, Solution& solution) {
  const Assembly& assembly = run.work.assembly;
  const CanonicalProblem& p = assembly.problem;
  const double scale = dt / run.settings.h;
  solution.v = run.x.v.head(p.velocity_count());
  if (warm.joints.size() == p.bilateral_count())
    solution.gamma = scale * warm.joints;
  else
    solution.gamma.setZero(p.bilateral_count());
  solution.lambda.setZero(p.row_count());
  solution.w.setZero(p.row_count());

  std::size_t known = 0;  // both lists are sorted by key
  const auto& contacts = run.work.rows.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    while (known < warm.contacts.size() && warm.contacts[known].key < contacts[c].key) ++known;
    if (known == warm.contacts.size()) break;
    const WarmStart::Entry& entry = warm.contacts[known];
    if (entry.key != contacts[c].key) continue;
    const ContactBlock& block = assembly.blocks[c];
    contact_lambda(block, run.settings.friction, run.model.shape(contacts[c].shape_a).planar(),
                   scale * entry.impulse_W, scale * entry.torque_W,
                   solution.lambda.data() + block.row);
  }
}

void keep_impulses(const StepRun& run, double dt, const Solution& solution, WarmStart& warm) {
  const Assembly& assembly = run.work.assembly;
  const double scale = run.settings.h / dt;
  warm.joints = scale * solution.gamma;
  warm.contacts.clear();
  const auto& contacts = run.work.rows.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const ContactBlock& block = assembly.blocks[c];
    const double* lambda = solution.lambda.data() + block.row;
    if (!(lambda[0] > 0)) continue;
    WarmStart::Entry entry;
    entry.key = contacts[c].key;
    contact_impulse(block, run.settings.friction, run.model.shape(contacts[c].shape_a).planar(),
                    lambda, entry.impulse_W, entry.torque_W);
    entry.impulse_W *= scale;
    entry.torque_W *= scale;
    entry.normal_W = contacts[c].normal;
    warm.contacts.push_back(entry);
  }
}

}  // namespace orthant::internal
