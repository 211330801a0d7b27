// SPDX-License-Identifier: Apache-2.0
// io/output/vtk.cpp: Trajectory => XML files (.vtp, .vtu) per frame, ParaView collections (.pvd).
// Arrays are base64 with a 64-bit length in front. Surfaces are cut into triangles here, so that
// ParaView shows shapes as they are without a filter.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numbers>

#include "io/output/base64.hpp"
#include "io/output/parts.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"
#include "orthant/io/output.hpp"
#include "orthant/math/pose_kernel.hpp"

namespace orthant {
namespace {

using Json = nlohmann::json;

constexpr int kAround = 16, kAlong = 8;  // pieces of a sphere

struct Mesh {
  std::vector<Vec3> points;
  std::vector<std::int64_t> triangles;

  void add(const Mesh& other) {
    const auto first = static_cast<std::int64_t>(points.size());
    points.insert(points.end(), other.points.begin(), other.points.end());
    for (const std::int64_t i : other.triangles) triangles.push_back(first + i);
  }
};

/// A grid of (along + 1) x around points closed around x: ends are poles.
template <class F>
Mesh revolved(int along, const F& point) {
  Mesh mesh;
  for (int i = 0; i <= along; ++i)
    for (int j = 0; j < kAround; ++j)
      mesh.points.push_back(point(i, 2 * std::numbers::pi * j / kAround));
  for (int i = 0; i < along; ++i)
    for (int j = 0; j < kAround; ++j) {
      const std::int64_t a = i * kAround + j, b = i * kAround + (j + 1) % kAround;
      for (const std::int64_t k : {a, b, a + kAround, b, b + kAround, a + kAround})
        mesh.triangles.push_back(k);
    }
  return mesh;
}

/// A sphere pulled apart along x (capsule) and scaled (ellipsoid).
Mesh round_mesh(double radius, double half_length, const Vec3& scale) {
  const int along = half_length > 0 ? kAlong + 1 : kAlong;
  return revolved(along, [&](int i, double turn) {
    const bool upper = half_length > 0 && i > kAlong / 2;
    const int ring = upper ? i - 1 : i;
    const double a = std::numbers::pi * ring / kAlong;
    const double shift = half_length > 0 ? (upper ? half_length : -half_length) : 0;
    return Vec3(Vec3(shift - radius * std::cos(a), radius * std::sin(a) * std::cos(turn),
                     radius * std::sin(a) * std::sin(turn))
                    .cwiseProduct(scale));
  });
}

Mesh box_mesh(const Vec3& half) {
  Mesh mesh;
  for (int i = 0; i < 8; ++i)
    mesh.points.push_back(half.cwiseProduct(
        Vec3((i & 1) != 0 ? 1 : -1, (i & 2) != 0 ? 1 : -1, (i & 4) != 0 ? 1 : -1)));
  mesh.triangles = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                    2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};
  return mesh;
}

/// A flat polygon as a fan.
Mesh fan(std::vector<Vec3> corners) {
  Mesh mesh;
  mesh.points = std::move(corners);
  for (std::size_t i = 1; i + 1 < mesh.points.size(); ++i)
    for (const std::size_t k : {std::size_t{0}, i, i + 1})
      mesh.triangles.push_back(static_cast<std::int64_t>(k));
  return mesh;
}

Mesh torus_mesh(double major, double minor) {
  return revolved(2 * kAlong, [&](int i, double turn) {
    const double a = std::numbers::pi * i / kAlong, r = major + minor * std::cos(turn);
    return Vec3(r * std::cos(a), r * std::sin(a), minor * std::sin(turn));
  });
}

std::vector<unsigned char> decoded(const std::string& text) {
  std::vector<unsigned char> out;
  std::uint32_t word = 0;
  int bits = 0;
  for (const char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (value < 0) break;
    word = word << 6 | static_cast<std::uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    out.push_back(static_cast<unsigned char>(word >> bits & 255));
  }
  return out;
}

template <class T>
std::vector<T> numbers_of(const Json& text) {
  const std::vector<unsigned char> bytes = decoded(text.get<std::string>());
  std::vector<T> out(bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
  return out;
}

std::vector<Vec3> flat_outline(double radius, double half_length, double sx, double sy) {
  std::vector<Vec3> out;
  for (int i = 0; i <= 2 * kAround; ++i) {
    if (i == 2 * kAround && half_length == 0) break;
    const double a = std::numbers::pi * i / kAround - std::numbers::pi / 2;
    const double shift = i <= kAround ? half_length : -half_length;
    out.emplace_back(sx * radius * std::cos(a) + shift, sy * radius * std::sin(a), 0);
  }
  return out;
}

/// Surface of one shape of model.json in its own frame; `reach`: half the size of a half-space.
Mesh shape_mesh(const Json& s, double reach, bool planar) {
  const std::string type = s.at("type");
  const auto number = [&](const char* name) { return s.at(name).get<double>(); };
  const auto half = [&](std::size_t i) { return s.at("half").at(i).get<double>(); };
  const auto axis = [&](std::size_t i) { return s.at("semi_axes").at(i).get<double>(); };
  if (type == "sphere") return round_mesh(number("radius"), 0, Vec3::Ones());
  if (type == "capsule") return round_mesh(number("radius"), number("half_length"), Vec3::Ones());
  if (type == "ellipsoid") return round_mesh(1, 0, Vec3(axis(0), axis(1), axis(2)));
  if (type == "cylinder" || type == "cone") {
    const double r = number("radius"), h = number("half_length");
    return revolved(3, [&](int i, double turn) {  // the middles of both ends are poles
      const double radius = i == 1 || (i == 2 && type == "cylinder") ? r : 0;
      return Vec3(i < 2 ? -h : h, radius * std::cos(turn), radius * std::sin(turn));
    });
  }
  if (type == "torus") return torus_mesh(number("major"), number("minor"));
  if (type == "box") return box_mesh(Vec3(half(0), half(1), half(2)));
  if (type == "disc") return fan(flat_outline(number("radius"), 0, 1, 1));
  if (type == "ellipse") return fan(flat_outline(1, 0, axis(0), axis(1)));
  if (type == "stadium") return fan(flat_outline(number("radius"), number("half_length"), 1, 1));
  if (type == "rectangle") {
    const double a = half(0), b = half(1);
    return fan({Vec3(-a, -b, 0), Vec3(a, -b, 0), Vec3(a, b, 0), Vec3(-a, b, 0)});
  }
  if (type == "half_space") {
    if (planar)
      return fan({Vec3(-reach, -0.1 * reach, 0), Vec3(reach, -0.1 * reach, 0), Vec3(reach, 0, 0),
                  Vec3(-reach, 0, 0)});
    return fan({Vec3(-reach, -reach, 0), Vec3(reach, -reach, 0), Vec3(reach, reach, 0),
                Vec3(-reach, reach, 0)});
  }
  Mesh mesh;
  const std::vector<float> v = numbers_of<float>(s.at("vertices"));
  const std::size_t dim = type == "polygon" ? 2 : 3;
  for (std::size_t i = 0; i + dim <= v.size(); i += dim)
    mesh.points.emplace_back(v[i], v[i + 1], dim == 3 ? v[i + 2] : 0.0F);
  if (type == "polygon") return fan(std::move(mesh.points));
  for (const std::uint32_t i : numbers_of<std::uint32_t>(s.at("faces")))
    mesh.triangles.push_back(i);
  return mesh;
}

// --- XML ---------------------------------------------------------------------------------------

template <class T>
std::string array_xml(const char* type, const std::string& name, int components,
                      const std::vector<T>& values) {
  std::string bytes(8 + values.size() * sizeof(T), '\0');
  const std::uint64_t size = values.size() * sizeof(T);
  std::memcpy(bytes.data(), &size, 8);
  if (size > 0) std::memcpy(bytes.data() + 8, values.data(), size);
  return "<DataArray type=\"" + std::string(type) + "\" Name=\"" + name +
         "\" NumberOfComponents=\"" + std::to_string(components) + "\" format=\"binary\">" +
         io::base64(bytes.data(), bytes.size()) + "</DataArray>\n";
}
std::string floats(const std::string& name, int components, const std::vector<float>& values) {
  return array_xml("Float32", name, components, values);
}
std::string integers(const std::string& name, const std::vector<std::int64_t>& values) {
  return array_xml("Int64", name, 1, values);
}

/// A piece of points with cells of `corners` points each (1: vertices, 3: triangles).
std::string piece_xml(const std::vector<float>& points, const std::vector<std::int64_t>& cells,
                      int corners, const std::string& point_data, const std::string& cell_data) {
  const std::size_t count = cells.size() / static_cast<std::size_t>(corners);
  std::vector<std::int64_t> offsets(count);
  for (std::size_t i = 0; i < count; ++i) offsets[i] = static_cast<std::int64_t>(i + 1) * corners;
  const char* kind = corners == 1 ? "Verts" : "Polys";
  return "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" "
         "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<PolyData>\n<Piece "
         "NumberOfPoints=\"" +
         std::to_string(points.size() / 3) + "\" NumberOf" + kind + "=\"" + std::to_string(count) +
         "\">\n<PointData>\n" + point_data + "</PointData>\n<CellData>\n" + cell_data +
         "</CellData>\n<Points>\n" + floats("Points", 3, points) + "</Points>\n<" + kind + ">\n" +
         integers("connectivity", cells) + integers("offsets", offsets) + "</" + kind +
         ">\n</Piece>\n</PolyData>\n</VTKFile>\n";
}

/// Tetrahedra or triangles of flexible parts with their data.
std::string grid_xml(const std::vector<float>& points, const std::vector<std::int64_t>& cells,
                     const std::vector<std::int64_t>& offsets,
                     const std::vector<std::uint8_t>& types, const std::string& point_data,
                     const std::string& cell_data) {
  return "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
         "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n<Piece "
         "NumberOfPoints=\"" +
         std::to_string(points.size() / 3) + "\" NumberOfCells=\"" + std::to_string(types.size()) +
         "\">\n<PointData>\n" + point_data + "</PointData>\n<CellData>\n" + cell_data +
         "</CellData>\n<Points>\n" + floats("Points", 3, points) + "</Points>\n<Cells>\n" +
         integers("connectivity", cells) + integers("offsets", offsets) +
         array_xml("UInt8", "types", 1, types) +
         "</Cells>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n";
}

std::vector<std::int64_t> counting(std::size_t count) {
  std::vector<std::int64_t> out(count);
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<std::int64_t>(i);
  return out;
}

void push(std::vector<float>& to, const double* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to.push_back(static_cast<float>(from[i]));
}

class Exporter {
 public:
  Exporter(const Trajectory& t, const Json& model, const std::string& run, std::string folder)
      : t_(t), folder_(std::move(folder)), n_(t.bodies.size()), parts_(t, run) {
    double reach = 1;  // a half-space is drawn as large as the scene
    for (std::size_t i = 0; i < t.pose.size(); i += 7)
      for (std::size_t c = 0; c < 3; ++c) reach = std::max(reach, 1.5 * std::abs(t.pose[i + c]));
    for (const Json& body : model.at("bodies")) {
      Mesh mesh;
      for (const Json& s : body.at("shapes")) mesh.add(placed_mesh(s, reach));
      meshes_.push_back(std::move(mesh));
      shapes_.push_back(body.at("shapes"));
    }
  }

  void frame(std::size_t f) {
    char number[32];
    std::snprintf(number, sizeof number, "_%06zu.vtp", f);
    write("bodies", number, f, bodies_xml(f));
    write("shapes", number, f, shapes_xml(f));
    if (t_.has_contacts()) write("contacts", number, f, contacts_xml(f));
    if (parts_.count() == 0) return;
    std::snprintf(number, sizeof number, "_%06zu.vtu", f);
    write("parts", number, f, parts_xml(f));
  }

  void finish() {
    for (const auto& [name, entries] : series_)
      write_file(folder_ + "/" + name + ".pvd",
                 "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"1.0\">\n"
                 "<Collection>\n" +
                     entries + "</Collection>\n</VTKFile>\n");
  }

 private:
  /// Surface of a shape in the frame of its body.
  Mesh placed_mesh(const Json& s, double reach) const {
    Mesh part = shape_mesh(s, reach, t_.planar);
    const Json& x = s.at("position");
    const Json& q = s.at("quaternion");
    const Pose X{Vec3(x[0], x[1], x[2]), {q[0], q[1], q[2], q[3]}};
    for (Vec3& p : part.points) p = transform(X, p);
    return part;
  }

  /// Surface of a body in a frame: a rod that grows has its length there.
  const Mesh& mesh_of(std::size_t f, std::size_t b, Mesh& grown) const {
    const auto first = t_.grows() ? static_cast<std::size_t>(t_.ancestor[b]) : b;
    const double length = t_.grows() ? t_.length[f * n_ + b] : 0;
    if (length == 0) return meshes_.at(first);
    Json rod = shapes_.at(first).at(0);
    rod["half_length"] = 0.5 * length - rod.at("radius").get<double>();
    return grown = placed_mesh(rod, 1);
  }

  void write(const std::string& name, const std::string& ending, std::size_t f,
             const std::string& text) {
    write_file(folder_ + "/" + name + ending, text);
    std::string* entries = nullptr;
    for (auto& [key, value] : series_)
      if (key == name) entries = &value;
    if (entries == nullptr) entries = &series_.emplace_back(name, "").second;
    *entries +=
        "<DataSet timestep=\"" + to_text(t_.time[f]) + "\" file=\"" + name + ending + "\"/>\n";
  }

  std::string bodies_xml(std::size_t f) const {
    std::vector<float> points, turn, linear, angular, length;
    std::vector<std::int64_t> number, mother;
    for (std::size_t b = 0; b < n_; ++b) {
      if (!t_.is_alive(f, b)) continue;
      number.push_back(static_cast<std::int64_t>(b));
      if (t_.grows()) {
        push(length, t_.length.data() + f * n_ + b, 1);
        mother.push_back(t_.mother[b]);
      }
      push(points, t_.pose.data() + 7 * (f * n_ + b), 3);
      push(turn, t_.pose.data() + 7 * (f * n_ + b) + 3, 4);
      if (t_.velocity.empty()) continue;
      push(linear, t_.velocity.data() + 6 * (f * n_ + b), 3);
      push(angular, t_.velocity.data() + 6 * (f * n_ + b) + 3, 3);
    }
    std::string data = integers("body", number) + floats("orientation", 4, turn);
    if (t_.grows()) data += floats("length", 1, length) + integers("mother", mother);
    if (!t_.velocity.empty())
      data += floats("velocity", 3, linear) + floats("angular_velocity", 3, angular);
    return piece_xml(points, counting(number.size()), 1, data, "");
  }

  std::string shapes_xml(std::size_t f) const {
    std::vector<float> points, speed;
    std::vector<std::int64_t> cells, body;
    Mesh grown;
    for (std::size_t b = 0; b < n_; ++b) {
      if (!t_.is_alive(f, b)) continue;
      const Mesh& mesh = mesh_of(f, b, grown);
      const double* x = t_.pose.data() + 7 * (f * n_ + b);
      const Pose X{Vec3(x[0], x[1], x[2]), {x[3], x[4], x[5], x[6]}};
      const auto first = static_cast<std::int64_t>(points.size() / 3);
      for (const Vec3& p : mesh.points) push(points, transform(X, p).data(), 3);
      for (const std::int64_t i : mesh.triangles) cells.push_back(first + i);
      const std::size_t count = mesh.triangles.size() / 3;
      body.insert(body.end(), count, static_cast<std::int64_t>(b));
      if (t_.velocity.empty()) continue;
      const double* v = t_.velocity.data() + 6 * (f * n_ + b);
      speed.insert(speed.end(), count, static_cast<float>(Vec3(v[0], v[1], v[2]).norm()));
    }
    std::string data = integers("body", body);
    if (!t_.velocity.empty()) data += floats("speed", 1, speed);
    return piece_xml(points, cells, 3, "", data);
  }

  std::string contacts_xml(std::size_t f) const {
    const auto begin = static_cast<std::size_t>(t_.contact_offset[f]),
               end = static_cast<std::size_t>(t_.contact_offset[f + 1]);
    std::vector<float> points, normal, force, gap;
    std::vector<std::int64_t> a, b, set;
    for (std::size_t c = begin; c < end; ++c) {
      push(points, t_.contact_point.data() + 3 * c, 3);
      push(normal, t_.contact_normal.data() + 3 * c, 3);
      for (std::size_t i = 0; i < 3; ++i)
        force.push_back(static_cast<float>(t_.contact_impulse[3 * c + i] / t_.h));
      push(gap, t_.contact_gap.data() + c, 1);
      a.push_back(t_.contact_a[c]);
      b.push_back(t_.contact_b[c]);
      set.push_back(t_.contact_set[c]);
    }
    return piece_xml(points, counting(end - begin), 1,
                     floats("force", 3, force) + floats("normal", 3, normal) +
                         floats("gap", 1, gap) + integers("body_a", a) + integers("body_b", b) +
                         integers("set", set),
                     "");
  }

  std::string parts_xml(std::size_t f) {
    constexpr std::uint8_t kTriangle = 5, kTetrahedron = 10;  // VTK's numbers
    std::vector<float> points, displacement, stress, node_stress;
    std::vector<std::int64_t> cells, offsets, of_part;
    std::vector<std::uint8_t> types;
    for (std::size_t p = 0; p < parts_.count(); ++p) {
      const FlexiblePart& part = parts_.part(p);
      const auto first = static_cast<std::int64_t>(points.size() / 3);
      push(points, parts_.nodes(f, p), 3 * static_cast<std::size_t>(part.node_count));
      for (Index i = 0; i < part.node_count; ++i)
        push(displacement, parts_.displacement(f, p, i).data(), 3);
      for (const auto& element : part.elements) {
        for (Index c = 0; c < part.corner_count(); ++c)
          cells.push_back(first + element[static_cast<std::size_t>(c)]);
        offsets.push_back(static_cast<std::int64_t>(cells.size()));
        types.push_back(part.dim == 3 ? kTetrahedron : kTriangle);
        of_part.push_back(static_cast<std::int64_t>(p));
      }
      const std::vector<double> elements = parts_.stress(f, p), nodes = parts_.node_stress(f, p);
      push(stress, elements.data(), elements.size());
      push(node_stress, nodes.data(), nodes.size());
    }
    return grid_xml(points, cells, offsets, types,
                    floats("displacement", 3, displacement) + floats("von_mises", 1, node_stress),
                    integers("part", of_part) + floats("von_mises", 1, stress));
  }

  const Trajectory& t_;
  std::string folder_;
  std::size_t n_;
  io::PartFrames parts_;
  std::vector<Mesh> meshes_;  // by body of model.json
  std::vector<Json> shapes_;
  std::vector<std::pair<std::string, std::string>> series_;
};

}  // namespace

void write_vtk(const Trajectory& t, const std::string& run, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(folder, "cannot be made: " + error.message());
  try {
    const Json model = Json::parse(read_file(run + "/model.json"));
    Exporter exporter(t, model, run, folder);
    for (std::size_t f = 0; f < t.time.size(); ++f) exporter.frame(f);
    exporter.finish();
  } catch (const Json::exception& damage) {
    throw Error(run + "/model.json", std::string("is damaged: ") + damage.what());
  }
}

}  // namespace orthant
