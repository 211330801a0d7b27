// SPDX-License-Identifier: Apache-2.0
// orthant/reproduce_record.cpp: ExperimentRecord <=> JSON.
#include "reproduce_record.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/version.hpp"

namespace orthant::app {

using nlohmann::json;

std::size_t ExperimentRecord::held() const {
  return static_cast<std::size_t>(std::count_if(result.checks.begin(), result.checks.end(),
                                                [](const auto& c) { return c.pass(); }));
}

std::string to_json(const ExperimentRecord& record) {
  json tables = json::array(), checks = json::array(), runs = json::array();
  for (const reproduce::Table& t : record.result.tables)
    tables.push_back({{"title", t.title}, {"columns", t.columns}, {"rows", t.rows}});
  for (const reproduce::Check& c : record.result.checks)
    checks.push_back(
        {{"name", c.name}, {"measured", c.measured}, {"bound", c.bound}, {"holds", c.pass()}});
  for (const PlayedRun& r : record.runs)
    runs.push_back({{"what", r.what},
                    {"folder", r.folder},
                    {"page", r.page},
                    {"paraview", r.paraview},
                    {"scene", r.scene}});
  const json out = {{"format", "orthant-experiment"},
                    {"version", 1},
                    {"orthant_version", version()},
                    {"name", record.name},
                    {"form", record.form},
                    {"error", record.error},
                    {"cpu_seconds", record.seconds},
                    {"tables", tables},
                    {"checks", checks},
                    {"notes", record.result.notes},
                    {"files", record.result.files},
                    {"runs", runs}};
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<ExperimentRecord> read_record(const std::string& path, const std::string& form) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return std::nullopt;
  const json in = json::parse(read_file(path), nullptr, false);
  if (in.is_discarded()) return std::nullopt;
  try {
    ExperimentRecord record;
    record.name = in.at("name");
    record.form = in.at("form");
    if (in.at("orthant_version") != version() || record.form != form) return std::nullopt;
    record.error = in.at("error");
    record.seconds = in.at("cpu_seconds");
    for (const json& t : in.at("tables"))
      record.result.tables.push_back({t.at("title"), t.at("columns"), t.at("rows")});
    for (const json& c : in.at("checks"))
      // A measure that is no number was written as null: it never holds.
      record.result.checks.push_back(
          {c.at("name"), c.at("measured").is_number() ? c.at("measured").get<double>() : HUGE_VAL,
           c.at("bound").get<double>()});
    record.result.notes = in.at("notes");
    record.result.files = in.at("files");
    for (const json& r : in.at("runs"))
      record.runs.push_back(
          {r.at("what"), r.at("folder"), r.at("page"), r.at("paraview"), r.at("scene")});
    return record;
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

}  // namespace orthant::app
