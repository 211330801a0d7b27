// SPDX-License-Identifier: Apache-2.0
// gradient/tape.hpp: a scalar that remembers how it was made: reverse mode for the kernels.
//   y = f(a, b):  ā += ȳ ∂f/∂a,  b̄ += ȳ ∂f/∂b, walked from the last operation to the first
// The kernels are templates on the scalar; with this one the derivative of their few outputs by any
// number of inputs (a hull has hundreds of coordinates) costs two passes. One contact, joint or
// body fills a tape at a time, so it stays in the cache. A constant carries no tape: what does not
// depend on an input is not recorded.
#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

namespace orthant::taping {

class Tape {
 public:
  struct Node {
    std::int32_t a, b;  // operands, −1: none
    double da, db;      // derivative by each
  };

  [[gnu::always_inline]] std::int32_t push(std::int32_t a, double da, std::int32_t b, double db) {
    if (size_ == capacity_) grow();
    nodes_[size_] = {a, b, da, db};
    adjoints_[size_] = 0;
    return size_++;
  }
  /// An input whose derivative is added to *to by sweep().
  std::int32_t input(double* to) {
    inputs_.push_back({size_, to});
    return push(-1, 0, -1, 0);
  }
  void seed(std::int32_t i, double by) { adjoints_[i] += by; }

  /// Adds the derivative of Σ seeds · outputs to every input and starts anew.
  void sweep() {
    for (std::int32_t i = size_; i-- > 0;) {
      const double y = adjoints_[i];
      if (y == 0) continue;
      const Node& n = nodes_[i];
      if (n.a >= 0) adjoints_[n.a] += y * n.da;
      if (n.b >= 0) adjoints_[n.b] += y * n.db;
    }
    for (const auto& [node, to] : inputs_) *to += adjoints_[node];
    size_ = 0;
    inputs_.clear();
  }

 private:
  struct Input {
    std::int32_t node;
    double* to;
  };
  [[gnu::noinline]] void grow() {
    const std::int32_t wanted = capacity_ == 0 ? 4096 : 2 * capacity_;
    auto nodes = std::make_unique<Node[]>(static_cast<std::size_t>(wanted));
    auto adjoints = std::make_unique<double[]>(static_cast<std::size_t>(wanted));
    std::copy_n(nodes_.get(), size_, nodes.get());
    std::copy_n(adjoints_.get(), size_, adjoints.get());
    nodes_ = std::move(nodes);
    adjoints_ = std::move(adjoints);
    capacity_ = wanted;
  }

  std::unique_ptr<Node[]> nodes_;
  std::unique_ptr<double[]> adjoints_;
  std::int32_t size_ = 0, capacity_ = 0;
  std::vector<Input> inputs_;
};

/// A number on a tape, or a constant (no tape).
struct Traced {
  double v = 0;
  Tape* tape = nullptr;
  std::int32_t node = -1;

  Traced() = default;
  Traced(double value) : v(value) {}  // NOLINT: a constant needs no tape
  Traced(double value, Tape* on, std::int32_t at) : v(value), tape(on), node(at) {}

  [[gnu::always_inline]] Traced chain(double f, double df) const {
    if (tape == nullptr) return f;
    return {f, tape, tape->push(node, df, -1, 0)};
  }
  [[gnu::always_inline]] static Traced join(double f, const Traced& a, double da, const Traced& b,
                                            double db) {
    if (a.tape == nullptr) return b.tape == nullptr ? Traced(f) : b.chain(f, db);
    if (b.tape == nullptr) return a.chain(f, da);
    return {f, a.tape, a.tape->push(a.node, da, b.node, db)};
  }

  friend Traced operator+(const Traced& a, const Traced& b) { return join(a.v + b.v, a, 1, b, 1); }
  friend Traced operator-(const Traced& a, const Traced& b) { return join(a.v - b.v, a, 1, b, -1); }
  friend Traced operator*(const Traced& a, const Traced& b) {
    // A zero constant ends the dependence: half of a planar rotation is such zeros.
    if ((a.tape == nullptr && a.v == 0) || (b.tape == nullptr && b.v == 0)) return a.v * b.v;
    return join(a.v * b.v, a, b.v, b, a.v);
  }
  friend Traced operator/(const Traced& a, const Traced& b) {
    const double inverse = 1 / b.v, y = a.v * inverse;
    return join(y, a, inverse, b, -y * inverse);
  }
  friend Traced operator-(const Traced& a) { return a.chain(-a.v, -1); }
  friend Traced operator+(const Traced& a) { return a; }
  Traced& operator+=(const Traced& b) { return *this = *this + b; }
  Traced& operator-=(const Traced& b) { return *this = *this - b; }
  Traced& operator*=(const Traced& b) { return *this = *this * b; }
  Traced& operator/=(const Traced& b) { return *this = *this / b; }

  // A branch is taken as the value takes it.
  friend bool operator==(const Traced& a, const Traced& b) { return a.v == b.v; }
  friend std::partial_ordering operator<=>(const Traced& a, const Traced& b) { return a.v <=> b.v; }

  friend Traced sqrt(const Traced& a) {
    const double r = std::sqrt(a.v);
    return a.chain(r, r > 0 ? 0.5 / r : 0.0);
  }
  friend Traced abs(const Traced& a) { return a.v < 0 ? -a : a; }
  friend Traced sin(const Traced& a) { return a.chain(std::sin(a.v), std::cos(a.v)); }
  friend Traced cos(const Traced& a) { return a.chain(std::cos(a.v), -std::sin(a.v)); }
  friend Traced exp(const Traced& a) {
    const double e = std::exp(a.v);
    return a.chain(e, e);
  }
  friend Traced log(const Traced& a) { return a.chain(std::log(a.v), 1 / a.v); }
  friend Traced atan2(const Traced& y, const Traced& x) {
    const double n = 1 / (x.v * x.v + y.v * y.v);
    return join(std::atan2(y.v, x.v), y, x.v * n, x, -y.v * n);
  }
};

inline double value_of(const Traced& x) { return x.v; }

}  // namespace orthant::taping

/// @cond Eigen's own hooks, not part of the interface
template <>
struct Eigen::NumTraits<orthant::taping::Traced> : Eigen::NumTraits<double> {
  using Real = orthant::taping::Traced;
  using NonInteger = orthant::taping::Traced;
  using Nested = orthant::taping::Traced;
  enum {
    IsComplex = 0,
    IsInteger = 0,
    IsSigned = 1,
    RequireInitialization = 1,
    ReadCost = 3,
    AddCost = 8,
    MulCost = 8
  };
};
template <class Op>
struct Eigen::ScalarBinaryOpTraits<orthant::taping::Traced, double, Op> {
  using ReturnType = orthant::taping::Traced;
};
template <class Op>
struct Eigen::ScalarBinaryOpTraits<double, orthant::taping::Traced, Op> {
  using ReturnType = orthant::taping::Traced;
};
/// @endcond
