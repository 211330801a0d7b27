// SPDX-License-Identifier: Apache-2.0
// gradient/solution.cpp: derivative of a solution by implicit differentiation. See solution.hpp.
#include "orthant/gradient/solution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gradient/solution_impl.hpp"
#include "gradient/spare.hpp"
#include "orthant/base/error.hpp"

namespace orthant {

using internal::BlockDerivative;

namespace {

/// Of the terms of a row: what an answer of a residual is known to, and at best.
constexpr double kSolved = 1e3, kKnown = 1e-10;

/// `out` = x, or zero where x is empty.
void put(const VecX& x, Eigen::Ref<VecX> out, const char* what) {
  if (x.size() == 0) {
    out.setZero();
    return;
  }
  if (x.size() != out.size())
    throw Error(what, "has " + std::to_string(x.size()) + " entries, expected " +
                          std::to_string(out.size()));
  if (!x.allFinite()) throw Error(what, "is not finite");
  out = x;
}

VecX or_zero(const VecX& x, Index n, const char* what) {
  VecX out(n);
  put(x, out, what);
  return out;
}

bool fits(const CanonicalProblem& p, const Solution& x) {
  return x.v.size() == p.velocity_count() && x.gamma.size() == p.bilateral_count() &&
         x.lambda.size() == p.row_count() && x.v.allFinite() && x.gamma.allFinite() &&
         x.lambda.allFinite();
}

/// Σ over the entries of A of x_row y_column, entry by entry: out += s x yᵀ on A's pattern.
void outer_add(const BlockRows& A, double s, const VecX& x, const VecX& y,
               std::vector<double>& out) {
  std::size_t at = 0;
  for (Index i = 0; i < A.row_block_count(); ++i) {
    for (const auto& entry : A.entries(i)) {
      for (Index r = 0; r < A.dim(i); ++r) {
        for (Index c = 0; c < entry.width; ++c) {
          out[at++] += s * x[A.row_begin(i) + r] * y[entry.column + c];
        }
      }
    }
  }
}

/// The same pattern with other values.
BlockRows with_values(const BlockRows& A, const std::vector<double>& values) {
  BlockRows out = A;
  std::copy(values.begin(), values.end(), out.all_values().begin());
  return out;
}

}  // namespace

ProblemDerivative zero_derivative(const CanonicalProblem& p) {
  ProblemDerivative d;
  d.k = VecX::Zero(p.velocity_count());
  d.e = VecX::Zero(p.bilateral_count());
  d.b = VecX::Zero(p.row_count());
  d.mu = d.mu_r = d.lo = d.hi = VecX::Zero(p.block_count());
  d.C.assign(p.C.all_values().size(), 0.0);
  d.D.assign(p.D.all_values().size(), 0.0);
  d.F.assign(p.F.all_values().size(), 0.0);
  d.H.assign(p.H.all_values().size(), 0.0);
  return d;
}

ResidualDerivative zero_residual(const CanonicalProblem& p) {
  ResidualDerivative d;
  d.balance = VecX::Zero(p.velocity_count());
  d.bilateral = VecX::Zero(p.bilateral_count());
  d.blocks = VecX::Zero(p.row_count());
  d.mu = d.mu_r = d.lo = d.hi = VecX::Zero(p.block_count());
  return d;
}

SolutionGradient::SolutionGradient(const CanonicalProblem& problem, const ProblemScale& scale,
                                   const Solution& x, const SolutionGradientSettings& settings,
                                   double residual)
    : impl_(internal::Spare<Impl>::take()) {
  Impl& m = *impl_;
  m.p = &problem;
  m.x = x;
  m.settings = settings;
  std::vector<ContactState> states = std::move(m.certificate.states);  // their memory
  m.certificate = {};
  m.certificate.states = std::move(states);
  m.probed = m.searched = m.searched_rows = false;
  m.nv = problem.velocity_count();
  m.nc = problem.bilateral_count();
  m.nl = problem.row_count();
  m.offset.clear();
  for (Index row = 0; const Law& law : problem.laws) {
    m.offset.push_back(row);
    row += law.dim;
  }
  if (std::isfinite(residual) && fits(problem, x)) {
    m.certificate.residual = residual;
    m.x.w = problem.b;
    if (!problem.D.empty()) problem.D.multiply_add(1, x.v, m.x.w);
    if (!problem.F.empty()) problem.F.multiply_add(1, x.lambda, m.x.w);
  } else {
    m.certificate.residual = judge_quick(problem, scale, x, m.judged).value;
    if (!std::isfinite(m.certificate.residual))
      throw Error("solution gradient", "the answer is not finite or does not fit the problem");
    m.x.w = m.judged.w;
  }
  if (settings.near_borders)  // a row that is known to be beside a border is not on it
    m.settings.floating_tolerance =
        std::min(settings.floating_tolerance, std::max(kSolved * m.certificate.residual, kKnown));
  m.differentiate_laws(scale);
  if (settings.mode == GradientMode::Smoothed) m.follow_path();
  m.assemble();
}

SolutionGradient::~SolutionGradient() {
  const Index size = impl_ == nullptr ? 0 : impl_->nv + impl_->nl;
  internal::Spare<Impl>::give(std::move(impl_), static_cast<std::size_t>(size));
}
SolutionGradient::SolutionGradient(SolutionGradient&&) noexcept = default;
SolutionGradient& SolutionGradient::operator=(SolutionGradient&& other) noexcept {
  impl_.swap(other.impl_);  // the other one gives the memory back
  return *this;
}

const GradientCertificate& SolutionGradient::certificate() const { return impl_->certificate; }
const Solution& SolutionGradient::answer() const { return impl_->x; }

void SolutionGradient::Impl::put_incoming(const Solution& by, Eigen::Ref<VecX> in) const {
  put(by.v, in.head(nv), "incoming gradient by v");
  put(by.gamma, in.segment(nv, nc), "incoming gradient by gamma");
  put(by.lambda, in.tail(nl), "incoming gradient by lambda");
  if (by.w.size() == 0) return;
  // w = D v + F λ + b reads v and λ, and the data directly.
  const VecX by_w = or_zero(by.w, nl, "incoming gradient by w");
  VecX by_v = VecX::Zero(nv), by_lambda = VecX::Zero(nl);
  if (!p->D.empty()) p->D.multiply_transpose_add(1, by_w, by_v);
  if (!p->F.empty()) p->F.multiply_transpose_add(1, by_w, by_lambda);
  in.head(nv) += by_v;
  in.tail(nl) += by_lambda;
}

void SolutionGradient::adjoint(const Solution& by, ResidualDerivative& d) {
  Impl& m = *impl_;
  m.incoming.resize(m.nv + m.nc + m.nl);
  m.put_incoming(by, m.incoming);
  VecX& a = m.outgoing;
  m.solve(m.incoming, true, a);
  m.by_equations(a, d);
  if (by.w.size() > 0) d.blocks += by.w;
}

void SolutionGradient::Impl::by_equations(const VecX& a, ResidualDerivative& d) {
  const auto a_lambda = a.tail(nl);
  d.balance = a.head(nv);
  d.bilateral = -a.segment(nv, nc);
  law_part = a_lambda;
  apply_tpg(law_part, true, d.blocks);
  d.blocks = -d.blocks;
  for (VecX* law : {&d.mu, &d.mu_r, &d.lo, &d.hi}) law->setZero(p->block_count());
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const BlockDerivative& B = blocks[c];
    for (int r = 0; r < p->laws[c].dim; ++r) {
      const double al = a_lambda[offset[c] + r];
      d.mu[static_cast<Index>(c)] += B.by_mu[r] * al;
      d.mu_r[static_cast<Index>(c)] += B.by_mu_r[r] * al;
      d.lo[static_cast<Index>(c)] += B.by_lo[r] * al;
      d.hi[static_cast<Index>(c)] += B.by_hi[r] * al;
    }
  }
}

ResidualDerivative SolutionGradient::adjoint(const Solution& by) {
  ResidualDerivative d;
  adjoint(by, d);
  return d;
}

void SolutionGradient::adjoint_of_other_sides(const Solution& more, ResidualDerivative& d) {
  Impl& m = *impl_;
  m.others_incoming.resize(m.incoming.size());
  m.put_incoming(more, m.others_incoming);
  m.others_incoming += m.incoming;
  const GradientCertificate certificate = m.certificate;
  m.own_blocks = m.blocks;
  const auto restore = [&] {
    m.own_blocks.swap(m.blocks);
    m.set_laws();
    m.certificate = certificate;
  };
  try {
    m.take_other_sides(d);
  } catch (...) {
    restore();
    throw;
  }
  restore();
}

void SolutionGradient::Impl::take_other_sides(ResidualDerivative& d) {
  for (std::size_t c = 0; c < blocks.size(); ++c) {
    const std::span states(blocks[c].state, static_cast<std::size_t>(p->laws[c].dim));
    if (std::ranges::find(states, ContactState::Floating) != states.end())
      differentiate_law(c, KinkChoice::Mixed);
  }
  set_laws();
  solve(others_incoming, true, outgoing);
  by_equations(outgoing, d);
}

void SolutionGradient::note_error(double error) {
  double& worst = impl_->certificate.solve_error;
  worst = std::max(worst, error);
}

Solution SolutionGradient::tangent(const ResidualDerivative& change) {
  Impl& m = *impl_;
  m.probe();
  const CanonicalProblem& p = *m.p;
  const VecX balance = or_zero(change.balance, m.nv, "change of the balance");
  const VecX joints = -or_zero(change.bilateral, m.nc, "change of the bilateral rows");
  const VecX w = or_zero(change.blocks, m.nl, "change of the blocks");
  const VecX mu = or_zero(change.mu, p.block_count(), "change of mu");
  const VecX mu_r = or_zero(change.mu_r, p.block_count(), "change of mu_r");
  const VecX lo = or_zero(change.lo, p.block_count(), "change of lo");
  const VecX hi = or_zero(change.hi, p.block_count(), "change of hi");
  VecX law;
  m.apply_tpg(w, false, law);
  law = -law;
  for (std::size_t c = 0; c < m.blocks.size(); ++c) {
    const BlockDerivative& B = m.blocks[c];
    const auto i = static_cast<Index>(c);
    for (int r = 0; r < p.laws[c].dim; ++r) {
      law[m.offset[c] + r] +=
          B.by_mu[r] * mu[i] + B.by_mu_r[r] * mu_r[i] + B.by_lo[r] * lo[i] + B.by_hi[r] * hi[i];
    }
  }
  VecX b(m.nv + m.nc + m.nl), dx;
  b << balance, joints, law;
  m.solve(b, false, dx);
  Solution out{dx.head(m.nv), dx.segment(m.nv, m.nc), dx.tail(m.nl), w};
  if (!p.D.empty()) p.D.multiply_add(1, out.v, out.w);
  if (!p.F.empty()) p.F.multiply_add(1, out.lambda, out.w);
  return out;
}

ProblemDerivative SolutionGradient::pull_back(const Solution& by) {
  Impl& m = *impl_;
  const CanonicalProblem& p = *m.p;
  ResidualDerivative a = adjoint(by);
  ProblemDerivative d = zero_derivative(p);
  outer_add(p.C, 1, m.x.gamma, a.balance, d.C);
  outer_add(p.C, 1, a.bilateral, m.x.v, d.C);
  outer_add(p.D, 1, m.x.lambda, a.balance, d.D);
  outer_add(p.D, 1, a.blocks, m.x.v, d.D);
  outer_add(p.F, 1, a.blocks, m.x.lambda, d.F);
  std::size_t at = 0;
  p.H.for_each_entry([&](Index r, Index c) { d.H[at++] = -a.balance[r] * m.x.v[c]; });
  d.k = std::move(a.balance);
  d.e = std::move(a.bilateral);
  d.b = std::move(a.blocks);
  d.mu = std::move(a.mu);
  d.mu_r = std::move(a.mu_r);
  d.lo = std::move(a.lo);
  d.hi = std::move(a.hi);
  return d;
}

Solution SolutionGradient::push_forward(const ProblemDerivative& change) {
  Impl& m = *impl_;
  const CanonicalProblem& p = *m.p;
  ResidualDerivative r;
  r.balance = or_zero(change.k, m.nv, "change of k");
  r.bilateral = or_zero(change.e, m.nc, "change of e");
  r.blocks = or_zero(change.b, m.nl, "change of b");
  if (!change.H.empty()) {
    std::size_t at = 0;
    p.H.for_each_entry([&](Index i, Index c) { r.balance[i] -= change.H[at++] * m.x.v[c]; });
  }
  if (!change.C.empty()) {
    const BlockRows dC = with_values(p.C, change.C);
    dC.multiply_transpose_add(1, m.x.gamma, r.balance);
    dC.multiply_add(1, m.x.v, r.bilateral);
  }
  if (!change.D.empty()) {
    const BlockRows dD = with_values(p.D, change.D);
    dD.multiply_transpose_add(1, m.x.lambda, r.balance);
    dD.multiply_add(1, m.x.v, r.blocks);
  }
  if (!change.F.empty()) with_values(p.F, change.F).multiply_add(1, m.x.lambda, r.blocks);
  r.mu = change.mu;
  r.mu_r = change.mu_r;
  r.lo = change.lo;
  r.hi = change.hi;
  Solution dx = tangent(r);
  m.certificate.ambiguity = 0;
  if (change.C.empty() && change.D.empty()) return dx;
  // Test (ii): what other impulses would add to the change of v.
  const double error = m.certificate.solve_error;
  m.find_free();
  if (m.free.lambda.size() > 0 || m.free.gamma.size() > 0) {
    ResidualDerivative other;
    other.balance = VecX::Zero(m.nv);
    if (!change.C.empty())
      with_values(p.C, change.C).multiply_transpose_add(1, m.free.gamma, other.balance);
    if (!change.D.empty())
      with_values(p.D, change.D).multiply_transpose_add(1, m.free.lambda, other.balance);
    const VecX dv = tangent(other).v;
    const double size = std::max({dx.v.norm(), dv.norm(), std::numeric_limits<double>::min()});
    m.certificate.ambiguity = dv.norm() / size;
  }
  m.certificate.solve_error = error;
  return dx;
}

const Solution& SolutionGradient::free_impulse() {
  impl_->find_free();
  return impl_->free;
}

const ResidualDerivative& SolutionGradient::dependent_equations() {
  impl_->find_dependent();
  return impl_->dependent;
}

}  // namespace orthant
