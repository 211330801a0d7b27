// SPDX-License-Identifier: Apache-2.0
// python/src/bind_device.cpp: BatchProgram on NumPy arrays, in place; orthant/_device.py is its
// door.
#include "common.hpp"
#include "orthant/device/batch.hpp"

namespace orthant::python {

namespace {

using Numbers = nb::ndarray<double, nb::c_contig, nb::device::cpu>;
using ConstNumbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<const std::uint8_t, nb::c_contig, nb::device::cpu>;

std::span<double> span_of(const Numbers& x) { return {x.data(), x.size()}; }
std::span<const double> span_of(const ConstNumbers& x) { return {x.data(), x.size()}; }

}  // namespace

void bind_device(nb::module_& m) {
  nb::class_<BatchProgram>(
      m, "BatchProgram", "A model and settings as a batch of worlds runs them; see orthant.Batch.")
      .def(
          "__init__",
          [](BatchProgram* self, const Model& model, const StepSettings& settings, int max_sweeps,
             int max_rounds) {
            new (self) BatchProgram(model, settings, BatchSettings{max_sweeps, max_rounds});
          },
          nb::arg("model"), nb::arg("settings"), nb::arg("max_sweeps"), nb::arg("max_rounds"))
      .def_prop_ro("q_size", &BatchProgram::q_size)
      .def_prop_ro("v_size", &BatchProgram::v_size)
      .def_prop_ro("control_count", &BatchProgram::control_count)
      .def_prop_ro("parameter_count", &BatchProgram::parameter_count)
      .def_prop_ro("warm_size", &BatchProgram::warm_size)
      .def_prop_ro("contact_count", &BatchProgram::contact_count)
      .def("workspace_bytes", &BatchProgram::workspace_bytes, nb::arg("gradient"))
      .def_prop_ro("bytes",
                   [](const BatchProgram& p) {
                     return nb::bytes(reinterpret_cast<const char*>(p.bytes().data()),
                                      p.bytes().size());
                   })
      .def(
          "step",
          [](const BatchProgram& p, const Numbers& q, const Numbers& v, const Numbers& warm,
             const ConstNumbers& u, const ConstNumbers& parameters, const Numbers& report) {
            const nb::gil_scoped_release release;
            p.step(span_of(q), span_of(v), span_of(warm), span_of(u), span_of(parameters),
                   span_of(report));
          },
          nb::arg("q"), nb::arg("v"), nb::arg("warm"), nb::arg("u"), nb::arg("parameters"),
          nb::arg("report"))
      .def(
          "pull_back",
          [](const BatchProgram& p, const ConstNumbers& q, const ConstNumbers& v,
             const ConstNumbers& warm, const ConstNumbers& u, const ConstNumbers& parameters,
             const ConstNumbers& by_q_next, const ConstNumbers& by_v_next, const Numbers& by_q,
             const Numbers& by_v, const Numbers& by_u, const Numbers& by_parameters,
             const Bytes& wanted, const Numbers& certificate) {
            const nb::gil_scoped_release release;
            p.pull_back(span_of(q), span_of(v), span_of(warm), span_of(u), span_of(parameters),
                        span_of(by_q_next), span_of(by_v_next), span_of(by_q), span_of(by_v),
                        span_of(by_u), span_of(by_parameters), {wanted.data(), wanted.size()},
                        span_of(certificate));
          },
          nb::arg("q"), nb::arg("v"), nb::arg("warm"), nb::arg("u"), nb::arg("parameters"),
          nb::arg("by_q_next"), nb::arg("by_v_next"), nb::arg("by_q"), nb::arg("by_v"),
          nb::arg("by_u"), nb::arg("by_parameters"), nb::arg("wanted"), nb::arg("certificate"));
}

}  // namespace orthant::python
