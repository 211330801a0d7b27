// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/mujoco.cpp: MuJoCo.
// Variants: newton (the default: pyramidal cone, Euler), cg, elliptic (Newton, elliptic cone).
// Contact softness is left at its defaults. Of two bodies it takes the larger friction, and here
// both have the same.
#include <mujoco/mujoco.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "engine.hpp"

namespace orthant::peers {

const char* const kEngineName = "mujoco";

namespace {

std::string words(const Vec3& v) {
  char text[96];
  std::snprintf(text, sizeof text, "%.17g %.17g %.17g", v[0], v[1], v[2]);
  return text;
}
std::string words(const Mat3& R) {
  const Eigen::Quaterniond q(R);
  char text[128];
  std::snprintf(text, sizeof text, "%.17g %.17g %.17g %.17g", q.w(), q.x(), q.y(), q.z());
  return text;
}

class Mujoco : public Engine {
 public:
  Mujoco(const scenes::Scene& scene, std::string_view variant) : parts_(parts_of(scene)) {
    if (variant != "newton" && variant != "cg" && variant != "elliptic")
      throw Error("variant", "newton, cg or elliptic, not '" + std::string(variant) + "'");
    load(describe(scene, variant));
    data_.reset(mj_makeData(model_.get()));
    if (!data_) throw Error("MuJoCo", "mj_makeData failed");
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (id_[i] < 0 || parts_[i].vertical_only || parts_[i].ball != nullptr) continue;
      const int at = model_->body_dofadr[id_[i]];
      for (int k = 0; k < 3; ++k) data_->qvel[at + k] = parts_[i].velocity[k];
    }
    mj_forward(model_.get(), data_.get());
  }

  void step() override { mj_step(model_.get(), data_.get()); }
  void read(State& state) override {
    mj_kinematics(model_.get(), data_.get());  // poses in data lag one step behind qpos
    mj_comPos(model_.get(), data_.get());
    mj_comVel(model_.get(), data_.get());
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (id_[i] < 0) continue;
      Mat3 rotation;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) rotation(r, c) = data_->xmat[9 * id_[i] + 3 * r + c];
      const mjtNum* x = data_->xpos + 3 * id_[i];
      mjtNum v[6];  // angular, linear
      mj_objectVelocity(model_.get(), data_.get(), mjOBJ_BODY, id_[i], v, 0);
      write_body(*parts_[i].body, {x[0], x[1], x[2]}, rotation, {v[3], v[4], v[5]},
                 {v[0], v[1], v[2]}, state);
    }
  }
  int contacts() override { return data_->ncon; }
  std::string note() override {
    std::string text;
    for (int i = 0; i < mjNWARNING; ++i)
      if (data_->warning[i].number > 0) text += std::string(mju_warningText(i, 0)) + "; ";
    return text;
  }

 private:
  /// The scene in its own language. Chains are nested, everything else lies side by side.
  std::string describe(const scenes::Scene& scene, std::string_view variant) {
    const int n = static_cast<int>(scene.model.dynamic_count());
    // The arena of this version is one int-sized buffer with dense rows x rows blocks.
    const int contacts = n > 1000 ? 5500 : n > 200 ? 4 * n : std::max(400, 6 * n);
    const int rows = n > 1000 ? 5500 : 4 * contacts;
    const long stack = n > 600 ? 120000000L : n > 200 ? 60000000L : 20000000L;
    std::ostringstream xml;
    const double* g = scene.parameters.values.data() + scene.model.gravity();
    xml << "<mujoco><compiler boundmass=\"0\"/><size nconmax=\"" << contacts << "\" njmax=\""
        << rows << "\" nstack=\"" << stack << "\"/><option timestep=\"" << scene.settings.h
        << "\" gravity=\"" << words(Vec3(g[0], g[1], g[2])) << "\" solver=\""
        << (variant == "cg" ? "CG" : "Newton") << "\" cone=\""
        << (variant == "elliptic" ? "elliptic" : "pyramidal") << "\"/><worldbody>";
    int nested = 0, bodies = 0;
    for (const Part& part : parts_) {
      id_.push_back(part.body->is_dynamic() ? ++bodies : -1);
      if (!part.body->is_dynamic()) {
        xml << "<geom type=\"plane\" size=\"50 50 1\" pos=\"" << words(part.position)
            << "\" quat=\"" << words(part.rotation) << "\"" << friction(part) << "/>";
        continue;
      }
      const bool hangs = part.ball != nullptr && part.parent >= 0;
      const Vec3 place =
          hangs ? Vec3(part.position - parts_[std::size_t(part.parent)].position) : part.position;
      xml << "<body pos=\"" << words(place) << "\" quat=\"" << words(part.rotation) << "\">";
      if (part.ball != nullptr) {
        xml << "<joint type=\"ball\" pos=\"" << words(Vec3(part.anchor - part.position)) << "\"/>";
      } else {
        xml << (part.vertical_only ? "<joint type=\"slide\" axis=\"0 0 1\"/>" : "<freejoint/>");
      }
      xml << geom(part);
      if (part.ball != nullptr) {
        ++nested;  // closed at the end: its children lie inside
      } else {
        xml << "</body>";
      }
    }
    for (int i = 0; i < nested; ++i) xml << "</body>";
    xml << "</worldbody></mujoco>";
    return xml.str();
  }

  static std::string friction(const Part& part) {
    char text[96];
    std::snprintf(text, sizeof text, " condim=\"%d\" friction=\"%.17g 0 0\"",
                  part.friction > 0 ? 3 : 1, part.friction > 0 ? part.friction : 1.0);
    return text;
  }

  static std::string geom(const Part& part) {
    const std::span<const double> size = part.shape->parameters();
    std::ostringstream xml;
    xml.precision(17);
    if (part.shape->kind() == ShapeKind::Sphere) {
      xml << "<geom type=\"sphere\" size=\"" << size[0] << "\"";
    } else {
      xml << "<geom type=\"box\" size=\"" << words(Vec3(size[0], size[1], size[2])) << "\"";
    }
    xml << " mass=\"" << part.mass << "\"" << friction(part);
    if (!part.collides) xml << " contype=\"0\" conaffinity=\"0\"";
    xml << "/>";
    return xml.str();
  }

  /// This version reads models from files only.
  void load(const std::string& xml) {
    std::string name = (std::filesystem::temp_directory_path() / "orthant_XXXXXX.xml").string();
    const int file = mkstemps(name.data(), 4);
    if (file < 0) throw Error("MuJoCo", "cannot write a temporary file");
    const bool written = write(file, xml.data(), xml.size()) == static_cast<ssize_t>(xml.size());
    close(file);
    char error[1000] = "";
    model_.reset(written ? mj_loadXML(name.c_str(), nullptr, error, sizeof error) : nullptr);
    std::remove(name.c_str());
    if (!model_) throw Error("MuJoCo", error);
  }

  struct Free {
    void operator()(mjModel* m) const { mj_deleteModel(m); }
    void operator()(mjData* d) const { mj_deleteData(d); }
  };
  std::vector<Part> parts_;
  std::vector<int> id_;  // of its bodies; -1: part of the world
  std::unique_ptr<mjModel, Free> model_;
  std::unique_ptr<mjData, Free> data_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const scenes::Scene& scene, std::string_view variant) {
  return std::make_unique<Mujoco>(scene, variant);
}

}  // namespace orthant::peers
