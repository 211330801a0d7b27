// SPDX-License-Identifier: Apache-2.0
// io/scene/robot_tree.cpp: order, posture, inertias and folding of a robot's links.
// A body of the model has mass and moves against its parent. Links that do not are folded: their
// matter and shapes go to the link they are fixed to, their names stay as frames.
#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>

#include "io/scene/robot.hpp"
#include "orthant/base/error.hpp"

namespace orthant::io {
namespace {

using Posture = std::vector<std::pair<std::string, double>>;

constexpr double kRounding = 1e-9;     // of an inertia: not worth a note
constexpr double kTolerated = 1e-10;   // of an inertia: not changed
constexpr double kThin = 1e-6;         // least moment of a body, of its largest
constexpr double kPointRadius = 0.01;  // [m] of the ball that stands for a point mass

RobotJoint* find_joint(Robot& robot, const std::string& name) {
  for (RobotLink& link : robot.links)
    if (link.joint.name == name && link.parent != kNone) return &link.joint;
  return nullptr;
}

bool inside(const RobotJoint& joint, double x) {
  return !(joint.lower && x < *joint.lower) && !(joint.upper && x > *joint.upper);
}

/// The usual one where the limits allow it, else their middle (or the nearest), else the one there
/// is.
double usual_start(const RobotJoint& joint, bool nearest) {
  if (inside(joint, joint.usual)) return joint.usual;
  if (nearest && joint.lower && joint.upper)
    return std::clamp(joint.usual, *joint.lower, *joint.upper);
  if (joint.lower && joint.upper) return 0.5 * (*joint.lower + *joint.upper);
  return joint.lower ? *joint.lower : *joint.upper;
}

/// Moments p nearest to a body's: the largest at most the sum of the others, none negative.
/// Projection on p2 <= p0 + p1: excess / 3 from each, which also makes p0 >= p2 - p1 >= 0.
Vec3 body_moments(const Vec3& p) {
  const double excess = p[2] - p[0] - p[1];
  if (!(excess > 0)) return p;
  Vec3 out = p + excess / 3 * Vec3(1, 1, -1);
  if (out[1] > out[2]) out[1] = out[2] = 0.5 * (p[1] + p[2]), out[0] = 0;
  return out.cwiseMax(0.0);
}

Mat3 with_moments(const Eigen::SelfAdjointEigenSolver<Mat3>& eigen, const Vec3& moments) {
  const Mat3 I = eigen.eigenvectors() * moments.asDiagonal() * eigen.eigenvectors().transpose();
  return 0.5 * (I + I.transpose());
}

struct Repairs {
  std::vector<std::string> names = {};
  double largest = 0;
};

void repair(RobotLink& link, bool strict, Repairs& repairs, XmlReader& xml) {
  if (!(link.mass > 0)) return;
  const Eigen::SelfAdjointEigenSolver<Mat3> eigen(link.inertia);
  const Vec3 p = eigen.eigenvalues(), fit = body_moments(p);
  const double size = p.norm(), change = size > 0 ? (fit - p).norm() / size : 0;
  if (change < kTolerated) return;  // a model takes it as it is
  if (strict && change > kRounding) {
    xml.problem(link.line, "link '" + link.name + "': principal moments " + to_text(p[0]) + ", " +
                               to_text(p[1]) + ", " + to_text(p[2]) +
                               " are those of no body: each must be >= 0 and at most the sum of "
                               "the other two");
    return;
  }
  link.inertia = with_moments(eigen, fit);
  if (!(change > kRounding)) return;
  repairs.names.push_back(link.name);
  repairs.largest = std::max(repairs.largest, change);
}

/// Inertia of a mass at distance d.
Mat3 point_inertia(double mass, const Vec3& d) {
  return mass * (d.squaredNorm() * Mat3::Identity() - d * d.transpose());
}

/// Matter and shapes of `link`, which lies at X in `host`.
void add_matter(RobotLink& host, const RobotLink& link, const Pose& X) {
  for (ShapeDescription shape : link.shapes) {
    const Pose S = compose(X, Pose{shape.position, shape.orientation.value_or(Quat{})});
    shape.position = S.x;
    shape.orientation = S.p;
    host.shapes.push_back(std::move(shape));
  }
  for (VisualDescription visual : link.visuals) {
    const Pose S =
        compose(X, Pose{visual.shape.position, visual.shape.orientation.value_or(Quat{})});
    visual.shape.position = S.x;
    visual.shape.orientation = S.p;
    host.visuals.push_back(std::move(visual));
  }
  if (host.colour.text.empty()) host.colour = link.colour;
  const Mat3 R = matrix_of(X.p);
  if (!(link.mass > 0)) {  // inertia alone turns with the host
    host.inertia += R * link.inertia * R.transpose();
    return;
  }
  const Vec3 c = transform(X, link.center);
  const double mass = host.mass + link.mass;
  const Vec3 center = (host.mass * host.center + link.mass * c) / mass;
  const Mat3 I = host.inertia + point_inertia(host.mass, host.center - center) +
                 R * link.inertia * R.transpose() + point_inertia(link.mass, c - center);
  host.mass = mass;
  host.center = center;
  host.inertia = 0.5 * (I + I.transpose());
}

/// Links that remain, and where the others went.
class Folding {
 public:
  explicit Folding(Robot& robot) : robot_(robot), host_(robot.links.size()), X_HL_(host_.size()) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_[i] = static_cast<Index>(i);
  }

  /// `link` becomes part of its parent, where it is at the start. Parents before children: the
  /// parent is a host already.
  void fold(Index i) {
    RobotLink& link = robot_.links[at(i)];
    const Index p = link.parent, h = host_[at(p)];
    host_[at(i)] = h;
    X_HL_[at(i)] = compose(X_HL_[at(p)], link_in_parent(link.joint));
    add_matter(robot_.links[at(h)], link, X_HL_[at(i)]);
  }
  void hang(Index i) {  // its parent's host is its parent now
    RobotLink& link = robot_.links[at(i)];
    link.joint.X_PL = compose(X_HL_[at(link.parent)], link.joint.X_PL);
    link.parent = host_[at(link.parent)];
  }
  bool folded(Index i) const { return host_[at(i)] != i; }

  /// Drops the folded links; their names, and the frames on them, become frames of the hosts.
  void finish() {
    std::vector<Index> place(host_.size(), kNone);
    std::vector<RobotLink> kept;
    for (std::size_t i = 0; i < host_.size(); ++i) {
      if (host_[i] != static_cast<Index>(i)) continue;
      place[i] = static_cast<Index>(kept.size());
      RobotLink link = robot_.links[i];
      if (link.parent != kNone) link.parent = place[at(link.parent)];
      kept.push_back(std::move(link));
    }
    std::vector<RobotFrame> frames;
    for (std::size_t i = 0; i < host_.size(); ++i)
      if (host_[i] != static_cast<Index>(i))
        frames.push_back({robot_.links[i].name, place[at(host_[i])], X_HL_[i]});
    for (const RobotFrame& f : robot_.frames)
      frames.push_back({f.name, place[at(host_[at(f.link)])], compose(X_HL_[at(f.link)], f.X_LF)});
    for (RobotLoop& loop : robot_.loops) {
      loop.anchor = transform(X_HL_[at(loop.a)], loop.anchor);
      loop.a = place[at(host_[at(loop.a)])];
      loop.b = place[at(host_[at(loop.b)])];
    }
    robot_.links = std::move(kept);
    robot_.frames = std::move(frames);
  }

 private:
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  Robot& robot_;
  std::vector<Index> host_;
  std::vector<Pose> X_HL_;
};

/// Links on fixed joints become parts of their parents; inertia without mass is added as it is.
void fold_fixed(Robot& robot, const RobotDescription& options) {
  Folding folding(robot);
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const RobotLink& link = robot.links[i];
    if (link.parent == kNone) continue;
    const bool rigid = link.joint.motion == RobotMotion::Fixed;
    const bool weld = options.keep_fixed && link.mass > 0 &&
                      !robot.links[static_cast<std::size_t>(link.parent)].world;
    if (rigid && !weld)
      folding.fold(static_cast<Index>(i));
    else
      folding.hang(static_cast<Index>(i));
  }
  folding.finish();
}

/// Links that neither have matter nor hold any, from the leaves on.
void fold_empty_leaves(Robot& robot, XmlReader& xml) {
  const std::size_t n = robot.links.size();
  std::vector<int> children(n, 0);
  std::vector<bool> empty(n, false);
  for (std::size_t i = n; i-- > 0;) {
    const RobotLink& link = robot.links[i];
    if (link.parent == kNone) continue;
    empty[i] = !(link.mass > 0) && link.shapes.empty() && children[i] == 0;
    if (!empty[i]) ++children[static_cast<std::size_t>(link.parent)];
  }
  Folding folding(robot);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < n; ++i) {
    if (robot.links[i].parent == kNone) continue;
    if (empty[i]) {
      names.push_back(robot.links[i].joint.name);
      folding.fold(static_cast<Index>(i));
    } else {
      folding.hang(static_cast<Index>(i));
    }
  }
  folding.finish();
  if (!names.empty()) xml.note("joints that move nothing with mass are held: " + name_list(names));
  for (RobotLink& link : robot.links) {
    RobotJoint& joint = link.joint;
    if (std::find(names.begin(), names.end(), joint.leader) == names.end()) continue;
    joint.leader.clear();
    xml.note("joint '" + joint.name + "' follows one that moves nothing: it moves by itself");
  }
}

void thicken(Robot& robot, XmlReader& xml) {
  std::vector<std::string> points, thin;
  for (RobotLink& link : robot.links) {
    if (link.world || !(link.mass > 0)) continue;
    const Eigen::SelfAdjointEigenSolver<Mat3> eigen(link.inertia);
    Vec3 p = eigen.eigenvalues();
    const double ball = 0.4 * link.mass * kPointRadius * kPointRadius;
    if (!(p[2] > kRounding * ball)) {
      link.inertia = ball * Mat3::Identity();
      points.push_back(link.name);
    } else if (p[0] < kThin * p[2]) {
      const double least = kThin * p[2];
      link.inertia = with_moments(eigen, p.cwiseMax(least));
      thin.push_back(link.name);
    }
  }
  if (!points.empty())
    xml.note("point masses that turn get the inertia of a ball of radius " + to_text(kPointRadius) +
             " m: " + name_list(points));
  if (!thin.empty())
    xml.note("least moments of inertia raised to " + to_text(kThin) +
             " of the largest: " + name_list(thin));
}

void weigh(Robot& robot, const RobotDescription& options, XmlReader& xml) {
  std::vector<std::string> names;
  for (RobotLink& link : robot.links) {
    if (link.mass > 0 || link.shapes.empty() || link.world) continue;
    if (link.parent == kNone) continue;  // a root without mass does not move
    if (!options.density) {
      xml.problem(link.line, "link '" + link.name +
                                 "' moves and has a shape: its mass must be > 0 (or give a "
                                 "'density' for such links)");
      continue;
    }
    for (const ShapeDescription& s : link.shapes) {
      const MassProperties m = mass_properties(make_shape(s, link.name), *options.density);
      RobotLink piece;
      piece.mass = m.mass;
      piece.center = m.center;
      piece.inertia = m.inertia;
      add_matter(link, piece, {s.position, s.orientation.value_or(Quat{})});
    }
    names.push_back(link.name);
  }
  if (!names.empty())
    xml.note("masses from shapes of density " + to_text(*options.density) +
             " kg/m^3: " + name_list(names));
}

}  // namespace

Pose link_in_parent(const RobotJoint& joint) {
  if (joint.start == 0 || !joint.has_coordinate()) return joint.X_PL;
  const Vec3 along = joint.start * joint.axis;
  if (joint.motion == RobotMotion::Slide) return compose(joint.X_PL, Pose{along, {}});
  const Quat turn = exp_rotation(along);
  return compose(joint.X_PL, Pose{joint.anchor - rotate(turn, joint.anchor), turn});
}

void sort_links(Robot& robot, XmlReader& xml) {
  const std::size_t n = robot.links.size();
  std::vector<std::vector<std::size_t>> children(n);
  std::vector<std::size_t> stack, order;
  for (std::size_t i = n; i-- > 0;) {
    if (robot.links[i].parent == kNone)
      stack.push_back(i);
    else
      children[static_cast<std::size_t>(robot.links[i].parent)].push_back(i);
  }
  std::vector<Index> place(n, kNone);
  while (!stack.empty()) {
    const std::size_t i = stack.back();
    stack.pop_back();
    place[i] = static_cast<Index>(order.size());
    order.push_back(i);
    for (const std::size_t c : children[i]) stack.push_back(c);  // the first comes off first
  }
  if (order.size() != n) {
    std::vector<std::string> names;
    int line = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (place[i] != kNone) continue;
      names.push_back(robot.links[i].name);
      if (line == 0) line = robot.links[i].line;
    }
    xml.problem(line, "links are their own ancestors (the joints go round in a circle): " +
                          name_list(names));
    return;
  }
  std::vector<RobotLink> sorted;
  sorted.reserve(n);
  for (const std::size_t i : order) {
    sorted.push_back(std::move(robot.links[i]));
    if (sorted.back().parent != kNone)
      sorted.back().parent = place[static_cast<std::size_t>(sorted.back().parent)];
  }
  robot.links = std::move(sorted);
  const auto moved = [&](Index& link) { link = place[static_cast<std::size_t>(link)]; };
  for (RobotFrame& f : robot.frames) moved(f.link);
  for (RobotLoop& loop : robot.loops) moved(loop.a), moved(loop.b);
}

void find_starts(Robot& robot, const Posture& posture, XmlReader& xml) {
  for (RobotLink& link : robot.links)
    if (link.joint.has_coordinate()) link.joint.start = usual_start(link.joint, robot.own_posture);
  for (const auto& [name, value] : posture) {
    RobotJoint* joint = find_joint(robot, name);
    if (joint == nullptr || !joint->has_coordinate()) {
      xml.problem(0, "posture: there is no joint '" + name + "' with a coordinate");
    } else if (!inside(*joint, value)) {
      xml.problem(joint->line, "posture: joint '" + name + "' at " + to_text(value) +
                                   " is beyond its limits, " +
                                   (joint->lower ? to_text(*joint->lower) : "-inf") + " to " +
                                   (joint->upper ? to_text(*joint->upper) : "inf"));
    } else {
      joint->start = value;
    }
  }
  // start = ratio x start of the leader + offset, back to a joint that follows none.
  for (RobotLink& link : robot.links) {
    RobotJoint& joint = link.joint;
    if (joint.leader.empty()) continue;
    double factor = 1, start = 0;
    const RobotJoint* at = &joint;
    for (std::size_t n = 0; !at->leader.empty(); ++n) {
      if (n == robot.links.size()) {
        xml.problem(joint.line, "joints that follow each other go round in a circle, '" +
                                    joint.name + "' among them");
        return;
      }
      start += factor * at->offset;
      factor *= at->ratio;
      const RobotJoint* leader = find_joint(robot, at->leader);
      if (leader == nullptr || !leader->has_coordinate()) {
        xml.problem(at->line, leader == nullptr
                                  ? "there is no joint '" + at->leader + "' to mimic"
                                  : "joint '" + at->leader + "' has no coordinate to mimic");
        return;
      }
      at = leader;
    }
    joint.start = start + factor * at->start;
    if (!std::isfinite(joint.start)) {
      xml.problem(joint.line, "joint '" + joint.name + "' follows beyond all numbers");
      joint.start = 0;
    }
  }
}

void fold_links(Robot& robot, const RobotDescription& options, XmlReader& xml) {
  for (RobotLink& link : robot.links)
    if (link.parent == kNone && options.fixed) link.world = true;
  Repairs repairs;
  for (RobotLink& link : robot.links) repair(link, options.strict, repairs, xml);
  fold_fixed(robot, options);
  for (RobotLink& link : robot.links) repair(link, options.strict, repairs, xml);
  if (!repairs.names.empty())
    xml.note("inertias of no body, changed by the least, at most " +
             to_text(std::ceil(1000 * repairs.largest) / 10) + " %: " + name_list(repairs.names));
  for (RobotLink& link : robot.links) {
    if (link.parent == kNone && !(link.mass > 0)) link.world = true;
    if (link.mass > 0 || link.inertia.isZero()) continue;
    if (!link.world) xml.ignore("the inertia of links that move and have no mass");
    link.inertia.setZero();  // many files write zero for "none"
  }
  weigh(robot, options, xml);
  fold_empty_leaves(robot, xml);
  thicken(robot, xml);
  give_carriers_mass(robot, xml);
}

}  // namespace orthant::io
