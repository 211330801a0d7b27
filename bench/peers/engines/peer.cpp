// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/peer.cpp: peer_<engine> VARIANT SCENE [KEY=VALUE...] => one line of JSON.
// Scenes: stack (n, mass, gap), spheres (n, state = file of positions, dump = file to write),
// mass_ratio (gap), incline (angle, heading), thrown (heading), chain (n). For all: steps, cap
// [s of CPU time, then the run ends where it is]. Time is CPU time of the steps alone; everything
// else is measured from poses and velocities, the same way for every engine.
#include <nlohmann/json.hpp>

#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <map>

#include "engine.hpp"
#include "orthant/collision/collision.hpp"
#include "orthant/force/force.hpp"

namespace orthant::peers {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kGravity = 9.81, kFriction = 0.5;
const double kDegree = std::acos(-1.0) / 180;

class Arguments {
 public:
  Arguments(int count, char** words) {
    for (int i = 0; i < count; ++i) {
      const std::string word = words[i];
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) throw Error(word, "KEY=VALUE expected");
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }
  double number(const std::string& key, double fallback) const {
    const auto it = values_.find(key);
    return it == values_.end() ? fallback : std::stod(it->second);
  }
  std::string text(const std::string& key) const {
    const auto it = values_.find(key);
    return it == values_.end() ? "" : it->second;
  }

 private:
  std::map<std::string, std::string> values_;
};

std::vector<Vec3> read_positions(const std::string& file) {
  std::ifstream in(file);
  std::vector<Vec3> positions;
  for (Vec3 x; in >> x[0] >> x[1] >> x[2];) positions.push_back(x);
  if (positions.empty()) throw Error(file, "no positions in it");
  return positions;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// Steps an engine and keeps what all scenes measure.
class Run {
 public:
  Run(const scenes::Scene& scene, std::string_view variant)
      : scene_(scene), engine_(make_engine(scene, variant)), state(scene.state) {
    engine_->read(state);
    start = state;
    lowest_energy_ = energy();
  }

  /// False where the state is no longer finite.
  bool step() {
    const double begin = cpu_seconds();
    engine_->step();
    seconds_ += engine_->step_seconds(cpu_seconds() - begin);
    ++steps_;
    engine_->read(state);
    finite_ = state.q.allFinite() && state.v.allFinite() && state.q.cwiseAbs().maxCoeff() < 1e6 &&
              state.v.cwiseAbs().maxCoeff() < 1e9;
    return finite_;
  }
  /// All steps, with `look` after each; ends early at the cap or when the state blows up.
  template <class Look>
  void steps(int count, double cap, Look look) {
    for (int i = 0; i < count && seconds_ < cap; ++i) {
      if (!step()) return;
      penetration_end_ = penetration();
      penetration_ = std::max(penetration_, penetration_end_);
      const double now = energy();
      energy_rise_ = std::max(energy_rise_, now - lowest_energy_);
      lowest_energy_ = std::min(lowest_energy_, now);
      look(i);
    }
  }
  double energy() const {
    return kinetic_energy(scene_.model, scene_.parameters, state.q, state.v) +
           potential_energy(scene_.model, scene_.parameters, state.q, state.t);
  }
  double penetration() {
    find_contacts(scene_.model, scene_.parameters, state.q, {}, {}, workspace_, contacts_);
    return deepest_penetration(contacts_);
  }
  Vec3 position(const Body& body) const { return state.q.segment<3>(body.q_begin); }
  Vec3 velocity(const Body& body) const { return state.v.segment<3>(body.v_begin); }
  bool finite() const { return finite_; }

  void report(Json& out) {
    out["steps"] = steps_;
    out["finite"] = finite_;
    out["ms_per_step"] = 1e3 * seconds_ / steps_;
    out["steps_per_s"] = steps_ / seconds_;
    out["contacts"] = engine_->contacts();
    out["penetration"] = penetration_;
    out["penetration_end"] = penetration_end_;
    out["energy_rise"] = energy_rise_;  // above the lowest so far [J]
    out["note"] = engine_->note();
  }

 private:
  const scenes::Scene& scene_;
  std::unique_ptr<Engine> engine_;
  CollisionWorkspace workspace_;
  ContactSet contacts_;
  int steps_ = 0;
  double seconds_ = 0, penetration_ = 0, penetration_end_ = 0;
  double lowest_energy_ = 0, energy_rise_ = 0;
  bool finite_ = true;

 public:
  State state, start;
};

/// Drift: how far any centre is from its place in the closed stack, in the second half of the run.
void stack(std::string_view variant, const Arguments& arguments, Json& out) {
  const int n = static_cast<int>(arguments.number("n", 50));
  const scenes::Scene scene =
      scenes::stack(n, arguments.number("mass", 1000), arguments.number("gap", 0));
  const int steps = static_cast<int>(arguments.number("steps", 500));
  Run run(scene, variant);
  double drift = 0;
  run.steps(steps, arguments.number("cap", 60), [&](int i) {
    if (2 * i < steps) return;
    int cube = 0;
    for (const Body& body : scene.model.bodies()) {
      if (!body.is_dynamic()) continue;
      Vec3 place = run.start.q.segment<3>(body.q_begin);
      place[2] = 0.5 + cube++;
      drift = std::max(drift, (run.position(body) - place).norm());
    }
  });
  run.report(out);
  out["drift"] = drift;
  out["stands"] = run.finite() && drift < 0.25;
}

void spheres(std::string_view variant, const Arguments& arguments, Json& out) {
  const std::string file = arguments.text("state");
  const std::vector<Vec3> positions = file.empty() ? std::vector<Vec3>() : read_positions(file);
  const int n = positions.empty() ? static_cast<int>(arguments.number("n", 500))
                                  : static_cast<int>(positions.size());
  const scenes::Scene scene = scenes::spheres_in_a_box(n, kFriction, positions);
  Run run(scene, variant);
  const double radius = 0.035, energy = run.energy();
  run.steps(static_cast<int>(arguments.number("steps", positions.empty() ? 300 : 20)),
            arguments.number("cap", 60), [](int) {});
  run.report(out);
  int escaped = 0;
  for (const Body& body : scene.model.bodies()) {
    if (!body.is_dynamic()) continue;
    const Vec3 x = run.position(body);
    escaped += !(x[2] > 0 && std::abs(x[0]) < 0.5 && std::abs(x[1]) < 0.5);
  }
  out["n"] = n;
  out["penetration_over_r"] = double(out["penetration"]) / radius;
  out["energy_rise_over_start"] = double(out["energy_rise"]) / energy;
  out["escaped"] = escaped;
  if (const std::string dump = arguments.text("dump"); !dump.empty()) {
    std::ofstream to(dump);
    to.precision(17);
    for (const Body& body : scene.model.bodies())
      if (body.is_dynamic()) to << run.position(body).transpose() << '\n';
  }
}

void mass_ratio(std::string_view variant, const Arguments& arguments, Json& out) {
  const scenes::Scene scene = scenes::mass_ratio_stack(8, 10, arguments.number("gap", 0));
  Run run(scene, variant);
  run.steps(static_cast<int>(arguments.number("steps", 200)), arguments.number("cap", 60),
            [](int) {});
  run.report(out);
  // From heights: spheres that passed each other no longer overlap.
  double below = -0.5, deepest = 0;
  for (const Body& body : scene.model.bodies()) {
    if (!body.is_dynamic()) continue;
    const double z = run.position(body)[2];
    deepest = std::max(deepest, 1 - (z - below));
    below = z;
  }
  out["penetration_end_over_r"] = deepest / 0.5;
}

void incline(std::string_view variant, const Arguments& arguments, Json& out) {
  const double angle = arguments.number("angle", 30), heading = arguments.number("heading", 0);
  const scenes::Scene scene = scenes::incline(angle, kFriction, heading);
  const Body& block = scene.model.bodies()[1];
  Run run(scene, variant);
  const int steps = 100;
  run.steps(steps, 60, [](int) {});
  run.report(out);
  const double a = angle * kDegree, b = heading * kDegree, t = steps * scene.settings.h;
  const Vec3 down(std::cos(a) * std::cos(b), std::cos(a) * std::sin(b), -std::sin(a));
  const double exact = std::max(0.0, kGravity * (std::sin(a) - kFriction * std::cos(a))) * t;
  const Vec3 moved = run.position(block) - run.start.q.segment<3>(block.q_begin);
  if (exact > 0) out["speed_error"] = (run.velocity(block) - exact * down).norm() / exact;
  if (exact == 0) out["creep"] = moved.norm();
}

void thrown(std::string_view variant, const Arguments& arguments, Json& out) {
  const double heading = arguments.number("heading", 0) * kDegree;
  const scenes::Scene scene = scenes::thrown_block(arguments.number("heading", 0), kFriction);
  const Body& block = scene.model.bodies()[1];
  Run run(scene, variant);
  run.steps(20, 60, [](int) {});
  run.report(out);
  const Vec3 along(std::cos(heading), std::sin(heading), 0), v = run.velocity(block);
  out["deceleration_over_mu_g"] = (2 - v.dot(along)) / (0.2 * kFriction * kGravity);
  out["path_turned_deg"] = std::atan2(along.cross(v)[2], along.dot(v)) / kDegree;
}

void chain(std::string_view variant, const Arguments& arguments, Json& out) {
  const int n = static_cast<int>(arguments.number("n", 10));
  const scenes::Scene scene = scenes::chain(n);
  Run run(scene, variant);
  const double scale = 0.5 * n * kGravity * 0.5 * 0.2 * n;  // total weight times half the length
  const double energy = run.energy();
  double gap = 0, change = 0;
  run.steps(static_cast<int>(arguments.number("steps", 1000)), arguments.number("cap", 60),
            [&](int) {
              Vec3 end = Vec3::Zero();
              for (const Body& body : scene.model.bodies()) {
                const Pose X = body_pose(body, run.state.q.data());
                gap = std::max(gap, (transform(X, Vec3(-0.1, 0, 0)) - end).norm());
                end = transform(X, Vec3(0.1, 0, 0));
              }
              change = std::max(change, std::abs(run.energy() - energy) / scale);
            });
  run.report(out);
  out["joint_error"] = gap;
  out["energy_change"] = change;
}

int run_program(int argc, char** argv) {
  const std::map<std::string, void (*)(std::string_view, const Arguments&, Json&)> table = {
      {"stack", stack},     {"spheres", spheres}, {"mass_ratio", mass_ratio},
      {"incline", incline}, {"thrown", thrown},   {"chain", chain}};
  if (argc < 3 || !table.contains(argv[2])) {
    std::cerr << "usage: " << argv[0] << " VARIANT SCENE [KEY=VALUE...]; scenes:";
    for (const auto& [name, function] : table) std::cerr << ' ' << name;
    std::cerr << '\n';
    return 2;
  }
  Json out = {{"engine", kEngineName}, {"variant", argv[1]}, {"scene", argv[2]}};
  table.at(argv[2])(argv[1], Arguments(argc - 3, argv + 3), out);
  std::cout << out.dump() << '\n';
  return 0;
}

}  // namespace
}  // namespace orthant::peers

int main(int argc, char** argv) {
  try {
    return orthant::peers::run_program(argc, argv);
  } catch (const std::exception& e) {
    std::cerr << argv[0] << ": " << e.what() << '\n';
    return 2;
  }
}
