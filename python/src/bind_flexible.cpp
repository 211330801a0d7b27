// SPDX-License-Identifier: Apache-2.0
// python/src/bind_flexible.cpp: meshes, flexible parts of a model, forces on their nodes.
#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/model/mesh.hpp"
#include "orthant/model/mesh_file.hpp"
#include "orthant/model/model_builder.hpp"
#include "settings.hpp"

namespace orthant::python {

void fields(Tag<FlexiblePart>, auto&& field) {
  using P = FlexiblePart;
  field("name", &P::name, "As given.");
  field("uid", &P::uid, "The part for ever, whatever its place.");
  field("dim", &P::dim, "2 planar, 3 in space.");
  field("q_begin", &P::q_begin, "First number in State.q; node i has dim numbers from dim i on.");
  field("node_count", &P::node_count, "Nodes.");
  field("v_begin", &P::v_begin, "By node: first number in State.v; -1: fixed.");
}

namespace {

std::vector<Index> to_nodes(nb::handle x, const char* where) {
  const VecX given = to_vector(x, where);
  std::vector<Index> out;
  for (const double i : given) {
    if (i != std::floor(i) || i < 0 || i > 2e9)
      throw Error(where, "expected numbers of nodes, got " + to_text(i));
    out.push_back(static_cast<Index>(i));
  }
  return out;
}

Mesh to_mesh(nb::handle nodes, nb::handle elements) {
  const RowMatX x = to_matrix(nodes, "mesh nodes"), e = to_matrix(elements, "mesh elements");
  Mesh mesh;
  mesh.dim = static_cast<int>(e.cols()) - 1;
  if (mesh.dim != 2 && mesh.dim != 3)
    throw Error("mesh elements", "expected 3 (triangles) or 4 (tetrahedra) columns, got " +
                                     std::to_string(e.cols()));
  if (x.cols() != mesh.dim && x.cols() != 3)
    throw Error("mesh nodes", "expected " + std::to_string(mesh.dim) + " columns, got " +
                                  std::to_string(x.cols()));
  for (Eigen::Index i = 0; i < x.rows(); ++i)
    mesh.nodes.emplace_back(x(i, 0), x(i, 1), mesh.dim == 3 ? x(i, 2) : 0.0);
  for (Eigen::Index i = 0; i < e.rows(); ++i) {
    std::array<Index, 4> corners{-1, -1, -1, -1};
    for (int k = 0; k <= mesh.dim; ++k) {
      const double c = e(i, k);
      if (c != std::floor(c) || c < 0 || c >= static_cast<double>(x.rows()))
        throw Error("mesh elements",
                    "element " + std::to_string(i) + ": there is no node " + to_text(c));
      corners[static_cast<std::size_t>(k)] = static_cast<Index>(c);
    }
    mesh.elements.push_back(corners);
  }
  check_mesh(mesh, "mesh");
  return mesh;
}

RowMatX nodes_of(const Mesh& mesh) {
  RowMatX x(mesh.node_count(), mesh.dim);
  for (Index i = 0; i < mesh.node_count(); ++i)
    x.row(i) = mesh.nodes[static_cast<std::size_t>(i)].head(mesh.dim).transpose();
  return x;
}

RowMatX elements_of(const Mesh& mesh) {
  RowMatX e(mesh.element_count(), mesh.dim + 1);
  for (Index i = 0; i < mesh.element_count(); ++i)
    for (int k = 0; k <= mesh.dim; ++k)
      e(i, k) = mesh.elements[static_cast<std::size_t>(i)][static_cast<std::size_t>(k)];
  return e;
}

void bind_mesh(nb::module_& m) {
  nb::class_<Mesh>(m, "Mesh", "Nodes [m] and linear elements: triangles or tetrahedra.")
      .def(
          "__init__",
          [](Mesh* self, nb::object nodes, nb::object elements) {
            new (self) Mesh(to_mesh(nodes, elements));
          },
          nb::arg("nodes"), nb::arg("elements"),
          "nodes (n, 2 or 3), elements (m, 3 or 4): corners, positively oriented. Checked here.")
      .def_static(
          "box",
          [](nb::object size, Index nx, Index ny, Index nz) {
            return box_mesh(to_vec3(size, "mesh size"), nx, ny, nz);
          },
          nb::arg("size"), nb::arg("nx"), nb::arg("ny"), nb::arg("nz"),
          "[0, x] x [0, y] x [0, z] in cells of six tetrahedra.")
      .def_static("cylinder", &cylinder_mesh, nb::arg("radius"), nb::arg("length"), nb::arg("n"),
                  nb::arg("m"), "Axis x; n cells across (even), m along.")
      .def_static("ball", &ball_mesh, nb::arg("radius"), nb::arg("n"), "n cells across (even).")
      .def_static("rectangle", &rectangle_mesh, nb::arg("x"), nb::arg("y"), nb::arg("nx"),
                  nb::arg("ny"), "[0, x] x [0, y] in cells of two triangles.")
      .def_static("disc", &disc_mesh, nb::arg("radius"), nb::arg("n"), "n cells across (even).")
      .def_static(
          "read",
          [](const std::string& path) {
            const nb::gil_scoped_release release;
            Mesh mesh = read_mesh(path);
            check_mesh(mesh, path);
            return mesh;
          },
          nb::arg("path"), "From a Gmsh .msh or VTK .vtu file (text).")
      .def_ro("dim", &Mesh::dim, "2: triangles, 3: tetrahedra.")
      .def_prop_ro(
          "nodes", [](const Mesh& mesh) { return to_numpy(nodes_of(mesh)); }, nb::rv_policy::move,
          "(n, dim) [m], a copy.")
      .def_prop_ro(
          "elements", [](const Mesh& mesh) { return to_numpy(elements_of(mesh)); },
          nb::rv_policy::move, "(m, dim + 1) corners, a copy.")
      .def("__getstate__",
           [](const Mesh& mesh) {
             return nb::make_tuple(to_numpy(nodes_of(mesh)), to_numpy(elements_of(mesh)));
           })
      .def("__setstate__",
           [](Mesh& self, const nb::tuple& d) { new (&self) Mesh(to_mesh(d[0], d[1])); })
      .def("__repr__", [](const Mesh& mesh) {
        return "Mesh(" + std::to_string(mesh.node_count()) + " nodes, " +
               std::to_string(mesh.element_count()) + " elements)";
      });
}

}  // namespace

void bind_flexible(nb::module_& m, nb::class_<ModelBuilder>& c) {
  bind_mesh(m);
  const nb::tuple zero = nb::make_tuple(0.0, 0.0, 0.0), none = nb::make_tuple();
  c.def(
       "add_flexible",
       [](ModelBuilder& b, std::string name, const Mesh& mesh, double young, double poisson,
          double density, double damping_mass, double damping_stiffness, bool consistent_mass,
          bool plane_strain, nb::object position, nb::object orientation, nb::object velocity,
          nb::object fixed, nb::object driven, nb::object driven_velocity,
          const nb::dict& attachments, bool contact, std::string material, std::uint32_t group,
          std::uint32_t mask) {
         FlexibleSpec s;
         s.name = std::move(name);
         s.mesh = mesh;
         s.young = young;
         s.poisson = poisson;
         s.density = density;
         s.damping_mass = damping_mass;
         s.damping_stiffness = damping_stiffness;
         s.consistent_mass = consistent_mass;
         s.plane_strain = plane_strain;
         s.position = to_vec3(position, "flexible position");
         const VecX p = to_vector(orientation, "flexible orientation", 4);
         s.orientation = {p[0], p[1], p[2], p[3]};
         s.velocity = to_vec3(velocity, "flexible velocity");
         s.fixed = to_nodes(fixed, "flexible fixed");
         s.driven = to_nodes(driven, "flexible driven");
         s.driven_velocity = to_vec3(driven_velocity, "flexible driven_velocity");
         for (const auto& [body, nodes] : attachments)
           s.attachments.push_back(
               {nb::cast<std::string>(body), to_nodes(nodes, "flexible attachments")});
         s.contact = contact;
         s.material = std::move(material);
         s.group = group;
         s.mask = mask;
         return b.add_flexible(std::move(s));
       },
       nb::arg("name"), nb::arg("mesh"), nb::arg("young") = 1e6, nb::arg("poisson") = 0.3,
       nb::arg("density") = 1000.0, nb::arg("damping_mass") = 0.0,
       nb::arg("damping_stiffness") = 0.0, nb::arg("consistent_mass") = false,
       nb::arg("plane_strain") = false, nb::arg("position") = zero,
       nb::arg("orientation") = nb::make_tuple(1.0, 0.0, 0.0, 0.0), nb::arg("velocity") = zero,
       nb::arg("fixed") = none, nb::arg("driven") = none, nb::arg("driven_velocity") = zero,
       nb::arg("attachments") = nb::dict(), nb::arg("contact") = true, nb::arg("material") = "",
       nb::arg("group") = 1u, nb::arg("mask") = ~0u,
       nb::sig("def add_flexible(self, name: str, mesh: Mesh, young: float = 1e6, poisson: float = "
               "0.3, density: float = 1000.0, damping_mass: float = 0.0, damping_stiffness: float "
               "= 0.0, consistent_mass: bool = False, plane_strain: bool = False, position: object "
               "= ..., orientation: object = ..., velocity: object = ..., fixed: object = ..., "
               "driven: object = ..., driven_velocity: object = ..., attachments: dict[str, "
               "typing.Any] = ..., contact: bool = True, material: str = '', group: int = 1, mask: "
               "int = ...) -> int"),
       "An elastic body of linear elements: young [Pa], density [kg/m^3] (planar [kg/m^2]), "
       "Rayleigh damping [1/s, s]; fixed, driven: nodes; attachments: {body: nodes}. Returns its "
       "place in Model.flexible_parts.")
      .def(
          "add_node_force",
          [](ModelBuilder& b, std::string name, std::string part, nb::object nodes,
             nb::object force) {
            b.add_force(NodeForceSpec{std::move(name), std::move(part),
                                      to_nodes(nodes, "node force: nodes"),
                                      to_vec3(force, "node force: force")});
          },
          nb::arg("name"), nb::arg("part"), nb::arg("nodes"), nb::arg("force"),
          "A dead load [N] spread evenly over nodes of a flexible part.");
}

void bind_flexible_part(nb::module_& m) {
  bind_report<FlexiblePart>(m, "FlexiblePart",
                            "A flexible part of a model: where its numbers are.");
}

}  // namespace orthant::python
