// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/velocity_form.cpp: H, C, D, F and cones => the factor in velocities.
#include "solver/interior_point/velocity_form.hpp"

#include "math/each_value.hpp"
#include "solver/small_dense.hpp"

namespace orthant::interior_point {

bool VelocityForm::fits(const CanonicalProblem& p) {
  if (p.H.kind() != VelocityMatrix::Kind::BlockDiagonal || p.D.empty()) return false;
  for (const Law& law : p.laws)
    if (law.dim > kMaxLawDim) return false;
  for (Index c = 0; c < p.F.row_block_count(); ++c)
    for (const BlockRows::Entry& entry : p.F.entries(c))
      if (entry.block != c) return false;
  return VelocitySystem::fits(p.H, p.C);
}

void VelocityForm::build(const CanonicalProblem& p, const VecX& s, const ConeSet& cones,
                         double proximal) {
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

  std::vector<char> in_cone(static_cast<std::size_t>(p.row_count()), 0);
  for (std::size_t i = 0; i < cones.size(); ++i) {
    in_cone[cones[i].row] = 1;
    for (int j = 1; j < cones[i].dim; ++j) in_cone[cones[i].tail + j - 1] = 1;
  }
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
  system_.analyze(H_, C_, D_);
}

void VelocityForm::apply(const std::vector<double>& squares, const double* in, VecX& out) const {
  out.setZero(static_cast<Index>(block_of_.size()));
  for (Index c = 0; c < D_.row_block_count(); ++c)
    internal::add_product(squares.data() + square_[c], static_cast<int>(D_.dim(c)), D_.dim(c),
                          in + at_[c], out.data() + at_[c]);
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
    apply(E_, u.data() + first_, product_);
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

bool VelocityForm::factorize(const ConeSet& cones, double softening, bool symmetric) {
  E_ = rest_;
  for (std::size_t i = 0; i < cones.size(); ++i) {
    const Cone& k = cones[i];
    const Index c = block_of_[k.row], dim = D_.dim(c);
    double* square = E_.data() + square_[c];
    double block[kMaxCone * kMaxCone];
    cones.newton_block(i, block);
    const auto place = [&](int j) { return (j == 0 ? k.row : k.tail + j - 1) - at_[c]; };
    for (int r = 0; r < k.dim; ++r) {
      for (int j = 0; j < k.dim; ++j) square[place(r) * dim + place(j)] += block[r * k.dim + j];
      square[place(r) * (dim + 1)] += softening;
    }
  }
  W_ = E_;
  for (Index c = 0; c < D_.row_block_count(); ++c) {
    const auto n = static_cast<int>(D_.dim(c));
    double* W = W_.data() + square_[c];
    if (!internal::invert(W, n)) return false;
    if (symmetric)  // rounding is not
      for (int r = 0; r < n; ++r)
        for (int k = 0; k < r; ++k) W[r * n + k] = W[k * n + r] = (W[r * n + k] + W[k * n + r]) / 2;
  }
  return system_.factorize(H_, C_, delta_, D_, W_);
}

void VelocityForm::solve(const VecX& rhs, VecX& x) {
  const Index rows = static_cast<Index>(rhs.size()) - first_;
  x.resize(rhs.size());
  apply(W_, rhs.data() + first_, impulse_);
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
  apply(W_, product_.data(), impulse_);
  x.tail(rows) = impulse_;
}

}  // namespace orthant::interior_point
