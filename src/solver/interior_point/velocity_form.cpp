// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/velocity_form.cpp: H, C, D, F and cones => the factor in velocities.
#include "solver/interior_point/velocity_form.hpp"

#include <algorithm>

#include "math/each_value.hpp"
#include "solver/small_dense.hpp"

namespace orthant::interior_point {

bool VelocityForm::fits(const CanonicalProblem& p) {
  if (p.H.kind() != VelocityMatrix::Kind::BlockDiagonal || p.D.empty()) return false;
  return internal::couples_no_blocks(p.F) && VelocitySystem::fits(p.H, p.C);
}

void VelocityForm::build(const CanonicalProblem& p, const VecX& s, const ConeSet& cones,
                         double proximal, double softening) {
  velocities_ = p.velocity_count();
  first_ = velocities_ + p.bilateral_count();
  H_ = p.H;
  C_ = p.C;
  D_ = p.D;
  F_ = p.F;
  const auto scale = [&](const auto& from, double* to, Index row, Index column) {
    each_value(from, [&](Index r, Index c, double a) { *to++ = s[row + r] * a * s[column + c]; });
  };
  scale(p.H, H_.block(0), 0, 0);
  scale(p.C, C_.all_values().data(), velocities_, 0);
  scale(p.D, D_.all_values().data(), first_, 0);
  scale(p.F, F_.all_values().data(), first_, first_);
  delta_.assign(static_cast<std::size_t>(p.bilateral_count()), proximal);

  std::vector<char> in_cone;
  cones.mark_rows(p.row_count(), in_cone);
  block_of_.clear();
  at_.clear();
  square_.clear();
  rest_.clear();
  for (const Law& law : p.laws) {
    const auto c = static_cast<Index>(at_.size());
    const auto at = static_cast<Index>(block_of_.size());
    at_.push_back(at);
    square_.push_back(rest_.size());
    block_of_.insert(block_of_.end(), law.dim, c);
    const double* f = F_.empty() ? nullptr : F_.find(c, c);
    for (int r = 0; r < law.dim; ++r)
      for (int k = 0; k < law.dim; ++k) {
        const bool off = s[first_ + at + r] == 0;
        const double own = off ? 1.0 : in_cone[at + r] ? 0.0 : proximal;
        rest_.push_back((f != nullptr ? f[r * law.dim + k] : 0.0) + (r == k ? own : 0.0));
      }
  }
  cones_ = &cones;
  softening_ = softening;
  cone_of_.assign(at_.size(), -1);
  for (std::size_t i = 0; i < cones.size(); ++i) {
    const Index c = block_of_[cones[i].row], n = D_.dim(c);
    const double* own = rest_.data() + square_[c];
    const bool all = cones[i].dim == n && cone_of_[c] == -1 &&
                     std::all_of(own, own + n * n, [](double a) { return a == 0; });
    cone_of_[c] = all ? static_cast<std::ptrdiff_t>(i) : -2;
  }
  system_.analyze(H_, C_, D_);
}

void VelocityForm::apply(const std::vector<double>& squares, bool forward, const double* in,
                         VecX& out) const {
  out.setZero(static_cast<Index>(block_of_.size()));
  for (std::size_t c = 0; c < at_.size(); ++c) {
    const double* from = in + at_[c];
    double* to = out.data() + at_[c];
    const int n = static_cast<int>(D_.dim(static_cast<Index>(c)));
    const auto cone = static_cast<std::size_t>(cone_of_[c]);
    if (cone_of_[c] < 0)
      internal::add_product(squares.data() + square_[c], n, n, from, to);
    else if (forward)
      cones_->multiply_by_block(cone, from, to);
    else
      cones_->divide_by_block(cone, softening_, from, to);
  }
}

void VelocityForm::multiply(const VecX& u, bool newton, VecX& r) const {
  const Index joints = first_ - velocities_;
  r.resize(u.size());
  part_ = u.head(velocities_);
  H_.multiply(part_, product_);
  r.head(velocities_) = product_;
  C_.multiply(part_, product_);
  r.segment(velocities_, joints) = product_;
  D_.multiply(part_, product_);
  r.tail(u.size() - first_) = product_;
  if (newton) {
    for (Index i = 0; i < joints; ++i) r[velocities_ + i] += delta_[i] * u[velocities_ + i];
    apply(E_, true, u.data() + first_, product_);
    r.tail(u.size() - first_) += product_;
  }
  product_.setZero(velocities_);
  part_ = u.segment(velocities_, joints);
  C_.multiply_transpose_add(-1, part_, product_);
  part_ = u.tail(u.size() - first_);
  D_.multiply_transpose_add(-1, part_, product_);
  r.head(velocities_) += product_;
  if (newton || F_.empty()) return;
  F_.multiply(part_, product_);
  r.tail(u.size() - first_) += product_;
}

bool VelocityForm::factorize(const ConeSet& cones, bool symmetric) {
  E_ = rest_;
  W_.resize(E_.size());
  for (std::size_t i = 0; i < cones.size(); ++i) {
    const Cone& k = cones[i];
    const Index c = block_of_[k.row], dim = D_.dim(c);
    if (cone_of_[c] >= 0) {
      double* W = W_.data() + square_[c];
      for (int column = 0; column < k.dim; ++column) {
        double unit[kMaxCone] = {}, out[kMaxCone];
        unit[column] = 1;
        cones.divide_by_block(i, softening_, unit, out);
        for (int r = 0; r < k.dim; ++r) W[r * k.dim + column] = out[r];
      }
      continue;
    }
    double block[kMaxCone * kMaxCone];
    cones.newton_block(i, block);
    const auto place = [&](int j) { return (j == 0 ? k.row : k.tail + j - 1) - at_[c]; };
    for (int r = 0; r < k.dim; ++r)
      for (int j = 0; j < k.dim; ++j)
        E_[square_[c] + place(r) * dim + place(j)] += block[r * k.dim + j];
  }
  for (Index c = 0; c < D_.row_block_count(); ++c) {
    const auto n = static_cast<int>(D_.dim(c));
    double* W = W_.data() + square_[c];
    if (cone_of_[c] < 0) {
      std::copy_n(E_.data() + square_[c], n * n, W);
      if (!internal::invert(W, n)) return false;
    }
    if (symmetric)  // rounding is not
      for (int r = 0; r < n; ++r)
        for (int k = 0; k < r; ++k) W[r * n + k] = W[k * n + r] = (W[r * n + k] + W[k * n + r]) / 2;
  }
  return system_.factorize(H_, C_, delta_, D_, W_);
}

void VelocityForm::solve(const VecX& rhs, VecX& x) {
  const Index rows = static_cast<Index>(rhs.size()) - first_;
  x.resize(rhs.size());
  apply(W_, false, rhs.data() + first_, impulse_);
  part_ = rhs.head(velocities_);
  D_.multiply_transpose_add(1, impulse_, part_);
  right_.resize(first_);
  right_.head(velocities_) = part_;
  right_.tail(first_ - velocities_) = rhs.segment(velocities_, first_ - velocities_);
  system_.solve(right_, solved_);
  x.head(first_) = solved_;
  part_ = solved_.head(velocities_);
  product_ = rhs.tail(rows);
  D_.multiply_add(-1, part_, product_);
  apply(W_, false, product_.data(), impulse_);
  x.tail(rows) = impulse_;
}

}  // namespace orthant::interior_point
