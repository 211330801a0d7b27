// SPDX-License-Identifier: Apache-2.0
// validate/random_judge.hpp: a scene => is what the certificate says of its gradient true?
// Differences are the campaign's own: from both sides, at several step sizes, the plateau chosen
// where neighbouring sizes agree and without looking at the gradient.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/gradient/rollout.hpp"

namespace orthant::validation {

/// What came out, from harmless to grave. A scene gets the gravest of its inputs.
enum class Finding : std::uint8_t {
  Right,         ///< certified exact, no border, and every number is right
  Cautious,      ///< named not exact or on a border, and still every number is right
  NamedKink,     ///< the sides differ, and the certificate says so
  Inexact,       ///< a number is wrong, and the certificate says that it is not exact
  Undecided,     ///< no difference has a plateau
  NotConverged,  ///< a step missed its tolerance: there is nothing to differentiate
  Mislabelled,   ///< called exact on a border; a two-sided derivative exists, the number is not it
  EnergyRise,    ///< a passive scene gains energy although impacts are located
  UnlabelledKink,  ///< the sides differ, and the certificate says exact
  CertifiedWrong,  ///< a number is wrong, and the certificate says exact
  Exception,
};
inline constexpr int kFindings = static_cast<int>(Finding::Exception) + 1;
std::string_view name_of(Finding finding);
/// Breaks a promise of the library.
inline bool is_failure(Finding finding) { return finding >= Finding::Mislabelled; }

/// One input whose derivative was measured. Numbers are scaled by the size of the input, so those
/// of different units compare.
struct InputJudgement {
  std::string name;  ///< "q/b0.1", "v/b0.5", "u/drive.0", "material/skin.friction"
  Finding finding = Finding::Undecided;
  double gradient = 0;
  double left = 0, right = 0;  ///< one-sided differences; NaN: out of range, or no plateau
  double error = 0;            ///< |gradient - difference| / max(both, kFloor)
};

struct SceneJudgement {
  std::string name;
  Finding finding = Finding::Undecided;
  std::string what;  ///< one line for a person
  bool events = false, passive = false;
  double energy_rise =
      0;  ///< largest of a step, over the kinetic energy; passive scenes with events
  RolloutCertificate certificate;
  std::vector<InputJudgement> inputs;
};

inline constexpr double kFloor = 0.1;        ///< below it, errors are absolute
inline constexpr double kWrong = 1e-5;       ///< a number that is off by more is wrong
inline constexpr double kEnergyRise = 1e-6;  ///< of the kinetic energy

/// `text`: a scene file. `inputs`: how many to measure at most, spread over the kinds and chosen by
/// the name of the scene; 0: all. Never throws: that is a finding.
SceneJudgement judge_scene(const std::string& text, const std::string& name, int inputs = 9);

}  // namespace orthant::validation
