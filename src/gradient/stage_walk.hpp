// SPDX-License-Identifier: Apache-2.0
// gradient/stage_walk.hpp: the objects of a solve in the order of its rows, for either reader.
//   bodies, forces, actuators => contacts => flexible parts => joints, each with its rows
// Private to the room: stage_pull.cpp and stage_push.cpp instantiate it, one reader each.
#pragma once

#include "gradient/elements.hpp"
#include "gradient/flexible_elements.hpp"
#include "gradient/stage.hpp"
#include "orthant/constraint/joint_rows.hpp"

namespace orthant::internal {

/// Of the derivative of bent contacts, by v' and v⁺ in turn.
constexpr int kMaxBends = 50;
constexpr double kBendSettled = 1e-13;

/// As many numbers as a body has velocities.
using BodyVector = Eigen::Matrix<double, Eigen::Dynamic, 1, Eigen::ColMajor, 6, 1>;

/// R(turn) of the tangent of an orientation, and its left Jacobian: q ⊞ δ turns tangents,
/// d(q ⊞ δ) = R(δ) dq + J(δ) dδ.
struct TurnMaps {
  Mat3 rotation, jacobian;
  explicit TurnMaps(const Vec3& turn)
      : rotation(matrix_of(exp_rotation(turn))), jacobian(left_jacobian(turn)) {}
};

/// visit(place in v, size, free) for every node that has a velocity.
template <class Visit>
void for_each_moving_node(const Model& model, Visit&& visit) {
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index i = 0; i < part.node_count; ++i)
      if (part.v_begin[i] >= 0) visit(part.v_begin[i], Index{part.dim}, part.block[i] >= 0);
}

// What a step is full of: by the kernels here, by hand on the way back (gradient/stage_pull.cpp has
// the overloads for its reader).

template <class R>
void step_body(R& r, BodyId id, bool flies) {
  body_element(r, id, flies);
}
template <class R>
void body_mass(R& r, BodyId id, bool with_velocity) {
  mass_element(r, id, with_velocity);
}
template <class R>
void joint_rows(R& r, const Joint& joint, JointUse use, double beta) {
  bilateral_element(r, joint, use, beta);
}
template <class R>
Index coordinate_rows_of(R& r, const Joint& joint, JointUse use, Index row, Index block,
                         double beta) {
  return coordinate_element(r, joint, use, row, block, beta);
}
template <class R>
void contact_rows(R& r, const Contact& contact, Index number, const ContactBlock& block,
                  FrictionModel friction, double beta) {
  contact_element(r, contact, number, block, friction, beta);
}
template <class R>
void position_contact_row(R& r, const Contact& contact, Index number, const ContactBlock& block) {
  position_contact_element(r, contact, number, block);
}

template <class R>
void bilateral(R& reader, const Joint& joint, JointUse use, double beta) {
  joint_rows(reader, joint, use, beta);
  if (joint.follow.row != kNone) follow_element(reader, joint, use, beta);
}

template <class R>
void Stage::walk(R& reader) const {
  switch (context_.record_->kind) {
    case SolveKind::Step:
    case SolveKind::Recursion:
      return walk_step(reader);
    case SolveKind::Impact:
      return walk_impact(reader);
    default:
      return walk_projection(reader);
  }
}

template <class R>
void Stage::walk_step(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  const double middle = r.t + 0.5 * r.duration;
  for (const BodyId id : model.dynamic_bodies()) {
    reader.whole([&] { step_body(reader, id, flies(model.body(id))); });
  }
  for (const Force& force : model.forces()) {
    if (force.kind == ForceKind::Callback) continue;
    reader.whole([&] { force_element(reader, force, middle); });
  }
  for (Index i = 0; i < model.control_count(); ++i) {
    reader.whole([&] { actuator_element(reader, model.actuators()[i], i); });
  }
  walk_contacts(reader, 0);
  walk_bent(reader, false);
  Index row = 0;
  if (!round(0).empty()) {
    const ContactBlock& last = assembly_.blocks[round(0).size() - 1];
    row = last.row + last.dim;
  }
  if (!model.flexible_parts().empty()) row = walk_flexible(reader);
  // Rows of trials come after those of the joints.
  Index block = context_.trials.empty() ? assembly_.problem.block_count()
                                        : assembly_.blocks[round(0).size()].block;
  block -= joint_block_count(model);
  for (const Joint& joint : model.joints()) {
    Index count = 0;
    reader.whole([&] {
      bilateral(reader, joint, JointUse::Step, r.rows.beta);
      count = coordinate_rows_of(reader, joint, JointUse::Step, row, block, r.rows.beta);
    });
    row += count;
    block += count;
  }
}

/// Contacts of one round: `reader` stands where they were found.
template <class R>
void Stage::walk_contacts(R& reader, std::size_t r) const {
  const ContactRowSettings& rows = context_.record_->rows;
  const std::span<const Contact> contacts = round(r);
  const std::size_t first = r == 0 ? 0 : round_end_[r - 1];
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    reader.whole([&] {
      contact_rows(reader, contacts[c], static_cast<Index>(first + c), assembly_.blocks[first + c],
                   rows.friction, rows.beta);
    });
  }
}

/// Normal rows of bent contacts, at the end of the interval where `reader` stands.
template <class R>
void Stage::walk_bent(R& reader, bool at_end) const {
  const std::vector<Contact>& contacts = context_.record_->contacts.contacts;
  for (const SoftEnd& end : ends_.of_rows)
    reader.whole([&] {
      bent_element(reader, at_end ? end.contact : contacts[end.number],
                   assembly_.blocks[end.number], at_end ? end.share : 1 - end.share, at_end);
    });
}

/// Elements, loads, ties and contacts of flexible parts in a step; the row after the contacts.
template <class R>
Index Stage::walk_flexible(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  for (const FlexiblePart& part : model.flexible_parts())
    for (Index e = 0; e < part.element_count(); ++e) {
      if (part.dim == 3) {
        flexible_element<3>(reader, part, e);
      } else {
        flexible_element<2>(reader, part, e);
      }
      reader.finish();
    }
  for (const NodeForce& force : model.node_forces()) {
    node_force_element(reader, force);
    reader.finish();
  }
  walk_ties(reader, JointUse::Step);
  const std::size_t first = r.contacts.contacts.size();
  Index row = first == 0 ? 0 : assembly_.blocks[first - 1].row + assembly_.blocks[first - 1].dim;
  for (std::size_t c = 0; c < r.contacts.flexible.size(); ++c) {
    const FlexibleContact& contact = r.contacts.flexible[c];
    const ContactBlock& at = assembly_.blocks[first + c];
    flexible_contact_element(reader, contact, at, r.rows.beta, false);
    reader.finish();
    row = at.row + at.dim;
  }
  return row;
}

template <class R>
void Stage::walk_ties(R& reader, JointUse use) const {
  Index row = context_.model->bilateral_count();
  for (const Tie& tie : context_.model->ties()) {
    tie_element(reader, tie, row, use);
    reader.finish();
    row += context_.model->flexible_parts()[tie.part].dim;
  }
}

/// Masses of the nodes at an impact: no forces.
template <class R>
void Stage::walk_nodes(R& reader) const {
  for (const FlexiblePart& part : context_.model->flexible_parts())
    for (const Index node : part.free_nodes) {
      node_mass_element(reader, part, node);
      reader.finish();
    }
}

/// H of the elements in a correction of positions.
template <class R>
void Stage::walk_metric(R& reader) const {
  const double h = context_.settings->h;
  for (const FlexiblePart& part : context_.model->flexible_parts())
    for (Index e = 0; e < part.element_count(); ++e) {
      if (part.dim == 3) {
        metric_element<3>(reader, part, e, h);
      } else {
        metric_element<2>(reader, part, e, h);
      }
      reader.finish();
    }
}

/// Masses of an impact: M (v − v⁺).
template <class R>
void Stage::walk_masses(R& reader) const {
  for (const BodyId id : context_.model->dynamic_bodies()) {
    reader.whole([&] { body_mass(reader, id, true); });
  }
  walk_nodes(reader);
  for (const Joint& joint : context_.model->joints()) {
    if (joint.armature == kNone) continue;
    reader.whole([&] { armature_element(reader, joint); });
  }
}

template <class R>
void Stage::walk_impact(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  walk_masses(reader);
  walk_ties(reader, JointUse::Impact);
  const std::vector<Contact>& contacts = r.contacts.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    reader.whole([&] {
      contact_rows(reader, contacts[c], static_cast<Index>(c), assembly_.blocks[c],
                   context_.settings->friction, 0);
    });
  }
  for (const Joint& joint : model.joints()) {
    reader.whole([&] { bilateral(reader, joint, JointUse::Impact, 0); });
  }
}

template <class R>
void Stage::walk_projection(R& reader) const {
  const SolveRecord& r = *context_.record_;
  const Model& model = *context_.model;
  for (const BodyId id : model.dynamic_bodies()) {
    reader.whole([&] { body_mass(reader, id, false); });
  }
  walk_metric(reader);
  walk_ties(reader, JointUse::Position);
  Index row = 0;
  const auto has_row = [&](const ContactBlock& block) {  // soft contacts overlap on purpose
    row += block.dim;
    return block.dim > 0;
  };
  const std::vector<Contact>& contacts = r.contacts.contacts;
  for (std::size_t c = 0; c < contacts.size(); ++c) {
    const ContactBlock& block = assembly_.blocks[c];
    if (!has_row(block)) continue;
    reader.whole([&] { position_contact_row(reader, contacts[c], static_cast<Index>(c), block); });
  }
  for (std::size_t c = 0; c < r.contacts.flexible.size(); ++c) {
    const ContactBlock& block = assembly_.blocks[contacts.size() + c];
    if (!has_row(block)) continue;
    flexible_contact_element(reader, r.contacts.flexible[c], block, 0, true);
    reader.finish();
  }
  for (const Joint& joint : model.joints()) {
    Index count = 0;
    reader.whole([&] {
      bilateral(reader, joint, JointUse::Position, 0);
      count = coordinate_rows_of(reader, joint, JointUse::Position, row, row, 0);
    });
    row += count;
  }
}

}  // namespace orthant::internal
