// SPDX-License-Identifier: Apache-2.0
// io/scene/field_table.hpp: one table per object: its fields by name, each with type, unit, range,
// default and a sentence. The parser, the error messages, the writer, docs/scene.md and the JSON
// Schema read the same rows, so they cannot disagree.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "io/scene/field_value.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {

/// What documents need to know of a field.
struct FieldInfo {
  std::string name, type, schema, default_text, doc;
  FieldOptions options;

  bool applies(std::string_view word) const;
};

struct ObjectInfo {
  std::string noun, doc;
  std::vector<std::string> words;  ///< of `type`, where the object has one
  std::vector<FieldInfo> fields;

  /// "unknown key 'mas' in a body (did you mean 'mass'?); allowed: …" for this word of `type`.
  [[noreturn]] void fail_unknown(const YamlNode::Entry& entry, const std::string& word) const;
  [[noreturn]] void fail_missing(const Where& where, const std::string& field,
                                 const std::string& word) const;
};

template <class T>
class Table;

/// The table of an object; tables.cpp has them all.
template <class T>
const Table<T>& table_of();

/// One field of a T, whatever its type.
template <class T>
class Field {
 public:
  virtual ~Field() = default;
  virtual void read(ReadContext& context, const YamlPtr& node, T& object) const = 0;
  virtual std::string write(const T& object) const = 0;
};

template <class T, class M, class Owner>
class FieldOf final : public Field<T> {
 public:
  FieldOf(M Owner::* member, const FieldOptions& options) : member_(member), options_(options) {}

  void read(ReadContext& context, const YamlPtr& node, T& object) const override {
    if constexpr (HasTable<M>::value)  // starts from what the owner has by default
      object.*member_ = table_of<M>().read(context, node, object.*member_);
    else
      object.*member_ = Codec<M>::read(context, node, options_);
  }
  std::string write(const T& object) const override { return Codec<M>::write(object.*member_); }

 private:
  M Owner::* member_;
  FieldOptions options_;
};

template <class T>
class Table {
 public:
  Table(std::string noun, std::string doc) { info_ = {std::move(noun), std::move(doc), {}, {}}; }

  /// The field that chooses which of the others apply. Add it first.
  template <class E, class Owner>
  Table& by_type(E Owner::* member, const char* doc) {
    for (const auto& [word, value] : Choices<E>::list) info_.words.emplace_back(word);
    return add("type", member, doc, {.required = true});
  }

  template <class M, class Owner>
  Table& add(const char* name, M Owner::* member, const char* doc,
             const FieldOptions& options = {}) {
    append({name, Codec<M>::type(options), Codec<M>::schema(options), {}, doc, options},
           std::make_unique<const FieldOf<T, M, Owner>>(member, options));
    return *this;
  }

  T read(ReadContext& context, const YamlPtr& node, T object = {}) const {
    if (node->kind != YamlNode::Kind::Map)
      context.fail(
          *node, "expected a map of the fields of a " + info_.noun + ", found " + kind_text(*node));
    if constexpr (requires { object.where; }) object.where = node->where;
    if (!info_.words.empty()) {  // first, wherever it stands
      for (const YamlNode::Entry& entry : node->entries)
        if (entry.key == "type") fields_[0]->read(context, entry.value, object);
      if (node->find("type") == nullptr) info_.fail_missing(node->where, "type", {});
    }
    const std::string word = word_of(object);
    std::vector<bool> seen(info_.fields.size());
    for (const YamlNode::Entry& entry : node->entries) {
      const std::size_t i = find(entry.key, word);
      if (i == info_.fields.size()) info_.fail_unknown(entry, word);
      // "key:" with nothing after it is the default, which a required field does not have.
      if (entry.value->kind == YamlNode::Kind::Null) continue;
      seen[i] = true;
      fields_[i]->read(context, entry.value, object);
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const FieldInfo& field = info_.fields[i];
      if (field.options.required && !seen[i] && field.applies(word))
        info_.fail_missing(node->where, field.name, word);
    }
    return object;
  }

  /// (name, value) of every field that differs from its default.
  std::vector<std::pair<std::string, std::string>> changed(const T& object) const {
    std::vector<std::pair<std::string, std::string>> out;
    const std::string word = word_of(object);
    for (std::size_t i = 0; i < info_.fields.size(); ++i) {
      const FieldInfo& field = info_.fields[i];
      if (!field.applies(word)) continue;
      std::string text = fields_[i]->write(object);
      if (text != field.default_text || (field.options.required && !text.empty()))
        out.emplace_back(field.name, std::move(text));
    }
    return out;
  }

  /// "{name: ball, position: [0, 0, 1]}".
  std::string write(const T& object) const {
    std::string out = "{";
    for (const auto& [name, text] : changed(object)) {
      if (out.size() > 1) out += ", ";
      out += name + ": " + text;
    }
    return out + "}";
  }

  const ObjectInfo& info() const { return info_; }

 private:
  void append(FieldInfo info, std::unique_ptr<const Field<T>> field) {
    info.default_text = field->write(defaults_);
    info_.fields.push_back(std::move(info));
    fields_.push_back(std::move(field));
  }

  /// The object's word of `type`, empty where it has none.
  std::string word_of(const T& object) const {
    return info_.words.empty() ? std::string() : fields_[0]->write(object);
  }

  std::size_t find(const std::string& key, const std::string& word) const {
    for (std::size_t i = 0; i < info_.fields.size(); ++i)
      if (info_.fields[i].name == key && info_.fields[i].applies(word)) return i;
    return info_.fields.size();
  }

  ObjectInfo info_;
  T defaults_{};
  std::vector<std::shared_ptr<const Field<T>>> fields_;
};

/// Objects with a table of their own: one, or a list.
template <class T>
  requires std::is_class_v<T> && HasTable<T>::value
struct Codec<T> {
  static T read(ReadContext& context, const YamlPtr& node, const FieldOptions&) {
    return table_of<T>().read(context, node);
  }
  static std::string write(const T& value) { return table_of<T>().write(value); }
  static std::string type(const FieldOptions&) { return table_of<T>().info().noun; }
  static std::string schema(const FieldOptions&) {
    return R"({"$ref": "#/$defs/)" + table_of<T>().info().noun + "\"}";
  }
};

}  // namespace orthant::io
