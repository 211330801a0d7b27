// SPDX-License-Identifier: Apache-2.0
// collision/flexible_collision.cpp: (model, q, motion) => contacts of flexible surfaces.
// Each part has a tree over its faces, fixed when the model is built; its boxes are refitted here
// with the way the nodes may go. A shape's box picks faces and their nodes from it. Nodes carry
// most contacts; faces are needed where something round or sharp falls between the nodes.
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <tuple>

#include "orthant/collision/collision.hpp"
#include "orthant/shape/contacts.hpp"

namespace orthant {
namespace {

constexpr std::uint16_t kNodeContact = 0, kFaceContact = 1;
/// Weights below this belong to the neighbouring edge or node.
constexpr double kOnBorder = 1e-9;

struct Search {
  const Model& model;
  const Parameters& parameters;
  const VecX& q;
  std::span<const BodyMotion> motion;
  const NodeMotion& nodes;
  const CollisionSettings& settings;
  CollisionWorkspace& work;
  std::vector<FlexibleContact>& out;

  /// Way of a node with the velocity before (0) or after all forces (1).
  Vec3 shift(const FlexiblePart& part, Index node, int which) const {
    if (nodes.v == nullptr) return Vec3::Zero();
    const bool free = which == 1 && part.block[node] >= 0;
    return nodes.dt * node_velocity(part, free ? *nodes.v_free : *nodes.v, node);
  }
  BodyMotion motion_of(const ShapeInstance& shape) const {
    return motion.empty() ? BodyMotion{} : motion[index_of(shape.body)];
  }
};

void refit(const Search& s, const FlexiblePart& part, std::vector<Bounds>& boxes) {
  boxes.resize(part.tree.size());
  const double grow = s.settings.margin * part.edge_length;
  for (std::size_t t = part.tree.size(); t-- > 0;) {
    const FlexiblePart::TreeNode& node = part.tree[t];
    Bounds& box = boxes[t];
    if (node.left >= 0) {  // children come after their parent
      box.lo = boxes[node.left].lo.cwiseMin(boxes[node.right].lo);
      box.hi = boxes[node.left].hi.cwiseMax(boxes[node.right].hi);
      continue;
    }
    box.lo.setConstant(1e300);
    box.hi.setConstant(-1e300);
    for (Index f = node.begin; f < node.end; ++f)
      for (int c = 0; c < part.dim; ++c) {
        const Index i = part.faces[part.tree_faces[f]][c];
        const Vec3 x = node_position(part, s.q, i);
        for (const Vec3& at : {x, Vec3(x + s.shift(part, i, 0)), Vec3(x + s.shift(part, i, 1))}) {
          box.lo = box.lo.cwiseMin(at);
          box.hi = box.hi.cwiseMax(at);
        }
      }
    box.lo.array() -= grow;
    box.hi.array() += grow;
  }
}

/// Faces in the leaves that `meets` accepts => work.faces, and their nodes => work.nodes,
/// ascending.
template <class Meets>
void collect(const FlexiblePart& part, const std::vector<Bounds>& boxes, Meets&& meets,
             CollisionWorkspace& work) {
  work.faces.clear();
  work.nodes.clear();
  Index stack[64];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Index t = stack[--top];
    if (!meets(boxes[t])) continue;
    const FlexiblePart::TreeNode& node = part.tree[t];
    if (node.left >= 0) {
      stack[top++] = node.left;
      stack[top++] = node.right;
      continue;
    }
    for (Index f = node.begin; f < node.end; ++f) {
      work.faces.push_back(part.tree_faces[f]);
      for (int c = 0; c < part.dim; ++c) work.nodes.push_back(part.faces[part.tree_faces[f]][c]);
    }
  }
  std::sort(work.faces.begin(), work.faces.end());
  std::sort(work.nodes.begin(), work.nodes.end());
  work.nodes.erase(std::unique(work.nodes.begin(), work.nodes.end()), work.nodes.end());
}

/// A pair of closest points, the second on a face with barycentric weights.
struct FacePoint {
  Vec3 first = Vec3::Zero(), second = Vec3::Zero();
  double weight[3] = {0, 0, 0};
};

/// Closest point of the triangle (or, with corners = 2, the side) to p.
void closest_on_face(const Vec3* x, int corners, const Vec3& p, FacePoint& out) {
  const auto on_edge = [&](int a, int b, double& best) {
    const Vec3 e = x[b] - x[a];
    const double t = std::clamp((p - x[a]).dot(e) / e.squaredNorm(), 0.0, 1.0);
    const Vec3 at = x[a] + t * e;
    const double d = (p - at).squaredNorm();
    if (!(d < best)) return;
    best = d;
    out.weight[0] = out.weight[1] = out.weight[2] = 0;
    out.weight[a] = 1 - t;
    out.weight[b] = t;
    out.second = at;
  };
  out.first = p;
  double best = 1e300;
  if (corners == 3) {
    const Vec3 a = x[1] - x[0], b = x[2] - x[0], m = a.cross(b), r = p - x[0];
    const double area = m.squaredNorm();
    const double w1 = r.cross(b).dot(m) / area, w2 = a.cross(r).dot(m) / area;
    if (w1 >= 0 && w2 >= 0 && w1 + w2 <= 1) {
      out.weight[0] = 1 - w1 - w2;
      out.weight[1] = w1;
      out.weight[2] = w2;
      out.second = x[0] + w1 * a + w2 * b;
      return;
    }
    on_edge(1, 2, best);
    on_edge(2, 0, best);
  }
  on_edge(0, 1, best);
}

/// Closest points of the segment a b and the edge c d, both inside; false where they are parallel
/// or an end is nearer.
bool closest_inside(const Vec3& a, const Vec3& b, const Vec3& c, const Vec3& d, double& s,
                    double& t) {
  const Vec3 u = b - a, w = d - c, r = a - c;
  const double uu = u.squaredNorm(), ww = w.squaredNorm(), uw = u.dot(w);
  const double det = uu * ww - uw * uw;
  if (!(det > 1e-12 * uu * ww)) return false;
  s = (uw * w.dot(r) - ww * u.dot(r)) / det;
  t = (uu * w.dot(r) - uw * u.dot(r)) / det;
  return s >= 0 && s <= 1 && t >= 0 && t <= 1;
}

Vec3 face_normal(const Vec3* x, int corners) {
  if (corners == 2) {  // walked counter-clockwise: outside is to the right
    const Vec3 e = x[1] - x[0];
    return Vec3(e[1], -e[0], 0).normalized();
  }
  return (x[1] - x[0]).cross(x[2] - x[0]).normalized();
}

/// Sign, normal from the face and gap of a pair of closest points.
void orient(const Vec3* x, int corners, const FacePoint& p, FlexibleContact& c) {
  const Vec3 d = p.first - p.second;
  const double length = d.norm();
  const Vec3 outward = face_normal(x, corners);
  bool inside = true;  // nearest in the face itself, not on its border: it decides the side
  for (int i = 0; i < corners; ++i) inside = inside && p.weight[i] > kOnBorder;
  const bool behind = inside && outward.dot(d) < 0;
  c.normal = length > 1e-12 * (x[1] - x[0]).norm() && !inside ? Vec3(d / length) : outward;
  c.gap = behind ? -length : length;
}

/// Keeps the contact where it is near or the motion may close it.
void add_if_near(const Search& s, FlexibleContact& c, const BodyMotion& body) {
  double approach = 0;
  for (int which = 0; which < 2; ++which) {
    Vec3 way = c.body_sign * body.shift[which];
    for (int i = 0; i < c.corner_count; ++i)
      way += c.corners[i].weight *
             s.shift(s.model.flexible_parts()[c.corners[i].part], c.corners[i].node, which);
    approach = std::max(approach, -c.normal.dot(way));
  }
  if (c.gap - approach - body.turn > s.settings.margin * c.size) return;
  s.out.push_back(c);
}

void set_face(const FlexiblePart& part, Index place, Index face, const FacePoint& p, double sign,
              FlexibleContact& c) {
  for (int i = 0; i < part.dim; ++i)
    if (p.weight[i] > kOnBorder)
      c.corners[c.corner_count++] = {place, part.faces[face][i], sign * p.weight[i]};
}

void meet_nodes(const Search& s, Index place, const ShapeInstance& shape, const Pose& X_WS) {
  const FlexiblePart& part = s.model.flexible_parts()[place];
  const double* values = s.parameters.values.data();
  static const Shape kPoint3 = Shape::sphere(1), kPoint2 = Shape::disc(1);
  const double zero = 0;  // a sphere of no radius
  const ShapeView<double> point = (part.dim == 3 ? kPoint3 : kPoint2).view(&zero);
  const ShapeView<double> view = shape.view(values);
  const double size = std::min(part.edge_length, 0.5 * smallest_width(view));
  for (const Index node : s.work.nodes) {
    if (part.block[node] < 0 && !s.model.body(shape.body).is_dynamic()) continue;
    FlexibleContact c;
    c.point = node_position(part, s.q, node);
    const ContactPoint d = distance(point, Pose{c.point, {}}, view, X_WS);
    c.normal = d.normal;
    c.gap = d.gap;
    c.feature = d.feature;
    c.has_feature = true;
    c.key = {.body_a = s.model.body(shape.body).uid,
             .body_b = part.uid,
             .shape_a = shape.ordinal,
             .shape_b = kNodeContact,
             .feature = static_cast<std::uint32_t>(node)};
    c.corners[c.corner_count++] = {place, node, 1};
    c.shape = shape.id;
    c.body_sign = -1;
    c.material_a = part.material;
    c.material_b = shape.material;
    c.planar = part.dim == 2;
    c.size = size;
    add_if_near(s, c, s.motion_of(shape));
  }
}

/// What a face has to say about a shape: the points that can be nearest, each with a name of its
/// own. A round core that lies along the face touches it in a line: the line's ends, on the borders
/// of the face or under an end of the core, all speak. One of them alone would be another one in
/// the next step, and what lies on the face would rock for ever.
int core_points(const ShapeView<double>& view, const Pose& X_WS, const Vec3* x, int corners,
                Index vertex, FacePoint* out, std::uint32_t* name) {
  const Vec3 a = transform(X_WS, core_vertex(view, vertex));
  int count = 0;
  closest_on_face(x, corners, a, out[count]);
  name[count++] = static_cast<std::uint32_t>(vertex);
  if (view.kind != ShapeKind::Capsule) return count;
  const Vec3 b = transform(X_WS, core_vertex(view, 1));
  closest_on_face(x, corners, b, out[count]);
  name[count++] = 1;
  for (int c = 0; c < 3 && corners == 3; ++c) {
    const int d = (c + 1) % corners;
    double s = 0, t = 0;
    if (!closest_inside(a, b, x[c], x[d], s, t)) continue;
    FacePoint& p = out[count];
    p = FacePoint{};
    p.first = a + s * (b - a);
    p.second = x[c] + t * (x[d] - x[c]);
    p.weight[c] = 1 - t;
    p.weight[d] = t;
    name[count++] = static_cast<std::uint32_t>(2 + c);
  }
  return count;
}

/// Two faces share an edge and say the same thing there: the first one speaks.
void drop_repeated_edges(std::vector<FlexibleContact>& list, std::size_t begin) {
  using Edge = std::tuple<Index, Index, std::uint32_t, std::size_t>;
  std::vector<Edge> edges;
  for (std::size_t i = begin; i < list.size(); ++i) {
    if (list[i].corner_count != 2) continue;
    const auto [low, high] = std::minmax(list[i].corners[0].node, list[i].corners[1].node);
    // Ends of the core have their own points; along it there is one per edge.
    const std::uint32_t name = std::min(list[i].key.feature >> 24, 2U);
    edges.emplace_back(low, high, name, i);
  }
  std::sort(edges.begin(), edges.end());
  std::vector<std::size_t> repeated;
  for (std::size_t e = 1; e < edges.size(); ++e) {
    const auto& [low, high, name, i] = edges[e];
    const auto& [low_before, high_before, name_before, before] = edges[e - 1];
    if (low == low_before && high == high_before && name == name_before) repeated.push_back(i);
  }
  std::sort(repeated.begin(), repeated.end());
  std::size_t kept = begin, next = 0;
  for (std::size_t i = begin; i < list.size(); ++i) {
    if (next < repeated.size() && repeated[next] == i) {
      ++next;
    } else {
      list[kept++] = list[i];
    }
  }
  list.resize(kept);
}

void meet_faces(const Search& s, Index place, const ShapeInstance& shape, const Pose& X_WS) {
  const FlexiblePart& part = s.model.flexible_parts()[place];
  const ShapeView<double> view = shape.view(s.parameters.values.data());
  const bool round = view.kind == ShapeKind::Sphere || view.kind == ShapeKind::Capsule;
  if (!round && view.kind != ShapeKind::Box && view.kind != ShapeKind::Hull) return;
  const Index vertices = round ? 1 : view.topology->vertex_count;
  const double radius = core_radius(view);
  const double size = std::min(part.edge_length, 0.5 * smallest_width(view));
  const std::size_t begin = s.out.size();
  for (const Index face : s.work.faces) {
    Vec3 x[3];
    bool moves = s.model.body(shape.body).is_dynamic();
    for (int i = 0; i < part.dim; ++i) {
      x[i] = node_position(part, s.q, part.faces[face][i]);
      moves = moves || part.block[part.faces[face][i]] >= 0;
    }
    if (!moves) continue;
    for (Index v = 0; v < vertices; ++v) {
      FacePoint points[5];
      std::uint32_t names[5];
      const int count = core_points(view, X_WS, x, part.dim, v, points, names);
      for (int k = 0; k < count; ++k) {
        const FacePoint& p = points[k];
        FlexibleContact c;
        set_face(part, place, face, p, -1, c);
        // At a node the node's own contact says the same; a sharp corner beside a face is no
        // contact.
        if (c.corner_count == 1 || (!round && c.corner_count < part.dim)) continue;
        orient(x, part.dim, p, c);
        if (c.gap < -0.5 * size) continue;  // in front of another face, on the far side
        c.gap -= radius;
        c.key = {.body_a = s.model.body(shape.body).uid,
                 .body_b = part.uid,
                 .shape_a = shape.ordinal,
                 .shape_b = kFaceContact,
                 .feature = names[k] << 24 | static_cast<std::uint32_t>(face)};
        c.point = p.second;
        c.shape = shape.id;
        c.body_sign = 1;
        c.material_a = shape.material;
        c.material_b = part.material;
        c.planar = part.dim == 2;
        c.size = size;
        add_if_near(s, c, s.motion_of(shape));
      }
    }
  }
  if (part.dim == 3) drop_repeated_edges(s.out, begin);
}

void meet_shape(const Search& s, Index place, const ShapeInstance& shape) {
  const FlexiblePart& part = s.model.flexible_parts()[place];
  if (s.model.excluded(part, shape.id)) return;
  const double* values = s.parameters.values.data();
  const Pose X_WS = shape_pose(s.model.body(shape.body), shape, s.q.data(), values);
  const BodyMotion body = s.motion_of(shape);
  const std::vector<Bounds>& boxes = s.work.trees[place];
  if (shape.shape.kind() == ShapeKind::HalfSpace) {
    const Vec3 n = rotate(X_WS.p, part.dim == 2 ? Vec3(Vec3::UnitY()) : Vec3(Vec3::UnitZ()));
    const double way = std::max({0.0, n.dot(body.shift[0]), n.dot(body.shift[1])}) + body.turn;
    collect(
        part, boxes,
        [&](const Bounds& box) {
          const Vec3 centre = 0.5 * (box.lo + box.hi), half = 0.5 * (box.hi - box.lo);
          return n.dot(centre - X_WS.x) - n.cwiseAbs().dot(half) <= way;
        },
        s.work);
  } else {
    Bounds box = bounds(shape.view(values), X_WS);
    const Vec3 zero = Vec3::Zero();
    box.lo += zero.cwiseMin(body.shift[0]).cwiseMin(body.shift[1]) - Vec3::Constant(body.turn);
    box.hi += zero.cwiseMax(body.shift[0]).cwiseMax(body.shift[1]) + Vec3::Constant(body.turn);
    collect(part, boxes, [&](const Bounds& other) { return overlap(box, other); }, s.work);
  }
  if (s.work.nodes.empty()) return;
  meet_nodes(s, place, shape, X_WS);
  meet_faces(s, place, shape, X_WS);
}

/// Nodes of part `a` against the faces of part `b`: the nearest face in front of each node.
void meet_part(const Search& s, Index a, Index b) {
  const FlexiblePart& own = s.model.flexible_parts()[a];
  const FlexiblePart& other = s.model.flexible_parts()[b];
  const double size = std::min(own.edge_length, other.edge_length);
  for (const Index node : own.surface_nodes) {
    const Vec3 p = node_position(own, s.q, node);
    Bounds box{p, p};
    for (int which = 0; which < 2; ++which) {
      box.lo = box.lo.cwiseMin(p + s.shift(own, node, which));
      box.hi = box.hi.cwiseMax(p + s.shift(own, node, which));
    }
    collect(other, s.work.trees[b], [&](const Bounds& o) { return overlap(box, o); }, s.work);
    FlexibleContact best;
    double nearest = 1e300;
    for (const Index face : s.work.faces) {
      Vec3 x[3];
      for (int i = 0; i < other.dim; ++i) x[i] = node_position(other, s.q, other.faces[face][i]);
      FacePoint point;
      closest_on_face(x, other.dim, p, point);
      FlexibleContact c;
      orient(x, other.dim, point, c);
      const double d = (point.first - point.second).norm();
      if (d >= nearest || c.gap < -0.5 * other.edge_length) continue;
      nearest = d;
      c.corners[c.corner_count++] = {a, node, 1};
      set_face(other, b, face, point, -1, c);
      best = c;
    }
    if (best.corner_count == 0) continue;
    best.key = {.body_a = std::min(own.uid, other.uid),
                .body_b = std::max(own.uid, other.uid),
                .shape_a = static_cast<std::uint16_t>(own.uid < other.uid ? 0 : 1),
                .shape_b = 0,
                .feature = static_cast<std::uint32_t>(node)};
    best.point = p;
    best.material_a = own.material;
    best.material_b = other.material;
    best.planar = own.dim == 2;
    best.size = size;
    add_if_near(s, best, BodyMotion{});
  }
}

}  // namespace

void find_flexible_contacts(const Model& model, const Parameters& parameters, const VecX& q,
                            std::span<const BodyMotion> motion, const NodeMotion& node_motion,
                            const CollisionSettings& settings, CollisionWorkspace& work,
                            ContactSet& contacts) {
  contacts.flexible.clear();
  const std::span<const FlexiblePart> parts = model.flexible_parts();
  if (parts.empty()) return;
  const Search search{model, parameters, q, motion, node_motion, settings, work, contacts.flexible};
  if (work.trees.size() < parts.size()) work.trees.resize(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p) refit(search, parts[p], work.trees[p]);
  for (Index p = 0; p < static_cast<Index>(parts.size()); ++p) {
    for (const ShapeInstance& shape : model.shapes()) meet_shape(search, p, shape);
    for (Index o = 0; o < static_cast<Index>(parts.size()); ++o) {
      const FlexiblePart &a = parts[p], &b = parts[o];
      if (o == p || a.dim != b.dim || !a.contact || !b.contact || (a.group & b.mask) == 0 ||
          (b.group & a.mask) == 0)
        continue;
      meet_part(search, p, o);
    }
  }
  std::sort(contacts.flexible.begin(), contacts.flexible.end(),
            [](const FlexibleContact& x, const FlexibleContact& y) { return x.key < y.key; });
}

}  // namespace orthant
