// SPDX-License-Identifier: Apache-2.0
// python/src/bind_builder.cpp: shapes and ModelBuilder; forces written in Python.
// A Python force gets copies of q and v and an array of its own to fill: nothing it keeps can
// outlive its memory. What it raises stops the step and comes out of it.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/trampoline.h>

#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/force/field.hpp"
#include "orthant/model/division.hpp"
#include "orthant/model/model_builder.hpp"
#include "state.hpp"

namespace orthant::python {

void bind_flexible(nb::module_& m, nb::class_<ModelBuilder>& c);  // bind_flexible.cpp

namespace {

Quat to_quat(nb::handle x, const char* where) {
  const VecX p = to_vector(x, where, 4);
  return {p[0], p[1], p[2], p[3]};
}

std::vector<double> to_doubles(nb::handle x, const char* where) {
  const VecX v = to_vector(x, where);
  return {v.begin(), v.end()};
}

/// The Python object of a model where it has one, so that what a callback keeps stays alive.
nb::object model_object(const Model& model) {
  nb::object known = nb::find(model);
  return known.is_valid() ? known : nb::cast(Model(model));
}

class PythonForce : public ForceCallback {
 public:
  NB_TRAMPOLINE(ForceCallback, 3);

  void add_force(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                 double t, VecX& f) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "add_force", true);
    const nb::object out = nb_trampoline.base().attr(ticket.key)(
        model_object(model), Parameters(parameters), to_numpy(q), to_numpy(v), t);
    if (out.is_none()) return;
    // The library asks for the dynamic bodies only; Python may answer for State.v.
    const VecX given = to_vector(out, "ForceCallback.add_force");
    if (given.size() < f.size() || given.size() > v.size())
      throw Error("ForceCallback.add_force", "expected " + std::to_string(v.size()) +
                                                 " values like State.v, got " +
                                                 std::to_string(given.size()));
    if (!given.allFinite()) throw Error("ForceCallback.add_force", "must be finite");
    f += given.head(f.size());
  }

  double potential(const Model& model, const Parameters& parameters, const VecX& q,
                   double t) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "potential", false);
    if (!ticket.key.is_valid()) return 0;
    return nb::cast<double>(nb_trampoline.base().attr(ticket.key)(
        model_object(model), Parameters(parameters), to_numpy(q), t));
  }

  bool derivatives(const Model& model, const Parameters& parameters, const VecX& q, const VecX& v,
                   double t, std::span<double> f_q, std::span<double> f_v) const override {
    const nb::gil_scoped_acquire gil;
    const nb::detail::ticket ticket(nb_trampoline, "derivatives", false);
    if (!ticket.key.is_valid()) return false;
    const nb::object out = nb_trampoline.base().attr(ticket.key)(
        model_object(model), Parameters(parameters), to_numpy(q), to_numpy(v), t);
    if (out.is_none()) return false;
    const auto n = static_cast<Index>(std::lround(std::sqrt(static_cast<double>(f_q.size()))));
    const nb::tuple both = nb::cast<nb::tuple>(out);
    const RowMatX by_q = to_matrix(both[0], "ForceCallback.derivatives: f_q", n, n);
    const RowMatX by_v = to_matrix(both[1], "ForceCallback.derivatives: f_v", n, n);
    std::copy_n(by_q.data(), f_q.size(), f_q.data());
    std::copy_n(by_v.data(), f_v.size(), f_v.data());
    return true;
  }
};

void bind_shape(nb::module_& m) {
  nb::enum_<ShapeKind>(m, "ShapeKind", "The kinds of shapes.")
      .value("Sphere", ShapeKind::Sphere)
      .value("Capsule", ShapeKind::Capsule)
      .value("Box", ShapeKind::Box)
      .value("Hull", ShapeKind::Hull)
      .value("HalfSpace", ShapeKind::HalfSpace)
      .value("Ellipsoid", ShapeKind::Ellipsoid)
      .value("SuperEllipsoid", ShapeKind::SuperEllipsoid)
      .value("Cylinder", ShapeKind::Cylinder)
      .value("Cone", ShapeKind::Cone)
      .value("Torus", ShapeKind::Torus)
      .value("Mesh", ShapeKind::Mesh);
  const auto points_of = [](nb::object points, const char* what) {
    const RowMatX p = to_matrix(points, what, kAny, 3);
    std::vector<Vec3> list;
    for (Eigen::Index i = 0; i < p.rows(); ++i) list.emplace_back(p.row(i).transpose());
    return list;
  };
  nb::class_<Shape>(m, "Shape",
                    "A body, convex but for torus and mesh [m]; planar ones are sections z = 0.")
      .def_static(
          "sphere", [](double radius) { return Shape::sphere(radius); }, nb::arg("radius"),
          "About its own origin.")
      .def_static(
          "capsule", [](double r, double l) { return Shape::capsule(r, l); }, nb::arg("radius"),
          nb::arg("half_length"), "Axis x of the shape.")
      .def_static(
          "box", [](double x, double y, double z) { return Shape::box(x, y, z); },
          nb::arg("half_x"), nb::arg("half_y"), nb::arg("half_z"), "Half widths.")
      .def_static(
          "hull",
          [points_of](nb::object points) { return Shape::hull(points_of(points, "hull points")); },
          nb::arg("points"), "Convex hull of points (n, 3).")
      .def_static(
          "rounded_hull",
          [points_of](nb::object points, double radius) {
            return Shape::rounded_hull(points_of(points, "hull points"), radius);
          },
          nb::arg("points"), nb::arg("radius"), "Everything within radius of a hull.")
      .def_static(
          "cylinder", [](double r, double l) { return Shape::cylinder(r, l); }, nb::arg("radius"),
          nb::arg("half_length"), "Axis x of the shape.")
      .def_static(
          "cone", [](double r, double l) { return Shape::cone(r, l); }, nb::arg("radius"),
          nb::arg("half_length"), "Axis x, base at -half_length, tip at +half_length.")
      .def_static(
          "mesh",
          [points_of](nb::object corners, nb::object triangles) {
            const RowMatX t = to_matrix(triangles, "mesh triangles", kAny, 3);
            std::vector<std::array<std::int32_t, 3>> list;
            for (Eigen::Index i = 0; i < t.rows(); ++i) {
              std::array<std::int32_t, 3> corner{};
              for (int k = 0; k < 3; ++k) {
                if (t(i, k) != std::floor(t(i, k)) || std::abs(t(i, k)) > 1e9)
                  throw Error("mesh triangles",
                              "must be numbers of corners, got " + to_text(t(i, k)));
                corner[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(t(i, k));
              }
              list.push_back(corner);
            }
            return Shape::mesh(points_of(corners, "mesh corners"), list);
          },
          nb::arg("corners"), nb::arg("triangles"),
          "Triangles (m, 3) of corners (n, 3), counter-clockwise from outside; for bodies that are "
          "fixed or kinematic. Its parameters are factors on the corners.")
      .def_static(
          "height_field",
          [](nb::object heights, double half_x, double half_y) {
            const RowMatX z = to_matrix(heights, "heights", kAny, kAny);
            return Shape::height_field({z.data(), static_cast<std::size_t>(z.size())},
                                       static_cast<int>(z.rows()), static_cast<int>(z.cols()),
                                       half_x, half_y);
          },
          nb::arg("heights"), nb::arg("half_x"), nb::arg("half_y"),
          "A mesh over x from -half_x, y from -half_y to theirs; heights (rows, columns), a row "
          "along x.")
      .def_static(
          "ellipsoid", [](double x, double y, double z) { return Shape::ellipsoid(x, y, z); },
          nb::arg("semi_x"), nb::arg("semi_y"), nb::arg("semi_z"), "Semi-axes.")
      .def_static(
          "super_ellipsoid",
          [](double x, double y, double z, double e1, double e2) {
            return Shape::super_ellipsoid(x, y, z, e1, e2);
          },
          nb::arg("semi_x"), nb::arg("semi_y"), nb::arg("semi_z"), nb::arg("e1"), nb::arg("e2"),
          "Semi-axes; exponents e1 (towards z) and e2 (around z): 1 is an ellipsoid, 0.4 nearly a "
          "box.")
      .def_static(
          "torus", [](double major, double minor) { return Shape::torus(major, minor); },
          nb::arg("major"), nb::arg("minor"), "Axis z of the shape.")
      .def_static(
          "ellipse", [](double x, double y) { return Shape::ellipse(x, y); }, nb::arg("semi_x"),
          nb::arg("semi_y"), "Planar, semi-axes.")
      .def_static("half_space", &Shape::half_space, "Matter below, outward normal +z.")
      .def_static(
          "disc", [](double radius) { return Shape::disc(radius); }, nb::arg("radius"), "Planar.")
      .def_static(
          "stadium", [](double r, double l) { return Shape::stadium(r, l); }, nb::arg("radius"),
          nb::arg("half_length"), "Planar capsule, axis x.")
      .def_static(
          "rectangle", [](double x, double y) { return Shape::rectangle(x, y); }, nb::arg("half_x"),
          nb::arg("half_y"), "Planar, half widths.")
      .def_static(
          "polygon",
          [](nb::object points) {
            const RowMatX p = to_matrix(points, "polygon points", kAny, 2);
            std::vector<Vec2> list;
            for (Eigen::Index i = 0; i < p.rows(); ++i) list.emplace_back(p.row(i).transpose());
            return Shape::polygon(list);
          },
          nb::arg("points"), "Convex hull of points (n, 2).")
      .def_static("half_plane", &Shape::half_plane, "Matter below, outward normal +y.")
      .def_prop_ro("kind", &Shape::kind, "Of ShapeKind.")
      .def_prop_ro("dim", &Shape::dim, "2 planar, 3 in space.")
      .def_prop_ro(
          "parameters", [](const Shape& s) { return to_numpy(s.parameters()); },
          nb::rv_policy::move, "Radii, half widths, vertices: as the model's parameters.")
      .def(
          "with_parameters",
          [](const Shape& s, nb::object p) {
            const VecX x = to_vector(p, "parameters", s.parameter_count());
            return s.with_parameters({x.data(), static_cast<std::size_t>(x.size())});
          },
          nb::arg("parameters"), "The same shape with other numbers.")
      .def_prop_ro(
          "rounded", [](const Shape& s) { return s.topology().rounded; },
          "A hull whose last parameter is the radius of its edges.")
      .def_prop_ro(
          "triangles",
          [](const Shape& s) {
            nb::typed<nb::list, nb::typed<nb::tuple, int, int, int>> out;
            if (s.topology().mesh)
              for (const auto& t : s.topology().mesh->triangles)
                out.append(nb::make_tuple(t[0], t[1], t[2]));
            return out;
          },
          "Of a mesh: three corners each.")
      .def_prop_ro(
          "corners",
          [](const Shape& s) {
            const Eigen::Index n =
                s.topology().mesh ? static_cast<Eigen::Index>(s.topology().mesh->corners.size())
                                  : 0;
            VecX flat(3 * n);
            for (Eigen::Index i = 0; i < n; ++i)
              flat.segment<3>(3 * i) = s.topology().mesh->corners[static_cast<std::size_t>(i)];
            return to_numpy(flat);
          },
          nb::rv_policy::move, "Of a mesh, before its factors: (3 n,).")
      .def("__repr__", [](const Shape& s) { return "Shape(" + s.name() + ")"; });
  nb::class_<Pose>(m, "Pose", "Position x [m] and orientation p, a unit quaternion (w, x, y, z).")
      .def(
          "__init__",
          [](Pose* self, nb::object x, nb::object p) {
            new (self) Pose{x.is_none() ? Vec3(Vec3::Zero()) : to_vec3(x, "Pose.x"),
                            p.is_none() ? Quat{} : to_quat(p, "Pose.p")};
          },
          nb::arg("x") = nb::none(), nb::arg("p") = nb::none())
      .def_static("planar", &planar_pose<double>, nb::arg("x"), nb::arg("y"), nb::arg("theta"),
                  "In the plane [m, rad].")
      .def_prop_ro(
          "x", [](const Pose& X) { return to_numpy(VecX(X.x)); }, nb::rv_policy::move,
          "Position [m].")
      .def_prop_ro(
          "p",
          [](const Pose& X) { return to_numpy(VecX(Eigen::Vector4d(X.p.w, X.p.x, X.p.y, X.p.z))); },
          nb::rv_policy::move, "Unit quaternion (w, x, y, z).");
}

void bind_specs(nb::module_& m) {
  nb::class_<ShapeSpec>(m, "ShapeSpec", "A shape on a body: place, density, material.")
      .def(
          "__init__",
          [](ShapeSpec* self, const Shape& shape, const Pose* offset, double density,
             std::string material, std::uint32_t group, std::uint32_t mask, std::string name) {
            new (self) ShapeSpec{shape,          offset != nullptr ? *offset : Pose{},
                                 density,        std::move(material),
                                 group,          mask,
                                 std::move(name)};
          },
          nb::arg("shape"), nb::arg("offset") = nb::none(), nb::arg("density") = 1000.0,
          nb::arg("material") = "", nb::arg("group") = 1u, nb::arg("mask") = ~0u,
          nb::arg("name") = "", "Density [kg/m^3], planar [kg/m^2].")
      .def_ro("shape", &ShapeSpec::shape, "The shape itself.")
      .def_ro("offset", &ShapeSpec::offset, "Its place on the body.")
      .def_ro("density", &ShapeSpec::density, "[kg/m^3], planar [kg/m^2].")
      .def_ro("material", &ShapeSpec::material, "Name; empty: the default one.")
      .def_ro("group", &ShapeSpec::group, "Bits of the groups it is in.")
      .def_ro("mask", &ShapeSpec::mask, "Bits of the groups it touches.")
      .def_ro("name", &ShapeSpec::name, "Empty: the body's.");
  nb::implicitly_convertible<Shape, ShapeSpec>();
  nb::class_<MotorSpec>(m, "MotorSpec", "Drives a joint's coordinate.")
      .def(
          "__init__",
          [](MotorSpec* self, MotorKind kind, double target, double velocity,
             std::optional<double> max_force, nb::object times, nb::object values, double stiffness,
             double damping) {
            new (self) MotorSpec{kind,
                                 target,
                                 velocity,
                                 max_force,
                                 stiffness,
                                 damping,
                                 to_doubles(times, "motor times"),
                                 to_doubles(values, "motor values")};
          },
          nb::arg("kind"), nb::arg("target") = 0.0, nb::arg("velocity") = 0.0,
          nb::arg("max_force") = nb::none(), nb::arg("times") = nb::make_tuple(),
          nb::arg("values") = nb::make_tuple(), nb::arg("stiffness") = 0.0,
          nb::arg("damping") = 0.0,
          "target [m, rad], velocity [m/s, rad/s], max_force [N, N m], None: as strong as it "
          "takes. Servo: stiffness [N/m, N m/rad], damping [N s/m, N m s/rad].")
      .def_ro("kind", &MotorSpec::kind, "Velocity, position or servo.")
      .def_ro("target", &MotorSpec::target, "At t = 0 [m, rad].")
      .def_ro("velocity", &MotorSpec::velocity, "[m/s, rad/s]")
      .def_ro("max_force", &MotorSpec::max_force, "[N, N m]; None: as strong as it takes.")
      .def_ro("times", &MotorSpec::times, "Of the table [s].")
      .def_ro("stiffness", &MotorSpec::stiffness, "Of a servo [N/m, N m/rad].")
      .def_ro("damping", &MotorSpec::damping, "Of a servo [N s/m, N m s/rad].")
      .def_ro("values", &MotorSpec::values, "Of the table [m, rad; m/s, rad/s].");
  nb::class_<FollowSpec>(m, "FollowSpec",
                         "Couples a joint to another: coordinate = ratio * that of the leader + "
                         "offset.")
      .def(
          "__init__",
          [](FollowSpec* self, std::string joint, double ratio, double offset) {
            new (self) FollowSpec{std::move(joint), ratio, offset};
          },
          nb::arg("joint"), nb::arg("ratio") = 1.0, nb::arg("offset") = 0.0,
          "joint: name of the leader; ratio [-, m/rad, rad/m], offset [m, rad].")
      .def_ro("joint", &FollowSpec::joint, "Name of the leader.")
      .def_ro("ratio", &FollowSpec::ratio, "[-, m/rad, rad/m]")
      .def_ro("offset", &FollowSpec::offset, "[m, rad]");
  nb::class_<ForceCallback, PythonForce>(
      m, "ForceCallback",
      "A force of your own: override add_force(model, parameters, q, v, t) and return the "
      "generalised force [N, N m] laid out like State.v. May be called from several threads; same "
      "arguments must give the same numbers.\n\nOptional: potential(model, parameters, q, t) -> "
      "float [J]; derivatives(model, parameters, q, v, t) -> (f_q, f_v) by the tangent of the body "
      "it was added for.")
      .def(nb::init<>())
      // What an override replaces; the numbers are those of a force that is not there.
      .def(
          "add_force",
          [](const ForceCallback&, const Model&, const Parameters&, nb::object, nb::object, double)
              -> nb::object { throw Error("ForceCallback.add_force", "must be overridden"); },
          nb::arg("model"), nb::arg("parameters"), nb::arg("q"), nb::arg("v"), nb::arg("t"),
          nb::sig("def add_force(self, model: Model, parameters: Parameters, q: "
                  "NDArray[numpy.float64], v: NDArray[numpy.float64], t: float) -> typing.Any"),
          "To be overridden: the force, laid out like State.v [N, N m].")
      .def(
          "potential",
          [](const ForceCallback&, const Model&, const Parameters&, nb::object, double) {
            return 0.0;
          },
          nb::arg("model"), nb::arg("parameters"), nb::arg("q"), nb::arg("t"),
          nb::sig("def potential(self, model: Model, parameters: Parameters, q: "
                  "NDArray[numpy.float64], t: float) -> float"),
          "May be overridden: potential energy [J], for reports.")
      .def(
          "derivatives",
          [](const ForceCallback&, const Model&, const Parameters&, nb::object, nb::object,
             double) { return nb::none(); },
          nb::arg("model"), nb::arg("parameters"), nb::arg("q"), nb::arg("v"), nb::arg("t"),
          nb::sig("def derivatives(self, model: Model, parameters: Parameters, q: "
                  "NDArray[numpy.float64], v: NDArray[numpy.float64], t: float) -> typing.Any"),
          "May be overridden: (f_q, f_v) by the tangent of the body the force was added for.");
  nb::enum_<CombineRule>(m, "CombineRule", "How the coefficients of two materials meet.")
      .value("Average", CombineRule::Average)
      .value("Geometric", CombineRule::Geometric)
      .value("Min", CombineRule::Min)
      .value("Max", CombineRule::Max);
  nb::enum_<JointKind>(m, "JointKind", "What a joint leaves free.")
      .value("Weld", JointKind::Weld)
      .value("Revolute", JointKind::Revolute)
      .value("Prismatic", JointKind::Prismatic)
      .value("Ball", JointKind::Ball)
      .value("Distance", JointKind::Distance)
      .value("Planar", JointKind::Planar)
      .value("LockX", JointKind::LockX)
      .value("LockY", JointKind::LockY)
      .value("LockZ", JointKind::LockZ)
      .value("LockRotation", JointKind::LockRotation)
      .value("Pin", JointKind::Pin)
      .value("Slider", JointKind::Slider);
  nb::enum_<MotorKind>(m, "MotorKind", "What a motor drives.")
      .value("None_", MotorKind::None)
      .value("Velocity", MotorKind::Velocity)
      .value("Position", MotorKind::Position)
      .value("Servo", MotorKind::Servo);
}

void bind_parts(nb::class_<ModelBuilder>& c) {
  const nb::tuple zero = nb::make_tuple(0.0, 0.0, 0.0);
  c.def(
       "add_material",
       [](ModelBuilder& b, std::string name, double friction, double restitution,
          double rolling_friction, double compliance, CombineRule combine) {
         return index_of(b.add_material(
             {std::move(name), friction, restitution, rolling_friction, compliance, combine}));
       },
       nb::arg("name"), nb::arg("friction") = 0.5, nb::arg("restitution") = 0.0,
       nb::arg("rolling_friction") = 0.0, nb::arg("compliance") = 0.0,
       nb::arg("combine") = CombineRule::Average,
       "friction [-], restitution [-], rolling_friction [m], compliance [m/N].")
      .def(
          "add_material_pair",
          [](ModelBuilder& b, std::string first, std::string second, std::optional<double> friction,
             std::optional<double> restitution, std::optional<double> rolling_friction,
             std::optional<double> compliance) {
            b.add_material_pair({std::move(first), std::move(second), friction, restitution,
                                 rolling_friction, compliance});
          },
          nb::arg("a"), nb::arg("b"), nb::arg("friction") = nb::none(),
          nb::arg("restitution") = nb::none(), nb::arg("rolling_friction") = nb::none(),
          nb::arg("compliance") = nb::none(), "Coefficients of two materials together.")
      .def(
          "add_body",
          [](ModelBuilder& b, std::string name, std::vector<ShapeSpec> shapes, Motion motion,
             bool planar, nb::object position, nb::object orientation, double angle,
             nb::object velocity, nb::object angular_velocity, std::optional<double> mass,
             nb::object inertia, nb::object center_of_mass, double drag,
             std::optional<double> length) {
            BodySpec s;
            s.name = std::move(name);
            s.motion = motion;
            s.planar = planar;
            s.position = to_vec3(position, "body position");
            s.orientation = to_quat(orientation, "body orientation");
            s.angle = angle;
            s.velocity = to_vec3(velocity, "body velocity");
            s.angular_velocity = to_spin(angular_velocity, "body angular_velocity");
            s.shapes = std::move(shapes);
            s.mass = mass;
            double about_z = 0;
            if (nb::try_cast(inertia, about_z)) {
              s.inertia = Mat3(Vec3(0, 0, about_z).asDiagonal());
            } else if (!inertia.is_none()) {
              s.inertia = Mat3(to_matrix(inertia, "body inertia", 3, 3));
            }
            if (!center_of_mass.is_none())
              s.center_of_mass = to_vec3(center_of_mass, "body center_of_mass");
            s.drag = drag;
            s.length = length;
            return index_of(b.add_body(std::move(s)));
          },
          nb::arg("name") = "", nb::arg("shapes") = nb::make_tuple(),
          nb::arg("motion") = Motion::Spatial, nb::arg("planar") = false,
          nb::arg("position") = zero, nb::arg("orientation") = nb::make_tuple(1.0, 0.0, 0.0, 0.0),
          nb::arg("angle") = 0.0, nb::arg("velocity") = zero, nb::arg("angular_velocity") = zero,
          nb::arg("mass") = nb::none(), nb::arg("inertia") = nb::none(),
          nb::arg("center_of_mass") = nb::none(), nb::arg("drag") = 1.0,
          nb::arg("length") = nb::none(),
          "shapes: Shape or ShapeSpec; position [m], orientation wxyz, angle [rad] (planar), "
          "velocity [m/s], angular_velocity [rad/s], mass [kg], inertia (3, 3) or planar one "
          "number "
          "[kg m^2]; mass and inertia default to those of the shapes.")
      .def(
          "add_joint",
          [](ModelBuilder& b, std::string name, JointKind kind, std::string first,
             std::string second, nb::object anchor, nb::object axis, nb::object anchor_a,
             nb::object anchor_b, std::optional<double> length, std::optional<double> lower,
             std::optional<double> upper, double stiffness, double damping, double rest,
             double dry_friction, const MotorSpec* motor, const FollowSpec* follow, bool collide,
             double start, double armature) {
            JointSpec s;
            s.name = std::move(name);
            s.kind = kind;
            s.a = std::move(first);
            s.b = std::move(second);
            s.anchor = to_vec3(anchor, "joint anchor");
            s.axis = to_vec3(axis, "joint axis");
            if (!anchor_a.is_none()) s.anchor_a = to_vec3(anchor_a, "joint anchor_a");
            if (!anchor_b.is_none()) s.anchor_b = to_vec3(anchor_b, "joint anchor_b");
            s.length = length;
            s.lower = lower;
            s.upper = upper;
            s.stiffness = stiffness;
            s.damping = damping;
            s.rest = rest;
            s.dry_friction = dry_friction;
            if (motor != nullptr) s.motor = *motor;
            if (follow != nullptr) s.follow = *follow;
            s.collide = collide;
            s.start = start;
            s.armature = armature;
            return index_of(b.add_joint(std::move(s)));
          },
          nb::arg("name") = "", nb::arg("kind") = JointKind::Weld, nb::arg("a") = "",
          nb::arg("b") = "world", nb::arg("anchor") = zero,
          nb::arg("axis") = nb::make_tuple(0.0, 0.0, 1.0), nb::arg("anchor_a") = nb::none(),
          nb::arg("anchor_b") = nb::none(), nb::arg("length") = nb::none(),
          nb::arg("lower") = nb::none(), nb::arg("upper") = nb::none(), nb::arg("stiffness") = 0.0,
          nb::arg("damping") = 0.0, nb::arg("rest") = 0.0, nb::arg("dry_friction") = 0.0,
          nb::arg("motor") = nb::none(), nb::arg("follow") = nb::none(), nb::arg("collide") = false,
          nb::arg("start") = 0.0, nb::arg("armature") = 0.0,
          "anchor and axis in the world as built [m]; limits [m, rad], stiffness [N/m, N m/rad], "
          "damping [N s/m, N m s/rad], dry_friction [N, N m], start: coordinate as built [m, rad], "
          "armature [kg, kg m^2].");
}

void bind_forces(nb::class_<ModelBuilder>& c) {
  const nb::tuple zero = nb::make_tuple(0.0, 0.0, 0.0), none = nb::make_tuple();
  c.def(
       "add_body_force",
       [](ModelBuilder& b, std::string name, std::string body, nb::object force, nb::object torque,
          bool body_axes, nb::object times, nb::object factors) {
         b.add_force(BodyForceSpec{std::move(name), std::move(body), to_vec3(force, "force"),
                                   to_spin(torque, "torque"), body_axes, to_doubles(times, "times"),
                                   to_doubles(factors, "factors")});
       },
       nb::arg("name"), nb::arg("body"), nb::arg("force") = zero, nb::arg("torque") = zero,
       nb::arg("body_axes") = false, nb::arg("times") = none, nb::arg("factors") = none,
       "At the centre of mass: force [N], torque [N m]; factor on both over times [s].")
      .def(
          "add_point_force",
          [](ModelBuilder& b, std::string name, std::string body, nb::object point,
             nb::object force, bool body_axes, nb::object times, nb::object factors) {
            b.add_force(PointForceSpec{std::move(name), std::move(body), to_vec3(point, "point"),
                                       to_vec3(force, "force"), body_axes,
                                       to_doubles(times, "times"), to_doubles(factors, "factors")});
          },
          nb::arg("name"), nb::arg("body"), nb::arg("point") = zero, nb::arg("force") = zero,
          nb::arg("body_axes") = false, nb::arg("times") = none, nb::arg("factors") = none,
          "At a point of the body [m]: force [N].")
      .def(
          "add_spring",
          [](ModelBuilder& b, std::string name, std::string first, std::string second,
             nb::object point_a, nb::object point_b, double stiffness, double damping,
             std::optional<double> rest) {
            b.add_force(SpringSpec{std::move(name), std::move(first), std::move(second),
                                   to_vec3(point_a, "point_a"), to_vec3(point_b, "point_b"),
                                   stiffness, damping, rest});
          },
          nb::arg("name"), nb::arg("a"), nb::arg("b") = "world", nb::arg("point_a") = zero,
          nb::arg("point_b") = zero, nb::arg("stiffness") = 0.0, nb::arg("damping") = 0.0,
          nb::arg("rest") = nb::none(),
          "Between two points: stiffness [N/m], damping [N s/m], rest [m] (None: as built).")
      .def(
          "add_force",
          [](ModelBuilder& b, std::string name, std::string body,
             std::shared_ptr<ForceCallback> callback) {
            b.add_force(CallbackSpec{std::move(name), std::move(body), std::move(callback)});
          },
          nb::arg("name"), nb::arg("body"), nb::arg("callback"), "A force of your own.")
      .def(
          "add_field",
          [](ModelBuilder& b, const std::string& name, const std::vector<std::string>& bodies,
             const std::vector<std::string>& formulas) {
            const VectorFormula formula = vector_formula(formulas, "field '" + name + "'");
            for (const std::string& body : bodies)  // one each, so that each has its derivatives
              b.add_force(CallbackSpec{name + "/" + body, body,
                                       field_force(formula, body, "field '" + name + "'")});
          },
          nb::arg("name"), nb::arg("bodies"), nb::arg("formulas"),
          "A force [N] at the centre of mass by formulas of x, y, z, r, vx, vy, vz, t.")
      .def(
          "add_joint_actuator",
          [](ModelBuilder& b, std::string name, std::string joint, double gear,
             std::optional<double> max_force, std::optional<double> lower,
             std::optional<double> upper) {
            b.add_actuator(JointActuatorSpec{std::move(name), std::move(joint), gear, max_force,
                                             lower, upper});
          },
          nb::arg("name"), nb::arg("joint"), nb::arg("gear") = 1.0,
          nb::arg("max_force") = nb::none(), nb::arg("lower") = nb::none(),
          nb::arg("upper") = nb::none(),
          "u = 1 is a generalised force `gear` [N, N m] along the joint's coordinate, cut at "
          "max_force; u is cut to [lower, upper].")
      .def(
          "add_servo_actuator",
          [](ModelBuilder& b, std::string name, std::string joint, bool speed, double gear,
             std::optional<double> lower, std::optional<double> upper) {
            b.add_actuator(
                ServoActuatorSpec{std::move(name), std::move(joint), speed, gear, lower, upper});
          },
          nb::arg("name"), nb::arg("joint"), nb::arg("speed") = false, nb::arg("gear") = 1.0,
          nb::arg("lower") = nb::none(), nb::arg("upper") = nb::none(),
          "Adds gear * u to the target (or the speed) of the joint's servo.")
      .def(
          "add_frame",
          [](ModelBuilder& b, std::string name, std::string body, const Pose* pose) {
            b.add_frame({std::move(name), std::move(body), pose != nullptr ? *pose : Pose{}});
          },
          nb::arg("name"), nb::arg("body") = "world", nb::arg("pose") = nb::none(),
          "A named place on a body, in the frame the body was given in.")
      .def(
          "exclude",
          [](ModelBuilder& b, std::string first, std::string second) {
            b.exclude(std::move(first), std::move(second));
          },
          nb::arg("a"), nb::arg("b"), "These two bodies never touch.")
      .def(
          "add_body_actuator",
          [](ModelBuilder& b, std::string name, std::string body, nb::object force,
             nb::object torque, bool body_axes) {
            b.add_actuator(BodyActuatorSpec{std::move(name), std::move(body),
                                            to_vec3(force, "force"), to_spin(torque, "torque"),
                                            body_axes});
          },
          nb::arg("name"), nb::arg("body"), nb::arg("force") = zero, nb::arg("torque") = zero,
          nb::arg("body_axes") = false, "u = 1 is this force [N] and torque [N m].")
      .def(
          "set_gravity",
          [](ModelBuilder& b, nb::object g) { b.set_gravity(to_vec3(g, "gravity")); },
          nb::arg("gravity"), "[m/s^2]; default (0, 0, -9.81), planar (0, -9.81).")
      .def(
          "set_law", [](ModelBuilder& b, LawOfMotion law) { b.set_law(law); }, nb::arg("law"),
          "Inertial (default) or overdamped.");
}

std::vector<BodyId> bodies_named(const Model& model, const std::vector<std::string>& names) {
  std::vector<BodyId> ids;
  for (const std::string& name : names) {
    ids.push_back(model.find_body(name));
    if (ids.back() == kWorld) throw Error("body 'world'", "never moves, grows or divides");
  }
  return ids;
}

void bind_division(nb::module_& m, nb::class_<ModelBuilder>& c) {
  m.def(
      "grow",
      [](const Model& model, const std::vector<std::string>& bodies, double factor,
         Parameters& parameters) { grow(model, bodies_named(model, bodies), factor, parameters); },
      nb::arg("model"), nb::arg("bodies"), nb::arg("factor"), nb::arg("parameters"),
      "Multiplies the length of capsules or stadiums from tip to tip, in place; the drag's length "
      "and the mass with it.");
  const DivisionSettings usual;
  c.def(
      "divide",
      [](ModelBuilder& builder, const Model& model, const Parameters& parameters,
         const StateHolder& state, const std::vector<std::string>& bodies, double jitter,
         std::uint64_t key) {
        Divided next = divide(builder, model, parameters, state.get(), bodies_named(model, bodies),
                              {.jitter = jitter, .key = key});
        nb::dict map;
        for (const Division& d : next.map) {
          const auto name = [&](BodyUid uid) {
            return next.model.body(next.model.find_uid(uid)).name;
          };
          map[nb::cast(model.body(model.find_uid(d.mother)).name)] =
              nb::make_tuple(name(d.daughters[0]), name(d.daughters[1]));
        }
        return nb::make_tuple(std::move(next.model), std::move(next.parameters),
                              StateHolder(std::move(next.state)), std::move(map));
      },
      nb::arg("model"), nb::arg("parameters"), nb::arg("state"), nb::arg("bodies"),
      nb::arg("jitter") = usual.jitter, nb::arg("key") = usual.key,
      nb::sig("def divide(self, model: Model, parameters: Parameters, state: State, "
              "bodies: collections.abc.Sequence[str], jitter: float = ..., key: int = 0) -> "
              "tuple[Model, Parameters, State, dict[str, tuple[str, str]]]"),
      "Splits capsules or stadiums in two of half the length, each turned by jitter [rad]. Returns "
      "(model, parameters, state, {mother: (daughter, daughter)}); the builder then describes the "
      "new model. A WarmStart may be used on.");
}

}  // namespace

void bind_builder(nb::module_& m) {
  bind_shape(m);
  bind_specs(m);
  nb::class_<ModelBuilder> c(m, "ModelBuilder",
                             "Describes a world in words; build() checks it once. Keywords are the "
                             "fields of the C++ specs. Names may refer to what is added later.");
  c.def(nb::init<>());
  bind_parts(c);
  bind_forces(c);
  bind_flexible(m, c);
  c.def("build", &ModelBuilder::build,
        "The Model; raises Error naming the object, the rule and the value.");
  bind_division(m, c);
}

}  // namespace orthant::python
