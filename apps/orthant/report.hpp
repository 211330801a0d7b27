// SPDX-License-Identifier: Apache-2.0
// orthant/report.hpp: the JSON of `--json FILE|-`, the same for every command.
// The library behind it (nlohmann) is included by report.cpp alone: it is slow to compile.
#pragma once

#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace orthant::app {

/// A JSON value that is built and written, never read.
class Json {
 public:
  struct Field;

  Json(bool value);
  Json(int value);
  Json(long value);
  Json(double value);  ///< null where not finite
  Json(const char* value);
  Json(std::string_view value);
  Json(const std::string& value);
  Json(const std::vector<double>& values);
  Json(std::initializer_list<Field> fields);  ///< an object
  Json(const Json& other);
  Json(Json&&) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  static Json array();
  static Json object();
  void push_back(const Json& item);              ///< of an array
  void set(const char* key, const Json& value);  ///< of an object
  std::string text() const;  ///< with line breaks; bytes that are not UTF-8 are replaced

 private:
  std::unique_ptr<nlohmann::json> value_;
};

struct Json::Field {
  const char* key;
  Json value;
};

/// `text` to the file `path`, to standard output ("-"), or nowhere (""). Throws Error.
void write_report(const std::string& path, const std::string& text);

}  // namespace orthant::app
