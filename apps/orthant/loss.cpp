// SPDX-License-Identifier: Apache-2.0
// orthant/loss.cpp: a formula => its value and derivatives.
//   words := name | f(sum) | f(body) | f(body).axis; the grammar is in base/arithmetic.hpp
// Every rule returns value and gradient: a loss is short, so forward accumulation costs nothing
// beside the rollout.
#include "loss.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "orthant/base/arithmetic.hpp"
#include "orthant/base/error.hpp"

namespace orthant::app {
namespace {

constexpr std::array<std::string_view, 11> kWords = {"position", "velocity", "spin",    "angle",
                                                     "speed",    "distance", "kinetic", "energy",
                                                     "sqrt",     "abs",      "pi"};
constexpr std::array<std::string_view, 4> kStateWords = {"position", "rotation", "velocity",
                                                         "spin"};

std::string suggestion(std::string_view word, const std::string_view* known, std::size_t count) {
  const std::string near = nearest_spelling(word, known, count);
  std::string message = fmt::format("unknown name '{}'", word);
  if (!near.empty()) message += fmt::format(" (did you mean '{}'?)", near);
  return message + fmt::format("; allowed: {}", fmt::join(known, known + count, ", "));
}

/// out += factor x, where an empty vector is zero.
void add(VecX& out, double factor, const VecX& x) {
  if (x.size() == 0) return;
  if (out.size() == 0)
    out = factor * x;
  else
    out += factor * x;
}

/// value with d = da a' + db b'.
Loss combine(double value, double da, const Loss& a, double db, const Loss& b) {
  Loss out;
  out.value = value;
  for (const auto member : {&Loss::by_q, &Loss::by_v, &Loss::by_parameters}) {
    add(out.*member, da, a.*member);
    add(out.*member, db, b.*member);
  }
  return out;
}

Loss chain(double value, double slope, const Loss& a) { return combine(value, slope, a, 0, {}); }

bool varies(const Loss& x) {
  return x.by_q.size() > 0 || x.by_v.size() > 0 || x.by_parameters.size() > 0;
}

}  // namespace

// Beside Loss itself: the reader finds them by its name.
static Loss operator+(const Loss& a, const Loss& b) {
  return combine(a.value + b.value, 1, a, 1, b);
}
static Loss operator-(const Loss& a, const Loss& b) {
  return combine(a.value - b.value, 1, a, -1, b);
}
static Loss operator-(const Loss& a) { return chain(-a.value, -1, a); }
static Loss operator*(const Loss& a, const Loss& b) {
  return combine(a.value * b.value, b.value, a, a.value, b);
}
static Loss operator/(const Loss& a, const Loss& b) {
  return combine(a.value / b.value, 1 / b.value, a, -a.value / (b.value * b.value), b);
}

namespace {

class LossReader : ArithmeticReader<LossReader, Loss> {
 public:
  LossReader(const std::string& text, const Model& model, const Parameters& parameters,
             const State& state)
      : ArithmeticReader(text), model_(model), p_(parameters), state_(state) {}

  Loss read() {
    Loss loss = formula();
    const auto finite = [](const VecX& x) { return x.size() == 0 || x.allFinite(); };
    if (!std::isfinite(loss.value) || !finite(loss.by_q) || !finite(loss.by_v))
      fail("is not finite, or has no derivative, at the final state");
    return loss;
  }

 private:
  friend ArithmeticReader;

  [[noreturn]] void fail(const std::string& what) const {
    throw Error("--loss '" + std::string(text().substr(0, 80)) + "'", what);
  }
  static Loss constant(double value) {
    Loss out;
    out.value = value;
    return out;
  }
  Loss raise(const Loss& a, const Loss& e) const {
    if (varies(e)) fail("an exponent must be a number");
    const double n = e.value;
    return chain(std::pow(a.value, n), n == 0 ? 0 : n * std::pow(a.value, n - 1), a);
  }
  Loss word(const std::string& name, int depth) {
    if (name == "pi") return constant(std::numbers::pi);
    if (name == "kinetic") return kinetic();
    if (name == "energy") return energy();
    bool known = false;
    for (const std::string_view w : kWords) known = known || w == name;
    if (!known) fail(suggestion(name, kWords.data(), kWords.size()));
    need('(');
    if (name == "sqrt" || name == "abs") {
      const Loss a = sum(depth + 1);
      need(')');
      if (name == "abs") return chain(std::abs(a.value), a.value < 0 ? -1 : 1, a);
      const double root = std::sqrt(a.value);
      return chain(root, 0.5 / root, a);
    }
    return of_bodies(name);
  }

  /// Up to ',' or ')': names of bodies may hold any other character.
  const Body& body() {
    const std::string name(up_to(",)"));
    const BodyId id = model_.find_body(name);
    if (id == kWorld) fail("the world has no state");
    return model_.body(id);
  }
  int axis() {
    if (!take('.')) fail("expected .x, .y or .z behind it");
    for (const int i : {0, 1, 2})
      if (take("xyz"[i])) return i;
    fail("expected .x, .y or .z");
  }

  Loss of_bodies(const std::string& name) {
    const Body& a = body();
    if (name == "distance") {
      need(',');
      const Loss out = distance(a);
      need(')');
      return out;
    }
    need(')');
    if (name == "position") return coordinate(a, axis());
    if (name == "velocity") return rate(a, axis());
    if (name == "spin") return rate(a, 3 + (a.planar ? planar_spin(axis()) : axis()));
    if (name == "speed") {
      Loss square = constant(0);
      for (int i = 0; i < (a.planar ? 2 : 3); ++i) {
        const Loss v = rate(a, i);
        square = combine(square.value + v.value * v.value, 1, square, 2 * v.value, v);
      }
      return root_of(square);
    }
    if (!a.planar) fail("angle() is of planar bodies");
    Loss out = constant(state_.q[a.q_begin + 2]);
    if (a.v_begin != kNone) out.by_q = unit(a.v_begin + 2);
    return out;
  }
  int planar_spin(int axis) {
    if (axis != 2) fail("a planar body spins about z");
    return axis;
  }
  VecX unit(Index place) const { return VecX::Unit(model_.v_size(), place); }

  Loss coordinate(const Body& a, int axis) {
    if (a.planar && axis == 2) return constant(0);
    Loss out = constant(state_.q[a.q_begin + axis]);
    if (a.v_begin != kNone) out.by_q = unit(a.v_begin + axis);
    return out;
  }
  /// Velocity 0 … 2 or spin 3 … 5.
  Loss rate(const Body& a, int i) {
    if (a.v_begin == kNone || (a.planar && i > 1 && i != 5)) return constant(0);
    const Index at = a.v_begin + (a.planar && i == 5 ? 2 : i);
    Loss out = constant(state_.v[at]);
    out.by_v = unit(at);
    return out;
  }
  /// √x with slope 0 at 0: a ball that has met its target has no direction to go.
  static Loss root_of(const Loss& x) {
    const double root = std::sqrt(x.value);
    return chain(root, root > 0 ? 0.5 / root : 0, x);
  }
  Loss distance(const Body& a) {
    std::array<Loss, 3> to;
    if (take('[')) {
      for (std::size_t i = 0; i < 3; ++i) {
        if (i == 2 && a.planar && !take(',')) break;
        if ((i == 1) || (i == 2 && !a.planar)) need(',');
        const double sign = take('-') ? -1 : 1;
        to[i] = constant(sign * number());
      }
      need(']');
    } else {
      const Body& b = body();
      for (int i = 0; i < 3; ++i) to[static_cast<std::size_t>(i)] = coordinate(b, i);
    }
    Loss square = constant(0);
    for (int i = 0; i < 3; ++i) {
      const Loss &b = to[static_cast<std::size_t>(i)], x = coordinate(a, i);
      const double d = x.value - b.value;
      square = combine(square.value + d * d, 1, square, 1, combine(0, 2 * d, x, -2 * d, b));
    }
    return root_of(square);
  }

  /// ½ m v² + ½ ω·I ω of the bodies that move, I = R J Rᵀ: by the turn L × ω, L = I ω.
  Loss kinetic() {
    Loss out = constant(0);
    out.by_q = VecX::Zero(model_.v_size());
    out.by_v = VecX::Zero(model_.v_size());
    out.by_parameters = VecX::Zero(p_.values.size());
    for (const BodyId id : model_.dynamic_bodies()) {
      const Body& b = model_.body(id);
      const double m = p_.values[b.mass];
      const Index n = b.planar ? 2 : 3, at = b.v_begin;
      const VecX v = state_.v.segment(at, n);
      out.value += 0.5 * m * v.squaredNorm();
      out.by_v.segment(at, n) += m * v;
      out.by_parameters[b.mass] += 0.5 * v.squaredNorm();
      if (b.planar) {
        const double w = state_.v[at + 2], j = p_.values[b.inertia];
        out.value += 0.5 * j * w * w;
        out.by_v[at + 2] += j * w;
        out.by_parameters[b.inertia] += 0.5 * w * w;
        continue;
      }
      const double* j = p_.values.data() + b.inertia;
      Mat3 J;
      J << j[0], j[3], j[4], j[3], j[1], j[5], j[4], j[5], j[2];
      const PoseT<double> pose = body_pose(b, state_.q.data());
      const Vec3 w = state_.v.segment<3>(at + 3);
      const Mat3 R = matrix_of(pose.p);
      const Vec3 w_B = R.transpose() * w, L = R * (J * w_B);
      out.value += 0.5 * w.dot(L);
      out.by_v.segment<3>(at + 3) += L;
      out.by_q.segment<3>(at + 3) += L.cross(w);
      const double x = w_B.x(), y = w_B.y(), z = w_B.z();
      const double by[6] = {0.5 * x * x, 0.5 * y * y, 0.5 * z * z, x * y, x * z, y * z};
      for (Index i = 0; i < 6; ++i) out.by_parameters[b.inertia + i] += by[i];
    }
    return out;
  }
  /// Kinetic and in gravity, −m g·x: that of springs is not counted.
  Loss energy() {
    Loss out = kinetic();
    const double* g = p_.values.data() + model_.gravity();
    for (const BodyId id : model_.dynamic_bodies()) {
      const Body& b = model_.body(id);
      const double m = p_.values[b.mass];
      for (Index i = 0; i < (b.planar ? 2 : 3); ++i) {
        const double x = state_.q[b.q_begin + i];
        out.value -= m * g[i] * x;
        out.by_q[b.v_begin + i] -= m * g[i];
        out.by_parameters[b.mass] -= g[i] * x;
        out.by_parameters[model_.gravity() + i] -= m * x;
      }
    }
    return out;
  }

  const Model& model_;
  const Parameters& p_;
  const State& state_;
};

}  // namespace

Loss evaluate_loss(const std::string& text, const Model& model, const Parameters& parameters,
                   const State& state) {
  return LossReader(text, model, parameters, state).read();
}

StateName state_name(const std::string& text, const Model& model) {
  StateName out;
  const std::size_t open = text.find('('), close = text.rfind(").");
  if (open == std::string::npos || close == std::string::npos || close < open) return out;
  const std::string word = text.substr(0, open), where = "--params '" + text + "'";
  std::size_t kind = 0;
  while (kind < kStateWords.size() && kStateWords[kind] != word) ++kind;
  if (kind == kStateWords.size())
    throw Error(where, suggestion(word, kStateWords.data(), kStateWords.size()));
  const BodyId id = model.find_body(text.substr(open + 1, close - open - 1));
  if (id == kWorld || model.body(id).v_begin == kNone) throw Error(where, "this body is fixed");
  const Body& body = model.body(id);
  const bool turn = kind == 1 || kind == 3;
  const std::string axes = body.planar ? (turn ? "z" : "xy") : "xyz", axis = text.substr(close + 2);
  const std::size_t found = axis.size() == 1 ? axes.find(axis) : std::string::npos;
  if (found == std::string::npos)
    throw Error(where, fmt::format("'{}' is no axis; allowed: {}", axis, fmt::join(axes, ", ")));
  out.is_state = true;
  out.velocity = kind >= 2;
  out.place = body.v_begin + (turn ? (body.planar ? 2 : 3) : 0) + static_cast<Index>(found);
  return out;
}

}  // namespace orthant::app
