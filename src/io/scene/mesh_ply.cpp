// SPDX-License-Identifier: Apache-2.0
// io/scene/mesh_ply.cpp: PLY (text, binary) and MuJoCo's own binary .msh => corners and triangles.
#include <bit>
#include <cstring>
#include <sstream>

#include "io/scene/expression.hpp"
#include "io/scene/scene_reader.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

/// Numbers one after the other, from words or from bytes.
class Numbers {
 public:
  enum class Form { Text, Little, Big };
  Numbers(const std::string& data, std::size_t at, Form form, const std::string& path)
      : data_(data), at_(at), form_(form), path_(path) {}

  double next(const std::string& type) {
    if (form_ == Form::Text) {
      constexpr const char* kBlank = " \t\r\n";
      const std::size_t begin = std::min(data_.find_first_not_of(kBlank, at_), data_.size());
      const std::size_t end = std::min(data_.find_first_of(kBlank, begin), data_.size());
      double x = 0;
      if (begin == end || !read_number(std::string_view(data_).substr(begin, end - begin), x))
        throw Error(path_, "expected a finite number at byte " + std::to_string(begin));
      at_ = end;
      return x;
    }
    if (type == "char" || type == "int8") return get<std::int8_t>();
    if (type == "uchar" || type == "uint8") return get<std::uint8_t>();
    if (type == "short" || type == "int16") return get<std::int16_t>();
    if (type == "ushort" || type == "uint16") return get<std::uint16_t>();
    if (type == "int" || type == "int32") return get<std::int32_t>();
    if (type == "uint" || type == "uint32") return get<std::uint32_t>();
    if (type == "float" || type == "float32") return static_cast<double>(get<float>());
    if (type == "double" || type == "float64") return get<double>();
    std::string shown = type.substr(0, 20);  // what a terminal can print
    for (char& c : shown)
      if (c <= ' ' || c > '~') c = '?';
    throw Error(path_, "has numbers of the unknown type '" + shown + "'");
  }

 private:
  template <class T>
  T get() {
    if (data_.size() - at_ < sizeof(T)) throw Error(path_, "ends before its last number");
    char bytes[sizeof(T)];
    std::memcpy(bytes, data_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    if ((form_ == Form::Big) == (std::endian::native == std::endian::little))
      std::reverse(bytes, bytes + sizeof(T));
    T x;
    std::memcpy(&x, bytes, sizeof(T));
    return x;
  }

  const std::string& data_;
  std::size_t at_;
  Form form_;
  const std::string& path_;
};

std::size_t count_of(double x, const std::string& path) {
  if (!(x >= 0 && x <= static_cast<double>(kMaxMeshCorners) && x == std::floor(x)))
    throw Error(path, "has a count of " + to_text(x) + "; allowed: a whole number up to " +
                          std::to_string(kMaxMeshCorners));
  return static_cast<std::size_t>(x);
}

void add_fan(const std::vector<double>& loop, MeshTriangles& mesh, const std::string& path) {
  std::vector<std::int32_t> corners;
  for (const double x : loop) {
    if (!(x >= 0 && x < static_cast<double>(mesh.corners.size())))
      throw Error(path,
                  "has the corner " + to_text(x) + " of " + std::to_string(mesh.corners.size()));
    corners.push_back(static_cast<std::int32_t>(x));
  }
  for (std::size_t k = 2; k < corners.size(); ++k)
    mesh.triangles.push_back({corners[0], corners[k - 1], corners[k]});
}

}  // namespace

MeshTriangles ply_surface(const std::string& data, const std::string& path) {
  struct Property {
    std::string name, type, count;  // count: of a list
  };
  struct Part {
    std::string name;
    std::size_t size = 0;
    std::vector<Property> properties = {};
  };
  std::vector<Part> parts;
  auto form = Numbers::Form::Text;
  std::istringstream lines(data);
  std::string line;
  bool ended = false;
  while (!ended && std::getline(lines, line)) {
    std::istringstream words(line);
    std::string word, a, b;
    words >> word;
    if (word == "format") {
      words >> a;
      if (a == "binary_little_endian") form = Numbers::Form::Little;
      if (a == "binary_big_endian") form = Numbers::Form::Big;
    } else if (word == "element") {
      words >> a >> b;
      double size = -1;
      (void)read_number(b, size);
      parts.push_back({a, count_of(size, path)});
    } else if (word == "property" && !parts.empty()) {
      Property p;
      words >> p.type;
      if (p.type == "list") words >> p.count >> p.type;
      words >> p.name;
      parts.back().properties.push_back(p);
    }
    ended = word == "end_header";
  }
  if (!ended) throw Error(path, "is not PLY: it has no 'end_header'");
  Numbers numbers(data, static_cast<std::size_t>(lines.tellg()), form, path);
  MeshTriangles mesh;
  for (const Part& part : parts)
    for (std::size_t i = 0; i < part.size; ++i) {
      Vec3 corner = Vec3::Zero();
      for (const Property& p : part.properties) {
        std::vector<double> values(p.count.empty() ? 1 : count_of(numbers.next(p.count), path));
        for (double& x : values) x = numbers.next(p.type);
        if (p.name.size() == 1 && p.name[0] >= 'x' && p.name[0] <= 'z' && !values.empty())
          corner[p.name[0] - 'x'] = values[0];
        if (part.name == "face" && !p.count.empty() && p.name.starts_with("vertex_ind"))
          add_fan(values, mesh, path);
      }
      if (part.name == "vertex") mesh.corners.push_back(corner);
    }
  return mesh;
}

/// Counts of corners, normals, texture coordinates and triangles, then all of them.
MeshTriangles msh_surface(const std::string& data, const std::string& path) {
  Numbers numbers(data, 0, Numbers::Form::Little, path);
  std::size_t count[4];
  for (std::size_t& n : count) n = count_of(numbers.next("int"), path);
  MeshTriangles mesh;
  for (std::size_t i = 0; i < count[0]; ++i) {
    const double x = numbers.next("float"), y = numbers.next("float"), z = numbers.next("float");
    mesh.corners.emplace_back(x, y, z);
  }
  for (std::size_t i = 0; i < 3 * count[1] + 2 * count[2]; ++i) (void)numbers.next("float");
  for (std::size_t i = 0; i < count[3]; ++i) {
    const double a = numbers.next("int"), b = numbers.next("int"), c = numbers.next("int");
    add_fan({a, b, c}, mesh, path);
  }
  return mesh;
}

}  // namespace orthant::io
