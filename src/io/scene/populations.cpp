// SPDX-License-Identifier: Apache-2.0
// io/scene/populations.cpp: a population => its members, place by place.
// A member is read from the tree again with its own variables; where nothing in it varies it is
// read once and copied. Random numbers are SplitMix64 of the seed: the same on every machine.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <numbers>

#include "io/scene/scene_reader.hpp"
#include "io/scene/tables.hpp"

#include "orthant/base/mix.hpp"

namespace orthant::io {
namespace {

constexpr int kMaxAttempts = 2000;  // for one member of a random packing

class Random {
 public:
  explicit Random(std::int64_t seed) : state_(static_cast<std::uint64_t>(seed)) {}
  /// Uniform in [0, 1).
  double operator()() {
    return static_cast<double>(mix_bits(state_ += kGoldenRatio) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

/// Where a member goes, and its place in the grid.
struct Place {
  Vec3 x = Vec3::Zero();
  int i = 0, j = 0, k = 0;
};

/// Positions within the cell of a lattice, and the cell, for nearest neighbours at distance 1.
struct Cell {
  Vec3 size;
  std::vector<Vec3> sites;
};

Cell cell_of(LatticeWord lattice) {
  const double r3 = std::sqrt(3.0), r2 = std::sqrt(2.0);
  switch (lattice) {
    case LatticeWord::Cubic:
      break;
    case LatticeWord::Hexagonal:  // two layers of close-packed rows
      return {Vec3(1, r3, 2 * std::sqrt(2.0 / 3)),
              {Vec3(0, 0, 0), Vec3(0.5, r3 / 2, 0), Vec3(0.5, r3 / 6, std::sqrt(2.0 / 3)),
               Vec3(0, 2 * r3 / 3, std::sqrt(2.0 / 3))}};
    case LatticeWord::Bcc:
      return {Vec3::Constant(2 / r3), {Vec3::Zero(), Vec3::Constant(1 / r3)}};
    case LatticeWord::Fcc:
      return {Vec3::Constant(r2),
              {Vec3::Zero(), Vec3(r2 / 2, r2 / 2, 0), Vec3(r2 / 2, 0, r2 / 2),
               Vec3(0, r2 / 2, r2 / 2)}};
  }
  return {Vec3::Ones(), {Vec3::Zero()}};
}

std::vector<Place> lattice_places(const PopulationDescription& p) {
  const bool grid = p.type == PopulationWord::Grid;
  const Cell cell = grid ? Cell{p.spacing, {Vec3::Zero()}} : cell_of(p.lattice);
  const double scale = grid ? 1 : p.distance;
  std::vector<Place> places;
  for (int k = 0; k < p.count.n[2]; ++k)
    for (int j = 0; j < p.count.n[1]; ++j)
      for (int i = 0; i < p.count.n[0]; ++i)
        for (const Vec3& site : cell.sites) {
          const Vec3 corner = cell.size.cwiseProduct(Vec3(i, j, k));
          places.push_back({p.position + scale * (corner + site), i, j, k});
        }
  return places;
}

/// Random sequential addition: a place is kept when no other is nearer than `distance`.
std::vector<Place> random_places(const PopulationDescription& p, int count, bool planar,
                                 Random& random) {
  const Vec3 extent = p.upper - p.lower;
  for (int c = 0; c < (planar ? 2 : 3); ++c)
    if (!(extent[c] >= 0))
      throw Error(p.where.text(), "population '" + p.name + "': upper must not be below lower");
  using CellKey = std::array<std::int64_t, 3>;
  std::map<CellKey, std::vector<Vec3>> cells;  // edge = distance
  const auto key_of = [&](const Vec3& x) {
    CellKey key;
    for (int c = 0; c < 3; ++c)
      key[c] = static_cast<std::int64_t>(
          std::clamp(std::floor((x[c] - p.lower[c]) / p.distance), -1e15, 1e15));
    return key;
  };
  const auto is_free = [&](const Vec3& x) {
    const CellKey at = key_of(x);
    for (std::int64_t a = -1; a <= 1; ++a)
      for (std::int64_t b = -1; b <= 1; ++b)
        for (std::int64_t c = -1; c <= 1; ++c) {
          const auto cell = cells.find({at[0] + a, at[1] + b, at[2] + c});
          if (cell == cells.end()) continue;
          for (const Vec3& y : cell->second)
            if ((x - y).squaredNorm() < p.distance * p.distance) return false;
        }
    return true;
  };
  std::vector<Place> places;
  while (static_cast<int>(places.size()) < count) {
    int attempt = 0;
    for (; attempt < kMaxAttempts; ++attempt) {
      Vec3 x = p.lower;
      for (int c = 0; c < (planar ? 2 : 3); ++c) x[c] += extent[c] * random();
      if (!is_free(x)) continue;
      cells[key_of(x)].push_back(x);
      places.push_back({x, static_cast<int>(places.size()), 0, 0});
      break;
    }
    if (attempt == kMaxAttempts) {
      throw Error(p.where.text(), "population '" + p.name + "': only " +
                                      std::to_string(places.size()) + " of " +
                                      std::to_string(count) +
                                      " members fit; enlarge the box or lessen the distance");
    }
  }
  return places;
}

/// Uniform on the rotations (Shoemake).
Quat random_rotation(Random& random) {
  const double u = random(), a = 2 * std::numbers::pi * random(),
               b = 2 * std::numbers::pi * random();
  const double s = std::sqrt(1 - u), c = std::sqrt(u);
  return {c * std::cos(b), s * std::sin(a), s * std::cos(a), c * std::sin(b)};
}

class Expander {
 public:
  Expander(const SceneDescription& scene, ReadContext& context,
           std::vector<BodyDescription>& bodies, std::vector<JointDescription>& joints)
      : scene_(scene), context_(context), bodies_(bodies), joints_(joints) {}

  void expand(const PopulationDescription& p) {
    double count = 1;
    for (const int n : p.count.n) count *= n;
    if (p.type == PopulationWord::Lattice)
      count *= static_cast<double>(cell_of(p.lattice).sites.size());
    if (count + static_cast<double>(bodies_.size()) > context_.options.max_bodies) {
      throw Error(p.where.text(), "population '" + p.name + "': more than " +
                                      std::to_string(context_.options.max_bodies) +
                                      " bodies in the scene");
    }
    Random random(p.seed);
    const std::vector<Place> places =
        p.type == PopulationWord::Random
            ? random_places(p, static_cast<int>(count), scene_.world.planar, random)
            : lattice_places(p);
    const BodyDescription* pattern = nullptr;
    BodyDescription same;
    if (!p.body->varies && !places.empty()) {
      same = read_body(p);
      pattern = &same;
    }
    for (std::size_t n = 0; n < places.size(); ++n) add(p, n, places[n], pattern, random);
    for (const char* name : {"n", "i", "j", "k", "x", "y", "z", "name", "previous"}) restore(name);
  }

 private:
  BodyDescription read_body(const PopulationDescription& p) {
    BodyDescription body = table_of<BodyDescription>().read(context_, p.body);
    for (const ShapeDescription& shape : body.shapes)
      if (!shape.file.empty() && p.body->varies)
        throw Error(shape.where.text(), "a shape from a file may not vary within a population");
    return body;
  }

  /// A variable of the member hides a parameter of the same name while it is there.
  template <class Value>
  void set(const std::string& name, const Value& value) {
    if (!hidden_.contains(name)) {
      const std::string* outer = context_.variables.find(name);
      hidden_[name] = outer != nullptr ? std::optional<std::string>(*outer) : std::nullopt;
    }
    context_.variables.set(name, value);
  }
  void restore(const std::string& name) {
    const auto found = hidden_.find(name);
    if (found == hidden_.end()) return;
    if (found->second)
      context_.variables.set(name, *found->second);
    else
      context_.variables.erase(name);
    hidden_.erase(found);
  }

  void add(const PopulationDescription& p, std::size_t n, const Place& place,
           const BodyDescription* pattern, Random& random) {
    Vec3 x = place.x;
    if (p.jitter > 0)
      for (int c = 0; c < (scene_.world.planar ? 2 : 3); ++c) x[c] += p.jitter * (2 * random() - 1);
    const std::string name = p.name + std::to_string(n);
    const bool varies = p.body->varies || p.joint;
    if (varies) {
      set("n", static_cast<double>(n));
      set("i", static_cast<double>(place.i));
      set("j", static_cast<double>(place.j));
      set("k", static_cast<double>(place.k));
      set("x", x[0]);
      set("y", x[1]);
      set("z", x[2]);
      set("name", name);
      set("previous", n > 0 ? p.name + std::to_string(n - 1) : std::string("world"));
    }
    BodyDescription body = pattern != nullptr ? *pattern : read_body(p);
    body.name = name;
    body.position += x;
    if (p.random_orientation) {
      if (scene_.world.planar) {
        body.angle = 2 * std::numbers::pi * random();
      } else {
        body.orientation = random_rotation(random);
        body.rotation.reset();
      }
    }
    bodies_.push_back(std::move(body));
    if (p.joint) add_joint(p, n, name);
  }

  void add_joint(const PopulationDescription& p, std::size_t n, const std::string& name) {
    const bool has_b = p.joint->find("b") != nullptr;
    if (n == 0 && !has_b) return;
    auto node = std::make_shared<YamlNode>(*p.joint);
    const auto give = [&](const char* key, const std::string& text) {
      if (node->find(key) != nullptr) return;
      auto value = std::make_shared<YamlNode>();
      value->kind = YamlNode::Kind::Scalar;
      value->text = text;
      value->where = node->where;
      node->entries.push_back({key, node->where, std::move(value)});
    };
    give("a", name);
    give("b", p.name + std::to_string(n - 1));
    give("name", name + "_joint");
    joints_.push_back(table_of<JointDescription>().read(context_, node));
  }

  const SceneDescription& scene_;
  ReadContext& context_;
  std::vector<BodyDescription>& bodies_;
  std::vector<JointDescription>& joints_;
  std::map<std::string, std::optional<std::string>> hidden_;
};

}  // namespace

void expand_populations(const SceneDescription& scene, ReadContext& context,
                        std::vector<BodyDescription>& bodies,
                        std::vector<JointDescription>& joints) {
  Expander expander(scene, context, bodies, joints);
  for (const PopulationDescription& p : scene.populations) expander.expand(p);
}

}  // namespace orthant::io
