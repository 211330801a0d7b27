// SPDX-License-Identifier: Apache-2.0
// io/scene/yaml_tree.hpp: YAML text => a tree in which every node knows its file, line and column.
// Our own tree and not yaml-cpp's: that one accepts keys given twice, follows aliases in circles,
// and lets ten lines of aliases stand for 10^9 nodes. Here an alias shares its node, every node
// knows how much it stands for, and too much is refused before anything walks it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orthant::io {

/// A place in a scene file, for messages; line 0: the file as a whole.
struct Where {
  std::shared_ptr<const std::string> file;
  int line = 0, column = 0;

  std::string text() const;
};

/// Values a tree may stand for, aliases and includes written out.
constexpr double kMaxWeight = 2e6;

struct YamlNode;
using YamlPtr = std::shared_ptr<const YamlNode>;

struct YamlNode {
  enum class Kind : unsigned char { Null, Scalar, Sequence, Map };
  struct Entry {
    std::string key;
    Where where;  ///< of the key
    YamlPtr value;
  };

  Kind kind = Kind::Null;
  bool quoted = false;  ///< a scalar in quotes: text, whatever it looks like
  bool varies = false;  ///< holds "$(" somewhere below
  std::string text;     ///< of a scalar
  std::vector<YamlPtr> items;
  std::vector<Entry> entries;  ///< in the order of the file, keys unique
  Where where;
  double weight = 1;  ///< nodes it stands for, aliases written out

  const YamlNode* find(std::string_view key) const;
};

/// The one document in `text`. Throws Error at file:line:column.
YamlPtr parse_yaml(const std::string& text, const std::string& file);

/// "a list", "a number or word": what a node is, for messages.
std::string kind_text(const YamlNode& node);

/// `base` with everything that `over` says: maps are merged, lists joined (base first), all else
/// replaced.
YamlPtr merge(const YamlPtr& base, const YamlPtr& over);

/// One line of flow YAML that reads back to the same tree.
std::string to_flow(const YamlNode& node);
/// Text as a YAML scalar, quoted where it has to be.
std::string scalar_text(const std::string& text);

}  // namespace orthant::io
