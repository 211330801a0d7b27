// SPDX-License-Identifier: Apache-2.0
// python/src/module.cpp: the extension module orthant._core, room by room; exceptions; threads.
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/base/version.hpp"

namespace orthant::python {

void bind_device(nb::module_& m);
void bind_fluid(nb::module_& m);
void bind_robot(nb::module_& m);
void bind_identify(nb::module_& m);

namespace {

PyObject* g_error = nullptr;         // orthant.Error, for ever
PyObject* g_unknown_name = nullptr;  // orthant.UnknownName

void bind_errors(nb::module_& m) {
  g_error = PyErr_NewExceptionWithDoc("orthant.Error",
                                      "Bad input: names the object, the rule and the value.",
                                      PyExc_ValueError, nullptr);
  m.attr("Error") = nb::borrow(g_error);
  const nb::tuple bases = nb::make_tuple(nb::borrow(g_error), nb::borrow(PyExc_KeyError));
  g_unknown_name = PyErr_NewExceptionWithDoc(
      "orthant.UnknownName", "A name that does not exist, with the nearest spelling.", bases.ptr(),
      nullptr);
  // KeyError prints its message in quotes; this one is a sentence.
  nb::borrow(g_unknown_name).attr("__str__") = nb::borrow(PyExc_BaseException).attr("__str__");
  m.attr("UnknownName") = nb::borrow(g_unknown_name);
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const Error& e) {
      PyErr_SetString(g_error, e.what());
    } catch (const UnknownName& e) {
      PyErr_SetString(g_unknown_name, e.what());
    }
  });
}

}  // namespace

NB_MODULE(_core, m) {
  // An autograd graph that lives until the interpreter ends is no leak of ours; nothing is printed.
  nb::set_leak_warnings(false);
  m.doc() = "The C++ library, as it is; the package orthant is the door.";
  m.attr("__version__") = version();
  bind_errors(m);
  m.def("set_thread_count", &set_thread_count, nb::arg("threads"),
        "Threads the library may use from now on, in this process; 0: all cores. Default 1.");
  m.def("thread_count", &thread_count, "Threads the library may use.");
  bind_problem(m);
  bind_solver(m);
  bind_flexible_part(m);
  bind_model(m);
  bind_builder(m);
  bind_step(m);
  bind_fluid(m);
  bind_batch(m);
  bind_device(m);
  bind_gradient(m);
  bind_rollout_gradient(m);
  bind_learn(m);
  bind_io(m);
  bind_contacts(m);
  bind_problem_batch(m);
  bind_optimise(m);
  bind_robot(m);
  bind_identify(m);
}

}  // namespace orthant::python
