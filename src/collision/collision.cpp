// SPDX-License-Identifier: Apache-2.0
// collision/collision.cpp: (model, parameters, q, motion) => ContactSet.
//   listed when  Φ + min(0, n·(s_A − s_B)) − turn_A − turn_B <= margin · min(width_A, width_B)
// s the shift of a body: convex bodies that only shift keep at least Φ + n·(s_A − s_B), so nothing
// that could touch is lost. Shapes are walked in the order of their identity (uid, ordinal), pairs
// come sorted from the broad phase and chunks are merged in order: the contacts are sorted with
// hardly a comparison made.
#include "orthant/collision/collision.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include "base/refill.hpp"
#include "base/team.hpp"
#include "collision/changed_contacts.hpp"
#include "collision/shape_measures.hpp"
#include "orthant/base/error.hpp"
#include "orthant/base/parallel.hpp"
#include "orthant/shape/contacts.hpp"
#include "shape/mesh_contacts.hpp"

namespace orthant {
namespace {

constexpr std::size_t kShapeGrain = 256;
constexpr std::size_t kPairGrain = 64;
constexpr std::size_t kWaitingChunks = 256;  // of pairs: their contacts wait to be joined
constexpr std::size_t kSharedPairs = 128;    // from here on over a team
constexpr std::size_t kJoinGrain = 16, kSortedGrain = 2048;
constexpr int kMaxSubSpheres = 128;
constexpr Index kManyCorners = 16;  // of a hull whose own box is turned instead of its corners
constexpr int kMaxAdvances = 32;    // of the flight of a fast pair

using Placed = CollisionWorkspace::Placed;

const BodyMotion kStill;

bool is_half_space(const ShapeInstance& shape) {
  return shape.shape.kind() == ShapeKind::HalfSpace;
}

/// Outward normal of a half-space in the world.
Vec3 plane_normal(const ShapeInstance& shape, const Pose& X_WS) {
  return rotate(X_WS.p, shape.planar() ? Vec3(Vec3::UnitY()) : Vec3(Vec3::UnitZ()));
}

template <class T, class Before>
bool is_sorted_by(std::span<T> list, const Before& before) {
  std::atomic<bool> sorted{true};
  parallel_for(list.size(), kSortedGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i)
      if (before(list[i], list[i - 1])) sorted = false;
  });
  return sorted;
}

void order_shapes(const Model& model, std::span<const unsigned char> known,
                  CollisionWorkspace& work) {
  const auto shapes = model.shapes();
  const auto before = [&](Index i, Index j) {
    const BodyUid a = model.body(shapes[i].body).uid, b = model.body(shapes[j].body).uid;
    return a != b ? a < b : shapes[i].ordinal < shapes[j].ordinal;
  };
  work.order.clear();
  thread_local std::vector<Index> planes;
  planes.clear();
  for (std::size_t i = 0; i < shapes.size(); ++i)
    if (known.empty() || known[index_of(shapes[i].body)] != 0)
      (is_half_space(shapes[i]) ? planes : work.order).push_back(static_cast<Index>(i));
  work.bounded = static_cast<Index>(work.order.size());
  work.order.insert(work.order.end(), planes.begin(), planes.end());
  const std::span all(work.order);
  const auto bounded = static_cast<std::size_t>(work.bounded);
  for (const std::span<Index> part : {all.first(bounded), all.subspan(bounded)})
    if (!is_sorted_by(part, before)) std::sort(part.begin(), part.end(), before);
}

/// Bounds of a placed shape; not less than what it needs. Hulls of many corners turn the box they
/// have in their own frame, unless the bounds are to be exact.
Bounds bounds_of(const ShapeInstance& shape, const ShapeView<double>& view, const Pose& X_WS,
                 const ShapeMeasures& measures, bool exact) {
  if (exact || view.kind != ShapeKind::Hull || view.topology->vertex_count <= kManyCorners)
    return bounds(view, X_WS);
  const ShapeMeasures::Box& own = measures.box(shape.id);
  const Vec3 centre = transform(X_WS, own.centre);
  const Vec3 reach = matrix_of(X_WS.p).cwiseAbs() * own.half;
  Bounds box{centre - reach, centre + reach};
  if (view.dim == 2) box.lo[2] = box.hi[2] = 0;
  return box;
}

/// Pose of a shape; that of its body to the bit where it sits at the origin, as most do.
Pose placed_at(const Body& body, const ShapeInstance& shape, const VecX& q, const double* values) {
  const double* offset = values + shape.offset_begin;
  const bool centred = !body.planar && offset[0] == 0 && offset[1] == 0 && offset[2] == 0 &&
                       offset[3] == 1 && offset[4] == 0 && offset[5] == 0 && offset[6] == 0;
  return centred ? body_pose(body, q.data()) : shape_pose(body, shape, q.data(), values);
}

/// A mesh has no width of its own: its margin is that of whatever meets it.
double widest_shape(const Model& model, const ShapeMeasures& measures) {
  double widest = 0;
  for (const ShapeInstance& shape : model.shapes())
    if (!is_ground(shape.shape.kind())) widest = std::max(widest, measures.size(shape.id));
  return widest;
}

void place_shapes(const Model& model, const Parameters& parameters, const VecX& q,
                  std::span<const BodyMotion> motion, std::span<const unsigned char> changed,
                  const CollisionSettings& settings, CollisionWorkspace& work) {
  work.placed.resize(work.order.size());
  work.boxes.resize(work.bounded);
  work.moves.resize(work.bounded);
  const bool has_balls = !settings.periodic.any();
  work.balls.resize(has_balls ? work.bounded : 0);
  thread_local ShapeMeasures kept;
  if (settings.measures == nullptr) kept.update(model, parameters);
  const ShapeMeasures& measures = settings.measures != nullptr ? *settings.measures : kept;
  const bool has_mesh = std::ranges::any_of(model.shapes(), [](const ShapeInstance& shape) {
    return is_ground(shape.shape.kind()) && !is_half_space(shape);
  });
  const double widest = has_mesh ? widest_shape(model, measures) : 0;
  parallel_for(work.order.size(), kShapeGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const ShapeInstance& shape = model.shapes()[work.order[i]];
      const Body& body = model.body(shape.body);
      Placed& placed = work.placed[i];
      placed.X_WS = placed_at(body, shape, q, parameters.values.data());
      placed.motion = motion.empty() ? &kStill : &motion[index_of(shape.body)];
      placed.uid = body.uid;
      placed.body = shape.body;
      placed.shape = shape.id;
      placed.ordinal = shape.ordinal;
      placed.width = measures.size(shape.id);
      placed.reach = std::numeric_limits<double>::infinity();
      if (is_half_space(shape)) continue;
      const ShapeView<double> view = shape.view(parameters.values.data());
      // Each box grows by half its own share: together never less than the pair's margin.
      const double width = is_ground(view.kind) ? widest : placed.width;
      const double grow = 0.5 * settings.margin * width + placed.motion->turn;
      const Vec3 zero = Vec3::Zero();
      const Vec3* shift = placed.motion->shift;
      if (view.kind == ShapeKind::Sphere)
        placed.reach = width + grow + std::max(shift[0].lpNorm<1>(), shift[1].lpNorm<1>());
      if (has_balls) work.balls[i] = {placed.X_WS.x, placed.reach};
      Bounds& box = work.boxes[i];
      box = bounds_of(shape, view, placed.X_WS, measures, settings.periodic.any());
      box.lo += zero.cwiseMin(shift[0]).cwiseMin(shift[1]);
      box.hi += zero.cwiseMax(shift[0]).cwiseMax(shift[1]);
      box.lo.array() -= grow;
      box.hi.array() += grow;
      work.moves[i] = body.is_dynamic() && (changed.empty() || changed[index_of(shape.body)] != 0);
    }
  });
}

/// Brings every box into the periodic one, and adds images of those that stick out: of two boxes
/// that meet across a side at least one does.
void wrap_boxes(const Model& model, const PeriodicBox& box, CollisionWorkspace& work) {
  work.wrap.clear();
  work.ghost_of.clear();
  work.ghost.clear();
  if (!box.any()) return;
  work.wrap.assign(work.order.size(), Vec3::Zero());
  const Vec3 period = box.hi - box.lo;
  for (Index i = 0; i < work.bounded; ++i) {
    Bounds& b = work.boxes[i];
    std::array<std::array<std::int8_t, 3>, 3> choices = {};
    std::array<int, 3> count = {1, 1, 1};
    for (int d = 0; d < 3; ++d) {
      if (!box.active[d]) continue;
      if (!(period[d] > 0) || !(b.hi[d] - b.lo[d] < period[d])) {
        const ShapeInstance& shape = model.shapes()[work.order[i]];
        throw Error("periodic box", "must be larger than every body: direction " +
                                        std::to_string(d) + " has " + to_text(period[d]) +
                                        ", shape '" + shape.name + "' with its margin needs " +
                                        to_text(b.hi[d] - b.lo[d]));
      }
      const double centre = 0.5 * (b.lo[d] + b.hi[d]);
      work.wrap[i][d] = -period[d] * std::floor((centre - box.lo[d]) / period[d]);
      b.lo[d] += work.wrap[i][d];
      b.hi[d] += work.wrap[i][d];
      if (b.hi[d] > box.hi[d]) choices[d][count[d]++] = -1;
      if (b.lo[d] < box.lo[d]) choices[d][count[d]++] = 1;
    }
    for (int x = 0; x < count[0]; ++x)
      for (int y = 0; y < count[1]; ++y)
        for (int z = 0; z < count[2]; ++z) {
          if (x + y + z == 0) continue;
          work.ghost_of.push_back(i);
          work.ghost.push_back({choices[0][x], choices[1][y], choices[2][z]});
        }
  }
  for (std::size_t g = 0; g < work.ghost.size(); ++g) {
    Bounds b = work.boxes[work.ghost_of[g]];
    for (int d = 0; d < 3; ++d) {
      b.lo[d] += work.ghost[g][d] * period[d];
      b.hi[d] += work.ghost[g][d] * period[d];
    }
    work.boxes.push_back(b);
    work.moves.push_back(work.moves[work.ghost_of[g]]);
  }
}

/// Pairs of boxes => pairs of shapes with the periods between them, each once.
void resolve_images(CollisionWorkspace& work) {
  if (work.ghost_of.empty()) return;
  for (IndexPair& pair : work.pairs) {
    std::array<std::int8_t, 3> image = {0, 0, 0};
    Index ends[2] = {pair.first, pair.second};
    for (int side = 0; side < 2; ++side) {
      if (ends[side] < work.bounded) continue;
      const auto g = static_cast<std::size_t>(ends[side] - work.bounded);
      ends[side] = work.ghost_of[g];
      for (int d = 0; d < 3; ++d)
        image[d] = static_cast<std::int8_t>(image[d] + (side == 0 ? -1 : 1) * work.ghost[g][d]);
    }
    if (ends[0] > ends[1]) {
      std::swap(ends[0], ends[1]);
      for (std::int8_t& n : image) n = static_cast<std::int8_t>(-n);
    }
    pair = {ends[0], ends[1], image};
  }
  std::erase_if(work.pairs, [](const IndexPair& p) { return p.first == p.second; });
  std::sort(work.pairs.begin(), work.pairs.end());
  work.pairs.erase(std::unique(work.pairs.begin(), work.pairs.end()), work.pairs.end());
  work.boxes.resize(work.bounded);
  work.moves.resize(work.bounded);
}

/// Lists of chunks, one behind the other, behind what is there.
void append(std::span<const std::vector<Contact>> lists, std::vector<Contact>& out) {
  thread_local std::vector<std::size_t> kept;
  std::vector<std::size_t>& begin = kept;  // of this thread, also in the loop
  begin.assign(lists.size() + 1, out.size());
  for (std::size_t c = 0; c < lists.size(); ++c) begin[c + 1] = begin[c] + lists[c].size();
  make_room(out, begin.back());
  out.resize(begin.back());
  parallel_for(lists.size(), kJoinGrain, [&](std::size_t first, std::size_t last) {
    for (std::size_t c = first; c < last; ++c)
      std::copy(lists[c].begin(), lists[c].end(),
                out.begin() + static_cast<std::ptrdiff_t>(begin[c]));
  });
}

/// Own contacts => those of all members, in the order of their pairs.
void share(Team& all, std::vector<Contact>& contacts) {
  const std::vector<std::byte> bytes = all.gather(std::as_bytes(std::span(contacts)));
  contacts.resize(bytes.size() / sizeof(Contact));
  const std::byte* at = bytes.data();
  for (Contact& contact : contacts) take(at, contact);
}

/// Both are sorted; where two are alike that of `pairs` comes first.
template <class Before>
void insert_sorted(std::span<const IndexPair> added, const Before& before,
                   std::vector<IndexPair>& pairs) {
  if (added.empty()) return;
  const std::size_t old = pairs.size();
  make_room(pairs, old + added.size());
  pairs.resize(old + added.size());
  const auto middle = pairs.begin() + static_cast<std::ptrdiff_t>(old);
  if (old > 0 && before(added.back(), pairs.front())) {
    std::move_backward(pairs.begin(), middle, pairs.end());
    std::copy(added.begin(), added.end(), pairs.begin());
    return;
  }
  for (std::size_t i = old, j = added.size(); j > 0;) {  // from behind
    const bool last = i > 0 && before(added[j - 1], pairs[i - 1]);
    pairs[i + j - 1] = last ? pairs[i - 1] : added[j - 1];
    --(last ? i : j);
  }
}

/// Half-spaces touch everything on their side: one comparison with each box. All pairs in the order
/// of their keys, as far as the bodies tell.
void add_half_space_pairs(const Model& model, std::span<const unsigned char> changed,
                          const CollisionSettings& settings, CollisionWorkspace& work) {
  work.half_space_pairs.clear();
  thread_local std::vector<unsigned char> kept;
  std::vector<unsigned char>& near = kept;  // of this thread, also in the loop; by bounded shape
  const Index count = static_cast<Index>(work.order.size());
  for (Index p = work.bounded; p < count; ++p) {
    const ShapeInstance& shape = model.shapes()[work.order[p]];
    const Placed& plane = work.placed[p];
    const bool plane_moves = model.body(shape.body).is_dynamic() &&
                             (changed.empty() || changed[index_of(shape.body)] != 0);
    const Vec3 n = plane_normal(shape, plane.X_WS);
    double reach = plane.motion->turn;
    for (const Vec3& shift : plane.motion->shift) reach += std::max(0.0, n.dot(shift));
    near.assign(static_cast<std::size_t>(work.bounded), 0);
    parallel_for(near.size(), kShapeGrain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (!work.moves[i] && !plane_moves) continue;
        const Vec3 centre = 0.5 * (work.boxes[i].lo + work.boxes[i].hi);
        const Vec3 half = 0.5 * (work.boxes[i].hi - work.boxes[i].lo);
        // The box was grown by half its share of the margin; the plane has no width to add the
        // rest.
        const double rest = 0.5 * settings.margin * work.placed[i].width + reach;
        near[i] = n.dot(centre - plane.X_WS.x) - n.cwiseAbs().dot(half) <= rest;
      }
    });
    for (Index i = 0; i < work.bounded; ++i)
      if (near[static_cast<std::size_t>(i)] != 0) work.half_space_pairs.push_back({i, p});
  }
  const auto before = [&](const IndexPair& x, const IndexPair& y) {
    const auto key = [&](const IndexPair& pair) {
      const BodyUid a = model.body(model.shapes()[work.order[pair.first]].body).uid;
      const BodyUid b = model.body(model.shapes()[work.order[pair.second]].body).uid;
      return std::pair(std::min(a, b), std::max(a, b));
    };
    return key(x) < key(y);
  };
  if (!std::is_sorted(work.half_space_pairs.begin(), work.half_space_pairs.end(), before))
    std::stable_sort(work.half_space_pairs.begin(), work.half_space_pairs.end(), before);
  insert_sorted(work.half_space_pairs, before, work.pairs);
}

/// One shape pair, A with the smaller uid.
struct ShapePair {
  ShapeView<double> a, b;
  const Placed& place_a;
  const Placed& place_b;

  double margin(const CollisionSettings& settings) const {
    return settings.margin * std::min(place_a.width, place_b.width);
  }
  double turn() const { return place_a.motion->turn + place_b.motion->turn; }
  Vec3 shift(int i) const { return place_a.motion->shift[i] - place_b.motion->shift[i]; }
  /// How far the gap may close along the normal n; `either`: while one of the two stands still.
  double approach(const Vec3& n, bool either) const {
    double way = std::max({0.0, -n.dot(shift(0)), -n.dot(shift(1))});
    for (int i = 0; either && i < 2; ++i)
      way = std::max({way, -n.dot(place_a.motion->shift[i]), n.dot(place_b.motion->shift[i])});
    return way + turn();
  }
  double way(bool either) const {
    double most = std::max(shift(0).squaredNorm(), shift(1).squaredNorm());
    for (int i = 0; either && i < 2; ++i)
      most = std::max(
          {most, place_a.motion->shift[i].squaredNorm(), place_b.motion->shift[i].squaredNorm()});
    return std::sqrt(most) + turn();
  }
};

/// True where the pair, shifted along a straight line, may come within `margin`: advances by the
/// time in which the gap cannot close, until it has or the step is over. Turning closes gaps, too:
/// by `time` it may have taken its share of the turn off the gap of the shifted pair. `point`: the
/// nearest one where the pair is now.
bool meets(const ShapePair& pair, const Vec3& shift, double margin, ContactPoint point) {
  double time = 0;
  for (int i = 0; i < kMaxAdvances; ++i) {
    if (i > 0) {
      Pose X_WA = pair.place_a.X_WS;
      X_WA.x += time * shift;
      point = distance(pair.a, X_WA, pair.b, pair.place_b.X_WS);
    }
    const double gap = point.gap - margin - time * pair.turn();
    if (gap <= 0) return true;
    const double closing = pair.turn() - point.normal.dot(shift);
    if (closing <= 0) return false;
    time += gap / closing;
    if (time > 1) return false;
  }
  return true;  // undecided after many advances: a grazing flight, keep its row
}

/// `either`: also where one of the two stands still. Then pairs nearer than half the smaller width
/// are not looked at twice: a row that does not push costs less than a flight.
bool may_meet(const ShapePair& pair, bool either, double margin, const ContactPoint& nearest) {
  if (either && nearest.gap <= 0.5 * std::min(pair.place_a.width, pair.place_b.width)) return true;
  for (int i = 0; i < 2; ++i) {
    if (meets(pair, pair.shift(i), margin, nearest)) return true;
    if (either && (meets(pair, pair.place_a.motion->shift[i], margin, nearest) ||
                   meets(pair, -pair.place_b.motion->shift[i], margin, nearest)))
      return true;
  }
  return false;
}

/// Curved all around: of two of them the search begins at the last normal.
bool starts_from_normal(ShapeKind kind) {
  return kind == ShapeKind::Ellipsoid || kind == ShapeKind::SuperEllipsoid;
}

bool has_sub_spheres(ShapeKind kind) {
  return kind == ShapeKind::Sphere || kind == ShapeKind::Capsule || kind == ShapeKind::Ellipsoid ||
         kind == ShapeKind::Torus;
}

/// All pairs of inscribed spheres of the two shapes that are nearer than `margin`.
template <class Add>
void sub_sphere_contacts(const ShapePair& pair, int spheres, double margin, Add&& add) {
  const auto count_of = [&](const ShapeView<double>& s) {
    return s.kind == ShapeKind::Sphere ? 1 : spheres;
  };
  std::array<Vec3, kMaxSubSpheres> centre;
  std::array<double, kMaxSubSpheres> radius;
  const int nb = count_of(pair.b);
  for (int j = 0; j < nb; ++j) {
    Vec3 c;
    internal::sub_sphere(pair.b, j, nb, c, radius[static_cast<std::size_t>(j)]);
    centre[static_cast<std::size_t>(j)] = transform(pair.place_b.X_WS, c);
  }
  const int na = count_of(pair.a);
  for (int i = 0; i < na; ++i) {
    Vec3 c;
    double r;
    internal::sub_sphere(pair.a, i, na, c, r);
    c = transform(pair.place_a.X_WS, c);
    for (int j = 0; j < nb; ++j) {
      const double reach = r + radius[static_cast<std::size_t>(j)] + margin;
      if ((c - centre[static_cast<std::size_t>(j)]).squaredNorm() > reach * reach) continue;
      ContactFeature f;
      f.kind = FeatureKind::SubSpheres;
      f.first = static_cast<std::int16_t>(i);
      f.second = static_cast<std::int16_t>(j);
      f.face = static_cast<std::int16_t>(spheres);
      ContactPoint point =
          internal::evaluate_sub_spheres(f, pair.a, pair.place_a.X_WS, pair.b, pair.place_b.X_WS);
      point.feature = f;
      add(point, point.id);
    }
  }
}

/// Finds pairs in a list sorted by key; those asked for mostly come in that order, too.
class LastNormals {
 public:
  explicit LastNormals(std::span<const LastNormal> list) : list_(list) {}

  /// Null where the pair is not in the list.
  const Vec3* find(const ContactKey& key) {
    if (list_.empty()) return nullptr;
    const auto before = [](const LastNormal& entry, const ContactKey& k) {
      return pair_of(entry.key) < pair_of(k);
    };
    if (!placed_ || (next_ > 0 && !before(list_[next_ - 1], key))) {
      next_ = static_cast<std::size_t>(std::lower_bound(list_.begin(), list_.end(), key, before) -
                                       list_.begin());
      placed_ = true;
    }
    while (next_ < list_.size() && before(list_[next_], key)) ++next_;
    for (std::size_t i = next_; i < list_.size() && pair_of(list_[i].key) == pair_of(key); ++i)
      if (list_[i].key.image == key.image) return &list_[i].normal_W;
    return nullptr;
  }

 private:
  std::span<const LastNormal> list_;
  std::size_t next_ = 0;
  bool placed_ = false;
};

/// A sphere meets what is flat or straight in one point.
bool has_one_point(ShapeKind a, ShapeKind b) {
  const auto plain = [](ShapeKind kind) {
    return kind == ShapeKind::Sphere || kind == ShapeKind::Capsule || kind == ShapeKind::Box ||
           kind == ShapeKind::HalfSpace;
  };
  return (a == ShapeKind::Sphere && plain(b)) || (b == ShapeKind::Sphere && plain(a));
}

Contact& add_contact(const Placed& a, const Placed& b, const IndexPair& indices,
                     std::uint32_t feature, const Vec3& shift, std::vector<Contact>& found) {
  make_room(found, found.size() + 1);
  Contact& contact = found.emplace_back();
  contact.key = {.body_a = a.uid,
                 .body_b = b.uid,
                 .shape_a = a.ordinal,
                 .shape_b = b.ordinal,
                 .feature = feature,
                 .image = indices.image};
  contact.body_a = a.body;
  contact.body_b = b.body;
  contact.shape_a = a.shape;
  contact.shape_b = b.shape;
  contact.size = std::min(a.width, b.width);
  contact.shift = shift;
  return contact;
}

/// Two spheres, which are most pairs of a pile, without asking the shapes: the formulas of
/// shape/contacts.cpp. False where they are not spheres, or where the general way must decide.
bool sphere_contact(const Model& model, const Placed& a, const Placed& b, const Vec3& shift,
                    const IndexPair& indices, const CollisionSettings& settings,
                    std::vector<Contact>& found) {
  const double reach = a.reach + b.reach;
  const Vec3 x = b.X_WS.x + shift - a.X_WS.x;
  const double square = x.squaredNorm();
  if (square > 1.0001 * reach * reach) return true;  // too far apart for any motion
  if (!std::isfinite(reach) || settings.points == ContactPoints::SubSpheres || !(square > 1e-100))
    return false;
  const double gap = std::sqrt(square) - (a.width + b.width);
  if (gap > settings.margin * std::min(a.width, b.width)) return false;
  if (model.excluded(a.shape, b.shape)) return true;
  static const std::uint32_t kPoints = feature_id(ContactFeature{});
  Contact& contact = add_contact(
      a, b, indices, settings.points == ContactPoints::Deepest ? 0 : kPoints, shift, found);
  contact.normal = -x / std::sqrt(square);
  contact.point_a = a.X_WS.x - contact.normal * a.width;
  contact.point_b = x + (a.X_WS.x + contact.normal * b.width);
  contact.gap = gap;
  return true;
}

void narrow_phase(const Model& model, const Parameters& parameters, const IndexPair& indices,
                  const CollisionSettings& settings, const CollisionWorkspace& work,
                  LastNormals& last, std::vector<Contact>& found) {
  Index first = indices.first, second = indices.second;
  // Half-spaces come last in the order whatever their uid; in a key the smaller uid is A.
  if (work.placed[second].uid < work.placed[first].uid) std::swap(first, second);
  const Placed &in_a = work.placed[first], &in_b = work.placed[second];
  // The image of B that may touch A, seen from where A really is.
  Vec3 shift = Vec3::Zero();
  const bool periodic = settings.periodic.any();
  if (periodic) {
    shift = work.wrap[second] - work.wrap[first];
    for (int d = 0; d < 3; ++d)
      if (settings.periodic.active[d])
        shift[d] += indices.image[d] * (settings.periodic.hi[d] - settings.periodic.lo[d]);
  }
  if (sphere_contact(model, in_a, in_b, shift, indices, settings, found) ||
      model.excluded(in_a.shape, in_b.shape))
    return;
  Placed moved;
  if (periodic) {
    moved = in_b;
    moved.X_WS.x += shift;
  }
  const double* values = parameters.values.data();
  const ShapePair pair = {model.shapes()[work.order[first]].view(values),
                          model.shapes()[work.order[second]].view(values), in_a,
                          periodic ? moved : in_b};
  const double margin = pair.margin(settings);
  const double way = pair.way(settings.either);
  const auto add = [&](const ContactPoint& point, std::uint32_t feature) {
    Contact& contact = add_contact(in_a, in_b, indices, feature, shift, found);
    contact.feature = point.feature;
    contact.point_a = point.point_a;
    contact.point_b = point.point_b;
    contact.normal = point.normal;
    contact.gap = point.gap;
  };
  const auto add_near = [&](const ContactPoint& point, std::uint32_t feature) {
    if (point.gap <= margin || point.gap - pair.approach(point.normal, settings.either) <= margin)
      add(point, feature);
  };
  if (settings.points == ContactPoints::SubSpheres && has_sub_spheres(pair.a.kind) &&
      has_sub_spheres(pair.b.kind))
    return sub_sphere_contacts(pair, settings.sub_spheres, margin + way, add);
  if (pair.a.kind == ShapeKind::Mesh || pair.b.kind == ShapeKind::Mesh) {
    // Numbered, not named: what rolls from triangle to triangle keeps its contact.
    thread_local std::vector<ContactPoint> on_mesh;
    on_mesh.clear();
    mesh_contacts(pair.a, pair.place_a.X_WS, pair.b, pair.place_b.X_WS, margin + way, on_mesh);
    std::uint32_t number = 0;
    for (const ContactPoint& point : on_mesh) add_near(point, number++);
    return;
  }
  const bool deepest = settings.points == ContactPoints::Deepest;
  const Vec3* hint = deepest && starts_from_normal(pair.a.kind) && starts_from_normal(pair.b.kind)
                         ? last.find({.body_a = in_a.uid,
                                      .body_b = in_b.uid,
                                      .shape_a = in_a.ordinal,
                                      .shape_b = in_b.ordinal,
                                      .image = indices.image})
                         : nullptr;
  const auto search = [&](ContactPoint* points) {
    const int count = deepest ? deepest_contacts(pair.a, pair.place_a.X_WS, pair.b,
                                                 pair.place_b.X_WS, margin + way, hint, points)
                              : contacts(pair.a, pair.place_a.X_WS, pair.b, pair.place_b.X_WS,
                                         margin + way, points);
    if (count == 0) return;
    if (points[0].gap > margin &&
        (points[0].gap - pair.approach(points[0].normal, settings.either) > margin ||
         !may_meet(pair, settings.either, margin, points[0])))
      return;
    const std::size_t begin = found.size();
    // A pair with one point keeps its key while the features that touch change.
    for (int i = 0; i < count; ++i)
      add_near(points[i], deepest ? static_cast<std::uint32_t>(i) : points[i].id);
    if (found.size() > begin + 1)
      std::sort(found.begin() + static_cast<std::ptrdiff_t>(begin), found.end(),
                [](const Contact& x, const Contact& y) { return x.key < y.key; });
  };
  if (has_one_point(pair.a.kind, pair.b.kind)) {  // most pairs of a pile: no array to prepare
    ContactPoint point;
    return search(&point);
  }
  ContactPoint points[kMaxContacts];
  search(points);
}

void find(const Model& model, const Parameters& parameters, const VecX& q,
          std::span<const BodyMotion> motion, const BodyFilter& filter,
          const CollisionSettings& settings, CollisionWorkspace& work, ContactSet& contacts) {
  if (settings.sub_spheres < 1 || settings.sub_spheres > kMaxSubSpheres)
    throw Error("collision settings.sub_spheres", "must be in [1, " +
                                                      std::to_string(kMaxSubSpheres) + "], got " +
                                                      std::to_string(settings.sub_spheres));
  const std::span<const unsigned char> changed = filter.changed;
  order_shapes(model, filter.known, work);
  place_shapes(model, parameters, q, motion, changed, settings, work);
  wrap_boxes(model, settings.periodic, work);
  work.broad_phase.find_pairs(work.boxes, work.moves, work.pairs, work.balls);
  resolve_images(work);
  add_half_space_pairs(model, changed, settings, work);

  Team* const all = work.pairs.size() >= kSharedPairs ? team() : nullptr;
  const std::size_t count = work.pairs.size();
  const std::size_t from = all == nullptr ? 0 : all->begin(count, all->rank());
  const std::size_t to = all == nullptr ? count : all->begin(count, all->rank() + 1);
  const bool alone = thread_count() == 1;   // then chunks come in order and need not wait
  clear_for(contacts.contacts, to - from);  // most pairs of a pile have one
  for (std::size_t first = from; first < to; first += kWaitingChunks * kPairGrain) {
    const std::size_t here = std::min(kWaitingChunks * kPairGrain, to - first);
    const std::size_t chunks = chunk_count(here, kPairGrain);
    if (!alone && work.found.size() < chunks) work.found.resize(chunks);
    parallel_for_chunks(
        here, kPairGrain, [&](std::size_t begin, std::size_t end, std::size_t chunk) {
          std::vector<Contact>& found = alone ? contacts.contacts : work.found[chunk];
          if (!alone) found.clear();
          LastNormals last(settings.last);
          for (std::size_t i = first + begin; i < first + end; ++i)
            narrow_phase(model, parameters, work.pairs[i], settings, work, last, found);
        });
    if (!alone) append(std::span(work.found).first(chunks), contacts.contacts);
  }
  if (all != nullptr) share(*all, contacts.contacts);
  // Only bodies of several shapes are out of place.
  const auto before = [](const Contact& x, const Contact& y) { return x.key < y.key; };
  if (!is_sorted_by(std::span(contacts.contacts), before))
    std::sort(contacts.contacts.begin(), contacts.contacts.end(), before);
}

}  // namespace

void find_contacts(const Model& model, const Parameters& parameters, const VecX& q,
                   std::span<const BodyMotion> motion, const CollisionSettings& settings,
                   CollisionWorkspace& work, ContactSet& contacts) {
  find(model, parameters, q, motion, {}, settings, work, contacts);
}

void find_changed_contacts(const Model& model, const Parameters& parameters, const VecX& q,
                           std::span<const BodyMotion> motion, const BodyFilter& filter,
                           const CollisionSettings& settings, CollisionWorkspace& work,
                           ContactSet& contacts) {
  find(model, parameters, q, motion, filter, settings, work, contacts);
}

ContactPoint shape_distance(const Model& model, const Parameters& parameters, const VecX& q,
                            ShapeId a, ShapeId b) {
  const ShapeInstance& shape_a = model.shape(a);
  const ShapeInstance& shape_b = model.shape(b);
  const double* values = parameters.values.data();
  return distance(
      shape_a.view(values), shape_pose(model.body(shape_a.body), shape_a, q.data(), values),
      shape_b.view(values), shape_pose(model.body(shape_b.body), shape_b, q.data(), values));
}

double deepest_penetration(const ContactSet& contacts) {
  double deepest = 0;
  for (const Contact& contact : contacts.contacts) deepest = std::max(deepest, -contact.gap);
  return deepest;
}

double shape_size(const Model& model, const Parameters& parameters, ShapeId shape) {
  return 0.5 * smallest_width(model.shape(shape).view(parameters.values.data()));
}

double turning_radius(const Model& model, const Parameters& parameters, BodyId id) {
  const Body& body = model.body(id);
  const double* values = parameters.values.data();
  double radius = 0;
  for (Index s = body.shape_begin; s < body.shape_end; ++s) {
    const ShapeInstance& shape = model.shapes()[s];
    if (is_half_space(shape)) continue;
    const double offset = frame_pose(body.planar, values + shape.offset_begin).x.norm();
    const bool round = shape.shape.kind() == ShapeKind::Sphere;
    radius = std::max(radius, offset + (round ? 0 : bounding_radius(shape.view(values))));
  }
  return radius;
}

}  // namespace orthant
