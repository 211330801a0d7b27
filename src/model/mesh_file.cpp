// SPDX-License-Identifier: Apache-2.0
// model/mesh_file.cpp: text of a .msh or .vtu file => Mesh.
// Both formats are words separated by white space inside a few named sections, so one cursor that
// knows its line serves both.
#include "orthant/model/mesh_file.hpp"

#include <charconv>
#include <cmath>
#include <map>

#include "orthant/base/atomic_file.hpp"
#include "orthant/base/error.hpp"

namespace orthant {
namespace {

class Cursor {
 public:
  Cursor(std::string_view text, const std::string& name, int line = 1)
      : text_(text), name_(name), line_(line) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(name_ + ":" + std::to_string(line_), what);
  }
  bool at_end() {
    skip();
    return at_ == text_.size();
  }
  /// The next word; `what` says what it should have been where the file ends.
  std::string_view word(const char* what) {
    if (at_end()) fail(std::string("the file is cut short: expected ") + what);
    const std::size_t begin = at_;
    while (at_ < text_.size() && !space(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  double number(const char* what) {
    const std::string_view w = word(what);
    double value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (error != std::errc{} || end != w.data() + w.size() || !std::isfinite(value))
      fail(std::string("expected ") + what + ", got '" + std::string(w.substr(0, 40)) + "'");
    return value;
  }
  std::int64_t whole(const char* what, std::int64_t least = 0) {
    const std::string_view w = word(what);
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), value);
    if (error != std::errc{} || end != w.data() + w.size() || value < least || value > 2000000000)
      fail(std::string("expected ") + what + ", got '" + std::string(w.substr(0, 40)) + "'");
    return value;
  }
  void expect(std::string_view wanted) {
    const std::string_view w = word(std::string(wanted).c_str());
    if (w != wanted)
      fail("expected " + std::string(wanted) + ", got '" + std::string(w.substr(0, 40)) + "'");
  }
  /// Passes everything up to and including the word.
  void skip_past(std::string_view wanted) {
    while (word(std::string(wanted).c_str()) != wanted) {
    }
  }
  int line() const { return line_; }

 private:
  static bool space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
  void skip() {
    while (at_ < text_.size() && space(text_[at_])) line_ += text_[at_++] == '\n';
  }
  std::string_view text_;
  const std::string& name_;
  int line_;
  std::size_t at_ = 0;
};

/// Elements of both kinds while a file is read; tetrahedra win.
struct Parts {
  std::vector<std::array<Index, 4>> tetrahedra, triangles;

  Mesh mesh(std::vector<Vec3> nodes, const Cursor& at) && {
    Mesh out;
    out.nodes = std::move(nodes);
    out.dim = tetrahedra.empty() ? 2 : 3;
    out.elements = tetrahedra.empty() ? std::move(triangles) : std::move(tetrahedra);
    if (out.elements.empty())
      at.fail("the file has neither tetrahedra nor triangles of first order");
    return out;
  }
};

/// Corners of the element types of Gmsh, 0: none that we know.
int gmsh_corners(std::int64_t type) {
  constexpr int kCorners[] = {0, 2, 3, 4, 4, 8, 6, 5, 3, 6, 9, 10, 27, 18, 14, 1, 8, 20, 15, 13};
  return type >= 0 && type < 20 ? kCorners[type] : 0;
}

class GmshReader {
 public:
  GmshReader(std::string_view text, const std::string& name) : in_(text, name) {}

  Mesh read() {
    in_.expect("$MeshFormat");
    const double version = in_.number("the version of the format");
    const std::int64_t binary = in_.whole("0 (a text file)");
    (void)in_.whole("the size of numbers");
    if (binary != 0) in_.fail("a binary file: save it as text");
    if (!(version >= 2 && version < 3) && version != 4.1)
      in_.fail("version " + to_text(version) + " is not known: save it as 2.2 or 4.1");
    in_.expect("$EndMeshFormat");
    bool nodes = false, elements = false;
    while (!in_.at_end()) {
      const std::string section(in_.word("a section"));
      if (section.size() < 2 || section[0] != '$')
        in_.fail("expected a section, got '" + section + "'");
      if (section == "$Nodes") {
        version < 3 ? nodes_2() : nodes_4();
        in_.expect("$EndNodes");
        nodes = true;
      } else if (section == "$Elements") {
        if (!nodes) in_.fail("$Elements before $Nodes");
        version < 3 ? elements_2() : elements_4();
        in_.expect("$EndElements");
        elements = true;
      } else {
        in_.skip_past("$End" + section.substr(1));
      }
    }
    if (!nodes || !elements)
      in_.fail(std::string("the file is cut short: there is no section ") +
               (nodes ? "$Elements" : "$Nodes"));
    return std::move(parts_).mesh(std::move(nodes_), in_);
  }

 private:
  void add_node(std::int64_t tag) {
    if (!place_.emplace(tag, static_cast<Index>(nodes_.size())).second)
      in_.fail("node " + std::to_string(tag) + " is given twice");
    nodes_.emplace_back(Vec3::Zero());
  }
  Vec3 position() {
    const double x = in_.number("x of a node"), y = in_.number("y of a node");
    return {x, y, in_.number("z of a node")};
  }
  void nodes_2() {
    const std::int64_t count = in_.whole("the number of nodes");
    for (std::int64_t i = 0; i < count; ++i) {
      add_node(in_.whole("the number of a node"));
      nodes_.back() = position();
    }
  }
  void nodes_4() {
    const std::int64_t blocks = in_.whole("the number of blocks");
    for (int i = 0; i < 3; ++i) (void)in_.whole("a number of nodes");
    for (std::int64_t b = 0; b < blocks; ++b) {
      const std::int64_t dim = in_.whole("the dimension of an entity");
      (void)in_.whole("the tag of an entity");
      const std::int64_t parametric = in_.whole("0 or 1");
      const std::int64_t count = in_.whole("the number of nodes of a block");
      const std::size_t first = nodes_.size();
      for (std::int64_t i = 0; i < count; ++i) add_node(in_.whole("the number of a node"));
      for (std::int64_t i = 0; i < count; ++i) {
        nodes_[first + static_cast<std::size_t>(i)] = position();
        for (std::int64_t k = 0; k < (parametric != 0 ? dim : 0); ++k)
          (void)in_.number("a parameter of a node");
      }
    }
  }
  void element(std::int64_t type) {
    const int corners = gmsh_corners(type);
    if (corners == 0) in_.fail("element type " + std::to_string(type) + " is not known");
    std::array<Index, 4> e = {-1, -1, -1, -1};
    for (int c = 0; c < corners; ++c) {
      const std::int64_t tag = in_.whole("a corner of an element");
      const auto it = place_.find(tag);
      if (it == place_.end()) in_.fail("corner " + std::to_string(tag) + " is no node");
      if (c < 4) e[static_cast<std::size_t>(c)] = it->second;
    }
    if (type == 4) parts_.tetrahedra.push_back(e);
    if (type == 2) parts_.triangles.push_back(e);
  }
  void elements_2() {
    const std::int64_t count = in_.whole("the number of elements");
    for (std::int64_t i = 0; i < count; ++i) {
      (void)in_.whole("the number of an element");
      const std::int64_t type = in_.whole("the type of an element");
      const std::int64_t tags = in_.whole("the number of tags");
      for (std::int64_t k = 0; k < tags; ++k) (void)in_.whole("a tag", -2000000000);
      element(type);
    }
  }
  void elements_4() {
    const std::int64_t blocks = in_.whole("the number of blocks");
    for (int i = 0; i < 3; ++i) (void)in_.whole("a number of elements");
    for (std::int64_t b = 0; b < blocks; ++b) {
      (void)in_.whole("the dimension of an entity");
      (void)in_.whole("the tag of an entity");
      const std::int64_t type = in_.whole("the type of the elements");
      const std::int64_t count = in_.whole("the number of elements of a block");
      for (std::int64_t i = 0; i < count; ++i) {
        (void)in_.whole("the number of an element");
        element(type);
      }
    }
  }

  Cursor in_;
  std::vector<Vec3> nodes_;
  std::map<std::int64_t, Index> place_;
  Parts parts_;
};

/// The few things of XML that a .vtu file of text needs: opening tags, attributes, text between.
class VtuReader {
 public:
  VtuReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  Mesh read() {
    if (text_.find("<VTKFile") == std::string_view::npos ||
        text_.find("UnstructuredGrid") == std::string_view::npos)
      fail(0, "not a VTK file of an unstructured grid");
    const std::size_t piece = find("<Piece", 0);
    const std::int64_t points = count_of(piece, "NumberOfPoints");
    const std::int64_t cells = count_of(piece, "NumberOfCells");
    const std::size_t at = find("<Points", piece);
    Cursor coordinates = array(at, "");
    std::vector<Vec3> nodes;
    for (std::int64_t i = 0; i < points; ++i) {
      Vec3 x;
      for (int a = 0; a < 3; ++a) x[a] = coordinates.number("a coordinate of a point");
      nodes.push_back(x);
    }
    const std::size_t section = find("<Cells", piece);
    Cursor connectivity = array(section, "connectivity");
    Cursor offsets = array(section, "offsets");
    Cursor types = array(section, "types");
    Parts parts;
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < cells; ++i) {
      const std::int64_t end = offsets.whole("an offset of a cell");
      const std::int64_t type = types.whole("the type of a cell");
      if (end < begin) offsets.fail("offsets must not fall, got " + std::to_string(end));
      std::array<Index, 4> e = {-1, -1, -1, -1};
      for (std::int64_t c = begin; c < end; ++c) {
        const std::int64_t corner = connectivity.whole("a corner of a cell");
        if (corner >= points)
          connectivity.fail("corner " + std::to_string(corner) + " is no point");
        if (c - begin < 4) e[static_cast<std::size_t>(c - begin)] = static_cast<Index>(corner);
      }
      if ((type == 10 && end - begin != 4) || (type == 5 && end - begin != 3))
        offsets.fail("a cell has " + std::to_string(end - begin) +
                     " corners, its type another number");
      if (type == 10) parts.tetrahedra.push_back(e);
      if (type == 5) parts.triangles.push_back(e);
      begin = end;
    }
    return std::move(parts).mesh(std::move(nodes), types);
  }

 private:
  int line_at(std::size_t at) const {
    int line = 1;
    for (std::size_t i = 0; i < at && i < text_.size(); ++i) line += text_[i] == '\n';
    return line;
  }
  [[noreturn]] void fail(std::size_t at, const std::string& what) const {
    throw Error(name_ + ":" + std::to_string(line_at(at)), what);
  }
  std::size_t find(const char* tag, std::size_t from) const {
    const std::size_t at = text_.find(tag, from);
    if (at == std::string_view::npos)
      fail(text_.size(), std::string("the file is cut short: there is no ") + tag + ">");
    return at;
  }
  /// Value of an attribute of the tag that starts at `at`; empty where there is none.
  std::string_view attribute(std::size_t at, const std::string& key) const {
    const std::size_t end = text_.find('>', at);
    if (end == std::string_view::npos) fail(at, "the file is cut short inside a tag");
    const std::string_view tag = text_.substr(at, end - at);
    const std::size_t place = tag.find(" " + key + "=\"");
    if (place == std::string_view::npos) return {};
    const std::size_t begin = place + key.size() + 3;
    const std::size_t quote = tag.find('"', begin);
    return quote == std::string_view::npos ? std::string_view{} : tag.substr(begin, quote - begin);
  }
  std::int64_t count_of(std::size_t at, const char* key) const {
    const std::string value(attribute(at, key));
    Cursor cursor(value, name_, line_at(at));
    return cursor.whole(key);
  }
  /// The text of the DataArray named `wanted` (any where empty) in the section at `from`.
  Cursor array(std::size_t from, std::string_view wanted) const {
    for (std::size_t at = find("<DataArray", from);; at = find("<DataArray", at + 1)) {
      if (!wanted.empty() && attribute(at, "Name") != wanted) continue;
      const std::string_view format = attribute(at, "format");
      if (format != "ascii")
        fail(at,
             "a data array in the format '" + std::string(format) + "': save the file as ascii");
      const std::size_t begin = text_.find('>', at) + 1, end = text_.find('<', begin);
      if (end == std::string_view::npos)
        fail(text_.size(), "the file is cut short in a data array");
      return {text_.substr(begin, end - begin), name_, line_at(begin)};
    }
  }

  std::string_view text_;
  const std::string& name_;
};

}  // namespace

Mesh parse_gmsh(std::string_view text, const std::string& name) {
  return GmshReader(text, name).read();
}
Mesh parse_vtu(std::string_view text, const std::string& name) {
  return VtuReader(text, name).read();
}

Mesh read_mesh(const std::string& path) {
  const auto ends = [&](std::string_view ending) {
    return path.size() > ending.size() && path.ends_with(ending);
  };
  if (!ends(".msh") && !ends(".vtu"))
    throw Error(path, "a mesh file must be named .msh (Gmsh) or .vtu (VTK)");
  constexpr std::size_t kMaxFile = std::size_t{1} << 30;
  const std::string text = read_regular_file(path, kMaxFile);
  return ends(".msh") ? parse_gmsh(text, path) : parse_vtu(text, path);
}

}  // namespace orthant
