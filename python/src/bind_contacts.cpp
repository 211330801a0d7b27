// SPDX-License-Identifier: Apache-2.0
// python/src/bind_contacts.cpp: the record of a step => its contacts with impulses and states; its
// warm start => the forces.
#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/robot/sensors.hpp"
#include "orthant/step/simulation.hpp"
#include "settings.hpp"

namespace orthant::python {
namespace {

/// ContactForce with names of its own: an object of Python may outlive the model.
struct Force {
  std::string a, b;
  Vec3 point, normal, force;
};

}  // namespace

void bind_contacts(nb::module_& m) {
  using C = ContactReading;
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
          nb::rv_policy::move, "Mean force on body A, impulse / duration [N].")
      .def_ro("shape_a", &C::shape_a, "Name; empty: a flexible part.")
      .def_ro("shape_b", &C::shape_b, "Name of the other.")
      .def_ro("friction", &C::friction, "Coefficient [-].")
      .def_ro("gap", &C::gap, "At the start; negative: overlap [m].")
      .def_ro("duration", &C::duration, "Time the impulse acted [s]; 0: an impact.")
      .def_ro("sliding_speed", &C::sliding_speed, "Of A over B after the step [m/s].")
      .def_ro("state", &C::state, "Stick, slide, separate, or on a border.")
      .def_ro("impact", &C::impact, "Of a located impact, not of the interval.")
      .def("__repr__", [](const C& c) {
        return "Contact(" + c.body_a + " on " + c.body_b + ", " + std::string(name_of(c.state)) +
               ", normal impulse " + to_text(c.impulse.dot(c.normal)) + " N s)";
      });
  m.def(
      "contacts",
      [](const Model& model, const Parameters& parameters, const StepRecord& record) {
        check_numbers(model, parameters);
        return read_contacts(model, parameters, record);
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("record"),
      "All contacts of a recorded step, impacts first where they happened: a list of Contact.");

  using F = Force;
  nb::class_<F>(m, "ContactForce", "One point where two bodies pressed on each other in a step.")
      .def_prop_ro(
          "body_a", [](const F& f) { return f.a; }, "Name; the normal points to it.")
      .def_prop_ro(
          "body_b", [](const F& f) { return f.b; }, "Name of the other.")
      .def_prop_ro(
          "point", [vector](const F& f) { return vector(f.point); }, nb::rv_policy::move,
          "Where, world axes [m].")
      .def_prop_ro(
          "normal", [vector](const F& f) { return vector(f.normal); }, nb::rv_policy::move,
          "Unit, from B to A.")
      .def_prop_ro(
          "force", [vector](const F& f) { return vector(f.force); }, nb::rv_policy::move,
          "On body A, mean over the step, world axes [N].");
  m.def(
      "contact_forces",
      [](const Model& model, const WarmStart& warm, double h) {
        std::vector<F> out;
        for (const ContactForce& f : contact_forces(model, warm, h))
          out.push_back({std::string(f.a), std::string(f.b), f.point, f.normal, f.force});
        return out;
      },
      nb::arg("model"), nb::arg("warm"), nb::arg("h"),
      "Where bodies pressed on each other in the step of length h that left this warm start, at "
      "any accuracy.");
}

}  // namespace orthant::python
