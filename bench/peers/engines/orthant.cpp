// SPDX-License-Identifier: Apache-2.0
// bench/peers/engines/orthant.cpp: ourselves, through the same door.
// Variants: default (exact Coulomb, tolerance 1e-10, projection), rough (tolerance 1e-3,
// overlaps to 1e-5 of a body), rattle (internal sub-steps of 1 ms, 0.5 ms from 50 links on).
#include <cstdio>

#include "engine.hpp"
#include "orthant/step/step.hpp"

namespace orthant::peers {

const char* const kEngineName = "orthant";

namespace {

class Ours : public Engine {
 public:
  Ours(const scenes::Scene& scene, std::string_view variant)
      : scene_(scene), settings_(scene.settings), state_(scene.state) {
    if (variant == "rough") {
      settings_.solver.tolerance = 1e-3;
      settings_.projection_tolerance = 1e-5;
    } else if (variant == "rattle") {
      settings_.integrator = Integrator::Rattle;
      settings_.substep = scene.model.dynamic_count() < 50 ? 1e-3 : 5e-4;
    } else if (variant != "default") {
      throw Error("variant", "default, rough or rattle, not '" + std::string(variant) + "'");
    }
  }

  void step() override {
    const StepReport report =
        orthant::step(scene_.model, scene_.parameters, settings_, {}, state_, warm_, workspace_);
    contacts_ = static_cast<int>(report.contacts);
    residual_ = std::max(residual_, report.residual);
    failed_ += report.outcome != Outcome::Converged;
  }
  void read(State& state) override { state = state_; }
  int contacts() override { return contacts_; }
  std::string note() override {
    char text[96];
    std::snprintf(text, sizeof text, "worst residual %.1e, %d steps not converged", residual_,
                  failed_);
    return text;
  }

 private:
  const scenes::Scene& scene_;
  StepSettings settings_;
  State state_;
  WarmStart warm_;
  StepWorkspace workspace_;
  int contacts_ = 0, failed_ = 0;
  double residual_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_engine(const scenes::Scene& scene, std::string_view variant) {
  return std::make_unique<Ours>(scene, variant);
}

}  // namespace orthant::peers
