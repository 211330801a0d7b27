// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/pypi.cpp: engines that come as Python packages, run by bench/peers/pypi.py.
// The scene goes to a child process as one line of JSON; every "step" line is answered by the
// processor time of the step and the bodies' poses and velocities. Variants: see pypi.py.
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>

#include "engine.hpp"

namespace orthant::peers {

const char* const kEngineName = "pypi";

namespace {

using Json = nlohmann::json;

Json numbers(const Vec3& v) { return {v[0], v[1], v[2]}; }
Json rows(const Mat3& R) {
  return {numbers(Vec3(R.row(0))), numbers(Vec3(R.row(1))), numbers(Vec3(R.row(2)))};
}

/// What an adapter needs of the scene, in the words of pypi.py.
Json describe(const scenes::Scene& scene, const std::vector<Part>& parts) {
  const double* g = scene.parameters.values.data() + scene.model.gravity();
  Json out = {{"h", scene.settings.h}, {"gravity", {g[0], g[1], g[2]}}, {"parts", Json::array()}};
  for (const Part& part : parts) {
    const std::span<const double> size = part.shape->parameters();
    Json item = {{"name", part.body->name},
                 {"dynamic", part.body->is_dynamic()},
                 {"shape", part.shape->kind() == ShapeKind::HalfSpace ? "plane"
                           : part.shape->kind() == ShapeKind::Sphere  ? "sphere"
                                                                      : "box"},
                 {"size", std::vector<double>(size.begin(), size.end())},
                 {"position", numbers(part.position)},
                 {"rotation", rows(part.rotation)},
                 {"velocity", numbers(part.velocity)},
                 {"mass", part.mass},
                 {"inertia", numbers(part.inertia)},
                 {"friction", part.friction},
                 {"collides", part.collides},
                 {"vertical_only", part.vertical_only},
                 {"parent", part.parent}};
    if (part.ball != nullptr) item["anchor"] = numbers(part.anchor);
    out["parts"].push_back(item);
  }
  return out;
}

std::string setting(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : fallback;
}

/// A child process with a pipe to and from it.
class Child {
 public:
  explicit Child(const std::string& variant) {
    const std::string python = setting("ORTHANT_PEERS_PYTHON", ORTHANT_PEERS_PYTHON);
    int down[2], up[2];
    if (pipe(down) != 0 || pipe(up) != 0) throw Error("pipe", "cannot be made");
    process_ = fork();
    if (process_ < 0) throw Error("fork", "failed");
    if (process_ == 0) {
      dup2(down[0], STDIN_FILENO);
      dup2(up[1], STDOUT_FILENO);
      for (const int end : {down[0], down[1], up[0], up[1]}) close(end);
      execl(python.c_str(), python.c_str(), "-B", ORTHANT_PEERS_SCRIPT, variant.c_str(), nullptr);
      std::perror(python.c_str());
      _exit(2);
    }
    close(down[0]);
    close(up[1]);
    to_ = fdopen(down[1], "w");
    from_ = fdopen(up[0], "r");
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    std::fclose(to_);
    std::fclose(from_);
    waitpid(process_, nullptr, 0);
  }

  Json ask(const std::string& line) {
    std::fputs((line + "\n").c_str(), to_);
    std::fflush(to_);
    char* text = nullptr;
    std::size_t room = 0;
    const bool answered = getline(&text, &room, from_) > 0;
    const std::string answer = answered ? text : "";
    std::free(text);
    if (!answered) throw Error("the engine's process", "ended without an answer");
    return Json::parse(answer);
  }

 private:
  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

class Pypi : public Engine {
 public:
  Pypi(const scenes::Scene& scene, std::string_view variant)
      : parts_(parts_of(scene)), child_(std::string(variant)) {
    answer_ = child_.ask(describe(scene, parts_).dump());
    if (answer_.contains("error"))
      throw Error(std::string(variant), answer_["error"].get<std::string>());
  }

  void step() override {
    answer_ = child_.ask("step");
    if (answer_.contains("error")) throw Error("step", answer_["error"].get<std::string>());
  }
  double step_seconds(double) override { return answer_["seconds"]; }
  void read(State& state) override {
    std::size_t at = 0;
    const Json& bodies = answer_["bodies"];  // position, rotation by rows, velocities: 18 numbers
    for (const Part& part : parts_) {
      if (!part.body->is_dynamic()) continue;
      std::vector<double> x = bodies.at(at++).get<std::vector<double>>();
      if (x.size() != 18) throw Error(part.body->name, "18 numbers expected");
      Mat3 rotation;
      for (int r = 0; r < 3; ++r)
        for (int c = 0; c < 3; ++c) rotation(r, c) = x[std::size_t(3 + 3 * r + c)];
      write_body(*part.body, {x[0], x[1], x[2]}, rotation, {x[12], x[13], x[14]},
                 {x[15], x[16], x[17]}, state);
    }
  }
  int contacts() override { return answer_.value("contacts", -1); }
  std::string note() override { return answer_.value("note", ""); }

 private:
  std::vector<Part> parts_;
  Child child_;
  Json answer_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const scenes::Scene& scene, std::string_view variant) {
  return std::make_unique<Pypi>(scene, variant);
}

}  // namespace orthant::peers
