// SPDX-License-Identifier: Apache-2.0
// orthant/reproduce_record.hpp: what an experiment gave, kept as DIR/NAME/result.json, so that a
// later session skips it and the page can be made anew.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reproduce/reproduce.hpp"

namespace orthant::app {

/// A run that was played and what was made of it; paths are relative to the folder of the page.
struct PlayedRun {
  std::string what, folder, page, paraview, scene;
};

struct ExperimentRecord {
  std::string name, form;  ///< form: quick or full, and the size
  std::string error = {};  ///< why it did not end; empty: it did
  double seconds = 0;      ///< of the processor
  reproduce::Result result = {};
  std::vector<PlayedRun> runs = {};

  std::size_t held() const;
  bool passed() const { return error.empty() && held() == result.checks.size(); }
};

std::string to_json(const ExperimentRecord& record);
/// Nothing where there is no file, a damaged one, or one of another form or version: it is to be
/// made again.
std::optional<ExperimentRecord> read_record(const std::string& path, const std::string& form);

}  // namespace orthant::app
