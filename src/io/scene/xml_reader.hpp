// SPDX-License-Identifier: Apache-2.0
// io/scene/xml_reader.hpp: attributes of XML elements as numbers, every problem with its line.
// A problem does not end the reading: it is noted, a harmless value stands in, and all problems of
// a file go into one message at the end.
#pragma once

#include <tinyxml2.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orthant/math/types.hpp"

namespace orthant::io {

/// Files of robots and meshes beyond this are refused [bytes].
inline constexpr std::size_t kMaxRobotFile = std::size_t{64} << 20;

class XmlReader {
 public:
  using Element = tinyxml2::XMLElement;

  explicit XmlReader(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  /// The root element of `text`, which must be called `root`. Throws Error where it is not XML.
  const Element& parse(const std::string& text, const char* root) {
    return parse_mutable(text, root);
  }
  Element& parse_mutable(const std::string& text, const char* root);

  void problem(int line, const std::string& what);
  void problem(const Element& at, const std::string& what) { problem(at.GetLineNum(), what); }
  /// Throws one Error that lists all problems so far.
  void throw_problems() const;

  /// Something that was read and not used; said once with its count.
  void ignore(const std::string& what) { ++ignored_[what]; }
  /// Notices all attributes and children that are none of the names given (separated by blanks).
  void ignore_unknown(const Element& e, std::string_view attributes, std::string_view children);
  void note(const std::string& what) { notes_.push_back(path_ + ": " + what); }
  /// Notes first, then what was ignored.
  std::vector<std::string> notes() const;

  std::string text(const Element& e, const char* name);  ///< must be there
  std::string text_or(const Element& e, const char* name, const std::string& otherwise) const;
  double number(const Element& e, const char* name);  ///< must be there
  double number_or(const Element& e, const char* name, double otherwise);
  std::optional<double> number_if(const Element& e, const char* name);
  Vec3 vector(const Element& e, const char* name, const Vec3& otherwise);
  /// Any count of numbers between `least` and `most`; none where the attribute is not there.
  std::vector<double> numbers(const Element& e, const char* name, std::size_t least,
                              std::size_t most);
  bool flag(const Element& e, const char* name, bool otherwise);

 private:
  std::string path_;
  tinyxml2::XMLDocument document_;
  std::vector<std::pair<int, std::string>> problems_;
  std::map<std::string, int> ignored_;
  std::vector<std::string> notes_;
};

/// The names in a list, quoted and with commas, the first few of them.
std::string name_list(const std::vector<std::string>& names);

}  // namespace orthant::io
