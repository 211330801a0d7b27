// SPDX-License-Identifier: Apache-2.0
// validate/random_scene.cpp: worlds drawn by lot, written as YAML.
// A body is placed by its support function, so that the gap to the floor is the number drawn.
#include "validate/random_scene.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <numbers>
#include <string_view>
#include <vector>

#include "orthant/base/error.hpp"
#include "orthant/base/mix.hpp"
#include "orthant/math/rotation_kernel.hpp"

namespace orthant::validation {
namespace {

/// Numbers that depend on seed, scene and how many were drawn before.
class Dice {
 public:
  Dice(std::uint64_t seed, std::uint64_t number)
      : state_(mix_bits(mix_bits(seed + kGoldenRatio) ^ (number * kGoldenRatio))) {}
  double unit() {
    state_ += kGoldenRatio;
    return static_cast<double>(mix_bits(state_) >> 11) * 0x1p-53;
  }
  double in(double lo, double hi) { return lo + (hi - lo) * unit(); }
  /// Evenly spread over the decades.
  double decades(double lo, double hi) { return lo * std::pow(hi / lo, unit()); }
  bool chance(double share) { return unit() < share; }
  int count(int lo, int hi) { return lo + static_cast<int>(unit() * (hi - lo + 1)); }
  template <class T>
  T one_of(std::initializer_list<T> list) {
    return list.begin()[count(0, static_cast<int>(list.size()) - 1)];
  }
  Vec3 vector(bool planar, double size) {
    const Vec3 v{in(-size, size), in(-size, size), in(-size, size)};
    return planar ? Vec3(v.x(), v.y(), 0) : v;
  }

 private:
  std::uint64_t state_;
};

/// Text that grows by <<, whose operands are evaluated from left to right: with + the order of two
/// draws would be the compiler's.
class Text {
 public:
  explicit Text(bool planar) : planar_(planar) {}
  Text& operator<<(std::string_view text) {
    text_ += text;
    return *this;
  }
  Text& operator<<(const char* text) { return *this << std::string_view(text); }
  Text& operator<<(double value) { return *this << to_text(value); }
  Text& operator<<(int value) { return *this << std::to_string(value); }
  Text& operator<<(bool value) { return *this << (value ? "true" : "false"); }
  Text& operator<<(const Vec3& v) {
    *this << "[" << v.x() << ", " << v.y();
    if (!planar_) *this << ", " << v.z();
    return *this << "]";
  }
  const std::string& str() const { return text_; }

 private:
  bool planar_;
  std::string text_;
};

/// A shape, and how far it reaches along a direction of its own frame.
struct Drawn {
  std::string fields;  // "type: box, half: [...]"
  Vec3 half = Vec3::Zero();
  double radius = 0, ring = 0;
  std::vector<Vec3> points = {};
  enum class Round : std::uint8_t { None, Ellipsoid, Cylinder, Cone } round = Round::None;

  double support(const Vec3& d) const {
    const double across = radius * std::hypot(d.y(), d.z());
    if (round == Round::Ellipsoid) return half.cwiseProduct(d).norm();
    if (round == Round::Cylinder) return half.x() * std::abs(d.x()) + across;
    if (round == Round::Cone) return std::max(half.x() * d.x(), across - half.x() * d.x());
    double reach = half.cwiseProduct(d.cwiseAbs()).sum();
    if (ring > 0) reach += ring * std::hypot(d.x(), d.y());
    for (std::size_t i = 0; i < points.size(); ++i)
      reach = i == 0 ? points[i].dot(d) : std::max(reach, points[i].dot(d));
    return reach + radius;
  }
};

Drawn draw_shape(Dice& dice, bool planar) {
  const auto size = [&] { return dice.in(0.05, 0.2); };
  Drawn s;
  Text out(planar);
  const int kind = dice.count(0, 5);
  if (kind <= 1) {
    s.radius = size();
    out << "type: " << (planar ? "disc" : "sphere") << ", radius: " << s.radius;
  } else if (kind == 2) {
    s.half = Vec3{size(), size(), planar ? 0 : size()};
    out << "type: " << (planar ? "rectangle" : "box") << ", half: " << s.half;
  } else if (kind == 3) {
    s.radius = size();
    s.half.x() = size();
    out << "type: " << (planar ? "stadium" : "capsule") << ", radius: " << s.radius
        << ", half_length: " << s.half.x();
  } else if (kind == 4) {
    const int corners = planar ? dice.count(3, 6) : dice.count(4, 8);
    out << "type: " << (planar ? "polygon" : "hull") << ", points: [";
    for (int i = 0; i < corners; ++i) {  // spread over the circle or sphere: all are corners
      const double z = planar ? 0 : 1 - 2 * (i + 0.5) / corners;
      const double turn = planar ? 2 * std::numbers::pi * (i + dice.in(0, 0.6)) / corners
                                 : 2.4 * i + dice.in(0, 0.3);
      const double across = std::sqrt(1 - z * z), length = dice.in(0.09, 0.12);
      s.points.emplace_back(length * across * std::cos(turn), length * across * std::sin(turn),
                            length * z);
      out << (i == 0 ? "" : ", ") << s.points.back();
    }
    out << "]";
  } else if (planar || dice.chance(0.7)) {
    s.half = Vec3{size(), size(), planar ? 0 : size()};
    s.round = Drawn::Round::Ellipsoid;
    out << "type: " << (planar ? "ellipse" : "ellipsoid") << ", semi_axes: " << s.half;
  } else {
    s.ring = dice.in(0.1, 0.2);
    s.radius = dice.in(0.03, 0.08);
    out << "type: torus, major: " << s.ring << ", minor: " << s.radius;
  }
  s.fields = out.str();
  return s;
}

/// Shapes that few scenes have, all spatial.
Drawn draw_rare_shape(Dice& dice) {
  Drawn s;
  Text out(false);
  if (dice.chance(0.4)) {
    s.radius = dice.in(0.01, 0.04);
    out << "type: rounded_hull, radius: " << s.radius << ", points: [";
    for (int i = 0; i < 4; ++i) {
      const double z = 0.75 - 0.5 * i, turn = 2.4 * i + dice.in(0, 0.3);
      const double across = std::sqrt(1 - z * z), length = dice.in(0.06, 0.1);
      s.points.emplace_back(length * across * std::cos(turn), length * across * std::sin(turn),
                            length * z);
      out << (i == 0 ? "" : ", ") << s.points.back();
    }
    out << "]";
  } else {
    s.round = dice.chance(0.5) ? Drawn::Round::Cylinder : Drawn::Round::Cone;
    s.radius = dice.in(0.05, 0.15);
    s.half.x() = dice.in(0.05, 0.15);
    out << "type: " << (s.round == Drawn::Round::Cone ? "cone" : "cylinder")
        << ", radius: " << s.radius << ", half_length: " << s.half.x();
  }
  s.fields = out.str();
  return s;
}

enum class Start { Apart, Near, Rest, Overlap };

class Writer {
 public:
  Writer(std::uint64_t seed, std::uint64_t number)
      : dice_(seed, number),
        more_(seed ^ kGoldenRatio, number),
        rare_(more_.chance(0.25)),
        planar_(dice_.chance(0.5)),
        out_(planar_) {
    events_ = dice_.chance(0.5);
    const bool other_rows = !events_ && dice_.chance(0.12);
    scheme_ = other_rows ? dice_.one_of({"single", "relcp", "multisphere"}) : "manifold";
    overdamped_ = !events_ && dice_.chance(0.08);
    flexible_ = !other_rows && !overdamped_ && dice_.chance(0.05);
    h_ = dice_.one_of({0.002, 0.005, 0.01});
    const double start = dice_.unit();
    start_ = start < 0.35   ? Start::Near
             : start < 0.75 ? Start::Apart
             : start < 0.9  ? Start::Rest
                            : Start::Overlap;
    up_ = planar_ ? Vec3(0, 1, 0) : Vec3(0, 0, 1);
    out_ << "orthant: 1\nname: random-" << std::to_string(seed) << "-" << std::to_string(number)
         << "\nworld: {planar: " << planar_ << (overdamped_ ? ", law: overdamped}\n" : "}\n");
  }

  std::string write() {
    write_materials();
    out_ << "bodies:\n";
    if (dice_.chance(0.9)) write_floor();
    const int bodies = flexible_ ? 1 : dice_.one_of({1, 1, 1, 2, 2, 3, 4});
    for (int i = 0; i < bodies; ++i) write_body(i);
    if (rare_ && !overdamped_ && more_.chance(0.2)) write_mover();
    if (flexible_) write_flexible();
    if (!flexible_ && dice_.chance(0.3)) write_joint();
    if (!flexible_ && dice_.chance(0.25)) write_force();
    if (dice_.chance(0.15)) write_actuator();
    write_step();
    return out_.str();
  }

 private:
  /// 0, its upper end, or something between.
  double coefficient(double zero, double top, double lo, double hi, double upper) {
    const double lot = dice_.unit();
    return lot < zero ? 0 : lot < zero + top ? upper : dice_.in(lo, hi);
  }

  void write_materials() {
    out_ << "materials:\n";
    for (const char* name : {"ground", "skin"}) {
      out_ << "  - {name: " << name << ", friction: " << coefficient(0.15, 0.03, 0.05, 1.0, 2.0)
           << ", restitution: " << coefficient(0.3, 0.1, 0.1, 0.9, 1.0)
           << ", rolling_friction: " << (dice_.chance(0.1) ? dice_.in(0.001, 0.02) : 0.0)
           << ", compliance: " << (dice_.chance(0.08) ? dice_.decades(1e-8, 1e-4) : 0.0)
           << ", combine: " << dice_.one_of({"average", "average", "geometric", "min", "max"})
           << "}\n";
    }
  }

  void write_floor() {
    tilt_ = dice_.chance(0.3) ? dice_.in(-0.4, 0.4) : 0;
    const bool slab = rare_ && more_.chance(0.3);
    const char* shape = planar_ ? "half_plane" : "half_space";
    if (slab)
      shape = planar_ ? "rectangle, half: [3, 0.1], position: [0, -0.1]"
                      : "box, half: [3, 3, 0.1], position: [0, 0, -0.1]";
    out_ << "  - {name: floor, motion: fixed, shapes: {type: " << shape << ", material: ground}";
    if (planar_) {
      out_ << ", angle: " << tilt_;
      up_ = {-std::sin(tilt_), std::cos(tilt_), 0};
    } else {
      out_ << ", rotation: " << Vec3(tilt_, 0.5 * tilt_, 0);
      up_ = rotate(exp_rotation(Vec3(tilt_, 0.5 * tilt_, 0)), Vec3(0, 0, 1));
    }
    out_ << "}\n";
  }

  double draw_gap() {
    switch (start_) {
      case Start::Apart:
        return dice_.in(0.01, 0.15);
      case Start::Near:
        return dice_.decades(1e-6, 1e-2);
      case Start::Rest:
        return 0;
      case Start::Overlap:
        return -dice_.decades(1e-7, 3e-3);
    }
    return 0;
  }

  /// Square to the floor, where faces lie flush, or any way.
  Vec3 draw_turn() {
    const bool square = dice_.chance(start_ == Start::Rest ? 0.7 : 0.15);
    if (planar_) return {0, 0, square ? tilt_ : dice_.in(-3, 3)};
    return square ? Vec3(tilt_, 0.5 * tilt_, 0) : dice_.vector(false, 1.5);
  }

  /// On the floor, on the body before, or beside it.
  Vec3 place(int i, const Drawn& shape, const Quat& p) {
    const auto reach = [&](const Vec3& d) { return shape.support(rotate(conjugate(p), d)); };
    const Vec3 side =
        planar_ ? Vec3(up_.y(), -up_.x(), 0) : Vec3(Vec3(up_.z(), 0, -up_.x()).normalized());
    const double gap = draw_gap();
    const bool stacked = i > 0 && dice_.chance(0.5), close = i > 0 && dice_.chance(0.5);
    const double height = (stacked ? top_ : 0) + gap + reach(-up_);
    double across = 0.7 * i;
    if (stacked) {
      across = last_across_ + (close ? 0 : dice_.in(-0.03, 0.03));
    } else if (close) {
      across = last_across_ + last_reach_ + reach(-side) + dice_.decades(1e-5, 0.05);
    }
    last_across_ = across;
    last_reach_ = reach(side);
    top_ = height + reach(up_);
    positions_.emplace_back(height * up_ + across * side);
    return positions_.back();
  }

  void write_motion() {
    const bool still = start_ == Start::Rest && dice_.chance(0.7);
    const double speed = dice_.chance(0.3) ? 4 : 1;
    Vec3 velocity = dice_.vector(planar_, speed);
    if (start_ != Start::Rest && dice_.chance(0.7)) velocity -= dice_.in(0.2, speed + 0.5) * up_;
    const bool turns = dice_.chance(0.8);
    Vec3 spin = dice_.vector(false, dice_.in(1, 8));
    if (still) velocity.setZero();
    if (still || !turns) spin.setZero();
    if (overdamped_) return;
    out_ << "    velocity: " << velocity << "\n    angular_velocity: ";
    if (planar_) {
      out_ << spin.z() << "\n";
    } else {
      out_ << spin << "\n";
    }
  }

  void write_body(int i) {
    Drawn shape = draw_shape(dice_, planar_);
    if (rare_ && !planar_ && more_.chance(0.5)) shape = draw_rare_shape(more_);
    const Vec3 turn = draw_turn();
    out_ << "  - name: b" << i << "\n    position: " << place(i, shape, exp_rotation(turn)) << "\n";
    if (planar_) {
      out_ << "    angle: " << turn.z() << "\n";
    } else {
      out_ << "    rotation: " << turn << "\n";
    }
    write_motion();
    out_ << "    shapes:\n      - {" << shape.fields
         << ", material: skin, density: " << dice_.decades(100, 5000) << "}\n";
    if (dice_.chance(0.1))  // a second one off the centre, smaller than the first
      out_ << "      - {type: " << (planar_ ? "disc" : "sphere")
           << ", radius: 0.04, material: skin, position: " << dice_.vector(planar_, 0.04) << "}\n";
    if (dice_.chance(0.1)) {  // the shape is off the centre of mass
      const double mass = dice_.decades(0.5, 20), moment = mass * dice_.in(0.005, 0.02);
      out_ << "    center_of_mass: " << dice_.vector(planar_, 0.02) << "\n    mass: " << mass
           << "\n    inertia: ";
      if (planar_) {
        out_ << moment << "\n";
      } else {
        out_ << Vec3(moment, 1.3 * moment, 0.8 * moment) << "\n";
      }
    } else if (dice_.chance(0.1)) {
      out_ << "    mass: " << dice_.decades(0.1, 20) << "\n";
    }
  }

  /// A body that comes from the side with a motion of its own.
  void write_mover() {
    const Vec3 side = planar_ ? Vec3::UnitX() : Vec3::UnitY();
    out_ << "  - name: mover\n    motion: kinematic\n    position: "
         << Vec3(positions_[0] - 0.35 * side) << "\n    velocity: " << Vec3(more_.in(0.2, 3) * side)
         << "\n    shapes: {type: "
         << (planar_ ? "rectangle, half: [0.08, 0.1]" : "box, half: [0.1, 0.08, 0.1]")
         << ", material: ground}\n";
  }

  /// A small block beside the bodies, a little above the floor.
  void write_flexible() {
    const double gap = 0.11 + std::max(draw_gap(), 0.0);
    out_ << "flexible:\n  - {name: soft, type: "
         << (planar_ ? "rectangle, size: [0.3, 0.1], cells: [3, 1]"
                     : "box, size: [0.3, 0.1, 0.1], cells: [2, 1, 1]")
         << ", young: " << dice_.decades(1e4, 1e6)
         << ", damping_stiffness: " << dice_.one_of({0.0, 0.002})
         << ", material: skin, position: " << Vec3(Vec3(0.4, 0, 0) + gap * up_)
         << ", velocity: " << Vec3(dice_.vector(planar_, 0.5) - 0.5 * up_) << "}\n";
  }

  void write_joint() {
    const bool pair = positions_.size() > 1 && dice_.chance(0.5);
    const std::string kind =
        planar_ ? dice_.one_of({"revolute", "revolute", "prismatic", "distance", "weld"})
                : dice_.one_of({"revolute", "ball", "ball", "prismatic", "distance", "weld",
                                "lock_rotation"});
    const Vec3 beside = dice_.vector(planar_, 0.3);
    const Vec3 anchor =
        pair ? Vec3(0.5 * (positions_[0] + positions_[1])) : Vec3(positions_[0] + beside);
    out_ << "joints:\n  - {name: j, type: " << kind << ", a: b0" << (pair ? ", b: b1" : "");
    if (kind != "distance" || !pair) out_ << ", anchor: " << anchor;
    const bool turns = kind == "revolute", slides = kind == "prismatic";
    if (slides || (turns && !planar_)) {
      Vec3 axis = dice_.vector(planar_, 1);
      if (axis.norm() < 0.1) axis.x() = 1;
      out_ << ", axis: " << axis;
    }
    if ((turns || slides) && dice_.chance(0.3))
      out_ << ", lower: " << (dice_.chance(0.2) ? 0.0 : -dice_.decades(1e-4, 0.3))
           << ", upper: " << dice_.in(0.01, 0.5);
    if (turns || slides || kind == "distance") {
      if (dice_.chance(0.3))
        out_ << ", stiffness: " << dice_.decades(1, 1000)
             << ", damping: " << dice_.one_of({0.0, 0.1, 1.0});
      if (dice_.chance(0.15)) out_ << ", dry_friction: " << dice_.decades(0.01, 10);
      if (rare_ && !overdamped_ && more_.chance(0.3))
        out_ << ", armature: " << more_.decades(1e-3, 1);
      if (rare_ && more_.chance(0.5)) {
        const bool servo = kind == "distance" || more_.chance(0.7);
        out_ << ", motor: {kind: " << (servo ? "servo" : "position")
             << ", target: " << more_.in(0.1, 0.6);
        if (servo)
          out_ << ", stiffness: " << more_.decades(1, 1000)
               << ", damping: " << more_.one_of({0.0, 0.1, 5.0});
        if (more_.chance(0.5)) out_ << ", max_force: " << more_.decades(0.1, 100);
        out_ << "}";
      } else if (kind != "distance" && dice_.chance(0.2)) {
        out_ << ", motor: {kind: velocity, velocity: " << dice_.in(-2, 2);
        if (dice_.chance(0.5)) out_ << ", max_force: " << dice_.decades(0.1, 100);
        out_ << "}";
      }
    }
    out_ << "}\n";
  }

  void write_force() {
    out_ << "forces:\n";
    if (dice_.chance(0.7)) {
      const bool pair = positions_.size() > 1 && dice_.chance(0.5);
      const Vec3 near = dice_.vector(planar_, 0.05), far = dice_.vector(planar_, 0.5);
      out_ << "  - {type: spring, name: s, a: b0" << (pair ? ", b: b1" : "")
           << ", point_a: " << dice_.vector(planar_, 0.05)
           << ", point_b: " << (pair ? near : Vec3(positions_[0] + far))
           << ", stiffness: " << dice_.decades(1, 2000)
           << ", damping: " << dice_.one_of({0.0, 0.5, 5.0});
      if (dice_.chance(0.8)) out_ << ", rest: " << dice_.in(0.05, 0.6);  // else as built: a kink
      out_ << "}\n";
    } else {
      out_ << "  - {type: point, name: push, body: b0, force: " << dice_.vector(planar_, 10)
           << ", point: " << dice_.vector(planar_, 0.05) << ", body_axes: " << dice_.chance(0.5)
           << "}\n";
    }
  }

  void write_actuator() {
    out_ << "actuators:\n  - {type: body, name: drive, body: b0, force: "
         << dice_.vector(planar_, 5) << ", control: " << dice_.in(-1, 1) << "}\n";
  }

  void write_step() {
    const double lot = dice_.unit(), way = dice_.unit();
    const double time = start_ == Start::Apart ? dice_.in(0.02, 0.1) : dice_.in(0.002, 0.04);
    out_ << "step:\n  h: " << h_ << "\n  friction: "
         << (lot < 0.7 || flexible_ ? "coulomb"
             : lot < 0.85           ? "cone"
                                    : "pyramid")
         << "\n  stabilisation: "
         << (way < 0.85   ? "projection"
             : way < 0.95 ? "baumgarte"
                          : "none")
         << "\n  constraints: " << scheme_ << "\n  impact_events: " << events_
         << "\n  solver: {tolerance: 1e-12}\nrun: {steps: "
         << std::clamp(static_cast<int>(time / h_), 1, 10) << "}\n";
  }

  Dice dice_, more_;  // `more_`: of what only few scenes have, so that the others stay as they were
  bool rare_;
  bool planar_;
  Text out_;
  bool events_ = false, overdamped_ = false, flexible_ = false;
  const char* scheme_ = "manifold";
  double h_ = 0.01, tilt_ = 0;
  Start start_ = Start::Apart;
  Vec3 up_ = Vec3::UnitZ();
  double top_ = 0, last_across_ = 0, last_reach_ = 0;
  std::vector<Vec3> positions_;
};

}  // namespace

std::string random_scene(std::uint64_t seed, std::uint64_t number) {
  return Writer(seed, number).write();
}

}  // namespace orthant::validation
