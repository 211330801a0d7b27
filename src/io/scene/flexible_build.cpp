// SPDX-License-Identifier: Apache-2.0
// io/scene/flexible_build.cpp: description of a flexible part => FlexibleSpec.
// Nodes are named by boxes of the mesh frame, never by number: a file may be meshed anew.
#include <cmath>

#include "io/scene/scene_reader.hpp"
#include "io/scene/tables.hpp"
#include "orthant/model/mesh_file.hpp"

namespace orthant::io {
namespace {

constexpr double kOnBorder = 1e-9;  // of the size of the mesh: still inside a region

/// Refuses a mesh before memory is taken for it.
void check_count(const FlexibleDescription& d, double nodes, const ReadContext& context) {
  if (nodes > context.options.max_bodies)
    throw Error(d.where.text(),
                "a mesh of more than " + std::to_string(context.options.max_bodies) + " nodes");
}

Mesh written_mesh(const FlexibleDescription& d) {
  Mesh mesh;
  mesh.nodes = d.nodes;
  mesh.dim = 2;
  for (const Vec3& x : d.nodes)
    if (x[2] != 0) mesh.dim = 3;
  const std::size_t corners = static_cast<std::size_t>(mesh.dim) + 1;
  if (d.elements.size() % corners != 0)
    throw Error(d.where.text(), "'elements' must hold " + std::to_string(corners) +
                                    " corners each, found " + std::to_string(d.elements.size()) +
                                    " numbers");
  for (std::size_t e = 0; e < d.elements.size(); e += corners) {
    std::array<Index, 4> element = {-1, -1, -1, -1};
    for (std::size_t c = 0; c < corners; ++c) {
      const double n = d.elements[e + c];
      if (!(n >= 0 && n < static_cast<double>(d.nodes.size())) || n != std::floor(n))
        throw Error(d.where.text(), "'elements' names node " + to_text(n) + " of " +
                                        std::to_string(d.nodes.size()));
      element[c] = static_cast<Index>(n);
    }
    mesh.elements.push_back(element);
  }
  return mesh;
}

Mesh mesh_of(const FlexibleDescription& d, const ReadContext& context) {
  const auto sizes = [&](std::size_t count) {
    if (d.size.size() != count)
      throw Error(d.where.text(), "'size' of a " + std::string(choice_name(d.type)) + " has " +
                                      std::to_string(count) + " numbers, found " +
                                      std::to_string(d.size.size()));
  };
  const auto [a, b, c] = d.cells.n;
  if (a < 1 || b < 1 || c < 1) throw Error(d.where.text(), "'cells' must be >= 1");
  const double na = a + 1.0, nb = b + 1.0, nc = c + 1.0;
  switch (d.type) {
    case FlexibleWord::Box:
      sizes(3);
      check_count(d, na * nb * nc, context);
      return box_mesh(Vec3(d.size[0], d.size[1], d.size[2]), a, b, c);
    case FlexibleWord::Cylinder:
      check_count(d, na * na * nb, context);
      return cylinder_mesh(d.radius, d.length, a, b);
    case FlexibleWord::Ball:
      check_count(d, na * na * na, context);
      return ball_mesh(d.radius, a);
    case FlexibleWord::Rectangle:
      sizes(2);
      check_count(d, na * nb, context);
      return rectangle_mesh(d.size[0], d.size[1], a, b);
    case FlexibleWord::Disc:
      check_count(d, na * na, context);
      return disc_mesh(d.radius, a);
    case FlexibleWord::File:
    case FlexibleWord::Mesh:
      break;
  }
  check_count(d, static_cast<double>(d.nodes.size()), context);
  return written_mesh(d);
}

}  // namespace

std::vector<Index> nodes_in(const Mesh& mesh, const std::optional<Vec3>& lower,
                            const std::optional<Vec3>& upper, const Where& where) {
  double size = 0;
  for (const Vec3& x : mesh.nodes) size = std::max(size, x.cwiseAbs().maxCoeff());
  const double slack = kOnBorder * size;
  std::vector<Index> out = nodes_where(mesh, [&](const Vec3& x) {
    for (int i = 0; i < mesh.dim; ++i)
      if ((lower && x[i] < (*lower)[i] - slack) || (upper && x[i] > (*upper)[i] + slack))
        return false;
    return true;
  });
  if (out.empty()) throw Error(where.text(), "no node lies in this region of the mesh");
  return out;
}

FlexibleSpec flexible_spec(const FlexibleDescription& d, const ReadContext& context) {
  FlexibleSpec s;
  s.name = d.name;
  try {
    s.mesh = mesh_of(d, context);
  } catch (const Error& error) {
    if (error.where() == d.where.text()) throw;
    throw Error(d.where.text(), error.what());
  }
  s.young = d.young;
  s.poisson = d.poisson;
  s.density = d.density;
  s.damping_mass = d.damping_mass;
  s.damping_stiffness = d.damping_stiffness;
  s.consistent_mass = d.consistent_mass;
  s.plane_strain = d.plane_strain;
  s.position = d.position;
  s.orientation = orientation_of(d.orientation, d.rotation, d.where);
  s.velocity = d.velocity;
  const auto gather = [&](const std::vector<RegionDescription>& regions) {
    std::vector<bool> chosen(s.mesh.nodes.size());
    for (const RegionDescription& r : regions)
      for (const Index i : nodes_in(s.mesh, r.lower, r.upper, r.where))
        chosen[static_cast<std::size_t>(i)] = true;
    std::vector<Index> out;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (chosen[i]) out.push_back(static_cast<Index>(i));
    return out;
  };
  s.fixed = gather(d.fixed);
  s.driven = gather(d.driven);
  s.driven_velocity = d.driven_velocity;
  for (const AttachmentDescription& a : d.attach)
    s.attachments.push_back({a.body, nodes_in(s.mesh, a.lower, a.upper, a.where)});
  s.contact = d.contact;
  s.material = d.material;
  s.group = static_cast<std::uint32_t>(d.group);
  s.mask = static_cast<std::uint32_t>(d.mask);
  return s;
}

void resolve_flexible(std::vector<FlexibleDescription>& parts, const ReadContext& context) {
  for (FlexibleDescription& part : parts) {
    if (part.type != FlexibleWord::File) continue;
    Mesh mesh;
    try {
      mesh = read_mesh(context.path_of(part.where, part.file));
    } catch (const Error& error) {
      if (error.where() == part.where.text()) throw;
      throw Error(part.where.text(), error.what());
    }
    part.type = FlexibleWord::Mesh;
    part.nodes = mesh.nodes;
    for (Vec3& x : part.nodes) x *= part.scale;
    for (const auto& element : mesh.elements)
      for (int c = 0; c <= mesh.dim; ++c)
        part.elements.push_back(static_cast<double>(element[static_cast<std::size_t>(c)]));
    part.file.clear();
    part.scale = 1;
  }
}

}  // namespace orthant::io
