// SPDX-License-Identifier: Apache-2.0
// io/scene/mesh_glb.cpp: binary glTF => corners and triangles. Axes are taken as they stand.
#include <Eigen/Geometry>
#include <cstring>
#include <nlohmann/json.hpp>

#include "io/scene/scene_reader.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 64;  // of nodes

class GlbReader {
 public:
  GlbReader(const std::string& data, const std::string& path) : data_(data), path_(path) {
    constexpr std::uint32_t kMagic = 0x46546c67, kJson = 0x4e4f534a;
    if (data.size() < 20 || word(0) != kMagic || word(16) != kJson) fail("is not binary glTF");
    const std::size_t length = word(12);
    if (length > data.size() - 20) fail("ends before its end");
    json_ = Json::parse(data.begin() + 20, data.begin() + 20 + static_cast<std::ptrdiff_t>(length),
                        nullptr, false);
    if (json_.is_discarded() || !json_.is_object()) fail("has no JSON in it");
    bytes_ = std::min(20 + length + 8, data.size());
  }

  MeshTriangles read() {
    try {
      const Json scenes = list("scenes");
      if (!scenes.empty())
        for (const Json& node : scenes.at(json_.value("scene", std::size_t{0})).at("nodes"))
          walk(node.get<std::size_t>(), Eigen::Affine3d::Identity(), 0);
      else
        for (const Json& mesh : list("meshes")) add(mesh, Eigen::Affine3d::Identity());
    } catch (const Json::exception&) {
      fail("has JSON that is not glTF");
    }
    return std::move(mesh_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(path_, what); }
  std::uint32_t word(std::size_t at) const {
    std::uint32_t x = 0;
    std::memcpy(&x, data_.data() + at, 4);
    return x;
  }
  Json list(const char* name) const { return json_.value(name, Json::array()); }

  void walk(std::size_t index, const Eigen::Affine3d& parent, int depth) {
    if (depth > kMaxDepth) fail("has nodes deeper than " + std::to_string(kMaxDepth));
    const Json& node = json_.at("nodes").at(index);
    Eigen::Affine3d X = parent;
    if (node.contains("matrix")) {
      Eigen::Matrix4d M;
      for (int i = 0; i < 16; ++i) M(i % 4, i / 4) = node["matrix"].at(static_cast<std::size_t>(i));
      X = X * Eigen::Affine3d(M);
    } else {
      const auto values = [&](const char* name, std::vector<double> otherwise) {
        return node.contains(name) ? node[name].get<std::vector<double>>() : otherwise;
      };
      const auto t = values("translation", {0, 0, 0}), s = values("scale", {1, 1, 1}),
                 r = values("rotation", {0, 0, 0, 1});
      if (t.size() != 3 || s.size() != 3 || r.size() != 4) fail("has JSON that is not glTF");
      X.translate(Vec3(t[0], t[1], t[2]));
      X.rotate(Eigen::Quaterniond(r[3], r[0], r[1], r[2]).normalized());
      X.scale(Vec3(s[0], s[1], s[2]));
    }
    if (node.contains("mesh")) add(json_.at("meshes").at(node["mesh"].get<std::size_t>()), X);
    for (const Json& child : node.value("children", Json::array()))
      walk(child.get<std::size_t>(), X, depth + 1);
  }

  /// `width` numbers for each of an accessor's items.
  std::vector<double> numbers(std::size_t index, std::size_t width) const {
    const Json& accessor = json_.at("accessors").at(index);
    const Json& view = json_.at("bufferViews").at(accessor.at("bufferView").get<std::size_t>());
    const auto count = accessor.at("count").get<std::size_t>();
    const int type = accessor.at("componentType").get<int>();
    const std::size_t size = type == 5121 ? 1 : type == 5123 ? 2 : 4;
    if (type != 5121 && type != 5123 && type != 5125 && type != 5126)
      fail("has numbers of the unknown type " + std::to_string(type));
    if (count > 3 * kMaxMeshCorners)
      fail("has more than " + std::to_string(3 * kMaxMeshCorners) + " numbers of one kind");
    const auto stride = view.value("byteStride", width * size);
    const std::size_t begin =
        view.value("byteOffset", std::size_t{0}) + accessor.value("byteOffset", std::size_t{0});
    const std::size_t room = data_.size() - bytes_;
    if (count > 0 && (begin > room || stride > room || stride * (count - 1) > room - begin ||
                      width * size > room - begin - stride * (count - 1)))
      fail("ends before its last number");
    std::vector<double> out;
    out.reserve(count * width);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = 0; k < width; ++k) {
        const char* at = data_.data() + bytes_ + begin + i * stride + k * size;
        std::uint8_t u8 = 0;
        std::uint16_t u16 = 0;
        std::uint32_t u32 = 0;
        float f = 0;
        if (type == 5121) std::memcpy(&u8, at, 1);
        if (type == 5123) std::memcpy(&u16, at, 2);
        if (type == 5125) std::memcpy(&u32, at, 4);
        if (type == 5126) std::memcpy(&f, at, 4);
        out.push_back(static_cast<double>(u8) + u16 + u32 + static_cast<double>(f));
      }
    return out;
  }

  void add(const Json& mesh, const Eigen::Affine3d& X) {
    const bool mirrored = X.linear().determinant() < 0;
    for (const Json& part : mesh.at("primitives")) {
      if (part.value("mode", 4) != 4 || !part.at("attributes").contains("POSITION")) continue;
      const auto first = static_cast<std::int32_t>(mesh_.corners.size());
      const std::vector<double> x = numbers(part["attributes"]["POSITION"].get<std::size_t>(), 3);
      for (std::size_t i = 0; i + 2 < x.size(); i += 3)
        mesh_.corners.push_back(X * Vec3(x[i], x[i + 1], x[i + 2]));
      if (mesh_.corners.size() > kMaxMeshCorners) return;  // refused by the caller
      std::vector<double> corners;
      if (part.contains("indices"))
        corners = numbers(part["indices"].get<std::size_t>(), 1);
      else
        for (std::size_t i = 0; i < x.size() / 3; ++i) corners.push_back(static_cast<double>(i));
      for (std::size_t i = 0; i + 2 < corners.size(); i += 3) {
        std::int32_t t[3];
        for (std::size_t k = 0; k < 3; ++k) {
          if (!(corners[i + k] >= 0 && corners[i + k] < static_cast<double>(x.size() / 3)))
            fail("has a triangle with a corner it does not have");
          t[k] = first + static_cast<std::int32_t>(corners[i + k]);
        }
        mesh_.triangles.push_back({t[0], t[mirrored ? 2 : 1], t[mirrored ? 1 : 2]});
      }
    }
  }

  const std::string& data_;
  std::string path_;
  Json json_;
  std::size_t bytes_ = 0;  ///< where the numbers begin
  MeshTriangles mesh_;
};

}  // namespace

MeshTriangles glb_surface(const std::string& data, const std::string& path) {
  return GlbReader(data, path).read();
}

}  // namespace orthant::io
