// SPDX-License-Identifier: Apache-2.0
// io/scene/tables_flexible.cpp: the fields of flexible parts, once.
#include "io/scene/tables.hpp"

namespace orthant::io {

template <>
const Table<RegionDescription>& table_of<RegionDescription>() {
  using T = RegionDescription;
  static const Table<T> table =
      Table<T>("region", "The nodes of a flexible part in a box of its mesh frame.")
          .add("lower", &T::lower, "corner; default: no bound", {.unit = "m"})
          .add("upper", &T::upper, "the opposite corner; default: no bound", {.unit = "m"});
  return table;
}

template <>
const Table<AttachmentDescription>& table_of<AttachmentDescription>() {
  using T = AttachmentDescription;
  static const Table<T> table =
      Table<T>("attachment", "Nodes of a flexible part that move with a body, as built.")
          .add("body", &T::body, "a body or `world`", {.required = true})
          .add("lower", &T::lower, "corner of their box, mesh frame; default: no bound",
               {.unit = "m"})
          .add("upper", &T::upper, "the opposite corner; default: no bound", {.unit = "m"});
  return table;
}

template <>
const Table<FlexibleDescription>& table_of<FlexibleDescription>() {
  using T = FlexibleDescription;
  static const Table<T> table =
      Table<T>("flexible", "A flexible part of linear elements.")
          .by_type(&T::type,
                   "`box` and `rectangle` start at the origin, a `cylinder` there along x, `ball` "
                   "and `disc` lie about it; `rectangle` and `disc` are planar")
          .add("name", &T::name, "default: part and its number")
          .add("size", &T::size, "edges: 3 numbers, a rectangle 2",
               {.unit = "m", .positive = true, .required = true, .only = "box rectangle"})
          .add("radius", &T::radius, "",
               {.unit = "m", .positive = true, .required = true, .only = "cylinder ball disc"})
          .add("length", &T::length, "",
               {.unit = "m", .positive = true, .required = true, .only = "cylinder"})
          .add("cells", &T::cells,
               "along each edge; cylinder: across (even) and along; ball, disc: across (even)",
               {.required = true, .only = "box cylinder ball rectangle disc"})
          .add("file", &T::file, "Gmsh .msh (2.x, 4.1) or VTK .vtu, as text",
               {.required = true, .only = "file"})
          .add("scale", &T::scale, "factor on the coordinates of the file",
               {.positive = true, .only = "file"})
          .add("nodes", &T::nodes, "their places", {.unit = "m", .required = true, .only = "mesh"})
          .add("elements", &T::elements,
               "numbers of their corners, one after the other: 4 per tetrahedron; where all nodes "
               "have z = 0, 3 per triangle",
               {.required = true, .only = "mesh"})
          .add("young", &T::young, "Young's modulus; a planar part has unit thickness",
               {.unit = "Pa", .positive = true})
          .add("poisson", &T::poisson, "below 0.5", {.unit = "-", .lo = -1, .hi = 0.5})
          .add("density", &T::density, "planar: kg/m^2", {.unit = "kg/m^3", .positive = true})
          .add("damping_mass", &T::damping_mass, "alpha of Rayleigh's alpha M + beta K",
               {.unit = "1/s", .lo = 0})
          .add("damping_stiffness", &T::damping_stiffness, "beta of it", {.unit = "s", .lo = 0})
          .add("consistent_mass", &T::consistent_mass, "default: lumped")
          .add("plane_strain", &T::plane_strain, "planar parts; default: plane stress")
          .add("position", &T::position, "of the mesh frame", {.unit = "m"})
          .add("orientation", &T::orientation, "of the mesh frame")
          .add("rotation", &T::rotation, "rotation vector instead of a quaternion", {.unit = "rad"})
          .add("velocity", &T::velocity, "of all nodes at the start", {.unit = "m/s"})
          .add("fixed", &T::fixed, "nodes that never move")
          .add("driven", &T::driven, "nodes that move with `driven_velocity`")
          .add("driven_velocity", &T::driven_velocity, "", {.unit = "m/s"})
          .add("attach", &T::attach, "nodes that move with bodies")
          .add("contact", &T::contact, "its surface touches other things")
          .add("material", &T::material, "of the surface; default: friction 0.5, no bounce")
          .add("group", &T::group, "bits, as of shapes", {.lo = 0, .hi = 4294967295.0})
          .add("mask", &T::mask, "bits", {.lo = 0, .hi = 4294967295.0});
  return table;
}

}  // namespace orthant::io
