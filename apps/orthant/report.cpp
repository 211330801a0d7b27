// SPDX-License-Identifier: Apache-2.0
// orthant/report.cpp: a report => JSON => a file, whole or not at all, or standard output.
#include "report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "orthant/base/atomic_file.hpp"

namespace orthant::app {

using nlohmann::json;

Json::Json(bool value) : value_(std::make_unique<json>(value)) {}
Json::Json(int value) : value_(std::make_unique<json>(value)) {}
Json::Json(long value) : value_(std::make_unique<json>(value)) {}
Json::Json(double value) : value_(std::make_unique<json>(value)) {}
Json::Json(const char* value) : value_(std::make_unique<json>(value)) {}
Json::Json(std::string_view value) : value_(std::make_unique<json>(value)) {}
Json::Json(const std::string& value) : value_(std::make_unique<json>(value)) {}
Json::Json(const std::vector<double>& values) : value_(std::make_unique<json>(values)) {}
Json::Json(std::initializer_list<Field> fields) : value_(std::make_unique<json>(json::object())) {
  for (const Field& field : fields) set(field.key, field.value);
}
Json::Json(const Json& other) : value_(std::make_unique<json>(*other.value_)) {}
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(Json other) noexcept {
  std::swap(value_, other.value_);
  return *this;
}
Json::~Json() = default;

Json Json::array() {
  Json out(false);
  *out.value_ = json::array();
  return out;
}

Json Json::object() { return Json(std::initializer_list<Field>{}); }

void Json::push_back(const Json& item) { value_->push_back(*item.value_); }

void Json::set(const char* key, const Json& value) { (*value_)[key] = *value.value_; }

std::string Json::text() const {
  return value_->dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

void write_report(const std::string& path, const std::string& text) {
  if (path == "-")
    fmt::print("{}", text);
  else if (!path.empty())
    write_file(path, text);
}

}  // namespace orthant::app
