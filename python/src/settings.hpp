// SPDX-License-Identifier: Apache-2.0
// python/src/settings.hpp: one list of fields => attributes, keyword constructor, repr, pickle.
//   void fields(Tag<S>, auto&& field)   field("name", &S::name, "what it is [unit]")
// Settings use the library's list (base/setting.hpp). The same list makes the typed signature in
// the stub, so an editor completes the names.
#pragma once

#include <nanobind/stl/array.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

#include "common.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/setting.hpp"

namespace orthant::python {

template <class S>
struct Tag {};

namespace internal {

/// "lever; 0: none", "m" => "Lever [m]; 0: none."
inline std::string docstring(std::string what, std::string_view unit) {
  const std::size_t first = what.find_first_not_of('`');
  what[first] = static_cast<char>(std::toupper(static_cast<unsigned char>(what[first])));
  if (!unit.empty())
    what.insert(std::min(what.find(';'), what.size()), " [" + std::string(unit) + "]");
  return what + ".";
}

}  // namespace internal

/// Settings that have a list in the library (base/setting.hpp).
template <class S>
  requires requires { visit_settings(std::type_identity<S>{}, [](auto&&...) {}); }
void fields(Tag<S>, auto&& field) {
  visit_settings(std::type_identity<S>{},
                 [&](const char* name, auto member, const char* what, const SettingRule& rule) {
                   field(name, member, internal::docstring(what, rule.unit).c_str());
                 });
}

namespace internal {

template <class T>
std::string python_name() {
  if constexpr (std::is_same_v<T, bool>) return "bool";
  if constexpr (std::is_integral_v<T>) return "int";
  if constexpr (std::is_floating_point_v<T>) return "float";
  if constexpr (std::is_same_v<T, std::string>) return "str";
  return std::string(nb::type_name(nb::type<T>()).c_str());
}

template <class T>
void assign(T& to, nb::handle value, const std::string& where) {
  if (!nb::try_cast(value, to))
    throw nb::type_error(
        (where + ": expected " + python_name<T>() + ", got " + nb::inst_name(value).c_str())
            .c_str());
}

template <class S>
std::vector<std::string_view> field_names() {
  std::vector<std::string_view> names;
  fields(Tag<S>{}, [&](const char* name, auto, const char*) { names.push_back(name); });
  return names;
}

template <class S>
void assign_all(S& to, const nb::dict& values, const char* type) {
  std::size_t used = 0;
  fields(Tag<S>{}, [&](const char* name, auto member, const char*) {
    if (!values.contains(name)) return;
    assign(to.*member, values[name], std::string(type) + "." + name);
    ++used;
  });
  if (used == values.size()) return;
  const std::vector<std::string_view> names = field_names<S>();
  for (const auto& [key, value] : values) {
    const std::string given = nb::cast<std::string>(key);
    if (std::find(names.begin(), names.end(), given) != names.end()) continue;
    const std::string near = nearest_spelling(given, names.data(), names.size());
    throw nb::type_error((std::string(type) + ": there is no field '" + given + "'" +
                          (near.empty() ? "" : " (did you mean '" + near + "'?)"))
                             .c_str());
  }
}

template <class S>
nb::dict to_dict(const S& s) {
  nb::dict out;
  fields(Tag<S>{}, [&](const char* name, auto member, const char*) {
    out[name] = nb::cast(s.*member, nb::rv_policy::copy);
  });
  return out;
}

}  // namespace internal

template <class S>
nb::class_<S> bind_settings(nb::module_& m, const char* type, const char* doc) {
  nb::class_<S> c(m, type, doc);
  std::string signature = "def __init__(self, *";
  std::string changes = "def replace(self, *";
  fields(Tag<S>{}, [&](const char* name, auto member, const char* what) {
    using T = std::remove_reference_t<decltype(std::declval<S&>().*member)>;
    c.def_rw(name, member, what);
    const std::string argument =
        std::string(", ") + name + ": " + internal::python_name<T>() + " = ...";
    signature += argument;
    changes += argument;
  });
  signature += ") -> None";
  changes += std::string(") -> ") + type;
  c.def(
      "__init__",
      [type](S* self, const nb::kwargs& values) {
        S made;
        internal::assign_all(made, values, type);
        new (self) S(made);
      },
      nb::sig(signature.c_str()));
  c.def(
      "replace",
      [type](const S& self, const nb::kwargs& values) {
        S made = self;
        internal::assign_all(made, values, type);
        return made;
      },
      nb::sig(changes.c_str()), "A copy with some fields changed.");
  c.def("to_dict", &internal::to_dict<S>, nb::sig("def to_dict(self) -> dict[str, object]"),
        "All fields by name.");
  c.def("__getstate__", &internal::to_dict<S>);
  c.def("__setstate__", [type](S& self, const nb::dict& values) {
    S made;
    internal::assign_all(made, values, type);
    new (&self) S(made);
  });
  c.def(
      "__eq__",
      [](const S& a, nb::object b) {
        return nb::isinstance<S>(b) &&
               internal::to_dict(a).equal(internal::to_dict(nb::cast<const S&>(b)));
      },
      nb::arg("other").none(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  c.def("__repr__", [type](const S& self) {
    std::string out = std::string(type) + "(";
    const S standard;
    // Only what differs from the defaults: the rest would hide it.
    fields(Tag<S>{}, [&](const char* name, auto member, const char*) {
      const nb::object value = nb::cast(self.*member, nb::rv_policy::copy);
      if (value.equal(nb::cast(standard.*member, nb::rv_policy::copy))) return;
      out += (out.back() == '(' ? "" : ", ") + std::string(name) + "=" +
             nb::cast<std::string>(nb::repr(value));
    });
    return out + ")";
  });
  return c;
}

/// Read-only attributes of a report, with repr and pickle.
template <class S>
nb::class_<S> bind_report(nb::module_& m, const char* type, const char* doc) {
  nb::class_<S> c(m, type, doc);
  fields(Tag<S>{},
         [&](const char* name, auto member, const char* what) { c.def_ro(name, member, what); });
  c.def("to_dict", &internal::to_dict<S>, nb::sig("def to_dict(self) -> dict[str, object]"),
        "All fields by name.");
  c.def("__getstate__", &internal::to_dict<S>);
  c.def("__setstate__", [type](S& self, const nb::dict& values) {
    S made;
    internal::assign_all(made, values, type);
    new (&self) S(std::move(made));
  });
  c.def("__repr__", [type](const S& self) {
    std::string out = std::string(type) + "(";
    fields(Tag<S>{}, [&](const char* name, auto member, const char*) {
      out += (out.back() == '(' ? "" : ", ") + std::string(name) + "=" +
             nb::cast<std::string>(nb::repr(nb::cast(self.*member, nb::rv_policy::copy)));
    });
    return out + ")";
  });
  return c;
}

}  // namespace orthant::python
