// SPDX-License-Identifier: Apache-2.0
// io/scene/field_value.cpp: the codecs that are no templates, and the rules of numbers.
#include "io/scene/field_value.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <numbers>

#include "io/scene/field_table.hpp"

namespace orthant::io {
namespace {

bool is_angle(const FieldOptions& options) {
  return std::string_view(options.unit).find("rad") != std::string_view::npos;
}

/// ">= 0", "> 0", "in [0, 1]"; empty: any.
std::string range_text(const FieldOptions& o) {
  if (o.positive) return "> 0";
  if (std::isfinite(o.lo) && std::isfinite(o.hi))
    return "in [" + to_text(o.lo) + ", " + to_text(o.hi) + "]";
  if (std::isfinite(o.lo)) return ">= " + to_text(o.lo);
  if (std::isfinite(o.hi)) return "<= " + to_text(o.hi);
  return {};
}

bool in_range(double value, const FieldOptions& o) {
  return value >= o.lo && value <= o.hi && (!o.positive || value > 0);
}

/// Words in a line, for messages.
std::string listed(const std::vector<std::string_view>& words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

Vec3 vec3_of(const std::vector<double>& x) { return {x[0], x[1], x.size() > 2 ? x[2] : 0.0}; }

}  // namespace

// --- messages of the tables --------------------------------------------------------------------

std::vector<std::string_view> FieldOptions::only_words() const {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < only.size();) {
    const std::size_t end = std::min(only.find(' ', i), only.size());
    words.push_back(only.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

bool FieldInfo::applies(std::string_view word) const {
  if (options.only.empty()) return true;
  const std::vector<std::string_view> words = options.only_words();
  return std::find(words.begin(), words.end(), word) != words.end();
}

void ObjectInfo::fail_unknown(const YamlNode::Entry& entry, const std::string& word) const {
  std::vector<std::string_view> names;
  for (const FieldInfo& field : fields)
    if (field.applies(word)) names.push_back(field.name);
  const std::string near = nearest_spelling(entry.key, names.data(), names.size());
  std::string what = "unknown key '" + entry.key.substr(0, 60) + "' in a " + noun;
  if (!word.empty()) what += " of type " + word;
  if (!near.empty()) what += " (did you mean '" + near + "'?)";
  throw Error(entry.where.text(), what + "; allowed: " + listed(names));
}

void ObjectInfo::fail_missing(const Where& where, const std::string& field,
                              const std::string& word) const {
  std::string what =
      "a " + noun + (word.empty() ? "" : " of type " + word) + " needs '" + field + "'";
  if (field == "type") {
    what += ": one of ";
    for (std::size_t i = 0; i < words.size(); ++i) what += (i > 0 ? ", " : "") + words[i];
  }
  throw Error(where.text(), what);
}

// --- scalars -----------------------------------------------------------------------------------

void ReadContext::fail(const YamlNode& node, const std::string& what) {
  throw Error(node.where.text(), what);
}

std::string ReadContext::text_of(const YamlNode& node) const {
  return node.varies ? expand(node.text, variables, node.where.text()) : node.text;
}

std::string ReadContext::path_of(const Where& where, const std::string& path) const {
  if (!options.read_files) throw Error(where.text(), "other files are not read here");
  const std::filesystem::path p(path);
  return p.is_absolute() ? path : (std::filesystem::path(folder) / p).lexically_normal().string();
}

double read_double(const ReadContext& context, const YamlNode& node, const FieldOptions& options) {
  const std::string range = range_text(options);
  const std::string expected =
      "expected a number" + (range.empty() ? "" : " " + range) +
      (*options.unit != '\0' ? " [" + std::string(options.unit) + "]" : "");
  if (node.kind != YamlNode::Kind::Scalar || (node.quoted && !node.varies))
    context.fail(node, expected + ", found " + kind_text(node));
  std::string text = context.text_of(node);
  double factor = 1;
  if (is_angle(options) && text.size() > 3 && text.ends_with("deg")) {
    text.resize(text.size() - 3);
    while (!text.empty() && text.back() == ' ') text.pop_back();
    factor = std::numbers::pi / 180;
  }
  double value = 0;
  if (!read_number(text, value) || !in_range(value * factor, options))
    context.fail(node, expected + ", found '" + context.text_of(node).substr(0, 60) + "'");
  return value * factor;
}

std::int64_t read_integer(const ReadContext& context, const YamlNode& node, std::int64_t lo,
                          std::int64_t hi) {
  std::string expected = "expected an integer";
  if (lo == hi)
    expected = "expected " + std::to_string(lo);
  else if (lo > -2147483648LL && hi < 2147483646LL)
    expected += " from " + std::to_string(lo) + " to " + std::to_string(hi);
  else if (lo > -2147483648LL)
    expected += " >= " + std::to_string(lo);
  if (node.kind != YamlNode::Kind::Scalar || (node.quoted && !node.varies))
    context.fail(node, expected + ", found " + kind_text(node));
  const std::string text = context.text_of(node);
  double value = 0;  // through double: 1e6 is an integer, too
  if (!read_number(text, value) || value != std::floor(value) || value < static_cast<double>(lo) ||
      value > static_cast<double>(hi))
    context.fail(node, expected + ", found '" + text.substr(0, 60) + "'");
  return static_cast<std::int64_t>(value);
}

bool read_bool(const ReadContext& context, const YamlNode& node) {
  if (node.kind == YamlNode::Kind::Scalar) {
    const std::string text = context.text_of(node);
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
  }
  context.fail(node, "expected true or false, found " + kind_text(node));
}

std::size_t read_choice(const ReadContext& context, const YamlNode& node,
                        const std::vector<std::string_view>& words) {
  if (node.kind != YamlNode::Kind::Scalar)
    context.fail(node, "expected one of " + listed(words) + ", found " + kind_text(node));
  const std::string text = context.text_of(node);
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    const std::string near = nearest_spelling(text.substr(0, 60), words.data(), words.size());
    context.fail(node, "unknown '" + text.substr(0, 60) + "'" +
                           (near.empty() ? "" : " (did you mean '" + near + "'?)") +
                           "; allowed: " + listed(words));
  }
  return static_cast<std::size_t>(found - words.begin());
}

std::string Codec<std::string>::read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
  if (n->kind != YamlNode::Kind::Scalar) c.fail(*n, "expected text, found " + kind_text(*n));
  return c.text_of(*n);
}

std::string Codec<double>::write(double value) { return to_text(value); }

// --- lists of numbers --------------------------------------------------------------------------

std::vector<double> read_doubles(const ReadContext& context, const YamlNode& node,
                                 const FieldOptions& options, std::size_t least, std::size_t most) {
  const bool right = node.kind == YamlNode::Kind::Sequence && node.items.size() >= least &&
                     node.items.size() <= most;
  if (!right) {
    std::string expected = "expected a list of ";
    if (most < 1000)
      expected += least == most ? std::to_string(most)
                                : std::to_string(least) + " to " + std::to_string(most);
    const std::string found = node.kind == YamlNode::Kind::Sequence
                                  ? std::to_string(node.items.size()) + " of them"
                                  : kind_text(node);
    context.fail(node, expected + (most < 1000 ? " numbers, found " : "numbers, found ") + found);
  }
  std::vector<double> out;
  out.reserve(node.items.size());
  for (const YamlPtr& item : node.items) out.push_back(read_double(context, *item, options));
  return out;
}

std::string number_list(const double* values, std::size_t count) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) out += (i > 0 ? ", " : "") + to_text(values[i]);
  return out + "]";
}

std::string number_type(const std::string& what, const FieldOptions& o) {
  const std::string range = range_text(o);
  return what + (range.empty() ? "" : " " + range) +
         (*o.unit != '\0' ? " [" + std::string(o.unit) + "]" : "");
}

std::string number_schema(const FieldOptions& o) {
  std::string out = R"({"anyOf": [{"type": "number")";
  if (o.positive)
    out += R"(, "exclusiveMinimum": 0)";
  else if (std::isfinite(o.lo))
    out += R"(, "minimum": )" + to_text(o.lo);
  if (std::isfinite(o.hi)) out += R"(, "maximum": )" + to_text(o.hi);
  out += R"(}, {"$ref": "#/$defs/expression"})";
  if (is_angle(o)) out += R"(, {"type": "string", "pattern": "deg$"})";
  return out + "]}";
}

template <class I>
  requires std::is_same_v<I, int> || std::is_same_v<I, std::int64_t>
std::string Codec<I>::schema(const FieldOptions& o) {
  std::string out = R"({"anyOf": [{"type": "integer")";
  if (std::isfinite(o.lo)) out += R"(, "minimum": )" + to_text(o.lo);
  if (std::isfinite(o.hi)) out += R"(, "maximum": )" + to_text(o.hi);
  return out + R"(}, {"$ref": "#/$defs/expression"}]})";
}
template struct Codec<int>;
template struct Codec<std::int64_t>;

namespace {

std::string list_schema(const FieldOptions& o, int least, int most) {
  return R"({"type": "array", "items": )" + number_schema(o) + R"(, "minItems": )" +
         std::to_string(least) + R"(, "maxItems": )" + std::to_string(most) + "}";
}

}  // namespace

std::vector<double> Codec<std::vector<double>>::read(ReadContext& c, const YamlPtr& n,
                                                     const FieldOptions& o) {
  return read_doubles(c, *n, o, 0, std::size_t{1} << 30);
}
std::string Codec<std::vector<double>>::write(const std::vector<double>& v) {
  return v.empty() ? std::string() : number_list(v.data(), v.size());
}
std::string Codec<std::vector<double>>::type(const FieldOptions& o) {
  return number_type("list of numbers", o);
}
std::string Codec<std::vector<double>>::schema(const FieldOptions& o) {
  return R"({"type": "array", "items": )" + number_schema(o) + "}";
}

Vec3 Codec<Vec3>::read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
  if (o.scalar_is_z && n->kind == YamlNode::Kind::Scalar) return {0, 0, read_double(c, *n, o)};
  return vec3_of(read_doubles(c, *n, o, 2, 3));
}
std::string Codec<Vec3>::write(const Vec3& v) { return number_list(v.data(), 3); }
std::string Codec<Vec3>::type(const FieldOptions& o) {
  return number_type(o.scalar_is_z ? "2 or 3 numbers, or one about z" : "2 or 3 numbers", o);
}
std::string Codec<Vec3>::schema(const FieldOptions& o) {
  const std::string list = list_schema(o, 2, 3);
  return o.scalar_is_z ? R"({"anyOf": [)" + list + ", " + number_schema(o) + "]}" : list;
}

Quat Codec<Quat>::read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
  const std::vector<double> x = read_doubles(c, *n, o, 4, 4);
  const double norm = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
  if (!(norm > 1e-3 && norm < 1e3))
    c.fail(*n, "a quaternion [w, x, y, z] must have a length near 1, found " + to_text(norm));
  return {x[0], x[1], x[2], x[3]};
}
std::string Codec<Quat>::write(const Quat& q) {
  const double x[4] = {q.w, q.x, q.y, q.z};
  return number_list(x, 4);
}
std::string Codec<Quat>::type(const FieldOptions&) { return "quaternion [w, x, y, z]"; }
std::string Codec<Quat>::schema(const FieldOptions& o) { return list_schema(o, 4, 4); }

Mat3 Codec<Mat3>::read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
  Mat3 I = Mat3::Zero();
  if (n->kind == YamlNode::Kind::Scalar) {
    I.setIdentity();
    I(2, 2) = read_double(c, *n, o);
    return I;
  }
  const std::vector<double> x = read_doubles(c, *n, o, 3, 6);
  if (x.size() != 3 && x.size() != 6)
    c.fail(*n, "expected [xx, yy, zz] or [xx, yy, zz, xy, xz, yz], found " +
                   std::to_string(x.size()) + " numbers");
  for (int i = 0; i < 3; ++i) I(i, i) = x[i];
  if (x.size() == 6) {
    I(0, 1) = I(1, 0) = x[3];
    I(0, 2) = I(2, 0) = x[4];
    I(1, 2) = I(2, 1) = x[5];
  }
  return I;
}
std::string Codec<Mat3>::write(const Mat3& I) {
  const double x[6] = {I(0, 0), I(1, 1), I(2, 2), I(0, 1), I(0, 2), I(1, 2)};
  return number_list(x, 6);
}
std::string Codec<Mat3>::type(const FieldOptions& o) {
  return number_type("[xx, yy, zz], [xx, yy, zz, xy, xz, yz] or planar one number", o);
}
std::string Codec<Mat3>::schema(const FieldOptions& o) {
  return R"({"anyOf": [)" + list_schema(o, 3, 6) + ", " + number_schema(o) + "]}";
}

// --- the rest ----------------------------------------------------------------------------------

Counts Codec<Counts>::read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
  Counts out;
  if (n->kind == YamlNode::Kind::Scalar) {
    out.n[0] = static_cast<int>(read_integer(c, *n, 0, 2147483646));
    return out;
  }
  if (n->kind != YamlNode::Kind::Sequence || n->items.empty() || n->items.size() > 3)
    c.fail(*n, "expected an integer or a list of 1 to 3 integers, found " + kind_text(*n));
  for (std::size_t i = 0; i < n->items.size(); ++i)
    out.n[i] = static_cast<int>(read_integer(c, *n->items[i], 0, 2147483646));
  return out;
}
std::string Codec<Counts>::write(const Counts& v) {
  return "[" + std::to_string(v.n[0]) + ", " + std::to_string(v.n[1]) + ", " +
         std::to_string(v.n[2]) + "]";
}
std::string Codec<Counts>::type(const FieldOptions&) { return "1 to 3 integers >= 0"; }
std::string Codec<Counts>::schema(const FieldOptions&) {
  const std::string item = Codec<int>::schema({.lo = 0});
  return R"({"anyOf": [)" + item + R"(, {"type": "array", "items": )" + item +
         R"(, "minItems": 1, "maxItems": 3}]})";
}

Colour Codec<Colour>::read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
  Colour out;
  if (n->kind == YamlNode::Kind::Scalar) out.text = c.text_of(*n);
  const auto hex = [](unsigned char x) { return std::isxdigit(x) != 0; };
  if (out.text.size() != 7 || out.text[0] != '#' ||
      !std::all_of(out.text.begin() + 1, out.text.end(), hex))
    c.fail(*n, "expected a colour \"#rrggbb\" (in quotes), found " + kind_text(*n));
  return out;
}
std::string Codec<Colour>::write(const Colour& v) {
  return v.text.empty() ? std::string() : scalar_text(v.text);
}
std::string Codec<Colour>::type(const FieldOptions&) { return "\"#rrggbb\""; }
std::string Codec<Colour>::schema(const FieldOptions&) {
  return R"({"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"})";
}

Directions Codec<Directions>::read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
  Directions out = {false, false, false};
  const std::string text = n->kind == YamlNode::Kind::Scalar ? c.text_of(*n) : std::string("?");
  for (const char letter : text) {
    const std::size_t axis = std::string_view("xyz").find(letter);
    if (axis == std::string_view::npos)
      c.fail(*n, "expected some of the letters x, y, z, as in xy; found " + kind_text(*n));
    out[axis] = true;
  }
  return out;
}
std::string Codec<Directions>::write(const Directions& v) {
  std::string out;
  for (std::size_t i = 0; i < 3; ++i)
    if (v[i]) out += "xyz"[i];
  return out;
}
std::string Codec<Directions>::type(const FieldOptions&) { return "letters of xyz"; }
std::string Codec<Directions>::schema(const FieldOptions&) {
  return R"({"type": "string", "pattern": "^[xyz]*$"})";
}

FormulaList Codec<FormulaList>::read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
  FormulaList out;
  out.where = n->where;
  const auto add = [&](const YamlNode& node) {
    if (node.kind != YamlNode::Kind::Scalar)
      c.fail(node, "expected a formula such as \"-x*sin(r)/r\", found " + kind_text(node));
    out.texts.push_back(c.text_of(node));
  };
  if (n->kind == YamlNode::Kind::Sequence)
    for (const YamlPtr& item : n->items) add(*item);
  else
    add(*n);
  if (!n->items.empty()) out.where = n->items[0]->where;
  return out;
}
std::string Codec<FormulaList>::write(const FormulaList& v) {
  std::string out;
  for (const std::string& text : v.texts) out += (out.empty() ? "[" : ", ") + scalar_text(text);
  return out.empty() ? out : out + "]";
}
std::string Codec<FormulaList>::type(const FieldOptions&) {
  return "formula, or a list of one for each component";
}
std::string Codec<FormulaList>::schema(const FieldOptions&) {
  return R"({"anyOf": [{"type": ["string", "number"]}, {"type": "array", "items": {"type": ["string", "number"]}}]})";
}

ParameterList Codec<ParameterList>::read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
  ParameterList out;
  if (n->kind != YamlNode::Kind::Map)
    c.fail(*n, "expected a map of names and values, found " + kind_text(*n));
  for (const YamlNode::Entry& entry : n->entries) {  // the values have been worked out already
    const std::string* value = c.variables.find(entry.key);
    out.values.emplace_back(entry.key, value != nullptr ? *value : std::string());
  }
  return out;
}
std::string Codec<ParameterList>::write(const ParameterList& v) {
  std::string out;
  for (const auto& [name, text] : v.values) {
    double number = 0;
    out += (out.empty() ? "{" : ", ") + scalar_text(name) + ": " +
           (read_number(text, number) ? text : scalar_text(text));
  }
  return out.empty() ? out : out + "}";
}
std::string Codec<ParameterList>::type(const FieldOptions&) { return "names and values"; }
std::string Codec<ParameterList>::schema(const FieldOptions&) {
  return R"({"type": "object", "additionalProperties": {"type": ["number", "string", "boolean"]}})";
}

NumberMap Codec<NumberMap>::read(ReadContext& c, const YamlPtr& n, const FieldOptions& o) {
  NumberMap out;
  if (n->kind != YamlNode::Kind::Map)
    c.fail(*n, "expected a map of names and numbers, found " + kind_text(*n));
  for (const YamlNode::Entry& entry : n->entries)
    out.values.emplace_back(entry.key, read_double(c, *entry.value, o));
  return out;
}
std::string Codec<NumberMap>::write(const NumberMap& v) {
  std::string out;
  for (const auto& [name, number] : v.values)
    out += (out.empty() ? "{" : ", ") + scalar_text(name) + ": " + to_text(number);
  return out.empty() ? out : out + "}";
}
std::string Codec<NumberMap>::type(const FieldOptions& o) {
  return number_type("names and numbers", o);
}
std::string Codec<NumberMap>::schema(const FieldOptions& o) {
  return R"({"type": "object", "additionalProperties": )" + number_schema(o) + "}";
}

YamlPtr Codec<YamlPtr>::read(ReadContext& c, const YamlPtr& n, const FieldOptions&) {
  if (n->kind != YamlNode::Kind::Map) c.fail(*n, "expected a map, found " + kind_text(*n));
  return n;
}
std::string Codec<YamlPtr>::write(const YamlPtr& v) { return v ? to_flow(*v) : std::string(); }
std::string Codec<YamlPtr>::type(const FieldOptions& o) { return o.unit; }
std::string Codec<YamlPtr>::schema(const FieldOptions& o) {
  return R"({"$ref": "#/$defs/)" + std::string(o.unit) + "\"}";
}

}  // namespace orthant::io
