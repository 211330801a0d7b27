// SPDX-License-Identifier: Apache-2.0
// crowd/sweeps_newton.cpp: velocities, impulses => impulses of a Newton step.
#include "crowd/sweeps_newton.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "crowd/sweeps_data.hpp"
#include "crowd/sweeps_pack.hpp"

namespace orthant::internal {
namespace {

/// Of a sliding direction: it may turn this much of the way in a step, not more.
constexpr double kLargestTurn = 0.99;

Vec3 linear_of(const double* rows, std::int32_t body) {
  const double* row = rows + kBodyRow * body;
  return {row[0], row[1], row[2]};
}
Vec3 turning_of(const double* rows, std::int32_t body) {
  const double* row = rows + kBodyRow * body;
  return {row[4], row[5], row[6]};
}

}  // namespace

Vec3 into_cone(const Vec3& impulse, const Vec3& normal, double friction) {
  const double along = impulse.dot(normal);
  if (!(along > 0)) return Vec3::Zero();
  const Vec3 across = impulse - along * normal;
  const double length = across.norm(), bound = friction * along;
  return length > bound ? Vec3(along * normal + (bound / length) * across) : impulse;
}

void SweepNewton::prepare(const SweepProblem& p, double compliance) {
  rows_.resize(p.contacts.size());
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const SweepContact& c = p.contacts[i];
    const SweepBody &a = p.bodies[c.a], &b = p.bodies[c.b];
    Row& row = rows_[i];
    row.frame[0] = c.normal;
    tangents(c.normal, row.frame[1], row.frame[2]);
    double w[3];
    for (std::size_t k = 0; k < 3; ++k) {
      row.turn_a[k] = scaled(a, c.lever_a.cross(row.frame[k]));
      row.turn_b[k] = -scaled(b, c.lever_b.cross(row.frame[k]));
      w[k] = a.inverse_mass + b.inverse_mass + (moves(a) ? row.turn_a[k].squaredNorm() : 0) +
             (moves(b) ? row.turn_b[k].squaredNorm() : 0);
    }
    row.mobility_n = w[0];
    row.mobility_t = 0.5 * (w[1] + w[2]);
    row.soft_n = c.softness + compliance * row.mobility_n;
    row.soft_t = compliance * row.mobility_t;
  }
  M_.clear();
  for (std::size_t i = 1; i < p.bodies.size(); ++i) {
    double* block = M_.add_block(6);
    for (int k = 0; k < 6; ++k)
      block[7 * k] = k < 3 && moves(p.bodies[i]) ? 1 / p.bodies[i].inverse_mass : 1;
  }
  listed_.assign(p.contacts.size(), 0);
  D_.clear();
}

SweepNewton::Guess SweepNewton::guess(const Row& row, double friction, const Vec3& u,
                                      const Vec3& impulse) const {
  Guess out{Vec3::Zero(), Mat3::Zero(), false};
  const double z_n = impulse[0] - (u[0] + row.soft_n * impulse[0]) / row.mobility_n;
  if (!(z_n > 0)) return out;
  out.active = true;
  out.impulse[0] = -u[0] / row.soft_n;
  out.G(0, 0) = 1 / row.soft_n;
  const Eigen::Vector2d across = impulse.tail<2>();
  const Eigen::Vector2d z = across - (u.tail<2>() + row.soft_t * across) / row.mobility_t;
  const double length = z.norm();
  if (length <= friction * z_n) {
    out.impulse.tail<2>() = -u.tail<2>() / row.soft_t;
    out.G(1, 1) = out.G(2, 2) = 1 / row.soft_t;
    return out;
  }
  const Eigen::Vector2d t = z / length;
  const double share = friction * std::max(0.0, out.impulse[0]) / length;  // |λ_T| / |z_T|
  // Beyond the border of the cone q < 1; an impulse that has not caught up may say otherwise.
  const double q = std::min((1 - row.soft_t / row.mobility_t) * share, kLargestTurn);
  const Eigen::Matrix2d P = Eigen::Matrix2d::Identity() - t * t.transpose();
  out.impulse.tail<2>() = friction * out.impulse[0] * t - q / (1 - q) * (P * across);
  out.G.bottomLeftCorner<2, 1>() = friction / row.soft_n * t;
  out.G.bottomRightCorner<2, 2>() = share / row.mobility_t / (1 - q) * P;
  return out;
}

/// Rows of the listed contacts => D_, and its pattern.
void SweepNewton::list_rows(const SweepProblem& p) {
  D_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (!listed_[i]) continue;
    const SweepContact& c = p.contacts[i];
    D_.begin_row(3);
    for (const bool first : {true, false}) {
      const std::int32_t body = first ? c.a : c.b;
      if (!moves(p.bodies[body])) continue;
      double* d = D_.add(body - 1, 6 * (body - 1), 6);
      for (std::size_t k = 0; k < 3; ++k)
        for (int j = 0; j < 3; ++j) {
          d[6 * k + static_cast<std::size_t>(j)] = (first ? 1 : -1) * rows_[i].frame[k][j];
          d[6 * k + 3 + static_cast<std::size_t>(j)] =
              (first ? rows_[i].turn_a[k] : rows_[i].turn_b[k])[j];
        }
    }
  }
  system_.analyze(M_, none_, D_);
}

bool SweepNewton::step(const SweepProblem& p, const double* rows, std::span<const Vec3> impulse,
                       std::span<Vec3> next) {
  guesses_.resize(rows_.size());
  right_.setZero(M_.rows());
  bool grown = false;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const SweepContact& c = p.contacts[i];
    const Row& row = rows_[i];
    const Vec3 du = linear_of(rows, c.a) - linear_of(rows, c.b);
    const Vec3 sa = turning_of(rows, c.a), sb = turning_of(rows, c.b);
    Vec3 u, now;
    for (std::size_t k = 0; k < 3; ++k) {
      u[static_cast<Index>(k)] =
          row.frame[k].dot(du) + row.turn_a[k].dot(sa) + row.turn_b[k].dot(sb);
      now[static_cast<Index>(k)] = row.frame[k].dot(impulse[i]);
    }
    u[0] += c.bias;
    guesses_[i] = guess(row, c.friction, u, now);
    grown = grown || (guesses_[i].active && !listed_[i]);
    listed_[i] = listed_[i] || guesses_[i].active;
    const Vec3 change = guesses_[i].impulse - now;
    for (std::size_t k = 0; k < 3; ++k) {
      const double x = change[static_cast<Index>(k)];
      if (moves(p.bodies[c.a])) {
        right_.segment<3>(6 * (c.a - 1)) += x * row.frame[k];
        right_.segment<3>(6 * (c.a - 1) + 3) += x * row.turn_a[k];
      }
      if (moves(p.bodies[c.b])) {
        right_.segment<3>(6 * (c.b - 1)) -= x * row.frame[k];
        right_.segment<3>(6 * (c.b - 1) + 3) += x * row.turn_b[k];
      }
    }
  }
  if (grown) list_rows(p);
  weights_.clear();
  for (std::size_t i = 0; i < rows_.size(); ++i)
    for (int k = 0; listed_[i] && k < 9; ++k) weights_.push_back(guesses_[i].G(k / 3, k % 3));
  if (!system_.factorize(M_, none_, {}, D_, weights_)) return false;
  system_.solve(right_, dv_);
  if (!dv_.allFinite()) return false;
  Index listed = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    next[i].setZero();
    if (!listed_[i]) continue;
    double du[3] = {};
    D_.multiply_row(listed++, dv_.data(), du);
    const Vec3 after = guesses_[i].impulse - guesses_[i].G * Vec3(du[0], du[1], du[2]);
    for (std::size_t k = 0; k < 3; ++k) next[i] += after[static_cast<Index>(k)] * rows_[i].frame[k];
  }
  return true;
}

}  // namespace orthant::internal
