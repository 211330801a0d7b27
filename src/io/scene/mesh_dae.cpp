// SPDX-License-Identifier: Apache-2.0
// io/scene/mesh_dae.cpp: COLLADA => corners and triangles, in metres.
// Geometries are placed by the nodes of the scene (matrix, translate, rotate, scale) and scaled by
// <unit>. <up_axis> is not applied: robots' files mean their numbers as they stand.
#include <tinyxml2.h>

#include <Eigen/Geometry>
#include <map>
#include <numbers>

#include "io/scene/expression.hpp"
#include "io/scene/scene_reader.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

using tinyxml2::XMLElement;

constexpr int kMaxDepth = 64;             // of nodes
constexpr std::size_t kMaxUses = 10'000;  // of geometries by nodes
constexpr unsigned kMaxOffset = 1000;     // numbers for one corner of a face

class DaeReader {
 public:
  DaeReader(const std::string& data, const std::string& path) : path_(path) {
    if (document_.Parse(data.data(), data.size()) != tinyxml2::XML_SUCCESS)
      throw Error(path + ":" + std::to_string(document_.ErrorLineNum()), "is not XML");
  }

  MeshTriangles read() {
    const XMLElement* root = document_.FirstChildElement("COLLADA");
    if (root == nullptr) throw Error(path_, "has no <COLLADA>");
    double unit = 1;
    if (const XMLElement* asset = root->FirstChildElement("asset"))
      if (const XMLElement* e = asset->FirstChildElement("unit"))
        if (const char* meter = e->Attribute("meter"))
          if (!read_number(meter, unit) || !(unit > 0)) fail(*e, "'meter' must be a number > 0");
    for (const XMLElement* l = root->FirstChildElement("library_geometries"); l != nullptr;
         l = l->NextSiblingElement("library_geometries"))
      for (const XMLElement* g = l->FirstChildElement("geometry"); g != nullptr;
           g = g->NextSiblingElement("geometry"))
        if (const char* id = g->Attribute("id")) geometries_[id] = surface(*g);
    Eigen::Affine3d scale(Eigen::Scaling(unit));
    for (const XMLElement* l = root->FirstChildElement("library_nodes"); l != nullptr;
         l = l->NextSiblingElement("library_nodes"))
      for (const XMLElement* n = l->FirstChildElement("node"); n != nullptr;
           n = n->NextSiblingElement("node"))
        if (const char* id = n->Attribute("id")) nodes_[id] = n;
    for (const XMLElement* l = root->FirstChildElement("library_visual_scenes"); l != nullptr;
         l = l->NextSiblingElement("library_visual_scenes"))
      for (const XMLElement* s = l->FirstChildElement("visual_scene"); s != nullptr;
           s = s->NextSiblingElement("visual_scene"))
        walk(*s, scale, 0);
    if (mesh_.corners.empty())  // no scene: everything where it is
      for (const auto& [id, part] : geometries_) add(part, scale);
    return std::move(mesh_);
  }

 private:
  [[noreturn]] void fail(const XMLElement& at, const std::string& what) const {
    throw Error(path_ + ":" + std::to_string(at.GetLineNum()), what);
  }

  std::vector<double> numbers(const XMLElement& e) const {
    std::vector<double> out;
    const char* text = e.GetText();
    if (text == nullptr) return out;
    std::string_view rest(text);
    constexpr std::string_view kBlank = " \t\r\n";
    for (std::size_t at = rest.find_first_not_of(kBlank); at != std::string_view::npos;
         at = rest.find_first_not_of(kBlank)) {
      rest.remove_prefix(at);
      const std::size_t end = std::min(rest.find_first_of(kBlank), rest.size());
      double x = 0;
      if (!read_number(rest.substr(0, end), x))
        fail(e, "expected finite numbers, found '" + std::string(rest.substr(0, end)) + "'");
      out.push_back(x);
      rest.remove_prefix(end);
    }
    return out;
  }

  static std::string reference(const XMLElement& e, const char* name) {
    const char* value = e.Attribute(name);
    return value != nullptr && value[0] == '#' ? value + 1 : "";
  }

  /// Corners of <vertices>, and the triangles, polygons, fans and strips that use them.
  MeshTriangles surface(const XMLElement& geometry) const {
    MeshTriangles out;
    const XMLElement* mesh = geometry.FirstChildElement("mesh");
    const XMLElement* vertices = mesh == nullptr ? nullptr : mesh->FirstChildElement("vertices");
    if (vertices == nullptr) return out;
    std::string id;
    for (const XMLElement* i = vertices->FirstChildElement("input"); i != nullptr;
         i = i->NextSiblingElement("input"))
      if (i->Attribute("semantic", "POSITION") != nullptr) id = reference(*i, "source");
    for (const XMLElement* s = mesh->FirstChildElement("source"); s != nullptr;
         s = s->NextSiblingElement("source")) {
      if (s->Attribute("id", id.c_str()) == nullptr) continue;
      const XMLElement* array = s->FirstChildElement("float_array");
      if (array == nullptr) continue;
      const std::vector<double> x = numbers(*array);
      for (std::size_t i = 0; i + 2 < x.size(); i += 3)
        out.corners.emplace_back(x[i], x[i + 1], x[i + 2]);
    }
    for (const XMLElement* e = mesh->FirstChildElement(); e != nullptr; e = e->NextSiblingElement())
      add_faces(*e, out);
    return out;
  }

  /// <p> holds `stride` numbers for each corner of a face, the one at `place` names the corner.
  void add_faces(const XMLElement& e, MeshTriangles& out) const {
    const std::string tag = e.Name();
    const bool strips = tag == "tristrips";
    if (!strips && tag != "triangles" && tag != "polylist" && tag != "polygons" && tag != "trifans")
      return;
    std::size_t stride = 1, place = 0;
    for (const XMLElement* i = e.FirstChildElement("input"); i != nullptr;
         i = i->NextSiblingElement("input")) {
      const std::size_t offset = std::min(i->UnsignedAttribute("offset", 0), kMaxOffset);
      stride = std::max(stride, offset + 1);
      if (i->Attribute("semantic", "VERTEX") != nullptr) place = offset;
    }
    std::vector<double> sizes;
    if (const XMLElement* count = e.FirstChildElement("vcount")) sizes = numbers(*count);
    for (const XMLElement* p = e.FirstChildElement("p"); p != nullptr;
         p = p->NextSiblingElement("p")) {
      const std::vector<double> x = numbers(*p);
      std::vector<std::int32_t> corners;
      for (std::size_t i = place; i < x.size(); i += stride) {
        if (!(x[i] >= 0 && x[i] < static_cast<double>(out.corners.size())))
          fail(*p, "has the corner " + to_text(x[i]) + " of " + std::to_string(out.corners.size()));
        corners.push_back(static_cast<std::int32_t>(x[i]));
      }
      std::size_t at = 0, face = 0;
      while (at < corners.size()) {
        double size = static_cast<double>(corners.size());
        if (tag == "triangles") size = 3;
        if (tag == "polylist") size = face < sizes.size() ? sizes[face++] : 0;
        if (!(size >= 1 && size <= static_cast<double>(corners.size() - at)))
          fail(*p, "its faces and their corners do not go together");
        const auto n = static_cast<std::size_t>(size);
        for (std::size_t k = 2; k < n; ++k) {
          const std::int32_t first = corners[strips ? at + k - 2 : at],
                             second = corners[at + k - 1], third = corners[at + k];
          if (strips && k % 2 == 1)  // every other one of a strip is turned round
            out.triangles.push_back({second, first, third});
          else
            out.triangles.push_back({first, second, third});
        }
        at += n;
      }
    }
  }

  void add(const MeshTriangles& part, const Eigen::Affine3d& X) {
    const auto first = static_cast<std::int32_t>(mesh_.corners.size());
    for (const Vec3& p : part.corners) mesh_.corners.push_back(X * p);
    const bool mirrored = X.linear().determinant() < 0;
    for (const auto& t : part.triangles)
      mesh_.triangles.push_back(
          {first + t[0], first + t[mirrored ? 2 : 1], first + t[mirrored ? 1 : 2]});
  }

  Eigen::Affine3d placed(const XMLElement& node, Eigen::Affine3d X) const {
    for (const XMLElement* e = node.FirstChildElement(); e != nullptr;
         e = e->NextSiblingElement()) {
      const std::string tag = e->Name();
      const bool moves = tag == "matrix" || tag == "translate" || tag == "rotate" || tag == "scale";
      if (!moves) continue;
      const std::vector<double> x = numbers(*e);
      const std::size_t wanted = tag == "matrix" ? 16 : tag == "rotate" ? 4 : 3;
      if (x.size() != wanted)
        fail(*e, "<" + tag + "> must have " + std::to_string(wanted) + " numbers");
      if (tag == "matrix") {
        Eigen::Matrix4d M;
        for (int i = 0; i < 16; ++i) M(i / 4, i % 4) = x[static_cast<std::size_t>(i)];
        X = X * Eigen::Affine3d(M);
      } else if (tag == "translate") {
        X.translate(Vec3(x[0], x[1], x[2]));
      } else if (tag == "scale") {
        X.scale(Vec3(x[0], x[1], x[2]));
      } else {
        const Vec3 axis(x[0], x[1], x[2]);
        if (axis.norm() > 0)
          X.rotate(Eigen::AngleAxisd(x[3] * std::numbers::pi / 180, axis.normalized()));
      }
    }
    return X;
  }

  void walk(const XMLElement& node, const Eigen::Affine3d& parent, int depth) {
    if (depth > kMaxDepth) fail(node, "nodes lie deeper than " + std::to_string(kMaxDepth));
    const Eigen::Affine3d X = placed(node, parent);
    for (const XMLElement* e = node.FirstChildElement(); e != nullptr;
         e = e->NextSiblingElement()) {
      const std::string tag = e->Name();
      if (tag == "node") {
        walk(*e, X, depth + 1);
      } else if (tag == "instance_node") {
        const auto found = nodes_.find(reference(*e, "url"));
        if (found != nodes_.end()) walk(*found->second, X, depth + 1);
      } else if (tag == "instance_geometry") {
        if (++uses_ > kMaxUses) fail(*e, "uses geometries more than 10000 times");
        const auto found = geometries_.find(reference(*e, "url"));
        if (found == geometries_.end()) continue;
        add(found->second, X);
        if (mesh_.corners.size() > kMaxMeshCorners) return;  // refused by the caller
      }
    }
  }

  std::string path_;
  tinyxml2::XMLDocument document_;
  std::map<std::string, MeshTriangles> geometries_;
  std::map<std::string, const XMLElement*> nodes_;
  MeshTriangles mesh_;
  std::size_t uses_ = 0;
};

}  // namespace

MeshTriangles dae_surface(const std::string& data, const std::string& path) {
  return DaeReader(data, path).read();
}

}  // namespace orthant::io
