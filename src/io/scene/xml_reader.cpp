// SPDX-License-Identifier: Apache-2.0
// io/scene/xml_reader.cpp: numbers from attributes, and the list of all that is wrong.
#include "io/scene/xml_reader.hpp"

#include <algorithm>

#include "io/scene/expression.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

constexpr std::size_t kListed = 20;  // problems in one message
constexpr std::size_t kMaxProblems = 1000;
constexpr std::size_t kNames = 8;    // names in one note
constexpr std::size_t kQuoted = 60;  // characters of a bad value that are repeated

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\n\r,";
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::string quoted(std::string_view text) {
  const bool long_one = text.size() > kQuoted;
  return "'" + std::string(text.substr(0, kQuoted)) + (long_one ? "…'" : "'");
}

}  // namespace

XmlReader::Element& XmlReader::parse_mutable(const std::string& text, const char* root) {
  if (text.size() > kMaxRobotFile)
    throw Error(path_, "is larger than " + std::to_string(kMaxRobotFile >> 20) + " MiB");
  if (document_.Parse(text.data(), text.size()) != tinyxml2::XML_SUCCESS)
    throw Error(path_ + ":" + std::to_string(document_.ErrorLineNum()), "is not XML");
  Element* e = document_.FirstChildElement(root);
  if (e == nullptr) throw Error(path_, "has no <" + std::string(root) + ">");
  return *e;
}

void XmlReader::problem(int line, const std::string& what) {
  if (problems_.size() == kMaxProblems) return;
  for (const auto& [at, text] : problems_)
    if (at == line && text == what) return;
  problems_.emplace_back(line, what);
}

void XmlReader::throw_problems() const {
  if (problems_.empty()) return;
  const auto place = [&](int line) {
    return line > 0 ? path_ + ":" + std::to_string(line) : path_;
  };
  auto sorted = problems_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (sorted.size() == 1) throw Error(place(sorted[0].first), sorted[0].second);
  std::string all = std::to_string(sorted.size()) + " problems";
  for (std::size_t i = 0; i < std::min(sorted.size(), kListed); ++i)
    all += "\n  " + place(sorted[i].first) + ": " + sorted[i].second;
  if (sorted.size() > kListed)
    all += "\n  and " + std::to_string(sorted.size() - kListed) + " more";
  throw Error(path_, all);
}

void XmlReader::ignore_unknown(const Element& e, std::string_view attributes,
                               std::string_view children) {
  const auto known = [](std::string_view list, std::string_view name) {
    const auto words = words_of(list);
    return std::find(words.begin(), words.end(), name) != words.end();
  };
  for (const tinyxml2::XMLAttribute* a = e.FirstAttribute(); a != nullptr; a = a->Next())
    if (!known(attributes, a->Name()))
      ignore("'" + std::string(a->Name()) + "' of <" + e.Name() + ">");
  for (const Element* c = e.FirstChildElement(); c != nullptr; c = c->NextSiblingElement())
    if (!known(children, c->Name()))
      ignore("<" + std::string(c->Name()) + "> in <" + e.Name() + ">");
}

std::vector<std::string> XmlReader::notes() const {
  std::vector<std::string> out = notes_;
  for (const auto& [what, count] : ignored_)
    out.push_back(path_ + ": ignored " + what +
                  (count > 1 ? " (" + std::to_string(count) + " times)" : ""));
  return out;
}

std::string XmlReader::text(const Element& e, const char* name) {
  if (const char* value = e.Attribute(name)) return value;
  problem(e, std::string("<") + e.Name() + "> needs '" + name + "'");
  return {};
}

std::string XmlReader::text_or(const Element& e, const char* name,
                               const std::string& otherwise) const {
  const char* value = e.Attribute(name);
  return value == nullptr ? otherwise : value;
}

double XmlReader::number(const Element& e, const char* name) {
  if (e.Attribute(name) == nullptr) {
    (void)text(e, name);
    return 0;
  }
  return number_or(e, name, 0);
}

double XmlReader::number_or(const Element& e, const char* name, double otherwise) {
  return number_if(e, name).value_or(otherwise);
}

std::optional<double> XmlReader::number_if(const Element& e, const char* name) {
  const std::vector<double> values = numbers(e, name, 1, 1);
  if (values.size() != 1) return {};
  return values[0];
}

Vec3 XmlReader::vector(const Element& e, const char* name, const Vec3& otherwise) {
  const std::vector<double> x = numbers(e, name, 3, 3);
  return x.size() == 3 ? Vec3(x[0], x[1], x[2]) : otherwise;
}

std::vector<double> XmlReader::numbers(const Element& e, const char* name, std::size_t least,
                                       std::size_t most) {
  const char* value = e.Attribute(name);
  if (value == nullptr) return {};
  std::vector<double> out;
  bool good = true;
  for (const std::string_view word : words_of(value)) {
    double x = 0;
    good = good && read_number(word, x);
    out.push_back(x);
  }
  if (good && out.size() >= least && out.size() <= most) return out;
  std::string wanted = std::to_string(least) + " numbers";
  if (least == 1 && most == 1)
    wanted = "a number";
  else if (least == 3 && most == 3)
    wanted = "three numbers";
  else if (most > least)
    wanted = std::to_string(least) + " or more numbers";
  problem(e, "'" + std::string(name) + "' of <" + e.Name() + "> must be " + wanted + ", found " +
                 quoted(value));
  return {};
}

bool XmlReader::flag(const Element& e, const char* name, bool otherwise) {
  const char* value = e.Attribute(name);
  if (value == nullptr) return otherwise;
  const std::string_view word(value);
  if (word == "true" || word == "1") return true;
  if (word == "false" || word == "0") return false;
  problem(e, "'" + std::string(name) + "' of <" + e.Name() + "> must be true or false, found " +
                 quoted(value));
  return otherwise;
}

std::string name_list(const std::vector<std::string>& names) {
  std::string out;
  for (std::size_t i = 0; i < std::min(names.size(), kNames); ++i)
    out += (i > 0 ? ", '" : "'") + names[i] + "'";
  if (names.size() > kNames) out += " and " + std::to_string(names.size() - kNames) + " more";
  return out;
}

}  // namespace orthant::io
