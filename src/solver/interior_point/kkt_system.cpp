// SPDX-License-Identifier: Apache-2.0
// solver/interior_point/kkt_system.cpp: problem => scaled Newton matrix, factor, solve.
#include "solver/interior_point/kkt_system.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "math/each_value.hpp"
#include "orthant/base/assert.hpp"

namespace orthant::interior_point {
namespace {

/// The power of two nearest to a: scaling by it is exact.
double power_of_two(double a) {
  if (!(a > 0) || !std::isfinite(a)) return 1;
  int exponent = 0;
  const double mantissa = std::frexp(a, &exponent);
  return std::ldexp(1.0, mantissa < std::sqrt(0.5) ? exponent - 1 : exponent);
}

bool is_symmetric(const BlockRows& F) {
  for (Index i = 0; i < F.row_block_count(); ++i) {
    const double* a = F.values(i);
    const Index d = F.dim(i);
    for (const auto& entry : F.entries(i)) {
      const double* mirror = F.find(entry.block, i);
      for (Index r = 0; r < d; ++r) {
        for (Index c = 0; c < entry.width; ++c) {
          const double other = mirror ? mirror[c * d + r] : 0.0;
          if (a[r * entry.width + c] != other) return false;
        }
      }
      a += static_cast<std::ptrdiff_t>(d) * entry.width;
    }
  }
  return true;
}

}  // namespace

void KktSystem::build(const CanonicalProblem& p, ConeSet& cones,
                      const InteriorPointSettings& settings) {
  ORTHANT_ASSERT(p.H.kind() != VelocityMatrix::Kind::Operator);
  problem_ = &p;
  cones_ = &cones;
  settings_ = settings;
  velocities_ = p.velocity_count();
  bilateral_ = p.bilateral_count();
  rows_ = p.row_count();
  choose_scales(p);
  list_cones(p, cones);
  begin_path();
  symmetric_ = !exact_ && p.H.is_symmetric() && is_symmetric(p.F);
  eliminate_ = settings.form == InteriorPointForm::Velocity && VelocityForm::fits(p);
  if (eliminate_)
    form_.build(p, s_, cones, settings_.proximal, settings_.softening);
  else
    build_saddle();
}

void KktSystem::build_saddle() {
  const ConeSet& cones = *cones_;
  eliminate_ = false;
  assemble(*problem_, cones);
  K0_.resize(size(), size());
  K0_.setFromTriplets(triplets_.begin(), triplets_.end());
  K_ = K0_;
  slots_.clear();
  const Index at = velocities_ + bilateral_;
  for (std::size_t i = 0; i < cones.size(); ++i) {
    const Cone& k = cones[i];
    for (int r = 0; r < k.dim; ++r) {
      for (int c = 0; c < k.dim; ++c) {
        slots_.push_back(
            slot(at + (r ? k.tail + r - 1 : k.row), at + (c ? k.tail + c - 1 : k.row)));
      }
    }
  }
  cones.mark_rows(rows_, mark_);
  proximal_.clear();
  cone_diagonal_.clear();
  for (Index i = velocities_; i < size(); ++i)
    (i >= at && mark_[i - at] ? cone_diagonal_ : proximal_).push_back(slot(i, i));
  factor_.analyze(K_, velocities_, symmetric_, settings_);
}

void KktSystem::choose_scales(const CanonicalProblem& p) {
  const Index nv = velocities_, ng = bilateral_, at = nv + ng;
  VecX d;
  diagonal_of(p.H, d);
  d.conservativeResizeLike(VecX::Zero(size()));
  add_mobility(p.C, d.data(), d.data() + nv);
  add_mobility(p.D, d.data(), d.data() + at);
  each_value(p.F, [&](Index r, Index c, double a) {
    if (r == c) d[at + r] += std::abs(a);
  });
  // A frictional block has one scale for normal and tangents (one unit), one for its torques.
  Index row = 0;
  off_.assign(rows_, 0);
  fixed_ = VecX::Zero(rows_);
  for (const Law& law : p.laws) {
    double* e = d.data() + at + row;
    const auto average = [&](int first, int count) {
      double mean = 0;
      for (int i = 0; i < count; ++i) mean += e[first + i] / count;
      for (int i = 0; i < count; ++i) e[first + i] = mean;
    };
    if (law.is_frictional()) {
      const int t = law.tangent_dim(), q = law.rolling_dim();
      average(0, 1 + t);
      average(1 + t, q);
      for (int i = 0; i < t; ++i) off_[row + 1 + i] = law.mu == 0;
      for (int i = 0; i < q; ++i) off_[row + 1 + t + i] = law.mu_r == 0;
    }
    for (int i = 0; i < law.dim; ++i) {
      if (law.kind == LawKind::Zero) off_[row + i] = 1;
      if (law.kind == LawKind::Box && law.lo == law.hi) off_[row + i] = 1, fixed_[row + i] = law.lo;
    }
    row += law.dim;
  }
  s_.resize(size());
  for (Index i = 0; i < size(); ++i) s_[i] = power_of_two(1 / std::sqrt(d[i]));
  // Rows without a diagonal (a circuit's equations) take the scale of what they are coupled with.
  if (rows_ > 0) {
    VecX best = VecX::Zero(size());
    each_value(p.F, [&](Index r, Index c, double a) {
      if (d[at + r] == 0) best[at + r] = std::max(best[at + r], std::abs(a) * s_[at + c]);
      if (d[at + c] == 0) best[at + c] = std::max(best[at + c], std::abs(a) * s_[at + r]);
    });
    for (Index i = at; i < size(); ++i) {
      if (d[i] == 0 && best[i] > 0) s_[i] = power_of_two(1 / best[i]);
    }
  }
  for (Index i = 0; i < rows_; ++i) {
    if (off_[i]) s_[at + i] = 0;
  }
  g_.resize(size());
  g_.head(nv) = -p.k;
  g_.segment(nv, ng) = p.e;
  g_.tail(rows_) = p.b;
  if (fixed_.size() > 0 && !fixed_.isZero(0)) {
    VecX impulse = VecX::Zero(nv), w = VecX::Zero(rows_);
    if (!p.D.empty()) p.D.multiply_transpose_add(1, fixed_, impulse);
    if (!p.F.empty()) p.F.multiply_add(1, fixed_, w);
    g_.head(nv) -= impulse;
    g_.tail(rows_) += w;
  }
  g_.array() *= s_.array();
  // Only what can push counts: with every b ≥ 0 a huge gap must not shrink the rest away.
  size_ = power_of_two(g_.size() > 0 ? g_.cwiseAbs().maxCoeff() : 0.0);
  g_ /= size_;
}

void KktSystem::list_cones(const CanonicalProblem& p, ConeSet& cones) {
  cones.clear();
  exact_ = false;
  low_.assign(rows_, -std::numeric_limits<double>::infinity());
  high_.assign(rows_, std::numeric_limits<double>::infinity());
  Index row = 0;
  const double* s = s_.data() + velocities_ + bilateral_;
  for (const Law& law : p.laws) {
    const auto width = [](int n) { return static_cast<std::uint8_t>(1 + n); };
    if (law.is_frictional()) {
      const int t = law.tangent_dim(), q = law.rolling_dim();
      const bool slides = law.mu > 0, rolls = q > 0 && law.mu_r > 0;
      low_[row] = 0;
      exact_ = exact_ || (law.is_exact() && (slides || rolls));
      if (slides) cones.add({row, row + 1, width(t), law.is_exact(), law.mu, 0});
      if (rolls) {
        const double c = law.mu_r * s[row] / s[row + 1 + t];
        cones.add({row, row + 1 + t, width(q), law.is_exact(), c, 0});
      }
      if (!slides && !rolls) cones.add({row, row, 1, false, 1, 0});
    } else {
      for (Index i = row; i < row + law.dim; ++i) {
        if (law.kind == LawKind::Orthant) cones.add({i, i, 1, false, 1, 0}), low_[i] = 0;
        if (law.kind != LawKind::Box || law.lo == law.hi) continue;
        const double unit = size_ * s[i];
        low_[i] = law.lo / unit;
        high_[i] = law.hi / unit;
        if (!std::isinf(law.lo)) cones.add({i, i, 1, false, 1, -law.lo / unit});
        if (!std::isinf(law.hi)) cones.add({i, i, 1, false, -1, law.hi / unit});
      }
    }
    row += law.dim;
  }
  cones.resize();
}

void KktSystem::assemble(const CanonicalProblem& p, const ConeSet& cones) {
  const Index nv = velocities_, at = nv + bilateral_;
  triplets_.clear();
  const auto put = [&](Index r, Index c, double a) {
    const double value = s_[r] * a * s_[c];
    if (value != 0) triplets_.emplace_back(r, c, value);
  };
  each_value(p.H, put);
  each_value(p.C, [&](Index r, Index c, double a) {
    put(nv + r, c, a);
    put(c, nv + r, -a);
  });
  each_value(p.D, [&](Index r, Index c, double a) {
    put(at + r, c, a);
    put(c, at + r, -a);
  });
  each_value(p.F, [&](Index r, Index c, double a) { put(at + r, at + c, a); });
  for (std::size_t i = 0; i < cones.size(); ++i) {
    const Cone& k = cones[i];
    for (int r = 0; r < k.dim; ++r) {
      for (int c = 0; c < k.dim; ++c) {
        triplets_.emplace_back(at + (r ? k.tail + r - 1 : k.row), at + (c ? k.tail + c - 1 : k.row),
                               0.0);
      }
    }
  }
  // A row switched off is the equation λ = 0. Multipliers may get a tiny proximal term on the
  // diagonal: the step is solved with it, the residual never sees it.
  for (Index i = 0; i < rows_; ++i) {
    if (off_[i]) triplets_.emplace_back(at + i, at + i, 1.0);
  }
  for (Index i = nv; i < size(); ++i) triplets_.emplace_back(i, i, 0.0);
}

Index KktSystem::slot(Index row, Index column) const {
  const Index* begin = K0_.innerIndexPtr() + K0_.outerIndexPtr()[column];
  const Index* end = K0_.innerIndexPtr() + K0_.outerIndexPtr()[column + 1];
  return static_cast<Index>(std::lower_bound(begin, end, row) - K0_.innerIndexPtr());
}

void KktSystem::start(double impulse, double* lambda) const {
  for (Index i = 0; i < rows_; ++i) {
    const bool below = std::isinf(low_[i]), above = std::isinf(high_[i]);
    if (off_[i]) continue;
    lambda[i] = below && above ? 0
                : above        ? low_[i] + impulse
                : below        ? high_[i] - impulse
                               : (low_[i] + high_[i]) / 2;
  }
}

void KktSystem::residual(const VecX& u, VecX& r) const {
  if (eliminate_) {
    form_.multiply(u, false, r);
    r += g_;
  } else {
    r = g_;
    r.noalias() += K0_ * u;
  }
  // A row switched off carries a unit diagonal and no data.
  for (Index i = 0; i < rows_; ++i) {
    if (off_[i]) r[velocities_ + bilateral_ + i] = 0;
  }
}

bool KktSystem::factorize() {
  trusted_ = false;
  if (eliminate_) {
    if (form_.factorize(*cones_, symmetric_)) return true;
    build_saddle();
  }
  return factorize_saddle();
}

bool KktSystem::factorize_saddle() {
  const ConeSet& cones = *cones_;
  double* values = K_.valuePtr();
  std::copy(K0_.valuePtr(), K0_.valuePtr() + K0_.nonZeros(), values);
  const Index* to = slots_.data();
  for (std::size_t i = 0; i < cones.size(); ++i) {
    double block[kMaxCone * kMaxCone];
    cones.newton_block(i, block);
    const int n = cones[i].dim * cones[i].dim;
    for (int j = 0; j < n; ++j) values[*to++] += block[j];
  }
  for (const Index i : proximal_) values[i] += settings_.proximal;
  if (softening_ > 0) soften();
  if (factor_.factorize(K_)) return true;
  for (int i = 0; i < settings_.softer; ++i) {
    softening_ = softening_ > 0 ? 100 * softening_ : settings_.softening;
    soften();
    if (factor_.factorize(K_)) return true;
  }
  return false;
}

void KktSystem::soften() {
  for (const Index i : cone_diagonal_) K_.valuePtr()[i] += softening_;
}

double KktSystem::solve_work() const {
  if (eliminate_) return 2 * form_.solve_work();
  return factor_.nonzeros() + 2 * static_cast<double>(K0_.nonZeros());
}

void KktSystem::solve(const VecX& rhs, int refinements, double refined, VecX& du) {
  const double size = rhs.size() > 0 ? rhs.cwiseAbs().maxCoeff() : 0.0;
  const auto apply = [&](const VecX& right, VecX& x) {
    eliminate_ ? form_.solve(right, x) : factor_.solve(right, x);
  };
  const auto refine = [&] {
    apply(rhs, du);
    if (eliminate_ && trusted_) return 0.0;
    double last = std::numeric_limits<double>::infinity();
    for (int i = 0; i <= refinements; ++i) {
      if (eliminate_) {
        form_.multiply(du, true, defect_);
        defect_ = rhs - defect_;
      } else {
        defect_ = rhs;
        defect_.noalias() -= K_ * du;
      }
      const double error = defect_.size() > 0 ? defect_.cwiseAbs().maxCoeff() : 0.0;
      if (i == 0 && eliminate_)
        trusted_ = error <= settings_.refined * refined * size;  // with digits to spare
      // Not better than before: the last correction was noise.
      if (!(error < last)) {
        if (i > 0) du -= correction_;
        break;
      }
      last = error;
      if (i == refinements || error <= refined * size) break;
      apply(defect_, correction_);
      du += correction_;
    }
    return last;
  };
  double error = refine();
  if (error > settings_.lost_digits * size && eliminate_) {
    build_saddle();
    if (factorize_saddle()) error = refine();
  }
  if (error <= settings_.lost_digits * size) return;
  if (factor_.pivot_instead(K_)) {
    refine();
  } else if (softening_ == 0) {
    softening_ = settings_.softening;
    soften();
    if (factor_.factorize(K_)) refine();
  }
}

double KktSystem::error_in_units(const VecX& r) const {
  double largest = 0;
  const auto part = [&](Index first, Index count) {
    double squares = 0;
    for (Index i = first; i < first + count; ++i) {
      const double error = s_[i] > 0 ? size_ * r[i] / s_[i] : 0.0;
      squares += error * error;
    }
    if (count > 0) largest = std::max(largest, std::sqrt(squares) / count);
  };
  part(0, velocities_);
  part(velocities_, bilateral_);
  part(velocities_ + bilateral_, rows_);
  return largest;
}

void KktSystem::unscale(const VecX& u, Solution& x) const {
  const auto piece = [&](Index first, Index count, VecX& out) {
    out.resize(count);
    for (Index i = 0; i < count; ++i) out[i] = size_ * s_[first + i] * u[first + i];
  };
  piece(0, velocities_, x.v);
  piece(velocities_, bilateral_, x.gamma);
  piece(velocities_ + bilateral_, rows_, x.lambda);
  x.lambda += fixed_;
}

void KktSystem::scale(const Solution& x, VecX& u) const {
  u.setZero(size());
  const auto piece = [&](Index first, const VecX& in) {
    for (Index i = 0; i < in.size(); ++i) {
      if (s_[first + i] > 0) u[first + i] = in[i] / (size_ * s_[first + i]);
    }
  };
  piece(0, x.v);
  piece(velocities_, x.gamma);
  piece(velocities_ + bilateral_, x.lambda);
}

}  // namespace orthant::interior_point
