// SPDX-License-Identifier: Apache-2.0
// solver/proximal_newton.cpp: joints with limits, boxes and contacts => answer.
//
// Guess and solve. With λ = s x, w = y/s and s² the judge's step of a row, the natural map
// x − Π(x − y) says which equations hold in each block (active_set.hpp). Newton on these, on the
// balance and on the joints, a block's dx eliminated,
//
//   T = X + Y (s F s + α),   dx = −T⁻¹ (R + Y s D dv)
//   [ H + Dᵀ s T⁻¹Y s D   −Cᵀ ] [ dv ]   [ −r_v − Dᵀ s T⁻¹ R ]
//   [ C                    δ  ] [ dγ ] = [ −r_c              ]        (math/velocity_system.hpp)
//
// α and δ make redundant contacts and joints harmless; they multiply steps, not the answer, so
// repeated steps with one factor and the true residuals refine them away. The sets are guessed
// again until they stay. For the linear equations of a robot (joints, limits, sticking feet) that
// is one factorisation per set, linear in the links.
//
// Where the sets do not settle: proximal_descent.cpp.
#include "solver/proximal_newton.hpp"

#include <algorithm>
#include <cmath>

#include "math/law_kernel.hpp"
#include "solver/projection_residual.hpp"
#include "solver/proximal_newton_run.hpp"
#include "solver/small_dense.hpp"

namespace orthant::internal {
namespace {

constexpr double kRounding = 1e-15;       // of the equations beside their terms
constexpr double kSlow = 1e-2;            // reduction per step that asks for a new factor
constexpr double kLeastProximal = 1e-14;  // below, rounding of the factor decides
constexpr double kLost = 1e4;             // growth of the unknowns that leads nowhere

double diagonal_of(const VelocityMatrix& H, Index block, Index i) {
  if (H.kind() == VelocityMatrix::Kind::Sparse) {
    const Index at = H.block_begin(block) + i;
    return H.sparse_matrix().coeff(at, at);
  }
  return H.block(block)[i * (H.block_size(block) + 1)];
}

}  // namespace

/// δ of the joints, 1/√H of the velocities and what joints move with a unit impulse.
void ProximalRun::find_mobilities() {
  w_.speed.resize(p_.velocity_count());
  for (Index i = 0; i < p_.H.block_count(); ++i)
    for (Index j = 0; j < p_.H.block_size(i); ++j)
      w_.speed[p_.H.block_begin(i) + j] = 1 / std::sqrt(std::abs(diagonal_of(p_.H, i, j)));
  w_.delta.resize(p_.bilateral_count());
  for (Index i = 0; i < p_.C.row_block_count(); ++i) {
    const Index dim = p_.C.dim(i);
    double* delta = w_.delta.data() + p_.C.row_begin(i);
    std::fill_n(delta, dim, 0.0);
    const double* c = p_.C.values(i);
    for (const BlockRows::Entry& entry : p_.C.entries(i))
      for (Index r = 0; r < dim; ++r)
        for (Index j = 0; j < entry.width; ++j, ++c) {
          const double scaled = *c * w_.speed[entry.column + j];
          delta[r] += scaled * scaled;
        }
    // A row of zeros decides nothing.
    for (Index r = 0; r < dim; ++r)
      delta[r] = delta[r] > 0 ? settings_.joint_proximal * delta[r] : 1;
  }
}

void ProximalRun::prepare() {
  const Index rows = p_.row_count();
  w_.laws = p_.laws;
  w_.scale.resize(rows);
  w_.offset.clear();
  Index at = 0, squares = 0;
  for (Law& law : w_.laws) {
    w_.offset.push_back(squares);
    squares += law.dim * law.dim;
    for (int i = 0; i < law.dim; ++i) w_.scale[at + i] = std::sqrt(scale_.tau[at + i]);
    if (law.kind == LawKind::Box) {
      law.lo /= w_.scale[at];
      law.hi /= w_.scale[at];
    }
    at += law.dim;
  }
  w_.inverse.resize(static_cast<std::size_t>(squares));
  w_.middle.resize(static_cast<std::size_t>(squares));
  w_.sets.resize(p_.laws.size());
  w_.next_sets.resize(p_.laws.size());
  w_.R.resize(rows);
  w_.dx.resize(rows);
  find_mobilities();
  // Velocities and positions have two patterns in turn: each keeps its own.
  w_.turn = 1 - w_.turn;
  system_ = &w_.system[w_.turn];
  system_->analyze(p_.H, p_.C, p_.D);
  w_.v = best_.answer().v;
  w_.gamma = best_.answer().gamma;
  w_.x = best_.answer().lambda.cwiseQuotient(w_.scale);
  w_.candidate.gamma = best_.answer().gamma;
}

/// y = s (D v + F s x + b)
void ProximalRun::relative(const VecX& v) {
  w_.y = p_.b;
  if (!p_.D.empty()) p_.D.multiply_add(1, v, w_.y);
  if (!p_.F.empty()) {
    w_.impulse = w_.scale.cwiseProduct(w_.x);
    p_.F.multiply_add(1, w_.impulse, w_.y);
  }
  w_.y = w_.y.cwiseProduct(w_.scale);
}

void ProximalRun::guess(std::vector<BlockSet>& sets) const {
  Index at = 0;
  for (std::size_t c = 0; c < w_.laws.size(); at += w_.laws[c++].dim)
    sets[c] = block_set(w_.laws[c], w_.x.data() + at, w_.y.data() + at);
}

/// r_v = H v − k − Cᵀγ − Dᵀλ and r_c = C v + e.
void ProximalRun::residuals() {
  p_.H.multiply(w_.v, w_.r_v);
  size_ = w_.r_v.cwiseProduct(w_.speed).norm() + w_.x.norm();
  w_.r_v -= p_.k;
  p_.C.multiply_transpose_add(-1, w_.gamma, w_.r_v);
  if (!p_.D.empty()) {
    w_.impulse = w_.scale.cwiseProduct(w_.x);
    p_.D.multiply_transpose_add(-1, w_.impulse, w_.r_v);
  }
  w_.r_c = p_.e;
  p_.C.multiply_add(1, w_.v, w_.r_c);
  best_.work += 4.0 * static_cast<double>(p_.C.all_values().size() + p_.D.all_values().size());
}

/// |C v + e|², each row beside what an impulse moves it.
double ProximalRun::joint_errors() const {
  double sum = 0;
  for (Index i = 0; i < w_.r_c.size(); ++i)
    sum += w_.r_c[i] * w_.r_c[i] * settings_.joint_proximal / w_.delta[i];
  return sum;
}

/// Size of the errors of the guessed equations; with T⁻¹ and the weights of the system when asked
/// for. Infinite where a block has no T⁻¹.
double ProximalRun::errors(bool matrix) {
  residuals();
  relative(w_.v);
  Index at = 0;
  for (std::size_t c = 0; c < w_.laws.size(); at += w_.laws[c++].dim) {
    const Law& law = w_.laws[c];
    const int n = law.dim;
    BlockJacobian J;
    set_residual(law, w_.sets[c], w_.x.data() + at, w_.y.data() + at, w_.R.data() + at, J);
    if (!matrix) continue;
    double* inverse = w_.inverse.data() + w_.offset[c];
    double* middle = w_.middle.data() + w_.offset[c];
    const double* s = w_.scale.data() + at;
    const double* F =
        p_.F.empty() ? nullptr : p_.F.find(static_cast<Index>(c), static_cast<Index>(c));
    for (int r = 0; r < n; ++r)
      for (int k = 0; k < n; ++k) {
        double sum = J.X[r * n + k] + alpha_ * J.Y[r * n + k];
        for (int m = 0; F != nullptr && m < n; ++m)
          sum += J.Y[r * n + m] * s[m] * F[m * n + k] * s[k];
        inverse[r * n + k] = sum;
      }
    if (!invert(inverse, n)) return std::numeric_limits<double>::infinity();
    for (int r = 0; r < n; ++r)
      for (int k = 0; k < n; ++k) {
        double sum = 0;
        for (int m = 0; m < n; ++m) sum += inverse[r * n + m] * J.Y[m * n + k];
        middle[r * n + k] = s[r] * sum * s[k];
      }
  }
  return std::sqrt(w_.r_v.cwiseProduct(w_.speed).squaredNorm() + w_.R.squaredNorm() +
                   joint_errors());
}

bool ProximalRun::factorize() {
  ++best_.iterations;
  best_.work += system_->flops();
  const auto count = static_cast<std::size_t>(w_.delta.size());
  return system_->factorize(p_.H, p_.C, {w_.delta.data(), count}, p_.D, w_.middle);
}

/// One step with the factor at hand; R, r_v and r_c are those of the point.
void ProximalRun::newton_step() {
  const Index n = p_.velocity_count(), m = p_.bilateral_count();
  w_.right.resize(n + m);
  // dx = −T⁻¹ R, were the velocities to stay.
  w_.dx.setZero();
  Index at = 0;
  for (std::size_t c = 0; c < w_.laws.size(); at += w_.laws[c++].dim)
    add_product(w_.inverse.data() + w_.offset[c], w_.laws[c].dim, w_.laws[c].dim, w_.R.data() + at,
                w_.dx.data() + at);
  w_.trial = -w_.r_v;
  if (!p_.D.empty()) {
    w_.impulse = w_.scale.cwiseProduct(w_.dx);
    p_.D.multiply_transpose_add(-1, w_.impulse, w_.trial);
  }
  w_.right.head(n) = w_.trial;
  w_.right.tail(m) = -w_.r_c;
  system_->solve(w_.right, w_.step);
  w_.trial = w_.step.head(n);
  w_.v += w_.trial;
  w_.gamma += w_.step.tail(m);
  w_.x -= w_.dx;
  if (p_.D.empty()) return;
  // dx = −T⁻¹R − T⁻¹Y s D dv; middle = s T⁻¹Y s.
  p_.D.multiply(w_.trial, w_.impulse);
  w_.dx.setZero();
  at = 0;
  for (std::size_t c = 0; c < w_.laws.size(); at += w_.laws[c++].dim)
    add_product(w_.middle.data() + w_.offset[c], w_.laws[c].dim, w_.laws[c].dim,
                w_.impulse.data() + at, w_.dx.data() + at);
  w_.x -= w_.dx.cwiseQuotient(w_.scale);
}

/// |x − Π(x − y)| over all blocks.
double ProximalRun::natural_error() const {
  double square = 0;
  Index at = 0;
  for (const Law& law : w_.laws) {
    double R[kMaxLawDim];
    projection_residual(law, w_.x.data() + at, w_.y.data() + at, 1, R);
    for (int k = 0; k < law.dim; ++k) square += R[k] * R[k];
    at += law.dim;
  }
  return std::sqrt(square);
}

/// Steps with the present sets until their equations hold to rounding or do not get better.
bool ProximalRun::solve_sets() {
  double size = errors(true);
  first_error_ = size;
  if (!std::isfinite(size) || !factorize()) return false;
  for (bool fresh = true;;) {
    newton_step();
    const double now = errors(false);
    if (!std::isfinite(now)) return false;
    if (now <= kRounding * size_ || !(now < 0.5 * size)) return true;
    const bool slow = now > kSlow * size && !fresh;
    if (slow) {  // a contact that slides is not linear
      if (best_.done()) return true;
      size = errors(true);
      if (!std::isfinite(size) || !factorize()) return false;
    } else {
      size = now;
    }
    fresh = slow;
  }
}

void ProximalRun::judge() {
  w_.candidate.v = w_.v;
  w_.candidate.gamma = w_.gamma;
  w_.candidate.lambda = w_.scale.cwiseProduct(w_.x);
  (void)best_.consider(w_.candidate);
}

/// The judge looks body by body: a light one is refined after the others have come to rounding.
bool ProximalRun::refine() {
  for (double last = best_.residual();; last = best_.residual()) {
    newton_step();
    (void)errors(false);
    judge();
    if (best_.converged()) return true;
    if (!(best_.residual() < 0.1 * last)) return false;
  }
}

/// Guesses sets and solves their equations until the sets stay; true when the answer is accepted.
bool ProximalRun::settle(int guesses, double alpha) {
  alpha_ = alpha;
  relative(w_.v);
  guess(w_.sets);
  const double start = w_.x.norm() + w_.y.norm() + w_.v.cwiseQuotient(w_.speed).norm();
  for (int i = 0; i < guesses; ++i) {
    if (!solve_sets()) return false;
    guess(w_.next_sets);
    // On the border between two sets, where both hold, rounding chooses: the answer counts.
    const bool same = w_.next_sets == w_.sets;
    const bool holds = same || natural_error() <= best_.tolerance() * size_;
    if (holds || best_.done()) judge();
    if (best_.converged() || (holds && refine())) return true;
    if (best_.done() || size_ > kLost * std::max(start, first_error_)) return false;
    if (same) {
      // The right set, not solved: α is not small beside the least mobility.
      if (alpha_ <= kLeastProximal) return false;
      alpha_ = std::max(1e-3 * alpha_, kLeastProximal);
    }
    w_.sets.swap(w_.next_sets);
  }
  return false;
}

MethodResult ProximalRun::run() {
  prepare();
  remember();
  if (!settle(settings_.max_guesses, settings_.proximal) && !best_.done() && p_.F.empty() &&
      !p_.D.empty()) {
    go_back();
    descend();
  }
  return best_.result();
}

bool fits_proximal_newton(const CanonicalProblem& p) {
  if (p.velocity_count() == 0 || !VelocitySystem::fits(p.H, p.C)) return false;
  if (p.D.empty() && p.row_count() > 0) return false;
  for (Index c = 0; c < p.F.row_block_count(); ++c)
    for (const BlockRows::Entry& entry : p.F.entries(c))
      if (entry.block != c) return false;
  return true;
}

MethodResult solve_proximal_newton(const CanonicalProblem& p, const ProblemScale& scale,
                                   const ProximalNewtonSettings& settings,
                                   const MethodLimits& limits, ProximalNewtonWorkspace& work,
                                   Solution& x) {
  return ProximalRun(p, scale, settings, limits, work, x).run();
}

}  // namespace orthant::internal
