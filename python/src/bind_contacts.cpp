// SPDX-License-Identifier: Apache-2.0
// python/src/bind_contacts.cpp: the record of a step => its contacts with impulses and states.
// The rows of a recorded solve are written once more to know where each contact's rows are; the
// impulses and velocities are those of the recorded answer.
#include <algorithm>
#include <cmath>

#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/constraint/contact_rows.hpp"
#include "orthant/constraint/flexible_rows.hpp"
#include "orthant/gradient/solution.hpp"
#include "orthant/step/step.hpp"
#include "settings.hpp"

namespace orthant::python {

/// One contact of a step, for a person.
struct SeenContact {
  std::string body_a, body_b;
  Vec3 point, normal, impulse, torque;
  double gap = 0, duration = 0, sliding_speed = 0;
  ContactState state = ContactState::Separate;
  bool impact = false;
};

namespace {

constexpr double kBorder = 1e-6;  // relative: on the mantle of the cone
constexpr double kStill = 1e-9;   // [m/s]: neither sticks nor slides for sure

std::string side_name(const Model& model, BodyUid uid) {
  if (uid < kFirstPartUid) return model.body(model.find_uid(uid)).name;
  for (const FlexiblePart& part : model.flexible_parts())
    if (part.uid == uid) return part.name;
  return "";
}

/// Sliding speed from the rows of w, or of the pyramid's multiplier λ.
double sliding_speed(const ContactBlock& block, const Law& law, FrictionModel friction,
                     const Solution& x) {
  if (block.material.friction <= 0) return -1;
  if (law.is_frictional()) return x.w.segment(block.row + 1, law.tangent_dim()).norm();
  if (friction == FrictionModel::Pyramid) return x.lambda[block.row + block.dim - 1];
  return -1;
}

ContactState state_of(double normal, double tangent, double friction, double sliding,
                      double largest) {
  if (normal <= 1e-12 * largest) return ContactState::Separate;
  if (sliding < 0) return ContactState::Slide;  // without friction everything slides
  if (tangent < (1 - kBorder) * friction * normal) return ContactState::Stick;
  return sliding > kStill ? ContactState::Slide : ContactState::Floating;
}

/// Contacts of one solve; the answer's rows are in the order of its contacts.
void append(const Model& model, const Parameters& parameters, const SolveRecord& solve,
            std::vector<SeenContact>& out) {
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
    SeenContact c;
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
    c.impact = solve.kind == SolveKind::Impact;
    c.duration = solve.duration;
    const double* rows = solve.solution.lambda.data() + block.row;
    contact_impulse(block, solve.rows.friction, planar, rows, c.impulse, c.torque);
    const Law& law = problem.laws[static_cast<std::size_t>(block.block)];
    const double speed = sliding_speed(block, law, solve.rows.friction, solve.solution);
    const double normal = c.impulse.dot(c.normal);
    const double tangent = (c.impulse - normal * c.normal).norm();
    c.state = state_of(normal, tangent, block.material.friction, speed, largest);
    c.sliding_speed = std::max(speed, 0.0);
    out.push_back(std::move(c));
  }
}

/// Impacts, and of every interval the solve that was kept: rounds of a recursion or of Newton's
/// method follow each other, the last one is the answer.
std::vector<SeenContact> contacts_of(const Model& model, const Parameters& parameters,
                                     const StepRecord& record) {
  check_numbers(model, parameters);
  if (record.solves.empty())
    throw Error("record", "is empty: pass it to step() before asking for contacts");
  std::vector<const SolveRecord*> moves;
  for (const SolveRecord& solve : record.solves)
    if (solve.kind != SolveKind::Projection) moves.push_back(&solve);
  std::vector<SeenContact> out;
  for (std::size_t i = 0; i < moves.size(); ++i) {
    const bool replaced = i + 1 < moves.size() && moves[i]->kind != SolveKind::Impact &&
                          (moves[i + 1]->kind == SolveKind::Recursion ||
                           moves[i]->kind == SolveKind::Newton);
    if (replaced || moves[i]->solution.lambda.size() == 0) continue;
    append(model, parameters, *moves[i], out);
  }
  return out;
}

}  // namespace

void bind_contacts(nb::module_& m) {
  using C = SeenContact;
  const auto vector = [](const Vec3& x) { return to_numpy(VecX(x)); };
  nb::class_<C>(m, "Contact", "One contact of a step: who, where, how hard, and how it moves.")
      .def_ro("body_a", &C::body_a, "Name; the normal points to this one.")
      .def_ro("body_b", &C::body_b, "Name of the other.")
      .def_prop_ro(
          "point", [vector](const C& c) { return vector(c.point); }, nb::rv_policy::move,
          "Where, world axes [m].")
      .def_prop_ro(
          "normal", [vector](const C& c) { return vector(c.normal); }, nb::rv_policy::move,
          "Unit, from B to A.")
      .def_prop_ro(
          "impulse", [vector](const C& c) { return vector(c.impulse); }, nb::rv_policy::move,
          "On body A over `duration`, world axes [N s].")
      .def_prop_ro(
          "torque", [vector](const C& c) { return vector(c.torque); }, nb::rv_policy::move,
          "Rolling torque impulse on body A [N m s].")
      .def_prop_ro(
          "force",
          [vector](const C& c) {
            if (!(c.duration > 0))
              throw Error("contact.force", "an impact has an impulse and no force");
            return vector(c.impulse / c.duration);
          },
          nb::rv_policy::move,
          "Mean force on body A, impulse / duration [N].")
      .def_ro("gap", &C::gap, "At the start; negative: overlap [m].")
      .def_ro("duration", &C::duration, "Time the impulse acted [s]; 0: an impact.")
      .def_ro("sliding_speed", &C::sliding_speed, "Of A over B after the step [m/s].")
      .def_ro("state", &C::state, "Stick, slide, separate, or on a border.")
      .def_ro("impact", &C::impact, "Of a located impact, not of the interval.")
      .def("__repr__", [](const C& c) {
        return "Contact(" + c.body_a + " on " + c.body_b + ", " +
               std::string(name_of(c.state)) + ", normal impulse " +
               to_text(c.impulse.dot(c.normal)) + " N s)";
      });
  m.def("contacts", &contacts_of, nb::arg("model"), nb::arg("parameters"), nb::arg("record"),
        "All contacts of a recorded step, impacts first where they happened: a list of Contact.");
}

}  // namespace orthant::python
