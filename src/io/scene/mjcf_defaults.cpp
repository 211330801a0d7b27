// SPDX-License-Identifier: Apache-2.0
// io/scene/mjcf_defaults.cpp: <include> and <default> written out.
#include <filesystem>

#include "io/scene/mjcf.hpp"
#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

using Element = tinyxml2::XMLElement;

constexpr int kMaxIncludes = 64;

class Includes {
 public:
  Includes(const std::string& path, bool read_files, XmlReader& xml)
      : folder_(std::filesystem::path(path).parent_path()), read_files_(read_files), xml_(xml) {}

  void resolve(Element& e, std::vector<std::string>& open) {
    for (Element* c = e.FirstChildElement(); c != nullptr;) {
      Element* next = c->NextSiblingElement();
      if (std::string(c->Name()) == "include") {
        replace(e, *c, open);
      } else {
        resolve(*c, open);
      }
      c = next;
    }
  }

 private:
  void replace(Element& parent, Element& include, std::vector<std::string>& open) {
    std::string name = xml_.text(include, "file");
    std::replace(name.begin(), name.end(), '\\', '/');  // written on other systems
    const std::string path = (folder_ / name).lexically_normal().string();
    if (!read_files_) return xml_.problem(include, "other files are not read here");
    if (std::find(open.begin(), open.end(), path) != open.end())
      return xml_.problem(include, "'" + name + "' includes itself");
    if (++count_ > kMaxIncludes)
      return xml_.problem(include, "more than " + std::to_string(kMaxIncludes) + " includes");
    tinyxml2::XMLDocument document;
    try {
      const std::string text = read_regular_file(path, kMaxRobotFile);
      if (document.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS)
        return xml_.problem(include,
                            path + ":" + std::to_string(document.ErrorLineNum()) + ": is not XML");
    } catch (const Error& error) {
      return xml_.problem(include, error.what());
    }
    Element* root = document.RootElement();
    if (root == nullptr) return xml_.problem(include, path + " is empty");
    open.push_back(path);
    resolve(*root, open);
    open.pop_back();
    name_folder(*root, std::filesystem::path(path).parent_path().string());
    tinyxml2::XMLNode* at = &include;
    for (const tinyxml2::XMLNode* c = root->FirstChild(); c != nullptr; c = c->NextSibling())
      at = parent.InsertAfterChild(at, c->DeepClone(parent.GetDocument()));
    parent.DeleteChild(&include);
  }

  /// Meshes may lie where the file that names them does.
  static void name_folder(Element& e, const std::string& folder) {
    if (std::string(e.Name()) == "mesh" && e.Attribute(kFolder) == nullptr)
      e.SetAttribute(kFolder, folder.c_str());
    for (Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement())
      name_folder(*c, folder);
  }

  std::filesystem::path folder_;
  bool read_files_;
  XmlReader& xml_;
  int count_ = 0;
};

class Defaults {
 public:
  explicit Defaults(XmlReader& xml) : xml_(xml) {}

  /// Attributes by tag; a class begins with those of the one around it.
  using Class = std::map<std::string, std::map<std::string, std::string>>;

  void read(const Element& e, const Class& around, bool top) {
    std::string name = e.Attribute("class") != nullptr ? e.Attribute("class") : "";
    if (name.empty() && !top) xml_.problem(e, "<default> inside another needs a 'class'");
    if (name.empty()) name = "main";
    Class mine = around;
    if (const auto before = classes_.find(name); before != classes_.end()) {
      if (!top) xml_.problem(e, "class '" + name + "' is given twice");
      mine = before->second;
    }
    for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement()) {
      if (std::string(c->Name()) == "default") continue;
      for (const tinyxml2::XMLAttribute* a = c->FirstAttribute(); a != nullptr; a = a->Next())
        mine[c->Name()][a->Name()] = a->Value();
    }
    classes_[name] = mine;
    if (top) main_ = name;
    for (const Element* c = e.FirstChildElement("default"); c != nullptr;
         c = c->NextSiblingElement("default"))
      read(*c, mine, false);
  }

  /// Gives `e` and all below what its class says and it does not.
  void apply(Element& e, const std::string& childclass) {
    const std::string tag = e.Name();
    if (tag == "default") return;
    std::string name = childclass;
    if (const char* own = e.Attribute("class")) {
      name = own;
      if (!classes_.contains(name)) xml_.problem(e, "there is no class '" + name + "'");
    }
    if (name.empty()) name = main_;
    if (const auto found = classes_.find(name); found != classes_.end()) {
      static const std::set<std::string> actuators = {"motor",   "position",    "velocity",
                                                      "general", "intvelocity", "damper"};
      give(e, found->second, tag);
      if (actuators.contains(tag)) give(e, found->second, "general");
    }
    std::string below = childclass;
    if (const char* c = e.Attribute("childclass")) {
      below = c;
      if (!classes_.contains(below)) xml_.problem(e, "there is no class '" + below + "'");
    }
    for (Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement())
      apply(*c, below);
  }

 private:
  /// One way to say an orientation, and one to say where a geom is: what stands in the element
  /// wins.
  static bool replaced(const Element& e, const std::string& attribute) {
    static const std::set<std::string> turns = {"quat", "axisangle", "euler", "xyaxes", "zaxis"};
    if (!turns.contains(attribute)) return false;
    for (const std::string& other : turns)
      if (e.Attribute(other.c_str()) != nullptr) return true;
    return e.Attribute("fromto") != nullptr;
  }
  static void give(Element& e, const Class& from, const std::string& tag) {
    const auto found = from.find(tag);
    if (found == from.end()) return;
    for (const auto& [attribute, value] : found->second)
      if (e.Attribute(attribute.c_str()) == nullptr && !replaced(e, attribute))
        e.SetAttribute(attribute.c_str(), value.c_str());
  }

  XmlReader& xml_;
  std::map<std::string, Class> classes_;
  std::string main_ = "main";
};

}  // namespace

void resolve_mjcf(Element& root, const std::string& path, bool read_files, XmlReader& xml) {
  std::vector<std::string> open = {std::filesystem::path(path).lexically_normal().string()};
  Includes(path, read_files, xml).resolve(root, open);
  Defaults defaults(xml);
  for (const Element* e = root.FirstChildElement("default"); e != nullptr;
       e = e->NextSiblingElement("default"))
    defaults.read(*e, {}, true);
  for (Element* e = root.FirstChildElement(); e != nullptr; e = e->NextSiblingElement())
    defaults.apply(*e, "");
}

}  // namespace orthant::io
