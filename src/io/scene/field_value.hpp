// SPDX-License-Identifier: Apache-2.0
// io/scene/field_value.hpp: a YAML node <=> the value of a field, for every type a field may have.
// Codec<M> has four faces of a type: read it, write it, name it in words, name it in JSON Schema.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "io/scene/description.hpp"
#include "io/scene/expression.hpp"

namespace orthant::io {

/// State of reading: parameters, limits, where files are, what was remarked.
struct ReadContext {
  SceneOptions options;
  std::string folder;  ///< that relative paths start from
  Variables variables = {};
  std::vector<std::string> notes = {};

  [[noreturn]] static void fail(const YamlNode& node, const std::string& what);
  /// The text of a scalar, its $(...) put in.
  std::string text_of(const YamlNode& node) const;
  /// A path as the file means it: relative to its own folder. Throws where files are not allowed.
  std::string path_of(const Where& where, const std::string& path) const;
};

struct FieldOptions {
  const char* unit = "";
  double lo = -std::numeric_limits<double>::infinity();
  double hi = std::numeric_limits<double>::infinity();
  bool positive = false;  ///< > 0
  bool required = false;
  bool scalar_is_z = false;    ///< a single number stands for (0, 0, number)
  std::string_view only = {};  ///< words of `type` it applies to: "sphere capsule"; empty: all

  std::vector<std::string_view> only_words() const;
};

/// The words of an enum in a file.
template <class E>
struct Choices;  // static constexpr std::pair<std::string_view, E> list[]

template <class E>
std::string_view choice_name(E value) {
  for (const auto& [word, v] : Choices<E>::list)
    if (v == value) return word;
  return {};
}

/// Place of the word of `node` among `words`; throws with the nearest spelling.
std::size_t read_choice(const ReadContext& context, const YamlNode& node,
                        const std::vector<std::string_view>& words);

double read_double(const ReadContext& context, const YamlNode& node, const FieldOptions& options);
std::int64_t read_integer(const ReadContext& context, const YamlNode& node, std::int64_t lo,
                          std::int64_t hi);
bool read_bool(const ReadContext& context, const YamlNode& node);
std::vector<double> read_doubles(const ReadContext& context, const YamlNode& node,
                                 const FieldOptions& options, std::size_t least, std::size_t most);
std::string number_list(const double* values, std::size_t count);
std::string number_schema(const FieldOptions& options);
/// "number >= 0 [m]".
std::string number_type(const std::string& what, const FieldOptions& options);

/// Objects that have a table; specialised in tables.hpp.
template <class T>
struct HasTable : std::false_type {};

template <class M>
struct Codec;

template <>
struct Codec<double> {
  static double read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
    return read_double(c, *n, o);
  }
  static std::string write(double value);
  static std::string type(const FieldOptions& o) { return number_type("number", o); }
  static std::string schema(const FieldOptions& o) { return number_schema(o); }
};

template <class I>
  requires std::is_same_v<I, int> || std::is_same_v<I, std::int64_t>
struct Codec<I> {
  static I read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
    const double lo = std::max(o.lo, static_cast<double>(std::numeric_limits<I>::lowest()));
    const double hi = std::min(o.hi, std::is_same_v<I, int> ? 2147483647.0 : 9e15);
    return static_cast<I>(read_integer(c, *n, static_cast<std::int64_t>(std::max(lo, -9e15)),
                                       static_cast<std::int64_t>(hi)));
  }
  static std::string write(I value) { return std::to_string(value); }
  static std::string type(const FieldOptions& o) { return number_type("integer", o); }
  static std::string schema(const FieldOptions& o);
};

template <>
struct Codec<bool> {
  static bool read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
    return read_bool(c, *n);
  }
  static std::string write(bool value) { return value ? "true" : "false"; }
  static std::string type(const FieldOptions&) { return "true or false"; }
  static std::string schema(const FieldOptions&) {
    return R"({"anyOf": [{"type": "boolean"}, {"$ref": "#/$defs/expression"}]})";
  }
};

template <>
struct Codec<std::string> {
  static std::string read(ReadContext& c, const YamlPtr& n, const FieldOptions& o);
  static std::string write(const std::string& value) {
    return value.empty() ? std::string() : scalar_text(value);
  }
  static std::string type(const FieldOptions&) { return "text"; }
  static std::string schema(const FieldOptions&) { return R"({"type": ["string", "number"]})"; }
};

template <class E>
  requires std::is_enum_v<E>
struct Codec<E> {
  static std::vector<std::string_view> words() {
    std::vector<std::string_view> out;
    for (const auto& [word, value] : Choices<E>::list) out.push_back(word);
    return out;
  }
  static E read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
    return Choices<E>::list[read_choice(c, *n, words())].second;
  }
  static std::string write(E value) { return std::string(choice_name(value)); }
  static std::string type(const FieldOptions&) {
    std::string out;
    for (const std::string_view word : words())
      out += (out.empty() ? "`" : ", `") + std::string(word) + "`";
    return out;
  }
  static std::string schema(const FieldOptions&) {
    std::string out;
    for (const std::string_view word : words())
      out += (out.empty() ? "\"" : ", \"") + std::string(word) + "\"";
    return R"({"enum": [)" + out + "]}";
  }
};

// Defined in field_value.cpp.
#define ORTHANT_DECLARE_CODEC(M)                                            \
  template <>                                                               \
  struct Codec<M> {                                                         \
    static M read(ReadContext& c, const YamlPtr& n, const FieldOptions& o); \
    static std::string write(const M& value);                               \
    static std::string type(const FieldOptions& o);                         \
    static std::string schema(const FieldOptions& o);                       \
  }
ORTHANT_DECLARE_CODEC(Vec3);
ORTHANT_DECLARE_CODEC(Quat);
ORTHANT_DECLARE_CODEC(Mat3);
ORTHANT_DECLARE_CODEC(Counts);
ORTHANT_DECLARE_CODEC(Colour);
ORTHANT_DECLARE_CODEC(Directions);
ORTHANT_DECLARE_CODEC(ParameterList);
ORTHANT_DECLARE_CODEC(NumberMap);
ORTHANT_DECLARE_CODEC(FormulaList);
ORTHANT_DECLARE_CODEC(YamlPtr);
ORTHANT_DECLARE_CODEC(std::vector<double>);
#undef ORTHANT_DECLARE_CODEC

template <class M>
struct Codec<std::optional<M>> {
  static std::optional<M> read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
    return Codec<M>::read(c, n, o);
  }
  static std::string write(const std::optional<M>& v) { return v ? Codec<M>::write(*v) : ""; }
  static std::string type(const FieldOptions& o) { return Codec<M>::type(o); }
  static std::string schema(const FieldOptions& o) { return Codec<M>::schema(o); }
};

template <class M>
  requires(!std::is_same_v<M, double>)
struct Codec<std::vector<M>> {
  static std::vector<M> read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
    std::vector<M> out;
    if (n->kind == YamlNode::Kind::Sequence) {
      out.reserve(n->items.size());
      for (const YamlPtr& item : n->items) out.push_back(Codec<M>::read(c, item, o));
    } else if (n->kind == YamlNode::Kind::Map || std::is_same_v<M, std::string>) {
      out.push_back(Codec<M>::read(c, n, o));  // one by itself needs no brackets
    } else {
      c.fail(*n, "expected a list, found " + kind_text(*n));
    }
    return out;
  }
  static std::string write(const std::vector<M>& values) {
    if (values.empty()) return {};
    std::string out;
    for (const M& value : values) out += (out.empty() ? "[" : ", ") + Codec<M>::write(value);
    return out + "]";
  }
  static std::string type(const FieldOptions& o) { return "list of " + Codec<M>::type(o); }
  static std::string schema(const FieldOptions& o) {
    const std::string item = Codec<M>::schema(o);
    const std::string list = R"({"type": "array", "items": )" + item + "}";
    if (!HasTable<M>::value && !std::is_same_v<M, std::string>) return list;
    return R"({"anyOf": [)" + list + ", " + item + "]}";
  }
};

}  // namespace orthant::io
