// SPDX-License-Identifier: Apache-2.0
// robot/contact_reading.cpp: the record of a step => its contacts with impulses and how they moved.
// The rows of a recorded solve are written once more to know where each contact's rows are; the
// impulses and velocities are those of the recorded answer.
#include <algorithm>
#include <cmath>

#include "orthant/base/error.hpp"
#include "orthant/constraint/contact_rows.hpp"
#include "orthant/constraint/flexible_rows.hpp"
#include "orthant/robot/sensors.hpp"

namespace orthant {
namespace {

constexpr double kBorder = 1e-8;  // of impulses and speeds: nearer to a border is on it

std::string side_name(const Model& model, BodyUid uid) {
  if (uid < kFirstPartUid) return model.body(model.find_uid(uid)).name;
  for (const FlexiblePart& part : model.flexible_parts())
    if (part.uid == uid) return part.name;
  return "";
}

std::string shape_name(const Model& model, BodyUid uid, std::uint16_t ordinal) {
  if (uid >= kFirstPartUid) return "";
  const Body& body = model.body(model.find_uid(uid));
  const Index i = body.shape_begin + ordinal;
  return i < body.shape_end ? model.shapes()[static_cast<std::size_t>(i)].name : "";
}

/// Sliding speed from the rows of w, or of the pyramid's multiplier λ; -1: without friction.
double sliding_speed(const ContactBlock& block, const Law& law, FrictionModel friction,
                     const Solution& x) {
  if (block.material.friction <= 0) return -1;
  if (law.is_frictional()) return x.w.segment(block.row + 1, law.tangent_dim()).norm();
  if (friction == FrictionModel::Pyramid) return x.lambda[block.row + block.dim - 1];
  return -1;
}

/// Contacts of one solve; the answer's rows are in the order of its contacts.
void append(const Model& model, const Parameters& parameters, const SolveRecord& solve,
            std::vector<ContactReading>& out) {
  CanonicalProblem problem;
  std::vector<double> b;
  std::vector<ContactBlock> blocks;
  append_contact_rows(model, parameters, solve.q, solve.v, {}, solve.contacts.contacts, solve.rows,
                      problem, b, blocks);
  const std::size_t rigid = blocks.size();
  append_flexible_rows(model, parameters, solve.q, solve.v, solve.contacts.flexible, solve.rows,
                       problem, b, blocks);
  double largest = 0;
  for (const ContactBlock& block : blocks)
    largest = std::max(largest, solve.solution.lambda[block.row]);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const ContactBlock& block = blocks[i];
    ContactReading c;
    bool planar = false;
    const ContactKey* key = nullptr;
    if (i < rigid) {
      const Contact& contact = solve.contacts.contacts[i];
      key = &contact.key;
      c.point = 0.5 * (contact.point_a + contact.point_b);
      c.normal = contact.normal;
      c.gap = contact.gap;
      planar = model.shape(contact.shape_a).planar();
    } else {
      const FlexibleContact& contact = solve.contacts.flexible[i - rigid];
      key = &contact.key;
      c.point = contact.point;
      c.normal = contact.normal;
      c.gap = contact.gap;
      planar = contact.planar;
    }
    c.body_a = side_name(model, key->body_a);
    c.body_b = side_name(model, key->body_b);
    c.shape_a = shape_name(model, key->body_a, key->shape_a);
    c.shape_b = shape_name(model, key->body_b, key->shape_b);
    c.impact = solve.kind == SolveKind::Impact;
    c.duration = solve.duration;
    c.friction = block.material.friction;
    const double* rows = solve.solution.lambda.data() + block.row;
    contact_impulse(block, solve.rows.friction, planar, rows, c.impulse, c.torque);
    const Law& law = problem.laws[static_cast<std::size_t>(block.block)];
    const double speed = sliding_speed(block, law, solve.rows.friction, solve.solution);
    const double normal = c.impulse.dot(c.normal);
    const double tangent = (c.impulse - normal * c.normal).norm();
    c.sliding_speed = std::max(speed, 0.0);
    c.state = classify({.normal = normal,
                        .tangent = tangent,
                        .slip = c.sliding_speed,
                        .friction = speed < 0 ? 0 : block.material.friction,
                        .impulse = largest},
                       kBorder);
    out.push_back(std::move(c));
  }
}

}  // namespace

/// Impacts, and of every interval the solve that was kept: rounds of a recursion or of Newton's
/// method follow each other, the last one is the answer.
std::vector<ContactReading> read_contacts(const Model& model, const Parameters& parameters,
                                          const StepRecord& record) {
  if (record.solves.empty())
    throw Error("record", "is empty: pass it to step() before asking for contacts");
  std::vector<const SolveRecord*> moves;
  for (const SolveRecord& solve : record.solves)
    if (solve.kind != SolveKind::Projection) moves.push_back(&solve);
  std::vector<ContactReading> out;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const bool replaced =
        i + 1 < moves.size() && moves[i]->kind != SolveKind::Impact &&
        (moves[i + 1]->kind == SolveKind::Recursion || moves[i]->kind == SolveKind::Newton);
    if (replaced || moves[i]->solution.lambda.size() == 0) continue;
    append(model, parameters, *moves[i], out);
  }
  return out;
}

}  // namespace orthant
