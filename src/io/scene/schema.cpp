// SPDX-License-Identifier: Apache-2.0
// io/scene/schema.cpp: the tables => JSON Schema, Markdown; and the starter scene.
#include <nlohmann/json.hpp>

#include "io/scene/tables.hpp"
#include "orthant/base/version.hpp"

namespace orthant {
namespace {

using Json = nlohmann::ordered_json;

Json object_schema(const io::ObjectInfo& object) {
  Json out = {{"type", "object"}, {"description", object.doc}};
  Json properties = Json::object(), required = Json::array();
  for (const io::FieldInfo& field : object.fields) {
    Json schema = Json::parse(field.schema);
    if (!field.doc.empty()) schema["description"] = field.doc;
    properties[field.name] = std::move(schema);
    if (field.options.required && field.options.only.empty()) required.push_back(field.name);
  }
  out["properties"] = std::move(properties);
  if (!required.empty()) out["required"] = std::move(required);
  out["additionalProperties"] = false;
  Json rules = Json::array();  // a type allows and needs fields of its own
  for (const std::string& word : object.words) {
    Json allowed = Json::array(), needed = Json::array();
    for (const io::FieldInfo& field : object.fields) {
      if (!field.applies(word)) continue;
      allowed.push_back(field.name);
      if (field.options.required) needed.push_back(field.name);
    }
    rules.push_back({{"if", {{"properties", {{"type", {{"const", word}}}}}}},
                     {"then", {{"propertyNames", {{"enum", allowed}}}, {"required", needed}}}});
  }
  if (!rules.empty()) out["allOf"] = std::move(rules);
  return out;
}

/// In a cell of a Markdown table.
std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string scene_schema() {
  Json out = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
              {"title", "Orthant scene"},
              {"$ref", "#/$defs/scene"}};
  Json definitions = Json::object();
  definitions["expression"] = {{"type", "string"},
                               {"pattern", "\\$\\("},
                               {"description", "text with $(...) in it, e.g. $(2 * radius)"}};
  for (const io::ObjectInfo* object : io::all_tables())
    definitions[object->noun] = object_schema(*object);
  // A member and its joint are completed by their population.
  definitions["joint"]["required"] = Json::array({"type"});
  for (Json& rule : definitions["joint"]["allOf"]) rule["then"].erase("required");
  out["$defs"] = std::move(definitions);
  return out.dump(1) + "\n";
}

std::string scene_reference() {
  std::string out;
  for (const io::ObjectInfo* object : io::all_tables()) {
    out += "### " + object->noun + "\n" + object->doc + "\n\n";
    const bool typed = !object->words.empty();
    out += typed ? "| field | for type | value | default | |\n| --- | --- | --- | --- | --- |\n"
                 : "| field | value | default | |\n| --- | --- | --- | --- |\n";
    for (const io::FieldInfo& field : object->fields) {
      std::string only;
      for (const std::string_view word : field.options.only_words())
        only += (only.empty() ? "" : ", ") + std::string(word);
      const bool shown =
          !field.default_text.empty() && !field.options.required && field.default_text.size() < 60;
      out += "| `" + field.name + "` | ";
      if (typed) out += (only.empty() ? "all" : only) + " | ";
      out += cell(field.type) + " | " +
             (field.options.required ? "**needed**"
              : shown                ? "`" + cell(field.default_text) + "`"
                                     : "") +
             " | " + cell(field.doc) + " |\n";
    }
    out += "\n";
  }
  return out;
}

std::string starter_scene(const std::string& name) {
  const std::string quoted = io::scalar_text(name);
  return "# A scene of Orthant: docs/scene.md explains every field.\n"
         "#   orthant check " +
         name +
         ".yaml            is it right?\n"
         "#   orthant run " +
         name + ".yaml -o " + name +
         "_run\n"
         "#   orthant view " +
         name + "_run -o " + name +
         ".html\n"
         "orthant: 1            # version of the format\n"
         "name: " +
         quoted + "\n" +
         R"yaml(description: a ramp, a box that slides down, and a heap of balls

parameters:           # names for $(...); change one with --set slope=0.6
  slope: 0.5          # [rad]
  radius: 0.08        # of a ball [m]
  balls: 3            # along each edge of the heap

materials:            # surfaces; lengths in m, masses in kg, times in s
  - {name: wood, friction: 0.3}
  - {name: rubber, friction: 0.8, restitution: 0.4}

bodies:
  - name: floor
    motion: fixed     # dynamic (default), fixed or kinematic
    shapes: {type: half_space, material: wood}      # everything below z = 0
  - name: ramp
    motion: fixed
    position: [-1.5, 0, 0.5]
    rotation: [0, $(slope), 0]                      # rotation vector [rad]; or orientation: [w, x, y, z]
    shapes: {type: box, half: [1, 0.5, 0.05], material: wood}
  - name: crate
    position: [$(-1.5 - 0.6 * cos(slope) + 0.16 * sin(slope)), 0, $(0.5 + 0.6 * sin(slope) + 0.16 * cos(slope))]
    rotation: [0, $(slope), 0]
    shapes: {type: box, half: [0.15, 0.1, 0.1], density: 500, material: wood}
    colour: "#d08040"

populations:          # many bodies at once
  - type: grid
    name: ball
    count: [$(balls), $(balls), $(balls)]
    spacing: [$(2.1 * radius), $(2.1 * radius), $(2.1 * radius)]
    position: [0.3, $(-radius * balls), $(radius + 0.02)]
    jitter: 0.002
    body:
      shapes: {type: sphere, radius: $(radius), material: rubber}

step:
  h: 0.01             # length of a step [s]

run:
  time: 3             # [s]; or steps: 300

record:
  every: 1            # steps from frame to frame
)yaml";
}

}  // namespace orthant
