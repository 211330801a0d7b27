// SPDX-License-Identifier: Apache-2.0
// validate/random.hpp: the campaign: random scenes, judged one by one, counted by finding.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "validate/random_judge.hpp"

namespace orthant::validation {

struct CampaignSettings {
  std::uint64_t count = 100, seed = 1;
  std::uint64_t first = 0;  ///< number of the first scene: a long campaign may be cut into parts
  int inputs = 9;           ///< measured in each scene
  int threads = 0;          ///< scenes judged at once; 0: as many as there are cores
  /// Where the scenes that break a promise are written; made when the first is. Empty: nowhere.
  std::string directory = {};
  /// Called after each scene, one call at a time.
  std::function<void(std::uint64_t done)> progress = {};
};

struct Campaign {
  using Counts = std::array<std::uint64_t, kFindings>;

  CampaignSettings settings;
  Counts with_events = {}, without_events = {};
  std::uint64_t passive_with_events = 0;
  double worst_energy_rise = 0;
  /// Why scenes are not certified, in the words of the certificate without names and numbers: how
  /// many with events, and without.
  std::map<std::string, std::array<std::uint64_t, 2>> obstacles;
  std::vector<SceneJudgement> failures;  ///< in the order of their numbers
  std::vector<std::string> files;        ///< of the failures, where written

  std::uint64_t count_of(Finding finding) const {
    const auto i = static_cast<std::size_t>(finding);
    return with_events[i] + without_events[i];
  }
  /// Certified exact and right, of all scenes with (without) impact events.
  double share_right(bool events) const;
  /// One row a finding, with and without events; then the failures.
  std::string table() const;
  std::string json() const;
};

/// Scenes first … first + count − 1 of the seed. The same result on every run, with any number of
/// threads.
Campaign run_campaign(const CampaignSettings& settings);

/// The scene in a file, by all its inputs: a table for a person. `failed`: it breaks a promise.
std::string judge_file(const std::string& path, bool& failed);

}  // namespace orthant::validation
