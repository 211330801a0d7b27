// SPDX-License-Identifier: Apache-2.0
// io/scene/yaml_tree.cpp: yaml-cpp's events => YamlNode.
#include "io/scene/yaml_tree.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

constexpr std::size_t kMaxDepth = 64;

/// Builds the tree bottom up: a stack of unfinished maps and lists.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::shared_ptr<const std::string> file) : file_(std::move(file)) {}

  YamlPtr root;

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    finish(make(mark, YamlNode::Kind::Null), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    auto node = make(mark, YamlNode::Kind::Scalar);
    node->text = value;
    node->quoted = tag == "!";
    node->varies = value.find("$(") != std::string::npos;
    const bool null = !node->quoted && (value.empty() || value == "~" || value == "null");
    if (null) node->kind = YamlNode::Kind::Null;
    finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw Error(place(mark).text(), "the alias stands inside of what it stands for");
    add(found->second, place(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, YamlNode::Kind::Sequence, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, YamlNode::Kind::Map, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<YamlNode> node;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    Where key_where;
    std::vector<YamlPtr> defaults;  // maps named by "<<"
  };

  Where place(const YAML::Mark& mark) const { return {file_, mark.line + 1, mark.column + 1}; }

  std::shared_ptr<YamlNode> make(const YAML::Mark& mark, YamlNode::Kind kind) const {
    auto node = std::make_shared<YamlNode>();
    node->kind = kind;
    node->where = place(mark);
    return node;
  }

  void open(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor) {
    if (stack_.size() >= kMaxDepth) {
      throw Error(place(mark).text(),
                  "nested deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    stack_.push_back(
        {.node = make(mark, kind), .anchor = anchor, .key = {}, .key_where = {}, .defaults = {}});
  }

  void close() {
    Open top = std::move(stack_.back());
    stack_.pop_back();
    for (const YamlPtr& map : top.defaults) {
      for (const YamlNode::Entry& entry : map->entries) {
        if (top.node->find(entry.key) == nullptr) top.node->entries.push_back(entry);
      }
    }
    finish(std::move(top.node), top.anchor);
  }

  void finish(std::shared_ptr<YamlNode> node, YAML::anchor_t anchor) {
    for (const YamlPtr& item : node->items) absorb(*node, *item);
    for (const YamlNode::Entry& entry : node->entries) absorb(*node, *entry.value);
    if (node->weight > kMaxWeight) {
      throw Error(node->where.text(), "stands for more than " + to_text(kMaxWeight) +
                                          " values once its aliases are written out");
    }
    if (anchor != 0) anchors_[anchor] = node;
    const Where where = node->where;
    add(std::move(node), where);
  }

  static void absorb(YamlNode& node, const YamlNode& child) {
    node.weight += child.weight;
    node.varies = node.varies || child.varies;
  }

  void add(YamlPtr node, const Where& where) {
    if (stack_.empty()) {
      root = std::move(node);
      return;
    }
    Open& top = stack_.back();
    if (top.node->kind == YamlNode::Kind::Sequence) {
      top.node->items.push_back(std::move(node));
    } else if (!top.has_key) {
      if (node->kind != YamlNode::Kind::Scalar)
        throw Error(where.text(), "a key must be a word, found " + kind_text(*node));
      top.has_key = true;
      top.key = node->text;
      top.key_where = where;
    } else {
      top.has_key = false;
      add_entry(top, std::move(node), where);
    }
  }

  static void add_entry(Open& top, YamlPtr value, const Where& where) {
    if (top.key == "<<") {
      if (value->kind != YamlNode::Kind::Map)
        throw Error(where.text(), "'<<' needs the alias of a map, found " + kind_text(*value));
      top.defaults.push_back(std::move(value));
      return;
    }
    if (const YamlNode* first = top.node->find(top.key)) {
      throw Error(top.key_where.text(), "key '" + top.key + "' is given twice (first in line " +
                                            std::to_string(first->where.line) + ")");
    }
    top.node->entries.push_back({top.key, top.key_where, std::move(value)});
  }

  std::shared_ptr<const std::string> file_;
  std::vector<Open> stack_;
  std::map<YAML::anchor_t, YamlPtr> anchors_;
};

/// Reads back as text without quotes: no number, no bool, no null, nothing YAML has a meaning for.
bool plain(const std::string& text) {
  if (text.empty() || text == "true" || text == "false" || text == "null") return false;
  if (!std::isalpha(static_cast<unsigned char>(text[0])) && text[0] != '_') return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-';
  });
}

/// A scalar that had no quotes and needs none inside a list: numbers, words, "30 deg".
bool bare(const std::string& text) {
  return !text.empty() && !text.starts_with("- ") && text != "-" &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == '-' || c == '+' ||
                  c == ' ';
         });
}

}  // namespace

std::string Where::text() const {
  const std::string name = file ? *file : "scene";
  if (line <= 0) return name;
  const std::string place = name + ":" + std::to_string(line);
  return column > 0 ? place + ":" + std::to_string(column) : place;
}

const YamlNode* YamlNode::find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return entry.value.get();
  }
  return nullptr;
}

YamlPtr parse_yaml(const std::string& text, const std::string& file) {
  const auto name = std::make_shared<const std::string>(file);
  TreeBuilder builder(name);
  std::istringstream stream(text);
  try {
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(builder) || !builder.root)
      throw Error(file, "is empty, expected a scene");
    TreeBuilder rest(name);
    if (parser.HandleNextDocument(rest) && rest.root)
      throw Error(rest.root->where.text(), "a second document; a scene is one document");
  } catch (const YAML::Exception& error) {
    const Where where{name, error.mark.is_null() ? 0 : error.mark.line + 1, error.mark.column + 1};
    throw Error(where.text(), "is not YAML: " + error.msg);
  }
  return builder.root;
}

std::string kind_text(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "nothing";
    case YamlNode::Kind::Scalar:
      return "'" + node.text.substr(0, 60) + "'";
    case YamlNode::Kind::Sequence:
      return "a list";
    case YamlNode::Kind::Map:
      return "a map";
  }
  return {};
}

YamlPtr merge(const YamlPtr& base, const YamlPtr& over) {
  if (!base || base->kind == YamlNode::Kind::Null) return over;
  if (!over || over->kind == YamlNode::Kind::Null) return base;
  if (base->kind != over->kind || base->kind == YamlNode::Kind::Scalar) return over;
  auto result = std::make_shared<YamlNode>(*base);
  result->where = over->where;
  result->varies = base->varies || over->varies;
  result->weight = base->weight + over->weight;
  result->items.insert(result->items.end(), over->items.begin(), over->items.end());
  for (const YamlNode::Entry& entry : over->entries) {
    const auto same = std::find_if(result->entries.begin(), result->entries.end(),
                                   [&](const YamlNode::Entry& e) { return e.key == entry.key; });
    if (same == result->entries.end())
      result->entries.push_back(entry);
    else
      *same = {entry.key, entry.where, merge(same->value, entry.value)};
  }
  return result;
}

std::string scalar_text(const std::string& text) {
  if (plain(text)) return text;
  std::string out = "\"";
  for (const unsigned char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || c == 0x7f) {
      static constexpr char kHex[] = "0123456789abcdef";
      out += "\\x";
      out += kHex[c >> 4];
      out += kHex[c & 15];
    } else {
      out += static_cast<char>(c);
    }
  }
  return out + '"';
}

std::string to_flow(const YamlNode& node) {
  std::string out;
  const char* separator = "";
  switch (node.kind) {
    case YamlNode::Kind::Null:
      return "~";
    case YamlNode::Kind::Scalar:
      return !node.quoted && bare(node.text) ? node.text : scalar_text(node.text);
    case YamlNode::Kind::Sequence:
      for (const YamlPtr& item : node.items) {
        out += separator + to_flow(*item);
        separator = ", ";
      }
      return "[" + out + "]";
    case YamlNode::Kind::Map:
      for (const YamlNode::Entry& entry : node.entries) {
        out += separator + scalar_text(entry.key) + ": " + to_flow(*entry.value);
        separator = ", ";
      }
      return "{" + out + "}";
  }
  return out;
}

}  // namespace orthant::io
