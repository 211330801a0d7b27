// SPDX-License-Identifier: Apache-2.0
// scenes/common.hpp: what the builders share.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <utility>

#include "orthant/base/mix.hpp"
#include "orthant/model/model_builder.hpp"
#include "scenes/scenes.hpp"

namespace orthant::scenes {

inline constexpr double kDegree = std::numbers::pi / 180;

/// SplitMix64: the same numbers on every machine and in every engine's program.
class Jitter {
 public:
  explicit Jitter(std::uint64_t seed) : state_(seed) {}
  /// Uniform in [-size, size).
  double operator()(double size) {
    return size * (2 * (static_cast<double>(mix_bits(state_ += kGoldenRatio) >> 11) * 0x1p-53) - 1);
  }

 private:
  std::uint64_t state_;
};

/// A fixed half-space with its surface through `point` and outward normal z turned by `turn`.
inline BodySpec ground(const std::string& material, const Quat& turn = {},
                       const Vec3& point = Vec3::Zero(), std::string name = "floor") {
  return {.name = std::move(name),
          .motion = Motion::Fixed,
          .position = point,
          .orientation = turn,
          .shapes = {{.shape = Shape::half_space(), .material = material}}};
}

/// The planar floor y <= 0, turned by `angle`.
inline BodySpec planar_ground(const std::string& material, double angle = 0,
                              const Vec3& point = Vec3::Zero(), std::string name = "floor") {
  return {.name = std::move(name),
          .motion = Motion::Fixed,
          .planar = true,
          .position = point,
          .angle = angle,
          .shapes = {{.shape = Shape::half_plane(), .material = material}}};
}

inline Scene finish(const ModelBuilder& builder, std::string description, std::int64_t steps,
                    const StepSettings& settings = {}) {
  Model model = builder.build();
  Parameters parameters = model.default_parameters();
  State state = model.rest_state();
  return {std::move(model),      std::move(parameters), std::move(state), settings, steps,
          std::move(description)};
}

}  // namespace orthant::scenes
