// SPDX-License-Identifier: Apache-2.0
// python/src/bind_fluid.cpp: bodies that move each other through a viscous fluid.
#include "batch.hpp"
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/force/rpy.hpp"
#include "orthant/step/fluid.hpp"
#include "state.hpp"
#include "workspace_pool.hpp"

namespace orthant::python {
namespace {

StepReport python_step_in_fluid(const Model& model, const Parameters& parameters,
                                const StepSettings& settings, StateHolder& state, double viscosity,
                                WarmStart* warm, nb::object u, double tolerance,
                                Index direct_up_to) {
  if (!(viscosity > 0)) throw Error("viscosity", "must be > 0");
  const Fluid fluid{.viscosity = viscosity, .tolerance = tolerance, .direct_up_to = direct_up_to};
  const VecX controls = u.is_none() ? VecX() : to_vector(u, "u", model.control_count());
  check_numbers(model, parameters);
  WorkspaceLease lease;
  lease.state() = state.get();
  WarmStart fresh;
  StepReport report;
  {
    const nb::gil_scoped_release release;
    report = step_in_fluid(model, parameters, settings, fluid, controls, lease.state(),
                           warm != nullptr ? *warm : fresh, lease.workspace());
  }
  state.set(lease.state());
  return report;
}

RpyMobility make_mobility(nb::handle centres, nb::handle radii, double viscosity, double tolerance,
                          Index direct_up_to, nb::object box) {
  const RowMatX x = to_matrix(centres, "centres", kAny, 3);
  const VecX a = to_vector(radii, "radii", x.rows());
  RpySettings settings{
      .viscosity = viscosity, .tolerance = tolerance, .direct_up_to = direct_up_to};
  if (!box.is_none()) {
    const RowMatX corners = to_matrix(box, "box", 2, 3);
    settings.box = {Vec3(corners.row(0)), Vec3(corners.row(1))};
  }
  std::vector<Vec3> places;
  for (Index i = 0; i < x.rows(); ++i) places.emplace_back(x.row(i));
  return {std::move(places), std::vector<double>(a.data(), a.data() + a.size()), settings};
}

}  // namespace

void bind_fluid(nb::module_& m) {
  m.def("step_in_fluid", &python_step_in_fluid, nb::arg("model"), nb::arg("parameters"),
        nb::arg("settings"), nb::arg("state"), nb::arg("viscosity"),
        nb::arg("warm").none() = nb::none(), nb::arg("u") = nb::none(),
        nb::arg("tolerance") = Fluid{}.tolerance, nb::arg("direct_up_to") = Fluid{}.direct_up_to,
        nb::sig("def step_in_fluid(model: Model, parameters: Parameters, settings: StepSettings, "
                "state: State, viscosity: float, warm: WarmStart | None = None, u: object | None = "
                "None, tolerance: float = 1e-05, direct_up_to: int = 8192) -> StepReport"),
        "step() of an overdamped model whose bodies move each other through a fluid of this "
        "viscosity [Pa s], as spheres whose own drag is the model's; contact forces act through it "
        "as well. `tolerance`, `direct_up_to`: as in RpyMobility. No gradients.");
  nb::class_<RpyMobility>(
      m, "RpyMobility",
      "Mobility of spheres in a viscous fluid after Rotne, Prager and Yamakawa: u = M f.")
      .def(
          "__init__",
          [](RpyMobility* self, nb::handle centres, nb::handle radii, double viscosity,
             double tolerance, Index direct_up_to, nb::object box) {
            new (self)
                RpyMobility(make_mobility(centres, radii, viscosity, tolerance, direct_up_to, box));
          },
          nb::arg("centres"), nb::arg("radii"), nb::kw_only(), nb::arg("viscosity") = 1.0,
          nb::arg("tolerance") = RpySettings{}.tolerance,
          nb::arg("direct_up_to") = RpySettings{}.direct_up_to, nb::arg("box") = nb::none(),
          "centres: (n, 3) [m]; radii: n [m]; viscosity [Pa s]. tolerance: of sums that are split, "
          "beyond `direct_up_to` spheres or in a periodic `box` (lower and upper corner); below "
          "1e-9 all sums are exact to rounding.")
      .def(
          "apply",
          [](const RpyMobility& self, nb::handle forces) {
            const RowMatX f = to_matrix(forces, "forces", self.count(), 3);
            VecX u;
            {
              const nb::gil_scoped_release release;
              self.apply(Eigen::Map<const VecX>(f.data(), f.size()), u);
            }
            return to_numpy(RowMatX(Eigen::Map<const RowMatX>(u.data(), f.rows(), 3)));
          },
          nb::arg("forces"), "Velocities (n, 3) [m/s] under forces (n, 3) [N].")
      .def_prop_ro("count", &RpyMobility::count, "Spheres.")
      .def_prop_ro("is_direct", &RpyMobility::is_direct,
                   "Sums over pairs or plain Ewald sums, exact to rounding.");
}

}  // namespace orthant::python
