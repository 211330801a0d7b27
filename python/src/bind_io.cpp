// SPDX-License-Identifier: Apache-2.0
// python/src/bind_io.cpp: scene files (YAML, URDF) => model, parameters, state, settings.
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/scene.hpp"
#include "state.hpp"

namespace orthant::python {

void bind_io(nb::module_& m) {
  nb::class_<LoadedScene>(m, "LoadedScene", "A scene file, read: all that a run needs.")
      .def_ro("name", &LoadedScene::name, "Of the scene.")
      .def_ro("description", &LoadedScene::description, "Of the scene.")
      .def_ro("model", &LoadedScene::model, "The const topology.")
      .def_ro("notes", &LoadedScene::notes, "What was read and not used, or approximated.")
      .def_ro("steps", &LoadedScene::steps, "Length of the run.")
      .def_prop_ro(
          "parameters", [](const LoadedScene& s) { return s.parameters; }, "A copy.")
      .def_prop_ro(
          "state", [](const LoadedScene& s) { return StateHolder(s.state); }, "A copy.")
      .def_prop_ro(
          "settings", [](const LoadedScene& s) { return s.settings; }, "A copy.")
      .def(
          "controls",
          [](const LoadedScene& s, std::int64_t steps) {
            if (steps < 0) throw Error("steps", "must be >= 0, got " + std::to_string(steps));
            RowMatX u(steps, s.model.control_count());
            VecX row;
            double t = s.state.t;  // summed up as the steps of a run do
            for (std::int64_t i = 0; i < steps; ++i, t += s.settings.h) {
              s.controls_at(t, row);
              u.row(i) = row.transpose();
            }
            return to_numpy(std::move(u));
          },
          nb::arg("steps"), nb::sig("def controls(self, steps: int) -> NDArray[numpy.float64]"),
          "u of the scene, (steps, control_count), for rollout().")
      .def("__repr__", [](const LoadedScene& s) {
        return "LoadedScene('" + s.name + "', " + std::to_string(s.model.bodies().size()) +
               " bodies, " + std::to_string(s.steps) + " steps)";
      });
  m.def(
      "load_scene",
      [](const std::string& path, const std::vector<std::string>& set) {
        const nb::gil_scoped_release release;
        LoadedScene scene = load_scene(path, {.set = set});
        need_plain_steps(scene, "Python");
        return scene;
      },
      nb::arg("path"), nb::arg("set") = std::vector<std::string>{});
  m.def(
      "parse_scene",
      [](const std::string& text, const std::string& name) {
        const nb::gil_scoped_release release;
        LoadedScene scene = parse_scene(text, name, {.read_files = false});
        need_plain_steps(scene, "Python");
        return scene;
      },
      nb::arg("text"), nb::arg("name") = "scene",
      "A scene from memory; it may not read other files.");
}

}  // namespace orthant::python
