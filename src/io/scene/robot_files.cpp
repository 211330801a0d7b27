// SPDX-License-Identifier: Apache-2.0
// io/scene/robot_files.cpp: files a robot refers to: where they are, and what an SRDF says.
#include <filesystem>

#include "io/scene/robot.hpp"
#include "orthant/base/atomic_file.hpp"

namespace orthant::io {

std::string find_robot_file(const std::string& robot, const std::string& name,
                            const std::vector<std::string>& packages) {
  namespace fs = std::filesystem;
  std::error_code error;
  const auto is_file = [&](const fs::path& p) { return fs::is_regular_file(p, error); };
  std::string rest = name;
  if (rest.starts_with("file://")) rest = rest.substr(7);
  bool package = false;
  for (const char* scheme : {"package://", "model://"})
    if (rest.starts_with(scheme)) {
      rest = rest.substr(std::string(scheme).size());
      package = true;
    }
  if (!package && fs::path(rest).is_absolute()) return is_file(rest) ? rest : "";
  const std::size_t slash = rest.find('/');
  const std::string inside = package && slash != std::string::npos ? rest.substr(slash + 1) : "";
  // The name of a package may be that of a folder, or the folder may stand for the package.
  const auto found = [&](const fs::path& folder) -> std::string {
    if (is_file(folder / rest)) return (folder / rest).string();
    if (!inside.empty() && is_file(folder / inside)) return (folder / inside).string();
    return {};
  };
  for (const std::string& p : packages)
    if (std::string path = found(p); !path.empty()) return path;
  fs::path folder = fs::absolute(robot).parent_path();
  for (int up = 0; up < 8; ++up, folder = folder.parent_path())
    if (std::string path = found(folder); !path.empty()) return path;
  return {};
}

void read_srdf(const std::string& path, const std::string& state, Robot& robot,
               std::vector<std::pair<std::string, double>>& posture) {
  XmlReader xml(path);
  const XmlReader::Element& root = xml.parse(read_regular_file(path, kMaxRobotFile), "robot");
  bool found = false;
  for (const XmlReader::Element* e = root.FirstChildElement(); e != nullptr;
       e = e->NextSiblingElement()) {
    const std::string tag = e->Name();
    if (tag == "disable_collisions") {
      robot.apart.emplace_back(xml.text(*e, "link1"), xml.text(*e, "link2"));
    } else if (tag == "group_state" && !state.empty() && xml.text(*e, "name") == state) {
      found = true;
      for (const XmlReader::Element* j = e->FirstChildElement("joint"); j != nullptr;
           j = j->NextSiblingElement("joint")) {
        // The pose of a floating joint is the scene's business.
        const std::vector<double> value = xml.numbers(*j, "value", 1, 7);
        if (value.size() == 1) posture.emplace_back(xml.text(*j, "name"), value[0]);
      }
    }
  }
  if (!found && !state.empty())
    xml.problem(0, "has no <group_state> with the name '" + state + "'");
  xml.throw_problems();
}

}  // namespace orthant::io
