// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/cone_set.hpp: laws => a flat list of half-lines and Lorentz cones, and the
// arithmetic of the interior point on them.
//
// Cone i sees λ through x = (c λ_row + a, λ_tail) and answers w through
//   w_row += c (y_0 − |y_1|),  w_tail += y_1        (−|y_1| only for exact laws: De Saxcé's shift)
//   orthant entry c = 1            box      c = ±1, a = −lo or hi: two cones on one row
//   friction      c = μ            rolling  c = μ and c = μ_r: two cones that share λ_n
// Nesterov–Todd scaling: z = V x = V⁻ᵀ y, VᵀV = η (2 a aᵀ − J).
#pragma once

#include <algorithm>
#include <vector>

#include "orthant/math/types.hpp"

namespace orthant::interior_point {

inline constexpr int kMaxCone = 3;

struct Cone {
  Index row;         ///< of λ: the entry behind x_0
  Index tail;        ///< of λ: the first entry behind x_1
  std::uint8_t dim;  ///< 1: half-line; 2, 3: Lorentz
  bool exact;        ///< with De Saxcé's shift
  double c;          ///< slope of x_0
  double a;          ///< offset of x_0
};

/// What is put in place of (V⁻ᵀdy)∘(V dx) in the step that follows a predictor: nothing, that of
/// the predictor, or power laws x ∝ κ^p, y ∝ κ^(1 − p) where it takes both down.
enum class SecondOrder : std::uint8_t { None, Product, Powers };

class ConeSet {
 public:
  void clear() { cones_.clear(); }
  void add(const Cone& cone) { cones_.push_back(cone); }
  /// Sizes the arrays for the cones added.
  void resize();
  std::size_t size() const { return cones_.size(); }
  bool only_half_lines() const {
    return std::all_of(cones_.begin(), cones_.end(), [](const Cone& k) { return k.dim == 1; });
  }
  const Cone& operator[](std::size_t i) const { return cones_[i]; }
  /// For each of so many rows of λ whether it is in a cone.
  void mark_rows(Index rows, std::vector<char>& in_cone) const {
    in_cone.assign(static_cast<std::size_t>(rows), 0);
    for (const Cone& k : cones_) {
      in_cone[k.row] = 1;
      std::fill_n(in_cone.begin() + k.tail, k.dim - 1, char{1});
    }
  }

  /// x = A λ + a as it is, y = (value, 0, 0) in every cone.
  void start(const double* lambda, double value);
  /// The same from an answer (λ, w = D v + F λ + b): y as w asks, then both are brought inside
  /// their cones, x·y near `gap`; λ changes with x. False where a cone has no room (a narrow box).
  bool start_near(double gap, const double* w, double* lambda);
  /// The same after the step (dλ, dx, dy) from here: |x| and |y| of half-lines, and cones shifted
  /// along their axes, at least `least` inside.
  bool start_after_step(double least, const double* dlambda, double* lambda);
  bool is_interior() const;
  /// κ = xᵀy / number of cones.
  double gap() const;
  /// κ after a step of length α.
  double gap_after(double alpha) const;
  /// w −= Aᵀ y − shift(y) e_n.
  void subtract_velocity(double* w) const;

  /// Puts λ on the bound of every cone whose y outweighs its x, and of those where both vanish.
  void snap(double* lambda) const;

  /// Nesterov–Todd point of (x, y). False when a cone has left its interior.
  bool compute_scaling();
  /// B VᵀV A of cone i, row-major dim x dim over (row, tail…); B = Aᵀ − shift'(y).
  void newton_block(std::size_t i, double* block) const;
  /// out = B VᵀV A q, and out = (B (VᵀV + proximal) A)⁻¹ q.
  void multiply_by_block(std::size_t i, const double* q, double* out) const;
  void divide_by_block(std::size_t i, double proximal, const double* q, double* out) const;
  /// How much of the shift's derivative the Newton matrix sees: 1 all of it, 0 shift held fixed.
  void set_shift_weight(double weight) { shift_weight_ = weight; }

  /// Sets the target of the next step: z ∘ (V dx + V⁻ᵀdy) = κ_target e − z∘z − (V⁻ᵀdy)∘(V dx) with
  /// the (dx, dy) of the step before, and adds B c to the right-hand side.
  void aim(double target, SecondOrder term, double* rhs);
  /// Gondzio's corrector: eigenvalues of the scaled products that a step of `length` would have are
  /// drawn into [1/spread, spread] of `target`. Adds B c of the new target to the right-hand side.
  void correct(double target, double length, double spread, double* rhs);
  /// The target at hand, for later.
  void keep_target() { before_ = scaling_; }
  void restore_target() { scaling_.swap(before_); }
  /// How far x + dx and y + dy are from the law of their cone, the largest: as they are, and as
  /// V x and V⁻ᵀ y.
  struct Left {
    double plain = 0, scaled = 0;
  };
  /// Along each eigenvector of V (x + dx) − V⁻ᵀ (y + dy) the larger one is to stay and the other to
  /// become zero. Aims at that and adds B c to the right-hand side. Returns what is left to do.
  Left close(double* rhs);
  /// λ + dλ is given: to the bounds where y + dy alone stays.
  void snap_step(double* lambda) const;
  /// dx = A dλ, dy = −VᵀV dx + c.
  void compute_step(const double* dlambda);

  /// Longest α with x + α dx and y + α dy in the cones; infinite when there is no limit.
  struct Lengths {
    double x, y;
  };
  Lengths longest_steps() const;
  double longest_step() const;
  void advance(Lengths alpha);

 private:
  struct Scaling;
  static double load(const Cone& k, const double* lambda, double* x);
  void push(std::size_t i, double* rhs);
  void add_target(std::size_t i, double* rhs) const;
  void follow_powers(double target, std::size_t i);
  template <class Function>
  static void by_eigenvectors(const Scaling& s, int n, const double* in, double* out, Function&& f);
  static void scaled_product(const Scaling& s, const double* x, const double* y, int n,
                             double* product);

  // The distance x_0 − |x_1| to the boundary is kept by itself and updated by differences:
  // recomputed from x it would lose all its digits where a sliding contact ends, on the boundary.
  struct Point {
    double x[kMaxCone], y[kMaxCone], dx[kMaxCone], dy[kMaxCone];
    double slack_x, slack_y;
  };
  struct Scaling {
    double a[kMaxCone], z[kMaxCone], c[kMaxCone];
    double right[kMaxCone];  // the product aimed at, less the second-order term
    double eta;              // sqrt(det y / det x)
    double det;              // of z
  };
  std::vector<Cone> cones_;
  std::vector<Point> points_;
  std::vector<Scaling> scaling_, before_;
  double shift_weight_ = 1;
};

}  // namespace orthant::interior_point
