// SPDX-License-Identifier: Apache-2.0
// python/src/bind_robot.cpp: Articulation, joint coordinates as a view of a model.
#include <nanobind/stl/pair.h>

#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/robot/articulation.hpp"
#include "orthant/robot/sensors.hpp"
#include "settings.hpp"
#include "state.hpp"

namespace orthant::python {
namespace {

using Values = std::vector<std::pair<std::string, double>>;

Values values_of(const nb::dict& positions) {
  Values out;
  for (const auto& [name, value] : positions)
    out.emplace_back(nb::cast<std::string>(name), nb::cast<double>(value));
  return out;
}

void check(const Articulation& a, const Parameters& p, const State& x) {
  validate(a.model(), p);
  validate(a.model(), x);
}

FrameTarget target_of(const std::string& frame, nb::handle value) {
  FrameTarget t;
  t.frame = frame;
  if (nb::isinstance<Pose>(value)) {
    const Pose& X = nb::cast<const Pose&>(value);
    t.position = X.x;
    t.orientation = X.p;
  } else {
    t.position = to_vec3(value, "targets['" + frame + "']");
  }
  return t;
}

/// Methods of (parameters, state, q) and more that return an array.
template <class F>
auto call(F f) {
  return [f](const Articulation& self, const Parameters& p, const StateHolder& x, nb::handle q) {
    check(self, p, x.get());
    return to_numpy(RowMatX(f(self, p, x.get(), to_vector(q, "q", self.q_size()))));
  };
}

auto vector(const Vec3& x) { return to_numpy(VecX(x)); }

struct NamedRay : RayReading {
  NamedRay(const Model& model, const RayReading& r) : RayReading(r) {
    if (!hits()) return;
    body_name = model.body(body).name;
    shape_name = model.shape(shape).name;
  }
  std::string body_name, shape_name;
};

void bind_sensors(nb::module_& m) {
  nb::class_<JointReading>(m, "JointReading",
                           "A joint after a step; efforts along its coordinate are means over it.")
      .def_ro("position", &JointReading::position, "Coordinate [m, rad].")
      .def_ro("velocity", &JointReading::velocity, "Its rate.")
      .def_ro("motor", &JointReading::motor, "Effort of servo or motor, within its limit [N, N m].")
      .def_ro("actuator", &JointReading::actuator, "Effort of its actuators [N, N m].")
      .def_ro("limit", &JointReading::limit, "Effort of the stops [N, N m].")
      .def_ro("friction", &JointReading::friction, "Effort of dry friction [N, N m].");
  nb::class_<FrameReading>(m, "FrameReading", "Pose and velocity of a frame, world axes.")
      .def_ro("pose", &FrameReading::pose, "Where it is.")
      .def_prop_ro(
          "velocity", [](const FrameReading& r) { return vector(r.velocity); }, nb::rv_policy::move,
          "Of its origin [m/s].")
      .def_prop_ro(
          "angular_velocity", [](const FrameReading& r) { return vector(r.angular_velocity); },
          nb::rv_policy::move, "[rad/s].");
  nb::class_<ImuReading>(m, "ImuReading", "An inertial measurement unit, in its own axes.")
      .def_prop_ro(
          "acceleration", [](const ImuReading& r) { return vector(r.acceleration); },
          nb::rv_policy::move, "Against free fall, mean over the step [m/s^2].")
      .def_prop_ro(
          "angular_velocity", [](const ImuReading& r) { return vector(r.angular_velocity); },
          nb::rv_policy::move, "[rad/s].");
  nb::class_<TouchReading>(m, "TouchReading", "What presses on a shape.")
      .def_prop_ro(
          "force", [](const TouchReading& r) { return vector(r.force); }, nb::rv_policy::move,
          "On the shape, world axes, mean over the step [N].")
      .def_ro("contacts", &TouchReading::contacts, "Contacts that press.")
      .def_ro("sliding", &TouchReading::sliding, "One of them at least slides.")
      .def_prop_ro("touches", &TouchReading::touches, "Anything presses.");
  nb::class_<NamedRay>(m, "RayReading", "What a ray meets first.")
      .def_prop_ro(
          "hits", [](const NamedRay& r) { return r.hits(); }, "Anything within reach.")
      .def_ro("distance", &NamedRay::distance, "Along the ray; infinite where nothing is [m].")
      .def_prop_ro(
          "point", [](const NamedRay& r) { return vector(r.point); }, nb::rv_policy::move,
          "World axes [m].")
      .def_prop_ro(
          "normal", [](const NamedRay& r) { return vector(r.normal); }, nb::rv_policy::move,
          "Outward, world axes.")
      .def_ro("body", &NamedRay::body_name, "Name; empty: nothing is met.")
      .def_ro("shape", &NamedRay::shape_name, "Name.");
  m.def(
      "cast_ray",
      [](const Model& model, const Parameters& p, const StateHolder& x, nb::handle origin,
         nb::handle direction, double reach) {
        validate(model, p);
        validate(model, x.get());
        return NamedRay(model, cast_ray(model, p, x.get(), to_vec3(origin, "origin"),
                                        to_vec3(direction, "direction"), {.reach = reach}));
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("state"), nb::arg("origin"),
      nb::arg("direction"), nb::arg("reach") = std::numeric_limits<double>::infinity(),
      "The first shape that a ray meets from outside.");
  m.def(
      "read_rays",
      [](const Model& model, const Parameters& p, const StateHolder& x, const std::string& frame,
         const nb::typed<nb::sequence, nb::object>& directions, double reach) {
        validate(model, p);
        validate(model, x.get());
        std::vector<Vec3> wanted;
        for (const nb::handle d : directions) wanted.push_back(to_vec3(d, "directions"));
        std::vector<NamedRay> out;
        for (const RayReading& r :
             read_rays(model, p, x.get(), find_frame_ref(model, frame), wanted, reach))
          out.emplace_back(model, r);
        return out;
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("state"), nb::arg("frame"),
      nb::arg("directions"), nb::arg("reach") = std::numeric_limits<double>::infinity(),
      "Rays from a frame, directions in its axes, without its own body: a list of RayReading.");
  m.def(
      "read_joints",
      [](const Model& model, const Parameters& p, const StepRecord& record) {
        nb::typed<nb::dict, nb::str, JointReading> out;
        const auto readings = read_joints(model, p, record);
        for (std::size_t i = 0; i < readings.size(); ++i)
          out[nb::str(model.joints()[i].name.c_str())] = nb::cast(readings[i]);
        return out;
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("record"),
      "JointReading by name, from a recorded step.");
  m.def(
      "read_frame",
      [](const Model& model, const StateHolder& x, const std::string& frame) {
        validate(model, x.get());
        return read_frame(model, x.get(), find_frame_ref(model, frame));
      },
      nb::arg("model"), nb::arg("state"), nb::arg("frame"), "Pose and velocity of a frame.");
  m.def(
      "read_imu",
      [](const Model& model, const Parameters& p, const StepRecord& record,
         const std::string& frame) {
        return read_imu(model, p, record, find_frame_ref(model, frame));
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("record"), nb::arg("frame"),
      "What an inertial unit at a frame reads in a recorded step.");
  m.def(
      "read_touch",
      [](const Model& model, const Parameters& p, const StepRecord& record,
         const std::string& shape) {
        (void)model.find_shape(shape);
        return read_touch(read_contacts(model, p, record), shape, record.after.t - record.before.t);
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("record"), nb::arg("shape"),
      "Force and state of all contacts of a shape in a recorded step.");
}

}  // namespace

void bind_robot(nb::module_& m) {
  bind_sensors(m);
  using A = Articulation;
  nb::enum_<CoordinateKind>(m, "CoordinateKind", "How a body moves against its parent.")
      .value("Weld", CoordinateKind::Weld)
      .value("Hinge", CoordinateKind::Hinge)
      .value("Slide", CoordinateKind::Slide)
      .value("Ball", CoordinateKind::Ball)
      .value("Planar", CoordinateKind::Planar)
      .value("Free", CoordinateKind::Free)
      .value("FreePlanar", CoordinateKind::FreePlanar);
  nb::class_<TreeJoint>(m, "TreeJoint", "Place of a joint in the coordinates.")
      .def_ro("name", &TreeJoint::name, "Of the joint; of a free body: the body's.")
      .def_ro("kind", &TreeJoint::kind, "How it moves.")
      .def_ro("q_begin", &TreeJoint::q_begin, "First coordinate.")
      .def_ro("q_size", &TreeJoint::q_size, "Coordinates.")
      .def_ro("u_begin", &TreeJoint::u_begin, "First speed.")
      .def_ro("u_size", &TreeJoint::u_size, "Speeds.")
      .def("__repr__", [](const TreeJoint& j) {
        return "TreeJoint(" + j.name + ", q[" + std::to_string(j.q_begin) + ":" +
               std::to_string(j.q_begin + j.q_size) + "])";
      });
  nb::class_<InverseKinematicsReport>(m, "InverseKinematicsReport", "How near it came.")
      .def_ro("reached", &InverseKinematicsReport::reached, "Below the tolerance.")
      .def_ro("iterations", &InverseKinematicsReport::iterations, "Steps tried.")
      .def_ro("error", &InverseKinematicsReport::error, "Norm of all errors [m, rad].")
      .def_ro("loop_error", &InverseKinematicsReport::loop_error, "Largest of a loop [m, rad].");

  nb::class_<A>(
      m, "Articulation",
      "Joint coordinates q and speeds u as a view of a model; bodies stay the state.\n\n"
      "Hinges and slides have one coordinate, free bodies the seven numbers of the state.\n"
      "docs/robots.md has the conventions.")
      .def(
          "__init__",
          [](A* self, const Model& model, std::optional<std::string> body) {
            if (body)
              new (self) A(model, *body);
            else
              new (self) A(model);
          },
          nb::arg("model"), nb::arg("body").none() = nb::none(), nb::keep_alive<1, 2>(),
          "All bodies that move, or those joined to `body`.")
      .def_prop_ro(
          "joints",
          [](const A& a) { return std::vector<TreeJoint>(a.joints().begin(), a.joints().end()); },
          "Parents before children.")
      .def_prop_ro("q_size", &A::q_size, "Coordinates.")
      .def_prop_ro("u_size", &A::u_size, "Speeds.")
      .def_prop_ro(
          "loops",
          [](const A& a) {
            std::vector<std::string> names;
            for (const JointId id : a.loops()) names.push_back(a.model().joint(id).name);
            return names;
          },
          "Names of joints that close loops or follow others.")
      .def(
          "positions",
          [](const A& a, const Parameters& p, const StateHolder& x) {
            check(a, p, x.get());
            return to_numpy(a.positions(p, x.get()));
          },
          nb::arg("parameters"), nb::arg("state"), "q of a state.")
      .def(
          "velocities",
          [](const A& a, const Parameters& p, const StateHolder& x) {
            check(a, p, x.get());
            return to_numpy(a.velocities(p, x.get()));
          },
          nb::arg("parameters"), nb::arg("state"), "u of a state.")
      .def(
          "write",
          [](const A& a, const Parameters& p, nb::handle q, nb::handle u, StateHolder& x) {
            check(a, p, x.get());
            State to = x.get();
            a.write(p, to_vector(q, "q", a.q_size()), to_vector(u, "u", a.u_size()), to);
            x.set(to);
          },
          nb::arg("parameters"), nb::arg("q"), nb::arg("u"), nb::arg("state"),
          "Puts the bodies of `state` where q and u say.")
      .def(
          "set_positions",
          [](const A& a, const Parameters& p, const nb::dict& values, StateHolder& x) {
            check(a, p, x.get());
            State to = x.get();
            a.set_positions(p, values_of(values), to);
            x.set(to);
          },
          nb::arg("parameters"), nb::arg("positions"), nb::arg("state"),
          "Hinges and slides by name; the others move by the least that closes the loops.")
      .def(
          "set_velocities",
          [](const A& a, const Parameters& p, const nb::dict& values, StateHolder& x) {
            check(a, p, x.get());
            State to = x.get();
            a.set_velocities(p, values_of(values), to);
            x.set(to);
          },
          nb::arg("parameters"), nb::arg("velocities"), nb::arg("state"),
          "Speeds of hinges and slides by name; loops stay closed.")
      .def(
          "integrate",
          [](const A& a, nb::handle q, nb::handle du) {
            return to_numpy(
                a.integrate(to_vector(q, "q", a.q_size()), to_vector(du, "du", a.u_size())));
          },
          nb::arg("q"), nb::arg("du"), "q moved by a change as speeds have it.")
      .def(
          "difference",
          [](const A& a, nb::handle to, nb::handle from) {
            return to_numpy(a.difference(to_vector(to, "to", a.q_size()),
                                         to_vector(from, "from_", a.q_size())));
          },
          nb::arg("to"), nb::arg("from_"), "du with integrate(from_, du) = to.")
      .def(
          "pose",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q,
             const std::string& frame) {
            check(a, p, x.get());
            return a.pose(p, x.get(), to_vector(q, "q", a.q_size()), a.frame(frame));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), nb::arg("frame"),
          "Where a frame (or a body's centre of mass) is.")
      .def(
          "jacobian",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q,
             const std::string& frame) {
            check(a, p, x.get());
            return to_numpy(
                RowMatX(a.jacobian(p, x.get(), to_vector(q, "q", a.q_size()), a.frame(frame))));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), nb::arg("frame"),
          "(6, u_size): velocity of the frame's origin, angular velocity; world axes.")
      .def(
          "jacobian_rate",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q, nb::handle u,
             const std::string& frame) {
            check(a, p, x.get());
            return to_numpy(a.jacobian_rate(p, x.get(), to_vector(q, "q", a.q_size()),
                                            to_vector(u, "u", a.u_size()), a.frame(frame)));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), nb::arg("u"), nb::arg("frame"),
          "Acceleration of the frame at constant u.")
      .def("mass", &A::mass, nb::arg("parameters"), "Of all bodies [kg].")
      .def(
          "center_of_mass",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q) {
            check(a, p, x.get());
            return to_numpy(VecX(a.center_of_mass(p, x.get(), to_vector(q, "q", a.q_size()))));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), "World axes [m].")
      .def("center_of_mass_jacobian",
           call([](const A& a, const Parameters& p, const State& x, const VecX& q) {
             return a.center_of_mass_jacobian(p, x, q);
           }),
           nb::arg("parameters"), nb::arg("state"), nb::arg("q"), "(3, u_size).")
      .def("loop_jacobian",
           call([](const A& a, const Parameters& p, const State& x, const VecX& q) {
             return a.loop_jacobian(p, x, q);
           }),
           nb::arg("parameters"), nb::arg("state"), nb::arg("q"),
           "Derivative of loop_error by speeds.")
      .def(
          "loop_error",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q) {
            check(a, p, x.get());
            return to_numpy(a.loop_error(p, x.get(), to_vector(q, "q", a.q_size())));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"),
          "How far the loops are open [m, rad].")
      .def("mass_matrix", call([](const A& a, const Parameters& p, const State& x, const VecX& q) {
             return a.mass_matrix(p, x, q);
           }),
           nb::arg("parameters"), nb::arg("state"), nb::arg("q"), "M(q), armature included.")
      .def(
          "bias",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q, nb::handle u) {
            check(a, p, x.get());
            return to_numpy(
                a.bias(p, x.get(), to_vector(q, "q", a.q_size()), to_vector(u, "u", a.u_size())));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), nb::arg("u"),
          "Gravity, Coriolis and centrifugal efforts.")
      .def(
          "inverse_dynamics",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q, nb::handle u,
             nb::handle acceleration) {
            check(a, p, x.get());
            return to_numpy(a.inverse_dynamics(p, x.get(), to_vector(q, "q", a.q_size()),
                                               to_vector(u, "u", a.u_size()),
                                               to_vector(acceleration, "a", a.u_size())));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), nb::arg("u"), nb::arg("a"),
          "tau = M a + bias.")
      .def(
          "forward_dynamics",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q, nb::handle u,
             nb::handle tau) {
            check(a, p, x.get());
            return to_numpy(a.forward_dynamics(p, x.get(), to_vector(q, "q", a.q_size()),
                                               to_vector(u, "u", a.u_size()),
                                               to_vector(tau, "tau", a.u_size())));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), nb::arg("u"), nb::arg("tau"),
          "a with M a + bias = tau; loops open.")
      .def(
          "inverse_dynamics_derivatives",
          [](const A& a, const Parameters& p, const StateHolder& x, nb::handle q, nb::handle u,
             nb::handle acceleration) {
            check(a, p, x.get());
            const auto d = a.inverse_dynamics_derivatives(p, x.get(), to_vector(q, "q", a.q_size()),
                                                          to_vector(u, "u", a.u_size()),
                                                          to_vector(acceleration, "a", a.u_size()));
            return nb::make_tuple(to_numpy(RowMatX(d.by_q)), to_numpy(RowMatX(d.by_u)));
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("q"), nb::arg("u"), nb::arg("a"),
          "Derivatives of inverse_dynamics by q (as integrate() moves it) and by u.")
      .def(
          "inverse_kinematics",
          [](const A& a, const Parameters& p, const StateHolder& x, const nb::dict& targets,
             nb::handle q, bool limits, double tolerance, int max_iterations, bool contacts,
             const nb::dict& gaps) {
            check(a, p, x.get());
            InverseKinematicsSettings settings{.max_iterations = max_iterations,
                                               .tolerance = tolerance,
                                               .limits = limits,
                                               .contacts = contacts};
            for (const auto& [pair, gap] : gaps) {
              const auto names = nb::cast<std::pair<std::string, std::string>>(pair);
              settings.gaps.push_back({names.first, names.second, nb::cast<double>(gap)});
            }
            std::vector<FrameTarget> wanted;
            for (const auto& [frame, value] : targets)
              wanted.push_back(target_of(nb::cast<std::string>(frame), value));
            VecX at = to_vector(q, "q", a.q_size());
            const auto report = a.inverse_kinematics(p, x.get(), wanted, at, settings);
            return nb::make_tuple(to_numpy(at), report);
          },
          nb::arg("parameters"), nb::arg("state"), nb::arg("targets"), nb::arg("q"),
          nb::arg("limits") = true, nb::arg("tolerance") = 1e-10, nb::arg("max_iterations") = 200,
          nb::arg("contacts") = false, nb::arg("gaps") = nb::dict(),
          "(q, report): q near the given one with frames where `targets` says, {frame: point or "
          "Pose}, and distances of shapes as `gaps` says, {(shape, other): gap}. `contacts`: no "
          "overlaps of shapes that can touch.");
}

}  // namespace orthant::python
