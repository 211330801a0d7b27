// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/cone_set.cpp: (x, y) => scaling, Newton blocks, steps and their lengths.
// Every kernel runs over at most three numbers a cone. Formulas: docs/interior_point.md.
#include "solver/interior_point/cone_set.hpp"

#include <algorithm>
#include <cmath>

#include "solver/interior_point/lorentz.hpp"

namespace orthant::interior_point {

/// x = A λ + a of a cone; returns its distance to the boundary.
double ConeSet::load(const Cone& k, const double* lambda, double* x) {
  x[0] = k.c * lambda[k.row] + k.a;
  for (int j = 1; j < k.dim; ++j) x[j] = lambda[k.tail + j - 1];
  return x[0] - tail_norm(x, k.dim);
}

void ConeSet::resize() {
  points_.assign(cones_.size(), Point{});
  scaling_.resize(cones_.size());
  shift_weight_ = 1;
}

void ConeSet::start(const double* lambda, double value) {
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    Point& p = points_[i];
    p = Point{};
    p.slack_x = load(k, lambda, p.x);
    p.y[0] = p.slack_y = value;
  }
}

bool ConeSet::start_near(double gap, const double* w, double* lambda) {
  const double root = std::sqrt(gap);
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    Point& p = points_[i];
    p = Point{};
    for (int j = 1; j < k.dim; ++j) p.y[j] = w[k.tail + j - 1];
    // What the normal velocity leaves above the boundary; a bound that w points away from has none.
    p.slack_y = std::max(w[k.row] / k.c - (k.exact ? 0.0 : tail_norm(p.y, k.dim)), 0.0);
    const double slack = load(k, lambda, p.x);
    const double wanted = gap / std::max(p.slack_y, root);
    if (slack < wanted) lambda[k.row] += (wanted - slack) / k.c;
  }
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    Point& p = points_[i];
    p.slack_x = load(k, lambda, p.x);
    p.slack_y = std::max(p.slack_y, gap / std::max(p.x[0], root));
    p.y[0] = p.slack_y + tail_norm(p.y, k.dim);
  }
  return is_interior();
}

bool ConeSet::start_after_step(double least, const double* dlambda, double* lambda) {
  // The slack wanted, of half-lines |x + dx|.
  const auto wanted = [&](double slack, int n) {
    return std::max(least, n == 1 ? std::abs(slack) : slack);
  };
  for (const Cone& k : cones_) {
    lambda[k.row] += dlambda[k.row];
    for (int j = 1; j < k.dim; ++j) lambda[k.tail + j - 1] += dlambda[k.tail + j - 1];
  }
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    Point& p = points_[i];
    const double slack = load(k, lambda, p.x);
    lambda[k.row] += (wanted(slack, k.dim) - slack) / k.c;
    for (int j = 0; j < k.dim; ++j) p.y[j] += p.dy[j];
    p.slack_y = wanted(p.y[0] - tail_norm(p.y, k.dim), k.dim);
    p.y[0] = p.slack_y + tail_norm(p.y, k.dim);
  }
  for (std::size_t i = 0; i < cones_.size(); ++i)
    points_[i].slack_x = load(cones_[i], lambda, points_[i].x);
  return is_interior();
}

bool ConeSet::is_interior() const {
  return std::all_of(points_.begin(), points_.end(),
                     [](const Point& p) { return p.slack_x > 0 && p.slack_y > 0; });
}

double ConeSet::gap() const { return gap_after(0); }

double ConeSet::gap_after(double alpha) const {
  if (points_.empty()) return 0;
  double s = 0;
  for (const Point& p : points_) {
    for (int j = 0; j < kMaxCone; ++j) s += (p.x[j] + alpha * p.dx[j]) * (p.y[j] + alpha * p.dy[j]);
  }
  return s / static_cast<double>(points_.size());
}

void ConeSet::subtract_velocity(double* w) const {
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    const Point& p = points_[i];
    w[k.row] -= k.c * (k.exact ? p.slack_y : p.y[0]);
    for (int j = 1; j < k.dim; ++j) w[k.tail + j - 1] -= p.y[j];
  }
}

void ConeSet::snap(double* lambda) const {
  // Where x and y vanish together both are of size sqrt(κ), and the bound is as good as the path.
  const double degenerate = 30 * std::sqrt(std::max(gap(), 0.0));
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    if (points_[i].x[0] >= std::max(points_[i].slack_y, degenerate)) continue;
    lambda[k.row] = -k.a / k.c;
    for (int j = 1; j < k.dim; ++j) lambda[k.tail + j - 1] = 0;
  }
}

/// (V x) ∘ (V⁻ᵀ y), the factors sqrt(η) of V and V⁻ᵀ cancelled.
void ConeSet::scaled_product(const Scaling& s, const double* x, const double* y, int n,
                             double* product) {
  if (n == 1) {
    product[0] = x[0] * y[0];
    return;
  }
  double f[kMaxCone], g[kMaxCone];
  rotate(s.a, 1, x, n, f);
  rotate(s.a, -1, y, n, g);
  product[0] = f[0] * g[0] + tail_dot(f, g, n);
  for (int j = 1; j < n; ++j) product[j] = f[0] * g[j] + g[0] * f[j];
}

bool ConeSet::compute_scaling() {
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const int n = cones_[i].dim;
    const Point& p = points_[i];
    Scaling& s = scaling_[i];
    if (!(p.slack_x > 0 && p.slack_y > 0)) return false;
    if (n == 1) {
      s.eta = p.y[0] / p.x[0];
      s.z[0] = s.det = std::sqrt(p.x[0] * p.y[0]);
      s.det *= s.det;
      s.a[0] = 1;
      continue;
    }
    const double rx = std::sqrt(determinant(p.x, p.slack_x, n));
    const double ry = std::sqrt(determinant(p.y, p.slack_y, n));
    const double cosine = (p.x[0] * p.y[0] + tail_dot(p.x, p.y, n)) / (rx * ry);
    const double chi = std::sqrt((1 + cosine) / 2);
    for (int j = 1; j < n; ++j) s.a[j] = (p.y[j] / ry - p.x[j] / rx) / (2 * chi);
    s.a[0] = std::sqrt(1 + tail_dot(s.a, s.a, n));
    s.eta = ry / rx;
    s.det = rx * ry;
    rotate(s.a, 1, p.x, n, s.z);
    const double root = std::sqrt(s.eta);
    for (int j = 0; j < n; ++j) s.z[j] *= root;
  }
  return true;
}

/// out = Σ f(e) q q·in over the eigenvectors q of VᵀV, e its eigenvalues: (1, ±a_1/|a_1|) with
/// η (a_0 ± |a_1|)², and across with η. Beside the boundary of a cone they differ by all digits
/// there are, and what is small along one of them would be lost in a product with the matrix.
template <class Function>
void ConeSet::by_eigenvectors(const Scaling& s, int n, const double* in, double* out,
                              Function&& f) {
  const double tail = tail_norm(s.a, n), ratio = (s.a[0] + tail) * (s.a[0] + tail);
  if (tail == 0) {
    for (int j = 0; j < n; ++j) out[j] = f(s.eta) * in[j];
    return;
  }
  double t[kMaxCone] = {};
  for (int j = 1; j < n; ++j) t[j] = s.a[j] / tail;
  const double along = tail_dot(t, in, n);
  const double plus = f(s.eta * ratio) * (in[0] + along) / 2,
               minus = f(s.eta / ratio) * (in[0] - along) / 2;
  const double across = n == 3 ? f(s.eta) * (t[1] * in[2] - t[2] * in[1]) : 0;
  out[0] = plus + minus;
  for (int j = 1; j < n; ++j) out[j] = (plus - minus) * t[j];
  if (n == 3) out[1] -= across * t[2], out[2] += across * t[1];
}

void ConeSet::multiply_by_block(std::size_t i, const double* q, double* out) const {
  const Cone& k = cones_[i];
  const double* y = points_[i].y;
  double x[kMaxCone] = {k.c * q[0]};
  for (int j = 1; j < k.dim; ++j) x[j] = q[j];
  by_eigenvectors(scaling_[i], k.dim, x, out, [](double e) { return e; });
  const double speed = k.exact ? tail_norm(y, k.dim) : 0;
  if (speed > 0) out[0] -= shift_weight_ * tail_dot(y, out, k.dim) / speed;
  out[0] *= k.c;
}

void ConeSet::newton_block(std::size_t i, double* block) const {
  const int n = cones_[i].dim;
  for (int c = 0; c < n; ++c) {
    double unit[kMaxCone] = {}, column[kMaxCone];
    unit[c] = 1;
    multiply_by_block(i, unit, column);
    for (int r = 0; r < n; ++r) block[r * n + c] = column[r];
  }
}

void ConeSet::divide_by_block(std::size_t i, double proximal, const double* q, double* out) const {
  const Cone& k = cones_[i];
  const double* y = points_[i].y;
  double x[kMaxCone] = {q[0] / k.c};
  for (int j = 1; j < k.dim; ++j) x[j] = q[j];
  const double speed = k.exact ? tail_norm(y, k.dim) : 0;
  if (speed > 0) x[0] += shift_weight_ * tail_dot(y, q, k.dim) / speed;
  by_eigenvectors(scaling_[i], k.dim, x, out, [=](double e) { return 1 / (e + proximal); });
  out[0] /= k.c;
}

/// c = Vᵀ(z \ right) − y of cone i, and rhs += B c.
void ConeSet::push(std::size_t i, double* rhs) {
  const Cone& k = cones_[i];
  const Point& p = points_[i];
  Scaling& s = scaling_[i];
  const int n = k.dim;
  if (n == 1) {
    s.c[0] = s.right[0] / p.x[0] - p.y[0];
  } else {
    double u[kMaxCone];
    u[0] = (s.z[0] * s.right[0] - tail_dot(s.z, s.right, n)) / s.det;
    for (int j = 1; j < n; ++j) u[j] = (s.right[j] - u[0] * s.z[j]) / s.z[0];
    rotate(s.a, 1, u, n, s.c);
    const double root = std::sqrt(s.eta);
    for (int j = 0; j < n; ++j) s.c[j] = root * s.c[j] - p.y[j];
  }
  add_target(i, rhs);
}

/// rhs += B c
void ConeSet::add_target(std::size_t i, double* rhs) const {
  const Cone& k = cones_[i];
  const Point& p = points_[i];
  const Scaling& s = scaling_[i];
  double normal = s.c[0];
  if (k.exact) {
    const double t = tail_norm(p.y, k.dim);
    if (t > 0) normal -= shift_weight_ * tail_dot(p.y, s.c, k.dim) / t;
  }
  rhs[k.row] += k.c * normal;
  for (int j = 1; j < k.dim; ++j) rhs[k.tail + j - 1] += s.c[j];
}

/// Along each eigenvector of z = V x = V⁻ᵀ y of which both V x and V⁻ᵀ y go down, the second-order
/// term gives way to power laws in the product λ² of the two: λ² → target, V x ∝ (λ²)^p, V⁻ᵀ y ∝
/// (λ²)^(1 − p), p = −V dx / λ.
void ConeSet::follow_powers(double target, std::size_t i) {
  const Point& p = points_[i];
  Scaling& s = scaling_[i];
  const int n = cones_[i].dim;
  double dx[kMaxCone] = {}, z[kMaxCone] = {};
  std::copy_n(p.dx, n, dx);
  std::copy_n(s.z, n, z);
  const double root = std::sqrt(s.eta);
  if (n > 1) rotate(s.a, 1, p.dx, n, dx);
  const double tail = tail_norm(z, n);
  for (const double side : {-1.0, 1.0}) {
    if (n == 1 && side > 0) break;
    const double value = side > 0 ? z[0] + tail : s.det / (z[0] + tail);
    double along = dx[0];
    for (int j = 1; tail > 0 && j < n; ++j) along += side * z[j] / tail * dx[j];
    const double power = -root * along / value, product = value * value;
    if (!(power > 0 && power < 1)) continue;
    const double part = target / product;
    const double more = product * (std::pow(part, power) + std::pow(part, 1 - power) - 1 - part +
                                   power * (1 - power));
    s.right[0] += n > 1 ? more / 2 : more;
    for (int j = 1; tail > 0 && j < n; ++j) s.right[j] += side * more / 2 * z[j] / tail;
  }
}

void ConeSet::aim(double target, SecondOrder term, double* rhs) {
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Point& p = points_[i];
    Scaling& s = scaling_[i];
    const int n = cones_[i].dim;
    s.right[0] = target;
    for (int j = 1; j < n; ++j) s.right[j] = 0;
    if (term != SecondOrder::None) {
      double product[kMaxCone];
      scaled_product(s, p.dx, p.dy, n, product);
      for (int j = 0; j < n; ++j) s.right[j] -= product[j];
      if (term == SecondOrder::Powers) follow_powers(target, i);
    }
    push(i, rhs);
  }
}

void ConeSet::correct(double target, double length, double spread, double* rhs) {
  const double low = target / spread, high = target * spread;
  // How far an eigenvalue of the product is to be moved.
  const auto wanted = [&](double value) {
    return value < low ? low - value : value > high ? std::max(high - value, -high) : 0.0;
  };
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Point& p = points_[i];
    Scaling& s = scaling_[i];
    const int n = cones_[i].dim;
    double x[kMaxCone], y[kMaxCone], product[kMaxCone];
    for (int j = 0; j < n; ++j) {
      x[j] = p.x[j] + length * p.dx[j];
      y[j] = p.y[j] + length * p.dy[j];
    }
    scaled_product(s, x, y, n, product);
    const double tail = tail_norm(product, n);
    const double less = wanted(product[0] - tail), more = wanted(product[0] + tail);
    s.right[0] += (more + less) / 2;
    for (int j = 1; tail > 0 && j < n; ++j) s.right[j] += (more - less) / 2 * product[j] / tail;
    push(i, rhs);
  }
}

void ConeSet::compute_step(const double* dlambda) {
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    const Scaling& s = scaling_[i];
    Point& p = points_[i];
    const int n = k.dim;
    p.dx[0] = k.c * dlambda[k.row];
    for (int j = 1; j < n; ++j) p.dx[j] = dlambda[k.tail + j - 1];
    by_eigenvectors(s, n, p.dx, p.dy, [](double e) { return -e; });
    for (int j = 0; j < n; ++j) p.dy[j] += s.c[j];
  }
}

ConeSet::Lengths ConeSet::longest_steps() const {
  Lengths alpha{kInfinity, kInfinity};
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Point& p = points_[i];
    alpha.x = std::min(alpha.x, longest(p.x, p.slack_x, p.dx, cones_[i].dim));
    alpha.y = std::min(alpha.y, longest(p.y, p.slack_y, p.dy, cones_[i].dim));
  }
  return alpha;
}

double ConeSet::longest_step() const {
  const Lengths alpha = longest_steps();
  return std::min(alpha.x, alpha.y);
}

void ConeSet::advance(Lengths length) {
  const auto move = [](double alpha, double* p, double& slack, const double* d, int n) {
    slack += alpha * d[0] - growth(p, d, alpha, n);
    for (int j = 1; j < n; ++j) p[j] += alpha * d[j];
    p[0] = slack + tail_norm(p, n);
  };
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    Point& p = points_[i];
    move(length.x, p.x, p.slack_x, p.dx, cones_[i].dim);
    move(length.y, p.y, p.slack_y, p.dy, cones_[i].dim);
  }
}

ConeSet::Left ConeSet::close(double* rhs) {
  Left left;
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    const Point& p = points_[i];
    Scaling& s = scaling_[i];
    const int n = k.dim;
    double x[kMaxCone], y[kMaxCone], d[kMaxCone], more[kMaxCone];
    for (int j = 0; j < n; ++j) x[j] = p.x[j] + p.dx[j], y[j] = p.y[j] + p.dy[j];
    left.plain = std::max(left.plain, distance_to_law(x, y, n, d));
    by_eigenvectors(s, n, x, x, [](double e) { return std::sqrt(e); });
    by_eigenvectors(s, n, y, y, [](double e) { return 1 / std::sqrt(e); });
    left.scaled = std::max(left.scaled, distance_to_law(x, y, n, d));
    by_eigenvectors(s, n, d, more, [](double e) { return std::sqrt(e); });
    for (int j = 0; j < n; ++j) s.c[j] -= more[j];
    if (const double speed = tail_norm(p.y, n); k.exact && speed > 0)
      rhs[k.row] -= k.c * (growth(p.y, p.dy, 1, n) - tail_dot(p.y, p.dy, n) / speed);
    add_target(i, rhs);
  }
  return left;
}

void ConeSet::snap_step(double* lambda) const {
  for (std::size_t i = 0; i < cones_.size(); ++i) {
    const Cone& k = cones_[i];
    const Point& p = points_[i];
    double z[kMaxCone] = {};
    for (int j = 0; j < k.dim; ++j) z[j] = p.x[j] + p.dx[j] - p.y[j] - p.dy[j];
    if (z[0] + tail_norm(z, k.dim) > 0) continue;
    lambda[k.row] = -k.a / k.c;
    for (int j = 1; j < k.dim; ++j) lambda[k.tail + j - 1] = 0;
  }
}

}  // namespace orthant::interior_point
