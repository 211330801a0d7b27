// SPDX-License-Identifier: Apache-2.0
// python/src/bind_model.cpp: Model, Parameters by name, State with views, WarmStart.
#include "orthant/model/model.hpp"

#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/shape/surface.hpp"
#include "settings.hpp"
#include "state.hpp"

namespace orthant::python {

void fields(Tag<Body>, auto&& field) {
  field("name", &Body::name, "As given.");
  field("uid", &Body::uid, "The body for ever, whatever its place.");
  field("motion", &Body::motion, "Fixed, planar, spatial or kinematic.");
  field("planar", &Body::planar, "Lives in the plane.");
  field("q_begin", &Body::q_begin, "First number in State.q.");
  field("q_size", &Body::q_size, "3 planar (x, y, theta), 7 spatial (x, y, z, quaternion wxyz).");
  field("v_begin", &Body::v_begin, "First number in State.v; -1: fixed.");
  field("v_size", &Body::v_size, "3 planar (vx, vy, omega), 6 spatial (linear, angular).");
}

namespace {

std::string state_text(const State& x) {
  return "State(t=" + to_text(x.t) + ", step=" + std::to_string(x.step) +
         ", q: " + std::to_string(x.q.size()) + " numbers, v: " + std::to_string(x.v.size()) +
         " numbers)";
}

void set_values(VecX& to, nb::handle x, const char* where) {
  to.noalias() = to_vector(x, where, static_cast<Index>(to.size()));
}

Index find_parameter(const Parameters& p, std::string_view name) {
  try {
    return p.table->find(name);
  } catch (const Error& e) {
    throw UnknownName(e.what());
  }
}

/// Turns the library's Error about a name into a KeyError.
template <class Find>
auto or_unknown(Find&& find) {
  try {
    return find();
  } catch (const Error& e) {
    throw UnknownName(e.what());
  }
}

nb::tuple parameters_state(const Parameters& p) {
  nb::list names, units;
  for (Index i = 0; i < p.table->size(); ++i) {
    names.append(p.table->name(i));
    units.append(p.table->unit(i));
  }
  return nb::make_tuple(names, units, to_numpy(std::span(p.table->initial_values())),
                        to_numpy(p.values));
}

Parameters parameters_from(const nb::tuple& state) {
  const auto names = nb::cast<std::vector<std::string>>(state[0]);
  const auto units = nb::cast<std::vector<std::string>>(state[1]);
  const VecX initial = to_vector(state[2], "initial", static_cast<Index>(names.size()));
  auto table = std::make_shared<ParameterTable>();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t dot = names[i].find('.');  // any dot will do: find() tries them all
    table->add(names[i].substr(0, dot), names[i].substr(dot + 1),
               initial[static_cast<Eigen::Index>(i)], units.at(i));
  }
  table->seal();
  return {to_vector(state[3], "values", static_cast<Index>(names.size())), std::move(table)};
}

void bind_parameters(nb::module_& m) {
  nb::class_<Parameters>(
      m, "Parameters",
      "Every number of a model one can set, fit or differentiate by; a mapping by name.\n\n"
      "`parameters[\"body/ball.mass\"] = 2.0` [kg]; `parameters.values` is all of them, a view.")
      .def_prop_rw(
          "values",
          [](nb::handle_t<Parameters> p) { return view(nb::cast<Parameters&>(p).values, p); },
          [](Parameters& p, nb::object x) { set_values(p.values, x, "parameters.values"); },
          "All numbers, a writable view; units: unit(name).")
      .def(
          "__getitem__",
          [](const Parameters& p, std::string_view name) {
            return p.values[find_parameter(p, name)];
          },
          nb::arg("name"))
      .def(
          "__setitem__",
          [](Parameters& p, std::string_view name, double x) {
            p.values[find_parameter(p, name)] = x;
          },
          nb::arg("name"), nb::arg("value"))
      .def(
          "__contains__",
          [](const Parameters& p, nb::object name) {
            std::string_view text;
            return nb::try_cast(name, text) && p.table->contains(text);
          },
          nb::arg("name"))
      .def("__len__", [](const Parameters& p) { return p.values.size(); })
      .def(
          "keys",
          [](const Parameters& p) {
            std::vector<std::string> names;
            for (Index i = 0; i < p.table->size(); ++i) names.push_back(p.table->name(i));
            return names;
          },
          "All names, in order of `values`.")
      .def("index", &find_parameter, nb::arg("name"), "Place of a name in `values`.")
      .def(
          "unit",
          [](const Parameters& p, std::string_view name) {
            return p.table->unit(find_parameter(p, name));
          },
          nb::arg("name"), "Unit of a parameter, e.g. \"kg\".")
      .def(
          "copy", [](const Parameters& p) { return p; }, "Independent numbers, same names.")
      .def("__copy__", [](const Parameters& p) { return p; })
      .def(
          "__deepcopy__", [](const Parameters& p, nb::handle) { return p; }, nb::arg("memo"))
      .def("__getstate__", &parameters_state)
      .def("__setstate__",
           [](Parameters& p, const nb::tuple& state) {
             new (&p) Parameters(parameters_from(state));
           })
      .def("__repr__", [](const Parameters& p) {
        return "Parameters(" + std::to_string(p.values.size()) + " numbers)";
      });
}

void bind_state(nb::module_& m) {
  using S = StateHolder;
  const auto make = [](nb::handle q, nb::handle v, double t, std::int64_t step,
                       std::array<std::uint64_t, 2> rng) {
    return S(State{to_vector(q, "q"), to_vector(v, "v"), t, step, rng});
  };
  nb::class_<S>(
      m, "State",
      "All that is needed to resume a run. q and v are writable views.\n\n"
      "Planar body: q = (x, y, theta), v = (vx, vy, omega); spatial: q = (x, y, z, qw, qx, "
      "qy, qz), v = (linear, angular), world axes, at the centre of mass [m, rad, s].")
      .def(
          "__init__",
          [make](S* self, nb::object q, nb::object v, double t, std::int64_t step) {
            new (self) S(make(q, v, t, step, {0, 0}));
          },
          nb::arg("q"), nb::arg("v"), nb::arg("t") = 0.0, nb::arg("step") = 0)
      .def_prop_rw(
          "q", [](nb::handle_t<S> s) { return view(nb::cast<S&>(s).views().q, s); },
          [](S& s, nb::object x) { set_values(s.views().q, x, "state.q"); },
          "Configuration [m, rad, unit quaternions].")
      .def_prop_rw(
          "v", [](nb::handle_t<S> s) { return view(nb::cast<S&>(s).views().v, s); },
          [](S& s, nb::object x) { set_values(s.views().v, x, "state.v"); },
          "Velocities [m/s, rad/s].")
      .def_prop_rw(
          "t", [](const S& s) { return s.get().t; }, [](S& s, double t) { s.views().t = t; },
          "Time [s].")
      .def_prop_rw(
          "step", [](const S& s) { return s.get().step; },
          [](S& s, std::int64_t step) { s.views().step = step; }, "Steps done.")
      .def(
          "copy", [](const S& s) { return s; }, "An independent state.")
      .def("__copy__", [](const S& s) { return s; })
      .def(
          "__deepcopy__", [](const S& s, nb::handle) { return s; }, nb::arg("memo"))
      .def("__getstate__",
           [](const S& s) {
             const State& x = s.get();
             return nb::make_tuple(to_numpy(x.q), to_numpy(x.v), x.t, x.step, x.rng[0], x.rng[1]);
           })
      .def("__setstate__",
           [make](S& s, const nb::tuple& d) {
             new (&s) S(make(d[0], d[1], nb::cast<double>(d[2]), nb::cast<std::int64_t>(d[3]),
                             {nb::cast<std::uint64_t>(d[4]), nb::cast<std::uint64_t>(d[5])}));
           })
      .def("__repr__", [](const S& s) { return state_text(s.get()); });
}

nb::tuple warm_state(const WarmStart& w) {
  std::vector<std::int64_t> keys;
  std::vector<double> values;
  for (const WarmStart::Entry& e : w.contacts) {
    const ContactKey& k = e.key;
    for (const std::int64_t x :
         {std::int64_t{k.body_a}, std::int64_t{k.body_b}, std::int64_t{k.shape_a},
          std::int64_t{k.shape_b}, std::int64_t{k.feature}, std::int64_t{k.image[0]},
          std::int64_t{k.image[1]}, std::int64_t{k.image[2]}})
      keys.push_back(x);
    for (const Vec3* v : {&e.impulse_W, &e.torque_W, &e.normal_W, &e.point_W})
      values.insert(values.end(), v->begin(), v->end());
  }
  return nb::make_tuple(keys, values, to_numpy(w.joints));
}

WarmStart warm_from(const nb::tuple& state) {
  const auto keys = nb::cast<std::vector<std::int64_t>>(state[0]);
  const auto values = nb::cast<std::vector<double>>(state[1]);
  const std::size_t n = keys.size() / 8;
  if (keys.size() != 8 * n || values.size() != 12 * n)
    throw Error("warm start", "the pickled data do not fit together");
  WarmStart w;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t* k = keys.data() + 8 * i;
    const double* x = values.data() + 12 * i;
    WarmStart::Entry e;
    e.key = {static_cast<BodyUid>(k[0]),
             static_cast<BodyUid>(k[1]),
             static_cast<std::uint16_t>(k[2]),
             static_cast<std::uint16_t>(k[3]),
             static_cast<std::uint32_t>(k[4]),
             {static_cast<std::int8_t>(k[5]), static_cast<std::int8_t>(k[6]),
              static_cast<std::int8_t>(k[7])}};
    e.impulse_W = Vec3::Map(x);
    e.torque_W = Vec3::Map(x + 3);
    e.normal_W = Vec3::Map(x + 6);
    e.point_W = Vec3::Map(x + 9);
    w.contacts.push_back(e);
  }
  w.joints = to_vector(state[2], "joints");
  return w;
}

nb::object slice_of(Index begin, Index size) {
  return nb::steal(PySlice_New(nb::int_(begin).ptr(), nb::int_(begin + size).ptr(), nullptr));
}

const Body& body_named(const Model& model, std::string_view name) {
  const BodyId id = or_unknown([&] { return model.find_body(name); });
  if (id == kWorld) throw Error("body 'world'", "never moves and has no numbers");
  return model.body(id);
}

/// What a picture of the shapes needs: (body, kind, dim, numbers, place, triangles of a hull). The
/// numbers of a hull or mesh in space are its corners.
nb::list shapes_of(const Model& model, const Parameters& p) {
  nb::list out;
  for (const ShapeInstance& s : model.shapes()) {
    const double* values = p.values.data();
    const Pose X = frame_pose(s.planar(), values + s.offset_begin);
    const double* own = values + s.parameter_begin;
    std::vector<double> numbers(own, own + s.shape.parameter_count());
    Surface surface;
    if ((s.shape.kind() == ShapeKind::Hull && s.shape.dim() == 3) ||
        s.shape.kind() == ShapeKind::SuperEllipsoid || s.shape.kind() == ShapeKind::Mesh) {
      surface = surface_of(s.shape.view(own));
      numbers = std::move(surface.corners);
    }
    out.append(nb::make_tuple(index_of(s.body), s.shape.kind(), s.shape.dim(),
                              to_numpy(std::span<const double>(numbers)), to_numpy(VecX(X.x)),
                              to_numpy(VecX(Eigen::Vector4d(X.p.w, X.p.x, X.p.y, X.p.z))),
                              surface.triangles));
  }
  return out;
}

void bind_model_class(nb::module_& m) {
  bind_report<Body>(m, "Body", "A body of a model: its name and where its numbers are.");
  // Attributes of its own: the recipe by which it is pickled.
  nb::class_<Model>(m, "Model",
                    "The const topology of a world; built by ModelBuilder. Its numbers live in "
                    "Parameters and State.",
                    nb::dynamic_attr())
      .def_prop_ro(
          "bodies",
          [](const Model& model) {
            return std::vector<Body>(model.bodies().begin(), model.bodies().end());
          },
          "All bodies, in order.")
      .def_prop_ro(
          "actuator_names",
          [](const Model& model) {
            std::vector<std::string> names;
            for (const Actuator& a : model.actuators()) names.push_back(a.name);
            return names;
          },
          "In the order of the controls u.")
      .def_prop_ro(
          "joint_names",
          [](const Model& model) {
            std::vector<std::string> names;
            for (const Joint& j : model.joints()) names.push_back(j.name);
            return names;
          },
          "In order.")
      .def_prop_ro(
          "flexible_parts",
          [](const Model& model) {
            return std::vector<FlexiblePart>(model.flexible_parts().begin(),
                                             model.flexible_parts().end());
          },
          "All flexible parts, in order.")
      .def("body", &body_named, nb::arg("name"), nb::rv_policy::copy, "A body by name.")
      .def(
          "q_slice",
          [](const Model& model, std::string_view name) {
            const Body& b = body_named(model, name);
            return slice_of(b.q_begin, b.q_size);
          },
          nb::arg("name"), nb::sig("def q_slice(self, name: str) -> slice"),
          "Where a body's numbers are in State.q.")
      .def(
          "v_slice",
          [](const Model& model, std::string_view name) {
            const Body& b = body_named(model, name);
            if (b.v_begin == kNone) throw Error("body '" + b.name + "'", "is fixed: no velocity");
            return slice_of(b.v_begin, b.v_size);
          },
          nb::arg("name"), nb::sig("def v_slice(self, name: str) -> slice"),
          "Where a body's numbers are in State.v.")
      .def(
          "control_index",
          [](const Model& model, std::string_view name) {
            return or_unknown([&] { return model.find_actuator(name); });
          },
          nb::arg("name"), "Place of an actuator in the controls u.")
      .def_prop_ro("q_size", &Model::q_size, "Numbers in State.q.")
      .def_prop_ro("v_size", &Model::v_size, "Numbers in State.v.")
      .def_prop_ro("dynamic_v_size", &Model::dynamic_v_size, "Without kinematic bodies.")
      .def_prop_ro("control_count", &Model::control_count, "Numbers in u.")
      .def_prop_ro("bilateral_count", &Model::bilateral_count, "Rows of joints and motors.")
      .def_prop_ro("planar", &Model::planar, "All bodies are planar.")
      .def_prop_ro("law", &Model::law, "Inertial or overdamped.")
      .def("default_parameters", &Model::default_parameters, "The numbers given to the builder.")
      .def(
          "rest_state", [](const Model& model) { return StateHolder(model.rest_state()); },
          "The configuration and velocities the bodies were given.")
      .def("__repr__", [](const Model& model) {
        return "Model(" + std::to_string(model.bodies().size()) + " bodies, " +
               std::to_string(model.joints().size()) + " joints, " +
               std::to_string(model.actuators().size()) + " actuators)";
      });
}

void check_tangent(const Model& model, const VecX& q, const char* where) {
  if (q.size() != model.q_size())
    throw Error(where, "expected " + std::to_string(model.q_size()) + " values, got " +
                           std::to_string(q.size()));
}

}  // namespace

void bind_model(nb::module_& m) {
  nb::enum_<Motion>(m, "Motion", "How a body moves.")
      .value("Fixed", Motion::Fixed, "has a pose, no velocity")
      .value("Planar", Motion::Planar, "q = (x, y, theta)")
      .value("Spatial", Motion::Spatial, "q = (x, y, z, quaternion wxyz)")
      .value("Kinematic", Motion::Kinematic, "moves as its velocity says, whatever pushes it");
  nb::enum_<LawOfMotion>(m, "LawOfMotion", "Whether bodies have inertia or drag alone.")
      .value("Inertial", LawOfMotion::Inertial)
      .value("Overdamped", LawOfMotion::Overdamped);
  bind_parameters(m);
  bind_state(m);
  nb::class_<WarmStart>(
      m, "WarmStart",
      "Last impulses by contact: in and out of a step, needed to resume bit for bit.")
      .def(nb::init<>())
      .def("__len__", [](const WarmStart& w) { return w.contacts.size(); })
      .def(
          "copy", [](const WarmStart& w) { return w; }, "An independent one.")
      .def(
          "clear", [](WarmStart& w) { w = {}; }, "Forgets everything.")
      .def("__getstate__", &warm_state)
      .def("__setstate__",
           [](WarmStart& w, const nb::tuple& d) { new (&w) WarmStart(warm_from(d)); });
  bind_model_class(m);
  m.def(
      "validate", [](const Model& model, const StateHolder& x) { validate(model, x.get()); },
      nb::arg("model"), nb::arg("state"), "Throws Error unless sizes agree and all is finite.");
  m.def(
      "validate",
      [](const Model& model, const Parameters& p) {
        if (p.values.size() != model.parameter_table().size())
          throw Error("parameters", "belong to another model");
        validate(model, p);
      },
      nb::arg("model"), nb::arg("parameters"), "Throws Error when a value breaks the rules.");
  m.def(
      "shapes_of",
      [](const Model& model, const Parameters& p) {
        if (p.values.size() != model.parameter_table().size())
          throw Error("parameters", "belong to another model");
        return shapes_of(model, p);
      },
      nb::arg("model"), nb::arg("parameters"),
      nb::sig("def shapes_of(model: Model, parameters: Parameters) -> list[typing.Any]"));
  m.def(
      "boxplus",
      [](const Model& model, nb::object q, nb::object delta) {
        const VecX from = to_vector(q, "q", model.q_size());
        VecX out;
        boxplus(model, from, to_vector(delta, "delta", model.v_size()), out);
        return to_numpy(std::move(out));
      },
      nb::arg("model"), nb::arg("q"), nb::arg("delta"),
      "q moved by a tangent (as State.v times s).");
  m.def(
      "boxminus",
      [](const Model& model, nb::object to, nb::object from) {
        const VecX a = to_vector(to, "to"), b = to_vector(from, "from_");
        check_tangent(model, a, "to");
        check_tangent(model, b, "from_");
        VecX out;
        boxminus(model, a, b, out);
        return to_numpy(std::move(out));
      },
      nb::arg("model"), nb::arg("to"), nb::arg("from_"), "The tangent from one q to another.");
}

}  // namespace orthant::python
